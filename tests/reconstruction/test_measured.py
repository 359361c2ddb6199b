"""Colour and complex images through anybody's measurement: what is taken, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from skimage.data import astronaut

from cosparse import Stop, psnr, reconstruct
from cosparse.reconstruction import measurement
from cosparse.reconstruction.measured import Layout, size_of

SIDE = 32
SHAPE = (SIDE, SIDE)


@pytest.fixture(scope="module")
def colours():
    return astronaut()[80:112, 210:242] / 255


@pytest.fixture(scope="module")
def waves(photograph):
    """A photograph with a phase that goes around once."""
    down, across = np.indices(SHAPE) / SIDE
    return photograph[60:92, 60:92] / 255 * np.exp(2j * np.pi * (down - across) * down)


def coils(shape: tuple[int, int], fraction: float) -> LinearOperator:
    """Magnetic resonance imaging: every coil sees the image through a sensitivity of its own."""
    down, across = np.indices(shape) / shape[0]
    seen = np.stack([np.exp(-((down - a) ** 2) - (across - b) ** 2 + 2j * a) for a in (0, 1) for b in (0, 1)])
    mask = measurement.variable_density_mask(shape, fraction)

    def forward(image):
        return np.fft.fft2(seen * image.reshape(shape), norm="ortho")[:, mask].ravel()

    def adjoint(y):
        full = np.zeros(seen.shape, complex)
        full[:, mask] = y.reshape(len(seen), -1)
        return (seen.conj() * np.fft.ifft2(full, norm="ortho")).sum(axis=0).ravel()

    return LinearOperator((len(seen) * mask.sum(), mask.size), matvec=forward, rmatvec=adjoint, dtype=complex)


def test_a_complex_image_from_several_coils(waves):
    A = coils(SHAPE, 0.4)
    result = reconstruct(A.matvec(waves.ravel()), A, SHAPE, dtype=complex)
    assert result.image.dtype == np.complex64 and result.image.shape == SHAPE and result.bounds is None
    assert 20 * np.log10(1 / np.sqrt(np.mean(np.abs(result.image - waves) ** 2))) > 35
    assert result.residual < 0.01 and result.stop.converged


def test_the_phase_of_the_whole_does_not_matter(waves):
    """The prior follows the phase; its real and imaginary parts would each have another share of every edge."""
    A = coils(SHAPE, 0.4)
    y = A.matvec(waves.ravel()) + 0.02 * np.random.default_rng(0).standard_normal((A.shape[0], 2)) @ [1, 1j]
    one, other = (reconstruct(factor * y, A, SHAPE, sigma=0.02, dtype=complex).image for factor in (1, np.exp(0.8j)))
    assert np.abs(other / np.exp(0.8j) - one).mean() < 2e-3


def test_a_complex_image_whose_phase_is_zero_is_a_real_one(photograph):
    """As good as if it were known to be real, nearly; and told so far by a callback in its own layout."""
    image, A, seen = photograph[60:92, 60:92] / 255, coils(SHAPE, 0.4), []
    y = A.matvec(image.ravel())
    real, both = (reconstruct(y, A, SHAPE, dtype=dtype, callback=seen.append).image for dtype in (None, complex))
    assert not np.iscomplexobj(real) and psnr(image, both.real) > psnr(image, real) - 1
    assert seen[0].image.dtype == np.float32 and seen[-1].image.dtype == np.complex64
    np.testing.assert_allclose(seen[-1].image / 255, both, atol=1e-5)


def test_pylops_of_complex_images(waves):
    pylops = pytest.importorskip("pylops")
    mask = measurement.variable_density_mask(SHAPE, 0.5)
    ours = measurement.fourier_sampling(mask)
    theirs = pylops.Restriction(SIDE**2, np.flatnonzero(mask), dtype="complex128") @ pylops.signalprocessing.FFT2D(
        SHAPE, norm="ortho", dtype="complex128"
    )
    y = ours.matvec(waves.ravel())
    a, b = (reconstruct(y, A, SHAPE, dtype=complex).image for A in (ours, theirs))
    np.testing.assert_allclose(a, b, atol=1e-2)


def test_a_mosaic_of_colours(colours):
    """Every pixel knows one of its three values: better than each channel by itself, as colours change together."""
    mask = np.zeros((*SHAPE, 3), bool)
    mask[::2, ::2, 0] = mask[::2, 1::2, 1] = mask[1::2, ::2, 1] = mask[1::2, 1::2, 2] = True
    A = measurement.sampling(mask)
    result = reconstruct(colours[mask], A, colours.shape)
    alone = [reconstruct(colours[..., c][mask[..., c]], measurement.sampling(mask[..., c]), SHAPE) for c in range(3)]
    assert result.image.shape == colours.shape and result.image.dtype == np.float32 and result.bounds == (0, 1)
    assert psnr(colours, result.image) > psnr(colours, np.stack([one.image for one in alone], axis=-1)) + 2


def test_channels_that_are_no_colours_are_planes_of_their_own(colours):
    """Two channels, measured apart, are each what they would be alone but for where the iteration ends."""
    some = np.random.default_rng(0).random(SHAPE) < 0.6
    A = measurement.sampling(np.stack([some, some], axis=-1))
    two = colours[..., :2]
    together = reconstruct(two[some].ravel(), A, two.shape, sigma=0.02).image
    for c in range(2):
        alone = reconstruct(two[..., c][some], measurement.sampling(some), SHAPE, sigma=0.02).image
        assert np.abs(together[..., c] - alone).mean() < 5e-3
    seen = reconstruct(colours[..., :1].ravel(), np.eye(SIDE**2), (*SHAPE, 1), sigma=0.02).image
    assert seen.shape == (*SHAPE, 1)


@pytest.mark.slow
def test_adding_a_colour_adds_it_to_the_result(colours):
    shift, A = np.array([3.0, -2.0, 0.5]), measurement.identity(colours.shape)
    more = np.broadcast_to(shift, colours.shape)
    one, other = (
        reconstruct(image.ravel(), A, colours.shape, sigma=0.05, bounds=None) for image in (colours, colours + more)
    )
    np.testing.assert_allclose(other.image, one.image + more, atol=5e-3)


def test_a_start_in_its_own_layout(waves, colours):
    for image, dtype in ((waves, complex), (colours, None)):
        A, seen = measurement.identity(image.shape), []

        def stop(progress, seen=seen):
            seen.append(progress.image)
            return True

        found = reconstruct(image.ravel(), A, image.shape, start=image, dtype=dtype, callback=stop)
        assert found.stop is Stop.CALLBACK and np.abs(seen[0] / 255 - image).mean() < 0.05
        assert found.image.shape == image.shape


def test_layouts():
    assert Layout.of((4, 5), None).working_shape == (4, 5) and Layout.of((4, 5), None).mixing is None
    assert Layout.of((4, 5), complex).working_shape == (4, 5, 2)
    assert Layout.of((4, 5, 3), "c8").working_shape == (4, 5, 6)
    assert len(Layout.of((4, 5, 7), float).mixing.matrix) == 7


conjugated = LinearOperator((16, 16), matvec=lambda x: 1j * x, rmatvec=lambda y: 1j * y, dtype=complex)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"shape": (4, 2, 2, 1)}, r"^shape: .*channels"),
        ({"shape": (4, 4, 0)}, "^shape: "),
        ({"dtype": int}, "^dtype: expected float or complex"),
        ({"shape": (4, 4, 3)}, r"^A: has shape \(16, 16\).*48 values; .*kron\(A, .*eye\(3\)\)"),
        ({"A": np.eye(16, 48)}, r"^A: has shape .*pass shape=\(4, 4, 3\)"),
        ({"A": np.eye(16, 32), "dtype": complex}, "^A: has shape .*two parts"),
        ({"y": np.full(16, 1j)}, "^y: is complex, but A gives real data.*dtype=complex"),
        ({"y": np.full(16, np.nan * 1j), "dtype": complex}, "^y: holds NaN"),
        ({"dtype": complex, "bounds": (0, 1)}, "^bounds: complex"),
        ({"dtype": complex, "start": np.zeros((4, 5))}, "^start: "),
        ({"start": np.zeros((4, 4), complex)}, "^start: is complex.*dtype=complex"),
        ({"dtype": complex, "A": conjugated}, r"^A: its adjoint of complex images is wrong.*dtype=complex\)"),
    ],
)
def test_bad_input_is_refused_by_name(change, message):
    arguments = {"y": np.zeros(16), "A": np.eye(16), "shape": (4, 4), **change}
    with pytest.raises(ValueError, match=message):
        reconstruct(**arguments)


def test_data_that_are_real_of_complex_images(waves):
    """A need not be linear over complex numbers: the real parts alone, of a wave that is then nearly all unknown."""
    A = LinearOperator((SIDE**2,) * 2, matvec=lambda x: x.real, rmatvec=lambda y: y + 0j, dtype=complex)
    found = reconstruct(waves.real.ravel(), A, SHAPE, dtype=complex).image
    assert psnr(waves.real, found.real) > 30


def test_matrices_of_one_channel_for_all(colours):
    """As the error says."""
    blur = aslinearoperator(sparse.eye_array(SIDE**2)) @ measurement.blur(np.ones((3, 3)) / 9, SHAPE)
    one = sparse.csr_array(blur @ np.eye(SIDE**2))
    A = sparse.kron(one, sparse.eye_array(3), format="csr")
    y = A @ colours.ravel()
    assert psnr(colours, reconstruct(y, A, colours.shape).image) > psnr(colours, y.reshape(colours.shape)) + 5


@pytest.mark.parametrize("kind", ["pixels", "Fourier", "sums"])
def test_units_of_the_data_change_nothing(kind):
    """A and its data times a number, as of a detector with another gain: the same image."""
    image = np.add.outer(np.sin(np.arange(SIDE) / 3), np.arange(SIDE) / SIDE).astype(np.float32) / 3 + 0.4
    rng = np.random.default_rng(0)
    A = {
        "pixels": lambda: aslinearoperator(measurement.sampling(rng.random(SHAPE) < 0.6)),
        "Fourier": lambda: measurement.fourier_sampling(measurement.variable_density_mask(SHAPE, 0.4)),
        "sums": lambda: aslinearoperator(sparse.random_array((200, SIDE**2), density=0.1, rng=rng, dtype=np.float32)),
    }[kind]()
    y = A.matvec(image.ravel())
    y = y + 0.01 * np.abs(y).mean() * rng.standard_normal(y.shape)
    sigma = 0.01 * float(np.abs(y).mean())
    usual = reconstruct(y, A, SHAPE, sigma=sigma, bounds=None, quality="fast")
    for factor in (0.02, 30.0):
        scaled = LinearOperator(
            A.shape, matvec=lambda x, f=factor: f * A.matvec(x), rmatvec=lambda v, f=factor: f * A.rmatvec(v),
            dtype=A.dtype,
        )  # fmt: skip
        found = reconstruct(factor * y, scaled, SHAPE, sigma=factor * sigma, bounds=None, quality="fast")
        assert found.weight == pytest.approx(factor**2 * usual.weight, rel=1e-3)
        assert np.abs(found.image - usual.image).mean() < 2e-3  # they end after as many steps, not at the minimum


def test_the_size_of_a_measurement_is_that_of_what_it_says():
    for A in (measurement.identity(SHAPE), measurement.hadamard_sensing(SHAPE, 30)):
        assert size_of(A) == 1.0
    A = measurement.fourier_sampling(measurement.variable_density_mask(SHAPE, 0.2))
    real = LinearOperator(A.shape, matvec=A.matvec, rmatvec=lambda y: A.rmatvec(y).real, dtype=A.dtype)
    assert size_of(A) == size_of(real) == 1.0
    assert size_of(aslinearoperator(np.diag([3.0, 3.0, 0.0]))) == pytest.approx(3)
    assert size_of(aslinearoperator(np.zeros((2, 4)))) == 1.0

"""Reconstruction from anybody's linear measurement."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from skimage.data import shepp_logan_phantom
from skimage.transform import resize

from cosparse import Settings, Stop, psnr, reconstruct
from cosparse.reconstruction import measurement

SHAPE = (32, 32)


@pytest.fixture(scope="module")
def scene(photograph):
    return photograph[60:92, 60:92] / 255


@pytest.fixture(scope="module")
def half():
    """A random half of the pixels, as a sparse matrix."""
    rows = np.flatnonzero(np.random.default_rng(0).random(32 * 32) < 0.5)
    return sparse.eye_array(32 * 32, format="csr")[rows]


def test_every_kind_of_operator_is_taken(scene, half):
    """The same five iterations; later, single and double precision part ways by more than rounding."""
    pylops = pytest.importorskip("pylops")
    y, start = half @ scene.ravel(), np.full(SHAPE, scene.mean())

    def five(A):
        return reconstruct(y, A, SHAPE, start=start, callback=lambda progress: progress.iteration == 5).image

    expected = five(half)
    assert expected.shape == SHAPE and expected.dtype == np.float32
    others = {
        "dense": half.toarray(),
        "measurement": measurement.sampling(half.sum(axis=0).reshape(SHAPE) > 0),
        "pylops": pylops.Restriction(32 * 32, half.indices),
        "composed": pylops.MatrixMult(half) @ pylops.Identity(32 * 32),
    }
    for name, A in others.items():
        np.testing.assert_allclose(five(A), expected, atol=1e-4, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda shape: measurement.fourier_sampling(measurement.radial_mask(shape, 0.25)), id="radial"),
        pytest.param(lambda shape: measurement.downsampling(3, shape), id="downsampling"),
        pytest.param(
            lambda shape: measurement.sampling(np.random.default_rng(0).random(shape) < 0.5), id="half the pixels"
        ),
        pytest.param(lambda shape: measurement.hadamard_sensing(shape, int(0.3 * np.prod(shape))), id="hadamard"),
    ],
)
def test_the_default_start_ends_as_low_as_the_best_one(make, photograph):
    """The best start there is, known only to a test: the image itself."""
    image = photograph[40:136, 40:136] / 255
    A = make(image.shape)
    y = A.matvec(image.ravel().astype(np.float32))
    best = reconstruct(y, A, image.shape, start=image).energy
    assert reconstruct(y, A, image.shape).energy < 1.1 * best


def test_complex_data_from_pylops(scene):
    pylops = pytest.importorskip("pylops")
    mask = measurement.variable_density_mask(SHAPE, 0.4)
    theirs = pylops.Restriction(32 * 32, np.flatnonzero(mask), dtype="complex128") @ pylops.signalprocessing.FFT2D(
        SHAPE, norm="ortho", dtype="complex128"
    )
    ours = measurement.fourier_sampling(mask)
    y = ours.matvec(scene.ravel())
    np.testing.assert_allclose(theirs @ scene.ravel(), y, atol=1e-4)
    a, b = (reconstruct(y, A, SHAPE).image for A in (ours, theirs))
    assert not np.iscomplexobj(a)
    np.testing.assert_allclose(a, b, atol=5e-3)


@pytest.mark.parametrize("make", [measurement.radial_mask, measurement.variable_density_mask])
def test_fourier_samples_beat_filling_with_zeros(make, photograph):
    image = photograph[40:136, 40:136] / 255
    A = measurement.fourier_sampling(make(image.shape, 0.25))
    y = A.matvec(image.ravel())
    zero_filled = A.rmatvec(y).real.reshape(image.shape)
    assert psnr(image, reconstruct(y, A, image.shape).image) > psnr(image, zero_filled) + 5


@pytest.mark.parametrize("sense", [measurement.gaussian_sensing, measurement.hadamard_sensing])
def test_random_sensing(sense, scene):
    A = sense(SHAPE, 512)
    y = A.matvec(scene.ravel().astype(np.float32))
    back = A.rmatvec(y).reshape(SHAPE)
    assert psnr(scene, reconstruct(y, A, SHAPE).image) > psnr(scene, back) + 8


def test_noise_is_not_fitted(scene):
    A = measurement.identity(SHAPE)
    noisy = scene.ravel() + np.random.default_rng(0).normal(0, 0.1, scene.size)
    told, not_told = (reconstruct(noisy, A, SHAPE, sigma=sigma).image for sigma in (0.1, 0.0))
    assert psnr(scene, told) > psnr(scene, not_told) + 2


def test_the_record_is_true(scene, half):
    seen = []
    result = reconstruct(half @ scene.ravel(), half, SHAPE, weight=0.5, callback=seen.append)
    assert len(seen) == result.iterations <= seen[0].iterations
    assert [progress.iteration for progress in seen] == list(range(1, len(seen) + 1))
    assert result.evaluations >= result.iterations
    assert result.energy == result.energies[-1] == seen[-1].energy
    assert (np.diff(result.energies) <= 0).all()
    assert result.weight == pytest.approx(0.5)
    np.testing.assert_allclose(result.image, seen[-1].image / 255, atol=1e-6)


def test_the_terms_of_the_energy_are_told(scene, half):
    y = half @ scene.ravel() + np.random.default_rng(0).normal(0, 0.02, half.shape[0])
    result = reconstruct(y, half, SHAPE, sigma=0.02, bounds=None)
    misfit = np.linalg.norm(half @ result.image.ravel() - y)
    assert result.residual == pytest.approx(misfit / np.linalg.norm(y), rel=1e-4)
    assert result.data_term == pytest.approx(0.5 * (255 * misfit) ** 2, rel=1e-4)
    assert result.data_term + result.prior_term == pytest.approx(result.energy, rel=1e-6)
    assert result != reconstruct(y, half, SHAPE, sigma=0.02)  # and not an error


def test_it_says_whether_it_converged(scene, half):
    """Near the minimum the gradient is next to nothing; short of it, it is not, and neither is said to be otherwise."""
    y = half @ scene.ravel()
    settled, short = (
        reconstruct(y, half, SHAPE, sigma=0.02, settings=Settings(iterations=count, step_tolerance=0, **tolerance))
        for count, tolerance in ((2000, {"decrease_tolerance": 1e-9}), (5, {}))
    )
    assert settled.stop.converged and settled.stop is not Stop.ITERATIONS
    assert short.stop is Stop.ITERATIONS and not short.stop.converged
    assert settled.gradient_norm < 0.02 < short.gradient_norm and settled.energy < short.energy
    assert reconstruct(y, half, SHAPE, sigma=0.02).stop.converged


@pytest.fixture(scope="module")
def tomograph():
    """(matrix of 20 angles, phantom): parallel rays, each pixel shared out among the two bins it falls between."""
    side, image = 48, resize(shepp_logan_phantom(), (48, 48), anti_aliasing=True)
    row, column = np.indices((side, side)).reshape(2, -1) - (side - 1) / 2
    bins, pixels, shares = [], [], []
    for number, angle in enumerate(np.linspace(0, np.pi, 20, endpoint=False)):
        place = column * np.cos(angle) + row * np.sin(angle) + side
        for near in (0, 1):
            bins.append(number * 2 * side + np.floor(place).astype(int) + near)
            pixels.append(np.arange(side**2))
            shares.append(np.abs(1 - near - (place - np.floor(place))))
    where = np.concatenate(bins), np.concatenate(pixels)
    return sparse.csr_array((np.concatenate(shares), where), shape=(40 * side, side**2)), image


def test_tomography_ends_near_its_minimum(tomograph):
    """Few angles are badly conditioned: the default goes on for as long as that takes."""
    A, image = tomograph
    y = A @ image.ravel()
    sigma = 0.01 * float(np.sqrt(np.mean(y**2)))
    y = y + np.random.default_rng(0).normal(0, sigma, y.shape)
    usual = reconstruct(y, A, image.shape, sigma=sigma)
    further = Settings(iterations=3000, step_tolerance=0, decrease_tolerance=1e-8)
    minimum = reconstruct(y, A, image.shape, sigma=sigma, settings=further)
    assert usual.stop.converged
    assert psnr(image, usual.image) > psnr(image, minimum.image) - 0.5


def test_an_adjoint_that_is_nearly_one_may_be_used(tomograph):
    """As unfiltered back-projection that interpolates in another way; refused unless it is asked for."""
    A, image = tomograph
    y = A @ image.ravel()
    smooth = sparse.diags_array([0.01, 0.98, 0.01], offsets=[-1, 0, 1], shape=(len(y), len(y)))
    nearly = LinearOperator(A.shape, matvec=lambda s: A @ s, rmatvec=lambda v: A.T @ (smooth @ v), dtype=float)
    sigma = 0.01 * float(np.sqrt(np.mean(y**2)))
    with pytest.raises(ValueError, match="^A: .*adjoint_tolerance"):
        reconstruct(y, nearly, image.shape, sigma=sigma)
    found = reconstruct(y, nearly, image.shape, sigma=sigma, adjoint_tolerance=0.05)
    assert psnr(image, found.image) > psnr(image, reconstruct(y, A, image.shape, sigma=sigma).image) - 1


# -- where values lie ----------


@pytest.mark.slow
@pytest.mark.parametrize("shift", [-1000.0, -0.5, 3.0])
def test_adding_a_constant_adds_it_to_the_result(shift, scene):
    image = 0.3 + 0.4 * scene
    for A in (measurement.identity(SHAPE), measurement.fourier_sampling(measurement.radial_mask(SHAPE, 0.5))):
        y, more = (A.matvec(values.ravel().astype(np.float32)) for values in (image, np.full(SHAPE, shift)))
        expected = reconstruct(y, A, SHAPE, sigma=0.02).image + shift
        np.testing.assert_allclose(reconstruct(y + more, A, SHAPE, sigma=0.02).image, expected, atol=5e-3)


def test_bounds_apply_where_the_image_lies_in_them(scene, half):
    inside = reconstruct(half @ scene.ravel(), half, SHAPE)
    assert inside.bounds == (0.0, 1.0) and inside.image.min() >= 0 and inside.image.max() <= 1
    below = reconstruct(half @ (scene - 0.5).ravel(), half, SHAPE)
    assert below.bounds is None and below.image.mean() == pytest.approx(scene.mean() - 0.5, abs=0.02)
    stated = reconstruct(half @ scene.ravel(), half, SHAPE, bounds=(0.1, None))
    assert stated.bounds == (0.1, np.inf) and stated.image.min() == pytest.approx(0.1)


def test_a_forgotten_data_range_is_named(scene, half):
    y = half @ (255 * scene).ravel()
    with pytest.raises(ValueError, match="^data_range: is 1, but y"):
        reconstruct(y, half, SHAPE)
    assert psnr(255 * scene, reconstruct(y, half, SHAPE, data_range=255).image, data_range=255) > 25


def test_a_complex_image_is_refused_and_a_real_one_with_complex_coils_is_not(scene):
    """Multi-coil magnetic resonance imaging: every coil sees the image through a sensitivity of its own."""
    down, across = np.indices(SHAPE) / 32
    coils = [np.exp(-((down - a) ** 2) - (across - b) ** 2 + 2j * a) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))]
    masks = [measurement.variable_density_mask(SHAPE, 0.4, rng=number) for number in range(4)]

    def forward(image):
        return np.concatenate(
            [np.fft.fft2(c * image.reshape(SHAPE), norm="ortho")[m] for c, m in zip(coils, masks, strict=True)]
        )

    def adjoint(y):
        image, at = np.zeros(SHAPE, complex), 0
        for coil, mask in zip(coils, masks, strict=True):
            full = np.zeros(SHAPE, complex)
            full[mask] = y[at : at + mask.sum()]
            image += coil.conj() * np.fft.ifft2(full, norm="ortho")
            at += mask.sum()
        return image.ravel()

    A = LinearOperator((sum(m.sum() for m in masks), 1024), matvec=forward, rmatvec=adjoint, dtype=complex)
    assert psnr(scene, reconstruct(forward(scene), A, SHAPE).image) > 35
    with pytest.raises(ValueError, match="^y: .*complex image"):
        reconstruct(forward(scene * np.exp(2j * down)), A, SHAPE)


def test_a_callback_stops_it(scene, half):
    result = reconstruct(half @ scene.ravel(), half, SHAPE, callback=lambda progress: progress.iteration == 3)
    assert result.iterations == 3 and result.stop is Stop.CALLBACK


def test_units_do_not_matter(scene):
    """A power of two to the bit; another factor changes the last bits, and the path with them, a little."""
    A = measurement.fourier_sampling(measurement.variable_density_mask(SHAPE, 0.5))
    y = A.matvec(scene.ravel())
    one = reconstruct(y, A, SHAPE, sigma=0.02).image
    exact = reconstruct(y * 1024, A, SHAPE, sigma=0.02 * 1024, data_range=1024).image
    np.testing.assert_array_equal(exact / 1024, one)
    near = reconstruct(y * 1000, A, SHAPE, sigma=20.0, data_range=1000).image
    assert psnr(one, near / 1000) > 50


def test_a_start_is_used_and_not_changed(scene, half):
    y, start = half @ scene.ravel(), scene.copy()
    before = y.copy()
    first = []
    reconstruct(y, half, SHAPE, start=start, callback=lambda p: first.append(p.image.copy()) or True)
    assert np.abs(first[0] / 255 - scene).max() < 0.2
    assert (start == scene).all() and (y == before).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (5, 2)])
def test_small_images(shape):
    image = np.random.default_rng(0).random(shape)
    result = reconstruct(image.ravel(), np.eye(image.size), shape)
    np.testing.assert_allclose(result.image, image, atol=0.02)


@pytest.mark.parametrize("side", [32, 256])
def test_a_wrong_adjoint_is_found_and_the_check_named(side):
    y = np.zeros(side * side, np.float32)
    for factor in (0.0, 1.05, -1.0):
        A = LinearOperator((y.size, y.size), matvec=lambda x: x, rmatvec=lambda v, f=factor: f * v, dtype=np.float32)
        with pytest.raises(ValueError, match=r"^A: .*dot_test"):
            reconstruct(y, A, (side, side))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"A": np.eye(7, 16)}, r"^A: has shape \(7, 16\)"),
        ({"A": np.eye(16, 15)}, "^A: has shape"),
        ({"A": "blur"}, "^A: "),
        ({"A": LinearOperator((16, 16), matvec=lambda x: x, dtype=np.float32)}, "^A: has no adjoint"),
        ({"shape": (4, 5)}, "^A: has shape"),
        ({"shape": (16,)}, "^shape: "),
        ({"shape": (0, 4)}, "^shape: "),
        ({"y": np.full(16, np.nan)}, "^y: "),
        ({"y": np.full(16, np.inf)}, "^y: "),
        ({"sigma": -1.0}, "^sigma: "),
        ({"sigma": np.nan}, "^sigma: "),
        ({"data_range": 0}, "^data_range: "),
        ({"start": np.zeros((4, 5))}, "^start: "),
        ({"start": np.full((4, 4), np.nan)}, "^start: "),
        ({"quality": "super"}, "^quality: "),
        ({"weight": -1.0}, "^weight: "),
    ],
)
def test_bad_input_is_refused_by_name(change, message):
    arguments = {"y": np.zeros(16), "A": np.eye(16), "shape": (4, 4), **change}
    with pytest.raises(ValueError, match=message):
        reconstruct(**arguments)


def test_an_operator_nobody_ships():
    with pytest.raises(FileNotFoundError, match="nosuch"):
        reconstruct(np.zeros(16), np.eye(16), (4, 4), operator="nosuch")

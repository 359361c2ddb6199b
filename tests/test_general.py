"""Reconstruction from anybody's linear measurement."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from cosparse import Stop, psnr, reconstruct
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


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda shape: measurement.fourier_sampling(measurement.radial_mask(shape, 0.25)), id="radial"),
        pytest.param(lambda shape: measurement.downsampling(3, shape), id="downsampling"),
        pytest.param(
            lambda shape: measurement.sampling(np.random.default_rng(0).random(shape) < 0.5),
            id="half the pixels",
        ),
        pytest.param(
            lambda shape: measurement.hadamard_sensing(shape, int(0.3 * np.prod(shape))), id="hadamard"
        ),
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
        A = LinearOperator(
            (y.size, y.size), matvec=lambda x: x, rmatvec=lambda v, f=factor: f * v, dtype=np.float32
        )
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

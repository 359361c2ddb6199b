"""Measurements: exact adjoints, and forward models that agree with SciPy and with geometry."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from cosparse.reconstruction import measurement
from cosparse.reconstruction.start import enlarge
from cosparse.testing import dot_test

shapes = st.tuples(st.integers(3, 20), st.integers(3, 20))


def applied(A, image):
    return A.matvec(image.ravel()).reshape(A.data_shape)


@pytest.mark.parametrize("name", measurement.EXAMPLES)
@given(shape=shapes)
def test_every_adjoint_is_exact(name, shape):
    A = measurement.EXAMPLES[name](shape)
    assert A.shape == (np.prod(A.data_shape), np.prod(A.image_shape))
    dot_test(A, rtol=1e-5)


@pytest.mark.parametrize("name", measurement.EXAMPLES)
def test_data_and_back_stay_in_single_precision(name):
    A = measurement.EXAMPLES[name]((9, 12))
    y = A.matvec(np.ones(A.shape[1], np.float32))
    assert y.dtype == A.dtype and A.rmatvec(y).dtype == A.dtype


@pytest.mark.parametrize("border, mode", [("replicate", "nearest"), ("periodic", "wrap")])
@given(shape=shapes, kernel=st.tuples(st.integers(1, 9), st.integers(1, 9)), seed=st.integers(0, 2**31))
def test_blur_is_scipys_convolution(border, mode, shape, kernel, seed):
    """Odd and even kernels, smaller and larger than the image, by sums (30 entries or fewer) and by FFT."""
    rng = np.random.default_rng(seed)
    image, point_spread = rng.random(shape).astype(np.float32), rng.random(kernel)
    blurred = applied(measurement.blur(point_spread, shape, border=border), image)
    expected = ndimage.convolve(image.astype(float), point_spread, mode=mode)
    np.testing.assert_allclose(blurred, expected, rtol=1e-4)


def test_the_direct_and_the_fft_path_agree():
    """The same kernel, once with a frame of zeros that makes it too large for direct sums."""
    rng = np.random.default_rng(0)
    image, kernel = rng.random((21, 17)).astype(np.float32), rng.random((4, 5))
    small, large = (measurement.blur(k, image.shape) for k in (kernel, np.pad(kernel, 3)))
    np.testing.assert_allclose(applied(small, image), applied(large, image), rtol=1e-5)
    np.testing.assert_allclose(small.rmatvec(image.ravel()), large.rmatvec(image.ravel()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_downsampling_sits_in_the_middle_of_each_block(factor):
    """On a plane a·row + b·column the small image is the plane at the blocks' centres, and back."""
    side = 12 * factor
    rows, columns = np.indices((side, side), np.float32)
    plane = 3 * rows - 2 * columns + 100
    A = measurement.downsampling(factor, plane.shape)
    small = applied(A, plane)
    assert small.shape == (12, 12)
    centres = plane.reshape(12, factor, 12, factor).mean(axis=(1, 3))
    np.testing.assert_allclose(small[2:-2, 2:-2], centres[2:-2, 2:-2], atol=1e-3)
    away = slice(3 * factor, -3 * factor)
    np.testing.assert_allclose(enlarge(centres, factor)[away, away], plane[away, away], atol=1e-3)


def test_fourier_sampling_is_orthonormal():
    mask = measurement.variable_density_mask((16, 20), 0.3)
    A = measurement.fourier_sampling(mask)
    image = np.random.default_rng(0).random((16, 20)).astype(np.float32)
    np.testing.assert_allclose(A.matvec(image.ravel()), np.fft.fft2(image, norm="ortho")[mask], atol=1e-5)
    y = A.matvec(image.ravel())
    np.testing.assert_allclose(A.matvec(A.rmatvec(y)), y, atol=1e-5)


@pytest.mark.parametrize("make", [measurement.radial_mask, measurement.variable_density_mask])
@given(shape=st.tuples(st.integers(1, 70), st.integers(1, 70)), fraction=st.floats(0, 1))
def test_fourier_masks_hold_the_mean_and_the_fraction_asked_for(make, shape, fraction):
    mask = make(shape, fraction)
    assert mask.shape == shape and mask[0, 0]
    assert abs(mask.sum() - max(1, fraction * mask.size)) <= 1


def test_a_radial_mask_is_lines_that_thin_out():
    mask = measurement.radial_mask((32, 32), 1 / 32)
    assert mask[0].all() and mask.sum() == 32  # one line
    mask = measurement.radial_mask((65, 65), 0.25)
    distance = np.hypot(*(np.fft.fftfreq(65)[axis] * 65 for axis in np.ogrid[:65, :65]))
    rings = [mask[(distance >= r) & (distance < r + 8)].mean() for r in range(0, 32, 8)]
    assert rings[0] > 0.9 and (np.diff(rings) < 0).all() and rings[-1] > 0.1
    inside = distance <= distance[mask].max() - 1  # off the shortened ends a line goes both ways
    np.testing.assert_array_equal((mask & inside)[1:, 1:], (mask & inside)[:0:-1, :0:-1])
    for fraction in (-0.1, 1.01, np.nan):
        with pytest.raises(ValueError, match="^fraction: "):
            measurement.radial_mask((8, 8), fraction)


def test_hadamard_sensing_takes_rows_of_a_hadamard_matrix():
    """Every row is that of SciPy's matrix, its columns with one sign each."""
    from scipy.linalg import hadamard

    A = measurement.hadamard_sensing((4, 8), 20)
    rows = np.stack([A.matvec(column) for column in np.eye(32, dtype=np.float32)], axis=1)
    magnitudes = np.abs(rows)
    np.testing.assert_allclose(magnitudes, 1 / np.sqrt(32), rtol=1e-5)
    np.testing.assert_allclose(rows @ rows.T, np.eye(20), atol=1e-5)
    known = {tuple(row) for row in hadamard(32)}
    signs = np.sign(rows)
    # With the signs of any one row taken out, another row is a product of two rows of the matrix: again one of them.
    assert all(tuple((signs[0] * row).astype(int)) in known for row in signs)


@pytest.mark.parametrize("name", measurement.EXAMPLES)
def test_a_measurement_can_be_pickled(name):
    A = measurement.EXAMPLES[name]((9, 11))
    again = pickle.loads(pickle.dumps(A))
    x = np.random.default_rng(0).standard_normal(99).astype(np.float32)
    np.testing.assert_array_equal(again.matvec(x), A.matvec(x))


def test_what_a_generator_gave_is_pickled_as_it_is():
    """Made again from the same generator it would be another."""
    cloudpickle = pytest.importorskip("cloudpickle")
    A = measurement.hadamard_sensing((4, 4), 3, rng=np.random.default_rng(0))
    again = pickle.loads(cloudpickle.dumps(A))
    np.testing.assert_array_equal(again.matvec(np.arange(16)), A.matvec(np.arange(16)))

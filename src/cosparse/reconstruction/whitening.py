"""Coordinates in which an energy is about as stiff in all directions, for its descent.

In flat parts of an image the Hessian of ½‖s - y‖² + weight·g(s) is 1 + weight·K, where K is a convolution: that of
every atom with itself, times its weight and the penalty's curvature at zero. Elsewhere responses are large, where the
penalty curves less or the other way; `part` is how much of it there is on average, whatever the image. The atoms are
blind to the mean and see little of low frequencies, so that 1 + part·weight·K differs by ten (noise 25) to fifty
(noise 50) between the lowest and the highest ones, and conjugate gradient takes its iterations to even that out. With
images s = S v, S the filter of the frequencies' inverse roots, it need not: see :mod:`cosparse.optimize.whitened`.

S is nearly a product of two filters of nine taps, one along each axis, which do as well as S itself. What this is
worth, and where it is worth nothing, is in docs/descent.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.reference import hessian
from cosparse.reconstruction.prior import Prior

REACH = 4  # pixels on each side
GRID = 64  # frequencies along an axis, from zero up, at which the filter is what it should be
HELD = 0.2  # of the mean over frequencies: taken for the data's curvature where data are held exactly

Taps = NDArray[np.float32]


def filters(prior: Prior, weight: float, part: float, data: float | None) -> tuple[Taps, Taps]:
    """The two filters of S, along columns and rows: of each, the middle tap and those to one side.

    `data` is the curvature of the data term, None if there is none.
    """
    stiff = part * weight * prior_curvature(prior)
    stiff += HELD * stiff.mean() if data is None else data
    kernel = _even_kernel(1 / np.sqrt(stiff))
    columns, sizes, rows = np.linalg.svd(kernel)
    sign = np.sign(columns[REACH, 0])
    down, across = (sign * np.sqrt(sizes[0]) * line[REACH:] for line in (columns[:, 0], rows[0]))
    return down.astype(np.float32), across.astype(np.float32)


def prior_curvature(prior: Prior) -> NDArray[np.float64]:
    """K's factor at the frequencies πk/GRID, k = 0..GRID along both axes, of a prior whose responses are all zero.

    Patches `stride` apart count for those between them too; what that does to single frequencies is left out, and so is
    the direction of slanting waves: as much along one diagonal as along the other.
    """
    height, width = prior.operator.patch_shape
    atoms = prior.operator.atoms.reshape(-1, height, width).astype(float)
    spectra = np.abs(np.fft.fft2(atoms, s=(2 * height, 2 * width))) ** 2
    lags = np.fft.ifft2(np.tensordot(prior.operator.weights.astype(float), spectra, 1)).real
    rows, columns = (
        np.cos(np.pi / GRID * np.outer(np.arange(GRID + 1), np.fft.fftfreq(2 * side, 1 / (2 * side))))
        for side in (height, width)
    )
    penalty = prior.penalty
    curved = hessian(np.zeros(()), penalty.code, penalty.nu, penalty.p) * (penalty.p if penalty.form == "pnorm" else 1)
    return np.asarray(np.maximum(curved * (rows @ lags @ columns.T), 0.0))


def _even_kernel(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """The filter that has such gains at the frequencies πk/GRID, even along both axes, cut off at REACH."""
    cosines = np.cos(np.pi / GRID * np.outer(np.arange(-REACH, REACH + 1), np.arange(GRID + 1))) / GRID
    cosines[:, [0, -1]] /= 2
    return np.asarray(cosines @ gains @ cosines.T)

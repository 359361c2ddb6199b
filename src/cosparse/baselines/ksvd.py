"""K-SVD denoising (Elad, Aharon 2006): a dictionary learned on the noisy image's own patches, and their average.

With y the noisy image, R_i what takes the i-th patch of n = 8x8 pixels out of it, and D a dictionary of 256 unit atoms,
the image x, the codes a_i and the dictionary are those that minimise

    λ ‖x - y‖² + Σ_i μ_i ‖a_i‖₀ + Σ_i ‖D a_i - R_i x‖².

D begins as the overcomplete cosine transform and x as y. Ten times, two steps by turns:

1. Sparse coding of every patch by orthogonal matching pursuit, the weights μ_i said by the error that is left,

       a_i = argmin ‖a‖₀   subject to   ‖D a - R_i x‖² <= n (C σ)²,      C = 1.15.

2. K-SVD (Aharon, Elad, Bruckstein 2006): each atom d_j with its coefficients g becomes the best rank-one fit to what
   the other atoms leave of the patches I that use it,

       (d_j, g) = argmin ‖E_j - d g^T‖²   subject to   ‖d‖ = 1,      E_j = R_I x - Σ_{k≠j} d_k a_k,I,

   which is the first singular pair. An atom that no patch uses, or that is nearly another one, becomes the patch that
   is represented worst.

Then all patches are coded once more, and the image is the average in closed form,

    x = (λ I + Σ_i R_i^T R_i)^-1 (λ y + Σ_i R_i^T D a_i),      λ = 30 / σ.

The first atom is the constant patch. It stays as it is and takes each patch's mean; the 255 others have none and work
on centred patches. Three things bound the time. Learning looks at no more than 40,000 patches drawn at random, out of
those that the constant atom alone does not represent (the rest use no other atom, whatever the dictionary). A code has
at most n/2 coefficients. And the pursuit never forms a residual: with q the unit vector by which a chosen atom widens
the span, all it needs are the cosines <q, d_k>, which follow from the Gram matrix of D and those before, as in a
Cholesky factorisation (Rubinstein, Zibulevsky, Elad 2008); the coefficients are one triangular solve at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cosparse.baselines._signals import Matrix, bands, unit
from cosparse.kernels.compiling import compiled
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.patches import Rng

TITLE = "K-SVD (our code)"
SIDE = 8
"""Of a patch, in pixels."""
FREQUENCIES = 16
"""Of the overcomplete cosine transform in each direction: their square is the number of atoms."""
GAIN = 1.15
"""C: the error left in a patch, over what its noise is expected to be."""
LAGRANGE = 30.0
"""λσ: how much the noisy image weighs in the average."""
TRAINING = 40_000
"""Patches that the dictionary is learned on, at most."""
MOST = SIDE * SIDE // 2
"""Coefficients of a patch, at most."""
SAME = 0.99
"""|cosine| from which two atoms are one."""
SPANNED = 1e-9
"""Squared norm below which what is left of an atom is rounding."""
ROWS = 8
"""Rows of patches that a thread works on at a time."""


def denoise(noisy: NDArray[np.float32], sigma: float, *, iterations: int = 10, rng: Rng = 0) -> NDArray[np.float32]:
    """Learn a dictionary for the image's own patches, code each by few of its atoms, and average them.

    Parameters
    ----------
    noisy : (height, width) array
        On 0..255, at least 8x8.
    sigma : float
        Standard deviation of the noise.
    iterations : int
        How often coding and atoms take turns; with 0 the dictionary is the overcomplete cosine transform.
    rng : int or numpy Generator
        Draws the patches to learn from.

    Returns
    -------
    (height, width) array

    References
    ----------
    M. Elad, M. Aharon: Image Denoising Via Sparse and Redundant Representations Over Learned Dictionaries.
    IEEE Transactions on Image Processing 15(12), 2006.

    Examples
    --------
    >>> import numpy as np
    >>> denoise(np.full((16, 24), 100, np.float32), 10.0).shape
    (16, 24)
    """
    picture = np.asarray(noisy, float)
    if picture.ndim != 2 or min(picture.shape) < SIDE:
        raise ValueError(f"noisy: expected a grey image of at least {SIDE}x{SIDE} pixels, got shape {picture.shape}")
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma: must be positive and finite, got {sigma!r}")
    bound = SIDE * SIDE * (GAIN * sigma) ** 2
    with one_blas_thread():
        atoms = overcomplete_cosines()
        if iterations > 0:
            atoms = learn_atoms(atoms, _training(picture, bound, np.random.default_rng(rng)), bound, iterations)
        tops = range(0, len(picture) - SIDE + 1, ROWS)
        parts = spread(lambda top: _patches_added(picture[top : top + ROWS + SIDE - 1], atoms, bound), tops)
    weight = LAGRANGE / sigma
    total = weight * picture
    for top, part in zip(tops, parts, strict=True):
        total[top : top + len(part)] += part
    down, across = (np.convolve(np.ones(length - SIDE + 1), np.ones(SIDE)) for length in picture.shape)
    return np.asarray(total / (weight + np.outer(down, across)), np.float32)


def overcomplete_cosines() -> Matrix:
    """The atoms of the overcomplete cosine transform, one a row, without the constant one."""
    waves = np.cos(np.outer(np.arange(FREQUENCIES), np.arange(SIDE)) * np.pi / FREQUENCIES)
    waves[1:] -= waves[1:].mean(axis=1, keepdims=True)
    return unit(np.asarray(np.kron(waves, waves)[1:], float))


def learn_atoms(atoms: Matrix, points: Matrix, bound: float, iterations: int, most: int = MOST) -> Matrix:
    """Atoms that represent centred patches, one a row, up to a squared error with fewer coefficients."""
    for _ in range(iterations):
        atoms = _updated(atoms, points, *pursue(atoms, points, bound, most))
    return atoms


def pursue(atoms: Matrix, points: Matrix, bound: float, most: int = MOST) -> tuple[NDArray[np.int16], Matrix]:
    """Orthogonal matching pursuit until the squared error is within the bound, by `most` coefficients at most.

    For each patch the atoms chosen, in order, and -1 after the last; and their coefficients.
    """
    gram = atoms @ atoms.T
    chosen = np.full((len(points), most), -1, np.int16)
    values = np.zeros(chosen.shape)

    def work(band: slice) -> None:
        part = points[band]
        _pursue(gram, part @ atoms.T, (part * part).sum(axis=1), bound, SPANNED, chosen[band], values[band])

    spread(work, bands(points))
    return chosen, values


@compiled
def _pursue(gram: Any, answers: Any, energies: Any, bound: float, spanned: float, chosen: Any, values: Any) -> None:
    """The pursuit for a band of patches, whose answers are used up."""
    most = chosen.shape[1]
    cosines = np.empty((most, len(gram)))
    along = np.empty(most)
    for i in range(len(answers)):
        z, atoms, left, count = answers[i], chosen[i], energies[i], 0
        while count < most and left > bound:
            j, best = -1, 0.0
            for k in range(len(z)):
                if abs(z[k]) > best:
                    j, best = k, abs(z[k])
            if j < 0:
                break
            c = cosines[count]
            c[:] = gram[j]
            for before in range(count):
                c -= cosines[before, j] * cosines[before]
            if c[j] < spanned:  # what is left of the patch is across all atoms
                break
            c /= np.sqrt(c[j])
            along[count] = z[j] / c[j]
            z -= along[count] * c
            left -= along[count] * along[count]
            atoms[count] = j
            count += 1
        for a in range(count - 1, -1, -1):
            value = along[a]
            for b in range(a + 1, count):
                value -= cosines[a, atoms[b]] * values[i, b]
            values[i, a] = value / cosines[a, atoms[a]]


@compiled
def _combined(atoms: Any, chosen: Any, values: Any) -> Any:
    """The patches that the codes stand for."""
    patches = np.zeros((len(chosen), atoms.shape[1]))
    for i in range(len(chosen)):
        for place in range(chosen.shape[1]):
            if chosen[i, place] < 0:
                break
            patches[i] += values[i, place] * atoms[chosen[i, place]]
    return patches


def _updated(atoms: Matrix, points: Matrix, chosen: NDArray[np.int16], values: Matrix) -> Matrix:
    """Each atom in its turn by the patches that use it."""
    atoms, left = atoms.copy(), points - _combined(atoms, chosen, values)
    users, places = np.nonzero(chosen >= 0)
    owners = chosen[users, places]
    order = np.argsort(owners, kind="stable")
    ends = np.searchsorted(owners[order], np.arange(len(atoms)), side="right")
    uses = np.diff(ends, prepend=0)
    for j in np.flatnonzero(uses):
        mine = order[ends[j] - uses[j] : ends[j]]
        error = left[users[mine]] + np.outer(values[users[mine], places[mine]], atoms[j])
        atoms[j] = np.linalg.eigh(error.T @ error)[1][:, -1]
        left[users[mine]] = error - np.outer(error @ atoms[j], atoms[j])
    _replace(atoms, uses, points, (left * left).sum(axis=1))
    return atoms


def _replace(atoms: Matrix, uses: NDArray[np.intp], points: Matrix, errors: Matrix) -> None:
    """Put the patches that are represented worst in the place of atoms that are of no use."""
    order = np.argsort(-uses, kind="stable")  # of two that are one, the more used stays
    twins = (np.abs(np.triu(atoms[order] @ atoms[order].T, 1)) > SAME).any(axis=0)
    useless = order[twins | (uses[order] == 0)]
    worst = np.argsort(-errors, kind="stable")[: len(useless)]
    atoms[useless[: len(worst)]] = unit(points[worst])


def _training(picture: Matrix, bound: float, generator: np.random.Generator) -> Matrix:
    """Centred patches to learn from: of those whose mean alone leaves more than the bound."""
    energies = _window_sums(picture * picture) - _window_sums(picture) ** 2 / SIDE**2
    useful = np.flatnonzero(energies > bound)
    if len(useful) > TRAINING:
        useful = np.sort(generator.choice(useful, TRAINING, replace=False))
    windows = sliding_window_view(picture, (SIDE, SIDE))
    patches = windows[np.unravel_index(useful, energies.shape)].reshape(-1, SIDE * SIDE)
    return np.asarray(patches - patches.mean(axis=1, keepdims=True))


def _window_sums(picture: Matrix) -> Matrix:
    """Of the pixels of every patch."""
    columns = sliding_window_view(picture, SIDE, axis=0).sum(axis=-1)
    return np.asarray(sliding_window_view(columns, SIDE, axis=1).sum(axis=-1))


def _patches_added(strip: Matrix, atoms: Matrix, bound: float) -> Matrix:
    """The sum of all represented patches of a strip of the image, each in its place."""
    windows = sliding_window_view(strip, (SIDE, SIDE))
    height, width = windows.shape[:2]
    points = windows.reshape(-1, SIDE * SIDE)
    means = points.mean(axis=1, keepdims=True)
    patches = means + _combined(atoms, *pursue(atoms, points - means, bound))
    total = np.zeros(strip.shape)
    for place, pixels in enumerate(patches.T):
        row, column = divmod(place, SIDE)
        total[row : row + height, column : column + width] += pixels.reshape(height, width)
    return total

"""Super-resolution by coupled dictionaries (Yang, Wright, Huang, Ma 2010): small and large patches share their codes.

Two dictionaries are learned from pairs of patches, one atom of D_l for each of D_h, so that a patch y of the small
image and the patch x of the large one have the same sparse code a,

    F y ≈ D_l a,      x ≈ D_h a.

F gives what is seen best in a small image, its first and second derivatives down and across,

    f = [-1, 0, 1],   f',   g = [1, 0, -2, 0, 1],   g',

of the image enlarged twice by bicubic interpolation: 4 x 6x6 numbers for a patch of 3x3 pixels. Learning minimises,
over dictionaries with atoms of norm at most one and over codes,

    ½ ‖[F y; w x] - [D_l; w D_h] a‖² + λ ‖a‖₁,

with w so that both halves weigh the same, by turns as in online dictionary learning (Mairal et al. 2010): a batch of
pairs is coded by the lasso, their products are added to two sums, and with these each atom in its turn gets its best
value. Enlarging, only y is there:

    a = argmin ½ ‖F y - D_l a‖² + λ ‖F y‖ ‖a‖₁,      x = D_h a.

All overlapping x are averaged, and the image X₀ so found is brought to agree with the small one by back-projection,

    X_{t+1} = X_t + U (Y - S X_t),

S being antialiased bicubic shrinking and U bicubic enlarging.

Three things are otherwise than in the paper. What x holds is the detail that bicubic enlarging lacks, not the patch
less its mean: a code of zeros is then bicubic enlarging. A pair is divided by ‖F y‖, so that λ needs no image's scale.
And patches that overlap are coded each for itself and averaged, which is the same whatever the order, instead of each
having to agree with those before it. As the last step of learning, D_h becomes the least-squares fit to details by the
codes that F y alone gives, which are those that there will be.

The dictionaries beside this file are our own, learned by `benchmarks/coupled_dictionaries.py`. The wheel leaves them
out.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from safetensors.numpy import load_file
from scipy.ndimage import correlate1d

from cosparse.baselines._signals import bands
from cosparse.kernels.compiling import compiled
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.patches import Rng
from cosparse.reconstruction.start import enlarge
from cosparse.trained_steps import of_bytes

Array = NDArray[np.float32]

TITLE = "coupled dictionaries (our code)"
FILE = Path(__file__).with_suffix(".safetensors")
FACTOR = 3
"""That the dictionaries were learned for."""
SIDE = 3
"""Of a patch of the small image, in pixels."""
FINER = 2
"""How many times the small image is enlarged to take its derivatives."""
FIRST, SECOND = (-1.0, 0.0, 1.0), (1.0, 0.0, -2.0, 0.0, 1.0)
LEARNING, ENLARGING = 0.1, 0.1
"""λ, over the norm of what is coded."""
ATOMS = 512
BATCH = 2048
STEPS = 400
"""Of one lasso, at most."""
SETTLED = 1e-3
"""Change of a coefficient, over the norm of what is coded, at which a lasso ends."""
TURNS = 20
"""Of back-projection."""
ROWS = 8
"""Rows of patches that a thread works on at a time."""


def upscale(small: Array, factor: int) -> Array:
    """Enlarge three times, adding the details that go with the derivatives of each patch.

    Parameters
    ----------
    small : (height, width) array
        On 0..255, at least 3x3.
    factor : {3}
        The dictionaries are for no other.

    Returns
    -------
    (3 height, 3 width) array

    References
    ----------
    J. Yang, J. Wright, T. Huang, Y. Ma: Image Super-Resolution via Sparse Representation. IEEE Transactions on Image
    Processing 19(11), 2010.

    Examples
    --------
    >>> import numpy as np
    >>> upscale(np.full((5, 7), 100, np.float32), 3).shape
    (15, 21)
    """
    given = np.asarray(small, np.float32)
    if given.ndim != 2 or min(given.shape) < SIDE:
        raise ValueError(f"small: expected a grey image of at least {SIDE}x{SIDE} pixels, got shape {given.shape}")
    if factor != FACTOR:
        raise ValueError(f"factor: the dictionaries were learned for {FACTOR}, got {factor!r}; enlarge by {FACTOR}")
    low, high = dictionaries()
    features = feature_patches(given)
    height, width = features.shape[:2]
    side = SIDE * FACTOR

    def added(top: int) -> Array:
        """The details of some rows of patches, each in its place."""
        part = features[top : top + ROWS].reshape(-1, low.shape[1])
        details = _details(part, low, high).reshape(-1, width, side, side)
        total = np.zeros(((len(details) - 1) * FACTOR + side, (width - 1) * FACTOR + side), np.float32)
        for row, column in np.ndindex(side, side):
            total[row::FACTOR, column::FACTOR][: len(details), :width] += details[:, :, row, column]
        return total

    tops = range(0, height, ROWS)
    with one_blas_thread():
        parts = spread(added, tops)
    total = np.zeros((given.shape[0] * FACTOR, given.shape[1] * FACTOR), np.float32)
    for top, part in zip(tops, parts, strict=True):
        total[top * FACTOR :][: len(part)] += part
    down, across = (_covered(length) for length in (height, width))
    begun = enlarge(given, FACTOR) + total / np.outer(down, across)
    return back_projected(np.asarray(begun, np.float32), given)


@cache
def dictionaries() -> tuple[Array, Array]:
    """D_l and D_h, one atom a row."""
    if not FILE.exists():
        raise FileNotFoundError(
            f"{FILE.name}: is in the repository, not in the wheel; install from a clone, or learn the dictionaries by "
            "learn_dictionaries"
        )
    found = load_file(FILE)  # in bytes, as trained steps are
    low, high = (of_bytes("atoms", found[name], found[f"{name}.unit"]) for name in ("low", "high"))
    return low, high


def feature_patches(small: Array) -> Array:
    """F of every patch of a small image: (rows of patches, columns of patches, 4 x 6x6)."""
    finer = enlarge(small, FINER)
    maps = [correlate1d(finer, kernel, axis, mode="nearest") for kernel in (FIRST, SECOND) for axis in (0, 1)]
    side = SIDE * FINER
    windows = [sliding_window_view(one, (side, side))[::FINER, ::FINER] for one in maps]
    return np.stack(windows, axis=2).reshape(*windows[0].shape[:2], -1)


def detail_patches(large: Array, small: Array) -> Array:
    """What bicubic enlarging lacks of every patch, in the same order: (rows, columns, 9x9)."""
    side = SIDE * FACTOR
    windows = sliding_window_view(large - enlarge(small, FACTOR), (side, side))[::FACTOR, ::FACTOR]
    return windows.reshape(*windows.shape[:2], -1)


def back_projected(image: Array, small: Array) -> Array:
    """The image, changed until shrinking it gives the small one."""
    rows, columns = (shrinking(side * FACTOR) for side in small.shape)
    for _ in range(TURNS):
        missed = np.asarray(small - rows @ image @ columns.T, np.float32)
        image = np.asarray(image + enlarge(missed, FACTOR), np.float32)
    return image


def shrinking(size: int) -> Array:
    """(size / 3, size): antialiased bicubic interpolation (a = -0.5) along one axis, borders mirrored."""
    centre = (np.arange(size // FACTOR) + 0.5) * FACTOR - 0.5
    taps = np.floor(centre).astype(int)[:, None] + np.arange(-2 * FACTOR, 2 * FACTOR + 1)
    x = np.abs(centre[:, None] - taps) / FACTOR
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    weights = np.where(x <= 1, near, np.where(x < 2, far, 0))
    places = np.pad(np.arange(size), 2 * FACTOR, mode="symmetric")[taps + 2 * FACTOR]
    matrix = np.zeros((len(centre), size))
    np.add.at(matrix, (np.arange(len(centre))[:, None], places), weights)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True), np.float32)


def learn_dictionaries(
    features: Array, details: Array, *, atoms: int = ATOMS, passes: int = 2, rng: Rng = 0
) -> tuple[Array, Array]:
    """D_l and D_h from pairs, one a row: over all of them so many times, batch by batch.

    Parameters
    ----------
    features, details : (count, 144) and (count, 81) arrays
        Of :func:`feature_patches` and :func:`detail_patches`; none of the features all zeros.
    atoms : int
        Of each dictionary.
    passes : int
        How often each pair is looked at.
    rng : int or numpy Generator
        Draws the first atoms and the batches.

    Returns
    -------
    (atoms, 144) and (atoms, 81) arrays
    """
    generator = np.random.default_rng(rng)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    features, details = features / norms, details / norms
    weight = np.sqrt((features**2).sum() / (details**2).sum())
    pairs = np.concatenate([features, weight * details], axis=1)
    found = pairs[generator.choice(len(pairs), atoms, replace=False)]
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    with one_blas_thread():
        found = _online(found, pairs, passes, generator)
        low = np.ascontiguousarray(found[:, : features.shape[1]])
        low /= np.maximum(np.linalg.norm(low, axis=1, keepdims=True), 1e-6)
        codes = lasso(low, features, ENLARGING)
    ridge = 1e-3 * len(codes) / atoms * float((codes**2).mean() * atoms) * np.eye(atoms)
    high = np.linalg.solve(codes.T.astype(float) @ codes + ridge, codes.T.astype(float) @ details)
    return low, high.astype(np.float32)


def _online(atoms: Array, pairs: Array, passes: int, generator: np.random.Generator) -> Array:
    """Batches coded by turns with the atoms; what earlier batches said fades as the atoms get better."""
    squares, products = np.zeros((len(atoms), len(atoms))), np.zeros(atoms.shape)
    for _ in range(passes):
        order = generator.permutation(len(pairs))
        for low in range(0, len(order), BATCH):
            batch = pairs[order[low : low + BATCH]]
            codes = lasso(atoms, batch, LEARNING * float(np.sqrt(2)))
            squares, products = 0.95 * squares + codes.T @ codes, 0.95 * products + codes.T @ batch
            atoms = _better(atoms, squares, products)
            unused = np.flatnonzero(np.diag(squares) < 1e-6)
            atoms[unused] = batch[generator.choice(len(batch), len(unused), replace=len(unused) > len(batch))]
            atoms /= np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-6)
    return atoms


def _better(atoms: Array, squares: NDArray[Any], products: NDArray[Any]) -> Array:
    """Each atom in its turn the best one for its coefficients, of norm at most one."""
    atoms = atoms.astype(float)
    for k in np.flatnonzero(np.diag(squares) > 1e-6):
        atom = atoms[k] + (products[k] - squares[k] @ atoms) / squares[k, k]
        atoms[k] = atom / max(1.0, float(np.linalg.norm(atom)))
    return atoms.astype(np.float32)


def _details(features: Array, low: Array, high: Array) -> Array:
    """D_h times the codes of features, at the features' own scale."""
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    codes = lasso(low, features / np.maximum(norms, 1e-6), ENLARGING)
    return np.asarray(norms * (codes @ high), np.float32)


def lasso(atoms: Array, points: Array, penalty: float) -> Array:
    """The codes a of points p, one a row, that minimise ½ ‖p - D a‖² + λ ‖a‖₁; atoms of norm one.

    By coordinate descent: always the coefficient that changes most. What the atoms answer to what is left of the point
    follows from their Gram matrix.
    """
    gram = np.ascontiguousarray(atoms @ atoms.T)
    codes = np.zeros((len(points), len(atoms)), np.float32)

    def work(band: slice) -> None:
        _lasso(gram, points[band] @ atoms.T, np.float32(penalty), np.float32(SETTLED), STEPS, codes[band])

    spread(work, bands(points))
    return codes


@compiled
def _lasso(gram: Any, answers: Any, penalty: float, settled: float, steps: int, codes: Any) -> None:
    """The lasso for a band of points, whose answers are used up."""
    count = len(gram)
    for i in range(len(answers)):
        answer, code = answers[i], codes[i]
        for _ in range(steps):
            chosen, change = -1, settled
            for k in range(count):
                wanted = answer[k] + code[k]
                size = max(abs(wanted) - penalty, np.float32(0))
                move = abs((size if wanted > 0 else -size) - code[k])
                if move > change:
                    chosen, change = k, move
            if chosen < 0:
                break
            wanted = answer[chosen] + code[chosen]
            size = max(abs(wanted) - penalty, np.float32(0))
            value = size if wanted > 0 else -size
            answer -= (value - code[chosen]) * gram[chosen]
            code[chosen] = value


def _covered(count: int) -> NDArray[Any]:
    """How many of so many patches in a row lie over each pixel."""
    over = np.zeros((count - 1) * FACTOR + SIDE * FACTOR)
    for patch in range(count):
        over[patch * FACTOR :][: SIDE * FACTOR] += 1
    return over

"""The definition of every kernel in plain NumPy, in the precision of its input.

Slow, and made to be read: tests hold `fused` to what stands here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosparse.penalty import LOG

Array = NDArray[np.floating]


def penalise(v: Array, code: int, nu: float, p: float) -> tuple[Array, Array]:
    """phi(v) and its derivative, elementwise."""
    if code == LOG:
        inside = 1 + nu * v * v
        return np.log(inside), 2 * nu * v / inside
    inside = v * v + nu
    return inside ** (p / 2) / p, v * inside ** (p / 2 - 1)


def patch_sparsity(
    atoms: Array, weights: Array, patches: Array, code: int, nu: float, p: float, square: bool
) -> tuple[float, Array]:
    """Mean sparsity of the analysed patches and its gradient, Eqs. (37) and (38).

    With g(s) = sum_i w_i phi(atom_i · s) for one patch s, the value is the mean of g, or of g²/2 where
    `square` is set.
    """
    phi, slope = penalise(patches @ atoms.T, code, nu, p)
    per_patch = phi @ weights
    slope = slope * weights
    if square:
        slope = slope * per_patch[:, None]
        per_patch = per_patch**2 / 2
    return float(per_patch.mean()), slope.T @ patches / len(patches)


def positions(extent: int, stride: int) -> int:
    """How many patches, `stride` apart, see each of `extent` pixels as often as in the paper.

    Patch number a covers the pixels [a·stride - size//2, a·stride - size//2 + size). At stride 1 there is
    one patch a pixel; the last position is never before the last pixel, so that none is left out.
    """
    return -(-(extent - 1) // stride) + 1


def padding(extent: int, size: int, stride: int) -> tuple[int, int]:
    """Replicated pixels before and after, so that every patch lies inside."""
    before = size // 2
    return before, (positions(extent, stride) - 1) * stride + size - before - extent


def replicate(image: Array, patch: tuple[int, int], stride: tuple[int, int]) -> Array:
    """The image with its border values repeated (constant padding, section IV)."""
    rows = padding(image.shape[0], patch[0], stride[0])
    columns = padding(image.shape[1], patch[1], stride[1])
    return np.pad(image, (rows, columns, *[(0, 0)] * (image.ndim - 2)), mode="edge")


def replicate_rows(image: Array, rows: range, patch: tuple[int, int], stride: tuple[int, int]) -> Array:
    """The part of :func:`replicate` that some rows of patches see."""
    top = rows.start * stride[0] - patch[0] // 2
    lines = np.arange(top, top + (len(rows) - 1) * stride[0] + patch[0]).clip(0, len(image) - 1)
    (before, after), width = padding(image.shape[1], patch[1], stride[1]), image.shape[1]
    part = np.empty(
        (len(lines), before + width + after, *image.shape[2:]), image.dtype
    )  # np.pad would take four times as long
    part[:, before : before + width] = image[lines]
    part[:, :before], part[:, before + width :] = part[:, before, None], part[:, before + width - 1, None]
    return part


def fold_border(padded: Array, shape: tuple[int, ...], corner: tuple[int, int]) -> Array:
    """The adjoint of repeating border values: what fell on a repeated pixel is added to its source.

    `corner` is where the image's first pixel lies in the padded one, whose own memory is used for the result.
    """
    (top, left), (height, width) = corner, shape[:2]
    folded = padded[top : top + height]
    folded[0] += padded[:top].sum(axis=0)
    folded[-1] += padded[top + height :].sum(axis=0)
    before, after = folded[:, :left].sum(axis=1), folded[:, left + width :].sum(axis=1)
    image = padded.reshape(-1)[: math.prod(shape)].reshape(shape)
    for first in range(0, height, 64):  # rows only ever move forward, and a second image would cost memory
        rows = slice(first, first + 64)
        image[rows] = folded[rows, left : left + width]
    image[:, 0] += before
    image[:, -1] += after
    return image


def analyse(atoms: Array, image: Array, patch: tuple[int, int], stride: tuple[int, int]) -> Array:
    """The global operator of Eq. (47) on an image: (rows, columns, k) responses.

    Of an image of several planes, (h, w, c), a patch has all those of a pixel beside each other.
    """
    windows = np.lib.stride_tricks.sliding_window_view(replicate(image, patch, stride), patch, axis=(0, 1))
    windows = windows if image.ndim == 2 else np.moveaxis(windows, 2, 4)
    windows = windows[:: stride[0], :: stride[1]]
    rows, columns = windows.shape[:2]
    return windows.reshape(rows, columns, -1) @ atoms.T


def synthesise(
    atoms: Array, responses: Array, shape: tuple[int, ...], patch: tuple[int, int], stride: tuple[int, int]
) -> Array:
    """The adjoint of :func:`analyse`."""
    rows, columns = responses.shape[:2]
    pieces = (responses @ atoms).reshape(rows, columns, *patch, *shape[2:])
    height, width = (rows - 1) * stride[0] + patch[0], (columns - 1) * stride[1] + patch[1]
    padded = np.zeros((height, width, *shape[2:]), pieces.dtype)
    for i in range(patch[0]):
        for j in range(patch[1]):
            padded[
                i : i + (rows - 1) * stride[0] + 1 : stride[0], j : j + (columns - 1) * stride[1] + 1 : stride[1]
            ] += pieces[:, :, i, j]
    return fold_border(padded, shape, (patch[0] // 2, patch[1] // 2))


def patch_means(plane: Array, patch: tuple[int, int], stride: tuple[int, int]) -> NDArray[np.float64]:
    """The mean of a plane over every patch, repeated border values included: (rows, columns)."""
    sums = np.pad(replicate(plane, patch, stride).astype(float).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    (height, width), (down, across) = patch, stride
    rows, columns = (positions(extent, step) for extent, step in zip(plane.shape, stride, strict=True))
    top, left = slice(0, (rows - 1) * down + 1, down), slice(0, (columns - 1) * across + 1, across)
    bottom = slice(height, height + top.stop, down)
    right = slice(width, width + left.stop, across)
    total = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return np.asarray(total / (height * width))


def patch_sums(values: Array, shape: tuple[int, int], patch: tuple[int, int], stride: tuple[int, int]) -> Array:
    """For every pixel of an image the sum of the values (rows, columns) of all patches that see it."""
    (rows, columns), (height, width), (down, across) = values.shape, patch, stride
    tall = np.zeros(((rows - 1) * down + height, columns), values.dtype)
    for i in range(height):
        tall[i : i + (rows - 1) * down + 1 : down] += values
    padded = np.zeros((len(tall), (columns - 1) * across + width), values.dtype)
    for j in range(width):
        padded[:, j : j + (columns - 1) * across + 1 : across] += tall
    return fold_border(padded, shape, (height // 2, width // 2))


class LocalWeights(NamedTuple):
    """A prior that is not the same everywhere: at level l, atom i answers `scale[l, i]` times and weighs
    `weights[l, i]`; `levels` (rows, columns) has the level of every patch."""

    levels: NDArray[np.intp]
    weights: Array
    scale: Array


class LocalGains(NamedTuple):
    """A trained step that is not the same everywhere: factors (levels, k) on responses and gains, (levels, m) on pools,
    floors and shares; `levels` (rows, columns) has the level of every patch."""

    levels: NDArray[np.intp]
    responses: Array
    gains: Array
    pools: Array
    floors: Array
    shares: Array


def image_sparsity(
    atoms: Array,
    weights: Array,
    image: Array,
    patch: tuple[int, int],
    stride: tuple[int, int],
    code: int,
    nu: float,
    p: float,
    counted: tuple[range, range] | None = None,
    local: LocalWeights | None = None,
) -> tuple[float, Array]:
    """Sparsity of all patches of an image, Eqs. (45) and (46), and its gradient.

    `counted` are the rows and columns of patches that the value is of; the gradient is always of all. With `local`
    weights those take the place of `weights`.
    """
    scale: Array | float = 1.0
    if local is not None:
        scale, weights = local.scale[local.levels], local.weights[local.levels]
    phi, slope = penalise(scale * analyse(atoms, image, patch, stride), code, nu, p)
    gradient = synthesise(atoms, scale * slope * weights, image.shape, patch, stride)
    each = (phi * weights).sum(axis=-1)
    return float((each if counted is None else each[np.ix_(*counted)]).sum()), gradient


def hessian(v: Array, code: int, nu: float, p: float) -> Array:
    """The second derivative of phi, elementwise."""
    if code == LOG:
        inside = 1 + nu * v * v
        return 2 * nu * (2 - inside) / inside**2
    inside = v * v + nu
    return inside ** (p / 2 - 2) * ((p - 1) * v * v + nu)


def image_curvature(
    atoms: Array,
    weights: Array,
    image: Array,
    direction: Array,
    patch: tuple[int, int],
    stride: tuple[int, int],
    code: int,
    nu: float,
    p: float,
) -> Array:
    """The Hessian of :func:`image_sparsity` at an image, times a direction."""
    second = hessian(analyse(atoms, image, patch, stride), code, nu, p)
    change = weights * second * analyse(atoms, direction, patch, stride)
    return synthesise(atoms, change, image.shape, patch, stride)


def image_sensitivity(
    atoms: Array,
    weights: Array,
    image: Array,
    direction: Array,
    patch: tuple[int, int],
    stride: tuple[int, int],
    code: int,
    nu: float,
    p: float,
) -> tuple[Array, Array]:
    """How <gradient of :func:`image_sparsity`, direction> changes with the atoms and with their weights.

    With v = atom · patch and u = atom · (the direction's patch), the product is the sum of w phi'(v) u; its derivative
    by an atom is the sum of w (phi''(v) u patch + phi'(v) direction's patch), and by a weight the sum of phi'(v) u.
    """
    v, u = analyse(atoms, image, patch, stride), analyse(atoms, direction, patch, stride)
    slope, second = penalise(v, code, nu, p)[1], hessian(v, code, nu, p)
    identity = np.eye(atoms.shape[1], dtype=image.dtype)
    here = analyse(identity, image, patch, stride)
    there = analyse(identity, direction, patch, stride)
    by_atom = np.einsum("rck,rcn->kn", second * u, here) + np.einsum("rck,rcn->kn", slope, there)
    return weights[:, None] * by_atom, (slope * u).sum(axis=(0, 1))


def influence(z: Array, own: Array, pools: Array, shares: Array, floors: Array) -> tuple[Array, Array, Array]:
    """phi(z) = z·(a/(1 + z²) + B h) of responses (..., k), h = 1/(1 + max(M z², floors)); its gain phi(z)/z; and h.

    The first part of the gain belongs to each atom alone (`own`, a). In the second atoms speak for each other: a pool,
    a row of `pools` M >= 0, takes the energy of several responses, and the less there is, the more of its shares, a
    column of `shares` B, it gives to the gains. Without pools every atom has one rational potential. Below its floor,
    which training hardly ever saw, a pool counts as if it were there.
    """
    h = 1 / (1 + np.maximum(z**2 @ pools.T, floors))
    gain = own / (1 + z**2) + h @ shares.T
    return z * gain, gain, h


def pooled_step(
    atoms: Array, own: Array, pools: Array, shares: Array, floors: Array, image: Array, patch: tuple[int, int],
    stride: tuple[int, int], local: LocalGains | None = None,
) -> Array:  # fmt: skip
    """What one step of a staged operator takes away from an image: the sum of Ωᵀphi(Ω p) over all patches p.

    With `local` gains every patch has an Ω, M, B, a and floors of its own, those given times the factors of its level.
    """
    z = analyse(atoms, image, patch, stride)
    if local is None:
        return synthesise(atoms, influence(z, own, pools, shares, floors)[0], image.shape, patch, stride)
    responses, gains, energies, least, given = (table[local.levels] for table in local[1:])
    z = responses * z
    h = given / (1 + np.maximum(energies * (z**2 @ pools.T), least * floors))
    phi = z * gains * (own / (1 + z**2) + h @ shares.T)
    return synthesise(atoms, responses * phi, image.shape, patch, stride)


def pooled_reverse(
    atoms: Array, own: Array, pools: Array, shares: Array, floors: Array, image: Array, adjoint: Array,
    patch: tuple[int, int], stride: tuple[int, int],
) -> tuple[Array, tuple[Array, ...]]:  # fmt: skip
    """The gradient of <:func:`pooled_step`, adjoint> by the image, and by atoms, own, pools and shares.

    With w = Ω·(the adjoint's patch) the product is the sum of w·phi(z). It changes with gain g_i by w_i z_i, and so
    with M through h by -h² Bᵀ(w z), which comes back to z as 2z Mᵀ of that.
    """
    z, w = analyse(atoms, image, patch, stride), analyse(atoms, adjoint, patch, stride)
    phi, gain, h = influence(z, own, pools, shares, floors)
    by_gain = w * z
    by_pool = np.where(z**2 @ pools.T > floors, -(h**2), 0) * (by_gain @ shares)
    by_z = w * (gain - 2 * own * z**2 / (1 + z**2) ** 2) + 2 * z * (by_pool @ pools)
    identity = np.eye(atoms.shape[1], dtype=image.dtype)
    here, there = (analyse(identity, plane, patch, stride) for plane in (image, adjoint))
    return synthesise(atoms, by_z, image.shape, patch, stride), (
        np.einsum("rck,rcn->kn", by_z, here) + np.einsum("rck,rcn->kn", phi, there),
        (by_gain / (1 + z**2)).sum(axis=(0, 1)),
        np.einsum("rcm,rck->mk", by_pool, z**2),
        np.einsum("rck,rcm->km", by_gain, h),
    )


EVEN = 64.0  # variances that differ by no more than this within a group are taken for one
CHESSBOARD = 8  # patches of this size or more are compared by every second pixel, like a chessboard's white fields


def smooth(image: Array, down: Array, across: Array) -> Array:
    """A symmetric filter down the columns and one along the rows, the image mirrored at its borders.

    Of each filter the middle tap and those to one side are given. With mirrors it is a symmetric matrix on images.
    """
    for axis, taps in enumerate((down, across)):
        reach, lines = len(taps) - 1, np.moveaxis(image, axis, -1)
        padded = np.pad(lines, ((0, 0), (reach, reach)), mode="symmetric")
        kernel = np.concatenate([taps[:0:-1], taps])
        lines = np.stack([np.convolve(line, kernel, mode="valid") for line in padded])
        image = np.moveaxis(lines, -1, axis)
    return image


def group_corners(extent: int, size: int, step: int, shift: int = 0) -> NDArray[np.int64]:
    """First pixels of patches `step` apart, one of them at `shift`, and of one at each end: every pixel is in one."""
    return np.unique(np.concatenate([[0], np.arange(shift, extent - size + 1, step), [extent - size]]))


def group_filter(
    pilots: Array, noisies: Array, known: Array, variances: Array, everywhere: bool,
    size: int, step: int, radius: int, count: int, alike: float = np.inf, shift: int = 0,
    covariances: Array | None = None, relative: Array | None = None,
) -> Array:  # fmt: skip
    """Planes (c, h, w) of one picture, estimated in groups of similar patches; `known` is 0 at missing pixels, else 1.

    For every patch (size x size, `step` <= size apart, from `shift` on; unless `everywhere`, only where pixels are
    missing) the `count` patches within `radius` that are nearest to it in the first pilot make a group; large ones (see
    `CHESSBOARD`) are compared by every second pixel, which tells as much. With the group's pilot patches as rows of P,
    their mean m and X = P - m, the noisy ones y are taken for samples of the Gaussian with mean m and
    covariance C = XᵀX/n, seen in noise of variance v. If K picks the pixels of y that are known, the estimate is

        z = m + CKᵀ (KCKᵀ + vI)⁻¹ K(y - m) = m + Xᵀ (XKᵀKXᵀ + nvI)⁻¹ XKᵀ K(y - m).

    Noise that is not white: S, from `covariances` (c, pixels, pixels), takes the place of vI, and the estimate is

        z = m + Xᵀ (XS⁻¹Xᵀ + nI)⁻¹ XS⁻¹ (y - m).

    Noise that is not the same everywhere: `relative` (h, w) has a factor on the variance of every pixel. If those of a
    group differ by no more than `EVEN`, their mean is taken for all of it, else S is diagonal with each pixel's own.
    Where pixels of a group are missing or differ so, of the covariances nothing counts but v.

    A group whose patches are not alike keeps its pilots instead: if the squared distance of the middle one of the n,
    the nearest first, is more than `alike` times the contrast of the first, the sum of squares, over the same pixels,
    of what it differs by from its mean. A pixel is the mean of all estimates of it, weighted with the share of pixels
    that were known in each patch, over the mean of its relative variances; where there are none, it stays as in the
    pilot.
    """
    height, width = pilots.shape[1:]
    a, b = min(size, height), min(size, width)
    total, weights = np.zeros_like(pilots), np.zeros_like(known, dtype=pilots.dtype)
    factors = np.ones((height, width)) if relative is None else relative
    compared = (np.indices((a, b)).sum(axis=0) % 2 == 0) | (min(a, b) < CHESSBOARD)
    for top in group_corners(height, a, step, shift):
        for left in group_corners(width, b, step, shift):
            if not everywhere and known[top : top + a, left : left + b].all():
                continue
            rows = range(max(0, top - radius), min(height - a, top + radius) + 1)
            columns = range(max(0, left - radius), min(width - b, left + radius) + 1)
            corners = [(i, j) for i in rows for j in columns if (i, j) != (top, left)]
            own = pilots[0, top : top + a, left : left + b]
            distance = {
                (i, j): float((compared * (pilots[0, i : i + a, j : j + b] - own) ** 2).sum())
                for i in rows for j in columns
            }  # fmt: skip
            group = [(top, left), *sorted(corners, key=distance.__getitem__)][:count]
            contrast = float((compared * (own - own.mean()) ** 2).sum())
            close = alike == np.inf or distance[group[len(group) // 2]] <= alike * contrast
            levels = np.stack([factors[i : i + a, j : j + b].ravel() for i, j in group])
            even = levels.max() <= EVEN * levels.min()
            whole = even and all(known[i : i + a, j : j + b].all() for i, j in group)
            for i, j in group:
                place = slice(i, i + a), slice(j, j + b)
                sure = known[place].ravel().astype(bool)
                weight = sure.mean() / factors[place].mean()
                weights[place] += weight
                for c, (pilot, noisy, sums) in enumerate(zip(pilots, noisies, total, strict=True)):
                    P = np.stack([pilot[u : u + a, v : v + b].ravel() for u, v in group])
                    m = P.mean(axis=0)
                    X = P - m
                    S = variances[c] * np.diag(factors[place].ravel() if not even else np.full(a * b, levels.mean()))
                    if whole and covariances is not None:
                        S = levels.mean() * covariances[c]
                    seen = X[:, sure] @ np.linalg.inv(S[np.ix_(sure, sure)])
                    system = seen @ X[:, sure].T + len(group) * np.eye(len(group))
                    z = m + X.T @ np.linalg.solve(system, seen @ (noisy[place].ravel() - m)[sure])
                    sums[place] += weight * (z.reshape(a, b) if close else pilot[place])
    return np.where(weights > 0, total / np.where(weights > 0, weights, 1), pilots)

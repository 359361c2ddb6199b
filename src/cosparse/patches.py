"""Training patches: sampled, centred, normalised."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.io.find import find_images
from cosparse.io.picture import read_greys, read_image
from cosparse.io.values import to_working

FLAT = 2.0  # grey levels (of 255): a patch whose standard deviation is lower says nothing about structure
DRAW = 4096  # patches looked at in one go

Rng = int | np.random.Generator


def sample_patches(
    images: ArrayLike | str | os.PathLike[str] | Iterable[Any],
    size: int = 8,
    count: int = 200_000,
    *,
    share: Literal["area", "equal"] = "area",
    rng: Rng = 0,
    data_range: float | None = None,
) -> NDArray[np.float32]:
    """Random patches for :func:`cosparse.learn_operator`.

    Each patch is centred (its mean taken away) and scaled to unit norm; nearly constant ones (standard
    deviation under two grey levels of 255) are passed over. No patch is taken twice.

    Parameters
    ----------
    images : array, path, or iterable of them
        Grey (h, w) or colour (h, w, 3) images of any mix of sizes; of colours the luma is taken. Further axes lead:
        an array (t, z, h, w) or (n, h, w, 3) counts as so many images, and an array whose last axis is 3 long as
        colour. A path may be a folder; of a file every page is used.
    size : int
        Side of a patch in pixels, 2 to 64.
    count : int
        How many patches.
    share : {"area", "equal"}
        Whether an image gives patches in proportion to its area or as many as any other.
    rng : int or numpy Generator
        The same seed gives the same patches.
    data_range : float, optional
        The value that stands for white, of arrays and files alike, against which "nearly constant" is measured. By
        default that of their type: 255, 65535, and 1 for float arrays; for float files see
        :func:`cosparse.images.float_range`. Floats on 0..255 need ``data_range=255``.

    Returns
    -------
    (count, size²) float32 array
        One patch a row, of mean 0 and norm 1.

    Raises
    ------
    ValueError
        An argument is out of its bounds, an image is not one or holds NaN, or there are fewer patches than `count`.

    References
    ----------
    Hawe, Kleinsteuber, Diepold: Analysis Operator Learning and Its Application..., IEEE TIP 22(6), 2013, section V-B.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> stripes = np.tile(np.arange(64) % 7 / 7, (64, 1))
    >>> patches = cosparse.sample_patches([stripes], count=100)
    >>> patches.shape, bool(np.allclose(np.linalg.norm(patches, axis=1), 1))
    ((100, 64), True)
    >>> stack = np.stack([255 * stripes, 255 * stripes.T])
    >>> cosparse.sample_patches(stack, size=6, count=10, data_range=255).shape
    (10, 36)
    """
    if not 2 <= size <= 64:
        raise ValueError(f"size: a patch is 2 to 64 pixels wide, got {size!r}")
    if count < 1:
        raise ValueError(f"count: must be at least 1, got {count!r}")
    if share not in ("area", "equal"):
        raise ValueError(f"share: expected 'area' or 'equal', got {share!r}")
    rng = np.random.default_rng(rng)
    pictures = grey_images(images, data_range)
    places = [max(p.shape[0] - size + 1, 0) * max(p.shape[1] - size + 1, 0) for p in pictures]
    if sum(places) == 0:
        raise ValueError(f"images: none is as large as one patch of {size} x {size} pixels")
    wanted = _allot(count, places if share == "area" else [place > 0 for place in places])
    found = [sample_image(picture, size, quota, rng) for picture, quota in zip(pictures, wanted, strict=True)]
    missing = count - sum(map(len, found))
    if missing:  # some images were too small or too flat for their share: the others make up for it
        found = [
            sample_image(picture, size, quota + missing, rng) if len(taken) == quota else taken
            for picture, taken, quota in zip(pictures, found, wanted, strict=True)
        ]
    patches = np.concatenate(found)
    if len(patches) < count:
        raise ValueError(
            f"count: the images hold only {len(patches)} patches that are not nearly constant, "
            f"{count} were asked for; add images or lower count"
        )
    return patches[np.sort(rng.permutation(len(patches))[:count])]


def sample_up_to(
    images: list[NDArray[np.float32]], size: int, most: int, *, rng: int = 0, data_range: float | None = None
) -> NDArray[np.float32]:
    """As many patches as the grey images hold that are not nearly constant, `most` at most."""
    places = sum(max(p.shape[0] - size + 1, 0) * max(p.shape[1] - size + 1, 0) for p in images)
    wanted = min(most, max(places, 1))
    while True:
        try:
            return sample_patches(images, size, wanted, rng=rng, data_range=data_range)
        except ValueError as error:
            if not str(error).startswith("count:"):
                raise
            wanted = wanted * 3 // 4  # the others are nearly constant
            if wanted < size * size:
                raise ValueError("the images hold too few patches that are not nearly constant; add others") from None


def sample_image(image: NDArray[np.float32], size: int, quota: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Up to `quota` distinct patches that are not flat. However many are drawn, few are built at once."""
    if quota == 0 or min(image.shape) < size:
        return np.zeros((0, size * size), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(image, (size, size))
    columns = windows.shape[1]
    total = windows.shape[0] * columns
    drawn = min(total, quota + quota // 4 + 16)
    while True:
        chosen = rng.choice(total, drawn, replace=False)
        found, missing = [], quota
        for part in np.array_split(chosen, -(-drawn // DRAW)):
            patches = windows[part // columns, part % columns].reshape(len(part), -1)
            patches -= patches.mean(axis=1, keepdims=True)
            norm = np.linalg.norm(patches, axis=1, keepdims=True)
            kept = norm[:, 0] > FLAT * size
            found.append((patches[kept] / norm[kept])[:missing])
            missing -= len(found[-1])
        if missing == 0 or drawn == total:
            return np.concatenate(found)
        drawn = min(total, 2 * drawn)


def grey_images(images: Any, data_range: float | None = None) -> list[NDArray[np.float32]]:
    """Every image, and every page of one, as float32 (h, w) on 0..255."""
    return _every_page(images, data_range, read_greys, _pages)


def colour_images(images: Any, data_range: float | None = None) -> list[NDArray[np.float32]]:
    """Every image of red, green and blue, and every page of one, as float32 (h, w, 3) on 0..255."""
    return _every_page(images, data_range, _read_colours, _colour_pages)


def _every_page(
    images: Any, data_range: float | None, read: Callable[..., list[Any]], pages_of: Callable[..., list[Any]]
) -> list[NDArray[np.float32]]:
    single = isinstance(images, (str, os.PathLike, np.ndarray))
    pictures: list[NDArray[np.float32]] = []
    for number, image in enumerate([images] if single else images):
        if isinstance(image, (str, os.PathLike)):
            for path in find_images([Path(image)]):
                pictures += read(path, data_range=data_range)
            continue
        pictures += pages_of(image, "images" if single else f"images[{number}]", data_range)
    if not pictures:
        raise ValueError("images: none given")
    return pictures


def _read_colours(path: Path, *, data_range: float | None) -> list[NDArray[np.float32]]:
    picture = read_image(path, data_range=data_range)
    return _colour_pages(picture.pixels, str(path), picture.data_range)


def _colour_pages(image: Any, name: str, data_range: float | None) -> list[NDArray[np.float32]]:
    """The pages of an array whose last axis is of red, green and blue."""
    array = to_working(image, data_range=data_range, name=name)
    if array.ndim < 3 or array.shape[-1] != 3:
        raise ValueError(f"{name}: expected red, green and blue, (h, w, 3) or a stack of it, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: holds NaN or infinite values; remove or inpaint them first")
    return list(array.reshape(-1, *array.shape[-3:]))


def _pages(image: Any, name: str, data_range: float | None) -> list[NDArray[np.float32]]:
    """The pages of an array: its last two axes, or three if the last is of colours."""
    array = to_working(image, data_range=data_range, name=name)
    if array.ndim > 2 and array.shape[-1] == 3:
        from skimage.color import rgb2gray

        array = rgb2gray(array)
    if array.ndim < 2:
        raise ValueError(f"{name}: expected (h, w), (h, w, 3) or a stack of them, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: holds NaN or infinite values; remove or inpaint them first")
    return list(array.reshape(-1, *array.shape[-2:]))


def checked_patches(patches: ArrayLike) -> NDArray[np.float32]:
    """Patches as the kernels want them: contiguous float32 rows of unit norm, centred if they were not."""
    array = np.ascontiguousarray(patches, np.float32)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"patches: expected (count, pixels), got shape {array.shape}")
    norms = np.sqrt(np.einsum("ij,ij->i", array, array, dtype=float))
    if not np.isfinite(norms).all():
        raise ValueError("patches: hold NaN or infinite values; remove those rows")
    means = array.mean(axis=1, keepdims=True, dtype=float)
    varying = norms**2 - array.shape[1] * means[:, 0] ** 2
    if not (varying > 1e-10 * norms.max() ** 2).all():
        raise ValueError("patches: some are constant; remove them (sample_patches leaves them out)")
    if np.abs(norms - 1).max() > 1e-3:
        array = array - means.astype(np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", array, array, dtype=float))
        array /= norms[:, None].astype(np.float32)
    return array


def _allot(count: int, parts: list[int] | list[bool]) -> list[int]:
    """`count` shared out in proportion to `parts`, whole numbers that add up."""
    edges = np.round(np.cumsum(parts) / np.sum(parts) * count).astype(int)
    return [int(quota) for quota in np.diff(edges, prepend=0)]

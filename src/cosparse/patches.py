"""Training patches: sampled, centred, normalised."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.images import find_images, read_grey, to_working

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
) -> NDArray[np.float32]:
    """Random patches for :func:`cosparse.learn_operator`.

    Each patch is centred (its mean taken away) and scaled to unit norm; nearly constant ones (standard
    deviation under two grey levels of 255) are passed over. No patch is taken twice.

    Parameters
    ----------
    images : array, path, or iterable of them
        Grey (h, w) or colour (h, w, 3) images of any mix of sizes; a path may be a folder.
    size : int
        Side of a patch in pixels.
    count : int
        How many patches.
    share : {"area", "equal"}
        Whether an image gives patches in proportion to its area or as many as any other.
    rng : int or numpy Generator
        The same seed gives the same patches.

    Returns
    -------
    (count, size²) float32 array, one patch a row.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> stripes = np.tile(np.arange(64) % 7 / 7, (64, 1))
    >>> patches = cosparse.sample_patches([stripes], count=100)
    >>> patches.shape, bool(np.allclose(np.linalg.norm(patches, axis=1), 1))
    ((100, 64), True)
    """
    if not 2 <= size <= 64:
        raise ValueError(f"size: a patch is 2 to 64 pixels wide, got {size!r}")
    if count < 1:
        raise ValueError(f"count: must be at least 1, got {count!r}")
    if share not in ("area", "equal"):
        raise ValueError(f"share: expected 'area' or 'equal', got {share!r}")
    rng = np.random.default_rng(rng)
    pictures = grey_images(images)
    places = [max(p.shape[0] - size + 1, 0) * max(p.shape[1] - size + 1, 0) for p in pictures]
    if sum(places) == 0:
        raise ValueError(f"images: none is as large as one patch of {size} x {size} pixels")
    wanted = _allot(count, places if share == "area" else [place > 0 for place in places])
    found = [
        _sample(picture, size, quota, rng) for picture, quota in zip(pictures, wanted, strict=True)
    ]
    missing = count - sum(map(len, found))
    if missing:  # some images were too small or too flat for their share: the others make up for it
        found = [
            _sample(picture, size, quota + missing, rng) if len(taken) == quota else taken
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
    images: list[NDArray[np.float32]], size: int, most: int, *, rng: int = 0
) -> NDArray[np.float32]:
    """As many patches as the grey images hold that are not nearly constant, `most` at most."""
    places = sum(max(p.shape[0] - size + 1, 0) * max(p.shape[1] - size + 1, 0) for p in images)
    wanted = min(most, max(places, 1))
    while True:
        try:
            return sample_patches(images, size, wanted, rng=rng)
        except ValueError as error:
            if not str(error).startswith("count:"):
                raise
            wanted = wanted * 3 // 4  # the others are nearly constant
            if wanted < size * size:
                raise ValueError(
                    "the images hold too few patches that are not nearly constant; add others"
                ) from None


def grey_images(images: Any) -> list[NDArray[np.float32]]:
    """Every image as float32 (h, w) on 0..255."""
    if isinstance(images, (str, os.PathLike)) or (
        # a stack of images is a sequence of them, one colour image is not
        isinstance(images, np.ndarray) and (images.ndim == 2 or images.shape[2:] == (3,))
    ):
        images = [images]
    pictures = []
    for number, image in enumerate(images):
        if isinstance(image, (str, os.PathLike)):
            pictures += [read_grey(path) for path in find_images([Path(image)])]
            continue
        name = f"images[{number}]"
        array = to_working(image, name=name)
        if array.ndim == 3 and array.shape[-1] == 3:
            array = array @ np.array([0.2125, 0.7154, 0.0721], np.float32)
        if array.ndim != 2:
            raise ValueError(f"{name}: expected (h, w) or (h, w, 3), got shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: holds NaN or infinite values; remove or inpaint them first")
        pictures.append(array)
    if not pictures:
        raise ValueError("images: none given")
    return pictures


def _allot(count: int, parts: list[int] | list[bool]) -> list[int]:
    """`count` shared out in proportion to `parts`, whole numbers that add up."""
    edges = np.round(np.cumsum(parts) / np.sum(parts) * count).astype(int)
    return [int(quota) for quota in np.diff(edges, prepend=0)]


def _sample(
    image: NDArray[np.float32], size: int, quota: int, rng: np.random.Generator
) -> NDArray[np.float32]:
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

"""Values of pixels: which one stands for white, and the way to float32 on 0..255 and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SAMPLE = 2**20  # values of a large float file that are looked at for its range


def default_range(like: npt.DTypeLike | Array, *, name: str = "image") -> float:
    """Return the value that stands for white: 255, 65535, 1.0 for floats and bool.

    >>> default_range(np.uint16)
    65535.0
    """
    dtype = like.dtype if isinstance(like, np.ndarray | np.generic) else np.dtype(like)
    if dtype.kind in "bf":
        return 1.0
    if dtype.kind == "u":
        return float(np.iinfo(dtype).max)
    raise ValueError(
        f"{name}: {dtype} values have no agreed range; pass data_range, or convert to uint8, uint16 or float"
    )


def float_range(low: float, high: float) -> float:
    """Return the value that stands for white in a float file that does not say.

    Parameters
    ----------
    low, high : float
        The 1st and the 99th percentile of its finite values. The bulk of them says what is meant; a little noise
        beyond black and white does not.

    Returns
    -------
    float
        1.0 if -1 <= low and high <= 2; else 255.0 if -255 <= low and high <= 510; else the extent from the lower of
        `low` and 0 to `high`.

    >>> float_range(-0.1, 1.1), float_range(3, 240), float_range(-1000, 3000)
    (1.0, 255.0, 4000.0)
    """
    if low >= -1 and high <= 2:
        return 1.0
    if low >= -255 and high <= 510:
        return 255.0
    return float(high - min(low, 0.0)) or 255.0  # a file that is all one value below 0 has no extent


def range_of_floats(pixels: Array, most: int = SAMPLE) -> float:
    """:func:`float_range` of these, of more than `most` by a fixed sample of them."""
    flat = pixels.ravel()
    if flat.size > most:
        flat = flat[np.random.default_rng(0).integers(0, flat.size, most)]
    finite = flat[np.isfinite(flat)]
    if finite.size == 0 and flat.size < pixels.size:
        finite = pixels[np.isfinite(pixels)]
    if finite.size == 0:
        return 1.0
    low, high = np.percentile(finite.astype(np.float64), [1, 99])
    return float_range(float(low), float(high))


def checked_range(like: Array | np.dtype[Any], data_range: float | None, name: str) -> float:
    if data_range is None:
        return default_range(like, name=name)
    if not 0 < data_range < math.inf:
        raise ValueError(f"data_range: must be positive and finite, got {data_range!r}")
    return float(data_range)


def to_working(
    image: npt.ArrayLike, *, data_range: float | None = None, offset: float = 0.0, name: str = "image"
) -> npt.NDArray[np.float32]:
    """Return a new C-contiguous float32 copy of `image` on 0..255: its values less `offset`, times 255/data_range.

    NaN passes (it marks missing pixels); infinite, empty, masked and non-numeric arrays raise a
    ValueError that begins with `name`.

    >>> to_working(np.array([0, 257, 65535], np.uint16))
    array([  0.,   1., 255.], dtype=float32)
    """
    array = np.asarray(image)
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name}: holds {array.dtype} values; pass an array of real numbers")
    if array.size == 0:
        raise ValueError(f"{name}: is empty (shape {array.shape}); pass at least one pixel")
    if isinstance(image, np.ma.MaskedArray) and np.ma.is_masked(image):
        raise ValueError(f"{name}: has masked values; fill them, or use inpaint, which takes the mask")
    scale = 255.0 / checked_range(array, data_range, name)
    with np.errstate(over="ignore"):  # an overflow becomes an infinity, reported below
        precise = np.float64 if array.dtype.itemsize > 4 or offset else np.float32
        wide: Array = array.astype(precise, order="C")
        if offset:
            wide -= offset
        wide *= scale
        work: npt.NDArray[np.float32] = wide.astype(np.float32, copy=False)
    if array.dtype.kind == "f" and np.isinf(work).any():
        raise ValueError(f"{name}: has infinite values; replace them, or mark them missing as NaN")
    return work


def from_working(
    values: npt.ArrayLike, *, dtype: npt.DTypeLike, data_range: float | None = None, offset: float = 0.0
) -> Array:
    """Return `values` on 0..255 as `dtype`, the inverse of :func:`to_working`.

    Integers are rounded and clipped, floats neither.

    >>> from_working([-3.0, 127.4, 300.0], dtype=np.uint8)
    array([  0, 127, 255], dtype=uint8)
    """
    target: np.dtype[Any] = np.dtype(dtype)
    work: Array = np.asarray(values)
    if target.kind not in "buif":
        raise ValueError(f"dtype: {target} cannot hold an image; use uint8, uint16 or float32")
    # Wide integers are not exact in float32.
    wide = target.itemsize > (4 if target.kind == "f" else 2) or offset != 0
    precise = np.result_type(work, np.float64 if wide else np.float32)
    scaled: Array = np.multiply(work, checked_range(target, data_range, "dtype") / 255.0, dtype=precise)
    if offset:
        scaled += offset
    if target.kind == "f":
        return scaled.astype(target)
    if np.isnan(scaled).any():
        raise ValueError(f"values: hold NaN, which {target} cannot; fill them or use a float dtype")
    if target.kind == "b":
        return np.greater_equal(scaled, 0.5)
    bounds, exact = np.iinfo(target), 2**53  # beyond 2**53 a float64 would round out of the type
    np.rint(scaled, out=scaled)
    np.clip(scaled, max(bounds.min, -exact), min(bounds.max, exact), out=scaled)
    return scaled.astype(target)

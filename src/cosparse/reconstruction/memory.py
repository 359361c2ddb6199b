"""What a task takes of memory at its peak, asked for before any of it is taken.

The bytes of a pixel were measured: benchmarks/memory.py, which fails if a task takes more than is asked for here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cosparse.kernels.quota import memory_left
from cosparse.reconstruction.start import enlarged_side

# Bytes for every pixel of a page of the result, of grey and of three colours: what the work on a page takes. Pages are
# repaired one after the other. More effort takes longer and hardly more memory. All are 15 % above what was measured.
WORK = {
    "denoise": (28, 72), "inpaint": (82, 120), "deblur": (62, 78), "deblock": (36, 48), "upscale": (42, 50),
}  # fmt: skip
NOISY = 66  # bytes for every pixel more, where noise differs from place to place or neighbours share it
HELD = 8  # bytes for every sample of all pages: as floats while they are worked on and when they are done
ALONE = 10_000_000  # bytes that do not depend on the picture: bands of threads
LITTLE = 100_000_000  # bytes that are taken without asking the system, as asking takes time too


class TooLargeError(MemoryError):
    """A task would take more memory than it may; nothing of it was begun."""


def memory_needed(
    task: str,
    shape: tuple[int, ...],
    channel_axis: int | None = None,
    *,
    factor: float = 1,
    itemsize: int = 4,
    noisy: bool = False,
) -> int:
    """Bytes that a task takes at its peak, beside the image it is given, of which a sample has `itemsize`.

    Parameters
    ----------
    task : {"denoise", "inpaint", "upscale", "deblur", "deblock"}
    shape : tuple of int
        Of the image.
    channel_axis : int, optional
        Which of its axes is of channels.
    factor : float
        How many times larger the result is.
    noisy : bool
        Whether there is a map of the noise, or a model of it other than one number.

    Examples
    --------
    >>> from cosparse.reconstruction.memory import memory_needed
    >>> round(memory_needed("denoise", (4000, 6000, 3), -1, itemsize=1) / 1e9, 1)
    2.5
    """
    sides, channels = list(shape), 1
    if channel_axis is not None:
        channels = sides.pop(channel_axis)
    height, width = (enlarged_side(side, factor) for side in sides[-2:])
    grey, colour = WORK[task]
    work = (colour if channels == 3 else grey + HELD * (channels - 1)) + NOISY * noisy
    samples = height * width * channels * int(np.prod(sides[:-2], dtype=object))
    return ALONE + work * height * width + (HELD + 2 * itemsize) * samples


def ask_memory(task: str, image: ArrayLike, sigma: Any, given: Mapping[str, Any], factor: float = 1) -> None:
    """Refuse what would take more memory than was given, or is free, before any of it is taken."""
    limit, shape, axis = given.get("max_memory"), np.shape(image), given.get("channel_axis")
    if limit is not None and not limit > 0:
        raise ValueError(f"max_memory: expected a positive number of bytes, got {limit!r}; None is what is free")
    if len(shape) < 2 + (axis is not None):
        return  # no image; who opens it says so
    size, noisy = (
        getattr(image, "dtype", np.dtype(float)).itemsize,
        given.get("noise") is not None or np.ndim(sigma) > 0,
    )
    needed = memory_needed(task, shape, axis, factor=factor, itemsize=size, noisy=noisy)
    if limit is None:
        limit = memory_left() if needed > LITTLE else None
        if limit is None or needed <= limit:
            return
        allowed = f"{_size(limit)} are free"
    elif needed <= limit:
        return
    else:
        allowed = f"max_memory allows {_size(limit)}"
    tiled = task != "deblock" and given.get("border") != "periodic"
    if given.get("part"):
        way = "use smaller tiles (tile=, --tile), or fewer threads a worker"
    elif tiled:
        way = "repair it by tiles, with cosparse.cluster.repair_picture or --tile 1024 (docs/cluster.md)"
    else:
        way = "repair parts of it, or pages one by one"
    pixels = "x".join(map(str, shape))
    raise TooLargeError(f"image: to {task} {pixels} takes about {_size(needed)} of memory, and {allowed}; {way}")


def _size(count: float) -> str:
    """As people say it.

    >>> _size(1_234_567_890)
    '1.2 GB'
    """
    unit, name = (1e9, "GB") if count >= 1e9 else (1e6, "MB")
    return f"{count / unit:.1f} {name}" if count < 100 * unit else f"{count / unit:.0f} {name}"

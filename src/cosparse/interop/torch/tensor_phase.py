"""Complex images as planes of real tensors, and planes that follow their phase: `reconstruction.joint` on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from cosparse.reconstruction.stages import TABLE

REACH = 4.0  # standard deviations at which a Gaussian ends, as SciPy's


def parts_of(image: torch.Tensor) -> torch.Tensor:
    """Real and imaginary parts of (n, c, h, w) as neighbours among the channels: (n, 2c, h, w)."""
    return torch.stack([image.real, image.imag], 2).flatten(1, 2)


def complex_of(parts: torch.Tensor) -> torch.Tensor:
    """The complex numbers of such neighbours."""
    pairs = parts.unflatten(1, (-1, 2))
    return torch.complex(pairs[:, :, 0].contiguous(), pairs[:, :, 1].contiguous())


def turn_of(parts: torch.Tensor) -> torch.Tensor:
    """Of an image that shows the phase φ roughly, as parts: e^{-iφ}, smoothed, (n, c, h, w)."""
    smooth = complex_of(_blurred(parts, TABLE["phase"]["width"]))
    size = smooth.abs()
    return torch.where(size > 0, smooth.conj() / size.clamp(min=torch.finfo(size.dtype).tiny), torch.ones_like(smooth))


def is_complex(dtype: Any) -> bool:
    """Whether an image is to be of complex numbers, as a caller says it by a type of Python's, NumPy's or torch's."""
    if dtype is None:
        return False
    kind = torch.empty(0, dtype=dtype).numpy().dtype.kind if isinstance(dtype, torch.dtype) else np.dtype(dtype).kind
    if kind not in "fc":
        raise ValueError(f"dtype: expected float or complex, the kind of number a pixel is, got {dtype!r}")
    return bool(kind == "c")


def _blurred(planes: torch.Tensor, width: float) -> torch.Tensor:
    """(n, c, h, w) under a Gaussian of that standard deviation, mirrored at the borders."""
    reach = int(REACH * width + 0.5)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    weights = torch.tensor(bell / bell.sum()).to(planes)
    for axis in (2, 3):
        mirrored = np.pad(np.arange(planes.shape[axis]), reach, mode="symmetric")
        wide = planes.index_select(axis, torch.as_tensor(mirrored, device=planes.device))
        planes = (wide.unfold(axis, 2 * reach + 1, 1) * weights).sum(-1)
    return planes

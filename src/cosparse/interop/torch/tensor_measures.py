"""Measurements of planes (n, h, w) as tensors, with their adjoints, and where repairs of them start.

The twins of :mod:`cosparse.reconstruction.measurement` and :mod:`cosparse.reconstruction.start`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from cosparse.interop.torch.tensor_energy import Map
from cosparse.interop.torch.tensor_patches import Sides, fold_border
from cosparse.reconstruction import measurement
from cosparse.reconstruction.stages import TABLE, by_noise
from cosparse.reconstruction.start import bicubic


@dataclass(frozen=True, eq=False)
class TensorMeasure:
    """A linear map of planes, and its adjoint."""

    forward: Map
    adjoint: Map

    def of_one(self) -> TensorMeasure:
        """The same of a single plane."""
        return TensorMeasure(lambda plane: self.forward(plane[None])[0], lambda data: self.adjoint(data[None])[0])


def sparse(matrix: Any, like: torch.Tensor) -> torch.Tensor:
    """A SciPy matrix on the device of a tensor."""
    found = matrix.tocoo()
    places = torch.as_tensor(np.stack(found.coords), device=like.device)
    values = torch.as_tensor(found.data, dtype=like.dtype, device=like.device)
    return torch.sparse_coo_tensor(places, values, found.shape, check_invariants=False).coalesce()


def both(rows: torch.Tensor, columns: torch.Tensor, planes: torch.Tensor) -> torch.Tensor:
    """rows · plane · columnsᵀ of each of the planes (n, h, w)."""
    count, _, width = planes.shape
    tall = torch.sparse.mm(rows, planes.permute(1, 0, 2).reshape(planes.shape[1], -1)).reshape(-1, count, width)
    wide = torch.sparse.mm(columns, tall.permute(2, 0, 1).reshape(width, -1))
    return wide.reshape(columns.shape[0], rows.shape[0], count).permute(2, 1, 0).contiguous()


def enlarge(planes: torch.Tensor, factor: float) -> torch.Tensor:
    """Bicubic interpolation: the start of upscaling."""
    rows, columns = (sparse(bicubic(side, factor), planes) for side in planes.shape[1:])
    return both(rows, columns, planes)


def blur(kernel: NDArray[np.float32], shape: Sides, like: torch.Tensor, border: str = "replicate") -> TensorMeasure:
    """Convolution with a kernel, centred, by Fourier transforms; the border is "replicate"d or "periodic"."""
    height, width = kernel.shape
    top, left = (height // 2, width // 2)
    before = (height - 1 - top, width - 1 - left) if border == "replicate" else (0, 0)
    size = (shape[0] + height - 1, shape[1] + width - 1) if border == "replicate" else shape
    spread = np.zeros(size, np.float32)
    for (i, j), value in np.ndenumerate(kernel):  # a kernel larger than the image wraps around
        spread[(i - top) % size[0], (j - left) % size[1]] += value
    spectrum = torch.fft.rfft2(torch.as_tensor(spread, dtype=like.dtype, device=like.device))

    def filtered(planes: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft2(torch.fft.rfft2(planes) * by, s=size)

    def forward(planes: torch.Tensor) -> torch.Tensor:
        if border == "periodic":
            return filtered(planes, spectrum)
        edges = (before[1], left, before[0], top)
        wide = filtered(F.pad(planes[:, None], edges, mode="replicate")[:, 0], spectrum)
        return wide[:, before[0] : before[0] + shape[0], before[1] : before[1] + shape[1]]

    def adjoint(data: torch.Tensor) -> torch.Tensor:
        if border == "periodic":
            return filtered(data, spectrum.conj())
        return fold_border(filtered(F.pad(data, (before[1], left, before[0], top)), spectrum.conj()), shape, before)

    return TensorMeasure(forward, adjoint)


def reduction(factor: float, shape: Sides, kernel: Any, like: torch.Tensor) -> TensorMeasure:
    """Planes made `factor` times smaller, see :func:`cosparse.reconstruction.measurement.reduction`."""
    if isinstance(kernel, str) and kernel in measurement.FILTERS:
        matrices = [measurement.averages(kernel, side, factor) for side in shape]
        rows, columns = (sparse(matrix, like) for matrix in matrices)
        rows_back, columns_back = (sparse(matrix.T, like) for matrix in matrices)
        return TensorMeasure(
            lambda planes: both(rows, columns, planes), lambda data: both(rows_back, columns_back, data)
        )
    every = int(factor)
    usual = measurement.gaussian_kernel(every / 3, size=2 * every - every % 2)
    blurred = blur(usual if isinstance(kernel, str) else kernel, shape, like)
    kept = slice((every - 1) // 2, None, every)

    def adjoint(data: torch.Tensor) -> torch.Tensor:
        full = data.new_zeros(len(data), *shape)
        full[:, kept, kept] = data
        return blurred.adjoint(full)

    return TensorMeasure(lambda planes: blurred.forward(planes)[:, kept, kept], adjoint)


def smoothed(plane: torch.Tensor, sigma: float) -> torch.Tensor:
    """A plane (h, w) through the Gaussian that denoising starts from."""
    width = by_noise(TABLE["smoothed"]["width"], sigma)
    if width == 0:
        return plane
    reach = int(4 * width + 0.5)
    line = torch.exp(-0.5 * (torch.arange(-reach, reach + 1, device=plane.device, dtype=plane.dtype) / width) ** 2)
    line = line / line.sum()
    for axis in (0, 1):
        along = plane.movedim(axis, -1)
        along = F.pad(along[None, None], (reach, reach, 0, 0), mode="replicate")[0, 0].unfold(-1, len(line), 1) @ line
        plane = along.movedim(-1, axis)
    return plane.contiguous()


def interpolate(plane: torch.Tensor, gaps: torch.Tensor) -> torch.Tensor:
    """A smooth first filling of gaps (h, w): averages of ever larger blocks of known pixels, coarse to fine."""
    known = (~gaps).to(plane.dtype)
    return torch.where(gaps, _pull_push(plane * known, known), plane)


def _pull_push(values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    if float(weights.min()) > 0:
        return values / weights
    coarse = _pull_push(_halve(values), _halve(weights))
    for axis in (0, 1):
        pixel = torch.arange(weights.shape[axis], device=weights.device)
        block = torch.div(pixel, 2, rounding_mode="floor")
        other = (block + torch.where(pixel % 2 == 1, 1, -1)).clamp(0, coarse.shape[axis] - 1)
        coarse = 0.75 * coarse.index_select(axis, block) + 0.25 * coarse.index_select(axis, other)
    share = weights.clamp(max=1)
    return share * values / weights.clamp(min=1e-6) + (1 - share) * coarse


def _halve(plane: torch.Tensor) -> torch.Tensor:
    """Sums of 2 x 2 blocks; an odd last row or column stands alone."""
    padded = F.pad(plane, (0, plane.shape[1] % 2, 0, plane.shape[0] % 2))
    return F.avg_pool2d(padded[None, None], 2, divisor_override=1)[0, 0]


def trust(known: torch.Tensor) -> torch.Tensor:
    """How much the noisy data of each pixel count, see :func:`cosparse.reconstruction.stages.trust`."""
    side, power = TABLE["trust"]["side"], TABLE["trust"]["power"]
    padded = F.pad(known[None, None], (side // 2,) * 4, mode="replicate")
    part = F.avg_pool2d(padded, side, stride=1)[0, 0]
    return torch.where(known > 0, part.clamp(min=1 / side**2) ** power, torch.zeros_like(part))

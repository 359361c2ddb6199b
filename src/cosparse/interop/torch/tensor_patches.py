"""Patches of planes as tensors: cut out, put back, a part at a time where no gradient is asked for.

Twins of what :mod:`cosparse.kernels.reference` defines, over a batch. Products are matrix products, which hold float32
on every device; convolutions of a GPU round to fewer bits unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from cosparse.kernels.reference import padding, positions

Sides = tuple[int, int]

ON_CPU, ELSEWHERE = 2048, 2**18  # patches at a time: what a processor's cache holds, and what keeps a GPU at work


def replicate(planes: torch.Tensor, patch: Sides, stride: Sides) -> torch.Tensor:
    """Planes (n, h, w) with their border values repeated, so that every patch lies inside."""
    rows, columns = (padding(planes.shape[axis + 1], patch[axis], stride[axis]) for axis in (0, 1))
    return F.pad(planes[:, None], (*columns, *rows), mode="replicate")[:, 0]


def fold_border(padded: torch.Tensor, shape: Sides, corner: Sides) -> torch.Tensor:
    """The adjoint of repeating border values, to planes (n, h, w): what fell on a repeated pixel goes to its source."""
    for axis in (1, 2):
        first, extent = corner[axis - 1], shape[axis - 1]
        before = padded.narrow(axis, 0, first).sum(axis, keepdim=True)
        after = padded.narrow(axis, first + extent, padded.shape[axis] - first - extent).sum(axis, keepdim=True)
        inside = padded.narrow(axis, first, extent)
        if extent == 1:
            padded = inside + before + after
            continue
        middle = inside.narrow(axis, 1, extent - 2)
        padded = torch.cat(
            [inside.narrow(axis, 0, 1) + before, middle, inside.narrow(axis, extent - 1, 1) + after], axis
        )
    return padded


def patches_of(planes: torch.Tensor, patch: Sides, stride: Sides) -> torch.Tensor:
    """All patches of planes (n, h, w), a view (n, rows, columns, a, b) of them with their borders repeated."""
    padded = replicate(planes, patch, stride)
    return padded.unfold(1, patch[0], stride[0]).unfold(2, patch[1], stride[1])


def together(pieces: torch.Tensor, shape: Sides, patch: Sides, stride: Sides) -> torch.Tensor:
    """The adjoint of :func:`patches_of`: pieces (n, rows·columns, a·b) added up to planes (n, h, w)."""
    rows, columns = (positions(extent, step) for extent, step in zip(shape, stride, strict=True))
    size = (rows - 1) * stride[0] + patch[0], (columns - 1) * stride[1] + patch[1]
    padded = F.fold(pieces.transpose(1, 2), size, patch, stride=stride)[:, 0]
    return fold_border(padded, shape, (patch[0] // 2, patch[1] // 2))


def parts(windows: torch.Tensor) -> Iterator[torch.Tensor]:
    """Patches (n, rows, columns, a, b) as matrices (n, some, a·b), in order: all at once if gradients are asked for."""
    count, rows, columns, *_ = windows.shape
    size = windows.shape[3] * windows.shape[4]
    most = ON_CPU if windows.device.type == "cpu" else ELSEWHERE
    pace = rows if torch.is_grad_enabled() else max(1, most // max(1, columns * count))
    for first in range(0, rows, pace):
        yield windows[:, first : first + pace].reshape(count, -1, size)

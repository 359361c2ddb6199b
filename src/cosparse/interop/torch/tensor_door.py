"""The door of the tasks for tensors: any that a caller may have as batches of 0..255, and back, on one device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from cosparse.interop.torch.tensor_prior import WHITE, checked_white
from cosparse.noise import Noise
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.bounds import BLOCK, Bounds, Extremes, Pair, stated
from cosparse.reconstruction.planes import FAR, OFF
from cosparse.reconstruction.stages import Quality, checked_quality
from cosparse.reconstruction.watch import Callback

WHOLE = {torch.uint8: 255.0, torch.uint16: 65535.0, torch.bool: 1.0}
SAMPLE = 100_000  # values that show where most of them lie


@dataclass(frozen=True)
class TensorOptions:
    """What tasks take of a tensor beside their own: as :func:`cosparse.denoise` says, but for channels."""

    operator: AnalysisOperator | str | None = None
    weight: float | None = None
    quality: Quality = "balanced"
    noise: Noise | None = None
    luma: float = 1.0
    chroma: float = 1.0
    bounds: Bounds = "auto"
    data_range: float | None = None
    channel_axis: int | None = -3
    alpha: bool = False
    callback: Callback = None

    def checked(self) -> TensorOptions:
        """Refuse what tensors cannot be given."""
        checked_quality(self.quality)
        if self.alpha:
            raise ValueError("alpha: tensors have no transparency here; leave that channel out, and put it back")
        for name in ("luma", "chroma"):
            if not 0 <= getattr(self, name) <= 10:
                raise ValueError(f"{name}: a strength between 0 and 10, got {getattr(self, name)!r}; 1 is usual")
        return self


@dataclass(frozen=True, eq=False)
class Opened:
    """A tensor as a batch (n, channels, h, w) of float32 on 0..255, with what it takes to give it back."""

    batch: torch.Tensor
    came: torch.Tensor
    data_range: float
    offset: float
    axis: int | None  # of the channels; None if there are none

    def close(self, batch: torch.Tensor, bounds: list[Pair | None]) -> torch.Tensor:
        """A batch of this or another size as the caller's tensor is: type, range, axes, device."""
        values = batch.to(torch.float64 if self.came.dtype == torch.float64 else torch.float32)
        values = values * (self.data_range / WHITE) + self.offset
        values = torch.stack(
            [one if pair is None else one.clamp(*pair) for one, pair in zip(values, bounds, strict=True)]
        )
        if self.axis is None:
            shown = values.reshape(*self.came.shape[:-2], *values.shape[-2:])
        else:
            outer = list(self.came.shape)
            del outer[self.axis]
            shown = values.reshape(*outer[:-2], *values.shape[1:]).movedim(-3, self.axis)
        if not self.came.is_floating_point():
            shown = shown.round()
        return shown.to(self.came.dtype).contiguous()


def open_tensor(image: torch.Tensor, options: TensorOptions, known: torch.Tensor | None = None) -> Opened:
    """Check and unfold it; where pixels are not `known` there may be NaN, which become 0. `known` is (n, h, w)."""
    image = checked_tensor(image)
    axis = channel_axis(image, options.channel_axis)
    if options.data_range is not None:
        span = checked_white(options.data_range)
    elif image.is_floating_point():
        span = 1.0
    elif image.dtype in WHOLE:
        span = WHOLE[image.dtype]
    else:
        raise ValueError(f"data_range: say the value of white of {image.dtype}")
    precise = image.to(torch.float64) if image.dtype == torch.float64 else image.to(torch.float32)
    moved = precise.unsqueeze(-3) if axis is None else precise.movedim(axis, -3)
    batch = moved.reshape(-1, *moved.shape[-3:])
    seen = batch
    if known is not None:
        batch = torch.where(known[:, None], batch, torch.zeros_like(batch))
        seen = batch[known[:, None].expand(batch.shape)]
    if not bool(torch.isfinite(seen).all()):
        raise ValueError("image: holds NaN or infinity; fill such pixels with cosparse.inpaint")
    mean = float(seen.mean()) if image.is_floating_point() else 0.0
    offset = mean if abs(mean) > OFF * span else 0.0
    return Opened(((batch - offset) * (WHITE / span)).to(torch.float32), image, span, offset, axis)


def checked_tensor(image: Any) -> torch.Tensor:
    """A real tensor of images, without its graph."""
    if not isinstance(image, torch.Tensor) or image.ndim < 2 or image.is_complex() or 0 in image.shape:
        got = tuple(image.shape) if isinstance(image, torch.Tensor) else type(image).__name__
        raise ValueError(f"image: expected a real tensor (h, w) or (..., channels, h, w), none empty, got {got}")
    return image.detach()


def channel_axis(image: torch.Tensor, given: int | None) -> int | None:
    """The axis of the channels, counted from the front; a tensor (h, w) has none."""
    if given is None or image.ndim == 2:
        return None
    if not -image.ndim <= given < image.ndim:
        raise ValueError(f"channel_axis: {given} is not an axis of shape {tuple(image.shape)}")
    return int(given % image.ndim)


def page_bounds(
    opened: Opened, options: TensorOptions, levels: list[float], known: torch.Tensor | None = None
) -> list[Pair | None]:
    """Between which values the result of every image lies, in the caller's units; see `planes.page_bounds`."""
    if options.bounds != "auto":
        return [stated(options.bounds)] * len(levels)
    if not opened.came.is_floating_point():
        white = (
            float(opened.data_range) if opened.came.dtype == torch.bool else float(torch.iinfo(opened.came.dtype).max)
        )
        low = 0.0 if opened.came.dtype == torch.bool else float(torch.iinfo(opened.came.dtype).min)
        return [(low, white)] * len(levels)
    at_work = at_work_of((0.0, opened.data_range), opened)
    assert at_work is not None
    masks = [None] * len(levels) if known is None else list(known)
    found: list[Pair | None] = []
    for page, level, mask in zip(opened.batch, levels, masks, strict=True):
        found.append((0.0, opened.data_range) if _extremes(page, mask).within(at_work, level) else None)
    return found


def at_work_of(bounds: Pair | None, opened: Opened) -> Pair | None:
    """Bounds in the caller's units as those of the batch."""
    if bounds is None:
        return None
    unit = WHITE / opened.data_range
    return (bounds[0] - opened.offset) * unit, (bounds[1] - opened.offset) * unit


def _extremes(page: torch.Tensor, known: torch.Tensor | None) -> Extremes:
    """Of a page (channels, h, w): see :class:`cosparse.reconstruction.bounds.Extremes`."""
    seen = page if known is None else page[:, known]
    blocks = None
    if min(page.shape[1:]) >= BLOCK:
        means = F.avg_pool2d(page, BLOCK)
        if known is not None:
            means = means[:, F.avg_pool2d(known.to(page.dtype)[None], BLOCK)[0] == 1]
        blocks = (float(means.min()), float(means.max())) if means.numel() else None
    return Extremes(seen.numel(), (float(seen.min()), float(seen.max())), blocks)


def refuse_far(opened: Opened, levels: list[float], known: torch.Tensor | None = None) -> None:
    """Refuse values of which nearly all spread far beyond 0..255: their data_range was forgotten."""
    limit = WHITE * FAR + 6 * min(max(levels, default=0.0), WHITE)
    seen = opened.batch if known is None else opened.batch[known[:, None].expand(opened.batch.shape)]
    if not float(seen.max()) - float(seen.min()) > limit:
        return
    some = seen.reshape(-1)
    some = some[:: max(1, some.numel() // SAMPLE)]
    low, high = (float(torch.quantile(some, part)) for part in (0.01, 0.99))
    if high - low > limit:
        unit = opened.data_range / WHITE
        raise ValueError(
            f"data_range: is {opened.data_range:g}, but most values lie between {low * unit + opened.offset:.4g} and "
            f"{high * unit + opened.offset:.4g}; pass data_range, the value of white, or scale the image"
        )


def strengths(options: TensorOptions, channels: int) -> list[float]:
    """Of every plane: how much of its noise goes."""
    return [options.luma, options.chroma, options.chroma] if channels == 3 else [options.luma] * channels


def blended(before: torch.Tensor, after: torch.Tensor, strength: float) -> torch.Tensor:
    """Some of what was taken away put back."""
    return after if strength >= 1 else before + strength * (after - before)

"""The noise of tensors, as the caller says or estimated: what arrays know of it, brought to the tensor's device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from cosparse.interop.torch.tensor_door import Opened, TensorOptions, channel_axis
from cosparse.interop.torch.tensor_prior import WHITE
from cosparse.noise import Gaussian, Map, Noise, PoissonGaussian
from cosparse.reconstruction.estimation import Model
from cosparse.reconstruction.noise_level import page_noises, stated_noise
from cosparse.reconstruction.planes import Caller
from cosparse.reconstruction.stabilisation import Stabilisation, expected_roots


def noises_of(sigma: Any, options: TensorOptions, opened: Opened, model: Model = "gaussian") -> list[Noise]:
    """The noise of every image of a batch, on 0..255: a number for all or for each, a map, a model, or estimated.

    Estimating is done by NumPy, so that the batch goes to the processor for it; nothing else does.
    """
    told = as_array(sigma)
    count = len(opened.batch)
    if options.noise is None and told is not None and np.ndim(told) < 2:
        return [Gaussian(level) for level in _levels(told, count, opened.data_range)]
    stated = stated_noise(told, options.noise)
    channels = None if opened.axis is None else opened.batch.shape[1]
    shape = (count, *opened.batch.shape[2:], *(() if channels is None else (channels,)))
    if stated is None:
        batch = opened.batch[:, 0] if channels is None else opened.batch.movedim(1, -1)
        pages = np.ascontiguousarray(batch.cpu().numpy())
    else:
        pages = np.broadcast_to(np.float32(0), shape)  # no more than their shape is asked for
    caller = Caller(
        np.dtype(np.float32), tuple(opened.came.shape), opened.data_range, opened.axis, opened.offset, None
    )  # fmt: skip
    return page_noises(pages, caller, stated, model)


def _levels(sigma: Any, count: int, white: float) -> list[float]:
    """A number for each of so many images, on 0..255."""
    given = np.asarray(sigma, float).reshape(-1)
    if given.size not in (1, count):
        raise ValueError(f"sigma: a number, or one for each of {count} images, got {given.size} numbers")
    if not ((given >= 0) & np.isfinite(given)).all():
        raise ValueError(f"sigma: must be finite and not negative, got {sigma!r}")
    return [float(level) * WHITE / white for level in np.broadcast_to(given, count)]


def plain_levels(noises: list[Noise]) -> list[float] | None:
    """The levels of noise that is white and the same everywhere; None if some is of another kind."""
    return [one.sigma for one in noises if isinstance(one, Gaussian)] if _all(noises, Gaussian) else None


def on_device(noises: list[Noise]) -> bool:
    """Whether tensors know all of it."""
    return _all(noises, Gaussian, Map, PoissonGaussian)


def _all(noises: list[Noise], *kinds: type) -> bool:
    return all(isinstance(one, kinds) for one in noises)


def as_array(value: Any) -> Any:
    """A tensor as an array; types that NumPy has not as single precision. Anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    plain = value.detach().cpu()
    return (plain.float() if plain.dtype in (torch.bfloat16, torch.float16) else plain).numpy()


def through_arrays(
    task: Any, image: torch.Tensor, arguments: tuple[Any, ...], options: TensorOptions, **more: Any
) -> torch.Tensor:
    """A task on arrays, for kinds of noise that tensors do not know: to the processor and back."""
    keywords = {**vars(options), "channel_axis": channel_axis(image, options.channel_axis)}
    plain = {name: as_array(value) for name, value in more.items()}
    found = task(as_array(image), *map(as_array, arguments), **keywords, **plain)
    return torch.as_tensor(found, device=image.device).to(image.dtype)


@dataclass(frozen=True, eq=False)
class TensorStabilisation:
    """Batches (n, channels, h, w) with photon noise as such with white noise: `reconstruction.stabilisation`."""

    way: Stabilisation

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """The root of every value, times the level of the white noise."""
        gain, read, offset = self._numbers(batch)
        photons = (batch.double() - offset) / gain
        roots = 2 * (photons + 0.375 + read * read).clamp(min=0).sqrt()
        return (self.way.sigma * roots).to(batch.dtype)

    def back(self, batch: torch.Tensor) -> torch.Tensor:
        """The means that such values come from."""
        gain, read, offset = self._numbers(batch)
        roots, found = batch.double() / self.way.sigma, torch.empty_like(batch, dtype=torch.float64)
        for channel in range(batch.shape[1]):
            found[:, channel] = _photons(roots[:, channel], float(read.expand(1, batch.shape[1], 1, 1)[0, channel]))
        return (gain * found + offset).to(batch.dtype)

    def _numbers(self, batch: torch.Tensor) -> list[torch.Tensor]:
        """Gain, read noise in photons and offset, as (1, channels or 1, 1, 1)."""
        noise = self.way.noise
        each = np.broadcast_arrays(*(np.asarray(one, float) for one in (noise.gain, noise.read, noise.offset)))
        gain, read, offset = (torch.tensor(one.reshape(1, -1, 1, 1), device=batch.device) for one in each)
        return [gain, read / gain, offset]


def _photons(roots: torch.Tensor, read: float) -> torch.Tensor:
    """λ of which E[f(z) | λ] is given, by the table of arrays: none below that of darkness."""
    means, expected = (torch.tensor(one, device=roots.device) for one in expected_roots(read))
    above = torch.searchsorted(expected, roots.contiguous()).clamp(1, len(expected) - 1)
    low, high = expected[above - 1], expected[above]
    part = ((roots - low) / (high - low)).clamp(0, 1)
    between = means[above - 1] + part * (means[above] - means[above - 1])
    large = roots.clamp(min=float(expected[-1])).square() / 4 - 0.125 - read**2
    return torch.where(roots < expected[-1], between, large)

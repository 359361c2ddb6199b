"""The trained steps of a staged operator as a module: a small recurrent network with everything in it learnable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cosparse.interop.torch.tensor_chroma import brought_up, halved
from cosparse.interop.torch.tensor_levels import LocalLevels
from cosparse.interop.torch.tensor_patches import Sides, parts, patches_of, together
from cosparse.interop.torch.tensor_prior import WHITE, checked_batch, checked_white, levels_of, opponents
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction.chroma import ROUNDING, UNITS
from cosparse.reconstruction.noise_level import LEAST
from cosparse.reconstruction.planes import GAINS, OPPONENT
from cosparse.reconstruction.stages import QUALITIES, TABLE, checked_quality
from cosparse.trained_steps import REFERENCE_SIGMA, TrainedSteps

LEARNED = ("atoms", "scale", "own", "pools", "shares", "pull")
LEVELLED = ("scale_exponents", "gain_exponents", "pool_exponents", "share_exponents", "pull_exponents")
HELD = ("floors", "floor_exponents")  # counted on noise, not trained


class StagedSteps(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """The steps of :class:`cosparse.trained_steps.TrainedSteps`, which says what they are, on planes of 0..255.

    Parameters
    ----------
    steps : TrainedSteps
    patch_shape : (int, int)

    Attributes
    ----------
    atoms, scale, own, pools, shares, pull, ..._exponents : torch.nn.Parameter
        As in `steps`; pools below zero count as zero, and of atoms what they see of a mean.
    floors, floor_exponents : torch.Tensor
        Buffers: they are counted, not learned.
    """

    def __init__(self, steps: TrainedSteps, patch_shape: Sides) -> None:
        super().__init__()
        self.patch_shape = patch_shape if steps.planes == 1 else (steps.side, steps.side)
        self.strides, self.sigma, self.together = (steps.stride, steps.stride), steps.sigma, steps.planes
        arrays = steps.arrays()
        for name in (*LEARNED, *LEVELLED):
            setattr(self, name, torch.nn.Parameter(torch.tensor(arrays[name])))
        for name in HELD:
            self.register_buffer(name, torch.tensor(arrays[name]))

    def __len__(self) -> int:
        return len(self.pull)

    def forward(
        self,
        planes: torch.Tensor,
        levels: torch.Tensor | LocalLevels,
        free: torch.Tensor | None = None,
        misfit: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """Planes (n, h, w) after all steps, or (n, h, w, m) if those are of m at once; pixels not `free` stay.

        Noise levels on 0..255 are (n,), or differ from patch to patch. What a step pulls by is Aᵀ(A s - y), which
        `misfit` gives of planes s; without it the planes are their own data, and that is s - planes.
        """
        image = planes
        levels = levels if isinstance(levels, LocalLevels) else levels.to(planes.dtype).clamp(min=LEAST)
        mean = planes.mean((1, 2), keepdim=True)  # the atoms are blind to it but for rounding
        for t in range(len(self)):
            pull, change = self.step(t, image - mean, levels)
            if isinstance(levels, LocalLevels):
                pull, change = pull[levels.pixels], change * levels.taken
            else:
                pull = pull.reshape(-1, *[1] * (planes.ndim - 1))
            change = change + pull * (image - planes if misfit is None else misfit(image))
            image = image - (change if free is None else change * free)
        return image

    def step(
        self, t: int, planes: torch.Tensor, levels: torch.Tensor | LocalLevels
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The pull of step t at each level, and what it takes from planes: see `kernels.reference.pooled_step`."""
        *tables, pull = self.numbers(t, levels.grid if isinstance(levels, LocalLevels) else levels)
        places = None
        if isinstance(levels, LocalLevels):
            tables[1], places = tables[1] * levels.less[:, None, None], levels.patches.flatten(1)
        atoms = _without_means(self.atoms[t], self.together)
        pools, shares = self.pools[t].clamp(min=0).mT, self.shares[t].mT
        pieces, done = [], 0
        for part in parts(self._windows(planes)):
            own = tables
            if places is not None:
                here = places[:, done : done + part.shape[1]]
                own, done = [table[:, 0][here] for table in tables], done + part.shape[1]
            scale, gain, pool, floor, share = own
            z = (part @ atoms.mT) * scale
            square = z * z
            h = share / (1 + torch.maximum((square @ pools) * pool, floor))
            phi = z * (self.own[t] / (1 + square) + h @ shares) * (gain * scale)
            pieces.append(phi @ atoms)
        return pull, self._joined(torch.cat(pieces, 1), planes)

    def _windows(self, planes: torch.Tensor) -> torch.Tensor:
        """All patches, (n, rows, columns, a, b); of several planes at once those of a pixel stand beside each other."""
        if self.together == 1:
            return patches_of(planes, self.patch_shape, self.strides)
        each = patches_of(planes.movedim(3, 1).flatten(0, 1), self.patch_shape, self.strides)
        return each.unflatten(0, (len(planes), -1)).movedim(1, -1).flatten(4)

    def _joined(self, pieces: torch.Tensor, planes: torch.Tensor) -> torch.Tensor:
        """The adjoint of :meth:`_windows`."""
        shape = planes.shape[1], planes.shape[2]
        if self.together == 1:
            return together(pieces, shape, self.patch_shape, self.strides)
        each = pieces.unflatten(2, (-1, self.together)).movedim(3, 1).flatten(0, 1)
        found = together(each, shape, self.patch_shape, self.strides)
        return found.unflatten(0, (len(planes), -1)).movedim(1, -1)

    def numbers(self, t: int, levels: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """At each level: scales, gains, factors on pools, floors, factors on shares, each (n, 1, .), and pulls (n,)."""
        nearest = levels.clamp(*self.sigma)
        x = torch.log(nearest / REFERENCE_SIGMA)
        powers = torch.stack([x, x * x], 1)

        def factor(name: str) -> torch.Tensor:
            return torch.exp(powers @ getattr(self, name)[t])

        scale = self.scale[t] * factor("scale_exponents") * (nearest / levels)[:, None]
        gain = (self.strides[0] ** 2 / scale.shape[1]) * factor("gain_exponents") / scale**2
        pull = self.pull[t] * torch.exp(powers @ self.pull_exponents[t])
        pool, floor, share = (
            factor("pool_exponents"),
            self.floors[t] * factor("floor_exponents"),
            factor("share_exponents"),
        )
        return (*(one[:, None] for one in (scale, gain, pool, floor, share)), pull)

    def trained(self) -> TrainedSteps:
        """As they stand, for an operator file."""
        arrays = {name: getattr(self, name).detach().cpu().float() for name in (*LEARNED, *LEVELLED, *HELD)}
        arrays["pools"] = arrays["pools"].clamp(min=0)
        arrays["atoms"] = _without_means(arrays["atoms"], self.together)
        plain: dict[str, Any] = {name: value.numpy() for name, value in arrays.items()}
        return TrainedSteps(**plain, stride=self.strides[0], sigma=self.sigma, planes=self.together)


def _without_means(atoms: torch.Tensor, planes: int) -> torch.Tensor:
    """Atoms (..., n) that see no mean of any plane of their patches."""
    apart = atoms.unflatten(-1, (-1, planes))
    return (apart - apart.mean(-2, keepdim=True)).flatten(-2)


class StagedDenoiser(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """Denoising by the trained steps of a staged operator, as `cosparse.denoise(..., grouping=False)` does it.

    A differentiable function of the image and of every number of its steps, on any device, for batches of images each
    with its own noise. Three channels are taken for red, green and blue: luma and two opponent colours take their
    steps, colours in much noise at half their size. Other channels stand alone.

    Parameters
    ----------
    operator : AnalysisOperator or str
        One with steps to denoise, as the shipped "staged".
    quality : {"fast", "balanced", "best"}
        Whose steps.
    data_range : float
        The value of white.

    Attributes
    ----------
    luma, chroma : StagedSteps
        Those of grey planes and luma, and of colours one by one: the same, or others.
    colours : StagedSteps or None
        Those of both colours at half their size, beside luma, if the operator has such.

    Examples
    --------
    >>> import torch
    >>> clean = torch.full((1, 1, 24, 24), 0.5)
    >>> noisy = clean + 0.1 * torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    >>> result = StagedDenoiser()(noisy, 0.1)
    >>> result.shape, bool((result - clean).std() < 0.3 * (noisy - clean).std())
    (torch.Size([1, 1, 24, 24]), True)
    """

    def __init__(
        self, operator: AnalysisOperator | str = "staged", *, quality: str = "balanced", data_range: float = 1.0
    ) -> None:
        super().__init__()
        checked_quality(quality)
        made, place = chosen_operator(operator), QUALITIES.index(quality)
        grey, colours = _steps_of(made, quality), _steps_of(made, TABLE["chroma"]["steps"][place])
        self.data_range = checked_white(data_range)
        self.luma = StagedSteps(grey, made.patch_shape)
        self.chroma = self.luma if colours is grey else StagedSteps(colours, made.patch_shape)
        both = made.steps.get("colours")
        self.colours = None if both is None else StagedSteps(both, made.patch_shape)
        self.half = float(TABLE["chroma"]["half" if both is None else "together"][place])
        self.mean = float("inf" if both is None else TABLE["chroma"]["mean"][place])

    def forward(self, image: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
        """A batch (n, channels, h, w) without its noise of standard deviation sigma, a number or (n,)."""
        kind, levels = self.luma.atoms.dtype, levels_of(sigma, checked_batch(image), self.data_range)
        seen = opponents(image.to(kind) * (WHITE / self.data_range))
        planes = self.planes([(plane, torch.full_like(levels, gain) * levels) for plane, gain in seen])
        return (join(planes) * (self.data_range / WHITE)).to(image.dtype)

    def planes(self, seen: list[tuple[torch.Tensor, torch.Tensor]]) -> list[torch.Tensor]:
        """Planes (n, h, w), each with its own noise levels (n,), after the steps."""
        found = [self.luma(*seen[0])]
        if len(seen) != 3:
            return found + [self.luma(plane, own) for plane, own in seen[1:]]
        levels = seen[1][1] * ((1 + ROUNDING) / GAINS[1])
        kinds = (levels >= self.half).int() + (levels >= self.mean).int() * (levels < self.half) * 2
        if not bool((kinds == kinds[0]).all()):  # each of the batch as it would be alone
            return self._mixed(seen, kinds)
        found += [self.chroma(plane, own) for plane, own in seen[1:]] if kinds[0] != 1 else []
        if kinds[0] == 0:
            return found
        smalls = zip(self._small(found[0], seen), seen[1:], strict=True)
        large = [brought_up(one, found[0], plane, own) for one, (plane, own) in smalls]
        if kinds[0] == 1:
            return found + large
        return found[:1] + [(one + other) / 2 for one, other in zip(found[1:], large, strict=True)]

    def _small(self, luma: torch.Tensor, seen: list[tuple[torch.Tensor, torch.Tensor]]) -> list[torch.Tensor]:
        """Both colours at half their size; together beside luma, which is held, if there are steps for that."""
        if self.colours is None:
            return [self.chroma(halved(plane), own / 2) for plane, own in seen[1:]]
        units = torch.as_tensor(UNITS).to(luma)
        planes = torch.stack([halved(luma), *(halved(plane) for plane, _ in seen[1:])], -1) / units
        free = torch.tensor([0, 1, 1]).to(luma)
        found = self.colours(planes, seen[1][1] / (2 * GAINS[1]), free) * units
        return [found[..., 1], found[..., 2]]

    def _mixed(self, seen: list[tuple[torch.Tensor, torch.Tensor]], kinds: torch.Tensor) -> list[torch.Tensor]:
        results = [torch.empty_like(plane) for plane, _ in seen]
        for chosen in (kinds == kind for kind in kinds.unique()):
            part = self.planes([(plane[chosen], own[chosen]) for plane, own in seen])
            results = [whole.index_put((chosen,), one) for whole, one in zip(results, part, strict=True)]
        return results


def join(planes: list[torch.Tensor]) -> torch.Tensor:
    """Planes as the channels they were made of: (n, channels, h, w)."""
    stacked = torch.stack(planes, 1)
    if len(planes) != 3:
        return stacked
    back = torch.linalg.inv(torch.as_tensor(OPPONENT, dtype=torch.float64)).to(stacked)
    return torch.einsum("co,nohw->nchw", back, stacked)


def _steps_of(operator: AnalysisOperator, quality: str) -> TrainedSteps:
    steps = operator.steps.get(f"denoise {quality}", operator.steps.get("denoise"))
    if steps is None:
        raise ValueError(
            "operator: has no steps to denoise; take 'staged', or train some with cosparse.refine_operator(stages=5)"
        )
    return steps

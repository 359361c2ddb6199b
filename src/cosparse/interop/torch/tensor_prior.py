"""The prior as a module: how unlike a natural image a picture is, differentiable by the picture and by the operator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from cosparse.interop.torch.tensor_patches import Sides, parts, patches_of, together
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.penalty import LOG, Penalty
from cosparse.reconstruction.planes import GAINS, OPPONENT
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.stages import as_refined
from cosparse.trained_steps import REFERENCE_SIGMA

WHITE = 255.0  # of the scale that operators are made for


def penalise(v: torch.Tensor, penalty: Penalty) -> tuple[torch.Tensor, torch.Tensor]:
    """phi(v) and its derivative over v, elementwise; see :func:`cosparse.kernels.reference.penalise`."""
    if penalty.code == LOG:
        inside = torch.addcmul(v.new_ones(()), v, v, value=penalty.nu)
        return torch.log(inside), 2 * penalty.nu / inside
    inside = v * v + penalty.nu
    return inside ** (penalty.p / 2), penalty.p * inside ** (penalty.p / 2 - 1)


def opponents(images: torch.Tensor) -> list[tuple[torch.Tensor, float]]:
    """The planes (n, h, w) that a batch (n, channels, h, w) is seen by, each with the gain of its noise.

    Three channels are taken for red, green and blue, and seen as luma and two opponent colours; others stand alone.
    """
    if images.shape[1] != 3:
        return [(images[:, c], 1.0) for c in range(images.shape[1])]
    mixing = torch.as_tensor(OPPONENT, dtype=images.dtype, device=images.device)
    mixed = torch.einsum("oc,nchw->onhw", mixing, images)
    return list(zip(mixed, GAINS, strict=True))


class AnalysisPrior(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """g of Eq. (46) as a torch module: sum over all patches and atoms of w_i·phi(scale_i·atom_i · patch).

    In units in which ½‖x - y‖² + prior(x, sigma) is the energy that denoising at noise sigma minimises: on images of
    0..255 it is that of :class:`cosparse.Prior`, otherwise that of 255·x/data_range, times (data_range/255)². Three
    channels are taken for red, green and blue and seen by their opponents o_c·x, each at its own noise, sigma·‖o_c‖,
    and weighed by 1/‖o_c‖²: as these are orthogonal, that is what denoising each of them minimises. Other channels
    stand alone.

    Parameters
    ----------
    operator : AnalysisOperator or str
        The operator, a shipped one's name, or an operator file.
    sigma : float, optional
        The noise that the prior is for, in units of the image, if none is given when it is called; 25 of 255.
    penalty : Penalty, optional
        phi on the scale of 0..255; by default that of the operator.
    stride : int, optional
        Pixels between patches; by default what denoising takes.
    data_range : float
        The value of white.

    Attributes
    ----------
    matrix, weights, scale : torch.nn.Parameter
        Of the operator at noise 25 of 255, all learnable; weights and scales below zero count as zero.
    exponents : torch.Tensor
        How weights and scales go with the noise, see :meth:`cosparse.AnalysisOperator.at`.

    Examples
    --------
    >>> import torch
    >>> prior = AnalysisPrior("default")
    >>> image = torch.rand(2, 1, 16, 16, requires_grad=True)
    >>> value = prior(image, sigma=0.1)
    >>> value.shape, torch.autograd.grad(value.sum(), image)[0].shape
    (torch.Size([2]), torch.Size([2, 1, 16, 16]))
    """

    def __init__(
        self,
        operator: AnalysisOperator | str = "default",
        *,
        sigma: float | None = None,
        penalty: Penalty | None = None,
        stride: int | None = None,
        data_range: float = 1.0,
    ) -> None:
        super().__init__()
        made = as_refined(chosen_operator(operator))
        usual = Prior.of(made)
        self.patch_shape: Sides = made.patch_shape
        self.strides: Sides = usual.strides if stride is None else (int(stride), int(stride))
        if not all(1 <= step <= side for step, side in zip(self.strides, self.patch_shape, strict=True)):
            raise ValueError(f"stride: must lie between 1 and the patch size {self.patch_shape}, got {stride!r}")
        self.penalty = made.penalty if penalty is None else penalty
        self.data_range = checked_white(data_range)
        self.sigma = REFERENCE_SIGMA * self.data_range / WHITE if sigma is None else float(sigma)
        self.provenance = dict(made.provenance)
        for name in ("matrix", "weights", "scale"):
            setattr(self, name, torch.nn.Parameter(torch.tensor(getattr(made, name))))
        self.register_buffer("exponents", torch.tensor(made.exponents))

    def forward(self, image: torch.Tensor, sigma: float | torch.Tensor | None = None) -> torch.Tensor:
        """g of every image of a batch (n, channels, h, w), at noise sigma: (n,)."""
        total = torch.zeros(len(image), dtype=self.matrix.dtype, device=image.device)
        for planes, gain in opponents(checked_batch(image).to(self.matrix.dtype) * (WHITE / self.data_range)):
            atoms, weights = self.at(self._level(sigma, image) * gain)
            for part in parts(patches_of(planes, self.patch_shape, self.strides)):
                value, _ = penalise(part @ atoms.mT, self.penalty)
                total = total + (value @ weights[..., None]).sum((1, 2)) / gain**2
        return total * (self.data_range / WHITE) ** 2

    def gradient(self, image: torch.Tensor, sigma: float | torch.Tensor | None = None) -> torch.Tensor:
        """That of the sum of all g by the image, without a graph: in parts, so that it needs little memory."""
        with torch.no_grad():
            return self.value_and_gradient(image, sigma)[1].to(image.dtype)

    def value_and_gradient(
        self, image: torch.Tensor, sigma: float | torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """g of every image, and the gradient, in the precision of the operator."""
        unit = WHITE / self.data_range
        values, slopes = [], []
        for planes, gain in opponents(checked_batch(image).to(self.matrix.dtype) * unit):
            atoms, weights = self.at(self._level(sigma, image) * gain)
            value, slope = sparsity(planes, atoms, weights, self.penalty, self.patch_shape, self.strides)
            values.append(value / gain**2)
            slopes.append(slope / gain**2)
        return sum(values) / unit**2, of_opponents(slopes) / unit

    def prox(
        self, image: torch.Tensor, step: float = 1.0, sigma: float | None = None, *, iterations: int = 100
    ) -> torch.Tensor:
        """argmin over x of ½‖x - image‖² + step·g(x), for each of a batch, by conjugate gradient from the image."""
        from cosparse.interop.torch.tensor_energy import proximal

        return proximal(self, image, step, sigma, iterations)

    def at(self, level: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Atoms (n, k, pixels) and weights (n, k) at noise levels (n,) on 0..255, strides and the rest included."""
        ratio = (level / REFERENCE_SIGMA).to(self.matrix.dtype)[:, None]
        weights = self.weights.clamp(min=0) * ratio ** self.exponents[0] * math.prod(self.strides)
        scale = self.scale.clamp(min=0) * ratio ** self.exponents[1]
        return scale[..., None] * self.matrix, weights

    def operator(self) -> AnalysisOperator:
        """As it stands: to be saved, and used by every task."""
        arrays = {name: getattr(self, name).detach().cpu().float().numpy() for name in ("matrix", "weights", "scale")}
        for name in ("weights", "scale"):
            arrays[name] = arrays[name].clip(0)
        return AnalysisOperator(
            patch_shape=self.patch_shape, penalty=self.penalty, provenance=self.provenance,
            exponents=self.exponents.cpu().float().numpy(), **arrays,
        )  # fmt: skip

    def _level(self, sigma: Any, image: torch.Tensor) -> torch.Tensor:
        return levels_of(self.sigma if sigma is None else sigma, image, self.data_range).clamp(min=0.1)


def sparsity(
    planes: torch.Tensor, atoms: torch.Tensor, weights: torch.Tensor, penalty: Penalty, patch: Sides, stride: Sides
) -> tuple[torch.Tensor, torch.Tensor]:
    """Σ w·phi(atom · patch) of each of the planes (n, h, w), and its gradient; atoms (n|1, k, pixels), w (n|1, k).

    The twin of :func:`cosparse.kernels.reference.image_sparsity`, weights being what they are there.
    """
    values, pieces = [], []
    for part in parts(patches_of(planes, patch, stride)):
        v = part @ atoms.mT
        phi, slope = penalise(v, penalty)
        values.append((phi @ weights[..., None]).sum((1, 2)))
        pieces.append((v * slope * weights[:, None]) @ atoms)
    total = torch.stack(values).sum(0)
    return total, together(torch.cat(pieces, 1), (planes.shape[1], planes.shape[2]), patch, stride)


def of_opponents(slopes: list[torch.Tensor]) -> torch.Tensor:
    """The adjoint of :func:`opponents`: (n, channels, h, w)."""
    stacked = torch.stack(slopes, 1)
    if len(slopes) != 3:
        return stacked
    mixing = torch.as_tensor(OPPONENT, dtype=stacked.dtype, device=stacked.device)
    return torch.einsum("oc,nohw->nchw", mixing, stacked)


def levels_of(sigma: Any, image: torch.Tensor, data_range: float) -> torch.Tensor:
    """Noise levels on 0..255, one for each image of a batch, of a number or a tensor (n,) in the image's units."""
    level = torch.as_tensor(sigma, device=image.device)
    level = level.to(torch.float64 if image.dtype == torch.float64 else torch.float32).reshape(-1)
    if level.numel() not in (1, len(image)):
        raise ValueError(f"sigma: one number, or one for each of {len(image)} images, got {level.numel()}")
    return level.expand(len(image)) * (WHITE / data_range)


def checked_batch(image: torch.Tensor) -> torch.Tensor:
    """Refuse what is no batch of images of floats."""
    if not isinstance(image, torch.Tensor) or image.ndim != 4 or not image.is_floating_point():
        got = f"{tuple(image.shape)} of {image.dtype}" if isinstance(image, torch.Tensor) else type(image).__name__
        raise ValueError(f"image: expected a tensor of floats (batch, channels, h, w), got {got}")
    return image


def checked_white(data_range: float) -> float:
    """The value of white."""
    if not np.isfinite(data_range) or data_range <= 0:
        raise ValueError(f"data_range: must be positive and finite, got {data_range!r}")
    return float(data_range)

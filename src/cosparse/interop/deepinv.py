"""deepinv: our prior in its algorithms, our denoiser in its plug-and-play, its physics in `cosparse.reconstruct`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

try:
    import torch
    from deepinv.models.base import Denoiser
    from deepinv.optim.prior import Prior
    from deepinv.physics import MRI, LinearPhysics, MultiCoilMRI
except ImportError as problem:
    raise ImportError("deepinv is not installed: pip install 'cosparse[deepinv]' brings it") from problem

from cosparse.interop.torch import AnalysisPrior as TorchPrior
from cosparse.interop.torch import StagedDenoiser
from cosparse.interop.torch.tensor_denoising import denoise
from cosparse.interop.torch.tensor_phase import complex_of, parts_of
from cosparse.interop.torch.tensor_reconstruction import reconstruct
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction.general import Reconstruction
from cosparse.reconstruction.stages import as_refined

__all__ = ["AnalysisDenoiser", "AnalysisPrior", "run"]


class AnalysisPrior(Prior):  # type: ignore[misc, unused-ignore]
    """The sparsity of all patches under an analysis operator, as an explicit prior of deepinv.

    In deepinv's units: with `L2()` as the data fidelity and lambda 1, denoising images of 0..1 minimises
    ½‖x - y‖² + g(x, sigma), what :func:`cosparse.denoise` minimises at noise sigma. Through a physics, lambda·g says
    how much; a lambda about (sigma of y / sigma of the prior)² is where to start.

    Parameters
    ----------
    operator : AnalysisOperator or str
        An operator, a shipped one's name, or an operator file.
    sigma : float
        The noise for which the prior is taken if an algorithm has no `g_param`, which is that.
    iterations : int
        At most so many of conjugate gradient for a proximal map.
    device : str or torch.device

    Notes
    -----
    `grad` can be differentiated, by the image and by the operator, and so unfolded; `prox` is found by iteration and
    gives no gradient.

    Examples
    --------
    >>> import torch
    >>> from cosparse.interop.deepinv import AnalysisPrior
    >>> prior = AnalysisPrior(sigma=0.1)
    >>> noisy = 0.5 + 0.1 * torch.randn(1, 1, 24, 24, generator=torch.Generator().manual_seed(0))
    >>> bool(prior.prox(noisy).std() < 0.3 * noisy.std())
    True
    """

    def __init__(
        self,
        operator: AnalysisOperator | str = "default",
        *,
        sigma: float = 25 / 255,
        iterations: int = 100,
        device: Any = "cpu",
    ) -> None:
        super().__init__()
        self.explicit_prior = True
        self.iterations = iterations
        self.prior = TorchPrior(operator, sigma=sigma)
        self.to(device)

    def fn(self, x: torch.Tensor, sigma: Any = None, *args: Any, **kwargs: Any) -> torch.Tensor:
        """g of every image of a batch, (n,)."""
        return self.prior(x, sigma)

    def grad(self, x: torch.Tensor, sigma: Any = None, *args: Any, **kwargs: Any) -> torch.Tensor:
        """The gradient of g."""
        return self.prior.value_and_gradient(x, sigma)[1].to(x.dtype)

    def prox(self, x: torch.Tensor, sigma: Any = None, *args: Any, gamma: Any = 1.0, **kwargs: Any) -> torch.Tensor:
        """argmin over z of ½‖z - x‖² + gamma·g(z)."""
        steps = torch.as_tensor(gamma, dtype=torch.float64).detach().reshape(-1)
        if steps.numel() == 1:
            return self.prior.prox(x, float(steps), sigma, iterations=self.iterations)
        levels = torch.as_tensor(self.prior.sigma if sigma is None else sigma).detach().reshape(-1).expand(len(x))
        each = zip(x, steps, levels, strict=True)
        return torch.cat(
            [
                self.prior.prox(one[None], float(step), float(level), iterations=self.iterations)
                for one, step, level in each
            ]
        )


class AnalysisDenoiser(Denoiser):  # type: ignore[misc, unused-ignore]
    """:func:`cosparse.denoise` as a denoiser of deepinv, for its plug-and-play, RED and unfolded algorithms.

    Parameters
    ----------
    operator : AnalysisOperator or str
        With trained steps, as "staged" has, those are taken, and can be differentiated and trained. Of others the
        minimiser of their energy.
    quality : {"fast", "balanced", "best"}
    grouping : bool
        Whether similar patches help each other at last, which cannot be differentiated.
    device : str or torch.device

    Examples
    --------
    >>> import torch
    >>> from cosparse.interop.deepinv import AnalysisDenoiser
    >>> noisy = 0.5 + 0.1 * torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(0))
    >>> bool(AnalysisDenoiser()(noisy, 0.1).std() < 0.4 * noisy.std())
    True
    """

    def __init__(
        self,
        operator: AnalysisOperator | str = "staged",
        *,
        quality: str = "balanced",
        grouping: bool = False,
        device: Any = "cpu",
    ) -> None:
        super().__init__()
        self.operator, self.quality, self.grouping = as_refined(chosen_operator(operator)), quality, grouping
        staged = {"denoise", f"denoise {quality}"} & self.operator.steps.keys()
        self.model = StagedDenoiser(self.operator, quality=quality) if staged and not grouping else None
        self.to(device)

    def forward(self, x: torch.Tensor, sigma: float | torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """Images (n, channels, h, w) without their noise of standard deviation sigma, a number or (n,)."""
        if self.model is not None:
            return self.model(x, sigma)
        return denoise(x, sigma, operator=self.operator, quality=self.quality, grouping=self.grouping, bounds=None)


def run(task: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """A task of cosparse with something of deepinv among its arguments: `cosparse.reconstruct(y, physics)`."""
    if task.__name__ != "reconstruct":
        raise TypeError(f"{task.__name__}: takes nothing of deepinv; cosparse.reconstruct(y, physics) does")
    return _reconstruct(*arguments, **keywords)


def _reconstruct(
    y: torch.Tensor, physics: LinearPhysics, shape: tuple[int, ...] | None = None, **given: Any
) -> Reconstruction:
    """The image whose measurements by the physics are near y; its shape is that of A_adjoint(y)."""
    if not isinstance(physics, LinearPhysics):
        raise TypeError(f"physics: a LinearPhysics can be inverted here, got {type(physics).__name__}")
    if not isinstance(y, torch.Tensor):
        raise TypeError(f"y: expected one tensor, got {type(y).__name__}; of stacked physics reconstruct from one")
    with torch.no_grad():
        found = tuple(physics.A_adjoint(y).shape)
    if shape is not None and tuple(shape) != found:
        raise ValueError(f"shape: the physics has images of shape {found}, not {tuple(shape)}")
    if "sigma" not in given:
        given["sigma"] = _noise_of(physics)
    if isinstance(physics, MRI | MultiCoilMRI) and len(found) == 4:
        return _of_complex_images(y, physics, found, **given)
    result: Reconstruction = reconstruct(y, (physics.A, physics.A_adjoint), found, **given)
    return result


def _of_complex_images(y: torch.Tensor, physics: LinearPhysics, shape: tuple[int, ...], **given: Any) -> Reconstruction:
    """deepinv holds them as two channels; to the prior, which follows the phase, they are one complex plane."""
    n, _, *sides = shape
    pair = (lambda image: physics.A(parts_of(image))), (lambda data: complex_of(physics.A_adjoint(data)))
    found: Reconstruction = reconstruct(y, pair, (n, 1, *sides), **{**given, "dtype": complex})
    image: Any = found.image
    return replace(found, image=parts_of(image))


def _noise_of(physics: LinearPhysics) -> float:
    """The level of the physics' Gaussian noise, if it has any."""
    level = getattr(physics.noise_model, "sigma", None)
    if level is None:
        return 0.0
    if torch.as_tensor(level).numel() != 1:
        raise ValueError("sigma: the physics has several noise levels; reconstruct one image at a time, or say sigma")
    return float(torch.as_tensor(level).detach())

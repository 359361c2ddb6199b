"""How unlike a natural image a picture is: the sparsity of all its analysed patches."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.reference import LocalWeights, positions
from cosparse.operator import AnalysisOperator
from cosparse.penalty import Penalty

Image = NDArray[np.float32]
Derivative = NDArray[np.float64]
Region = tuple[slice, slice]


@dataclass(frozen=True)
class Prior:
    """g of Eq. (46): sum over patches and atoms of w_i·phi(atom_i · patch), with its gradient.

    phi(v) is (v² + nu)^(p/2), as the paper has it for reconstruction (in learning it is divided by p), or
    log(1 + nu v²). Images are (h, w) float32 on 0..255. There is a patch about every `stride`-th pixel of every
    `stride`-th row, from the first on, its own pixel at row h_p//2 and column w_p//2 of the patch; beyond the border
    the outermost pixels are repeated. Called, it gives value and gradient; :meth:`curvature` is the Hessian's product
    with a direction, :meth:`prox` the proximal map.

    Parameters
    ----------
    operator : AnalysisOperator
    penalty : Penalty
        phi, on the scale of images on 0..255.
    stride : int or (int, int)
        Steps d_v, d_h between patches, 1 to the patch size. The sum is multiplied by d_v·d_h, so that a
        weight means the same at every stride.
    local : LocalWeights, optional
        Where the noise is not the same everywhere: which level each patch has, and the weights and the factors on the
        scales of each level, instead of those of the operator. For images of one size.

    Attributes
    ----------
    strides : (int, int)
        d_v and d_h.

    Examples
    --------
    >>> import numpy as np
    >>> prior = Prior(AnalysisOperator.dct(8), Penalty.log(nu=0.1))
    >>> value, gradient = prior(np.full((5, 3), 128, np.float32))  # a constant image is perfectly sparse
    >>> round(value, 3), gradient.shape
    (0.0, (5, 3))
    >>> Prior.of(AnalysisOperator.dct(8), sigma=25.0).penalty
    Penalty(form='log', nu=0.08, p=0.0, square=False)
    """

    operator: AnalysisOperator
    penalty: Penalty
    stride: int | tuple[int, int] = 1
    local: LocalWeights | None = field(default=None, repr=False, compare=False)
    strides: tuple[int, int] = field(init=False, repr=False, compare=False)
    _atoms: Image = field(init=False, repr=False, compare=False)
    _weights: Image = field(init=False, repr=False, compare=False)
    _factor: float = field(init=False, repr=False, compare=False)
    _local: LocalWeights | None = field(init=False, repr=False, compare=False, default=None)
    _rest: tuple[tuple[int, int], tuple[int, int], int, float, float] = field(init=False, repr=False, compare=False)

    @classmethod
    def of(cls, operator: AnalysisOperator, sigma: float = 25.0) -> Prior:
        """The prior as denoising at noise sigma (on 0..255) uses it, up to its weight."""
        from cosparse.reconstruction.stages import as_refined, plan

        operator = as_refined(operator)
        chosen = plan("denoise", sigma, "balanced", None, operator)
        stage = chosen.stages[-1]
        return cls(operator.at(stage.sigma), stage.penalty, min(chosen.stride, *operator.patch_shape))

    def __post_init__(self) -> None:
        steps = (self.stride, self.stride) if isinstance(self.stride, int) else self.stride
        for step, size in zip(steps, self.operator.patch_shape, strict=True):
            if not 1 <= step <= size:
                raise ValueError(f"stride: steps must lie between 1 and the patch size {size}, got {self.stride}")
        penalty = self.penalty
        # phi as the kernels have it: w_i·d_v·d_h, and p for the p-norm, which they divide by p.
        factor = steps[0] * steps[1] * (penalty.p if penalty.form == "pnorm" else 1.0)
        weights = self.operator.weights * np.float32(factor)
        if self.local is not None:
            tables = (table.astype(np.float32) for table in (self.local.weights * factor, self.local.scale))
            object.__setattr__(self, "_local", LocalWeights(self.local.levels, *map(np.ascontiguousarray, tables)))
        rest = self.operator.patch_shape, steps, penalty.code, penalty.nu, penalty.p
        for name, value in {"strides": steps, "_factor": factor, "_weights": weights, "_rest": rest}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_atoms", self.operator.atoms)

    def __call__(self, image: Image, region: Region | None = None) -> tuple[float, Image]:
        """Value and gradient at an image.

        With a region, which begins at multiples of the strides, the value is of its patches only (every patch belongs
        to one pixel: the values of regions that cover the image add up); the gradient is of all.
        """
        counted = None
        if region is not None:
            rows, columns = (
                range(part.start // step, positions(extent, step) if part.stop >= extent else -(-part.stop // step))
                for part, extent, step in zip(region, image.shape, self.strides, strict=True)
            )
            counted = rows, columns
        from cosparse.kernels import fused  # not before the first evaluation: the compiler comes with it

        return fused.image_sparsity(self._atoms, self._weights, image, *self._rest, counted, self._local)

    def curvature(self, image: Image, direction: Image) -> Image:
        """The Hessian at an image, times a direction."""
        self._refuse_local()
        from cosparse.kernels import curvature

        return curvature.image_curvature(self._atoms, self._weights, image, direction, *self._rest)

    def prox(self, image: Image, step: float, *, iterations: int = 100) -> Image:
        """argmin over s of ½‖s - image‖² + step·g(s), by conjugate gradient from the image."""
        from cosparse.kernels.threads import one_blas_thread
        from cosparse.optimize import Euclidean, Settings, conjugate_gradient
        from cosparse.reconstruction.energy import Energy

        start = np.ascontiguousarray(image, np.float32)
        settings = Settings(iterations=iterations, step_tolerance=0.0, decrease_tolerance=1e-7, first_step=0.1)
        with one_blas_thread():  # once: to find the library takes longer than an evaluation of a small image
            return conjugate_gradient(Energy(self, step, start, bounds=None), Euclidean(), start, settings).point

    def _refuse_local(self) -> None:
        if self.local is not None:
            raise ValueError("local: second derivatives are known of a prior that is the same everywhere only")

    def sensitivity(self, image: Image, direction: Image) -> tuple[Derivative, Derivative]:
        """The derivatives of <gradient at the image, direction> by the operator's atoms and by its weights."""
        self._refuse_local()
        from cosparse.kernels import curvature

        by_atom, by_weight = curvature.image_sensitivity(self._atoms, self._weights, image, direction, *self._rest)
        return by_atom, by_weight * self._factor

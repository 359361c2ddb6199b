"""The prior as a function with a proximal map, for PyProximal: `pip install 'cosparse[pylops]'`.

PyProximal is under the LGPL, version 3. cosparse neither ships nor needs it; this module uses what you have installed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.io.values import checked_range
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction import Prior

try:
    from pyproximal import ProxOperator
except ImportError as problem:
    raise ImportError("pyproximal is not installed: pip install 'cosparse[pylops]' brings it") from problem


class AnalysisProximal(ProxOperator):
    """f(x) = weight·g(c·x)/c² with c = 255/data_range: how unlike a natural image x is, in its own units.

    g is the prior (:class:`cosparse.Prior`) that denoising at noise sigma goes by, so that with tau·weight = 1,
    `prox(x, tau)` denoises an image that has such noise. It is smooth: `grad` is the gradient of f itself, by which
    PyProximal's first-order methods may take it as the smooth part as well. It is not convex, so `prox` gives the
    minimum that lies downhill from x.

    Parameters
    ----------
    shape : (height, width)
        Of the image; PyProximal hands over flattened ones.
    sigma : float
        Standard deviation of the noise that the prior is taken for, in units of the image.
    operator : AnalysisOperator or str, optional
        One of yours, a shipped one's name, or a file; None is the one that tasks take.
    weight : float
    data_range : float
        The value of white in the image.
    iterations : int
        Of conjugate gradient in `prox`, at most.

    Examples
    --------
    >>> import numpy as np
    >>> noisy = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((16, 16))
    >>> prior = AnalysisProximal((16, 16), sigma=0.1)
    >>> bool(prior.prox(noisy.ravel(), 1.0).std() < 0.3 * noisy.std())
    True
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        sigma: float,
        *,
        operator: AnalysisOperator | str | None = None,
        weight: float = 1.0,
        data_range: float = 1.0,
        iterations: int = 100,
    ) -> None:
        super().__init__(None, True)
        if len(tuple(shape)) != 2 or min(shape) < 1:
            raise ValueError(f"shape: expected (height, width), got {shape!r}")
        for name, value in {"sigma": sigma, "weight": weight}.items():
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name}: must be positive and finite, got {value!r}")
        self.shape, self.weight, self.iterations = (int(shape[0]), int(shape[1])), float(weight), iterations
        self.unit = 255.0 / checked_range(np.dtype(float), data_range, "data_range")
        self.prior = Prior.of(chosen_operator(operator), sigma * self.unit)

    def __call__(self, x: NDArray[Any]) -> float:
        """f(x)."""
        return self.weight * self.prior(self._image(x))[0] / self.unit**2

    def grad(self, x: NDArray[Any]) -> NDArray[Any]:
        """The gradient of f."""
        return self._flat(self.prior(self._image(x))[1] * np.float32(self.weight / self.unit), x)

    def prox(self, x: NDArray[Any], tau: float, **kwargs: Any) -> NDArray[Any]:
        """argmin over u of tau·f(u) + ½‖u - x‖², by conjugate gradient from x."""
        if not tau > 0:
            raise ValueError(f"tau: must be positive, got {tau!r}")
        found = self.prior.prox(self._image(x), self.weight * float(tau), iterations=self.iterations)
        return self._flat(found / np.float32(self.unit), x)

    def _image(self, x: NDArray[Any]) -> NDArray[np.float32]:
        """On 0..255."""
        if np.iscomplexobj(x) or np.size(x) != math.prod(self.shape):
            raise ValueError(f"x: expected a real image of {self.shape}, flattened, got {np.shape(x)} of {x.dtype}")
        return np.asarray(np.reshape(x, self.shape) * self.unit, np.float32)

    def _flat(self, image: NDArray[np.float32], like: NDArray[Any]) -> NDArray[Any]:
        return image.astype(like.dtype if like.dtype.kind == "f" else float).reshape(like.shape)

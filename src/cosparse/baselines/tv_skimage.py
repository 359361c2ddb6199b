"""Total variation (Rudin, Osher, Fatemi 1992) by Chambolle's algorithm in scikit-image."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

TITLE = "TV (scikit-image)"
WEIGHTS = ((5.0, 0.42), (10.0, 0.55), (25.0, 0.73), (50.0, 0.87))
"""(sigma, weight / sigma): the best on training photographs (`benchmarks/paper/rivals.py`)."""


def denoise(noisy: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """The image of least total variation near the noisy one."""
    from skimage.restoration import denoise_tv_chambolle

    levels, factors = zip(*WEIGHTS, strict=True)
    weight = sigma * float(np.interp(sigma, levels, factors))
    restore: Any = denoise_tv_chambolle  # which has no types
    result = restore(noisy, weight=weight, eps=1e-5, max_num_iter=500)
    return np.asarray(result, np.float32)

"""Total variation (Rudin, Osher, Fatemi 1992) by Chambolle's algorithm in scikit-image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TITLE = "TV (scikit-image)"
WEIGHTS = ((5.0, 0.6), (10.0, 0.6), (25.0, 0.6), (50.0, 0.6))
"""(sigma, weight / sigma): the best on training photographs."""


def denoise(noisy: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """The image of least total variation near the noisy one."""
    from skimage.restoration import denoise_tv_chambolle

    levels, factors = zip(*WEIGHTS, strict=True)
    weight = sigma * float(np.interp(sigma, levels, factors))
    # The weight refers to images on any scale; the tolerance is relative.
    result = denoise_tv_chambolle(noisy, weight=weight, eps=1e-5, max_num_iter=500)
    return np.asarray(result, np.float32)

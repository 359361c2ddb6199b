"""Non-local means (Buades, Coll, Morel 2005) by scikit-image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TITLE = "NLM (scikit-image)"
STRENGTHS = ((5.0, 0.7), (10.0, 0.62), (25.0, 0.55), (50.0, 0.5))
"""(sigma, h / sigma): the best on training photographs (`benchmarks/paper/rivals.py`), as are 5x5 patches."""


def denoise(noisy: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """Average each pixel with those up to 10 pixels away whose 5x5 surroundings look alike."""
    from skimage.restoration import denoise_nl_means

    levels, factors = zip(*STRENGTHS, strict=True)
    strength = sigma * float(np.interp(sigma, levels, factors))
    result = denoise_nl_means(noisy, patch_size=5, patch_distance=10, h=strength, sigma=sigma, fast_mode=True)
    return np.asarray(result, np.float32)

"""Non-local means (Buades, Coll, Morel 2005) by scikit-image, with the parameters its documentation recommends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TITLE = "NLM (scikit-image)"


def denoise(noisy: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """Average each pixel with those whose 5x5 surroundings look alike, up to 10 pixels away."""
    from skimage.restoration import denoise_nl_means

    result = denoise_nl_means(noisy, patch_size=5, patch_distance=10, h=0.6 * sigma, sigma=sigma, fast_mode=True)
    return np.asarray(result, np.float32)

"""Soft thresholding of wavelets (BayesShrink: Chang, Yu, Vetterli 2000) by scikit-image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TITLE = "wavelets (scikit-image)"
SHIFTS = 4


def denoise(noisy: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """BayesShrink with Daubechies wavelets, the mean over 4x4 shifts of the image (cycle spinning)."""
    from skimage.restoration import denoise_wavelet

    total = np.zeros(noisy.shape)
    for shift in np.ndindex(SHIFTS, SHIFTS):
        shifted = np.roll(noisy, shift, (0, 1))
        repaired = denoise_wavelet(
            shifted, sigma=sigma, wavelet="db2", method="BayesShrink", mode="soft", rescale_sigma=False
        )
        total += np.roll(repaired, (-shift[0], -shift[1]), (0, 1))
    return np.asarray(total / SHIFTS**2, np.float32)

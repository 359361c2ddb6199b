"""BM3D (Dabov, Foi, Katkovnik, Egiazarian 2007) as its authors publish it on PyPI.

Their licence is for non-commercial use only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosparse.baselines._extra import needed

TITLE = "BM3D (PyPI)"
NEEDS = "bm3d"


def denoise(noisy: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """Both stages, with the authors' normal profile."""
    return np.asarray(needed("bm3d").bm3d(noisy.astype(float), sigma), np.float32)

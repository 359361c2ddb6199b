"""Inpainting by fast marching (Telea 2004), by OpenCV."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosparse.baselines._extra import needed

TITLE = "Telea (OpenCV)"
NEEDS = "cv2"


def inpaint(image: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Fill from the rim inwards, each pixel the weighted mean of known ones within three pixels."""
    cv2 = needed("cv2")
    known = np.clip(np.round(np.where(mask, 0, image)), 0, 255).astype(np.uint8)  # it works on bytes only
    filled = cv2.inpaint(known, mask.astype(np.uint8), 3, cv2.INPAINT_TELEA)
    return np.where(mask, filled, image).astype(np.float32)

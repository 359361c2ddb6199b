"""Inpainting by fluid dynamics (Bertalmio, Bertozzi, Sapiro 2001), by OpenCV."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosparse.baselines._extra import needed

TITLE = "Navier-Stokes (OpenCV)"
NEEDS = "cv2"


def inpaint(image: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Carry lines of equal brightness into the holes, looking three pixels around."""
    cv2 = needed("cv2")
    known = np.clip(np.round(np.where(mask, 0, image)), 0, 255).astype(np.uint8)  # it works on bytes only
    filled = cv2.inpaint(known, mask.astype(np.uint8), 3, cv2.INPAINT_NS)
    return np.where(mask, filled, image).astype(np.float32)

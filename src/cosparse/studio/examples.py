"""Pictures to try the page on, from every installation of scikit-image: nothing is downloaded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Name of scikit-image's file, and what it shows. The first two were not among the pictures `default` was learned from.
EXAMPLES = {
    "chelsea": "A cat",
    "camera": "A cameraman",
    "coffee": "A cup of coffee",
    "astronaut": "An astronaut",
    "rocket": "A rocket",
}


def photograph(name: str) -> NDArray[np.uint8]:
    """One of them, uint8, grey or colour."""
    from skimage import data

    picture: Any = getattr(data, name)()
    return np.ascontiguousarray(picture, np.uint8)

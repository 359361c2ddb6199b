"""Pictures to try the page on, from every installation of scikit-image: nothing is downloaded."""

from __future__ import annotations

import numpy as np

from cosparse.io.picture import Picture

# Name of scikit-image's file, and what it shows. The first two were not among the pictures `default` was learned from.
EXAMPLES = {
    "chelsea": "A cat",
    "camera": "A cameraman",
    "coffee": "A cup of coffee",
    "astronaut": "An astronaut",
    "rocket": "A rocket",
}


def example(name: str) -> Picture:
    """One of them, 8 bit, grey or colour."""
    from skimage import data

    pixels = np.ascontiguousarray(getattr(data, name)(), np.uint8)
    return Picture(pixels, channel_axis=-1 if pixels.ndim == 3 else None)

"""What the tests of the command line share: pictures, and how the program is called."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from skimage import data

import cosparse

GREY = data.camera()[90:186, 190:286]
COLOUR = data.astronaut()[30:126, 170:266]


def noisy(image, sigma=20.0, top=255):
    rng = np.random.default_rng(0)
    return np.clip(np.rint(image + rng.normal(0, sigma, image.shape)), 0, top).astype(image.dtype)


PROGRAM = [sys.executable, "-c", "import sys; from cosparse.cli import main; sys.exit(main())"]


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(Path(cosparse.__file__).parents[1]), **more}


def files():
    return sorted(path.as_posix() for path in Path().rglob("*") if path.is_file())

"""Every task as a function of an image alone, and what is done to images before they are repaired."""

from __future__ import annotations

import numpy as np

from cosparse import deblur, denoise, inpaint, upscale

BOX = np.ones((3, 3)) / 9
REPAIRS = {
    "denoise": lambda image, **more: denoise(image, **{"sigma": 0.05, **more}),
    "inpaint": lambda image, **more: inpaint(image, checkered(image, more.get("channel_axis")), **more),
    "upscale": lambda image, **more: upscale(image, 2, **more),
    "deblur": lambda image, **more: deblur(image, np.ones((1, 1)), **more),
}


def checkered(image, axis=None):
    """Every other pixel missing, never the first."""
    shape = np.shape(image) if axis is None else np.delete(np.shape(image), axis)
    return np.indices(shape[-2:]).sum(axis=0) % 2 == 1


def noise(shape, sigma, seed=0):
    return np.random.default_rng(seed).normal(0, sigma, shape)

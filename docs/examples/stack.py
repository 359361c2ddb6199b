"""
A 16-bit stack
==============

A microscope's stack has 16 bits, few photons, and less light the deeper it looks. Leading axes are pages: each is
repaired for itself, with its own noise, and comes back in its own type and units.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import cosparse
from cosparse import images

# %%
# Four depths of a stained slice, inverted so that nuclei shine. The camera counts from an offset of 100, gives 6
# counts a photon and has read noise of 12 counts; light halves from page to page.
light = 1.0 - data.immunohistochemistry()[100:260, 100:260, 0] / 255.0
clean = np.stack([100 + 3000 * light**2 * 0.5**depth for depth in range(4)])
camera = cosparse.PoissonGaussian(gain=6.0, read=12.0, offset=100.0)
stack = camera.sample(clean, rng=0).round().clip(0, 65535).astype(np.uint16)

# %%
# Nothing told but what is white: what kind of noise there is, and how much, is estimated for every page.
found = [cosparse.estimate_noise(page, data_range=3100) for page in stack]
denoised = cosparse.denoise(stack, data_range=3100)
assert denoised.dtype == np.uint16

# %%
# If the camera is calibrated, its numbers can be told instead. Here the estimate is as good.
told = cosparse.denoise(stack, noise=camera, data_range=3100)
for depth, noise in enumerate(found):
    white = clean[depth].max()
    results = (cosparse.psnr(clean[depth], each[depth], data_range=white) for each in (stack, denoised, told))
    before, after, known = results
    print(f"page {depth}: {noise!r}")
    print(f"    {before:.2f} dB, estimated {after:.2f} dB, told {known:.2f} dB")

# %%
# Files keep their axes, depth and pixel sizes: an OME-TIFF or an ImageJ stack comes back as one. On the command line:
# ``cosparse denoise cells.tif clean.tif --noise poisson:6:12:100 --data-range 3100``.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "cells.tif"
    images.write_image(path, stack)
    picture = images.read_image(path)
    print(picture.pixels.shape, picture.pixels.dtype)

# %%
figure, axes = plt.subplots(3, 4, figsize=(10, 7.6), layout="constrained")
for line, pages, name in zip(axes, (stack, denoised, told), ("as counted", "estimated", "told"), strict=True):
    for depth, (axis, page) in enumerate(zip(line, pages, strict=True)):
        axis.imshow(page, cmap="gray", vmin=80, vmax=clean[depth].max())
        axis.set_title(f"page {depth}, {name}", fontsize=10)
        axis.axis("off")
plt.show()

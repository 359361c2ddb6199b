"""
Deblurring
==========

A camera that moved, a lens out of focus: if it is known what a point became, the picture can be sharpened by solving
for it. Noise decides how far.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import convolve
from skimage import data, restoration

import cosparse
from cosparse.reconstruction.psf import named_kernel

clean = data.camera()[60:252, 130:322] / 255.0
rng = np.random.default_rng(0)

# %%
# Kernels have names on the command line (``--kernel motion:15:30``) and in `named_kernel`; any array will do.
kernels = {"motion of 13 pixels": named_kernel("motion:13:25"), "out of focus": named_kernel("disk:3")}

# %%
# Beside scikit-image's Wiener filter and Richardson-Lucy, each at the best of several strengths, which nobody can
# know without the truth. Both take the picture to go on beyond its border in a circle or by zeros, so they are given
# one with a margin, which is cut off again.


def with_margin(picture, restore, kernel, strength, margin=24):
    wide = restore(np.pad(picture, margin, mode="reflect"), kernel, strength)
    return wide[margin:-margin, margin:-margin]


def best(candidates):
    return max(candidates, key=lambda found: cosparse.psnr(clean, found))


rows = {}
for name, kernel in kernels.items():
    sigma = 0.01
    blurred = convolve(clean, kernel, mode="nearest") + sigma * rng.standard_normal(clean.shape)
    wiener = [with_margin(blurred, restoration.wiener, kernel, balance) for balance in (0.003, 0.01, 0.03, 0.1, 0.3)]
    lucy = [with_margin(blurred.clip(0, 1), restoration.richardson_lucy, kernel, turns) for turns in (5, 10, 20, 30)]
    rows[name] = {
        "blurred": blurred,
        "Wiener, its best": best(wiener),
        "Richardson-Lucy, its best": best(lucy),
        "cosparse": cosparse.deblur(blurred, kernel, sigma=sigma),
    }

# %%
figure, axes = plt.subplots(2, 4, figsize=(11, 5.9), layout="constrained")
for line, (kind, row) in zip(axes, rows.items(), strict=True):
    for axis, (name, found) in zip(line, row.items(), strict=True):
        decibels = cosparse.psnr(clean, found)
        print(f"{kind}, {name}: {decibels:.2f} dB")
        axis.imshow(found, cmap="gray", vmin=0, vmax=1)
        axis.set_title(f"{name}\n{decibels:.1f} dB", fontsize=9)
        axis.axis("off")
    line[0].set_title(f"{kind}\n{cosparse.psnr(clean, row['blurred']):.1f} dB", fontsize=9)
plt.show()

"""
An old photograph: scratches and grain
======================================

A scanned print has two faults at once: scratches, under which nothing is left, and grain over all the rest. Two calls
repair it, or one.
"""

# %%
# A print of our own making
# -------------------------
# White scratches and grain of standard deviation 14 on a picture that comes with scikit-image.
import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage
from skimage import data, draw

import cosparse

clean = data.camera()[40:296, 80:336].astype(float)
rng = np.random.default_rng(3)
scan = clean + 14 * rng.standard_normal(clean.shape)
for _ in range(9):
    ends = rng.integers(0, 256, 4)
    rows, columns = draw.line(*ends)
    for down in (0, 1):
        scan[(rows + down).clip(0, 255), columns] = 250 + 5 * rng.random(len(rows))
scan = scan.clip(0, 255).astype(np.uint8)

# %%
# Finding the scratches
# ---------------------
# They are thin and nearly white: much brighter than the same place with everything narrower than five pixels removed.
# What is found is widened by a pixel, since a scratch has soft edges; a mask that is a little too large costs less
# than a bright rim that is left.
thin = ndimage.white_tophat(scan, size=(5, 5)) > 60
mask = ndimage.binary_dilation(thin & (scan > 235))

# %%
# Repairing
# ---------
# `mask` is True where a pixel is missing, as in scikit-image. The grain is estimated; scratches do not disturb that.
sigma = cosparse.estimate_sigma(scan)
filled = cosparse.inpaint(scan, mask)
repaired = cosparse.denoise(filled, sigma)

# %%
# `inpaint` can do both at once, if it is told of the noise: of a pixel under a scratch only the prior speaks, every
# other one is drawn to its own value as hard as its noise allows. That is one minimisation, without the trained steps
# that `denoise` takes, and those are worth more here than doing it in one go.
at_once = cosparse.inpaint(scan, mask, sigma=sigma)

print(f"grain estimated: {sigma:.1f}; {mask.mean():.1%} of the pixels masked")
for name, picture in {"scan": scan, "at once": at_once, "filled, then denoised": repaired}.items():
    print(f"{name}: {cosparse.psnr(clean, picture, data_range=255):.2f} dB")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
shown = {"scan": scan, "mask": 255 * mask, "repaired": repaired}
for axis, (name, picture) in zip(axes, shown.items(), strict=True):
    axis.imshow(picture, cmap="gray", vmin=0, vmax=255)
    axis.set_title(name)
    axis.axis("off")
plt.show()

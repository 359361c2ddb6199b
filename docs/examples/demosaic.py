"""
Colours from a noisy Bayer mosaic
=================================

A sensor behind a mosaic of colour filters measures one of three values at every pixel. That is a linear measurement of
the colour image, so `cosparse.reconstruct` fills in the others and removes the noise in one step: no demosaicing first,
which would smear the noise, and no denoising after.

::

    python docs/examples/demosaic.py
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import convolve
from skimage.data import chelsea

import cosparse
from cosparse.reconstruction.measurement import sampling

# %%
# The measurement: of an image of shape (height, width, 3), those values whose filter lies over their pixel. Any SciPy
# or PyLops operator on the flattened image would do as well.

truth = chelsea()[40:200, 90:250] / 255
seen = np.zeros(truth.shape, bool)
seen[::2, ::2, 0] = seen[::2, 1::2, 1] = seen[1::2, ::2, 1] = seen[1::2, 1::2, 2] = True
A = sampling(seen)

sigma = 10 / 255
mosaic = truth[seen] + sigma * np.random.default_rng(0).standard_normal(A.shape[0])

# %%
# What is usual: bilinear interpolation of every colour, then denoising. The noise is no longer white then, and that of
# neighbours no longer their own; its level is estimated.

tent = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4
spread = np.zeros(truth.shape)
spread[seen] = mosaic
bilinear = np.stack(
    [convolve(spread[..., c], tent) / convolve(seen[..., c].astype(float), tent) for c in range(3)], axis=-1
).clip(0, 1)
then_denoised = cosparse.denoise(bilinear, channel_axis=-1)

# %%
# At once. Inside, the prior sees luma and two opponent colours.

result = cosparse.reconstruct(mosaic, A, truth.shape, sigma=sigma)
pictures = {"bilinear": bilinear, "bilinear, then denoised": then_denoised, "cosparse": result.image}

# %%
# OpenCV's edge-aware interpolation, where it is installed, takes the mosaic as 16 bit.

try:
    import cv2
except ImportError:
    pass
else:
    flat = np.zeros(truth.shape[:2])
    flat[seen.any(axis=-1)] = spread.sum(axis=-1).ravel()
    codes = (flat.clip(0, 1) * 65535).round().astype(np.uint16)
    pictures["OpenCV, edge-aware"] = cv2.demosaicing(codes, cv2.COLOR_BayerRGGB2RGB_EA) / 65535

for name, picture in pictures.items():
    print(f"{name}: {cosparse.psnr(truth, picture):.2f} dB")

# %%
figure, axes = plt.subplots(1, len(pictures) + 1, figsize=(3 * len(pictures) + 3, 3.4))
for axis, (name, picture) in zip(axes, {"truth": truth, **pictures}.items(), strict=True):
    axis.imshow(picture[20:100, 20:100].clip(0, 1), interpolation="nearest")
    axis.set_title(name if name == "truth" else f"{name}\n{cosparse.psnr(truth, picture):.2f} dB", fontsize=9)
    axis.axis("off")
figure.tight_layout()
plt.show()

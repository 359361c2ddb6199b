"""
Upscaling, and what a small picture was made by
===============================================

Upscaling looks for the large picture that becomes the small one when it is made small. Whether by averaging blocks,
by Pillow's bicubic filter or by another, is worth saying: see :doc:`../upscaling`.
"""

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from skimage import data

import cosparse

clean = data.chelsea()[20:164, 130:274]
factor = 3


def resized(picture, side, how):
    return np.asarray(Image.fromarray(picture).resize((side, side), how))


# %%
# The same picture made small in two ways, and each enlarged as if made by either (in grey, to be quick).
made = {
    "bicubic": resized(clean, 144 // factor, Image.Resampling.BICUBIC),
    "box": resized(clean, 144 // factor, Image.Resampling.BOX),
}
for name, small in made.items():
    truth, small = clean[..., 1], small[..., 1]
    plain = cosparse.psnr(truth, resized(small, 144, Image.Resampling.BICUBIC))
    told = {kernel: cosparse.upscale(small, factor, kernel=kernel) for kernel in made}
    figures = ", ".join(f"assumed {kernel} {cosparse.psnr(truth, large):.2f} dB" for kernel, large in told.items())
    print(f"made by {name}: interpolated {plain:.2f} dB, {figures}")

# %%
# Noise in the small picture is removed on the way, if its level is told; told nothing, it would be enlarged as
# detail.
noisy = made["bicubic"] + 6 * np.random.default_rng(0).standard_normal(made["bicubic"].shape)
noisy = noisy.clip(0, 255).round().astype(np.uint8)
large = cosparse.upscale(noisy, factor, sigma=6, channel_axis=-1)

# %%
panels = {
    "48 x 48": made["bicubic"],
    "bicubic interpolation": resized(made["bicubic"], 144, Image.Resampling.BICUBIC),
    "cosparse": cosparse.upscale(made["bicubic"], factor, channel_axis=-1),
    "48 x 48 with noise": noisy,
    "bicubic interpolation ": resized(noisy, 144, Image.Resampling.BICUBIC),
    "cosparse, told of it": large,
}
figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.8), layout="constrained")
for axis, (name, picture) in zip(axes.ravel(), panels.items(), strict=True):
    axis.imshow(picture, interpolation="nearest")
    same = picture.shape == clean.shape
    axis.set_title(name + (f", {cosparse.psnr(clean, picture):.1f} dB" if same else ""), fontsize=10)
    axis.axis("off")
plt.show()

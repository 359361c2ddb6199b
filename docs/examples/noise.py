"""
Noise of three kinds
====================

Cells under a fluorescence microscope, 16 bit, few photons; a photograph as a phone makes it, with noise in linear
light, demosaiced and saved as JPEG; and a picture that was saved as JPEG at low quality. Nothing is told but what
their makers know: :doc:`../noise` has the models.
"""

import io
import sys

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from scipy.ndimage import uniform_filter
from skimage import data

import cosparse


def as_jpeg(picture, quality):
    """The file, opened."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality)
    return Image.open(file)


# %%
# The three pictures, what became of them, and how each is repaired.


def cells():
    """Photons of bright nuclei on a dark ground (a stained slice, inverted), counted by a 16-bit camera."""
    light = 1.0 - data.immunohistochemistry()[100:356, 100:356, 0] / 255.0
    clean = 100 + 1900 * light**2
    noise = cosparse.PoissonGaussian(gain=12.0, read=15.0, offset=100.0)
    noisy = noise.sample(clean, rng=0).clip(0, 65535).astype(np.uint16)
    return clean, noisy, cosparse.denoise(noisy, data_range=2000.0), 1000.0


def phone():
    """Linear light, photons and read noise through a Bayer mosaic, interpolated, with the usual gamma; then JPEG."""
    clean = data.chelsea()[20:276, 100:356]
    linear = (clean / 255.0) ** 2.2
    noisy = cosparse.PoissonGaussian(gain=0.012, read=0.01).sample(linear, rng=1).clip(0, 1)
    known = np.zeros(clean.shape)
    known[::2, ::2, 0] = known[1::2, 1::2, 2] = 1
    known[::2, 1::2, 1] = known[1::2, ::2, 1] = 1
    size = (3, 3, 1)
    demosaiced = uniform_filter(noisy * known, size) / uniform_filter(known, size)
    demosaiced = np.where(known > 0, noisy, demosaiced).clip(0, 1)
    file = as_jpeg(np.rint(255 * demosaiced ** (1 / 2.2)).astype(np.uint8), 92)
    noisy = np.asarray(file)
    return clean, noisy, cosparse.denoise(noisy, channel_axis=-1), 255.0


def low_quality():
    """A JPEG says itself how coarsely it was rounded."""
    clean = data.astronaut()[0:256, 100:356]
    file = as_jpeg(clean, 12)
    noisy = np.asarray(file)
    return clean, noisy, cosparse.deblock(noisy, file.quantization, channel_axis=-1), 255.0


# %%
# Before and after.
rows = {"fluorescence, 16 bit": cells(), "a phone's photograph": phone(), "JPEG, quality 12": low_quality()}

# %%
figure, axes = plt.subplots(3, 2, figsize=(7, 10.8), layout="constrained")
for line, (name, (clean, before, after, white)) in zip(axes, rows.items(), strict=True):
    gained = [cosparse.psnr(clean, picture, data_range=white) for picture in (before, after)]
    print(f"{name}: {gained[0]:.2f} dB -> {gained[1]:.2f} dB")
    for axis, picture, db in zip(line, (before, after), gained, strict=True):
        axis.imshow((picture / white).clip(0, 1), cmap="gray", interpolation="nearest")
        axis.axis("off")
        axis.set_title(f"{name}, {db:.1f} dB" if picture is before else f"{db:.1f} dB")
if len(sys.argv) > 1:  # a file to keep it in
    figure.savefig(sys.argv[1], dpi=90)
plt.show()

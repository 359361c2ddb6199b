"""Three pictures with noise of three kinds, nothing told but what their makers know: a sheet of before and after.

    python docs/examples/noise.py [noise.jpg]

Cells under a fluorescence microscope, 16 bit, few photons; a photograph as a phone makes it, with noise in linear
light, demosaiced and saved as JPEG; and a picture that was saved as JPEG at low quality.
"""

import io
import sys

import numpy as np
from PIL import Image, ImageDraw
from skimage import data

import cosparse


def as_jpeg(picture, quality):
    """The file, opened."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality)
    return Image.open(file)


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
    from scipy.ndimage import uniform_filter

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


rows = {"fluorescence, 16 bit": cells(), "a phone's photograph": phone(), "JPEG, quality 12": low_quality()}
sheet = Image.new("RGB", (2 * 256 + 30, len(rows) * 286 + 10), "white")
pen = ImageDraw.Draw(sheet)
for number, (name, (clean, before, after, white)) in enumerate(rows.items()):
    gained = [cosparse.psnr(clean, picture, data_range=white) for picture in (before, after)]
    print(f"{name}: {gained[0]:.2f} dB -> {gained[1]:.2f} dB")
    for column, (picture, db) in enumerate(zip((before, after), gained, strict=True)):
        place = (10 + column * 266, 10 + number * 286)
        shown = np.clip(picture / white * 255, 0, 255).astype(np.uint8)
        sheet.paste(Image.fromarray(shown).convert("RGB"), place)
        pen.text((place[0], place[1] + 260), f"{name}, {db:.1f} dB" if column == 0 else f"{db:.1f} dB", fill="black")
if len(sys.argv) > 1:
    sheet.save(sys.argv[1], quality=92)

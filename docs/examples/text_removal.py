"""
Text over a picture
===================

Lettering, a date stamp or a logo of a colour of its own is its own mask: the pixels of that colour are missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import binary_dilation
from skimage import data, restoration

import cosparse

clean = data.chelsea()[40:220, 100:340]

# %%
# Red letters, as a careless export leaves them.
picture = Image.fromarray(clean)
pen = ImageDraw.Draw(picture)
font = ImageFont.load_default(17)
for line in range(6):
    pen.text((8, 8 + 29 * line), "PROOF  do not copy  No. 4711", fill=(255, 0, 0), font=font)
marked = np.asarray(picture)

# %%
# What is missing is all that is redder than a cat can be, and a pixel about it, where antialiasing has mixed letters
# and picture. Of letters in one flat colour the command line makes the mask itself:
# ``cosparse inpaint marked.png clean.png --mask '#ff0000'``.
colours = marked.astype(int)
letters = colours[..., 0] - colours[..., 1:].max(axis=-1) > 80
mask = binary_dilation(letters, np.ones((3, 3)))
repaired = cosparse.inpaint(marked, mask, channel_axis=-1)

# %%
# scikit-image fills holes by the biharmonic equation: smooth, so whiskers end at the letters.
smooth = restoration.inpaint_biharmonic(marked, mask, channel_axis=-1)
smooth = (255 * smooth).round().astype(np.uint8)

print(f"{mask.mean():.0%} of the pixels missing")
for name, found in {"marked": marked, "biharmonic": smooth, "cosparse": repaired}.items():
    print(f"{name}: {cosparse.psnr(clean, found):.2f} dB")

# %%
figure, axes = plt.subplots(2, 3, figsize=(10, 5.6), layout="constrained")
for column, (name, found) in enumerate({"marked": marked, "biharmonic": smooth, "cosparse": repaired}.items()):
    axes[0, column].imshow(found)
    axes[0, column].set_title(name)
    axes[1, column].imshow(found[60:140, 60:180], interpolation="nearest")
    for axis in axes[:, column]:
        axis.axis("off")
plt.show()

"""
Taking something out of a picture
=================================

What is painted over is a wide hole: nothing about it says what was behind. It is filled from elsewhere in the picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import cosparse

picture = data.gravel()[100:480, 100:480]

# %%
# A label lies on the gravel; the mask is where it is, and a pixel or two about it.
marked = picture.copy()
marked[70:120, 60:130] = 235
mask = np.zeros(picture.shape, bool)
mask[68:122, 58:132] = True

# %%
# Without copying, the prior sees patches of 8x8 pixels and leaves the middle of the hole flat.
smooth = cosparse.inpaint(marked, mask, fill="smooth")

# %%
# By itself `inpaint` copies where the mask is wide. Another seed gives another filling.
places = []
repaired = cosparse.inpaint(marked, mask, callback=lambda progress: places.append(progress.filling))
another = cosparse.inpaint(marked, mask, seed=1)

for name, found in {"before": picture, "smooth": smooth, "copied": repaired, "another": another}.items():
    print(f"{name}: standard deviation {found[mask].std():.1f}")
origins = places[-1].origins[mask]
print(f"copied from rows {origins[:, 0].min()} to {origins[:, 0].max()}")

# %%
figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for axis, (name, found) in zip(
    axes, {"marked": marked, "smooth": smooth, "copied": repaired, "seed 1": another}.items(), strict=True
):
    axis.imshow(found, cmap="gray", vmin=0, vmax=255)
    axis.set_title(name)
    axis.axis("off")
plt.show()

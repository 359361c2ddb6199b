"""
A measurement of your own
=========================

Whatever a device does to a picture, if it is linear, it is a function and its adjoint, and
:func:`cosparse.reconstruct` undoes it. Here it is a photograph through a window pane: the scene, and over it, weaker
and shifted, its own reflection from the second face of the glass.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import LinearOperator
from skimage.data import chelsea

import cosparse
from cosparse.testing import dot_test

clean = chelsea()[30:222, 120:312].mean(axis=-1) / 255.0
shift, strength = (9, 14), 0.6

# %%
# Forwards, each pixel adds to another; the adjoint goes the same way back. What leaves the picture is lost.


def through_glass(image):
    scene = image.reshape(clean.shape)
    seen = scene.copy()
    seen[shift[0] :, shift[1] :] += strength * scene[: -shift[0], : -shift[1]]
    return seen.ravel()


def back(data):
    seen = data.reshape(clean.shape)
    scene = seen.copy()
    scene[: -shift[0], : -shift[1]] += strength * seen[shift[0] :, shift[1] :]
    return scene.ravel()


A = LinearOperator((clean.size, clean.size), matvec=through_glass, rmatvec=back, dtype=float)

# %%
# An adjoint that is not one is the usual mistake. `dot_test` finds it; `reconstruct` tests for it too, and says so.
dot_test(A)
try:
    dot_test(LinearOperator(A.shape, matvec=through_glass, rmatvec=through_glass, dtype=float))
except AssertionError as problem:
    print(problem)

# %%
# With noise of 0.02, and a third of the sensor's pixels dead for good measure: operators compose as matrices do.
rng = np.random.default_rng(0)
alive = np.flatnonzero(rng.random(clean.size) > 1 / 3)


def scatter(values):
    image = np.zeros(clean.size)
    image[alive] = values
    return image


B = LinearOperator((alive.size, clean.size), matvec=lambda image: image[alive], rmatvec=scatter, dtype=float) @ A
sigma = 0.02
y = B.matvec(clean.ravel()) + sigma * rng.standard_normal(alive.size)
result = cosparse.reconstruct(y, B, clean.shape, sigma=sigma)

seen = scatter(y).reshape(clean.shape)
print(f"as seen: {cosparse.psnr(clean, seen):.2f} dB")
print(f"reconstructed: {cosparse.psnr(clean, result.image):.2f} dB, after {result.iterations} iterations")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
panels = {"as seen": seen, "reconstructed": result.image, "truth": clean}
for axis, (name, found) in zip(axes, panels.items(), strict=True):
    axis.imshow(found, cmap="gray", vmin=0, vmax=1)
    axis.set_title(name)
    axis.axis("off")
plt.show()

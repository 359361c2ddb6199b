"""
Tomography by PyProximal, with total variation and with our prior
=================================================================

PyProximal minimises sums of functions that it knows by their proximal maps. `AnalysisProximal` is the prior as one of
these: it takes the place of total variation in the same iteration, with the same measurement.

::

    pip install 'cosparse[pylops]' matplotlib
    python docs/examples/pyproximal_tomography.py
"""

import matplotlib.pyplot as plt
import numpy as np
import pylops
import pyproximal
from pyproximal.optimization.primal import ProximalGradient
from scipy import sparse
from skimage.data import camera
from skimage.transform import resize

import cosparse
from cosparse.interop.pyproximal import AnalysisProximal

# %%
# Parallel rays at 20 angles as a sparse matrix: each pixel is shared out among the two bins that it falls between.

side, angles = 64, np.linspace(0, np.pi, 20, endpoint=False)
truth = resize(camera()[20:212, 150:342] / 255, (side, side), anti_aliasing=True)
row, column = np.indices((side, side)).reshape(2, -1) - (side - 1) / 2
bins, pixels, shares = [], [], []
for number, angle in enumerate(angles):
    place = column * np.cos(angle) + row * np.sin(angle) + side
    for near in (0, 1):
        bins.append(number * 2 * side + np.floor(place).astype(int) + near)
        pixels.append(np.arange(side**2))
        shares.append(np.abs(1 - near - (place - np.floor(place))))
where = np.concatenate(bins), np.concatenate(pixels)
matrix = sparse.csr_array((np.concatenate(shares), where), shape=(len(angles) * 2 * side, side**2))

A = pylops.MatrixMult(matrix)
sigma = 0.01 * np.sqrt(np.mean((A @ truth.ravel()) ** 2))
y = A @ truth.ravel() + sigma * np.random.default_rng(0).standard_normal(A.shape[0])

# %%
# Proximal gradient: a step along the misfit's gradient, then the proximal map of the prior. Of both, the weight is the
# one of three that comes nearest to the truth. (Of slices that are constant in parts, as the Shepp-Logan phantom, total
# variation is the better model: 35.0 dB there, where ours gives 33.3.)

misfit = pyproximal.L2(A, y)
step = 0.95 / np.abs(sparse.linalg.svds(matrix, k=1, return_singular_vectors=False)[0]) ** 2
start = np.zeros(side**2)


def decibels(image):
    return cosparse.psnr(truth, np.reshape(image, truth.shape))


def descend(prior, count):
    return ProximalGradient(misfit, prior, start, tau=step, niter=count, acceleration="fista")


variations = [pyproximal.TV((side, side), sigma=weight, niter=50) for weight in (0.1, 0.3, 1.0)]
priors = [AnalysisProximal((side, side), 0.05, weight=weight, iterations=10) for weight in (10.0, 20.0, 40.0)]
by_variation = max((descend(one, 150) for one in variations), key=decibels)
by_atoms = max((descend(one, 80) for one in priors), key=decibels)

found = {"total variation": by_variation, "cosparse's prior": by_atoms}
for name, image in found.items():
    print(f"{name}: {decibels(image):.2f} dB")

# %%
# `cosparse.reconstruct` has its weight from the noise alone, without a look at the truth.

result = cosparse.reconstruct(y, A, truth.shape, sigma=sigma)
found["cosparse.reconstruct"] = result.image
print(f"cosparse.reconstruct: {decibels(result.image):.2f} dB")

# %%
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4))
for axis, (name, image) in zip(axes, {"truth": truth, **found}.items(), strict=True):
    axis.imshow(np.reshape(image, truth.shape), cmap="gray", vmin=0, vmax=1)
    axis.set_title(name if name == "truth" else f"{name}\n{decibels(image):.2f} dB", fontsize=9)
    axis.axis("off")
figure.tight_layout()
plt.show()

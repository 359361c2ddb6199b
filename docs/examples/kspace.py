"""
MRI from 25 % of k-space
========================

A magnetic resonance scanner measures Fourier coefficients, a line or a point at a time, and time is what a patient
lacks. Three quarters of the coefficients are left out here: zeros in their place give a picture full of ghosts; the
picture that fits those measured and whose patches are sparse has few.

This is one coil and a real picture. scikit-image brings no scan of a head, so a photograph and the Shepp-Logan
phantom stand for one: total variation, whose pictures are flat patches, is made for the second.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import camera, shepp_logan_phantom
from skimage.transform import resize

import cosparse
from cosparse.reconstruction.measurement import fourier_sampling, variable_density_mask

side = 160
pictures = {
    "photograph": camera()[60 : 60 + side, 140 : 140 + side] / 255.0,
    "phantom": resize(shepp_logan_phantom(), (side, side), anti_aliasing=True),
}

# %%
# Low frequencies hold most of a picture, so they are measured more densely. The operator is unitary on what it keeps:
# its adjoint fills the rest with zeros.
mask = variable_density_mask((side, side), 0.25, rng=0)
A = fourier_sampling(mask)
sigma = 0.005
rng = np.random.default_rng(0)

# %%
# Total variation is the same equation with finite differences for the operator.
differences = cosparse.AnalysisOperator.finite_differences()
rows = {}
for name, clean in pictures.items():
    y = A.matvec(clean.ravel())
    y = y + sigma * (rng.standard_normal(y.shape) + 1j * rng.standard_normal(y.shape))
    rows[name] = {
        "truth": clean,
        "zeros": A.rmatvec(y).real.reshape(clean.shape),
        "total variation": cosparse.reconstruct(y, A, clean.shape, sigma=sigma, operator=differences).image,
        "cosparse": cosparse.reconstruct(y, A, clean.shape, sigma=sigma).image,
    }

# %%
figure, axes = plt.subplots(2, 5, figsize=(12, 5.2), layout="constrained")
for line, (kind, row) in zip(axes, rows.items(), strict=True):
    line[0].imshow(np.fft.fftshift(mask), cmap="gray")
    line[0].set_title("measured, white", fontsize=10)
    for axis, (name, found) in zip(line[1:], row.items(), strict=True):
        decibels = cosparse.psnr(row["truth"], found)
        if name != "truth":
            print(f"{kind}, {name}: {decibels:.2f} dB")
        axis.imshow(found, cmap="gray", vmin=0, vmax=1)
        axis.set_title(name if name == "truth" else f"{name}, {decibels:.1f} dB", fontsize=10)
    for axis in line:
        axis.axis("off")
plt.show()

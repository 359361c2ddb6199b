"""
Magnetic resonance imaging with several coils, from a quarter of k-space
========================================================================

Every coil sees the slice through a sensitivity of its own, and of the Fourier coefficients of each only a quarter are
measured, with noise. The image is complex: its phase varies over the slice. `dtype=complex` says so.

::

    python docs/examples/mri.py
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from skimage.data import shepp_logan_phantom
from skimage.transform import resize

import cosparse
from cosparse.reconstruction.measurement import variable_density_mask

# %%
# A slice with a smooth phase, six coils around it, and which coefficients are measured.

side, coils = 128, 6
down, across = np.indices((side, side)) / (side / 2) - 1
phase = 1.5 * np.sin(1.5 * down + across) + 1.2 * across**2
truth = resize(shepp_logan_phantom(), (side, side), anti_aliasing=True) * np.exp(1j * phase)

angle = 2 * np.pi * np.arange(coils)[:, None, None] / coils
distance = (down - 1.2 * np.sin(angle)) ** 2 + (across - 1.2 * np.cos(angle)) ** 2
sensitivity = np.exp(-distance / 1.5 + 1j * angle)
sensitivity /= np.sqrt((np.abs(sensitivity) ** 2).sum(axis=0))
mask = variable_density_mask((side, side), 0.25)

# %%
# The measurement and its adjoint, on flattened complex images. `cosparse.testing.dot_test(A, dtype=complex)` says
# whether they belong together; `reconstruct` looks as well.


def forward(image):
    return np.fft.fft2(sensitivity * image.reshape(side, side), norm="ortho")[:, mask].ravel()


def adjoint(data):
    full = np.zeros(sensitivity.shape, complex)
    full[:, mask] = data.reshape(coils, -1)
    return (sensitivity.conj() * np.fft.ifft2(full, norm="ortho")).sum(axis=0).ravel()


A = LinearOperator((coils * mask.sum(), side**2), matvec=forward, rmatvec=adjoint, dtype=complex)
sigma, rng = 0.02, np.random.default_rng(0)
y = forward(truth) + sigma * (rng.standard_normal(A.shape[0]) + 1j * rng.standard_normal(A.shape[0]))

# %%
# Without a prior: zeros where nothing was measured, and least squares with a little of Tikhonov's term (SENSE by
# conjugate gradient).

images = {"zero-filled": adjoint(y)}
normal = LinearOperator((side**2,) * 2, matvec=lambda x: adjoint(forward(x)) + 0.1 * x, dtype=complex)
images["CG-SENSE"] = cg(normal, adjoint(y), maxiter=30)[0]

# %%
# SigPy's sparse wavelets and total variation, where it is installed; of three weights each the one nearest the truth,
# which in practice nobody knows.


def error(image):
    return np.mean(np.abs(image.reshape(side, side) - truth) ** 2)


try:
    from sigpy.mri.app import L1WaveletRecon, TotalVariationRecon
except ImportError:
    pass
else:
    kspace = np.zeros(sensitivity.shape, complex)
    kspace[:, mask] = y.reshape(coils, -1)
    # SigPy has the zero frequency in the middle, and the first pixel as well.
    centred, maps = (np.fft.fftshift(one, axes=(1, 2)) for one in (kspace, sensitivity))
    for name, app in {"SigPy, wavelets": L1WaveletRecon, "SigPy, TV": TotalVariationRecon}.items():
        found = [app(centred, maps, weight, show_pbar=False).run() for weight in (0.003, 0.01, 0.03)]
        images[name] = min((np.fft.ifftshift(one) for one in found), key=error)

# %%
# Ours. The noise level is all it is told.

result = cosparse.reconstruct(y, A, truth.shape, sigma=sigma, dtype=complex)
images["cosparse"] = result.image

for name, image in images.items():
    print(f"{name}: {-10 * np.log10(error(image)):.2f} dB")

# %%
figure, axes = plt.subplots(2, len(images) + 1, figsize=(2.6 * len(images) + 2.6, 5.6))
for (above, below), (name, image) in zip(axes.T, {"truth": truth, **images}.items(), strict=True):
    image = image.reshape(side, side)
    above.imshow(np.abs(image), cmap="gray", vmin=0, vmax=1)
    above.set_title(name if name == "truth" else f"{name}\n{-10 * np.log10(error(image)):.2f} dB", fontsize=9)
    below.imshow(np.abs(image - truth), cmap="inferno", vmin=0, vmax=0.15)
    above.axis("off")
    below.axis("off")
figure.tight_layout()
plt.show()

"""
A slice from few X-ray projections
==================================

With scikit-image's own radon and iradon as the measurement and its adjoint. Without a filter, iradon is the adjoint
of radon times π / (2·angles), but for how each interpolates: their inner products differ by about half a percent,
which `adjoint_tolerance` allows.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import LinearOperator
from skimage.data import shepp_logan_phantom
from skimage.transform import iradon, radon, resize

import cosparse

side, angles = 64, np.linspace(0, 180, 20, endpoint=False)
phantom = resize(shepp_logan_phantom(), (side, side), anti_aliasing=True)


def project(image):
    return radon(image.reshape(side, side), angles, circle=False).ravel()


def backproject(sinogram):
    sinogram = sinogram.reshape(-1, len(angles))
    image = iradon(sinogram, angles, filter_name=None, circle=False, output_size=side)
    return image.ravel() * 2 * len(angles) / np.pi


# %%
# Twenty angles, and noise of one percent.
clean = project(phantom)
A = LinearOperator((clean.size, phantom.size), matvec=project, rmatvec=backproject, dtype=float)
sigma = 0.01 * np.sqrt(np.mean(clean**2))
y = clean + sigma * np.random.default_rng(0).standard_normal(clean.size)

filtered = iradon(y.reshape(-1, len(angles)), angles, circle=False, output_size=side)
result = cosparse.reconstruct(y, A, phantom.shape, sigma=sigma, adjoint_tolerance=0.02)

print(f"filtered back-projection {cosparse.psnr(phantom, filtered):.1f} dB")
print(f"cosparse {cosparse.psnr(phantom, result.image):.1f} dB, residual {result.residual:.3f}, {result.stop.value}")

# %%
figure, axes = plt.subplots(1, 4, figsize=(11, 3.3), layout="constrained")
panels = {"sinogram": y.reshape(-1, len(angles)), "filtered": filtered, "cosparse": result.image, "phantom": phantom}
for axis, (name, picture) in zip(axes, panels.items(), strict=True):
    axis.imshow(picture, cmap="gray", aspect="auto" if name == "sinogram" else "equal")
    axis.set_title(name)
    axis.axis("off")
plt.show()

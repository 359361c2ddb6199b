"""
The equation from its parts
===========================

Eq. (49) of the paper, argmin over s of ½‖A s - y‖² + b(s) + λ·g(s), for who builds a method of their own:
:doc:`../building-blocks` says what each part is.
"""

import matplotlib.pyplot as plt
from skimage.data import camera

import cosparse
from cosparse.reconstruction.measurement import fourier_sampling, radial_mask

s = camera()[100:228, 150:278].astype("float32")
A = fourier_sampling(radial_mask(s.shape, 0.3))
y = A.matvec(s.ravel())
start = A.rmatvec(y).real.reshape(s.shape)
g = cosparse.load_operator("default")
λ = cosparse.Stage(weight=0.03, penalty=g.penalty, iterations=100, sigma=25)
found = cosparse.solve(cosparse.Problem(g, cosparse.Plan((λ,), stride=2), start, y, A, bounds=(0, 255)))
print(*(f"{cosparse.psnr(s, image, data_range=255):.2f} dB" for image in (start, found.image)))

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
for axis, (name, image) in zip(axes, {"Aᴴy": start, "found": found.image, "s": s}.items(), strict=True):
    axis.imshow(image, cmap="gray", vmin=0, vmax=255)
    axis.set_title(name)
    axis.axis("off")
plt.show()

"""Eq. (49) of the paper, built from its parts: argmin over s of ½‖A s - y‖² + b(s) + λ·g(s)."""

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

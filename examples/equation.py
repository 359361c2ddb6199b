"""Eq. (49) of the paper, built from its parts: argmin over s of ½‖A s - y‖² + b(s) + λ·g(s)."""

import numpy as np
from skimage.data import camera

import cosparse
from cosparse.reconstruction import measurement

s = camera()[100:228, 150:278].astype(np.float32)
A = measurement.fourier_sampling(measurement.radial_mask(s.shape, 0.3))
y = A.matvec(s.ravel())
g, λ = cosparse.load_operator("default"), 0.03
stage = cosparse.Stage(weight=λ, penalty=g.penalty, iterations=100, sigma=25)
start = A.rmatvec(y).real.reshape(s.shape)
found = cosparse.solve(cosparse.Problem(g, cosparse.Plan((stage,), stride=2), start, y, A, bounds=(0, 255)))
print(*(f"{cosparse.psnr(s, image, data_range=255):.2f} dB" for image in (start, found.image)))

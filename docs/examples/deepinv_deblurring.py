"""
Our prior and denoiser inside deepinv
=====================================

A physics of deepinv, a blur with noise, and three ways to undo it: its total variation, our denoiser in its
plug-and-play, and :func:`cosparse.reconstruct`, which takes the physics as it is.

::

    pip install 'cosparse[deepinv]'
    python docs/examples/deepinv_deblurring.py
"""

import deepinv
import matplotlib.pyplot as plt
import numpy as np
import torch
from skimage.data import camera

import cosparse
from cosparse.interop.deepinv import AnalysisDenoiser, AnalysisPrior

# %%
# Images are tensors (batch, channels, height, width) on 0..1, as everywhere in deepinv.
image = torch.tensor(camera()[100:196, 180:276] / 255, dtype=torch.float32)[None, None]
sigma = 0.02
noise = deepinv.physics.GaussianNoise(sigma=sigma, rng=torch.Generator().manual_seed(0))
kernel = deepinv.physics.functional.blur.gaussian_blur(sigma=(1.6, 1.6))
physics = deepinv.physics.Blur(kernel, padding="circular", noise_model=noise)
y = physics(image)

# %%
# Total variation, lambda chosen on another picture.
tv = deepinv.optim.FISTA(
    data_fidelity=deepinv.optim.L2(),
    prior=deepinv.optim.TVPrior(n_it_max=20),
    lambda_reg=0.003,
    stepsize=1.0,
    max_iter=60,
)

# %%
# The trained steps as the denoiser of half-quadratic splitting: six levels of noise, from strong to that of the data,
# as in deepinv's DPIR.
levels = np.geomspace(49 / 255, sigma, 6)
steps = 4 * (levels / sigma) ** 2
plug_and_play = deepinv.optim.HQS(
    data_fidelity=deepinv.optim.L2(), prior=deepinv.optim.PnP(AnalysisDenoiser()), max_iter=6,
    params_algo={"stepsize": list(steps), "g_param": list(levels), "lambda": list(1 / steps)},
)  # fmt: skip

# %%
# The prior of the energy that `reconstruct` minimises can be asked for its value and gradient, and goes into any
# algorithm that takes an explicit one.
prior = AnalysisPrior(sigma=25 / 255)
with torch.no_grad():
    results = {
        "measured": y,
        "total variation": tv(y, physics),
        "plug-and-play": plug_and_play(y, physics),
        "reconstruct": cosparse.reconstruct(y, physics).image,
    }
    for name, result in results.items():
        decibels = cosparse.psnr(image.numpy(), result.numpy().clip(0, 1))
        print(f"{name}: {decibels:.2f} dB, prior {prior(result).item():.2f}")

# %%
fig, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, (name, result) in zip(axes, results.items(), strict=True):
    axis.imshow(result[0, 0], cmap="gray", vmin=0, vmax=1)
    decibels = cosparse.psnr(image.numpy(), result.numpy().clip(0, 1))
    axis.set(title=f"{name}, {decibels:.1f} dB", xticks=[], yticks=[])
plt.show()

"""
Acoustic impedance from seismic traces, with PyLops
===================================================

A seismic trace is the derivative of the logarithm of the impedance of the ground, blurred by the wavelet of the source
(post-stack modelling). PyLops has this measurement as an operator; `cosparse.reconstruct` takes it as it is, stacked by
PyLops with a second one: a rough section, such as velocities give, which knows the low frequencies that no trace has.

::

    pip install 'cosparse[pylops]' matplotlib
    python docs/examples/pylops_seismic.py
"""

import matplotlib.pyplot as plt
import numpy as np
import pylops
from pylops.avo.poststack import PoststackInversion, PoststackLinearModelling
from pylops.utils.wavelets import ricker

import cosparse

# %%
# A section of folded layers with a fault through them: the logarithm of its impedance over a usual one, time downwards.

times, traces = 128, 112
time, trace = np.indices((times, traces))
depth = time + 6 * np.sin(trace / 18) + np.where(trace + time / 4 > 75, 14, 0)
layers = np.random.default_rng(3).uniform(-0.5, 0.5, 40)[np.floor(depth / 5.5).astype(int) + 3]
model = layers + (depth - 64) / 400

# %%
# Measurements: noisy traces, and the section smoothed over 41 samples. Noise is told of each value.

wavelet = ricker(np.arange(21) * 0.004, 22)[0]
traced = PoststackLinearModelling(wavelet, nt0=times, spatdims=traces)
rough = pylops.Smoothing2D((41, 41), dims=(times, traces))
A = pylops.VStack([traced, rough])
pylops.utils.dottest(A, raiseerror=True)

rng = np.random.default_rng(0)
sigmas = np.repeat([0.02, 0.01], times * traces)
y = A @ model.ravel() + sigmas * rng.standard_normal(A.shape[0])
measured, background = y.reshape(2, times, traces)

# %%
# PyLops' own inversion starts from the rough section, and keeps the result smooth by its second derivatives; the
# weight of these is the one of five that comes nearest to the truth.

span = float(np.ptp(model))


def decibels(image):
    return cosparse.psnr(model, np.reshape(image, model.shape), data_range=span)


smooth = [
    PoststackInversion(measured, wavelet, m0=background, explicit=False, epsR=weight, iter_lim=60)[0]
    for weight in (0.03, 0.1, 0.3, 1.0)
]
theirs = max(smooth, key=decibels)

# %%
# With the prior of photographs: layers end at sharp edges, in the ground as in pictures. It knows nothing of units, so
# it is told the range of the values; the constant that the section lies at does not matter.

result = cosparse.reconstruct(y, A, model.shape, sigma=sigmas, data_range=span)

found = {"the rough section": background, "PyLops, smooth": theirs, "cosparse": result.image}
for name, image in found.items():
    print(f"{name}: {decibels(image):.2f} dB")

# %%
figure, axes = plt.subplots(1, 5, figsize=(15, 3.6))
axes[0].imshow(measured, cmap="gray", aspect="auto")
axes[0].set_title("traces", fontsize=9)
for axis, (name, image) in zip(axes[1:], {"truth": model, **found}.items(), strict=True):
    axis.imshow(np.reshape(image, model.shape), cmap="viridis", vmin=model.min(), vmax=model.max(), aspect="auto")
    axis.set_title(name if name == "truth" else f"{name}, {decibels(image):.1f} dB", fontsize=9)
for axis in axes:
    axis.axis("off")
figure.tight_layout()
plt.show()

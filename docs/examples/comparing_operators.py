"""
Comparing operators
===================

The engine takes any matrix for an operator. The shipped ones, the cosines and the finite differences that a learned
one could have been, side by side on the same picture: their atoms, their numbers, and what they reach.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import chelsea

import cosparse

clean = chelsea()[20:212, 110:302, 1].astype(float)
sigma = 25.0
noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)

operators = {
    "finite differences": cosparse.AnalysisOperator.finite_differences(),
    "cosines": cosparse.AnalysisOperator.dct(8),
    "goal": cosparse.load_operator("goal"),
    "goal-large": cosparse.load_operator("goal-large"),
    "default": cosparse.load_operator("default"),
    "staged": cosparse.load_operator("staged"),
}

# %%
# `condition` is the quotient of the largest and the smallest singular value (on patches without their mean),
# `coherence` the largest cosine between two atoms. A good operator has a condition near one and a moderate coherence;
# neither says how good it is. `grouping=False` leaves out the second pass, which would help all of them.
cosparse.denoise(noisy, sigma, data_range=255)  # so that no operator's time has the compiler's in it
figures = {}
for name, operator in operators.items():
    begun = time.process_time()
    result = cosparse.denoise(noisy, sigma, operator=operator, grouping=False, data_range=255)
    seconds = time.process_time() - begun
    figures[name] = cosparse.psnr(clean, result, data_range=255), seconds
    numbers = f"condition {operator.condition:.2f}, coherence {operator.coherence:.2f}"
    result = f"{figures[name][0]:.2f} dB, {seconds:.1f} processor seconds"
    print(f"{name}: {len(operator.matrix)} atoms, {numbers}, {result}")
grouped = cosparse.psnr(clean, cosparse.denoise(noisy, sigma, data_range=255), data_range=255)
print(f"staged with the second pass: {grouped:.2f} dB")

# %%
figure, axes = plt.subplots(2, 3, figsize=(10, 4.9), layout="constrained", facecolor="0.92")
for axis, (name, operator) in zip(axes.ravel(), operators.items(), strict=True):
    axis.imshow(operator.atoms_image(), cmap="gray")
    axis.set_title(f"{name}\n{figures[name][0]:.2f} dB, {figures[name][1]:.1f} s", fontsize=10)
    axis.axis("off")
plt.show()

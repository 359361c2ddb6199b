"""
Training the steps of an operator in PyTorch
============================================

The shipped operator denoises in a few trained steps. As a module of PyTorch every number of them can be trained on:
here for scans of printed text, on the left half of one page, and tried on its right half. What comes out is saved as an
operator file, which every task, the command line and the web page take.

::

    pip install 'cosparse[torch]' matplotlib
    python docs/examples/torch_training.py
"""

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
import torch
from skimage.data import page

import cosparse
from cosparse.interop.torch import StagedDenoiser

# %%
# The page has 384 columns: the left ones are learned from, the right ones are looked at in the end.
sigma = 0.2
scan = torch.tensor(page() / 255, dtype=torch.float32)
learned_from, clean = scan[:, :192], scan[:, 192:].numpy()
noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)

# %%
# Training, as of any module: crops, noise, the mean squared error, Adam.
operator = cosparse.load_operator("staged")
model = StagedDenoiser(operator, quality="fast")
rates = torch.optim.Adam(model.parameters(), lr=2e-3)
rng = torch.Generator().manual_seed(0)
losses = []
for _ in range(40):
    corners = torch.randint(0, 192 - 48, (4, 2), generator=rng).clamp(max=learned_from.shape[0] - 48)
    crops = torch.stack([learned_from[i : i + 48, j : j + 48] for i, j in corners.tolist()])[:, None]
    result = model(crops + sigma * torch.randn(crops.shape, generator=rng), sigma)
    loss = (result - crops).square().mean()
    rates.zero_grad()
    loss.backward()
    rates.step()
    losses.append(loss.item())

# %%
# An operator file with the new steps. From here on no torch is needed.
path = Path(mkdtemp()) / "text.safetensors"
replace(operator, steps={"denoise": model.luma.trained()}).save(path)
before = cosparse.denoise(noisy, sigma, quality="fast", grouping=False)
after = cosparse.denoise(noisy, sigma, quality="fast", grouping=False, operator=str(path))
for name, image in (("noisy", noisy), ("as shipped", before), ("trained on text", after)):
    print(f"{name}: {cosparse.psnr(clean, image):.2f} dB")

# %%
fig, axes = plt.subplots(1, 4, figsize=(12, 4), layout="constrained")
for axis, (name, image) in zip(
    axes, (("noisy", noisy), ("as shipped", before), ("trained on text", after), ("clean", clean)), strict=True
):
    axis.imshow(image[:96, :96], cmap="gray", vmin=0, vmax=1)
    axis.set(title=f"{name}, {cosparse.psnr(clean, image):.1f} dB" if name != "clean" else name, xticks=[], yticks=[])
plt.show()

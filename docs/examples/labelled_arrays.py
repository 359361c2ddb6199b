"""
Labelled and lazy arrays
========================

A stack of noisy images of the sky with times and coordinates, as an ``xarray.DataArray``: denoised it has them still,
enlarged it has those of the finer pixels. In chunks, as a Dask array, nothing is computed before it is asked for.

::

    pip install 'cosparse[xarray,cluster]' matplotlib
    python docs/examples/labelled_arrays.py
"""

import matplotlib.pyplot as plt
import numpy as np
import xarray
from skimage import data

import cosparse

# %%
# Two exposures of one field, three bands each. The dimensions have names, and rows and columns have positions.

clean = np.moveaxis(data.hubble_deep_field()[300:428, 400:560] / 255.0, -1, 0).astype(np.float32)
rng = np.random.default_rng(0)
exposures = xarray.DataArray(
    np.stack([clean + 0.06 * rng.standard_normal(clean.shape) for _ in range(2)]).astype(np.float32),
    dims=("time", "band", "y", "x"),
    coords={
        "time": np.array(["1995-12-18", "1995-12-19"], "datetime64[ns]"),
        "band": ["red", "green", "blue"],
        "y": ("y", 0.04 * np.arange(128), {"units": "arcsec"}),
        "x": ("x", 0.04 * np.arange(160), {"units": "arcsec"}),
    },
    attrs={"origin": "Hubble deep field"},
    name="flux",
)

# %%
# The channels are said by their name; of the other dimensions the last two are rows and columns, and all others count
# pages, each with a noise level of its own.

denoised = cosparse.denoise(exposures, channel_axis="band", quality="fast")
assert denoised.coords.equals(exposures.coords) and denoised.attrs == exposures.attrs
before, after = (cosparse.psnr(clean, one.isel(time=0).values, data_range=1) for one in (exposures, denoised))
print(f"denoised: {before:.2f} dB -> {after:.2f} dB")

# %%
# Pixels of half the size have coordinates of their own.

large = cosparse.upscale(denoised.isel(time=0), 2, channel_axis="band", quality="fast")
print(f"x: {exposures.x.values[:3]} -> {large.x.values[:3]}")

# %%
# In chunks the same call is a plan, carried out tile by tile by whatever scheduler Dask is told to use; and only for
# what is asked for.

lazy = cosparse.denoise(exposures.chunk({"time": 1, "y": 64, "x": 80}), channel_axis="band", quality="fast")
print(f"lazy: {type(lazy.data).__name__} in {lazy.data.npartitions} tiles")
first = lazy.isel(time=0).compute(scheduler="threads")
print(f"largest difference to the whole: {float(abs(first - denoised.isel(time=0)).max()):.1e}")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4))
for axis, (title, picture) in zip(
    axes, {"noisy": exposures, "denoised": denoised, "by tiles": lazy}.items(), strict=True
):
    picture.isel(time=0).clip(0, 1).plot.imshow(ax=axis, rgb="band")
    axis.set_title(title)
figure.tight_layout()
plt.show()

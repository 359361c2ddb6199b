"""
A picture by tiles, on a cluster
================================

A picture larger than memory is repaired tile by tile by the workers of a Dask cluster, with the result that the whole
would have had. Here the cluster is two processes on this machine and the picture small, so that both can be compared;
with an address, ``cluster.connect("tcp://10.0.0.5:8786")``, nothing else changes.
:doc:`../cluster` has the rest.

::

    pip install 'cosparse[cluster]' matplotlib
    python docs/examples/cluster.py
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import zarr
from skimage.data import camera

import cosparse
from cosparse import cluster


def main():
    clean = camera()[:256, 80:464]
    noisy = clean + 20 * np.random.default_rng(0).standard_normal(clean.shape)
    noisy = noisy.clip(0, 255).round().astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder, cluster.connect(workers=2) as client:
        source, target = Path(folder) / "scan.zarr", Path(folder) / "clean.zarr"
        array = zarr.create_array(source, shape=noisy.shape, chunks=(128, 128), dtype=noisy.dtype)
        array[:] = noisy
        report = cluster.repair_picture("denoise", source, target, sigma=20, tile=128, client=client)
        tiled = zarr.open_array(target, mode="r")[:]
    whole = cosparse.denoise(noisy, 20)
    print(report)
    print(f"noisy {cosparse.psnr(clean, noisy):.2f} dB, by tiles {cosparse.psnr(clean, tiled):.2f} dB")
    worst = np.abs(tiled - whole.astype(float)).max()
    print(f"whole {cosparse.psnr(clean, whole):.2f} dB, largest difference {worst:.0f} of 255")
    return noisy, tiled


# %%
# Worker processes start by reading this file again, so what starts them stands under the usual guard.
if __name__ == "__main__":
    noisy, tiled = main()
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    for axis, (name, picture) in zip(axes, {"noisy": noisy, "six tiles, two workers": tiled}.items(), strict=True):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=255)
        axis.set_title(name)
        axis.axis("off")
    for place in (128, 256):
        axes[1].axvline(place - 0.5, color="C1", lw=0.5)
    axes[1].axhline(127.5, color="C1", lw=0.5)
    plt.show()

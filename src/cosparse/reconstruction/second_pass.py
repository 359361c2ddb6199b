"""The second pass: what the operator restored shows which patches are alike, and those then help each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.threads import one_blas_thread
from cosparse.noise import Correlated, Map, Noise
from cosparse.reconstruction.correlated import patch_covariances
from cosparse.reconstruction.planes import Channel, Plane
from cosparse.reconstruction.stages import Grouping

FILLING = 3.0  # grey levels by which patches of a noiseless group may differ from the Gaussian; by validation


def filter_groups(
    channels: list[Channel],
    pilots: list[Plane],
    sigma: float,
    rule: Grouping,
    report: Callable[[int, list[Plane]], bool],
    known: NDArray[np.bool_] | None = None,
    noise: Noise | None = None,
) -> list[Plane]:
    """The planes of a page, estimated again from their measurements with the first result as a pilot.

    An operator sees one patch at a time. Patterns that return (cloth, bricks, edges along their course) hold more than
    that: for every patch of the pilot similar ones are sought nearby, in luma, and the measured patches at those places
    taken for samples of one Gaussian, whose mean and covariance the pilot gives: the second step of Lebrun, Buades and
    Morel, "A Nonlocal Bayesian Image Denoising Algorithm" (SIAM J. Imaging Sciences 2013), here on GOAL's result, and
    with missing pixels as well. At sigma 0 those alone are estimated. A second turn, if the rule has one, takes the
    first one's result for its pilot; in noise only where patches are so much alike that they are surely one pattern, as
    elsewhere the pilot holds too much of the noise that it is to judge. Groups that lie a little off from those of the
    turn before find more that is new.

    `noise` is what kind it is, on 0..255, if it is not white and the same everywhere; `sigma` is its level then.

    `report` is told how many parts of it are done, see :func:`parts_of`, and the planes so far; if it returns True, the
    pilots are what is returned.
    """
    from cosparse.kernels.groups import group_filter, group_parts  # not before its use: the compiler comes with it

    noisies, result = _stacked([channel.plane for channel in channels]), _stacked(pilots)
    variances = np.array([((sigma or FILLING) * channel.gain) ** 2 for channel in channels])
    sure = np.ones(result.shape[1:], bool) if known is None else known
    kind = _kind(noise, sigma, channels, rule.size)
    done = 0
    with one_blas_thread():
        for turn in range(_passes(rule, sigma)):
            shift = rule.shifted(turn)

            def proceed(part: int, done: int = done) -> bool:
                return not report(done + part, pilots)

            if turn and not proceed(0):
                return pilots
            found = group_filter(
                result, noisies, sure.view(np.uint8), variances, sigma > 0,
                rule.size, rule.step, rule.radius, rule.count, rule.alike if turn else np.inf, shift, proceed, *kind,
            )  # fmt: skip
            if found is None:
                return pilots
            result = found if sigma > 0 else np.where(sure, result, found)
            done += len(group_parts(result.shape[1], rule.size, rule.step, shift))
        planes = list(result)
        report(done, planes)
    return planes


def parts_of(rule: Grouping, height: int, sigma: float) -> int:
    """In how many parts the second pass over a page of so many rows is done."""
    from cosparse.kernels.groups import group_parts

    turns = range(_passes(rule, sigma))
    return sum(len(group_parts(height, rule.size, rule.step, rule.shifted(turn))) for turn in turns)


def _kind(
    noise: Noise | None, sigma: float, channels: list[Channel], size: int
) -> tuple[NDArray[np.float64] | None, NDArray[np.float32] | None]:
    """The covariances of the noise in a patch, and the variance of each pixel over that of level `sigma`, if need be.

    One for all channels: opponent colours share the mean of what red, green and blue have.
    """
    shape = channels[0].plane.shape
    if isinstance(noise, Correlated):
        return patch_covariances(noise, channels, shape, (min(size, shape[0]), min(size, shape[1]))), None
    if isinstance(noise, Map) and sigma > 0:
        relative = (noise.sigma.astype(float) / sigma) ** 2
        return None, np.ascontiguousarray(relative if relative.ndim == 2 else relative.mean(axis=-1), np.float32)
    return None, None


def _passes(rule: Grouping, sigma: float) -> int:
    return rule.passes if sigma == 0 or rule.alike < np.inf else 1  # the same noise everywhere twice: believed too much


def _stacked(planes: list[Plane]) -> NDArray[np.float32]:
    """(c, h, w); a single plane is not copied."""
    return np.ascontiguousarray(planes[0])[None] if len(planes) == 1 else np.stack(planes)

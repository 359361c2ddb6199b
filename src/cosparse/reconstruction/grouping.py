"""The second pass of denoising: what the operator restored shows which patches are alike, and those help each other."""

from __future__ import annotations

import numpy as np

from cosparse.kernels.grouping import group_filter, group_parts
from cosparse.kernels.threads import one_blas_thread
from cosparse.reconstruction.planes import Channel, Plane, Report
from cosparse.reconstruction.rules import GROUPING


def filter_groups(
    channels: list[Channel], pilots: list[Plane], sigma: float, quality: str, report: Report
) -> list[Plane]:
    """The planes of a page, denoised again with the first result as a pilot.

    An operator sees one patch at a time. Patterns that return (cloth, bricks, edges along their course) hold more than
    that: for every patch of the pilot similar ones are sought nearby, in luma, and the noisy patches at those places
    filtered as samples of one Gaussian, whose mean and covariance the pilot gives (the second step of Lebrun, Buades
    and Morel, "A Nonlocal Bayesian Image Denoising Algorithm", SIAM J. Imaging Sciences 2013, here on GOAL's result).

    `report` hears of the progress; if it says stop, the pilots are what is returned.
    """
    noisies = np.stack([channel.plane for channel in channels])
    variances = np.array([(sigma * channel.gain) ** 2 for channel in channels])
    rule = GROUPING[quality]
    parts = len(group_parts(noisies.shape[1], rule.size, rule.step))
    with one_blas_thread():
        found = group_filter(
            np.stack(pilots), noisies, variances, rule.size, rule.step, rule.radius, rule.count,
            proceed=lambda done: not report(done, parts, pilots),
        )  # fmt: skip
        if found is None:
            return pilots
        planes = list(found)
        report(parts, parts, planes)
    return planes

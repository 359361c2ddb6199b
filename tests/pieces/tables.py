"""Rows and numbers by which repairs go: plans, memory, bounds, planes, intervals, corrections, colours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import cosparse
from cosparse.jpeg import Jpeg
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction import bounds, chroma, correction, intervals, memory, planes, stages
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.whitening import _even_kernel, filters, prior_curvature
from pieces import CLOSE, piece
from pieces.pictures import COLOUR, GREY, TEXTURED, noise, saved, tables

OPERATOR, GOAL, STEPS = cosparse.load_operator(), cosparse.load_operator("goal"), chosen_operator(None)
SMALL = np.ascontiguousarray(GREY[20:45, 20:43])


@piece()
def plans() -> Any:
    """Of every task, noise, quality and kind of operator."""
    tasks = [("denoise", ""), ("inpaint", ""), ("deblur", ""), ("deblock", ""), ("reconstruct", "")]
    tasks += [("upscale", kernel) for kernel in ("gaussian", "bicubic", "array")]
    return [
        stages.plan(task, sigma, quality, weight, operator, kernel)
        for task, kernel in tasks
        for sigma in (0.0, 0.05, 7.0, 33.0, 90.0)
        for quality, weight, operator in (
            ("fast", None, OPERATOR),
            ("balanced", 0.7, OPERATOR),
            ("best", None, OPERATOR),
            ("best", None, GOAL),
            ("fast", None, AnalysisOperator.dct(4)),
        )
    ]


@piece()
def what_goes_with_plans() -> Any:
    """Levels of a map, first steps, the end of a reconstruction, groups, trust."""
    local = stages.plan("denoise", 20.0, "balanced", None, OPERATOR, levels=(10.0, 20.0, 40.0))
    pnorm = stages.Stage(2.0, cosparse.Penalty.pnorm(nu=0.3, p=0.4), 5, 20.0)
    own = [one for plan in (local, stages.plan("deblur", 5.0, "fast", None, GOAL)) for one in plan.stages]
    known = np.random.default_rng(0).random((30, 26)) < np.linspace(0, 1, 26)
    refined = stages.as_refined(AnalysisOperator.dct(5))
    return [
        [stage.local for stage in local.stages],
        [stages.first_step(stage, OPERATOR) for stage in (*own, pnorm, own[0].at(2.0))],
        [stages.last_settings(sigma, quality) for sigma in (0.0, 9.0) for quality in stages.QUALITIES],
        stages.GROUPING,
        [
            rule.shifted(turn)
            for rule in (stages.Grouping(8, 3, 9, 20, shift=2), stages.GROUPING["steps"]["best"])
            for turn in (0, 1, 2, 3)
        ],
        stages.trust(known),
        stages.mass(refined),
        refined.weights,
        refined.exponents,
        refined.penalty.nu,
        [stages._growth(sigma) for sigma in (0.0, 0.05, 5.0, 30.0)],
        own[0].at(2.0).sigma,
        local.weighed(3.0),
    ]


@piece()
def memory_needed() -> Any:
    """Of every task: grey, colours, channels, pages, enlarged, of large numbers, with a map."""
    shapes: list[tuple[tuple[int, ...], int | None]] = [
        ((300, 401), None),
        ((300, 401, 3), -1),
        ((2, 300, 400, 4), -1),
        ((5, 7, 30, 40), None),
        ((3, 30, 41), 0),
    ]
    sizes = (0, 900, 99_949_999, 99_950_001, 1_000_000_000, 34_567_890_123, 234_567_890_123)
    return [
        memory.memory_needed(task, shape, axis, factor=factor, itemsize=itemsize, noisy=noisy)
        for task in memory.WORK
        for shape, axis in shapes
        for factor, itemsize, noisy in ((1, 4, False), (1.5, 1, True), (3, 8, False))
    ], [[ord(letter) for letter in memory._size(size)] for size in sizes]


@piece()
def extremes() -> Any:
    """Of pages, and whether bounds and noise explain them."""
    page, colour = GREY[:21, :30] / 255, COLOUR[:17, :16]
    known = np.random.default_rng(0).random(page.shape) < 0.98
    known[8:16, 8:24] = True
    every = [
        bounds.Extremes.of(page),
        bounds.Extremes.of(page, known),
        bounds.Extremes.of(page[:7]),
        bounds.Extremes.of(colour, known[:17, :16]),
    ]
    reach = math.sqrt(2 * math.log(1000)) + 1
    near = [
        bounds.Extremes(1000, (0.1 * (end - reach), 0.5), (0.1, 0.2)).within((0, 1), 0.1) for end in (-0.001, 0.001)
    ] + [
        bounds.Extremes(1000, (0.0, 1 + 0.1 * (reach + end)), (0.1, 0.2)).within((0, 1), 0.1) for end in (-0.001, 0.001)
    ]
    blocks = [
        bounds.Extremes(1000, (0, 1), (low, high)).within((0, 1), 0.1)
        for low, high in (
            (-0.1 * (reach - 0.01) / 8, 0.5),
            (-0.1 * (reach + 0.01) / 8, 0.5),
            (0.1, 1 + 0.1 * (reach - 0.01) / 8),
            (0.1, 1 + 0.1 * (reach + 0.01) / 8),
        )
    ]
    few = [
        bounds.Extremes(count, (low, 1.0), None).within((0, 1), 1.0)
        for count in (0, 1, 2, 3)
        for low in (-2.1, -2.2, -2.4, -2.5)
    ]
    rounding = [bounds.Extremes(9, (low, 1.0), None).within((0, 1), 0.0) for low in (-0.9e-6, -1.1e-6)]
    rounding += [bounds.Extremes(9, (low, 1.0), None).within((0, 255), 0.0) for low in (-1e-4, -3e-4)]
    means = bounds.block_means(colour, None), bounds.block_means(page, known)
    types = [bounds.known_bounds("auto", np.dtype(kind)) for kind in ("?", "u1", "i2", "f4")]
    return every, near, blocks, few, rounding, means, types


@piece()
def opened() -> Any:
    """Arrays of all kinds as pages, and back."""
    grey, colour = GREY[:9, :12], COLOUR[:9, :12]
    alpha = np.concatenate([colour, grey[..., None]], axis=-1)
    given: list[tuple[Any, float | None, int | None, bool]] = [
        (grey.astype(np.uint8), None, None, False),
        (grey / 255, None, None, False),
        (grey * 200 + 4000, 65535, None, False),
        (np.int16(grey) - 900, 300, None, False),
        (grey / 255 + 1.4, None, None, False),
        (grey / 255 + 0.4, None, None, False),
        (np.moveaxis(colour, -1, 0), 255, 0, False),
        (alpha / 255, None, -1, True),
        (np.moveaxis(alpha, -1, 1), 255, 1, True),
        (np.stack([colour, colour[::-1]])[:, None] / 255, None, -1, False),
        (alpha[..., 2:].astype(np.uint8), None, 2, True),
        (grey > 90, None, None, False),
        (np.stack([grey, grey + 9]).astype(np.uint16), None, None, False),
    ]
    found = []
    for image, span, axis, has in given:
        pages, caller = planes.open_image(image, span, axis, alpha=has)
        limits = planes.page_bounds(pages, caller, "auto", [20.0] * len(pages))
        back = planes.close_image(pages + np.float32(40), caller, limits)
        told = caller.data_range, caller.offset, caller.shape, caller.scale(3.0), caller.working_bounds((0.0, 1.0))
        found.append((pages, told, limits, back, [ord(letter) for letter in back.dtype.str]))
    pages, caller = planes.open_image(alpha / 255, None, -1, alpha=True)
    larger = planes.close_image(
        pages.repeat(2, 1).repeat(2, 2), caller, [None], lambda p: p.repeat(2, 0).repeat(2, 1) * 2
    )
    return found, larger


@piece()
def taken_apart() -> Any:
    """A page as its planes."""
    pages = [GREY[:9, :12], COLOUR[:9, :12], COLOUR[:9, :12, :2]]
    parts = [planes.take_apart(page, pair) for page in pages for pair in (None, (60.0, 150.0))]
    return [
        ([vars(one) for one in channels], join([one.plane * np.float32(1.1) for one in channels]))
        for channels, join in parts
    ]


@piece()
def far_values() -> Any:
    """What is refused as of other units, just so."""
    _, caller = planes.open_image(np.zeros((4, 4)), 1.0, None)

    def refused(values: Any, sigma: float) -> bool:
        try:
            planes.refuse_far(np.float32(values), caller, sigma)
        except ValueError:
            return True
        return False

    spread = np.linspace(0, 1, 1001)
    sizes = (2030, 2060, 2090, 2200, 3500, 3700, 4000)
    return [refused(size * spread, sigma) for size in sizes for sigma in (0.0, 10.0, 300.0)], [
        planes.offset_of(np.array(values), 1.0)
        for values in ([0.9, 1.05], [1.0, 1.2], [-3.0, np.nan], [], [1e308, 1e308])
    ]


@piece()
def jpeg_intervals() -> Any:
    """What a decoded plane says of its coefficients."""
    jpeg = Jpeg(tables(60))
    plane = saved(TEXTURED[:40, :43], 60)
    steps = jpeg.quantization[0]
    found = intervals.Intervals.of(plane, steps)
    whole = np.pad(plane, ((0, 0), (0, 5)), mode="edge") + noise((40, 48), 6)
    fine = Jpeg.standard(99).quantization[0]
    other = intervals.Intervals.of(plane, fine)
    return [
        found.centres,
        found.known,
        found.level,
        found.shape,
        found.nearest(whole),
        found.nearest(whole, 0.3),
        found.free(whole),
        found.free(whole, 0.3),
        found.fits(plane),
        found.fits(plane + noise(plane.shape, 3)),
        found.fits(plane[1:, 1:][:32, :32].repeat(2, 0)[:40, :43] if False else np.roll(plane, 3, 1)),
        [intervals.level_of(Jpeg.standard(quality).quantization[0]) for quality in (5, 50, 90, 99, 100)],
        [intervals.steps_of_level(level, steps) for level in (0.5, 4.0, 30.0)],
        other.centres,
        other.nearest(whole),
        other.fits(plane),
    ]


@piece()
def corrections() -> Any:
    """Levels of what is missing, what is near to it, and the steps from there."""
    gaps = np.random.default_rng(0).random(SMALL.shape) < 0.5
    gaps[2:22, 4:20] = True
    missing = Problem(STEPS, stages.Plan((), 2), SMALL, free=gaps)
    steps = STEPS.steps["inpaint"]
    found = [correction.corrected(missing, SMALL, steps)]
    if "upscale" in STEPS.steps:
        held = Problem(STEPS, stages.Plan((), 2), SMALL, SMALL)
        found.append(correction.corrected(held, SMALL, STEPS.steps["upscale"], 2))
    return [
        correction.missing_level(gaps),
        correction.missing_level(gaps & False),
        correction.missing_levels(gaps),
        correction.near_known(gaps),
        [correction.enlarged_level(factor) for factor in (1.5, 2, 4)],
        [(one.free, one.noise, one.plan.stride, len(one.steps), solve(one).image) for one in found],
        [correction.correct(missing, SMALL, steps, 1, quality) for quality in ("balanced", "best")],
    ]


@piece()
def colours() -> Any:
    """Opponents at half their size, beside luma, and brought up again."""
    channels, _ = planes.take_apart(COLOUR[:23, :26] + noise((23, 26, 3), 20), None)
    luma, *opponents = channels
    small = [chroma.halved(one.plane) for one in opponents]
    problem = chroma.beside_luma(STEPS, STEPS.steps["colours"], luma.plane, opponents, 20.0)
    half = [
        chroma.is_half(quality, sigma, None, together)
        for quality in stages.QUALITIES
        for sigma in (0.0, 4.9, 5.0, 9.9, 10, 14.9, 15, 20, 25, 30, 40, 60)
        for together in (False, True)
    ]
    both = [
        chroma.is_together(quality, sigma, None, half)
        for quality in stages.QUALITIES
        for sigma in (0.0, 4.9, 5.0, 9.9, 10, 15, 20, 40)
        for half in (False, True)
    ]
    return [
        small,
        chroma.brought_up(small, luma.plane, opponents, 20.0),
        chroma.brought_up([], luma.plane, [], 20.0),
        problem.start,
        problem.free,
        len(problem.steps),
        problem.steps[0].pull,
        chroma.opponents_of(problem.start),
        half,
        both,
        [chroma.taken_noise(one, 20.0) for one in channels],
        solve(problem).image,
        chroma._own_detail(opponents[0].plane, 90.0),
        chroma._mean(luma.plane, 5),
        chroma._mean(luma.plane, 3),
        chroma._up(small[0], (23, 26)),
        chroma._blocks(small[0], (23, 26)),
    ]


@piece()
def whitenings() -> Any:
    """Filters by which an energy is as stiff everywhere."""
    priors = [
        Prior(OPERATOR.at(20.0), stages.plan("denoise", 20.0, "fast", None, OPERATOR).stages[0].penalty),
        Prior(AnalysisOperator.dct(3), cosparse.Penalty.pnorm(nu=0.3, p=0.5)),
    ]
    return [
        [filters(prior, 1.5, 0.12, data) for prior in priors for data in (1.0, None)],
        [prior_curvature(prior) for prior in priors],
        _even_kernel(np.random.default_rng(0).random((65, 65))),
    ]


@piece(CLOSE)
def priors() -> Any:
    """Value, gradient, curvature and proximal map; of regions, strides, penalties."""
    operator = AnalysisOperator.dct(4)
    every = [
        Prior(operator, cosparse.Penalty.log(0.1), 1),
        Prior(operator, cosparse.Penalty.log(0.02), (2, 3)),
        Prior(operator, cosparse.Penalty.pnorm(nu=0.5, p=0.4), 2),
        Prior.of(OPERATOR, 30.0),
        Prior.of(GOAL),
    ]
    direction = noise(SMALL.shape, 1.0, 3)
    regions = [(slice(0, 12), slice(6, 18)), (slice(12, 25), slice(18, 23))]
    return [
        [
            (one(SMALL), one.curvature(SMALL, direction), one.sensitivity(SMALL, direction), one.strides)
            for one in every[:4]
        ],
        [one(SMALL, region)[0] for one in every[:3] for region in regions],
        every[4](SMALL),
        every[0].prox(SMALL, 3.0, iterations=5),
    ]

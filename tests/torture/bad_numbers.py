"""Promise 4: of any picture comes something finite and in range, or an error that names what is wrong."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import cosparse
from cosparse.reconstruction import measurement
from torture.frame import Promise, Run

promise = Promise(4, "Bad numbers: finite, in range, never worse in energy than the start")
Array = NDArray[Any]
SHAPES = ((1, 1), (1, 17), (17, 1), (2, 3), (7, 7), (8, 8), (9, 8), (7, 20), (16, 17), (25, 24))
SIGMAS = (0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3, 1e6)  # in units of the picture
WEIGHTS = (None, 1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e12)
TABLE = np.full((8, 8), 16.0)


def pictures(shape: tuple[int, int]) -> dict[str, Array]:
    """Floats on 0..1, as nobody would take them."""
    rows, columns = np.indices(shape)
    hot, cold = np.zeros(shape), np.ones(shape)
    hot[shape[0] // 2, shape[1] // 2] = 1
    cold[0, 0] = 0
    return {
        "black": np.zeros(shape), "white": np.ones(shape), "hot": hot, "cold": cold,
        "checkers": ((rows + columns) % 2).astype(float), "stripes": (columns % 2).astype(float),
        "denormals": np.full(shape, 5e-324) * (1 + rows % 3), "tiny": 1e-38 * ((rows * 7 + columns) % 5 + 1.0),
        "ramp": (rows + columns) / max(1.0, float((rows + columns).max())),
        "grain": np.random.default_rng(0).random(shape),
    }  # fmt: skip


NAMES = tuple(pictures((2, 2)))


def noises(sigma: float, shape: tuple[int, int]) -> dict[str, Any]:
    """Every model, at about a level; what a task is told besides the picture."""
    levels = np.linspace(0, 2 * sigma, shape[0] * shape[1]).reshape(shape)
    return {
        "sigma": lambda: {"sigma": sigma},
        "Gaussian": lambda: {"noise": cosparse.Gaussian(sigma)},
        "Map": lambda: {"noise": cosparse.Map(levels)},
        "photons": lambda: {"noise": cosparse.PoissonGaussian(gain=sigma, read=sigma)},
        "photons, offset": lambda: {"noise": cosparse.PoissonGaussian(gain=sigma, read=0.0, offset=0.1)},
        "Correlated": lambda: {"noise": cosparse.Correlated(sigma, kernel=np.ones((1, 3)))},
    }


MODELS = tuple(noises(1.0, (2, 2)))


def _missing(image: Array) -> NDArray[np.bool_]:
    """Every other pixel, never the first."""
    missing: NDArray[np.bool_] = np.indices(image.shape).sum(axis=0) % 2 == 1
    return missing


def _reconstruct(image: Array, **more: Any) -> Array:
    A = measurement.blur(np.ones((3, 3)) / 9, image.shape)
    flat = np.asarray(A.matvec(np.float32(image).ravel()), float)
    return np.asarray(cosparse.reconstruct(flat, A, image.shape, **more).image)


TASKS: dict[str, Callable[..., Array]] = {
    "denoise": cosparse.denoise,
    "inpaint": lambda image, **more: cosparse.inpaint(image, _missing(image), **more),
    "upscale": lambda image, **more: cosparse.upscale(image, 2, **more),
    "deblur": lambda image, **more: cosparse.deblur(image, np.ones((3, 3)) / 9, **more),
    "deblock": lambda image, **more: cosparse.deblock(
        image, TABLE, **{name: value for name, value in more.items() if name not in ("sigma", "noise")}
    ),
    "reconstruct": _reconstruct,
}
DTYPES = ("float64", "float32", "uint8", "uint16")
RANGES = {"float64": 1.0, "float32": 1.0, "uint8": 255, "uint16": 65535}


def tried(run: Run, case: dict[str, Any]) -> None:
    """One repair; the case says which."""
    dtype, span = case["dtype"], RANGES[case["dtype"]]
    image = pictures(case["shape"])[case["picture"]] * span
    image = image.astype(dtype) if span == 1 else np.rint(image).astype(dtype)
    energies: dict[tuple[int, int, int], list[float]] = {}

    def callback(seen: Any) -> None:
        if not seen.second_pass:
            energies.setdefault((seen.page, seen.plane, seen.stage), []).append(float(seen.energy))

    options = {name: case[name] for name in ("weight", "operator", "quality") if case[name] is not None}
    before = image.copy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an overflow that NumPy tells the user of is one too many
            told = noises(case["sigma"] * span, case["shape"])[case["model"]]()
            found = TASKS[case["task"]](image, callback=callback, **told, **options)
    except ValueError as problem:
        first = str(problem).partition(":")[0]
        run.hold("\n" not in str(problem) and " " not in first.replace(", ", ","), f"{case}: unclear error: {problem}")
        run.count("refused, by the name of an argument")
        return
    except Exception as problem:
        raise AssertionError(f"{case}: {type(problem).__name__}: {problem}") from problem
    run.hold(np.array_equal(image, before), f"{case}: the caller's picture was changed")
    run.hold(np.isfinite(found).all(), f"{case}: not finite")
    if case["task"] != "reconstruct":  # which is given no pixels, and so knows no range of theirs
        run.hold(found.dtype == image.dtype, f"{case}: {found.dtype}")
        slack = 1e-5 * span if dtype == "float32" else 1e-12 * span
        low, high = float(found.min()), float(found.max())
        run.hold(-slack <= low and high <= span + slack, f"{case}: out of range, {low} to {high}")
    # Of measurements of photons the weights follow the image: every few iterations the energy is another.
    revised = case["task"] == "reconstruct" and case["model"].startswith("photons")
    for place, values in energies.items() if not revised else ():
        going = [value for value in values if not np.isnan(value)]  # trained steps have none
        run.hold(all(b <= a for a, b in itertools.pairwise(going)), f"{case}: the energy of {place} rose: {going}")
    run.count("finite, in range, no energy higher than its start")


def _case(task: str, shape: tuple[int, int], picture: str, **more: Any) -> dict[str, Any]:
    return {
        "task": task, "shape": shape, "picture": picture, "dtype": "float64", "model": "sigma", "sigma": 0.1,
        "weight": None, "operator": None, "quality": "fast", **more,
    }  # fmt: skip


def _corners() -> Iterator[dict[str, Any]]:
    """Every picture at every size; every level with every model and every weight on a few of them; in every task."""
    for task in TASKS:
        for shape, picture in itertools.product(SHAPES, NAMES):
            yield _case(task, shape, picture)
        for shape, picture, dtype in itertools.product(((9, 8), (1, 17)), NAMES, DTYPES):
            yield _case(task, shape, picture, dtype=dtype, quality="balanced")
        for sigma, model, picture in itertools.product(SIGMAS, MODELS, ("checkers", "hot", "black")):
            yield _case(task, (9, 11), picture, sigma=sigma, model=model, quality="balanced")
        for weight, sigma, picture in itertools.product(WEIGHTS, SIGMAS, ("checkers", "grain")):
            yield _case(task, (9, 11), picture, sigma=sigma, weight=weight, operator="default")


@promise.part()
def corners(run: Run) -> None:
    """The corners of what may be asked, one after the other: in short a part of them, drawn by the seed."""
    cases = list(_corners())
    chosen = run.rng().permutation(len(cases))[: run.times(60, len(cases))]
    for number in sorted(chosen):
        tried(run, cases[number])


@promise.part()
def searched(run: Run) -> None:
    """Hypothesis looks for a case that breaks: sizes, pictures, types, levels, weights, models, operators, tasks."""
    levels = st.one_of(st.sampled_from(SIGMAS), st.floats(0, 1e6, allow_subnormal=True))
    weights = st.one_of(st.none(), st.floats(1e-12, 1e12), st.sampled_from(WEIGHTS))

    @hypothesis.seed(run.seed)
    @hypothesis.settings(
        max_examples=run.times(25, 2500), deadline=None, database=None, derandomize=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(
        st.fixed_dictionaries(
            {
                "task": st.sampled_from(sorted(TASKS)),
                "shape": st.tuples(st.integers(1, 20), st.integers(1, 20)),
                "picture": st.sampled_from(NAMES),
                "dtype": st.sampled_from(DTYPES),
                "model": st.sampled_from(MODELS),
                "sigma": levels,
                "weight": weights,
                "operator": st.sampled_from([None, "default", "goal"]),
                "quality": st.sampled_from(["fast", "balanced"]),
            }
        )
    )
    def search(case: dict[str, Any]) -> None:
        tried(run, case)

    search()


@promise.part(markers=())
def energies(run: Run) -> None:
    """Problems from their parts: weights and levels over 24 orders of magnitude, no stage ends above its start."""
    operators = [cosparse.AnalysisOperator.dct(3), cosparse.AnalysisOperator.finite_differences()]
    penalties = [cosparse.Penalty.log(0.1), cosparse.Penalty.log(1e6), cosparse.Penalty.pnorm()]
    cases = list(itertools.product(WEIGHTS[1:], operators, penalties, NAMES))
    for number in run.rng(1).permutation(len(cases))[: run.times(25, len(cases))]:
        weight, operator, penalty, name = cases[number]
        start = np.float32(255 * pictures((11, 12))[name])
        stages = tuple(cosparse.Stage(weight * factor, penalty, 8, 20.0) for factor in (1.0, 0.1))
        problem = cosparse.Problem(operator, cosparse.Plan(stages, 1), start, start[::-1].copy(), bounds=(0.0, 255.0))
        found = cosparse.solve(problem)
        run.hold(np.isfinite(found.image).all(), f"weight {weight}, {penalty}, {name}: not finite")
        for one in found.energies:
            run.hold(one[-1] <= one[0], f"weight {weight}, {penalty}, {name}: {one[0]} became {one[-1]}")
            run.count("stages, none of which ended above its start")

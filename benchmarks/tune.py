"""Choose the numbers of reconstruction/stages.toml on training photographs, never on test images.

    python benchmarks/tune.py upscale --sigma 0 --option 3 --times weight=0.5 weight=2 nu=0.5 nu=2

prints the mean PSNR over validation photographs that the task reaches with the table's numbers, and with those of one
name multiplied: `weight`, `grow`, `nu`, `at`, `iterations`, `longer` or `settled` of the task's own row, or of another
part of the table, as in `trust.power=0.5`. The task itself runs, at the quality "balanced" and without a second pass;
the curve shows what it has reached after some of its iterations.

    python benchmarks/tune.py check

runs the commands of all its rows again and prints their dB beside those recorded. With --record, either writes into the
row with that command what the table's own numbers have reached.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from common import add_noise, need_data, validation_images

import cosparse
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction import measurement, stages

SHOWN = [3, 5, 7, 9, 11, 14, 17, 20, 25, 30, 40, 60, 80]
TABLE = Path(str(resources.files("cosparse.reconstruction") / "stages.toml"))
TASKS = ("denoise", "inpaint", "upscale", "deblur", "deblock", "reconstruct")


def repaired(task: str, image: np.ndarray, sigma: float, seed: int, option: float, **how: Any) -> np.ndarray:
    """What a task makes of one validation photograph, damaged; on 0..255."""
    if task == "deblock":
        jpeg = cosparse.Jpeg.standard(int(option))
        return cosparse.deblock(jpeg.sample(image), jpeg, data_range=255, **how)
    how |= {"sigma": sigma, "data_range": 255}
    if task == "denoise":
        return cosparse.denoise(add_noise(image, sigma, seed), grouping=False, **how)
    if task == "inpaint":
        gaps = np.random.default_rng(seed).random(image.shape) < option
        return cosparse.inpaint(add_noise(image, sigma, seed), gaps, grouping=False, **how)
    if task == "upscale":
        small = reduced(image, int(option), how["kernel"])
        return cosparse.upscale(add_noise(small, sigma, seed), int(option), **how)
    if task == "deblur":
        kernel = np.full((9, 9), 1 / 81) if option == 0 else measurement.gaussian_kernel(option)
        blurred = measurement.blur(kernel, image.shape).forward(image)
        return cosparse.deblur(add_noise(blurred, sigma, seed), kernel, **how)
    measure = measurement.fourier_sampling(measurement.variable_density_mask(image.shape, option))
    data = measure.matvec(image.ravel())
    noise = np.random.default_rng(seed).standard_normal((2, *data.shape))
    return cosparse.reconstruct(data + sigma * (noise[0] + 1j * noise[1]), measure, image.shape, **how).image


def reduced(image: np.ndarray, factor: int, kernel: str) -> np.ndarray:
    """A small image as upscaling is told that it was made; for the paper's kernel as its tables make them."""
    if kernel == "gaussian":
        from bicubic import shrink

        return shrink(image, factor)
    return measurement.reduction(factor, image.shape, kernel).forward(image)


def reached(args: argparse.Namespace, operator: AnalysisOperator) -> tuple[float, str]:
    """The mean PSNR over the photographs, and its curve over the iterations."""
    curves, ends = [], []
    for seed, image in enumerate(validation_images(args.every)):
        if args.task == "upscale":
            image = image[tuple(slice(side // int(args.option) * int(args.option)) for side in image.shape)]
        curve: list[float] = []

        def follow(progress: cosparse.Progress, image: np.ndarray = image, curve: list[float] = curve) -> None:
            if progress.iteration in SHOWN:
                curve.append(cosparse.psnr(image, progress.image.clip(0, 255), data_range=255))

        own = {"kernel": args.kernel} if args.task == "upscale" else {}
        found = repaired(args.task, image, args.sigma, seed, args.option, operator=operator, callback=follow, **own)
        ends.append(cosparse.psnr(image, found.clip(0, 255).astype(np.float32), data_range=255))
        curves.append(curve)
    means = [np.mean(column) for column in zip(*curves, strict=False)]
    return float(np.mean(ends)), " ".join(f"{at}:{mean:.3f}" for at, mean in zip(SHOWN, means, strict=False))


@contextmanager
def multiplied(change: str, row: dict[str, Any]) -> Iterator[None]:
    """The table, for a while, with some of its numbers multiplied."""
    name, _, factor = change.partition("=")
    part, _, key = name.rpartition(".")
    place = stages.TABLE[part] if part else row
    before = deepcopy(place)
    found = [times(where, key, float(factor)) for where in (place, *place.get("stages", ()))]
    if not any(found):
        raise SystemExit(f"--times {change}: there is no {name} in the table for this task")
    yield
    place.clear()
    place.update(before)


def times(place: dict[str, Any], key: str, factor: float) -> bool:
    """Multiply what stands under a key, if there is such: a number, several, or the values of a list by noise."""
    given = place.get(key)
    if isinstance(given, dict):
        return times(given, "value", factor)
    if given is not None:
        scaled = [type(value)(value * factor) for value in (given if isinstance(given, list) else [given])]
        place[key] = scaled if isinstance(given, list) else scaled[0]
    return given is not None


def record(command: str, reached: float) -> None:
    """Write what the table's numbers have reached into the row that has the command."""
    text = TABLE.read_text("utf-8")
    found = f'command = "{command}"\ndb = '
    if found not in text:
        raise SystemExit(f"{TABLE}: no row has the command {command}")
    before, _, after = text.partition(found)
    TABLE.write_text(f"{before}{found}{reached:.3f}\n{after.partition(chr(10))[2]}", "utf-8")


def check(write: bool) -> None:
    """Every row's command again, with the table's numbers only."""
    parts = (part for part in stages.TABLE.values() if isinstance(part, dict) and "command" in part)
    for row in (row for row in (*stages.TABLE["plan"], *parts) if "tune.py" in row["command"]):
        args = parser().parse_args(shlex.split(row["command"])[2:])
        now = reached(args, chosen(args))[0]
        print(f"{now:.3f} dB, recorded {row['db']:.3f}: {row['command']}", flush=True)
        if write:
            record(row["command"], now)


def chosen(args: argparse.Namespace) -> AnalysisOperator:
    return AnalysisOperator.dct(8) if args.operator == "dct" else cosparse.load_operator(args.operator)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=[*TASKS, "check"])
    parser.add_argument("--operator", default="default", help='a name, a file, or "dct"')
    parser.add_argument("--sigma", type=float, default=25)
    parser.add_argument(
        "--option", type=float, default=0, help="missing fraction, factor, blur, JPEG quality or sampled fraction"
    )
    parser.add_argument("--kernel", default=measurement.USUAL, help="of upscaling: how small images are made")
    parser.add_argument("--times", nargs="+", default=[], metavar="NAME=FACTOR", help="numbers to be multiplied")
    parser.add_argument("--every", type=int, default=50, help="take every so many-th photograph")
    parser.add_argument("--record", action="store_true", help="write the dB into the table's row with this command")
    return parser


def main() -> None:
    args = parser().parse_args()
    need_data()
    if args.task == "check":
        return check(args.record)
    operator = chosen(args)
    row = stages.row(args.task, args.sigma, operator.stride is not None, args.kernel if args.task == "upscale" else "")
    own, curve = reached(args, operator)
    print(f"as it is: {own:.3f} dB | {curve}", flush=True)
    for change in args.times:
        with multiplied(change, row):
            now, curve = reached(args, operator)
        print(f"{change}: {now:.3f} dB, {now - own:+.3f} | {curve}", flush=True)
    if args.record:
        given = (word for word in sys.argv[1:] if word != "--record")
        record(shlex.join(["python", "benchmarks/tune.py", *given]), own)


if __name__ == "__main__":
    main()

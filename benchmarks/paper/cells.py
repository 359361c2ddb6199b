"""What the scripts of this folder share: cells computed once and kept, the CSV, the printed table.

A cell's result is kept in .benchmarks-cache/ under a digest of everything it depends on: the method and
its settings, the operator, the image, the noise and the code that computes it (without comments and
docstrings). A stopped run goes on where it was; a change of code or operator computes anew just what it
touches.
"""

from __future__ import annotations

import argparse
import ast
import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import common
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import cosparse
from cosparse import operator as operators
from cosparse.baselines import available
from cosparse.io.atomic import replacing
from cosparse.operator import AnalysisOperator

CACHE = common.ROOT / ".benchmarks-cache"
SOURCE = Path(cosparse.__file__).parent
ENGINE = ("reconstruction", "optimize", "kernels", "penalty.py", "trained_steps.py")  # whose code decides our figures
OURS = ("ours", "prior")  # with all we have; the operator's energy alone
QUICK = 128  # side of the crop of --quick

console = Console(width=None if sys.stdout.isatty() else 170)


# -- digests


def digest(*parts: Any) -> str:
    """A short name for any mix of arrays, numbers, texts and containers of them."""
    state = hashlib.blake2b(digest_size=12)

    def add(part: Any) -> None:
        if isinstance(part, np.ndarray):
            state.update(f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        elif isinstance(part, AnalysisOperator):
            add([part.matrix, part.weights, part.scale, part.exponents, part.patch_shape, part.penalty, part.stride])
            add([(task, steps.digest()) for task, steps in sorted(part.steps.items())])
        elif isinstance(part, dict):
            add(sorted(part.items()))
        elif isinstance(part, (list, tuple)):
            state.update(b"(")
            for item in part:
                add(item)
            state.update(b")")
        else:
            state.update(f"{part!r};".encode())

    add(parts)
    return state.hexdigest()


@cache
def code(*places: str) -> str:
    """A digest of the package's files or folders; comments, docstrings and where numbers come from do not count."""
    trees = []
    for place in places:
        path = SOURCE / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            tree = ast.parse(file.read_text())
            for node in ast.walk(tree):
                body = getattr(node, "body", None)
                if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                    node.body = [part for part in body if not _is_text(part)] or [ast.Pass()]  # type: ignore[attr-defined]
            trees.append((file.relative_to(SOURCE).as_posix(), ast.dump(tree)))
        for table in sorted(path.rglob("*.toml")):
            lines = table.read_text("utf-8").splitlines()
            trees.append((table.name, "\n".join(x for x in lines if not x.startswith(("#", "command", "db")))))
    return digest(trees)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def release() -> str:
    """cosparse's version but for the commit: a digest of the code that counts goes with it."""
    return cosparse.__version__.partition("+")[0].partition(".dev")[0]


def our_version(operator: AnalysisOperator) -> str:
    """cosparse's version and a digest of engine and operator: the same one, the same figures."""
    return f"{release()}+{digest(code(*ENGINE), operator)[:8]}"


LIBRARIES = {  # of the rivals that are not our own code
    "bm3d": "bm3d",
    **dict.fromkeys(("telea", "navier_stokes"), "opencv-python-headless"),
    **dict.fromkeys(("biharmonic", "nlm", "tv_skimage", "wavelet"), "scikit-image"),
}
LICENCES = {"bm3d": "for non-commercial use only", "opencv-python-headless": "Apache 2.0", "scikit-image": "BSD-3"}


def rival_version(name: str) -> str:
    """The version of the library a rival comes from; of one that is our own code, ours and a digest of what it uses."""
    library = LIBRARIES.get(name)
    if library is not None:
        return f"{library} {metadata.version(library)}" if _installed(library) else ""
    folder = SOURCE / "baselines"
    learned = [file.read_bytes() for file in sorted(folder.glob(f"{name}.*")) if file.suffix != ".py"]
    return f"{release()}+{digest(code(*ENGINE, 'baselines/_signals.py', f'baselines/{name}.py'), learned)[:8]}"


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def described(method: str, quality: str, seed: int, operator: AnalysisOperator) -> tuple[dict[str, Any], list[Any]]:
    """The columns that say who made a figure and with what, and what of it a cached result depends on."""
    if method in OURS:
        row = {"method": method, "quality": quality, "seed": seed, "version": our_version(operator)}
        return row, [method, quality, operator, code(*ENGINE)]
    rival = f"baselines/{method}.py"
    if (SOURCE / rival).exists():
        row = {"method": method, "quality": "", "seed": seed, "version": rival_version(method)}
        return row, [method, row["version"], code(rival)]
    return {"method": method, "quality": "", "seed": seed, "version": release()}, [method, code(*ENGINE)]


def chosen_methods(args: argparse.Namespace, methods: Sequence[str]) -> list[str]:
    """Those asked for, or all that are installed."""
    if args.methods:
        return list(args.methods)
    here = [method for method in methods if not (SOURCE / "baselines" / f"{method}.py").exists() or available(method)]
    for method in methods:
        if method not in here:
            console.print(f"{method} is left out: pip install 'cosparse\\[bench]' brings it")
    return here


def energy_of(operator: AnalysisOperator) -> AnalysisOperator:
    """The operator without trained steps: what its energy alone gives."""
    return replace(operator, steps={})


def chosen_operator(args: argparse.Namespace) -> AnalysisOperator:
    """The operator the tasks will use: --operator, or the one that goes with the quality."""
    return operators.chosen_operator(args.operator)


# -- cells


@dataclass(frozen=True)
class Cell:
    """One entry of a table.

    `row` names it (its columns of the CSV), `key` is what the result depends on, `work` computes it.
    """

    row: dict[str, Any]
    key: Any
    work: Callable[[], dict[str, float]]

    @property
    def name(self) -> str:
        return " ".join(str(value) for value in list(self.row.values())[:3])


def compute(title: str, cells: Sequence[Cell], *, folder: str | None = None) -> list[dict[str, Any]]:
    """The cells' rows with their results, from the cache where they are there already."""
    place = CACHE / (folder or title)
    place.mkdir(parents=True, exist_ok=True)
    rows = []
    bar = Progress(
        TextColumn("{task.description:<40}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), console=Console(stderr=True),
    )  # fmt: skip
    with bar:
        task = bar.add_task(title, total=len(cells))
        for cell in cells:
            bar.update(task, description=f"{title}: {cell.name}")
            rows.append({**cell.row, **cached(place / f"{digest(cell.key)}.json", cell.work)})
            bar.advance(task)
        bar.update(task, description=title)
    return rows


def kept(title: str, cells: Sequence[Cell]) -> list[Cell]:
    """Those that earlier runs have computed."""
    return [cell for cell in cells if (CACHE / title / f"{digest(cell.key)}.json").exists()]


def cached(file: Path, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` returned when it was first called for this file."""
    if file.exists():
        return dict(json.loads(file.read_text()))
    result = work()
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as temporary:
        temporary.write_text(json.dumps(result))
    return result


def cached_image(key: Any, work: Callable[[], np.ndarray]) -> np.ndarray:
    """The same for an image."""
    file = CACHE / "images" / f"{digest(key)}.npy"
    if file.exists():
        return np.asarray(np.load(file, allow_pickle=False))
    image = np.asarray(work(), np.float32)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as temporary, temporary.open("wb") as out:
        np.save(out, image)
    return image


def quality_of(truth: np.ndarray, result: np.ndarray) -> dict[str, float]:
    """PSNR and SSIM of a result, clipped to 0..255 but not rounded, as every method here is judged."""
    result = np.clip(result, 0, 255)
    return {
        "psnr": round(cosparse.psnr(truth, result, data_range=255), 4),
        "ssim": round(cosparse.ssim(truth, result, data_range=255), 5),
    }


# -- the command line


def parser(text: str | None, *, images: Sequence[str] = (), methods: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The options all scripts have."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--quality", choices=["fast", "balanced", "best"], default="balanced", help="of ours")
    made.add_argument("--operator", default=None, help="a shipped one's name or a file; default: as --quality")
    made.add_argument("--seed", type=int, default=0, help="of noise and masks")
    made.add_argument("--quick", action="store_true", help=f"one image, {QUICK}x{QUICK} pixels: only shows it runs")
    made.add_argument("--output", type=Path, default=None, help="folder of the CSV (default benchmarks/results)")
    if images:
        made.add_argument("--images", nargs="+", choices=images, default=None, metavar="NAME")
    if methods:
        made.add_argument("--methods", nargs="+", choices=methods, default=None, metavar="METHOD",
                          help=", ".join(methods))  # fmt: skip
    return made


def parse(made: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments, with what --quick implies."""
    args = made.parse_args(argv)
    common.need_data()
    if args.output is None:
        args.output = CACHE / "quick" if args.quick else common.RESULTS
    return args


def pictures(args: argparse.Namespace, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The chosen test images; with --quick, the middle of the first."""
    chosen = list(args.images or names)
    if not args.quick:
        return {name: common.test_image(name) for name in chosen}
    image = common.test_image(chosen[0])
    top, left = ((side - QUICK) // 2 for side in image.shape)
    return {chosen[0]: np.ascontiguousarray(image[top : top + QUICK, left : left + QUICK])}


# -- CSV


def published(table: str) -> list[dict[str, str]]:
    """The figures of one of the paper's tables."""
    with (common.DATA / "published" / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def read_rows(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of a CSV written by :func:`write_rows`; none if it is not there."""
    file = folder / f"{name}.csv"
    if not file.exists():
        return []
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def write_rows(folder: Path, name: str, rows: list[dict[str, Any]], names: Sequence[str]) -> Path:
    """Write rows to FOLDER/NAME.csv, keeping those of an earlier run that this one did not compute.

    Two rows are the same entry if they agree in the columns `names`. Rows of an older version of a method
    that this run used with another version are dropped: a table never mixes two states of the code.
    """

    def entry(row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[column]) for column in names)

    def kind(row: dict[str, Any]) -> tuple[str, str]:
        return str(row.get("method", "")), str(row.get("quality", ""))

    fresh = {entry(row) for row in rows}
    versions = {kind(row): str(row.get("version", "")) for row in rows}
    columns = list(rows[0])
    kept = [
        row
        for row in read_rows(folder, name)
        if list(row) == columns
        and entry(row) not in fresh
        and versions.get(kind(row), row.get("version", "")) == row.get("version", "")
    ]
    together = sorted([*rows, *kept], key=lambda row: [_order(row[column]) for column in names])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    with replacing(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(together)
    return path


def _order(value: Any) -> tuple[int, float, str]:
    try:
        return 0, float(value), ""
    except (TypeError, ValueError):
        return 1, 0.0, str(value)


# -- printed tables


def show(title: str, columns: Sequence[str], lines: Iterable[Sequence[Any]], caption: str = "") -> None:
    """Print a table; numbers to the right."""
    table = Table(title=title, caption=caption or None, show_edge=False, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < 2 else "right", no_wrap=True)
    for line in lines:
        if line:
            table.add_row(*(value if isinstance(value, str) else f"{value:.2f}" for value in line))
        else:
            table.add_section()
    console.print(table)


def pair(psnr: Any, ssim: Any) -> str:
    """ "31.65 .854", or nothing."""
    if psnr in ("", None):
        return ""
    return f"{float(psnr):.2f} {float(ssim):.3f}".replace(" 0.", " .")


def verdict(text: str, holds: bool) -> None:
    """One line of what was to be shown."""
    console.print(f"{'[green]yes[/]' if holds else '[red]NO [/]'}  {text}")

"""Promise 3: whatever is in a file, reading it gives a clean error or something valid, in time and in memory."""

from __future__ import annotations

import json
import pickle
import selectors
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from cosparse import AnalysisOperator, load_operator
from cosparse.kernels.threads import available_cores
from torture import feeding
from torture.bombs import BOMBS
from torture.children import emptied, environment, finish, function
from torture.frame import Broken, Promise, Run
from torture.specimens import saved

promise = Promise(3, "Bad bytes: a clean error or a valid picture, never a crash, a hang or a heap of memory")
# How many files of each kind: in the short form, in the long one.
NUMBERS = {
    "png": (40, 4000), "jpeg": (40, 3500), "tiff": (60, 4500), "bmp": (20, 1500), "gif": (10, 500), "webp": (10, 500),
    "zarr": (20, 2000), "safetensors": (20, 2000), "checkpoint": (20, 2500),
}  # fmt: skip
SHORT = ("PNG text", "TIFF strip by zlib", "operator, deep JSON")  # bombs of the short form
SILENT = 120.0  # seconds without a word, after which a child that takes no processor time is taken for hung


@promise.part()
def mutated_files(run: Run) -> None:
    """Damaged files of nine kinds: each is refused in one line or read whole, within 5 s and 512 MB."""
    jobs = []
    for kind, (short, long) in NUMBERS.items():
        total, size = run.times(short, long), 500
        jobs += [(kind, first, min(size, total - first)) for first in range(0, total, size)]
    with ThreadPoolExecutor(several(run)) as pool:
        fed = pool.map(lambda job: fed_to_a_child(run, *job), jobs)
        for (kind, _, _), outcomes in zip(jobs, fed, strict=True):
            for outcome, number in outcomes.items():
                run.count(f"{kind} {outcome}", number)


@promise.part()
def bombs(run: Run) -> None:
    """Small files that stand for gigabytes: refused, or read as the small pictures that they are."""
    names = list(BOMBS) if not run.short else SHORT
    with ThreadPoolExecutor(several(run)) as pool:
        for name, outcome in zip(names, pool.map(lambda name: _swallowed(run, name), names), strict=True):
            run.hold(outcome in ("read", "refused"), f"{name}: {outcome}")
            run.count(outcome)


def _swallowed(run: Run, name: str) -> str:
    folder = emptied(run.folder / "".join(filter(str.isalnum, name)))
    done = finish(function("feeding.swallow", name, folder), code=None)
    shutil.rmtree(folder)
    return (
        f"{done.stdout} ended with {done.returncode}, {done.stderr[-2000:]}" if done.returncode else done.stdout.strip()
    )


@promise.part(markers=())
def operators(run: Run) -> None:
    """Operators that none should be: refused, each for its own reason."""
    whole = AnalysisOperator.dct(3)
    run.folder.joinpath("whole.safetensors").write_bytes(_file(whole))
    run.hold(load_operator(run.folder / "whole.safetensors") == whole, "a whole operator is not read")
    for name, (data, words) in _wrong_operators(whole).items():
        path = run.folder / "wrong.safetensors"
        path.write_bytes(data)
        try:
            load_operator(path)
        except ValueError as problem:
            fits = str(problem).startswith(str(path)) and words in str(problem) and "\n" not in str(problem)
            run.hold(fits, f"{name}: refused, but not for what is wrong: {problem}")
            run.count("refused")
        else:
            raise Broken(f"{name}: an operator that is none was taken")


def _wrong_operators(whole: AnalysisOperator) -> dict[str, tuple[bytes, str]]:
    """Files by what is wrong with them, and a word that must be said of it."""
    shape, ones = whole.matrix.shape, np.ones(len(whole.matrix), np.float32)
    nan, empty = whole.matrix.copy(), whole.matrix.copy()
    nan[2, 3], empty[4] = np.nan, 0
    wrong = {
        "NaN": (_file(whole, matrix=nan), "NaN"),
        "infinity": (_file(whole, matrix=np.where(nan == nan, nan, np.inf)), "infinite"),
        "a row of zeros": (_file(whole, matrix=empty), "row 4"),
        "no rows": (_file(whole, matrix=nan[:0], weights=ones[:0], scale=ones[:0]), "shape (0, 9)"),
        "other patches": (_file(whole, words={"patch_shape": "[3, 4]"}), "3x4"),
        "one axis": (_file(whole, matrix=whole.matrix.ravel()), "shape"),
        "three axes": (_file(whole, matrix=whole.matrix[None]), "shape"),
        "few weights": (_file(whole, weights=ones[1:]), "weights"),
        "negative weights": (_file(whole, weights=-ones), "weights"),
        "NaN weights": (_file(whole, weights=ones * np.nan), "weights"),
        "infinite scale": (_file(whole, scale=ones * np.inf), "scale"),
        "exponents of NaN": (_file(whole, exponents=np.full((2, shape[0]), np.nan, np.float32)), "exponents"),
        "no metadata": (save({"matrix": whole.matrix}), "format"),
        "no matrix": (save({"weights": ones}, _words(whole)), "matrix"),
        "unknown version": (_file(whole, words={"format": "cosparse-operator-2"}), "cosparse-operator-2"),
        "unknown penalty": (_file(whole, words={"penalty.form": "sqrt"}), "sqrt"),
        "penalty of NaN": (_file(whole, words={"penalty.nu": "nan"}), "nu"),
        "steps of nothing": (_file(whole, words={"steps": '{"a": {"stride": 2, "sigma": [5, 50]}}'}), "TrainedSteps"),
        "damaged numbers": (_file(whole)[:-1] + b"@", "damaged"),
        "cut short": (_file(whole)[:-9], "not a cosparse operator"),
        "pickle": (pickle.dumps(whole), "not a cosparse operator"),
        "nothing": (b"", "not a cosparse operator"),
        "a header of 2^63": (b"\xff" * 7 + b"\x7f" + _file(whole)[8:], "header"),
        "a header of 9 MB": (_file(whole, words={"provenance": json.dumps({"a": "b" * 9_000_000})}), "header"),
    }  # fmt: skip
    for dtype in ("float64", "int64", "int8", "uint8", "bool"):
        wrong[dtype] = (_file(whole, matrix=np.ones(shape, dtype)), "numbers are F32")
    return wrong


def _words(whole: AnalysisOperator) -> dict[str, str]:
    end = 8 + int.from_bytes(saved(whole)[:8], "little")
    words: dict[str, str] = json.loads(saved(whole)[8:end])["__metadata__"]
    return words


def _file(whole: AnalysisOperator, words: dict[str, str] | None = None, **arrays: NDArray[Any]) -> bytes:
    """Its file with other words or arrays, as an earlier version would have written it, without a digest."""
    if words is None and not arrays:
        return saved(whole)
    said = {key: value for key, value in _words(whole).items() if key != "digest"}
    plain = {"matrix": whole.matrix, "weights": whole.weights, "scale": whole.scale}
    blob: bytes = save({**plain, **arrays}, said | (words or {}))
    return blob


def several(run: Run) -> int:
    """How many children at a time."""
    return 1 if run.short else min(4, available_cores())


def fed_to_a_child(run: Run, kind: str, first: int, number: int) -> dict[str, int]:
    """How many of these files were read, and how many refused; raises at the first that breaks the promise."""
    folder = emptied(run.folder / f"{kind}-{first}")
    command = function("feeding.feed", kind, run.seed, first, number, folder)
    counts = {"read": 0, "refused": 0}
    seen = first - 1
    with (folder / "errors").open("w") as errors:
        child = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=errors, text=True)
    with child:
        assert child.stdout is not None
        ready = selectors.DefaultSelector()
        ready.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not ready.select(SILENT * (3 if seen < first else 1)):
                child.kill()
                raise Broken(again(kind, run.seed, seen + 1, "hung"))
            line = child.stdout.readline()
            if not line:
                break
            index, _, outcome = line.strip().partition(" ")
            seen = int(index)
            if outcome not in counts:
                child.kill()
                raise Broken(again(kind, run.seed, seen, outcome))
            counts[outcome] += 1
    if child.returncode or sum(counts.values()) != number:
        how = f"ended with {child.returncode}"
        if child.returncode == -signal.SIGPROF:
            how = f"took over {feeding.SECONDS:.0f} s of processor"
        raise Broken(again(kind, run.seed, seen + 1, f"{how}\n{(folder / 'errors').read_text()[-3000:]}"))
    return counts


def again(kind: str, seed: int, index: int, how: str) -> str:
    """What went wrong, and the line that shows it again."""
    line = f'PYTHONPATH=tests python -c "from torture import feeding; print(feeding.one({kind!r}, {seed}, {index}))"'
    return f"file {index} of {kind}: {how}\nagain: {line}"

"""A child that is fed damaged files one after the other; its processor time and its memory are limited."""

from __future__ import annotations

import logging
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cosparse
from torture import bombs, specimens
from torture.mutations import damage_store, mutated

SECONDS = 5.0  # of processor time, for one file
MEMORY = 512 << 20  # bytes that may be asked for beyond what the child has when it begins
PIXELS = 4_000_000  # that it is told to refuse more than


def feed(kind: str, seed: str, first: str, number: str, folder: str, *go_on: str) -> None:
    """Read so many damaged files of a kind from `first` on; a line for each, "7 read" or "8 refused".

    What breaks the promise ends the child: by a signal, or with a line "9 broken ..." that says how. With anything
    more said, it goes on after such a line.
    """
    reader = limited(kind, Path(folder))
    for index in range(int(first), int(first) + int(number)):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            outcome = reader.damaged(int(seed), index)
        except BaseException as problem:
            outcome = f"broken {type(problem).__name__}: {problem}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(index, outcome.replace("\n", " "), flush=True)
        if outcome.startswith("broken") and not go_on:
            sys.exit(1)


def swallow(name: str, folder: str) -> None:
    """Read a bomb; prints as `feed` does."""
    kind, make = bombs.BOMBS[name]
    data = make(Path(folder))
    reader = limited(kind, Path(folder, "beside"))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    print(reader.read(0, data))


def limited(kind: str, folder: Path) -> Reader:
    """A reader in a process that from now on has no more than its share; everything is loaded and compiled."""
    folder.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    reader = Reader(kind, folder)
    reader.whole()
    soft = virtual_memory() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    return reader


def virtual_memory() -> int:
    """Of this process, bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def refusing(read: Callable[[], Any], name: str) -> Any:
    """What is read, or None if it was refused as it should be: with an error of ours, in one line, that names it."""
    try:
        return read()
    except (ValueError, OSError) as problem:
        text = str(problem)
        if "\n" in text or name not in text:
            raise AssertionError(f"not one line that names the file: {type(problem).__name__}: {text!r}") from problem
        return None


class Reader:
    """Reads files of a kind as the program does, and looks at what comes of it."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.stores = specimens.zarr_folders(folder) if kind == "zarr" else []
        if kind == "checkpoint":
            self.undisturbed = [run().operator.digest() for run in specimens.RUNS]

    def whole(self) -> None:
        """The specimens as they are: all must be read, but for those that are refused for what they are."""
        for which in range(len(self.stores or specimens.of(self.kind))):
            self.read(which, self.stores[which] if self.stores else specimens.of(self.kind)[which])

    def damaged(self, seed: int, index: int) -> str:
        """What is made of the damaged file of that number: "read" or "refused"."""
        rng = np.random.default_rng([seed, index, *self.kind.encode()])
        if self.kind == "zarr":
            shutil.rmtree(copy := self.folder / "copy", ignore_errors=True)
            shutil.copytree(self.stores[int(rng.integers(len(self.stores)))], copy)
            damage_store(copy, rng)
            return self.read(0, copy)
        specimen = specimens.of(self.kind)
        which, other = (int(rng.integers(len(specimen))) for _ in range(2))
        return self.read(which, mutated(self.kind, specimen[which], specimen[other], rng))

    def read(self, which: int, data: Any) -> str:
        """Of bytes, or of a folder; `which` specimen it was."""
        ways = {"zarr": self._zarr, "safetensors": self._operator, "checkpoint": self._checkpoint}
        return "read" if ways.get(self.kind, self._picture)(which, data) else "refused"

    def _picture(self, which: int, data: bytes) -> bool:
        """What was read is valid, and can be written again with all that the file said besides."""
        from cosparse.io.picture import read_image

        found = refusing(lambda: read_image(data, name="a picture", max_pixels=PIXELS), "a picture")
        if found is None:
            return False
        assert found.pixels.dtype in (np.uint8, np.uint16, np.float32), found.pixels.dtype
        colours = 1 if found.channel_axis is None else 3
        assert 0 < found.pixels.size <= colours * PIXELS, found.pixels.shape
        assert found.alpha is None or found.alpha.shape == found.pixels.shape[: found.alpha.ndim]
        assert np.isfinite(found.data_range) and found.data_range > 0, found.data_range
        self._write(found, "tif")
        if found.pixels.dtype != np.float32 and not found.stack:
            self._write(found, "png")
        return True

    def _write(self, found: Any, ending: str) -> None:
        from cosparse.io.picture import read_image, write_image

        path = self.folder / f"again.{ending}"
        write_image(path, found.pixels, like=found)
        again = read_image(path)
        assert np.array_equal(again.pixels, found.pixels, equal_nan=True), "written and read again it is another"

    def _operator(self, which: int, data: bytes) -> bool:
        """An operator that is taken repairs a small picture to finite values, or says why not."""
        path = self.folder / "operator.safetensors"
        path.write_bytes(data)
        found = refusing(lambda: cosparse.load_operator(path), str(path))
        if found is None:
            return False
        repr(found)
        result = refusing(lambda: cosparse.denoise(specimens.GREY / 255, 0.1, operator=found), "operator")
        assert result is None or np.isfinite(result).all(), "its repairs are not finite"
        return True

    def _checkpoint(self, which: int, data: bytes) -> bool:
        """A run goes on from a state only if it was in it: ends as if undisturbed, or refuses and leaves the file."""
        path = self.folder / "run"
        path.write_bytes(data)
        found = refusing(lambda: specimens.RUNS[which](checkpoint=path), str(path))
        if found is None:
            assert path.read_bytes() == data, "a checkpoint that was refused is gone"
            return False
        assert found.operator.digest() == self.undisturbed[which], "went on from a state it was never in"
        return True

    def _zarr(self, which: int, store: Path) -> bool:
        """Opened, and a corner of it read, as a repair by tiles does."""
        from cosparse.cluster.sources import OnDisk

        found = refusing(lambda: OnDisk(store), str(store))
        if found is None:
            return False
        corner = tuple(slice(max(0, side - 40), side) for side in found.shape)
        return refusing(lambda: found[corner], str(store)) is not None


def one(kind: str, seed: int, index: int) -> str:
    """A single file once more, to look at: what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        return Reader(kind, Path(folder)).damaged(seed, index)

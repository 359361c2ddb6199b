"""Work that writes files and can be taken up again, to be interrupted; each in a folder of its own."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data

import cosparse
from cosparse import checkpoint
from torture import children

PHOTO = data.camera()[60:252, 120:312].copy()


@dataclass(frozen=True)
class Victim:
    """What is to be interrupted.

    `prepare` writes the inputs into a folder, `work` reads them and writes `outputs`, files or folders; called again,
    it goes on from what is there. `work` returns the program's exit code.
    """

    prepare: Callable[[Path], None]
    work: Callable[[Path], int]
    outputs: tuple[str, ...]

    def found(self, folder: Path) -> dict[str, dict[str, bytes]]:
        """Of each output that is there, its files."""
        there = [name for name in self.outputs if (folder / name).exists()]
        return {name: _files(folder / name) for name in there}


def _files(path: Path) -> dict[str, bytes]:
    return children.contents(path) if path.is_dir() else {"": path.read_bytes()}


def _program(*arguments: object) -> int:
    """The program as the shell starts it: with its handlers of signals."""
    from cosparse.cli import main

    sys.argv = ["cosparse", *map(str, arguments)]
    return main()


def _photos(folder: Path) -> None:
    (folder / "in").mkdir()
    for number in range(5):
        part = PHOTO[8 * number : 8 * number + 96, 4 * number : 4 * number + 96]
        noisy = part + np.random.default_rng(number).normal(0, 15, part.shape)
        name = f"{number}.{('png', 'tif', 'jpg', 'bmp', 'png')[number]}"
        Image.fromarray(np.uint8(np.clip(noisy, 0, 255))).save(folder / "in" / name)


def _learning(folder: Path) -> int:
    checkpoint.SECONDS = -1.0  # written at every iteration, so that kills fall into writes
    run, out = folder / "run.ckpt", folder / "mine.safetensors"
    options = ["--resume"] if run.exists() else []
    sizes = ("--size", 5, "--rows", 40, "--count", 1500, "--iterations", 40)
    return _program("learn", folder / "in", "-o", out, "--checkpoint", run, *sizes, *options, "--force")


def _refining(folder: Path) -> int:
    checkpoint.SECONDS = -1.0
    run, out = folder / "run.ckpt", folder / "better.safetensors"
    options = ["--resume"] if run.exists() else []
    sizes = ("--steps", 12, "--batch", 2, "--crop", 24, "--sigma", 20)
    return _program("refine", "dct:4", folder / "in", "-o", out, "--checkpoint", run, *sizes, *options, "--force")


def _batch(folder: Path) -> int:
    return _program("denoise", folder / "in", folder / "out", "--sigma", 15)


def _scene(folder: Path) -> None:
    import zarr

    noisy = PHOTO + np.random.default_rng(0).normal(0, 15, PHOTO.shape)
    zarr.create_array(folder / "in.zarr", data=np.uint8(np.clip(noisy, 0, 255)), chunks=(64, 64))


def _tiles(ending: str) -> Callable[[Path], int]:
    def work(folder: Path) -> int:
        from distributed import Client

        # Workers in this process: they go with it, and it starts at once. What the program would say of errors is said,
        # and what Dask logs of them is not.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        goal = folder / f"out{ending}"
        with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
            try:
                cosparse.cluster.repair_picture(
                    "denoise", folder / "in.zarr", goal, sigma=15, tile=64, overlap=16, quality="fast", client=client,
                    force=goal.exists(),
                )  # fmt: skip
            except (OSError, ValueError) as problem:
                print(problem, file=sys.stderr)
                return 1
        return 0

    return work


VICTIMS = {
    "learning": Victim(_photos, _learning, ("mine.safetensors", "mine.atoms.png")),
    "refining": Victim(_photos, _refining, ("better.safetensors",)),
    "batch": Victim(
        _photos, _batch, tuple(f"out/{n}.{end}" for n, end in enumerate(("png", "tif", "jpg", "bmp", "png")))
    ),
    "tiles": Victim(_scene, _tiles(".zarr"), ("out.zarr",)),
    "tiles to TIFF": Victim(_scene, _tiles(".tif"), ("out.tif",)),
}


def forked(work: Callable[[], int], log: Path) -> int:
    """Do work in a forked process; its number. What it prints goes to a file."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.setsid()
        with log.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            code = work()
            sys.stdout.flush()
            sys.stderr.flush()
    except SystemExit as end:
        code = int(end.code or 0) if isinstance(end.code, int | None) else 98
    except BaseException:
        import traceback

        log.write_text(traceback.format_exc())
    finally:
        os._exit(code)

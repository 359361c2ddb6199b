"""What cosparse brings along: nothing that only an extra needs, before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "torch", "deepinv", "dask", "distributed", "zarr", "xarray", "pandas", "gradio", "fastapi", "matplotlib", "sklearn",
    "pylops", "napari", "cupy", "astropy",
}  # fmt: skip
PROGRAM = {"typer", "rich"}  # the command line's alone
NOTHING_BUT_NUMPY = {*HEAVY, *PROGRAM, "scipy", "numba", "skimage", "pywt", "PIL", "tifffile"}
NOTHING_BUT_PYTHON = {*NOTHING_BUT_NUMPY, "numpy"}
TASKS = "cosparse.denoise, cosparse.inpaint, cosparse.upscale, cosparse.deblur, cosparse.deblock, cosparse.reconstruct"
DENOISE = "import numpy as np; cosparse.denoise(np.eye(16), 0.1, quality='fast')"
FILES = """
import pathlib, tempfile, numpy as np
from cosparse.images import read_image, write_image
from cosparse.repair import repair
with tempfile.TemporaryDirectory() as folder:
    there = pathlib.Path(folder, "a.png")
    write_image(there, np.eye(16, dtype=bool))
    repair(read_image(there), "denoise", sigma=9, quality="fast")
"""


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        pytest.param("", NOTHING_BUT_PYTHON, id="the package"),
        pytest.param(TASKS, NOTHING_BUT_NUMPY, id="its tasks"),
        pytest.param("cosparse.learn_operator, cosparse.refine_operator", {*HEAVY, *PROGRAM}, id="its functions"),
        pytest.param(DENOISE, {*HEAVY, *PROGRAM, "PIL", "tifffile"}, id="a repair"),
        pytest.param(FILES, {*HEAVY, *PROGRAM}, id="a repair of a file"),
        pytest.param("from cosparse.cli import main; main(['--version'])", HEAVY, id="the command line"),
    ],
)
def test_nothing_is_loaded_that_is_not_needed(code, unwanted):
    loaded = "{name.partition('.')[0] for name in sys.modules}"
    listing = f"import sys, cosparse; {code}\nprint(*sorted({unwanted!r} & {loaded}))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""

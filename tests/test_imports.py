"""What cosparse brings along: nothing that only an extra needs, before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "torch", "deepinv", "dask", "distributed", "zarr", "xarray", "pandas", "gradio", "fastapi", "matplotlib", "sklearn",
    "pylops", "napari", "cupy", "astropy",
}  # fmt: skip
NOTHING_BUT_PYTHON = {*HEAVY, "numpy", "scipy", "numba", "skimage", "PIL", "tifffile", "typer", "rich"}
DENOISE = "import numpy as np; cosparse.denoise(np.eye(16), 0.1, quality='fast')"


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        pytest.param("", NOTHING_BUT_PYTHON, id="the package"),
        pytest.param("cosparse.denoise, cosparse.learn_operator, cosparse.refine_operator", HEAVY, id="its functions"),
        pytest.param(DENOISE, HEAVY, id="a repair"),
        pytest.param("from cosparse.cli import main; main(['--version'])", HEAVY, id="the command line"),
    ],
)
def test_nothing_is_loaded_that_is_not_needed(code, unwanted):
    loaded = "{name.partition('.')[0] for name in sys.modules}"
    listing = f"import sys, cosparse; {code}\nprint(*sorted({unwanted!r} & {loaded}))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""

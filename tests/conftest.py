"""What the tests share: pictures that need no network, the data, the slope of a Taylor test."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from dask_processes import WAIT, Processes
from hypothesis import settings

# The same examples every time, and no time limit for each: the machines that run this are noisy.
settings.register_profile("cosparse", deadline=None, max_examples=40, derandomize=True, database=None)
settings.load_profile("cosparse")

REPOSITORY = Path(__file__).resolve().parents[1]
# What a fixture needs, its tests need: their markers.
MARKERS = {
    "chromium": "browser",
    "server": "slow",
    "separate": "dask",
    "apart": "dask",
    "local": "dask",
    "data": "data",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The web page's pictures are drawn, and extras installed, on demand."""
    parser.addoption("--studio-pictures", metavar="FOLDER", help="draw the web page in all its states into FOLDER")
    parser.addoption("--extras", metavar="NAMES", help="install each of these extras, or all, and run its example")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in MARKERS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKERS[fixture])


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of training and test images, which the product itself does not need."""
    folder = Path(os.environ.get("COSPARSE_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data at {folder}; set COSPARSE_DATA to where it is")
    return folder


@pytest.fixture(scope="session")
def photograph() -> np.ndarray:
    """A small grey photograph, uint8, from the files that come inside scikit-image."""
    from skimage.data import camera

    picture = camera()[60:252, 120:312].copy()
    picture.flags.writeable = False
    return picture


@pytest.fixture(scope="session")
def other_photograph() -> np.ndarray:
    """Another, to judge what was learned from the first."""
    from skimage.data import coins

    picture = coins()[50:242, 50:242].copy()
    picture.flags.writeable = False
    return picture


@pytest.fixture(scope="session")
def small_patches(photograph: np.ndarray) -> np.ndarray:
    """1500 patches of 4x4: enough to learn 24 atoms in well under a second."""
    from cosparse import sample_patches

    patches = sample_patches([photograph], size=4, count=1500)
    patches.flags.writeable = False
    return patches


@pytest.fixture(scope="session")
def taylor_slope():
    """Measure how fast the error of the first-order model of a function along a curve falls.

    Called with f(t), its slope at 0 and the step lengths. A right gradient gives 2, a wrong one 1.
    """

    def measure(f, rate, steps):
        start = f(0.0)
        errors = [abs(f(t) - start - t * rate) for t in steps]
        # An error that is only rounding says nothing: the steps were chosen too small.
        assert min(errors) > 1e-13 * abs(start)
        return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])

    return measure


@pytest.fixture(scope="session")
def scene(photograph, other_photograph):
    """Two unlike halves, so that the tiles differ."""
    return np.concatenate([photograph, other_photograph], axis=1)[:180, 60:330]


# Clusters end with their module: their threads use `random`, which Hypothesis forbids while it draws.


@pytest.fixture(scope="module")
def separate(tmp_path_factory):
    """A scheduler and two workers; tests that kill a worker start another."""
    processes = Processes(tmp_path_factory.mktemp("dask"))
    for _ in range(2):
        processes.worker()
    with processes.wait() as client:
        client.wait_for_workers(2, timeout=WAIT)
        processes.client = client
        yield processes
    processes.end()


@pytest.fixture
def apart(tmp_path):
    """A scheduler without workers, for one test."""
    processes = Processes(tmp_path)
    yield processes
    processes.end()


@pytest.fixture(scope="module")
def local():
    """A LocalCluster of two worker processes."""
    from cosparse import cluster

    with cluster.connect(workers=2) as client:
        yield client


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty one, to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Run a command line; returns the exit code, and stdout as lines (as records if --json)."""

    import json

    from cosparse.cli import main

    def call(*arguments, code=0):
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == code
        out, call.err = capsys.readouterr()
        lines = out.splitlines()
        return [json.loads(line) for line in lines] if "--json" in arguments else lines

    return call


@pytest.fixture(scope="session")
def clean(photograph: np.ndarray) -> np.ndarray:
    """A part of it as floats on 0..1."""
    return photograph[40:136, 40:136] / 255


@pytest.fixture(scope="session")
def colour() -> np.ndarray:
    """A small photograph in colour, uint8."""
    from skimage.data import astronaut

    return astronaut()[80:128, 200:256].copy()

"""Every extra, alone in an empty environment: it installs, and the example that goes with it runs.

    make test-extras                                # all, some minutes each; or
    pytest tests/test_extras.py --extras xarray,web

Without --extras only what needs no installing is tested: that none is left out, and that examples say what they need.
An example is installed as its own lines tell a reader to ("pip install 'cosparse[pylops]' matplotlib"), from the wheel.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

import pytest
from packages import REPOSITORY, backend, checked_out, pip, run
from picture_files import HEIC

EXTRAS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
ELSEWHERE = {"test", "test-napari", "lint", "docs"}  # installed by `make test`, `test-napari`, `lint` and `docs`
EXAMPLES = {
    "sklearn": ["sklearn_pipeline"],
    "xarray": ["labelled_arrays"],
    "napari": ["napari_layers"],
    "cluster": ["cluster"],
    "pylops": ["pylops_seismic", "pyproximal_tomography"],
    "torch": ["torch_training"],
    "deepinv": ["deepinv_deblurring"],
}
# What is no library to program with is tried as its user would, and what has an example that needs another extra too.
TRIED = {
    "xarray": """
import numpy as np, xarray
import cosparse
sky = xarray.DataArray(np.random.default_rng(0).random((24, 32)), dims=("y", "x"), attrs={"units": "counts"})
assert cosparse.denoise(sky, 0.3, quality="fast").attrs == sky.attrs
""",
    "bench": """
import numpy as np
from cosparse.baselines import available, denoisers, inpainters, learners
assert all(available(name) for name in (*denoisers, *inpainters, *learners))
noisy = 100 + np.random.default_rng(0).normal(0, 20, (48, 48)).astype(np.float32)
assert np.abs(denoisers["bm3d"](noisy, 20.0)[8:-8, 8:-8] - 100).mean() < 9
hole = np.zeros((48, 48), bool)
hole[20:24] = True
assert np.abs(inpainters["telea"](np.where(hole, 0, np.float32(100)), hole) - 100).max() < 4  # it works on bytes
""",
    "heic": """
import base64
from cosparse.images import read_image
from cosparse.repair import repair
picture = read_image(base64.b64decode("{heic}"))
assert repair(picture, "denoise", sigma=5, quality="fast").picture.pixels.shape == (48, 32, 3)
""",
    "web": """
import subprocess, sys, urllib.request
from pathlib import Path
page = [str(Path(sys.executable).parent / "cosparse"), "studio", "--no-browser", "--port", "0"]
with subprocess.Popen(page, stdout=subprocess.PIPE, text=True) as studio:
    address = next(word for line in studio.stdout for word in line.split() if word.startswith("http://"))
    assert b"cosparse" in urllib.request.urlopen(address).read()
    studio.terminate()
""",
}
# A torch without CUDA, where there is one: see the Makefile.
FIRST = {"torch": ["torch==2.13.0"], "deepinv": ["torch==2.13.0", "torchvision==0.28.0"]}


def told(example: str) -> tuple[str, list[str]]:
    """The extra, and what else an example tells its reader to install."""
    text = (REPOSITORY / "docs" / "examples" / f"{example}.py").read_text(encoding="utf-8")
    line = re.search(r"pip install 'cosparse\[([\w,-]+)\]'(.*)$", text.split('"""')[1], re.MULTILINE)
    assert line, f"{example}: does not say how to install what it needs"
    return line[1], line[2].replace("`", "").replace("'", "").split()


def test_none_is_left_out():
    assert EXAMPLES.keys() | TRIED.keys() == EXTRAS.keys() - ELSEWHERE
    for extra, examples in EXAMPLES.items():
        for example in examples:
            assert extra in told(example)[0].split(",")


def test_an_example_that_needs_an_extra_says_so():
    needs = {re.split(r"[ >=<\[]", line)[0].lower() for extra in EXAMPLES for line in EXTRAS[extra]} - {"cosparse"}
    needs |= {"sklearn"}
    for path in sorted((REPOSITORY / "docs" / "examples").glob("*.py")):
        imported = re.findall(r"^(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if needs & set(imported):
            assert set(told(path.stem)[0].split(",")) <= EXTRAS.keys(), path.name


# -- the long form ----------


@pytest.fixture(scope="module")
def ground():
    with tempfile.TemporaryDirectory(prefix="cosparse-extras-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def built(ground):
    """The source distribution, whole, and the wheel that is built from it."""
    checkout = checked_out(ground / "checkout", without=())
    build = backend(ground / "builder", checkout)
    build("build", "-t", "sdist", "-d", ground / "dist", cwd=checkout)
    (source,) = (ground / "dist").glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(ground / "unpacked", filter="data")
    (unpacked,) = (ground / "unpacked").iterdir()
    build("build", "-t", "wheel", "-d", ground / "dist", cwd=unpacked)
    (wheel,) = (ground / "dist").glob("*.whl")
    return unpacked, wheel


@pytest.fixture
def wheel(built):
    return built[1]


@pytest.fixture
def asked(request):
    """Skips all that takes long unless it was asked for."""
    if request.config.getoption("--extras") is None:
        pytest.skip("installs for minutes: make test-extras")


@pytest.fixture
def empty(ground, request, asked):
    """The Python of an environment with nothing in it."""
    names = request.config.getoption("--extras")
    extra = request.node.callspec.params["extra"]
    if names != "all" and extra not in names.split(","):
        pytest.skip(f"not among {names}")
    place = ground / extra
    run(sys.executable, "-m", "venv", place)
    yield place / "bin" / "python"
    shutil.rmtree(place)


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - ELSEWHERE))
def test_an_extra_alone(extra, empty, wheel):
    if extra in FIRST:
        pip(empty, "install", "--only-binary=:all:", *FIRST[extra], check=False)
    pip(empty, "install", "--only-binary=:all:", "--no-compile", f"{wheel}[{extra}]")
    assert run(empty, "-m", "pip", "check").returncode == 0
    empty_folder = empty.parent / "empty"
    empty_folder.mkdir()
    plain = {"PATH": os.environ["PATH"], "HOME": str(empty_folder), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    if extra in TRIED:
        run(empty, "-c", TRIED[extra].replace("{heic}", _heic()), cwd=empty_folder, env=plain)
    for example in EXAMPLES.get(extra, ()):
        extras, more = told(example)
        pip(empty, "install", "--only-binary=:all:", "--no-compile", f"{wheel}[{extras}]", *more)
        script = REPOSITORY / "docs" / "examples" / f"{example}.py"
        screen = ["xvfb-run", "--auto-servernum"] if extra == "napari" and shutil.which("xvfb-run") else []
        # deepinv imports torchvision, which beside a torch without CUDA must be helped.
        around = [REPOSITORY / "tests" / "interop" / "torchvision_declared.py"] if extra == "deepinv" else []
        run(*screen, empty, *around, script, cwd=empty_folder, env=plain)


def test_the_source_distribution_has_tests_that_pass(asked, built):
    """Some of them: `make test` runs all on the same files."""
    unpacked, _ = built
    some = ["tests/test_penalty.py", "tests/test_house.py", "tests/kernels/test_reference.py", "tests/test_imports.py"]
    plain = {**os.environ, "PYTHONPATH": str(unpacked / "src")}
    done = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *some, cwd=unpacked, env=plain)
    assert " passed" in done.stdout and "failed" not in done.stdout
    assert (unpacked / "docs" / "examples" / "equation.py").is_file() and (unpacked / "LICENSE").is_file()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_the_demo_as_in_the_container(asked, ground, wheel):
    """What packaging/Containerfile does, without one: compiled beforehand, then read-only, and no one's."""
    ground.chmod(0o755)
    place, kernels, work = ground / "opt", ground / "kernels", ground / "work"
    run(sys.executable, "-m", "venv", place)
    pip(place / "bin" / "python", "install", "--only-binary=:all:", wheel)
    image = {"PATH": f"{place / 'bin'}:{os.defpath}", "NUMBA_CACHE_DIR": str(kernels), "PYTHONDONTWRITEBYTECODE": "1"}
    kernels.mkdir()
    run(place / "bin" / "cosparse", "demo", "-o", ground / "first", env={**image, "HOME": "/nonexistent"})
    run("chmod", "-R", "a-w,a+rX", place, kernels)
    work.mkdir()
    shutil.chown(work, 65534, 65534)
    before = sorted(path for path in kernels.rglob("*"))
    no_one = {**image, "HOME": "/", "TMPDIR": str(work)}
    reader = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+dac_read_search",
              "--ambient-caps=-all,+dac_read_search")  # fmt: skip
    done = run(*reader, place / "bin" / "cosparse", "demo", cwd=work, env=no_one)
    assert "dB" in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert (work / "cosparse-demo" / "sheet.png").stat().st_size > 0
    assert sorted(path for path in kernels.rglob("*")) == before  # nothing was compiled again, nothing written
    run("chmod", "-R", "u+w", place, kernels)
    shutil.rmtree(place)


def _heic() -> str:
    return base64.b64encode(HEIC).decode()

"""What is shipped: its version and contents, and that it works where nothing can be written.

For each Python that is found the wheel is installed into an empty environment, which then is made read-only; a user who
is not root and has no home runs it there.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from packages import backend, checked_out, pip, run

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# The interpreter may stand in root's home: to read everything is not to write anything.
READER = (*NOBODY, "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="the test needs the modes and users of POSIX"),
]


@pytest.fixture(scope="module")
def ground():
    """A folder that every user can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="cosparse-wheel-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


# -- building ----------


@pytest.fixture(scope="module")
def checkout(ground):
    return checked_out(ground / "checkout")


@pytest.fixture(scope="module")
def builder(ground, checkout):
    return backend(ground / "builder", checkout)


@pytest.fixture(scope="module")
def built(ground, builder, checkout):
    """The source distribution and the wheel."""
    builder("build", "-d", ground / "dist", cwd=checkout)
    (source,), (wheel,) = (ground / "dist").glob("*.tar.gz"), (ground / "dist").glob("*.whl")
    return source, wheel


def test_the_version_is_the_commits(ground, builder, checkout, built):
    commit = run("git", "rev-parse", "HEAD", cwd=checkout).stdout[:9]
    version = builder("version", cwd=checkout)
    assert version.endswith(f"+g{commit}")
    with tarfile.open(built[0]) as source:
        source.extractall(ground / "unpacked", filter="data")
    assert builder("version", cwd=next((ground / "unpacked").iterdir())) == version
    run("git", "clone", "-q", "--depth=1", checkout.as_uri(), ground / "shallow")
    assert builder("version", cwd=ground / "shallow").endswith(f"+g{commit}")
    shutil.copytree(checkout, ground / "bare", ignore=shutil.ignore_patterns(".git"))
    from cosparse._version import _UNBUILT

    assert builder("version", cwd=ground / "bare") == _UNBUILT


LARGEST = 1_150_000  # bytes; two fifths are operators, of which the steps for colours have 94,000


def test_the_wheel_is_small(built, record_property):
    """`pytest --junitxml` and `packaging/RELEASE.md` tell its size."""
    size = built[1].stat().st_size
    record_property("bytes", size)
    assert size < LARGEST


def test_the_wheel_has_the_package_and_nothing_else(built, checkout):
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = wheel.read(next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))).decode()
    tracked = run("git", "ls-files", "src/cosparse", cwd=checkout).stdout.splitlines()
    left_out = {"cosparse/baselines/coupled_dictionaries.safetensors"}  # of a rival in the tables, and large
    assert names == ({name.removeprefix("src/") for name in tracked} - left_out) | {"cosparse/_built.py"}
    assert {"cosparse/py.typed", "cosparse/studio/static/studio.js", "cosparse/operators/staged.safetensors"} <= names
    assert "cosparse/reconstruction/stages.toml" in names
    assert "Requires-Dist: numba" in metadata
    assert "imageio" not in metadata


# -- using ----------


def interpreters(version):
    """Where a Python of that version may be."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        yield Path(sys._base_executable)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted((root / "versions").glob(f"{version}.*/bin/python"), reverse=True)
    found = shutil.which(f"python{version}")
    if found:
        yield Path(found)


@pytest.fixture(scope="module", params=PYTHONS)
def installed(request, ground, built):
    """The Python of an environment with the wheel and what it needs."""
    place = ground / request.param
    for interpreter in interpreters(request.param):
        shutil.rmtree(place, ignore_errors=True)
        if run(interpreter, "-m", "venv", place, check=False).returncode == 0:
            break
    else:
        pytest.skip(f"Python {request.param} is not on this machine: the wheel is NOT tested with it")
    python = place / "bin" / "python"
    # Of all these files few are imported: those alone are compiled to bytecode, when they are.
    done = pip(python, "install", "--only-binary=:all:", "--no-compile", built[1], check=False)
    if "No matching distribution" in done.stderr:
        pytest.skip(f"Python {request.param}: the wheel is NOT tested with it: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    yield python
    shutil.rmtree(place)


@pytest.fixture
def packages(installed):
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(run(installed, "-c", code).stdout.strip())


@pytest.fixture
def stranger(installed, packages, ground):
    """Run a command as one who is not root, has no home and may write nowhere but to temporary files."""
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write anywhere, and setpriv, which makes another user, is not on this machine")
        for user in (NOBODY, READER):
            if run(*user, installed, "-c", "import encodings", check=False).returncode == 0:
                break
        else:
            pytest.skip(f"no other user can run {installed.resolve()}: the wheel is NOT tested with it")
    else:
        user = ()
    with tempfile.TemporaryDirectory(dir=ground) as temporary:
        Path(temporary).chmod(0o1777)
        bytecode = f"{temporary}/bytecode"  # of NumPy and all the others, for the next process
        environment = {
            "PATH": os.defpath, "HOME": "/nonexistent", "TMPDIR": temporary, "PYTHONPYCACHEPREFIX": bytecode
        }  # fmt: skip
        writable(packages, False)

        def call(*command, **more):
            return run(*user, *command, cwd=temporary, env={**environment, **more})

        call.temporary = Path(temporary)
        yield call
        writable(packages, True)


def writable(folder, yes):
    """Whether its owner may write to anything in a folder."""
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | stat.S_IWUSR if yes else mode & ~0o222)


API = """
import os
import numpy as np
import cosparse
from cosparse.operator import shipped_operators
from PIL import Image

package = os.path.dirname(cosparse.__file__)
assert os.geteuid() != 0 and "site-packages" in package, package
assert not os.access(package, os.W_OK) and not os.path.exists(os.environ["HOME"])
clean = np.add.outer(np.arange(32), np.arange(32)) * 4.0
noisy = np.clip(clean + np.random.default_rng(0).normal(0, 20, clean.shape), 0, 255).astype(np.uint8)
for name in shipped_operators():
    better = cosparse.denoise(noisy, 20, operator=cosparse.load_operator(name), quality="fast")
    assert cosparse.psnr(clean.astype(np.uint8), better) > cosparse.psnr(clean.astype(np.uint8), noisy) + 5, name
Image.fromarray(noisy).save("noisy.png")
print(cosparse.__version__, *shipped_operators())
"""


KERNEL = """
import numpy
from cosparse.kernels.fused import _penalise
_penalise(numpy.ones((2, 2), "f"), numpy.ones(2, "f"), 0, numpy.float32(1), numpy.float32(0), 4)
print(sum(_penalise.stats.cache_hits.values()))
"""


def test_it_works_for_a_stranger_who_can_write_nothing(stranger, installed, packages, built):
    version, *operators = stranger(installed, "-c", API).stdout.split()
    assert f"cosparse-{version}-" in built[1].name
    assert set(operators) == {"default", "goal", "goal-large", "staged"}
    assert stranger(installed.parent / "cosparse", "--version").stdout == f"cosparse {version}\n"
    done = stranger(
        installed, "-m", "cosparse", "denoise", "noisy.png", "clean.png", "--sigma", "20", "--quality", "fast"
    )
    assert (stranger.temporary / "clean.png").stat().st_size > 0
    assert "Traceback" not in done.stderr
    (kernels,) = stranger.temporary.glob("cosparse-*/kernels-*")
    image = packages.parent / "image"  # as of a container: filled beforehand, then read-only
    shutil.copytree(kernels, image / "cosparse" / kernels.name)
    for folder in (image / "cosparse" / kernels.name, image / "cosparse", image):
        folder.chmod(0o555)
    shutil.rmtree(kernels.parent)
    assert stranger(installed, "-c", KERNEL, NUMBA_CACHE_DIR=str(image)).stdout == "1\n"
    assert not kernels.parent.exists()
    writable(image, True)


def test_uninstalling_leaves_nothing(installed, packages, ground):
    """Not even if the one who ran it could write there."""
    home = ground / "home"
    home.mkdir(exist_ok=True)
    run(installed, "-c", KERNEL, env={"HOME": str(home), "PATH": os.defpath})
    assert list(home.rglob("fused._penalise*.nbc"))
    pip(installed, "uninstall", "-y", "cosparse")
    assert not [path.name for path in packages.iterdir() if "cosparse" in path.name]

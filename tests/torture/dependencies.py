"""Promise 9."""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

from torture.children import TESTS, environment
from torture.frame import Impossible, Promise, Run

promise = Promise(9, "Dependencies: old, new and coming ones, permissive, no code from data, no network, listed")

REPOSITORY = TESTS.parent
SOURCE = REPOSITORY / "src" / "cosparse"
QUICK = "not (browser or dask or data or slow)"
TESTED = "test"  # the extra that the suites are run with
# Tests that need an extra, by what they import.
EDGES = [
    f"--ignore=tests/{name}"
    for name in ("cluster", "interop", "studio", "test_promises.py", "test_packaging.py", "test_identity.py", "torture")
]
# Old packages use what newer ones beside them have come to warn of, as Matplotlib 3.9 does of pyparsing.
OLD = ("-W", "ignore::DeprecationWarning")
# Reading data by these would run code from it.
RUNS = {
    "eval", "exec", "compile", "__import__", "pickle.load", "pickle.loads", "marshal.load", "marshal.loads",
    "cloudpickle.load", "cloudpickle.loads", "dill.load", "joblib.load", "shelve.open", "yaml.load", "yaml.unsafe_load",
    "torch.load", "numpy.load", "np.load", "os.system", "os.popen", "pd.read_pickle",
}  # fmt: skip


@promise.part(markers=())
def licences(run: Run) -> None:
    """Everything that the core and the extras bring is permissive, or known and not ours."""
    sys.path.insert(0, str(REPOSITORY / "packaging"))
    try:
        import inventory
    finally:
        sys.path.pop(0)
    rows = inventory.inventory()
    strange = [f"{row['package']}: {row['licence']}" for row in rows if row["kind"] == "NOT KNOWN"]
    run.hold(not strange, f"licences that nobody has looked at: {strange}; see packaging/inventory.py")
    core = [row["package"] for row in rows if row["comes_with"] == "the core" and row["kind"] != "permissive"]
    run.hold(not core, f"the core needs what is not permissive: {core}")
    run.count("packages", len(rows))
    wheel = run.folder / "made-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        lines = [
            "Metadata-Version: 2.4",
            "Name: made",
            "Version: 1.0",
            "License-Expression: MIT",
            "Requires-Dist: numpy",
        ]
        archive.writestr("made-1.0.dist-info/METADATA", "\n".join([*lines, "Requires-Dist: zarr; extra == 'big'", ""]))
    bill = json.loads(inventory.sbom(wheel).read_text(encoding="utf-8"))
    purls = [one["purl"] for one in bill["components"]]
    run.hold(purls == [f"pkg:pypi/numpy@{version('numpy')}"], f"the bill of a wheel that needs NumPy lists {purls}")
    run.count("bills of materials")


@promise.part(markers=())
def no_code_from_data(run: Run) -> None:
    """No module calls what would run code that data hold, and files that try run none."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                run.hold(name not in RUNS, f"{file.relative_to(SOURCE)}:{node.lineno} calls {name}")
            unsafe = isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
            run.hold(not unsafe, f"{file.relative_to(SOURCE)} allows pickles")
        run.count("modules")
    paths = [str(run.folder / name) for name in _hostile(run.folder)]
    done = _python(_READ, *paths)
    run.hold(done.returncode == 0, done.stderr[-500:])
    run.hold(not (run.folder / "ran").exists(), "a file ran code")
    run.count("hostile files", len(paths))


class Runs:
    """Its pickle makes a file when it is read."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.target),)


def _hostile(folder: Path) -> list[str]:
    """Files that would run code if they were unpickled or evaluated."""
    import numpy as np

    code = pickle.dumps(Runs(folder / "ran"))
    names = [
        f"{stem}.{end}" for stem in ("pickle", "text") for end in ("safetensors", "npy", "png", "tif", "json", "npz")
    ]
    for name in names:
        text = f"__import__('os').mkdir({str(folder / 'ran')!r})".encode()
        (folder / name).write_bytes(code if name.startswith("pickle") else text)
    objects = np.empty(1, object)
    objects[0] = Runs(folder / "ran")
    np.save(folder / "objects.npy", objects, allow_pickle=True)
    np.savez(folder / "objects.npz", kernel=objects)
    return [*names, "objects.npy", "objects.npz"]


# Every door through which a file comes in; each must refuse. Nothing may be unpickled, compiled or started meanwhile.
_READ = """
import sys
import numpy as np
import cosparse, cosparse.images, cosparse.cli.psf_option
def told(event, arguments):
    if event in ("pickle.find_class", "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.mkdir"):
        sys.exit(f"{event} {arguments}")
patches = cosparse.sample_patches([np.add.outer(np.arange(64) % 7, np.arange(64) % 5) / 12], 4, 200)
doors = {
    "operator": cosparse.load_operator, "picture": cosparse.images.read_image,
    "kernel": cosparse.cli.psf_option.point_spread,
    "checkpoint": lambda path: cosparse.learn_operator(patches, 16, checkpoint=path),
}
for name, door in doors.items():
    try:
        door("/no such folder/no such file.safetensors")
    except Exception:
        pass
sys.addaudithook(told)
for path in sys.argv[1:]:
    for name, door in doors.items():
        try:
            door(path)
        except Exception as refused:
            pass
        else:
            sys.exit(f"{name}: {path} was taken")
"""


@promise.part()
def no_network(run: Run) -> None:
    """All tasks, learning and the command line reach for nothing outside; in the long form the quick tests too."""
    done = _python(_WORK, str(run.folder))
    run.hold(done.returncode == 0, f"{done.stderr[-800:]}")
    run.count("calls without a network", int(done.stdout.split()[-1]))
    if not run.short:
        passed = suite([sys.executable], run, "-p", "torture.no_network")
        run.count("tests without a network", passed)


_WORK = """
import sys
from torture import no_network

no_network.watch()
import numpy as np, cosparse
from cosparse.cli import main
from torture.specimens import GREY
image, calls, few = np.tile(GREY, (2, 2)), 0, cosparse.Settings(iterations=3)
for call in (
    lambda: cosparse.denoise(image, 10), lambda: cosparse.denoise(image), lambda: cosparse.upscale(image, 2),
    lambda: cosparse.inpaint(image, image > 200), lambda: cosparse.deblur(image, "gaussian:1"),
    lambda: cosparse.learn_operator(cosparse.sample_patches([image], 4, 500), 16, settings=few),
    lambda: cosparse.estimate_noise(image), lambda: main(["--help"]), lambda: main(["inspect", "default"]),
):
    call()
    calls += 1
assert not no_network.tried, no_network.tried
print(calls)
"""


@promise.part(long_only=True)
def lowest(run: Run) -> None:
    """The quick tests with the oldest of every package that is allowed, with all extras and with none."""
    for name, extra in (("core", ""), ("all", TESTED)):
        _environment(run, name, extra, "--resolution", "lowest-direct", tests=OLD)


@promise.part(long_only=True)
def coming(run: Run) -> None:
    """The quick tests with the newest of every package, releases that are yet to come among them."""
    _environment(run, "coming", TESTED, "--prerelease", "allow")


@promise.part(long_only=True)
def pythons(run: Run) -> None:
    """The quick tests with every other Python that is found."""
    found = 0
    for number in ("3.11", "3.12", "3.13", "3.14"):
        if sys.version_info[:2] == tuple(map(int, number.split("."))):
            continue
        try:
            _environment(run, f"Python {number}", TESTED, python=number)
            found += 1
        except Impossible as why:
            print(f"   {why}", flush=True)
            run.count(f"Python {number} not found")
    if not found:
        raise Impossible("no other Python is found")


@promise.part(long_only=True)
def audit(run: Run) -> None:
    """No package has a known hole (pip-audit)."""
    if shutil.which("pip-audit") is None:
        raise Impossible("pip-audit is not installed")
    done = subprocess.run(
        ["pip-audit", "--format", "json", "--skip-editable"], capture_output=True, text=True, check=False
    )
    try:
        seen = json.loads(done.stdout)["dependencies"]
    except ValueError:
        raise Impossible(f"pip-audit cannot ask its service: {done.stderr.strip().splitlines()[-1:]}") from None
    asked = [one for one in seen if "vulns" in one]
    if not asked:
        raise Impossible("pip-audit's service knows none of the packages, so it was not asked in truth")
    bad = [f"{one['name']} {one['version']}: {[hole['id'] for hole in one['vulns']]}" for one in asked if one["vulns"]]
    run.hold(not bad, f"known holes: {bad}")
    run.count("packages audited", len(asked))


def _environment(run: Run, name: str, extra: str, *options: str, python: str = "", tests: tuple[str, ...] = ()) -> None:
    """A new environment of uv's choice, and the quick tests there."""
    if shutil.which("uv") is None:
        raise Impossible("uv is not installed: it resolves environments")
    folder = run.folder / name.replace(" ", "-")
    made = ["uv", "venv", "--quiet", "--no-python-downloads", "--python", python or sys.executable, str(folder)]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        raise Impossible(f"no Python {python} is found")
    interpreter = str(folder / "bin" / "python")
    install = ["uv", "pip", "install", "--quiet", *options, "--python", interpreter]
    wanted = [f"{REPOSITORY}[{extra}]"] if extra else [str(REPOSITORY), "pytest>=8.3", "hypothesis>=6.115"]
    done = subprocess.run([*install, *wanted], capture_output=True, text=True, check=False)
    run.hold(done.returncode == 0, f"{name}: cannot be installed: {done.stderr[-800:]}")
    run.count(f"tests passed, {name}", suite([interpreter], run, *tests, *(() if extra else EDGES)))


def suite(interpreter: list[str], run: Run, *options: str) -> int:
    """Run the quick tests; returns how many passed. Those that look at a checkout's environment are its own."""
    command = [*interpreter, "-m", "pytest", "-q", "-m", QUICK, "-p", "no:cacheprovider", *options]
    command += ["--basetemp", str(run.folder / "tests")]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment(), capture_output=True, text=True, check=False)
    run.hold(done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:])
    passed = re.search(r"(\d+) passed", done.stdout)
    return int(passed[1]) if passed else 0


def _python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)

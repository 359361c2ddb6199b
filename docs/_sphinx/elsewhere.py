"""Examples whose library is not installed here, run by an environment beside this one that has it.

`make test-torch` and `make test-napari` make such environments, .venv-torch and .venv-napari. What a script printed and
drew there is kept under gallery/elsewhere with a digest of the script, so that it runs once; absent_libraries puts it
on the page. Where there is no such environment the script is shown alone.

    python docs/_sphinx/elsewhere.py SCRIPT FOLDER      what is run in the other environment
"""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DECLARED = ROOT / "tests" / "interop" / "torchvision_declared.py"


def pythons(packages: list[str]) -> list[Path]:
    """The environments in the repository that have all the packages."""
    needed = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {[*packages, 'matplotlib']!r})))"
    found = sorted(ROOT.glob(".venv-*/bin/python"))
    return [one for one in found if subprocess.run([one, "-c", needed], check=False).returncode == 0]


def ran(script: Path, packages: list[str], folder: Path) -> Path | None:
    """The folder with what a script said and drew, if it could be run; an error of the script is one here."""
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    kept = folder / "digest"
    if kept.is_file() and kept.read_text() == digest:
        return folder
    python = next(iter(pythons(packages)), None)
    screen = ["xvfb-run", "--auto-servernum"] if "napari" in packages else []
    if python is None or (screen and not shutil.which(screen[0])):
        return None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    command = [*screen, str(python), __file__, str(script), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"{script.name} failed in {python.parents[1].name}:\n{done.stderr}")
    (folder / "said.txt").write_text(done.stdout, encoding="utf-8")
    kept.write_text(digest)
    return folder


def pictures(folder: Path) -> list[Path]:
    """In the order in which they were drawn."""
    return sorted(folder.glob("*.png"))


def _run(script: Path, folder: Path) -> None:
    """Here, with every figure that is shown kept as a file."""
    import matplotlib.pyplot as plt
    from runnable import STYLE

    plt.rcParams.update(STYLE)

    def show() -> None:
        for number in plt.get_fignums():
            plt.figure(number).savefig(folder / f"{script.stem}_{len(pictures(folder)):02}.png", dpi=100)
        plt.close("all")

    plt.show = show
    if "deepinv" in script.name:
        runpy.run_path(str(DECLARED))["declare"]()
    sys.argv = [str(script)]
    runpy.run_path(str(script), run_name="__main__")
    show()


if __name__ == "__main__":
    _run(Path(sys.argv[1]), Path(sys.argv[2]))

"""What the tests of packaging share: the project as a checkout, its builds, and environments to install them into."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
LATER = ("benchmarks/", "docs/")  # neither package nor tests need them


def run(*command, check=True, **options):
    """Run to the end; an error shows what was printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def pip(python, *arguments, check=True):
    return run(python, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check", check=check)


def checked_out(place, without=LATER):
    """The files as they are now, as one commit of a repository without tags."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("needs git and a checkout, to know which files are the project's")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=REPOSITORY).stdout
    for name in filter(None, listed.split("\0")):
        if (REPOSITORY / name).is_file() and not name.startswith(tuple(without)):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, place / name)
    run("git", "init", "-q", cwd=place)
    run("git", "add", "-A", cwd=place)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    run("git", *who, "commit", "-qm", "everything", cwd=place)
    return place


def backend(place, checkout):
    """Runs the build backend, in an environment that has what pyproject.toml asks for and nothing else."""
    run(sys.executable, "-m", "venv", place)
    python = place / "bin" / "python"
    needs = tomllib.loads((checkout / "pyproject.toml").read_text())["build-system"]["requires"]
    if pip(python, "install", *needs, check=False).returncode:
        pytest.skip(f"cannot install {needs}, which a build needs: is there a package index?")
    return lambda *arguments, cwd: run(python, "-m", "hatchling", *arguments, cwd=cwd).stdout.strip()

"""The examples, run as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "examples"


def run(name: str) -> str:
    done = subprocess.run([sys.executable, FOLDER / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_tomography_beats_filtered_back_projection():
    filtered, ours = map(float, re.findall(r"([\d.]+) dB", run("tomography.py")))
    assert ours > filtered + 10


def test_the_equation_from_its_parts():
    before, after = map(float, re.findall(r"([\d.]+) dB", run("equation.py")))
    assert after > before + 7
    assert len((FOLDER / "equation.py").read_text().strip().splitlines()) <= 15


def test_a_task_in_one_file():
    doubled, by_function, by_door = map(float, re.findall(r"([\d.]+) dB", run("deinterlace.py")))
    assert by_function == by_door > doubled + 3


@pytest.mark.slow
def test_three_kinds_of_noise():
    found = list(map(float, re.findall(r"([\d.]+) dB", run("noise.py"))))
    gains = [after - before for before, after in zip(found[::2], found[1::2], strict=True)]
    assert gains[0] > 4 and gains[1] > 1.5 and gains[2] > 1


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_has_a_test(path):
    """Here, or with the tests of the library that it needs."""
    tests = [Path(__file__), *Path(__file__).with_name("interop").glob("test_*.py")]
    assert any(f'run("{path.name}")' in test.read_text(encoding="utf-8") for test in tests)

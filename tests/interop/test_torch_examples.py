"""The examples of torch and deepinv, run as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed; make test-torch brings it")
pytest.importorskip("matplotlib", reason="matplotlib is not installed; the examples draw with it")

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples"
DECLARED = Path(__file__).with_name("torchvision_declared.py")


def run(name: str) -> list[float]:
    """The dB that an example prints."""
    quiet = {**os.environ, "MPLBACKEND": "Agg"}
    before = [DECLARED] if name.startswith("deepinv") else []
    done = subprocess.run(
        [sys.executable, *before, FOLDER / name], capture_output=True, text=True, check=False, env=quiet
    )
    assert done.returncode == 0, done.stderr
    return list(map(float, re.findall(r"([\d.]+) dB", done.stdout)))


@pytest.mark.slow
def test_training_on_text_gains():
    noisy, before, after = run("torch_training.py")
    assert before > noisy + 5 and after > before + 0.2


@pytest.mark.slow
def test_inside_deepinv(deepinv):
    measured, total_variation, plug_and_play, ours = run("deepinv_deblurring.py")
    assert total_variation > measured + 1 and min(plug_and_play, ours) > total_variation

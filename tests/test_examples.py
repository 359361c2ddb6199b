"""The examples, run as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "examples"


def run(name: str) -> str:
    drawn = {**os.environ, "MPLBACKEND": "Agg"}  # nowhere
    done = subprocess.run([sys.executable, FOLDER / name], env=drawn, capture_output=True, text=True, check=False)
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


@pytest.mark.slow
def test_atoms_tell_textures_apart():
    pytest.importorskip("sklearn", reason="needs scikit-learn: the extra sklearn")
    ours, principal = map(float, re.findall(r"([\d.]+) % right", run("sklearn_pipeline.py")))
    assert ours > principal + 1


@pytest.mark.slow
def test_labelled_and_lazy_arrays():
    pytest.importorskip("xarray", reason="needs xarray: the extra xarray")
    said = run("labelled_arrays.py")
    before, after = map(float, re.findall(r"([\d.]+) dB", said))
    assert after > before + 7
    assert int(re.search(r"in (\d+) tiles", said)[1]) > 2
    assert float(re.search(r"to the whole: (\S+)", said)[1]) < 1e-3


@pytest.mark.slow
def test_colours_of_a_noisy_mosaic():
    bilinear, denoised, ours, *_ = map(float, re.findall(r"([\d.]+) dB", run("demosaic.py")))
    assert ours > denoised + 1.5 and denoised > bilinear


@pytest.mark.slow
def test_resonance_imaging_with_several_coils():
    found = dict(re.findall(r"(.+): ([\d.]+) dB", run("mri.py")))
    ours = float(found.pop("cosparse"))
    assert all(ours > float(other) + 2 for other in found.values()), found


@pytest.mark.slow
def test_seismic_impedance_with_pylops():
    pytest.importorskip("pylops", reason="pip install 'cosparse[pylops]'")
    rough, smooth, ours = map(float, re.findall(r"([\d.]+) dB", run("pylops_seismic.py")))
    assert ours > smooth + 2 and smooth > rough


@pytest.mark.slow
def test_tomography_by_pyproximal():
    pytest.importorskip("pyproximal", reason="pip install 'cosparse[pylops]'")
    variation, ours, _ = map(float, re.findall(r"([\d.]+) dB\n", run("pyproximal_tomography.py")))
    assert ours > variation + 0.5


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_has_a_test_here(path):
    assert f'run("{path.name}")' in Path(__file__).read_text()

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
    without_screen = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, FOLDER / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=without_screen)
    assert done.returncode == 0, done.stderr
    return done.stdout


def quoted(page: str, *figures: float) -> bool:
    """Whether a page has these figures, to a tenth."""
    text = (FOLDER.parent / page).read_text(encoding="utf-8")
    said = [float(figure) for figure in re.findall(r"\d+\.\d+", text)]
    return all(any(abs(one - figure) < 0.11 for one in said) for figure in figures)


def decibels(text: str) -> dict[str, float]:
    """What lines as "name: 30.12 dB" say."""
    return {name: float(value) for name, value in re.findall(r"^(.+): ([\d.]+) dB", text, re.MULTILINE)}


@pytest.mark.slow
def test_tomography_beats_filtered_back_projection():
    filtered, ours = map(float, re.findall(r"([\d.]+) dB", run("tomography.py")))
    assert ours > filtered + 10


def test_the_equation_from_its_parts():
    before, after = map(float, re.findall(r"([\d.]+) dB", run("equation.py")))
    assert after > before + 7
    code = (FOLDER / "equation.py").read_text().split('"""')[2].split("# %%")[0]
    assert len(code.strip().splitlines()) <= 15


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
    assert ours > principal + 1 and quoted("interop-sklearn.md", ours, principal)


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
    assert quoted("interop-pylops.md", rough, smooth, ours)


@pytest.mark.slow
def test_tomography_by_pyproximal():
    pytest.importorskip("pyproximal", reason="pip install 'cosparse[pylops]'")
    variation, ours, alone = map(float, re.findall(r"([\d.]+) dB\n", run("pyproximal_tomography.py")))
    assert ours > variation + 0.5
    assert quoted("interop-pylops.md", variation, ours, alone)


@pytest.mark.slow
def test_an_old_photograph():
    found = decibels(run("old_photograph.py"))
    assert found["filled, then denoised"] > found["at once"] > found["scan"] + 10


@pytest.mark.slow
def test_text_is_removed():
    found = decibels(run("text_removal.py"))
    assert found["cosparse"] > found["biharmonic"] + 1


def test_object_removal_goes_on_with_the_texture():
    found = dict(re.findall(r"(.+): standard deviation ([0-9.]+)", run("object_removal.py")))
    spread = {name: float(value) for name, value in found.items()}
    assert spread["smooth"] < 0.5 * spread["before"]
    for name in ("copied", "another"):
        assert 0.75 * spread["before"] < spread[name] < 1.3 * spread["before"]


@pytest.mark.slow
def test_deblurring_beats_filters_at_their_best():
    found = decibels(run("deblurring.py"))
    for kind in ("motion of 13 pixels", "out of focus"):
        assert found[f"{kind}, cosparse"] > found[f"{kind}, Richardson-Lucy, its best"] + 2


@pytest.mark.slow
def test_upscaling_gains_by_knowing_what_made_the_picture_small():
    for line in run("upscaling.py").splitlines():
        made = re.search("made by (\\w+)", line)[1]
        plain, *told = map(float, re.findall(r"([\d.]+) dB", line))
        right, wrong = told if made == "bicubic" else told[::-1]
        assert right > wrong + 0.05 and right > plain + 0.2


@pytest.mark.slow
def test_pages_of_a_stack():
    found = run("stack.py")
    for before, after, told in re.findall(r"([\d.]+) dB, estimated ([\d.]+) dB, told ([\d.]+) dB", found):
        assert float(after) > float(before) + 3 and abs(float(after) - float(told)) < 0.3
    assert "(4, 160, 160) uint16" in found


@pytest.mark.slow
def test_a_quarter_of_k_space():
    found = decibels(run("kspace.py"))
    assert found["photograph, cosparse"] > found["photograph, total variation"] + 3
    assert found["phantom, cosparse"] > found["phantom, zeros"] + 15


@pytest.mark.slow
def test_a_measurement_of_ones_own():
    found = run("measurement.py")
    assert "A is not consistent with its adjoint" in found
    assert decibels(found)["reconstructed"] > decibels(found)["as seen"] + 20


@pytest.mark.slow
def test_an_own_operator_wins_where_pictures_are_unlike_photographs():
    gains, further = {}, {}
    for line in run("own_operator.py").splitlines():
        goal, own, shipped, trained = map(float, re.findall(r"([\d.]+) dB", line))
        gains[line.split(":")[0]], further[line.split(":")[0]] = own - goal, trained - shipped
    assert min(gains["print"], gains["filaments"]) > 0.3 > max(gains["photograph"], gains["cat"])
    assert min(further["print"], further["filaments"]) > 0.05 and further["filaments"] > 0.3
    assert max(further["photograph"], further["cat"]) < 0.15


@pytest.mark.slow
def test_operators_compared():
    found = run("comparing_operators.py")
    reached = {line.split(":")[0]: float(re.search(r"([\d.]+) dB", line)[1]) for line in found.splitlines()}
    assert reached["staged with the second pass"] > reached["default"] > reached["goal"] > reached["finite differences"]


@pytest.mark.slow
def test_lemmas_hold():
    found = run("lemmas.py")  # asserts them itself
    conditions = list(map(float, re.findall(r"kappa .*: condition ([\d.]+)", found)))
    coherences = list(map(float, re.findall(r"mu .*: coherence ([\d.]+)", found)))
    assert conditions == sorted(conditions, reverse=True) and coherences == sorted(coherences, reverse=True)


@pytest.mark.dask
def test_a_cluster_gives_what_the_whole_gives():
    pytest.importorskip("distributed")
    assert re.search(r"largest difference [01] of 255", run("cluster.py"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_has_a_test(path):
    """Here, or with the tests of the library that it needs."""
    tests = [Path(__file__), *Path(__file__).with_name("interop").glob("test_*.py")]
    assert any(f'"{path.name}"' in test.read_text(encoding="utf-8") for test in tests)

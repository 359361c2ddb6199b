"""Every script of benchmarks/paper runs on a tiny subset and writes a sensible CSV; others too, without data."""

from __future__ import annotations

import csv
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cosparse import load_operator

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def imported():
    """Import a script by name, as if its folder were the current one."""
    before = list(sys.path)
    sys.path[:0] = [str(BENCHMARKS / "paper"), str(BENCHMARKS)]
    yield importlib.import_module
    sys.path[:] = before


@pytest.fixture(scope="module")
def script(data, imported):
    """The same, of one that needs the test images."""
    if not (data / "test").is_dir():
        pytest.skip(f"no test images in {data}")
    return imported


@pytest.fixture
def run(script, tmp_path, monkeypatch):
    """Run a script with --quick; its rows, read back from the CSV. Nothing is kept or overwritten."""
    cells = script("cells")
    monkeypatch.setattr(cells, "CACHE", tmp_path / "cache")

    def call(name, *arguments, output=tmp_path / "results"):
        script(name).main(["--quick", "--quality", "fast", "--output", str(output), *arguments])
        with (output / f"{name}.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    return call


def psnr(rows, method, **where):
    found = [
        float(row["psnr"])
        for row in rows
        if row["method"] == method and all(row[key] == value for key, value in where.items())
    ]
    assert found
    return float(np.mean(found))


def test_denoising(run):
    rows = run(
        "denoising", "--sigma", "25", "--methods", "noisy", "ours", "tv_skimage", "finite_differences", "wavelet"
    )
    assert 19.5 < psnr(rows, "noisy") < 21
    assert psnr(rows, "ours") > psnr(rows, "noisy") + 7
    for rival in ("tv_skimage", "finite_differences", "wavelet"):
        assert psnr(rows, "noisy") + 5 < psnr(rows, rival) < psnr(rows, "ours")
    assert list(rows[0]) == [
        "sigma", "image", "method", "psnr", "ssim", "published_psnr", "published_ssim",
        "quality", "seed", "version",
    ]  # fmt: skip


def test_a_stopped_run_goes_on(run, script, monkeypatch):
    run("denoising", "--sigma", "25", "--methods", "noisy")

    def again(*_):
        raise AssertionError("computed twice")

    monkeypatch.setattr(script("cells"), "quality_of", again)
    rows = run("denoising", "--sigma", "25", "--methods", "noisy")
    assert len(rows) == 1
    with pytest.raises(AssertionError, match="computed twice"):
        run("denoising", "--sigma", "30", "--methods", "noisy")


def test_a_later_run_keeps_the_others_rows(run):
    run("denoising", "--sigma", "25", "--methods", "noisy")
    rows = run("denoising", "--sigma", "10", "25", "--methods", "noisy")
    assert [row["sigma"] for row in rows] == ["10", "25"]


def test_inpainting(run):
    rows = run("inpainting", "--missing", "50", "--methods", "linear", "ours", "finite_differences")
    assert psnr(rows, "ours") > psnr(rows, "linear") + 1 > 30


def test_superresolution(run):
    rows = run("superresolution")
    assert psnr(rows, "ours", sigma="0") > psnr(rows, "bicubic", sigma="0") > 28
    assert psnr(rows, "ours", sigma="8") > psnr(rows, "bicubic", sigma="8")


@pytest.mark.parametrize("image", ["face", "august"])
def test_bicubic_agrees_with_the_paper(script, image):
    superresolution, common = script("superresolution"), script("common")
    cell = superresolution.cell(image, common.test_image(image), 0, "bicubic", "fast", 0, None)
    published = superresolution.TABLE.published()[3.0, 0.0, image, "bicubic"]
    assert abs(cell.work()["psnr"] - float(published["psnr"])) <= 0.03


def test_other_tasks(run):
    rows = run("other_tasks", "--problems", "gaussian", "variable density")
    for problem in ("gaussian", "variable density"):
        start, ours, tv = (psnr(rows, m, problem=problem) for m in ("start", "ours", "finite_differences"))
        assert ours > tv > start + 1


def test_fixed_operators(run):
    rows = run("fixed_operators")
    assert psnr(rows, "ours", set="test") > psnr(rows, "noisy", set="test") + 7
    assert psnr(rows, "dct", set="validation") > psnr(rows, "noisy", set="validation") + 6


def test_modern(run):
    rows = run("modern", "--sigma", "25")
    assert {row["set"] for row in rows} == {"bsd68", "paper"}
    assert psnr(rows, "ours") > 25


def test_learning_parameters_and_the_page(run, script, tmp_path):
    results = tmp_path / "results"
    runs = run("learning", "--runs", "log, random", "p-norm, random", output=results)
    assert [row["iterations"] for row in runs] == ["10", "10"]
    operators = run("parameters", output=results)
    assert len(operators) == 4 and run("parameters", "--kept", output=results) == operators
    for row in (*runs, *operators):
        assert float(row["psnr"]) > 25 and float(row["condition"]) >= 1 and 0 < float(row["coherence"]) < 1
    run("denoising", "--sigma", "25", "--methods", "noisy", "ours", output=results)
    pytest.importorskip("matplotlib")
    pages = script("page").main(["--results", str(results), "--output", str(tmp_path / "docs")])
    names = {page.name for page in pages}
    assert names == {"index.md", "denoising.md", "learning.md", "parameters.md"}
    assert (tmp_path / "docs" / "parameters.png").stat().st_size < 300_000
    index = (tmp_path / "docs" / "index.md").read_text()
    assert "[Denoising (Table I)](denoising.md)" in index and "not computed yet" in index


def test_the_papers_penalty_is_tuned_and_tabled(run, tmp_path):
    rows = run("as_written", "learn", "inpaint")
    assert [row["step"] for row in rows] == ["inpaint", "inpaint", "learn", "learn"]
    assert all(float(row["psnr"]) >= float(row["psnr_settled"]) > 20 for row in rows)
    run("as_written", "--tables")
    with (tmp_path / "results" / "denoising.csv").open(newline="") as file:
        denoised = list(csv.DictReader(file))
    assert {row["method"] for row in denoised} == {"as_written"}
    assert psnr(denoised, "as_written", sigma="25") > 25


@pytest.mark.slow
def test_closeups(imported, tmp_path, monkeypatch):
    """Of photographs that no operator has seen; parts of equal size, in two rows of three."""
    from PIL import Image

    from cosparse.operators.make import PHOTOGRAPHS

    closeups = imported("closeups")
    learned = {Path(name).stem for name in PHOTOGRAPHS}
    assert not learned & {scene.free[0] for scene in closeups.SCENES.values()}
    monkeypatch.setattr(imported("cells"), "CACHE", tmp_path / "cache")
    monkeypatch.setattr(closeups, "SIDE", 30)
    part = np.ascontiguousarray(closeups.photograph("chelsea")[90:162, 130:202])
    captions = closeups.draw("superresolution", part, (20, 20), tmp_path / "closeup.png")
    assert [caption.rpartition(" ")[2] for caption in captions] == ["dB"] * 4
    with Image.open(tmp_path / "closeup.png") as drawn:
        assert drawn.mode == "L" and drawn.size == (3 * 60 + 2 * 8, 2 * (60 + 28))


def test_the_grid_has_as_many_operators_as_asked_for(script):
    grid = script("parameters").grid
    for count in (4, 20, 100):
        assert len(set(grid(count))) == count
    assert {64, 128, 256} <= {k for _, _, k in grid(20)}


@pytest.mark.slow
def test_own_operator(imported, capsys):
    """On its own scenes, with operators that hardly learned: each repairs, none by much less than the shipped."""
    imported("own_operator").main(["--quick", "--kinds", "filaments"])
    head, _, *lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    names = [name.strip() for name in head.split("|")[2:-1]]
    assert names[:4] == ["none (noisy)", "staged", "default", "goal"] and len(names) == 10
    for noise, line in zip(("Gaussian 0.06", "Gaussian 0.12", "Poisson"), lines, strict=False):
        figures = [float(figure.strip(" *")) for figure in line.split("|")[2:-1]]
        assert noise in line and min(figures[1:]) > figures[0] + 5


@pytest.fixture
def frontier(imported, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS / "speed")
    monkeypatch.setattr(imported("cells"), "CACHE", tmp_path / "cache")
    return imported("frontier")


@pytest.mark.slow
def test_frontier(frontier, tmp_path, capsys):
    """Ours and what of the rivals is in this environment; one that is nowhere is left out, and earlier rows stay."""
    pytest.importorskip("matplotlib")

    def run(*methods):
        places = ["--rivals", str(tmp_path / "none"), "--output", str(tmp_path)]
        return {
            f"{row['method']} {row['setting']}".strip(): row
            for row in frontier.main(["run", "--quick", "--turns", "1", *places, "--only", *methods])
        }

    rivals = run("skimage_tv", "skimage_wavelet", "bm3dcpu")
    assert set(rivals) == {"skimage_tv", "skimage_wavelet"}
    assert "bm3dcpu 6,4/12,9 is left out: vapoursynth-bm3dcpu is not installed" in capsys.readouterr().out
    rows = run("cosparse")
    assert {name: rows[name] for name in rivals} == rivals
    assert len(rows) == len(rivals) + 5 and all(float(row["cpu_seconds"]) > 0 for row in rows.values())
    for quality in ("fast", "balanced", "best"):
        assert float(rows[f"cosparse {quality}"]["psnr"]) > float(rivals["skimage_tv"]["psnr"]) + 0.3
    assert 10_000 < (tmp_path / "frontier.png").stat().st_size < 300_000


def test_above_the_frontier(frontier):
    """Rivals are judged by the line through those of our points that no other of ours beats."""

    def row(kind, seconds, db):
        return {"kind": kind, "cpu_seconds": str(seconds), "psnr": str(db)}

    figure = frontier.frontier_figure
    ours = [row("ours", 1.0, 29.0), row("ours", 0.1, 28.6), row("ours", 0.5, 28.5)]
    assert figure.curve(ours).tolist() == [[0.1, 28.6], [1.0, 29.0]]
    below = [row("BM3D", 0.316, 28.79), row("BM3D", 13.0, 28.63), row("BM3D", 0.02, 28.3)]
    over = [row("BM3D", 0.316, 28.81), row("network", 0.05, 28.5), row("network", 2.0, 29.0)]
    assert figure.above([*ours, *below, *over]) == over


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".", "paper", "speed", "cluster", "interop"])
def test_every_script_can_be_imported(folder):
    """In a process of its own, from its own folder: a name that has moved is then seen."""
    scripts = sorted(path.stem for path in (BENCHMARKS / folder).glob("*.py"))
    program = f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); import {', '.join(scripts)}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=BENCHMARKS / folder, capture_output=True, text=True, check=False
    )
    assert scripts and done.returncode == 0, done.stderr


def test_tuning_multiplies_numbers_for_a_while_and_records_what_they_gave(imported, tmp_path, monkeypatch):
    tune = imported("tune")
    stages = tune.stages
    row = stages.row("upscale", 8.0, True)
    operator = load_operator()

    def planned():
        return [
            (stage.weight, stage.penalty.nu) for stage in stages.plan("upscale", 8.0, "best", None, operator).stages
        ]

    before = planned()
    with tune.multiplied("nu=2", row):
        assert planned() == [(weight, 2 * nu) for weight, nu in before]
    with tune.multiplied("growth.exponent=0.5", row):
        assert planned() != before
    assert planned() == before
    with pytest.raises(SystemExit, match="no sharpness"), tune.multiplied("sharpness=2", row):
        pass
    monkeypatch.setattr(tune, "TABLE", tmp_path / "stages.toml")
    tune.TABLE.write_text('[trust]\nside = 17\ncommand = "python a.py"\ndb = 1.0\n\n[stride]\npart = 4\n')
    tune.record("python a.py", 25.5714)
    assert tune.TABLE.read_text() == '[trust]\nside = 17\ncommand = "python a.py"\ndb = 25.571\n\n[stride]\npart = 4\n'


def test_jpeg(imported, photograph):
    """Deblocking's script measures what it says, on a picture that is at hand."""
    jpeg = imported("noise.jpeg")
    found = jpeg.measured(photograph[:96, :96], 20, ["steps"])
    assert found["steps"][0] > found["decoded"][0] + 0.8 and found["steps"][1] > 0

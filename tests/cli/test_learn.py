"""The commands learn and refine on real files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import GREY, files, noisy
from skimage import data

import cosparse
from cosparse.io.picture import read_image, write_image


@pytest.fixture
def photos(folder):
    Path("photos").mkdir()
    write_image("photos/a.png", data.camera()[::2, ::2])
    write_image("photos/b.jpg", data.astronaut()[:200, :200])


def test_learn_and_use_it(run, photos):
    Path("photos/bad.png").write_bytes(b"words")
    lines = run(
        "learn", "photos", "-o", "mine.safetensors", "--rows", 72, "--count", 8000,
        "--iterations", 40, "--seed", 3, code=1,
    )  # fmt: skip
    assert "photos/bad.png" in run.err
    assert lines[-1] == "Use it:  cosparse denoise photo.png --operator mine.safetensors"
    assert read_image("mine.atoms.png").pixels.shape[0] > 50
    assert cosparse.load_operator("mine.safetensors").shape == (72, 64)
    write_image("truth.png", GREY)
    write_image("a.png", noisy(GREY))
    (record,) = run("denoise", "a.png", "--operator", "mine.safetensors", "--reference", "truth.png", "--json")
    assert record["psnr"] > record["psnr_before"] + 5


def test_learning_uses_every_page_of_a_stack(run):
    pages = np.random.default_rng(0).integers(0, 65536, (2, 3, 24, 24), np.uint16)
    write_image("stack.tif", pages)
    Path("photos").mkdir()
    write_image("photos/one.tif", pages[0, 0])
    Path("photos/raw.cr2").write_bytes(b"a camera's own")
    small = ["-o", "a.safetensors", "--force", "--rows", 20, "--size", 4, "--iterations", 2]
    (record,) = run("learn", "stack.tif", *small, "--json")
    assert (record["patches"], record["files"], record["pages"]) == (6 * 21 * 21, 1, 6)
    assert run.err == ""
    lines = run("learn", "stack.tif", "photos", *small)
    assert f"{7 * 21 * 21} patches from all 7 pages of 2 images, 2 iterations" in lines[2]
    (record,) = run("learn", "photos", *small, "--json")
    assert (record["patches"], record["files"], record["skipped"]) == (21 * 21, 1, 1)
    assert run.err.startswith("cosparse: skipped photos/raw.cr2 (camera raw")


def test_learning_from_floats_of_any_range(run):
    """What counts as flat goes by the range: half a grey level of noise is, in whatever units."""
    rng = np.random.default_rng(0)
    page = np.where(np.arange(64) < 32, data.camera()[:64, :64], 90 + 0.5 * rng.standard_normal((64, 64)))
    found = []
    for name, white, more in (("a", 1, []), ("b", 255, []), ("c", 3000, ["--data-range", 3000])):
        write_image(f"{name}.tif", (page / 255 * white).astype(np.float32))
        arguments = ["--rows", 20, "--size", 4, "--iterations", 3, *more, "--json"]
        found += run("learn", f"{name}.tif", "-o", f"{name}.safetensors", *arguments)
    assert len({record["patches"] for record in found}) == 1


def test_learning_stops_and_goes_on(run, photos, monkeypatch):
    arguments = ["--rows", 20, "--size", 4, "--count", 2000, "--json"]
    (whole,) = run("learn", "photos", "-o", "a.safetensors", "--iterations", 30, *arguments)
    assert (whole["iterations"], whole["patches"]) == (30, 2000)
    keep = ["--checkpoint", "state", "-o", "b.safetensors", *arguments]
    really, seen = cosparse.learn_operator, []

    def interrupted(*args, callback, **options):
        def stop(progress):
            seen.append(progress.iteration)
            if progress.iteration == 10:
                raise KeyboardInterrupt

        return really(*args, callback=stop, **options)

    with monkeypatch.context() as patch:
        patch.setattr(cosparse, "learn_operator", interrupted)
        run("learn", "photos", "--iterations", 30, *keep, code=130)
    assert run.err == "cosparse: stopped; state keeps the state, --resume goes on from it\n"
    assert "b.safetensors" not in files()
    run("learn", "photos", "--iterations", 30, *keep, code=2)
    assert "add --resume" in run.err
    run("learn", "photos", "--iterations", 30, *keep, "--resume")
    a, b = (cosparse.load_operator(f"{name}.safetensors") for name in "ab")
    np.testing.assert_array_equal(a.matrix, b.matrix)


@pytest.mark.slow
def test_refine_and_use_it(run, photos, monkeypatch):
    arguments = ["--sigma", "20", "--steps", 8, "--batch", 4, "--crop", 32, "--json"]
    (record,) = run("refine", "dct:4", "photos", "-o", "a.safetensors", *arguments)
    assert record["steps"] == 8 and record["psnr"] > record["psnr_before"]
    assert read_image("a.atoms.png").pixels.shape[0] > 20
    operator = cosparse.load_operator("a.safetensors")
    assert operator.refined and operator.shape == (15, 16)
    write_image("truth.png", GREY)
    write_image("noisy.png", noisy(GREY))
    (record,) = run("denoise", "noisy.png", "--operator", "a.safetensors", "--reference", "truth.png", "--json")
    assert record["psnr"] > record["psnr_before"] + 5
    run("inspect", "a.safetensors")

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cosparse, "refine_operator", interrupted)
        run("refine", "dct:4", "photos", "-o", "b.safetensors", "--checkpoint", "state", *arguments, code=130)
    assert run.err == "cosparse: stopped; state keeps the state, --resume goes on from it\n"
    lines = run("refine", "dct:4", "photos", "-o", "b.safetensors", *arguments[:-1])
    assert lines[-1] == "Use it:  cosparse denoise photo.png --operator b.safetensors"
    for problem, complaint in {
        ("dct:x", "photos"): "after dct: comes the side",
        ("nothing", "photos"): "nothing: no such operator",
        ("dct:4", "photos", "--sigma", "5:"): "--sigma: expected a number or two",
        ("dct:4", "photos", "--task", "paint"): "--task: expected one of",
    }.items():
        run("refine", *problem, "-o", "c.safetensors", code=2)
        assert complaint in run.err and run.err.count("\n") == 1
    assert "c.safetensors" not in files()


def test_learning_holds_only_windows_of_many_photographs(photos, run, monkeypatch):
    monkeypatch.setattr("cosparse.cli.learn.MEMORY", 20_000)
    (record,) = run("learn", "photos", "-o", "a.safetensors", "--rows", 20, "--size", 4, "--iterations", 5, "--json")
    assert 5_000 < record["patches"] <= 20_000

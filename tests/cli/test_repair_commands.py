"""Every command on real files, with the dB it gains."""

from __future__ import annotations

import inspect
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from command_line import COLOUR, GREY, PROGRAM, environment, files, noisy
from PIL import Image

import cosparse
from cosparse.cli import repair_commands
from cosparse.cli.forecast import forecast
from cosparse.cli.options import Shared
from cosparse.cli.psf_option import point_spread
from cosparse.cli.targets import find_targets
from cosparse.io.picture import Picture, read_image, write_image
from cosparse.reconstruction import measurement
from cosparse.reconstruction.tasks import TASKS


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_every_task_is_a_command_that_has_its_options(task):
    options = inspect.signature(getattr(repair_commands, task.name)).parameters
    needs = {*task.needs} - {"quantization"}  # which the file has
    assert {*needs, *task.takes, *(field.name for field in fields(Shared))} <= set(options)
    assert "sigma" not in options if task.compressed else (options["sigma"].default is None) == task.estimates_noise
    assert all(options[name].default is not options[name].empty for name in task.takes)


# --- denoise, and what all repairs share ----------------------------------------------------------


def test_denoise_gains_and_reports(run):
    write_image("truth.png", GREY)
    write_image("a.png", noisy(GREY))
    (record,) = run("denoise", "a.png", "b.png", "--sigma", 20, "--reference", "truth.png", "--json")
    assert record["psnr"] > record["psnr_before"] + 6
    assert (record["input"], record["output"], record["sigma"]) == ("a.png", "b.png", 20)
    assert (record["type"], record["data_range"]) == ("uint8", 255)
    assert record["seconds"] > 0
    result = read_image("b.png").pixels
    assert cosparse.psnr(GREY, result) == pytest.approx(record["psnr"], abs=0.01)
    assert run.err == ""  # no bar where no one watches
    (line,) = run("denoise", "a.png", "c.png", "--reference", "truth.png", "--quality", "fast")
    assert re.fullmatch(r"a\.png -> c\.png: [\d.]+ -> [\d.]+ dB, sigma [\d.]+, [\d.]+ s", line)
    assert run("denoise", "a.png", "d.png", "--weight", "0.01", "--sigma", 20) == []
    assert cosparse.psnr(noisy(GREY), read_image("d.png").pixels) > 30  # hardly anything done


@pytest.mark.parametrize("command", ["denoise", "inpaint"])
def test_without_the_second_pass(run, command):
    """--no-grouping is the library's grouping=False, to the last bit."""
    write_image("a.png", noisy(GREY))
    mask = GREY < 100
    write_image("mask.png", 255 * mask.astype(np.uint8))
    more = ("--mask", "mask.png") if command == "inpaint" else ("--sigma", 20)
    run(command, "a.png", "with.png", *more)
    run(command, "a.png", "without.png", "--no-grouping", *more)
    given = (mask,) if command == "inpaint" else (20,)
    for name, grouping in (("with.png", True), ("without.png", False)):
        expected = getattr(cosparse, command)(read_image("a.png").pixels, *given, grouping=grouping)
        np.testing.assert_array_equal(read_image(name).pixels, expected)
    assert (read_image("with.png").pixels != read_image("without.png").pixels).any()


def test_a_photograph_keeps_its_metadata(run):
    exif = Image.Exif()
    exif[274], exif[271], exif[34665] = 6, "Maker", {36867: "2024:05:06 07:08:09"}
    turned = Image.fromarray(np.rot90(noisy(COLOUR)))
    turned.save("photo.jpg", quality=97, exif=exif, icc_profile=b"profile" * 20, dpi=(300, 300))
    run("denoise", "photo.jpg")
    result = read_image("photo.denoised.jpg")
    assert cosparse.psnr(COLOUR, result.pixels) > cosparse.psnr(COLOUR, noisy(COLOUR)) + 5.5
    assert result.metadata["icc_profile"] == b"profile" * 20
    run("denoise", "photo.jpg", "photo.tif", "--quality", "fast")
    for name in ("photo.denoised.jpg", "photo.tif"):
        with Image.open(name) as image:
            assert (image.getexif()[271], image.getexif()[274]) == ("Maker", 1)
            assert image.getexif().get_ifd(34665)[36867] == "2024:05:06 07:08:09"


def test_depths_alpha_and_stacks(run):
    deep = COLOUR.astype(np.uint16) * 257
    alpha = np.linspace(0, 65535, deep[..., 0].size).reshape(96, 96).astype(np.uint16)
    like = cosparse.images.Picture(deep, alpha, -1)
    write_image("deep.png", noisy(deep, 20 * 257, 65535), like=like)
    stack = np.stack([GREY, GREY[::-1]])
    write_image("stack.tif", noisy(stack), like=cosparse.images.Picture(stack, stack=True))
    run("denoise", "deep.png", "stack.tif", "out/", "--sigma", 20)
    result = read_image("out/deep.png")
    assert result.pixels.dtype == np.uint16
    np.testing.assert_array_equal(result.alpha, alpha)
    assert cosparse.psnr(deep, result.pixels) > 28
    result = read_image("out/stack.tif")
    assert result.stack
    assert cosparse.psnr(stack, result.pixels) > cosparse.psnr(stack, noisy(stack)) + 5
    run("denoise", "deep.png", "deep.tif", "--quality", "fast")
    assert read_image("deep.tif").pixels.dtype == np.uint16


@pytest.mark.parametrize("white", [1.0, 255.0, 3000.0])
@pytest.mark.parametrize("sigma", [25.5, None])
def test_a_float_file_is_repaired_as_its_array(run, sigma, white):
    """Noise reaches beyond black and white, which says nothing of what white is."""
    truth = (GREY / 255 * white).astype(np.float32)
    image = truth + (0.1 * white * np.random.default_rng(0).standard_normal(truth.shape)).astype(np.float32)
    assert image.min() < 0 and image.max() > white
    write_image("truth.tif", truth)
    write_image("a.tif", image)
    given = [] if sigma is None else ["--sigma", sigma]
    asked = ["--data-range", white] if white == 3000 else []  # no rule can know that
    (record,) = run("denoise", "a.tif", "b.tif", *given, *asked, "--reference", "truth.tif", "--json")
    expected = cosparse.denoise(image, sigma and sigma / 255 * white, data_range=white)
    np.testing.assert_array_equal(read_image("b.tif").pixels, expected)
    assert record["psnr"] == pytest.approx(cosparse.psnr(truth, expected, data_range=white), abs=0.6)
    assert record["psnr"] > record["psnr_before"] + 6.5
    assert (record["type"], record["data_range"]) == ("float32", white)
    assert record["sigma"] == pytest.approx(25.5, rel=0.1)
    (line,) = run("denoise", "a.tif", "c.tif", *given, *asked, "--reference", "truth.tif")
    assert re.search(rf" dB, sigma [\d.]+, range {white:g}, [\d.]+ s$", line)
    (compared,) = run("compare", "truth.tif", "b.tif", "--json", *asked)
    assert compared["psnr"] == pytest.approx(cosparse.psnr(truth, expected, data_range=white), abs=0.01)
    assert compared["data_range"] == white
    assert run("compare", "truth.tif", "b.tif", *asked)[0].endswith(f"range {white:g}")


def test_twelve_bits_in_sixteen(run):
    """White is 4095, in inputs and references alike; that of files of 8 bits stays 255."""
    truth = GREY.astype(np.uint16) * 16
    image = noisy(truth, 20 * 16, 65535)
    write_image("truth.png", truth)
    write_image("bytes.png", GREY)
    write_image("a.png", image)
    arguments = ["--sigma", 20, "--data-range", 4095, "--quality", "fast"]
    (record,) = run("denoise", "a.png", "b.png", *arguments, "--reference", "truth.png", "--json")
    expected = cosparse.denoise(image, 20 * 4095 / 255, data_range=4095, quality="fast")
    np.testing.assert_array_equal(read_image("b.png").pixels, expected)
    assert record["data_range"] == 4095
    assert record["psnr"] == pytest.approx(cosparse.psnr(truth, expected, data_range=4095), abs=1e-3)
    (compared,) = run("compare", "bytes.png", "b.png", "--data-range", 4095, "--json")
    assert compared["psnr"] == pytest.approx(record["psnr"], abs=0.2)
    assert compared["data_range"] == [255, 4095]


@pytest.mark.parametrize("grouping", [True, False])
def test_the_weights_and_counts_are_those_of_the_energy(run, grouping):
    grey, colour = GREY[:48, :48], COLOUR[:48, :48]
    write_image("grey.png", noisy(grey))
    write_image("colour.png", noisy(colour))
    flag = "--grouping" if grouping else "--no-grouping"
    for name, image, axis in (("grey", noisy(grey), None), ("colour", noisy(colour), -1)):
        seen = []
        cosparse.denoise(image, 20, channel_axis=axis, operator="goal", grouping=grouping, callback=seen.append)
        seen = [progress for progress in seen if not progress.second_pass]
        last = {progress.plane: progress for progress in seen}
        asked = ("denoise", f"{name}.png", "out.png", "--sigma", 20, "--operator", "goal", flag, "--json", "--force")
        (record,) = run(*asked)
        weights = [progress.weight for progress in last.values()]
        assert set(weights) == {record["weight"]} == {1.0}  # the operator's own weights go with the noise
        assert record["iterations"] == len(seen)
        assert record["energy"] == pytest.approx(sum(progress.energy for progress in last.values()), rel=1e-5)
        assert run(*asked, "--weight", 2)[0]["weight"] == 2
    (record,) = run("denoise", "grey.png", "none.png", "--sigma", 0, flag, "--json")
    assert (record["weight"], record["iterations"]) == (None, 0)


def test_a_weight_that_goes_with_the_noise_is_said_of_each_plane(run):
    """Opponent colours have less noise."""
    image, seen = noisy(COLOUR[:32, :32]), {}
    write_image("colour.png", image)
    told = {"sigma": 20, "operator": "default", "channel_axis": -1}  # by the energy: steps would denoise it first
    cosparse.upscale(image, 2, **told, callback=lambda now: seen.update({now.plane: now.weight}))
    asked = ("--factor", 2, "--sigma", 20, "--operator", "default", "--json")
    (record,) = run("upscale", "colour.png", "large.png", *asked)
    assert record["weight"] == pytest.approx(list(seen.values()), rel=1e-5)
    assert len(set(record["weight"])) == 3


def test_what_a_file_cannot_hold_is_said(run):
    Image.fromarray(COLOUR[:48, :48]).save("a.jpg", comment=b"a bridge", quality=95)
    Image.fromarray(COLOUR[:48, :48]).save("b.png")
    run("denoise", "a.jpg", "c.jpg", "--quality", "fast")
    assert run.err == ""
    run("denoise", "a.jpg", "a.png", "--quality", "fast")
    assert run.err == "cosparse: a.jpg: the comment cannot be kept in PNG\n"
    first, second = run("denoise", "a.jpg", "b.png", "-o", "out", "--format", "tif", "--quality", "fast", "--json")
    assert first["notes"] == ["the comment cannot be kept in TIFF"] and "notes" not in second
    assert run.err == "cosparse: a.jpg: the comment cannot be kept in TIFF\ncosparse: 2 done, 0 skipped, 0 failed\n"
    frames = [Image.fromarray(np.roll(GREY[:48, :48], shift, 0)) for shift in (0, 9)]
    frames[0].save("moving.gif", save_all=True, append_images=frames[1:])
    (record,) = run("denoise", "moving.gif", "--quality", "fast", "--json")
    assert record["output"] == "moving.denoised.png" and "1 other frame" in record["notes"][0]


def test_a_batch_goes_on_past_bad_files(run):
    for name in ("in/a.png", "in/sub/b.tif", "in/sub/.hidden.png"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_image(name, noisy(GREY[:48, :48]))
        write_image(f"truth-{Path(name).name}", GREY[:48, :48])
    Path("in/bad.jpg").write_bytes(b"words")
    records = run("denoise", "in", "gone.png", "out", "--json", code=1)
    assert [record["input"] for record in records] == ["gone.png", "in/a.png", "in/bad.jpg", "in/sub/b.tif"]
    assert [record.get("output") for record in records] == [None, "out/a.png", None, "out/sub/b.tif"]
    assert "out/sub/b.tif" in files()
    *lines, last = run.err.splitlines()
    assert last == "cosparse: 2 done, 0 skipped, 2 failed"
    assert {line.split(":")[1].strip() for line in lines} == {"in/bad.jpg", "gone.png"}


def test_a_batch_is_asked_for_again(run):
    """What is there is not done again, and nothing is left out without a word."""
    Path("in").mkdir()
    small = noisy(GREY[:48, :48])
    for name in ("a.jpg", "c.png"):
        write_image(f"in/{name}", small)
    for name in ("b.webp", "d.gif"):
        Image.fromarray(small).save(f"in/{name}")
    for name in ("e.cr2", "f.CR2", "g.psd"):
        Path("in", name).write_bytes(b"a camera's own")
    results = ["out/a.jpg", "out/b.png", "out/c.png", "out/d.png"]
    records = run("denoise", "in", "out", "--quality", "fast", "--json")
    assert [name for name in files() if name.startswith("out/")] == results
    assert [record["output"] for record in records if "output" in record] == results
    assert {record["input"] for record in records if "skipped" in record} == {"in/e.cr2", "in/f.CR2", "in/g.psd"}
    first, second, last = run.err.splitlines()
    assert first.startswith("cosparse: skipped in/e.cr2, in/f.CR2 (camera raw")
    assert second.startswith("cosparse: skipped in/g.psd (")
    assert last == "cosparse: 4 done, 3 skipped (.cr2, .psd cannot be read), 0 failed"

    before = Path("out/c.png").stat().st_mtime_ns
    Path("out/b.png").unlink()
    records = run("denoise", "in", "out", "--quality", "fast", "--json")
    done = [record["output"] for record in records if "skipped" not in record]
    assert done == ["out/b.png"] and Path("out/c.png").stat().st_mtime_ns == before
    assert {"input": "in/c.png", "output": "out/c.png", "skipped": "exists"} in records
    last = run.err.splitlines()[-1]
    assert "1 done, 3 skipped (exist), 3 skipped (.cr2, .psd cannot be read), 0 failed; --force replaces" in last
    run("denoise", "in/a.jpg", "in/c.png", "out", "--force", "--quality", "fast")
    assert run.err == "cosparse: 2 done, 0 skipped, 0 failed\n"
    assert Path("out/c.png").stat().st_mtime_ns > before

    run("denoise", "in", "--quality", "fast")  # beside the originals; b.denoised.png is no original
    run("denoise", "in", "--quality", "fast")
    assert "0 done, 4 skipped (exist)" in run.err
    # One picture, or pictures that would replace themselves: a mistake, not something done before.
    run("denoise", "in/c.png", "out/c.png", code=1)
    assert "out/c.png: exists; add --force" in run.err
    run("denoise", "out", "out", code=1)
    assert run.err.count("exists; add --force") == 4 and "0 done, 0 skipped, 4 failed" in run.err


def test_names_left_out_are_found_again_and_never_replaced(run):
    write_image("a.png", noisy(GREY[:48, :48]))
    write_image("b.png", noisy(GREY[:48, :48]))
    run("denoise", "*.png", "--quality", "fast")
    assert files() == ["a.denoised.png", "a.png", "b.denoised.png", "b.png"]
    before = Path("a.denoised.png").stat().st_mtime_ns
    run("denoise", ".")  # results of the first run are not taken for inputs
    assert run.err == "cosparse: 0 done, 2 skipped (exist), 0 failed; --force replaces what exists\n"
    assert Path("a.denoised.png").stat().st_mtime_ns == before
    run("denoise", ".", "--force", "--quality", "fast")
    assert files() == ["a.denoised.png", "a.png", "b.denoised.png", "b.png"]
    assert Path("a.denoised.png").stat().st_mtime_ns > before
    run("denoise", "a.png", "b.png", "-o", "out", "--format", "tif", "--quality", "fast")
    assert {"out/a.tif", "out/b.tif"} <= set(files())


def test_where_results_go(folder):
    for name in ("a.png", "b.png", "c.png", "d/x.png", "d/e/y.dat"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_image(name, GREY[:8, :8], format="png")

    def targets(*paths, output=None, format=None):
        planned = find_targets(paths, output, "denoised", format)
        assert not planned.problems and not planned.unread
        return {image.name: image.result for image in planned.inputs}

    assert targets("a.png", "b.png", "c.png") == {
        name: name.replace(".", ".denoised.") for name in ("a.png", "b.png", "c.png")
    }
    assert targets("a.png", "out.tif") == {"a.png": "out.tif"}
    assert targets("a.png", "d") == {"a.png": "d/a.png"}
    assert targets("a.png", "b.png", "new") == {"a.png": "new/a.png", "b.png": "new/b.png"}
    assert targets("d", "new", format="jpg") == {"d/x.png": "new/x.jpg"}
    assert targets("d/e/y.dat") == {"d/e/y.dat": "d/e/y.denoised.png"}
    assert targets("-") == {"standard input": "-"}
    assert targets("-", "o.png") == {"standard input": "o.png"}
    assert targets("a.png", "-") == {"a.png": "-"}
    assert targets("a.png", "a.png", "b.png", output="new/").keys() == {"a.png", "b.png"}


def test_stdin_and_stdout(folder):
    write_image("a.png", noisy(GREY))
    done = subprocess.run(
        [*PROGRAM, "denoise", "-", "--format", "tif"],
        input=Path("a.png").read_bytes(), capture_output=True, timeout=120, env=environment(),
    )  # fmt: skip
    assert done.stderr == b""
    result = read_image(done.stdout)
    assert result.format == "tiff"
    assert cosparse.psnr(GREY, result.pixels) > cosparse.psnr(GREY, noisy(GREY)) + 6


# --- inpaint --------------------------------------------------------------------------------------


@pytest.fixture
def scratched():
    mask = np.zeros((96, 96), bool)
    mask[::9], mask[:, 20:23] = True, True
    return mask


def test_inpaint_with_a_mask_image(run, scratched):
    write_image("truth.png", COLOUR)
    write_image("a.png", np.where(scratched[..., None], np.uint8(0), COLOUR))
    write_image("mask.png", scratched)
    (record,) = run("inpaint", "a.png", "--mask", "mask.png", "--reference", "truth.png", "--json")
    assert record["psnr"] > record["psnr_before"] + 15
    result = read_image("a.inpainted.png").pixels
    np.testing.assert_array_equal(result[~scratched], COLOUR[~scratched])
    Path("masks").mkdir()
    write_image("masks/a.tif", scratched)
    run("inpaint", "a.png", "--mask", "masks", "--force", "--quality", "fast")
    assert cosparse.psnr(COLOUR, read_image("a.inpainted.png").pixels) > 30


def test_inpaint_a_wide_hole_from_where_it_may_be_copied(run):
    """As the library has it; what is no way to fill, or no source, is said in a line."""
    hole, source = (np.zeros(COLOUR.shape[:2], bool) for _ in range(2))
    hole[20:44, 20:44] = source[:, 48:] = True
    write_image("a.png", COLOUR)
    write_image("hole.png", hole)
    write_image("source.png", source)
    asked = ("inpaint", "a.png", "--mask", "hole.png", "--force", "--quality", "fast")
    run(*asked, "--fill", "copy", "--seed", "3", "--source", "source.png")
    expected = cosparse.inpaint(COLOUR, hole, fill="copy", seed=3, source=source, quality="fast", channel_axis=-1)
    np.testing.assert_array_equal(read_image("a.inpainted.png").pixels, expected)
    run(*asked, "--fill", "smooth")
    smooth = cosparse.inpaint(COLOUR, hole, fill="smooth", quality="fast", channel_axis=-1)
    np.testing.assert_array_equal(read_image("a.inpainted.png").pixels, smooth)
    run(*asked, "--fill", "best", code=2)
    assert "--fill best: must be auto, smooth or copy" in run.err
    run(*asked, "--source", "none.png", code=2)
    assert "--source: " in run.err


def test_inpaint_what_is_transparent(run, scratched):
    alpha = np.where(scratched, 0, 255).astype(np.uint8)
    shown = np.where(scratched[..., None], np.uint8(0), COLOUR)
    write_image("a.png", np.dstack([shown, alpha]))
    run("inpaint", "a.png", "b.png", "--mask", "alpha", "--quality", "fast")
    result = read_image("b.png")
    assert (result.alpha == 255).all()
    assert cosparse.psnr(COLOUR, result.pixels) > cosparse.psnr(COLOUR, shown) + 15
    run("inpaint", "a.png", "b.jpg", "--mask", "alpha", "--quality", "fast")
    assert read_image("b.jpg").alpha is None


def test_inpaint_a_painted_colour(run, scratched):
    painted = np.where(scratched[..., None], np.uint8([255, 0, 0]), COLOUR)
    Image.fromarray(painted).save("a.jpg", quality=95, subsampling=0)
    run("inpaint", "a.jpg", "b.png", "--mask", "#ff0000", "--tolerance", 60, "--grow", 1)
    assert cosparse.psnr(COLOUR, read_image("b.png").pixels) > cosparse.psnr(COLOUR, painted) + 12
    write_image("g.png", np.where(scratched, np.uint8(255), GREY))
    run("inpaint", "g.png", "h.png", "--mask", "#ffffff", "--quality", "fast")
    assert cosparse.psnr(GREY, read_image("h.png").pixels) > 25


def test_inpaint_nan(run, scratched):
    holes = np.where(scratched, np.nan, GREY / 255).astype(np.float32)
    write_image("a.tif", holes)
    run("inpaint", "a.tif", "b.tif", "--mask", "nan")
    result = read_image("b.tif").pixels
    assert np.isfinite(result).all()
    assert cosparse.psnr(GREY / 255, result) > 25


# --- upscale, deblur ------------------------------------------------------------------------------


def test_upscale_beats_interpolation(run):
    measure = measurement.reduction(3, (96, 96), "box")
    small = np.stack([measure.forward(COLOUR[..., c].astype(np.float32)) for c in range(3)], -1)
    alpha = np.full((32, 32), 200, np.uint8)
    like = cosparse.images.Picture(COLOUR, alpha, -1)
    write_image("small.png", np.clip(np.rint(small), 0, 255).astype(np.uint8), like=like)
    write_image("truth.png", COLOUR)
    how = ("--factor", 3, "--reference", "truth.png", "--json")
    (record,) = run("upscale", "small.png", "large.png", "--kernel", "box", *how)
    assert record["psnr"] > record["psnr_before"] + 0.5
    (other,) = run("upscale", "small.png", "other.png", "--kernel", "gaussian", *how)
    assert other["psnr"] < record["psnr"]
    write_image("spread.png", np.full((3, 3), 200, np.uint8))
    (given,) = run("upscale", "small.png", "given.png", "--kernel", "spread.png", *how)
    assert given["psnr"] == pytest.approx(record["psnr"], abs=0.1)  # every third mean of 3 x 3 is a block's
    result = read_image("large.png")
    assert result.pixels.shape == (96, 96, 3)
    assert (result.alpha == 200).all()


@pytest.mark.parametrize("kernel", ["gaussian:1.5", "motion:9:30"])
def test_deblur(run, kernel):
    measure = measurement.blur(point_spread(kernel), GREY.shape)
    blurred = measure.forward(GREY.astype(np.float32))
    write_image("a.png", np.clip(np.rint(blurred), 0, 255).astype(np.uint8))
    write_image("truth.png", GREY)
    (record,) = run("deblur", "a.png", "--kernel", kernel, "--reference", "truth.png", "--json")
    assert record["psnr"] > record["psnr_before"] + 3
    assert files() == ["a.deblurred.png", "a.png", "truth.png"]


def test_kernels(folder):
    assert point_spread("box:5").shape == (5, 5)
    for spec in ("gaussian:2", "box:9", "disk:3", "disk:0.4", "motion:15:30", "motion:1:0"):
        kernel = point_spread(spec)
        assert kernel.sum() == pytest.approx(1, abs=1e-5)
        assert min(kernel.shape) % 2 == 1
        np.testing.assert_allclose(kernel, kernel[::-1, ::-1], atol=1e-7)
    across, up = point_spread("motion:15:0"), point_spread("motion:15:90")
    np.testing.assert_allclose(across, up.T, atol=1e-9)
    assert np.flatnonzero(across.sum(axis=1) > 1e-9).tolist() == [len(across) // 2]
    rising = point_spread("motion:15:45")
    assert rising[: len(rising) // 2, len(rising) // 2 + 1 :].sum() > 0.4  # up and to the right
    write_image("spread.tif", point_spread("disk:3").astype(np.float32))
    np.testing.assert_allclose(point_spread("spread.tif"), point_spread("disk:3"), atol=1e-6)
    write_image("even.png", np.full((4, 6), 9, np.uint8))
    assert point_spread("even.png").shape == (5, 7)


def test_inspect(run):
    lines = "\n".join(run("inspect", "--atoms", "atoms.png", "--plot", "values.svg"))
    operator = cosparse.load_operator()
    assert re.search(rf"condition +{operator.condition:.5g}", lines)
    assert re.search(rf"coherence +{operator.coherence:.5g}", lines)
    assert read_image("atoms.png").pixels.shape == operator.atoms_image(scale=6).shape
    assert "<svg" in Path("values.svg").read_text()
    operator.save("mine.safetensors")
    (record,) = run("inspect", "mine.safetensors", "--json")
    assert record["atoms"] == operator.shape[0]


def test_compare(run):
    write_image("a.png", COLOUR)
    write_image("b.png", noisy(COLOUR).astype(np.uint16) * 257)
    (record,) = run("compare", "a.png", "b.png", "--json")
    assert record["psnr"] == pytest.approx(cosparse.psnr(COLOUR, noisy(COLOUR)), abs=1e-3)
    want = cosparse.ssim(COLOUR, noisy(COLOUR), channel_axis=-1)
    assert record["ssim"] == pytest.approx(want, abs=1e-4)
    (line,) = run("compare", "a.png", "b.png")
    assert line.startswith(f"PSNR {record['psnr']:.2f} dB")
    assert run("compare", "a.png", "a.png") == ["identical"]


# --- what kind of noise, and how much of it to remove ---------------------------------------------


def test_photon_noise_in_the_files_own_values(run):
    clean = GREY.astype(float) * 8 + 100
    noise = cosparse.PoissonGaussian(40.0, 20.0, 100.0)
    write_image("truth.tif", clean.astype(np.uint16))
    write_image("a.tif", noise.sample(clean, rng=0).clip(0, 65535).astype(np.uint16))
    same = ("--reference", "truth.tif", "--data-range", 2140, "--json")
    (record,) = run("denoise", "a.tif", "b.tif", "--noise", "poisson:40:20:100", *same)
    assert record["noise"] == "PoissonGaussian(gain=40, read=20, offset=100)"
    assert record["psnr"] > record["psnr_before"] + 5
    level = np.sqrt(noise.variance(clean).mean()) * 255 / 2140
    assert record["sigma"] == pytest.approx(level, rel=0.02)
    (level,) = run("denoise", "a.tif", "c.tif", "--noise", f"gaussian:{record['sigma']:.3f}", *same)
    assert record["psnr"] > level["psnr"]


def test_a_map_of_levels_is_a_file(run):
    levels = np.where(np.arange(GREY.shape[1]) < GREY.shape[1] // 2, 5, 40) * np.ones((GREY.shape[0], 1))
    write_image("levels.png", levels.astype(np.uint8))
    write_image("truth.png", GREY)
    write_image("a.png", cosparse.Map(levels).sample(GREY, rng=0).clip(0, 255).round().astype(np.uint8))
    (record,) = run("denoise", "a.png", "b.png", "--noise", "map:levels.png", "--reference", "truth.png", "--json")
    (single,) = run("denoise", "a.png", "c.png", "--sigma", 20, "--reference", "truth.png", "--json")
    assert record["psnr"] > single["psnr"] + 1


def test_strengths_of_luma_and_chroma(run):
    write_image("a.png", noisy(COLOUR))
    assert run("denoise", "a.png", "b.png", "--sigma", 20, "--luma", 0, "--chroma", 0) == []
    assert (read_image("b.png").pixels == read_image("a.png").pixels).all()


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("fish", "expected gaussian:SIGMA"),
        ("poisson:x", "not a number"),
        ("poisson:-1", "gain"),
        ("map:none.png", "none.png"),
        ("correlated:3", "expected"),
    ],
)
def test_noise_that_cannot_be_is_a_usage_problem(run, spec: str, word: str):
    write_image("a.png", GREY)
    run("denoise", "a.png", "b.png", "--noise", spec, code=2)
    assert word in run.err and len(run.err.splitlines()) == 1


def test_noise_is_said_once(run):
    write_image("a.png", GREY)
    run("denoise", "a.png", "b.png", "--sigma", 3, "--noise", "gaussian:3", code=2)
    assert "one of them" in run.err


def test_a_large_picture_says_how_long_it_will_take():
    said = forecast(Picture(np.zeros((3000, 4000, 3), np.uint8), channel_axis=-1), lambda part, place: part.working)
    assert said is not None and re.fullmatch(r"12 megapixels, about \d+ (s|min)", said)
    seen = []
    assert forecast(Picture(np.zeros((640, 700), np.uint8)), lambda part, place: seen.append(part)) is None
    assert not seen

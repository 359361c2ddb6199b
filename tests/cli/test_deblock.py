"""`cosparse deblock` on real JPEG files, and on what is none."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command_line import COLOUR, GREY
from PIL import Image

import cosparse
from cosparse.io.picture import read_image, write_image


def save(name, pixels, quality=15, **options):
    Image.fromarray(pixels).save(name, "jpeg", quality=quality, **options)


def test_the_files_own_tables(run):
    write_image("truth.png", GREY)
    save("a.jpg", GREY)
    (record,) = run("deblock", "a.jpg", "b.png", "--reference", "truth.png", "--json")
    assert record["psnr"] > record["psnr_before"] + 1
    assert record["jpeg"]["quality"] == 15 and np.shape(record["jpeg"]["steps"]) == (8, 8)
    picture = read_image("a.jpg")
    np.testing.assert_array_equal(read_image("b.png").pixels, cosparse.deblock(picture.pixels, picture.jpeg))
    (line,) = run("deblock", "a.jpg", "c.png", "--reference", "truth.png", "--quality", "fast")
    assert re.fullmatch(r"a\.jpg -> c\.png: [\d.]+ -> [\d.]+ dB, quality 15, [\d.]+ s", line)


def test_a_folder_of_colours_and_greys(run):
    for name, pixels, options in (
        ("grey", GREY[:53], {}),
        ("half", COLOUR, {"subsampling": "4:2:0"}),
        ("wide", COLOUR[:61, :77], {"subsampling": "4:2:2"}),
        ("full", COLOUR, {"subsampling": "4:4:4", "progressive": True}),
    ):
        Path("in").mkdir(exist_ok=True)
        Path("true").mkdir(exist_ok=True)
        save(f"in/{name}.jpg", pixels, **options)
        write_image(f"true/{name}.jpg", pixels, format="png")
    records = run("deblock", "in", "out", "--format", "png", "--reference", "true", "--json")
    assert {record["jpeg"]["subsampling"] for record in records} == {"4:4:4", "4:2:2", "4:2:0"}
    assert all(record["psnr"] > record["psnr_before"] + 0.5 for record in records)


def test_a_photograph_that_was_turned(run):
    exif = Image.Exif()
    exif[274] = 6
    save("turned.jpg", np.ascontiguousarray(np.rot90(GREY[:61])), exif=exif)
    save("plain.jpg", np.ascontiguousarray(np.rot90(GREY[:61])))
    run("deblock", "turned.jpg", "a.png")
    run("deblock", "plain.jpg", "b.png")
    np.testing.assert_array_equal(np.rot90(read_image("a.png").pixels), read_image("b.png").pixels)


def test_saved_twice(run):
    whole = np.kron(np.ones((2, 2), np.uint8), GREY)
    save("first.jpg", whole, 15)
    save("again.jpg", read_image("first.jpg").pixels, 92)
    (record,) = run("deblock", "again.jpg", "out.png", "--json")
    assert record["jpeg"]["quality"] == 15
    assert record["notes"] == ["was saved before at about quality 15, which is undone"]
    assert cosparse.psnr(whole, read_image("out.png").pixels) > cosparse.psnr(whole, read_image("again.jpg").pixels) + 1


def test_a_picture_that_was_a_jpeg(run):
    save("a.jpg", GREY, 15)
    write_image("a.png", read_image("a.jpg").pixels)
    run("deblock", "a.png", "b.png", code=1)
    assert "a.png: is PNG and has no tables" in run.err and "--jpeg-quality" in run.err and run.err.count("\n") == 1
    run("deblock", "a.png", "b.png", "--jpeg-quality", 15)
    run("deblock", "a.jpg", "c.png")
    np.testing.assert_array_equal(read_image("b.png").pixels, read_image("c.png").pixels)
    write_image("cropped.png", read_image("a.jpg").pixels[3:, 5:])
    run("deblock", "cropped.png", "d.png", "--jpeg-quality", 15, code=1)
    assert "cropped.png: its blocks do not fit the tables" in run.err


@pytest.mark.slow
def test_misuse(run):
    save("a.jpg", GREY)
    run("deblock", "a.jpg", "b.png", "--jpeg-quality", 0, code=2)
    assert "--jpeg-quality" in run.err
    Image.fromarray(COLOUR).convert("CMYK").save("print.jpg")
    run("deblock", "print.jpg", "b.png", code=1)
    assert "print.jpg: is a CMYK image; convert it to RGB first" in run.err
    write_image("a.tif", GREY)
    run("deblock", "a.tif", "b.tif", "--jpeg-quality", 15, "--tile", 64, code=1)
    assert "deblock: a JPEG is no file of tiles" in run.err


def test_denoise_says_of_a_coarse_jpeg_what_would_help(run):
    for quality in (30, 90):
        Image.fromarray(GREY).save(f"{quality}.jpg", quality=quality)
    (coarse,) = run("denoise", "30.jpg", "a.png", "--sigma", 5, "--json")
    (fine,) = run("denoise", "90.jpg", "b.png", "--sigma", 5, "--json")
    assert any("cosparse deblock" in note for note in coarse["notes"]) and "notes" not in fine

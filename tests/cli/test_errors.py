"""Bad input of many kinds: one clear line, the right exit code, and no file left behind."""

from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skimage import data

import cosparse
from cosparse.cli import main
from cosparse.io.picture import write_image

GREY = data.camera()[90:130, 190:230]
COLOUR = data.astronaut()[:40, :40]


def encoded(array, format, **options):
    out = io.BytesIO()
    Image.fromarray(array).save(out, format, **options)
    return out.getvalue()


def bomb():
    """A PNG whose header promises 3.6 gigapixels."""
    head = b"IHDR" + struct.pack(">IIBBBBB", 60000, 60000, 8, 0, 0, 0, 0)
    chunk = struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    return b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\0IEND\xaeB`\x82"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of good and bad files, to work in."""
    monkeypatch.chdir(tmp_path)
    write_image("good.png", GREY)
    write_image("deep.png", GREY.astype(np.uint16) * 257)
    write_image("colour.png", COLOUR)
    write_image("clear.png", np.dstack([COLOUR, np.full((40, 40), 9, np.uint8)]))
    write_image("float.tif", (GREY / 255).astype(np.float32))
    write_image("nan.tif", np.where(np.eye(40) > 0, np.nan, GREY / 255).astype(np.float32))
    write_image("stack.tif", np.stack([GREY, GREY]))
    write_image("mask.png", np.eye(40, dtype=bool))
    write_image("black.png", np.zeros((40, 40), np.uint8))
    write_image("white.png", np.full((40, 40), 255, np.uint8))
    write_image("tiny.png", GREY[:8, :8])
    bad = {
        "text.png": b"just words",
        "zero.png": b"",
        "cut.jpg": encoded(data.camera(), "jpeg")[:9000],
        "cut.png": encoded(data.camera(), "png")[:9000],
        "layers.psd": b"8BPS and layers",
        "bomb.png": bomb(),
        "notes.txt": b"just words",
        "words.safetensors": b"just words",
        "cut.safetensors": b"",
    }
    for name, content in bad.items():
        Path(name).write_bytes(content)
    cosparse.load_operator().save("fine.safetensors")
    whole = Path("fine.safetensors").read_bytes()
    Path("cut.safetensors").write_bytes(whole[: len(whole) // 2])
    Path("cmyk.jpg").write_bytes(encoded(np.zeros((8, 8, 3), np.uint8), "jpeg"))
    Image.new("CMYK", (8, 8)).save("cmyk.jpg")
    Path("empty").mkdir()
    for name in ("named/A.png", "named/A.jpg", "webs/x.png"):
        Path(name).parent.mkdir(exist_ok=True)
        write_image(name, GREY)
    Path("webs/x.webp").write_bytes(encoded(GREY, "webp"))
    Path("empty.txt").write_bytes(b"\n")
    Path("twins/a").mkdir(parents=True)
    write_image("twins/good.png", GREY)
    return tmp_path


# Inputs that fail: the others of a batch would go on, so exit code 1.
FAILS = {
    "no such file": ("denoise gone.png out.png", "gone.png: no such file"),
    "text renamed": ("denoise text.png out.png", "text.png: not a PNG, JPEG, BMP or TIFF"),
    "zero bytes": ("denoise zero.png out.png", "zero.png: the file is empty"),
    "cut JPEG": ("denoise cut.jpg out.png", "cut.jpg: cannot be decoded as JPEG"),
    "cut PNG": ("denoise cut.png out.png", "cut.png: cannot be decoded as PNG"),
    "a PSD": ("denoise layers.psd out.png", "layers.psd: not a PNG"),
    "a bomb": ("denoise bomb.png out.png", "bomb.png: is 60000x60000 pixels, over the limit"),
    "CMYK": ("denoise cmyk.jpg out.png", "cmyk.jpg: is a CMYK image; convert it to RGB"),
    "empty folder": ("denoise empty out", "empty: this folder holds no"),
    "empty pattern": ("denoise *.bmp out", "*.bmp: this pattern holds no"),
    "would replace": ("denoise good.png colour.png", "colour.png: exists; add --force"),
    "16 bit to JPEG": ("denoise deep.png out.jpg", "out.jpg: JPEG cannot hold 16 bits"),
    "alpha to BMP": ("denoise clear.png out.bmp", "out.bmp: BMP cannot hold transparency"),
    "float to PNG": ("denoise float.tif out.png", "out.png: PNG cannot hold floats"),
    "stack to PNG": ("denoise stack.tif out.png", "out.png: PNG cannot hold a stack"),
    "NaN": ("denoise nan.tif out.tif", "nan.tif: holds NaN; fill them in first with: cosparse inpaint"),
    "OUT under a file": ("denoise good.png notes.txt/out.png", "notes.txt is not a folder"),
    "mask of another size": ("inpaint tiny.png out.png --mask mask.png", "the mask is 40x40, the image 8x8"),
    "all missing": ("inpaint good.png out.png --mask white.png", "good.png: mask: all pixels"),
    "black mask": ("inpaint good.png out.png --mask black.png", "the mask has no white pixel"),
    "no alpha": ("inpaint good.png out.png --mask alpha", "good.png: has no transparency"),
    "no NaN": ("inpaint good.png out.png --mask nan", "good.png: holds no NaN"),
    "no such colour": ("inpaint colour.png out.png --mask #00ff00", "as near to #00ff00 as --tolerance"),
    "colour in grey": ("inpaint good.png out.png --mask #ff0000", "good.png: is grey"),
    "no mask of that name": ("inpaint good.png out.png --mask empty", "no mask empty/good.png"),
    "kernel too large": ("deblur tiny.png out.png --kernel box:9", "is larger than the image"),
    "reference of another size": (
        "denoise good.png out.png --reference tiny.png", "reference (8, 8)"),
    "reference not upscaled": (
        "upscale tiny.png out.png --reference tiny.png", "the result has shape (16, 16)"),
    "sizes differ": ("compare good.png tiny.png", "good.png is 40x40 grey, tiny.png is 8x8 grey"),
    "compare with nothing": ("compare good.png gone.png", "gone.png: no such file"),
    "nothing to learn from": ("learn text.png -o out.safetensors", "text.png: not a PNG"),
}  # fmt: skip

# Commands that cannot work: exit code 2.
MISUSED = {
    "no command": ("polish good.png", "No such command 'polish'"),
    "no such option": ("denoise good.png --sgma 3", "--sgma"),
    "no input": ("denoise", "Missing argument 'IN'"),
    "not a number": ("denoise good.png --sigma much", "--sigma"),
    "negative noise": ("denoise good.png --sigma -3", "--sigma -3: must be a number"),
    "noise nan": ("denoise good.png --sigma nan", "--sigma nan: must be a number"),
    "weight zero": ("denoise good.png --weight 0", "--weight 0: must be a positive number"),
    "quality": ("denoise good.png --quality superb", "--quality"),
    "format": ("denoise good.png --format gif", "--format gif: unknown; use png"),
    "OUT of no format": ("denoise good.png out.xyz", "out.xyz: its name does not say a format"),
    "OUT against --format": ("denoise good.png out.tif --format png", "out.tif: contradicts"),
    "file for several": ("denoise good.png deep.png out.png", "out.png: for several inputs OUT"),
    "folder to a file": ("denoise twins notes.txt", "notes.txt: for several inputs OUT"),
    "two of one name": ("denoise named out --format png", "leave --format out, or repair one of them by itself"),
    "a WebP of that name": ("denoise webs out", "webs/x.png would both be written to out/x.png; repair one of them"),
    "no range": ("denoise float.tif out.tif --data-range 0", "--data-range 0: must be a positive number"),
    "no range to compare": ("compare float.tif float.tif --data-range nan", "--data-range nan: must be"),
    "no range to learn": ("learn good.png -o out.safetensors --data-range -1", "--data-range -1: must be"),
    "an empty list": ("denoise @empty.txt out/", "@empty.txt: lists no path"),
    "two to one": ("denoise good.png twins/good.png -o out", "would both be written to out/good.png"),
    "several to stdout": ("denoise twins -", "several images cannot go to standard output"),
    "JSON and stdout": ("denoise good.png - --json", "--json and the image would both go"),
    "no such operator": ("denoise good.png --operator gone", "gone: no such operator file"),
    "operator of words": (
        "denoise good.png --operator words.safetensors", "words.safetensors: not a cosparse operator"),
    "operator cut": (
        "denoise good.png --operator cut.safetensors", "cut.safetensors: not a cosparse operator"),
    "operator is an image": ("inspect good.png", "good.png: not a cosparse operator"),
    "no reference": ("denoise good.png --reference gone.png", "--reference: gone.png: no such file"),
    "mask left out": ("inpaint good.png out.png", "--mask"),
    "no such mask": ("inpaint good.png out.png --mask gone.png", "--mask: gone.png: no such file"),
    "mask of words": ("inpaint good.png out.png --mask text.png", "--mask: text.png: not a PNG"),
    "colour misspelt": ("inpaint good.png out.png --mask #f00", "--mask #f00: a colour is written"),
    "tolerance": ("inpaint good.png --mask #ff0000 --tolerance 300", "--tolerance 300: must lie in"),
    "factor": ("upscale good.png out.png --factor 7", "--factor 7: must be 1.5, 2, 3, 4 or 8"),
    "no such reduction": ("upscale good.png --kernel nearest", "nearest: no such kernel or file; use gaussian"),
    "kernel left out": ("deblur good.png out.png", "--kernel"),
    "kernel unknown": ("deblur good.png --kernel square:3", "square:3: no such kernel or file"),
    "kernel incomplete": ("deblur good.png --kernel motion:3", "is not understood"),
    "kernel negative": ("deblur good.png --kernel gaussian:-1", "must be positive and below"),
    "kernel huge": ("deblur good.png --kernel gaussian:999", "must be positive and below"),
    "kernel even": ("deblur good.png --kernel box:4", "an odd number of pixels"),
    "kernel black": ("deblur good.png --kernel black.png", "--kernel black.png: is black"),
    "border": ("deblur good.png --kernel box:3 --border mirror", "--border mirror: must be"),
    "learn to nowhere": ("learn good.png -o gone/out.safetensors", "the folder gone does not exist"),
    "learn to an image": ("learn good.png -o out.png", "ends with .safetensors"),
    "learn over another": ("learn good.png -o fine.safetensors", "exists; add --force"),
    "too few atoms": ("learn good.png -o out.safetensors --rows 9", "--rows: an operator for 64"),
    "too many patches": ("learn good.png -o out.safetensors --count 99999", "--count: the images hold"),
    "flat images": ("learn white.png -o out.safetensors", "the images hold too few patches"),
    "image too small": ("learn tiny.png -o out.safetensors --size 16", "none is as large as"),
    "penalty": ("learn good.png -o out.safetensors --penalty l1", "--penalty: expected"),
    "resume from nothing": ("learn good.png -o out.safetensors --resume", "--checkpoint FILE"),
    "checkpoint gone": (
        "learn good.png -o out.safetensors --resume --checkpoint gone", "gone: does not exist"),
    "checkpoint of words": (
        "learn good.png -o out.safetensors --resume --checkpoint notes.txt",
        "--checkpoint: notes.txt is not a checkpoint"),
    "plot of words": ("inspect --plot out.txt", "out.txt: a plot is png, svg or pdf"),
    "demo into a file": ("demo -o notes.txt", "notes.txt: is a file; name a folder"),
    "port": ("studio --port 99999", "--port"),
}  # fmt: skip


def check(capsys, command, code, says):
    before = sorted(Path().rglob("*"))
    assert main(command.split()) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("cosparse: ")
    assert says in err
    assert "Traceback" not in err
    assert sorted(Path().rglob("*")) == before
    return err.splitlines()


@pytest.mark.parametrize("kind", FAILS)
def test_an_input_that_fails(folder, capsys, kind):
    lines = check(capsys, FAILS[kind][0], 1, FAILS[kind][1])
    assert len(lines) == (2 if kind == "nothing to learn from" else 1)


@pytest.mark.parametrize("kind", MISUSED)
def test_a_command_that_cannot_work(folder, capsys, kind):
    assert len(check(capsys, MISUSED[kind][0], 2, MISUSED[kind][1])) == 1


def refuse(*_, **__):
    raise PermissionError(13, "denied")


def test_paths_without_permission(folder, capsys, monkeypatch):
    """Told by pretending: the tests may run as a user who may do anything."""
    with monkeypatch.context() as patch:
        patch.setattr("cosparse.io.disk.open", refuse, raising=False)
        check(capsys, "denoise good.png out.png", 1, "good.png: may not be read; change its perm")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        check(capsys, "denoise good.png out.png", 1, "out.png: may not be written; change")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", refuse)
        check(capsys, "denoise good.png out.png --sigma 0", 1, "out.png: may not be written")


def test_a_full_disk_and_a_full_memory(folder, capsys, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device")

    def huge(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        check(capsys, "denoise good.png out.png --sigma 0", 1, "out.png: cannot be written (No space")
    with monkeypatch.context() as patch:
        patch.setattr("cosparse.cli.batch.repair", huge)
        check(capsys, "denoise good.png out.png", 1, "good.png: not enough memory")


def test_a_mistake_of_ours_is_one_line_too(folder, capsys, monkeypatch):
    monkeypatch.setattr("cosparse.cli.batch.repair", lambda *_, **__: {}["key"])
    check(capsys, "denoise good.png out.png", 1, "good.png: unexpected KeyError")

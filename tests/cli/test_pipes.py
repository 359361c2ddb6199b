"""The program among others: pipes, xargs, completion, python -m."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import COLOUR, GREY, environment, files, noisy
from PIL import Image

import cosparse
from cosparse.cli import main
from cosparse.io.picture import read_image, write_image

MODULE = [sys.executable, "-m", "cosparse"]
SMALL = noisy(GREY[:48, :48])
needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs pipes, signals and a shell")


@pytest.fixture
def piped(folder, monkeypatch, capfd):
    """Run a command with bytes for standard input; returns what came out, the code, and what was said."""

    def call(data, *arguments):
        out = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdout", out)
        code = main([*map(str, arguments)])
        out.flush()
        return out.buffer.getvalue(), code, capfd.readouterr().err

    return call


def encoded(pixels, kind):
    file = io.BytesIO()
    write_image(file, pixels, format=kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["png", "tiff", "jpeg", "bmp"])
def test_out_comes_what_went_in(piped, kind):
    for picture in (SMALL, noisy(COLOUR[:40, :40]), SMALL.astype(np.uint16) * 257):
        if picture.dtype == np.uint16 and kind in ("jpeg", "bmp"):
            continue
        data, code, said = piped(encoded(picture, kind), "denoise", "-", "-", "--quality", "fast")
        result = read_image(data)
        assert (code, said, result.format, result.pixels.dtype) == (0, "", kind, picture.dtype)
        assert result.pixels.shape == picture.shape


def test_every_repair_is_a_filter(piped):
    picture, mask = encoded(SMALL, "png"), np.eye(48, dtype=np.uint8) * 255
    write_image("mask.png", mask)
    expected = {
        ("inpaint", "--mask", "mask.png"): lambda image: cosparse.inpaint(image, mask > 0, quality="fast"),
        ("upscale", "--factor", 2): lambda image: cosparse.upscale(image, 2, quality="fast"),
        ("deblur", "--kernel", "gaussian:1"): lambda image: cosparse.deblur(image, "gaussian:1", quality="fast"),
    }
    for (command, *options), repair in expected.items():
        data, code, said = piped(picture, command, "-", "-", *options, "--quality", "fast", "--format", "tif")
        assert (code, said) == (0, ""), command
        result = read_image(data)
        assert result.format == "tiff"
        np.testing.assert_array_equal(result.pixels, repair(SMALL), err_msg=command)


def test_a_jpeg_brings_its_tables_along(piped):
    file = io.BytesIO()
    Image.fromarray(GREY[:48, :48]).save(file, "JPEG", quality=20)
    data, code, said = piped(file.getvalue(), "deblock", "-", "-", "--quality", "fast", "--format", "png")
    assert (code, said) == (0, "")
    opened = Image.open(file)
    expected = cosparse.deblock(np.asarray(opened), opened.quantization, quality="fast")
    np.testing.assert_array_equal(read_image(data).pixels, expected)


def test_one_end_may_be_a_file(piped):
    write_image("a.tif", SMALL)
    assert piped(encoded(SMALL, "png"), "denoise", "-", "b.png", "--quality", "fast")[:2] == (b"", 0)
    data, code, _ = piped(b"", "denoise", "a.tif", "-", "--quality", "fast")
    assert code == 0 and read_image(data).format == "tiff"
    np.testing.assert_array_equal(read_image(data).pixels, read_image("b.png").pixels)
    assert files() == ["a.tif", "b.png"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.random.default_rng(0).bytes(3000), "standard input: not a PNG, JPEG, BMP or TIFF"),
        (b"", "standard input: the file is empty"),
        (encoded(SMALL, "png")[:700], "standard input: "),
    ],
    ids=["garbage", "nothing", "cut off"],
)
def test_what_is_no_picture_is_one_clear_line(piped, data, words):
    out, code, said = piped(data, "denoise", "-", "-")
    assert (out, code) == (b"", 1)
    assert said.startswith(f"cosparse: {words}") and said.count("\n") == 1


def test_a_terminal_or_a_closed_end_is_said(folder, monkeypatch, capsys):
    stdin = io.TextIOWrapper(io.BytesIO())
    for stream, words in ((None, "is closed"), (stdin, "is the terminal")):
        monkeypatch.setattr(sys, "stdin", stream)
        monkeypatch.setattr(stdin, "isatty", lambda: True, raising=False)
        assert main(["denoise", "-", "o.png"]) == 1
        assert f"standard input: {words}; pipe a picture into it, or name IN" in capsys.readouterr().err
    write_image("a.png", SMALL)
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["denoise", "a.png", "-"]) == 1
    assert "standard output: is closed; name OUT" in capsys.readouterr().err


def shell(command, **more):
    """A shell's command, in which `cosparse` is this one."""
    path = Path("bin")
    path.mkdir(exist_ok=True)
    program = path / "cosparse"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cosparse "$@"\n')
    program.chmod(0o755)
    own = environment(PATH=f"{path.resolve()}{os.pathsep}{os.environ['PATH']}", COSPARSE_NUM_THREADS="1", **more)
    return subprocess.run(["bash", "-c", command], capture_output=True, timeout=600, env=own)


@needs_posix
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_enough_is_no_error(folder, unbuffered):
    """Whatever Python buffers: a picture larger than a pipe holds, of which ten bytes are read."""
    write_image("a.tif", np.tile(SMALL, (10, 10)))
    done = shell("cosparse denoise a.tif - --sigma 0 | head -c 10; exit ${PIPESTATUS[0]}", PYTHONUNBUFFERED=unbuffered)
    assert (done.stdout[:3], len(done.stdout), done.stderr, done.returncode) == (b"II*", 10, b"", 1)


@needs_posix
@pytest.mark.slow
def test_filters_one_after_the_other(folder):
    write_image("a.png", SMALL)
    done = shell(
        "cosparse denoise - - --quality fast < a.png | cosparse upscale - - --quality fast --format tif > b.tif"
    )
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    expected = cosparse.upscale(cosparse.denoise(SMALL, quality="fast"), 2, quality="fast")
    np.testing.assert_array_equal(read_image("b.tif").pixels, expected)


@needs_posix
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("xargs") is None, reason="needs xargs")
def test_xargs_runs_several_at_a_time(folder):
    """Into one folder that none of them finds there; of a bad file among them xargs knows, and all others are done."""
    Path("in").mkdir()
    for number in range(5):
        write_image(f"in/{number} of 5.png", SMALL[number:])
    Path("in/bad.png").write_bytes(b"no picture")
    command = "find in -name '*.png' -print0 | xargs -0 -P2 -n2 cosparse denoise --quality fast -o out/deep/"
    done = shell(command)
    assert done.returncode == 123 and done.stdout == b""  # as xargs says that some failed
    assert b"in/bad.png: not a PNG" in done.stderr and b"Traceback" not in done.stderr
    expected = [f"out/deep/{number} of 5.png" for number in range(5)]
    assert [name for name in files() if name.startswith("out")] == expected  # and nothing half-written
    for number, name in enumerate(expected):
        np.testing.assert_array_equal(read_image(name).pixels, cosparse.denoise(SMALL[number:], quality="fast"))


@needs_posix
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("parallel") is None, reason="needs GNU parallel")
def test_parallel_runs_a_call_for_each(folder):
    """As docs/command-line.md has it."""
    if b"GNU parallel" not in shell("parallel --version < /dev/null").stdout:
        pytest.skip("this parallel is another program")
    Path("scans").mkdir()
    for number in range(3):
        write_image(f"scans/{number} of 3.png", SMALL[number:])
    done = shell(
        "find scans -name '*.png' -print0 | "
        "parallel --will-cite -0 -j2 cosparse denoise --quality fast {} clean/{/} 2> said; cat said | head -5"
    )
    assert b"Traceback" not in done.stdout
    for number in range(3):
        result = read_image(f"clean/{number} of 3.png").pixels
        np.testing.assert_array_equal(result, cosparse.denoise(SMALL[number:], quality="fast"))


COMPLETING = {
    "bash": {"COMP_WORDS": "cosparse den", "COMP_CWORD": "1"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "cosparse den"},
    "fish": {"_TYPER_COMPLETE_ARGS": "cosparse den", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.parametrize("kind", COMPLETING)
def test_shells_complete(kind):
    """The script that `--show-completion` prints in such a shell, and what it then asks for."""
    asked = {"source": {}, "complete": COMPLETING[kind]}
    script, found = (
        subprocess.run(
            MODULE, capture_output=True, text=True, timeout=300,
            env=environment(_COSPARSE_COMPLETE=f"{verb}_{kind}", **words), check=True,
        ).stdout
        for verb, words in asked.items()
    )  # fmt: skip
    assert f"_COSPARSE_COMPLETE=complete_{kind}" in script and "cosparse" in script
    assert "denoise" in found and "deblur" not in found


@needs_posix
@pytest.mark.slow
def test_bash_takes_the_script_it_is_shown(folder):
    """Shown to bash because bash asks, sourced, and used by its own completion."""
    done = shell(
        "eval \"$(cosparse --show-completion)\"; COMP_WORDS=(cosparse den); COMP_CWORD=1; "
        "_cosparse_completion cosparse den cosparse; echo \"${COMPREPLY[@]}\"; complete -p cosparse"
    )  # fmt: skip
    assert done.stdout.decode().splitlines()[0].strip() == "denoise", done.stderr
    assert b"_cosparse_completion" in done.stdout.splitlines()[1]
    installed = shell("HOME=$PWD cosparse --install-completion && grep -c cosparse .bashrc")
    assert installed.returncode == 0, installed.stderr


def test_python_m_cosparse():
    done = subprocess.run([*MODULE, "--version"], capture_output=True, text=True, timeout=300, env=environment())
    assert (done.returncode, done.stdout) == (0, f"cosparse {cosparse.__version__}\n")

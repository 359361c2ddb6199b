"""The program itself: demo, studio, help, the bar, Ctrl-C."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tifffile
from command_line import COLOUR, GREY, PROGRAM, environment, files, noisy

import cosparse
from cosparse.cli.progress import Tally
from cosparse.io.picture import read_image, write_image

COMMANDS = [
    "demo", "denoise", "inpaint", "upscale", "deblur", "learn", "refine", "inspect", "compare", "studio",
]  # fmt: skip


@pytest.mark.slow
def test_demo(run):
    records = run("demo", "--json")
    gained = {record["task"]: record["psnr"] - record["psnr_before"] for record in records}
    assert gained["denoise"] > 10
    assert gained["inpaint"] > 20
    assert gained["upscale"] > 0.8
    assert gained["deblur"] > 3
    assert all(record["ssim"] > record["ssim_before"] for record in records)
    sheet = read_image("cosparse-demo/sheet.png").pixels
    assert sheet.shape[0] > 1000
    assert sheet.shape[1] > 1500
    assert len(files()) == 13


def test_studio(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "cosparse.studio", None)
    run("studio", code=2)
    assert run.err == ("cosparse: the web page is not installed; install it with: pip install 'cosparse[web]'\n")
    calls = []
    kinds = {"Limits": lambda **given: given, "Place": types.SimpleNamespace(parse=lambda text: text)}
    page = types.SimpleNamespace(serve=lambda **options: calls.append(options), **kinds)
    monkeypatch.setitem(sys.modules, "cosparse.studio", page)
    run("studio", "--port", 9000, "--no-browser")
    run("studio", "--root-path", "/a", "--log", "-", "--max-upload", 250, "--max-pixels", 150)
    plain = {"host": "127.0.0.1", "place": None, "log": None, "token": None}
    assert calls == [
        {**plain, "port": 9000, "browser": False, "limits": {"upload_bytes": 100_000_000, "pixels": 40_000_000}},
        {
            **plain, "port": 7860, "browser": True, "place": "/a", "log": "-",
            "limits": {"upload_bytes": 250_000_000, "pixels": 150_000_000},
        },
    ]  # fmt: skip


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_fits_a_screen_and_shows_an_example(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(*([command] if command else []), "--help")
    assert len(lines) <= (40 if command else 32)
    assert max(map(len, lines)) <= 80
    examples = lines[next(i for i, line in enumerate(lines) if "Example" in line) + 1 :]
    assert examples
    assert all(line.strip().startswith(f"cosparse {command or ''}".strip()) for line in examples)
    if command is None:
        assert all(any(line.split()[:1] == [name] for line in lines) for name in COMMANDS)
        assert run() == lines


def test_version_and_completion(run):
    assert run("--version") == [f"cosparse {cosparse.__version__}"]
    words = {"COMP_WORDS": "cosparse den", "COMP_CWORD": "1", "_COSPARSE_COMPLETE": "complete_bash"}
    done = subprocess.run(PROGRAM, capture_output=True, timeout=120, env=environment(**words))
    assert done.stdout.split() == [b"denoise"]


def test_ctrl_c_leaves_no_half_file(run, monkeypatch):
    write_image("a.png", noisy(GREY[:32, :32]))
    write_image("b.png", noisy(GREY[:32, :32]))
    really, written = Path.write_bytes, []

    def half(self, data):
        written.append(self)
        if len(written) < 2:
            return really(self, data)
        really(self, data[:20])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", half)
    run("denoise", "a.png", "b.png", "out/", "--quality", "fast", code=130)
    assert run.err == "cosparse: stopped; 1 of 2 done\n"
    assert files() == ["a.png", "b.png", "out/a.png"]


def test_debug_shows_where(run):
    run("denoise", "gone.png", "--debug", code=1)
    assert "Traceback" not in run.err  # nothing to trace: it was never begun
    Path("a.png").write_bytes(b"words")
    run("denoise", "a.png", "--debug", code=1)
    assert "Traceback" in run.err
    run("denoise", "a.png", code=1)
    assert "Traceback" not in run.err


def shown(image, repair):
    """The figures a terminal would see beside the bar, all of them."""
    figures = []
    bar = types.SimpleNamespace(shown=True, update=lambda part, figure: figures.append((part, figure)))
    tally = Tally(image, bar)
    repair(tally)
    parts = [part for part, _ in figures]
    assert parts == sorted(parts) and parts[-1] == 1.0
    return [figure for _, figure in figures]


@pytest.mark.parametrize("stack", [False, True])
@pytest.mark.parametrize("truth", [GREY[:40, :40], COLOUR[:40, :40]], ids=["grey", "colour"])
def test_the_bar_tells_how_near_the_truth_the_picture_is(truth, stack, monkeypatch):
    monkeypatch.setattr("cosparse.cli.progress.SECONDS", 0.0)
    truth = (np.stack([truth, truth[::-1]]) if stack else truth).astype(np.float32)
    axis = -1 if truth.shape[-1] == 3 else None
    results = []

    def repair(tally, **options):
        image = truth + np.random.default_rng(0).normal(0, 20, truth.shape)
        options |= {"data_range": 255, "channel_axis": axis, "quality": "fast"}
        results.append(cosparse.denoise(image, 20, callback=tally, **options))

    figures = shown(truth, repair)
    last = (truth[-1], results[0][-1]) if stack else (truth, results[0])
    assert figures[-1] == ("page 2/2: " if stack else "") + f"{cosparse.psnr(*last, data_range=255):.2f} dB"
    assert all(figure.endswith(" dB") for figure in figures)
    assert all(figure in ("", "page 1/2", "page 2/2") for figure in shown(None, repair))  # steps have no energy
    assert all("energy" in figure for figure in shown(None, partial(repair, operator="default")))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("truth", [np.tile(GREY, (5, 5)), COLOUR], ids=["grey", "colour"])
def test_a_terminal_sees_progress(folder, truth):
    """Pictures large enough, and a minimisation long enough, for the bar to be drawn before they are done."""
    import pty

    write_image("a.png", noisy(truth))
    write_image("truth.png", truth)
    main_end, other_end = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "denoise", "a.png", "--reference", "truth.png", "--operator", "default", "--quality", "best"],
        stderr=other_end, stdout=subprocess.PIPE, env=environment(TERM="xterm", COLUMNS="100"),
    )  # fmt: skip
    os.close(other_end)
    seen = b""
    while True:
        try:
            part = os.read(main_end, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    out, _ = process.communicate(timeout=60)
    os.close(main_end)
    assert process.returncode == 0
    assert out == b""
    text = seen.decode()
    bar, line, _ = text.partition("a.png -> a.denoised.png: ")
    assert line
    assert "━" in bar
    assert re.search(r"\d\d\.\d\d dB", bar)
    assert "energy" not in bar


def test_a_stack_written_by_others(run):
    page = GREY[:40, :40]
    pages = np.stack([noisy(page, sigma) for sigma in (5, 20, 50)])
    tifffile.imwrite("stack.tif", pages, photometric="minisblack")
    (record,) = run("denoise", "stack.tif", "--json", "--quality", "fast", "--operator", "goal")
    assert record["iterations"] > 3
    assert record["sigmas"] == pytest.approx([cosparse.estimate_sigma(page) for page in pages], rel=1e-5)
    assert record["sigma"] == pytest.approx(np.mean(record["sigmas"]), rel=1e-5)
    assert record["weights"] == [1, 1, 1] and record["weight"] == 1  # the operator's own at each page's noise
    expected = [cosparse.denoise(page, quality="fast", operator="goal") for page in pages]
    np.testing.assert_array_equal(read_image("stack.denoised.tif").pixels, expected)
    (record,) = run("denoise", "stack.tif", "--json", "--quality", "fast", "--sigma", 20, "--force")
    assert record["weight"] is None and record["energy"] is None and "weights" not in record  # trained steps have none
    again = "--operator", "default", "--force"
    (record,) = run("denoise", "stack.tif", "--json", "--quality", "fast", "--sigma", 20, *again)
    assert record["sigma"] == 20 and "sigmas" not in record
    assert record["weight"] == 1 and "weights" not in record

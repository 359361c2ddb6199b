"""Learning and repairs on real Dask clusters: LocalCluster, and a scheduler and workers started as processes apart."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import zarr
from dask_processes import WAIT
from distributed.comm.core import CommClosedError
from test_tiles import as_zarr, noisy, rms

import cosparse
from cosparse import cluster
from cosparse.cli import main
from cosparse.cluster.connection import on_worker
from cosparse.io.picture import read_image, write_image
from cosparse.kernels.threads import spread

RUN = cosparse.Settings(iterations=25)


# --- learning -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, photograph, other_photograph):
    """A folder of files and a zarr array."""
    folder = tmp_path_factory.mktemp("pictures")
    for number in range(3):
        write_image(folder / f"{number}.png", photograph[40 * number :][:100])
    return [folder, as_zarr(folder / "more.zarr", other_photograph)]


def sampled(client, pictures):
    return cluster.sample_patches(pictures, size=4, count=12_000, partition=4096, client=client)


@pytest.fixture(scope="module")
def learned(pictures, local):
    """On this machine, from the same patches as on the clusters."""
    return cosparse.learn_operator(sampled(local, pictures).gather(), rows=24, settings=RUN)


@pytest.mark.parametrize("kind", ["local", "separate"])
def test_learning_equals_that_of_a_single_machine(request, kind, pictures, learned):
    given = request.getfixturevalue(kind)
    patches = sampled(getattr(given, "client", given), pictures)
    assert len(patches) == 12_000
    assert patches.digest() == sampled(patches.client, pictures).digest()
    result = cosparse.learn_operator(patches, rows=24, settings=RUN)
    np.testing.assert_allclose(result.operator.matrix, learned.operator.matrix, atol=1e-5)
    assert result.objective == pytest.approx(learned.objective, rel=1e-8)
    assert result.iterations == learned.iterations == RUN.iterations


def test_patches_from_a_dask_array_and_what_cannot_be_read(local, photograph, tmp_path):
    import dask.array as da

    write_image(tmp_path / "good.png", photograph)
    (tmp_path / "bad.png").write_bytes(b"not a picture")
    found = cluster.sample_patches([tmp_path, da.from_array(photograph, chunks=80)], count=500, client=local)
    assert len(found) == 500
    assert ["bad.png" in line for line in found.problems] == [True]
    with pytest.raises(ValueError, match="images: hold only 0 patches"):
        cluster.sample_patches(np.zeros((64, 64), np.uint8), client=local)


def test_patches_come_from_all_pages_and_channels(local, photograph, tmp_path):
    """The first page of each is flat; what white is, is said."""
    flat = np.zeros((60, 70), np.uint8)
    stack = np.stack([flat, photograph[:60, :70], photograph[60:120, :70]])
    write_image(tmp_path / "stack.tif", stack)
    as_zarr(tmp_path / "deep.zarr", stack.reshape(3, 1, 60, 70).astype(np.float32), 3)
    two = np.stack([flat, photograph[:60, :70]], axis=-1)
    for images, more in (
        (tmp_path / "stack.tif", {}), (tmp_path / "deep.zarr", {"data_range": 255.0}), (stack, {}), (two, {}),
    ):  # fmt: skip
        found = cluster.sample_patches(images, count=900, client=local, **more)
        assert len(found) == 900
        assert not found.problems


def test_a_worker_killed_while_learning_changes_nothing(separate, pictures, learned):
    victim = separate.worker()
    separate.client.wait_for_workers(3, timeout=WAIT)
    patches = sampled(separate.client, pictures)

    def strike(progress):
        if progress.iteration == 5:
            victim.kill()

    result = cosparse.learn_operator(patches, rows=24, settings=RUN, callback=strike)
    assert victim.wait(WAIT) == -signal.SIGKILL
    np.testing.assert_allclose(result.operator.matrix, learned.operator.matrix, atol=1e-5)


LEARNER = """
import sys
import cosparse, cosparse.checkpoint
from cosparse import cluster
cosparse.checkpoint.SECONDS = 0
address, checkpoint, *pictures = sys.argv[1:]
tell = lambda progress: print(progress.iteration, flush=True) if progress.iteration > 3 else None
with cluster.connect(address) as client:
    patches = cluster.sample_patches(pictures, size=4, count=12_000, partition=4096, client=client)
    cosparse.learn_operator(patches, rows=24, settings=cosparse.Settings(iterations=100_000, step_tolerance=0),
                            checkpoint=checkpoint, callback=tell)
"""


def test_learning_goes_on_after_its_client_was_killed(separate, pictures, tmp_path):
    checkpoint = tmp_path / "run.ckpt"
    command = [sys.executable, "-c", LEARNER, separate.address, str(checkpoint), *map(str, pictures)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
        assert client.stdout.readline()
        client.kill()
    settings = cosparse.Settings(iterations=40, step_tolerance=0)
    patches, seen = sampled(separate.client, pictures), []
    again = cosparse.learn_operator(
        patches, rows=24, settings=settings, checkpoint=checkpoint, callback=lambda p: seen.append(p.iteration)
    )
    assert min(seen) > 3
    whole = cosparse.learn_operator(patches.gather(), rows=24, settings=settings)
    np.testing.assert_allclose(again.operator.matrix, whole.operator.matrix, atol=1e-5)


# --- many pictures --------------------------------------------------------------------------------------


def test_training_equals_that_of_a_single_machine(separate, photograph):
    settings = {"sigma": (10, 40), "stages": 2, "pools": 3, "steps": 4, "batch": 4, "crop": 32, "validations": 1}
    given = cosparse.AnalysisOperator.dct(4), [photograph, photograph.T]
    ours = cosparse.refine_operator(*given, workers=cluster.workers(separate.client), **settings)
    here = cosparse.refine_operator(*given, **settings)
    assert ours.operator == here.operator and ours.losses == here.losses and ours.validations == here.validations


def test_many_files_with_bad_ones_and_again(local, scene, tmp_path):
    for number in range(4):
        write_image(tmp_path / f"{number}.png", scene[:40, 20 * number :][:, :40])
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    names = [*(f"{number}.png" for number in range(4)), "broken.png", "absent.png"]
    pairs = [(tmp_path / name, tmp_path / "out" / "deep" / name) for name in names]
    record, seen = tmp_path / "out" / "record.json", {}
    options = {"record": record, "client": local, "quality": "fast", "sigma": 10}
    report = cluster.repair_files("denoise", pairs, callback=seen.__setitem__, **options)
    assert (report.done, report.skipped) == (4, 0)
    assert {Path(source).name for source in report.errors} == {"broken.png", "absent.png"}
    assert len(seen) == 6
    expected = cosparse.denoise(scene[:40, :40], 10, quality="fast")
    np.testing.assert_array_equal(read_image(tmp_path / "out/deep/0.png").pixels, expected)
    (tmp_path / "out/deep/1.png").unlink()
    report = cluster.repair_files("denoise", pairs, **options)
    assert (report.done, report.skipped, len(report.errors)) == (1, 3, 2)
    with pytest.raises(FileExistsError, match="other options, which differs in sigma;"):
        cluster.repair_files("denoise", pairs, **{**options, "sigma": 5})


def test_of_many_files_those_that_changed_are_done_again(local, scene, tmp_path):
    """And nobody else's are taken for done, or replaced."""
    for name in "ab":
        write_image(tmp_path / f"{name}.png", scene[:40, :40])
    pairs = [(tmp_path / f"{name}.png", tmp_path / "out" / f"{name}.png") for name in "abc"]
    options = {"record": tmp_path / "record.json", "client": local, "quality": "fast", "sigma": 10}
    report = cluster.repair_files("denoise", pairs[:2], **options)
    assert (report.done, report.skipped) == (2, 0)
    write_image(tmp_path / "a.png", scene[40:80, :40])
    write_image(tmp_path / "c.png", scene[:40, :40])
    write_image(tmp_path / "out" / "c.png", scene[:9, :9])
    report = cluster.repair_files("denoise", pairs, **options)
    assert (report.done, report.skipped) == (1, 1)
    expected = cosparse.denoise(scene[40:80, :40], 10, quality="fast")
    np.testing.assert_array_equal(read_image(tmp_path / "out/a.png").pixels, expected)
    ((source, problem),) = report.errors.items()
    assert source.endswith("c.png") and "c.png: exists; remove it" in problem
    np.testing.assert_array_equal(read_image(tmp_path / "out/c.png").pixels, scene[:9, :9])
    (tmp_path / "a.png").write_bytes(b"no picture")
    for _ in range(2):  # the old result stays, and is not taken for that of what is there now
        report = cluster.repair_files("denoise", pairs[:2], **options)
        assert (report.done, report.skipped, len(report.errors)) == (0, 1, 1)
    assert (tmp_path / "out/a.png").exists()


def test_of_many_files_those_of_another_operator_are_refused(local, scene, tmp_path):
    default = cosparse.load_operator()
    fields = {name: getattr(default, name) for name in ("matrix", "patch_shape", "penalty", "weights", "provenance")}
    other = cosparse.AnalysisOperator(**fields, scale=1.1 * default.scale, exponents=default.exponents)
    write_image(tmp_path / "a.png", scene[:40, :40])
    pairs = [(tmp_path / "a.png", tmp_path / "out.png")]
    options = {"record": tmp_path / "record.json", "client": local, "quality": "fast"}
    cluster.repair_files("denoise", pairs, operator=default, **options)
    with pytest.raises(FileExistsError, match="differs in operator;"):
        cluster.repair_files("denoise", pairs, operator=other, **options)


def test_what_may_pass_is_tried_again(local, tmp_path, monkeypatch):
    def flaky(name):
        mark = tmp_path / name
        if not mark.exists():
            mark.touch()
            raise ConnectionResetError("once")
        return name

    def fatal(name):
        os._exit(1)

    assert dict(cluster.each(local, flaky, "abc")) == {"a": "a", "b": "b", "c": "c"}
    monkeypatch.setattr(local.cluster.scheduler, "allowed_failures", 0)  # each death is blamed at once
    outcome = dict(cluster.each(local, lambda name: fatal(name) if name == "x" else name, "xabc", retries=0))
    assert [outcome[name] for name in "abc"] == ["a", "b", "c"]  # though some were on the same worker
    assert type(outcome["x"]).__name__ == "KilledWorker"
    local.wait_for_workers(2, timeout=WAIT)  # the next test shall find it as it was


# --- the cluster itself ---------------------------------------------------------------------------------


def test_workers_of_another_version_are_refused(apart, tmp_path, scene):
    package = tmp_path / "other" / "cosparse"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '0.0.9'\n")
    apart.worker(PYTHONPATH=str(package.parent))
    with apart.wait() as client:
        client.wait_for_workers(1, timeout=WAIT)
        expected = rf"this is cosparse {re.escape(cosparse.__version__)}, but tcp://.* has 0\.0\.9"
        with pytest.raises(RuntimeError, match=expected):
            cluster.repair_picture("denoise", scene, tmp_path / "out.zarr", client=client)
        with pytest.raises(RuntimeError, match=expected), cluster.connect(apart.address):
            pass
    with pytest.raises(RuntimeError, match="asked by cosparse 9.9"):  # one that joined later
        on_worker("9.9", len, [])


def test_a_scheduler_that_is_not_there_or_has_no_workers(apart):
    def refused(kind, message, address):
        with pytest.raises(kind, match=message), cluster.connect(address, wait=1):
            pass

    refused(ConnectionError, "scheduler: tcp://127.0.0.1:9 does not answer", "tcp://127.0.0.1:9")
    refused(ValueError, "scheduler: 'nonsense://x' is not an address", "nonsense://x")
    apart.wait().close()
    refused(ConnectionError, "has no workers; start some with: dask worker", apart.address)


def test_a_cluster_without_workers_is_not_waited_for_for_ever(apart, monkeypatch):
    monkeypatch.setattr("cosparse.cluster.connection.PATIENCE", 0.1)
    pid = apart.worker().pid
    with apart.wait() as client:
        client.wait_for_workers(1, timeout=WAIT)
        with pytest.raises(ConnectionError, match="workers: all are gone"):
            dict(cluster.each(client, lambda _: os.kill(pid, signal.SIGKILL), "abc"))


def test_a_scheduler_that_is_lost_is_said_to_be(apart, scene, tmp_path):
    """Dask calls it a cancelled future, of a class that no caller of ours would catch."""
    apart.worker()
    with apart.wait() as client:
        client.wait_for_workers(1, timeout=WAIT)
        strike = {"callback": lambda done, total: apart.processes[0].kill()}
        with pytest.raises(ConnectionError, match="scheduler: the connection to it is lost"):
            cluster.repair_picture("denoise", scene, tmp_path / "out.zarr", client=client, tile=64, sigma=10, **strike)


def test_a_scheduler_that_is_lost_with_the_last_value_is_not_waited_for(local, monkeypatch):
    async def lost(*_, **__):
        raise CommClosedError("reset by peer")

    monkeypatch.setattr(local, "_gather", lost)
    with pytest.raises(ConnectionError, match="scheduler: the connection to it is lost"):
        dict(cluster.each(local, str.upper, "a"))


def test_kernels_keep_to_the_workers_thread():
    idents = on_worker(cosparse.__version__, spread, lambda _: threading.get_ident(), range(8))
    assert set(idents) == {threading.get_ident()}


# --- the command line -----------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0):
        assert main([str(argument) for argument in arguments]) == code
        return capsys.readouterr()

    return call


def test_commands_on_a_cluster(run, separate, scene, tmp_path):
    address = separate.address
    picture = noisy(scene, 12).clip(0, 255).astype(np.uint8)
    as_zarr("in.zarr", picture)
    said = run("denoise", "in.zarr", "out.tif", "--scheduler", address, "--tile", 96, "--json").out
    assert '"tiles": 6' in said
    assert rms(read_image("out.tif").pixels, cosparse.denoise(picture)) < 0.05
    for name in "ab":
        Path("in/sub").mkdir(parents=True, exist_ok=True)
        write_image(f"in/sub/{name}.png", picture[:50, :50])
    Path("in/bad.png").write_bytes(b"no")
    said = run("denoise", "in", "out", "--scheduler", address, "--json", code=1)
    assert said.out.count('"output": "out/sub/') == 2
    assert "in/bad.png" in said.err
    np.testing.assert_array_equal(read_image("out/sub/a.png").pixels, cosparse.denoise(picture[:50, :50]))
    again = run("denoise", "in", "out", "--scheduler", address, code=1).err
    assert again.endswith("cosparse: 0 done, 2 skipped (exist), 1 failed; --force replaces what exists\n")
    write_image("in/sub/a.png", picture[50:100, :50])
    said = run("denoise", "in", "out", "--scheduler", address, "--json", code=1)
    done = [line for line in map(json.loads, said.out.splitlines()) if "seconds" in line]
    assert [line["output"] for line in done] == ["out/sub/a.png"]
    np.testing.assert_array_equal(read_image("out/sub/a.png").pixels, cosparse.denoise(picture[50:100, :50]))
    assert sorted(os.listdir("out/sub")) == ["a.png", "b.png"]
    said = run("denoise", "in", "out", "--sigma", 9, "--scheduler", address, code=1).err
    assert "differs in sigma" in said and "out/sub/a.png: exists" in said
    Path("list.txt").write_text("in/sub/a.png\nin/sub/b.png\n")
    run("upscale", "@list.txt", "large/", "--scheduler", address)
    assert read_image("large/b.png").pixels.shape == (100, 100)
    learning = ("learn", "in/sub", "in.zarr", "-o", "op.safetensors", "--size", 4, "--rows", 24, "--count", 3000)
    assert "3000 patches" in run(*learning, "--iterations", 5, "--scheduler", address).out
    said = run("denoise", "in.zarr", "o.zarr", "--scheduler", address, "--tile", 10, code=1)
    assert said.err == "cosparse: tile: 10 pixels are fewer than the overlap of 56; use tiles of 224 or more\n"


def test_masks_by_tiles_are_those_of_whole_pictures(run, separate, scene):
    """Painted in a colour, white in an image file or a zarr array, NaN; widened across the borders of tiles."""
    gaps = np.random.default_rng(1).random(scene.shape) < 0.02
    red = np.stack([np.where(gaps, 255, scene), np.where(gaps, 0, scene), np.where(gaps, 3, scene)], axis=-1)
    write_image("red.tif", red.astype(np.uint8))
    write_image("nan.tif", np.where(gaps, np.nan, scene / 255).astype(np.float32))
    write_image("mask.png", gaps)
    as_zarr("mask.zarr", gaps)
    tiles = ("--tile", 96, "--scheduler", separate.address)
    for picture, mask, grow in (
        ("red", "#ff0000", 2), ("red", "mask.png", 0), ("red", "mask.zarr", 2),
        ("nan", "mask.png", 0), ("nan", "nan", 2),
    ):  # fmt: skip
        options = ("--quality", "fast", "--no-grouping", "--grow", grow, "--force")
        run("inpaint", f"{picture}.tif", "whole.tif", "--mask", mask.replace("zarr", "png"), *options)
        run("inpaint", f"{picture}.tif", "tiles.tif", "--mask", mask, *options, *tiles)
        whole, tiled = read_image("whole.tif"), read_image("tiles.tif")
        assert rms(whole.pixels, tiled.pixels, whole.data_range / 255) < 0.05, (picture, mask)
    said = run("inpaint", "nan.tif", "o.tif", "--mask", "#ff0000", *tiles, code=1).err
    assert said.startswith("cosparse: --mask #ff0000: the picture is grey, no pixel has that colour")


def test_volumes_and_float_pictures_by_the_command_line(run, separate, scene):
    """Leading axes are pages, in zarr as in TIFF; a little noise beyond [0, 1] is not another range."""
    import json

    options = ("--scheduler", separate.address, "--quality", "fast", "--json")
    volume = noisy(np.stack([scene[:60, :70], scene[60:120, :70]]), 12).clip(0, 255).astype(np.uint8)
    as_zarr("group.zarr/0", volume)
    said = json.loads(run("denoise", "group.zarr/0", "out.zarr", *options).out)
    assert (said["pages"], said["layout"]) == (2, "2 pages of 60x70 pixels")
    assert rms(zarr.open_array("out.zarr")[:], cosparse.denoise(volume, quality="fast")) < 0.05
    unit = (noisy(scene[:100, :120], 25.5) / 255).astype(np.float32)
    assert unit.min() < 0 and unit.max() > 1
    as_zarr("unit.zarr", unit)
    said = json.loads(run("denoise", "unit.zarr", "unit.out.zarr", "--sigma", 25.5, *options).out)
    assert said["data_range"] == 1.0 and said["sigma"] == pytest.approx(25.5)
    expected = cosparse.denoise(unit, 0.1, quality="fast")
    assert rms(zarr.open_array("unit.out.zarr")[:], expected, 1 / 255) < 0.05
    zarr.create_array("line.zarr", data=np.zeros(9, np.uint8))
    said = run("denoise", "line.zarr", "no.zarr", *options, code=1).err
    assert said.startswith("cosparse: line.zarr: expected (h, w), pages of it")


def test_without_the_extra_a_zarr_array_is_refused_in_one_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    for command in (("denoise", "in.zarr", "out.zarr"), ("learn", "in.zarr", "-o", "op.safetensors")):
        said = run(*command, code=2).err
        assert said == "cosparse: zarr is not installed; install it with: pip install 'cosparse[cluster]'\n"

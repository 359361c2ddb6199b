"""Learning and repairs on real Dask clusters: LocalCluster, and a scheduler and workers started as processes apart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import cosparse
from cosparse import cluster
from cosparse.cli import main
from cosparse.cluster.connection import on_worker
from cosparse.cluster.picture import _Job
from cosparse.images import read_image, write_image
from cosparse.kernels.threads import spread
from cosparse.reconstruction import measurement

zarr = pytest.importorskip("zarr")
tifffile = pytest.importorskip("tifffile")

RUN = cosparse.Settings(iterations=25)
WAIT = 120  # seconds: only to fail instead of hanging


def dask_process(*arguments, **environment):
    command = [str(Path(sys.executable).with_name("dask")), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    )


class Processes:
    """A scheduler and workers, each a process of its own, on loopback."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", self.file)
        self.processes = [dask_process("scheduler", *options)]

    def worker(self, **environment):
        options = ("--nthreads", 1, "--no-nanny", "--no-dashboard", "--scheduler-file", self.file)
        self.processes.append(dask_process("worker", *options, **environment))
        return self.processes[-1]

    @property
    def address(self):
        import json

        return json.loads(self.file.read_text())["address"]

    def wait(self):
        from distributed import Client

        return Client(scheduler_file=str(self.file), timeout=WAIT)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def separate(tmp_path_factory):
    """Scheduler and three workers; tests that kill a worker start another."""
    processes = Processes(tmp_path_factory.mktemp("dask"))
    for _ in range(2):
        processes.worker()
    with processes.wait() as client:
        client.wait_for_workers(2, timeout=WAIT)
        processes.client = client
        yield processes
    processes.end()


@pytest.fixture(scope="module")
def local():
    with cluster.connect(workers=2) as client:
        yield client


def noisy(image, sigma=20.0):
    return image + sigma * np.random.default_rng(0).standard_normal(image.shape)


def as_zarr(path, pixels, chunks=70):
    sides = (chunks, chunks, *pixels.shape[2:])
    array = zarr.create_array(path, shape=pixels.shape, chunks=sides, dtype=pixels.dtype)
    array[:] = pixels
    return path


def rms(a, b, scale=1.0):
    return float(np.sqrt(np.mean((a.astype(float) - b.astype(float)) ** 2))) / scale


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
import cosparse, cosparse.learning.goal
from cosparse import cluster
cosparse.learning.goal.CHECKPOINT_SECONDS = 0
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


# --- a picture by tiles ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scene(photograph, other_photograph):
    """Two unlike halves, so that the tiles differ."""
    return np.concatenate([photograph, other_photograph], axis=1)[:180, 60:330]


def colour(grey):
    return np.stack([grey, 255 - grey, np.roll(grey, 3, axis=0)], axis=-1)


def cases(scene):
    """Each task: pixels, the whole picture's result, and the arguments of the repair by tiles."""
    deep = np.clip(noisy(colour(scene)) * 257, 0, 65535).astype(np.uint16)
    gaps = np.random.default_rng(1).random(scene.shape) < 0.5
    kernel = measurement.gaussian_kernel(1.2)
    blurred = measurement.blur(kernel, scene.shape).matvec(scene.ravel().astype(np.float32)).reshape(scene.shape)
    blurred = (blurred / 255 + noisy(np.zeros(scene.shape), 0.01)).astype(np.float32)
    small = scene[:90, :130]
    yield "denoise", deep, cosparse.denoise(deep, channel_axis=-1), {}
    yield "inpaint", scene, cosparse.inpaint(scene, gaps), {"mask": gaps}
    yield "upscale", small, cosparse.upscale(small, 2), {"factor": 2}
    yield "deblur", blurred, cosparse.deblur(blurred, kernel), {"kernel": kernel}


def seam_and_inside(difference, tile):
    """The largest mean jump of the difference across a tile border, and across any other line."""
    jumps = [np.abs(np.diff(difference, axis=axis)).mean(axis=1 - axis) for axis in (0, 1)]
    seams = np.concatenate([jump[tile - 1 :: tile] for jump in jumps])
    inside = np.concatenate([np.delete(jump, np.s_[tile - 1 :: tile]) for jump in jumps])
    return seams.max(), inside.max()


def test_tiles_give_the_whole_pictures_result(local, scene, tmp_path):
    for task, pixels, whole, options in cases(scene):
        source, target = as_zarr(tmp_path / f"{task}.zarr", pixels), tmp_path / f"{task}.out.zarr"
        report = cluster.repair_picture(task, source, target, tile=80, client=local, **options)
        result = zarr.open_array(target, mode="r")[:]
        white = 1.0 if pixels.dtype.kind == "f" else np.iinfo(pixels.dtype).max
        assert (result.shape, result.dtype) == (whole.shape, whole.dtype), task
        assert report.tiles > 1, task
        assert rms(result, whole, white / 255) < 0.05, task
    assert not list(tmp_path.glob("*.part"))


def test_no_seam_where_the_steps_come_from_samples(local, scene, tmp_path, monkeypatch):
    """Few samples, as of a picture larger than all of them: near the whole's result, and the same on both sides."""
    monkeypatch.setattr("cosparse.cluster.picture.SAMPLES", 4)
    unit = (noisy(scene, 15) / 255).astype(np.float32)
    cluster.repair_picture("denoise", unit, tmp_path / "out.zarr", sigma=15 / 255, tile=64, client=local)
    difference = (zarr.open_array(tmp_path / "out.zarr")[:] - cosparse.denoise(unit, 15 / 255)) * 255
    assert 0 < np.sqrt((difference**2).mean()) < 0.1
    seam, inside = seam_and_inside(difference, 64)
    assert seam <= inside
    tiles = [[unit[i : i + 64, j : j + 64] for j in range(0, 270, 64)] for i in (0, 64, 128)]
    apart = np.block([[cosparse.denoise(tile, 15 / 255) for tile in row] for row in tiles])
    seam, inside = seam_and_inside((apart - cosparse.denoise(unit, 15 / 255)) * 255, 64)
    assert seam > 1.5 * inside  # tiles on their own do show


def test_noise_is_that_of_the_whole_picture(local, scene, tmp_path, monkeypatch):
    monkeypatch.setattr("cosparse.cluster.picture.SAMPLES", 4)  # too many pixels for one task, then
    pixels = np.clip(noisy(colour(scene), 12), 0, 255).astype(np.uint8)
    report = cluster.repair_picture("denoise", pixels, tmp_path / "out.zarr", tile=50, client=local, quality="fast")
    assert report.sigma == pytest.approx(cosparse.estimate_sigma(pixels, channel_axis=-1), rel=1e-3)


def test_tiff_in_and_out(local, scene, tmp_path):
    pixels = np.clip(noisy(colour(scene), 12), 0, 255).astype(np.uint8)
    options = {"tile": (64, 64), "photometric": "rgb", "resolution": (300, 300), "resolutionunit": 2}
    tifffile.imwrite(tmp_path / "in.tif", pixels, bigtiff=True, **options)
    cluster.repair_picture("denoise", tmp_path / "in.tif", tmp_path / "out.tif", tile=128, client=local)
    whole = cosparse.denoise(pixels, channel_axis=-1)
    result = read_image(tmp_path / "out.tif")
    assert rms(result.pixels, whole) < 0.05
    assert result.metadata["dpi"] == (300, 300)
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        assert file.pages[0].is_tiled


def test_a_worker_killed_and_a_client_killed_lose_no_tile(separate, scene, tmp_path):
    unit = noisy(np.tile(scene, (2, 1)), 15).clip(0, 255).astype(np.uint8)
    source = as_zarr(tmp_path / "in.zarr", unit)
    command = (
        "import sys; from cosparse import cluster\n"
        "with cluster.connect(sys.argv[1]) as client:\n"
        "    cluster.repair_picture('denoise', sys.argv[2], sys.argv[3], tile=48, client=client, quality='fast',\n"
        "                           callback=lambda *done: print(*done, flush=True))"
    )
    target = tmp_path / "out.zarr"
    line = [sys.executable, "-c", command, separate.address, str(source), str(target)]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as client:
        assert client.stdout.readline().split()[0] == b"1"
        client.kill()
    assert not target.exists()
    victim = separate.worker()
    separate.client.wait_for_workers(3, timeout=WAIT)
    calls = []

    def strike(done, total):
        calls.append(done)
        if len(calls) == 3:
            victim.kill()

    options = {"quality": "fast", "callback": strike}
    report = cluster.repair_picture("denoise", source, target, tile=48, client=separate.client, **options)
    assert victim.wait(WAIT) == -signal.SIGKILL
    assert 0 < report.resumed < report.tiles
    assert len(calls) == report.tiles - report.resumed
    assert rms(zarr.open_array(target)[:], cosparse.denoise(unit, quality="fast")) < 0.05


def test_tiles_of_another_repair_are_not_mixed_in(local, scene, tmp_path, monkeypatch):
    target, options = tmp_path / "out.zarr", {"tile": 80, "client": local, "quality": "fast"}

    def fail(*_):
        raise RuntimeError("stop here")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="stop here"):
        patch.setattr(_Job, "_finish", fail)
        cluster.repair_picture("denoise", scene, target, sigma=9, **options)
    with pytest.raises(FileExistsError, match="another repair, which differs in options"):
        cluster.repair_picture("denoise", scene, target, sigma=5, **options)
    report = cluster.repair_picture("denoise", scene, target, sigma=5, force=True, **options)
    assert report.resumed == 0
    with pytest.raises(FileExistsError, match="exists"):
        cluster.repair_picture("denoise", scene, target, sigma=5, **options)


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("denoise", {"tile": 20}, "tile: 20 pixels are fewer than the overlap of 32"),
        ("reconstruct", {}, "reconstruct: every measurement depends on the whole picture"),
        ("deblur", {"kernel": np.ones((3, 3)), "border": "periodic"}, "border='periodic': every measurement"),
        ("inpaint", {}, "mask: inpaint needs one"),
        ("inpaint", {"mask": np.ones((4, 4), bool)}, r"mask: has shape \(4, 4\)"),
        (
            "inpaint",
            {"mask": np.arange(270) < np.full((180, 1), 250), "tile": 64, "quality": "fast"},
            "no pixel is known around rows",
        ),
    ],
)
def test_what_tiles_cannot_do_is_refused(local, scene, tmp_path, task, options, message):
    with pytest.raises(ValueError, match=message):
        cluster.repair_picture(task, scene, tmp_path / "out.zarr", client=local, **options)


@pytest.fixture
def tiny_disk(tmp_path, local):
    """A folder that 200 kB fill: a disk of that size, or where none may be mounted, a limit on the workers' files."""
    import resource

    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)], capture_output=True
    ).returncode
    old = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    if not mounted:
        local.run(resource.setrlimit, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    yield folder
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)
    else:
        local.run(resource.setrlimit, resource.RLIMIT_FSIZE, old)


def test_a_full_disk_is_said_and_what_is_done_kept(local, scene, tiny_disk):
    rough = np.random.default_rng(0).integers(0, 65535, (500, 500), dtype=np.uint16)
    with pytest.raises(OSError, match=r"out\.zarr: cannot be written \(.*\); make room and run again") as caught:
        cluster.repair_picture("denoise", rough, tiny_disk / "out.zarr", sigma=99, tile=64, client=local)
    assert "Traceback" not in str(caught.value)
    assert (tiny_disk / "out.zarr.part" / "job.json").exists()
    assert not (tiny_disk / "out.zarr").exists()


# --- many pictures --------------------------------------------------------------------------------------


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
    with pytest.raises(FileExistsError, match="other options"):
        cluster.repair_files("denoise", pairs, **{**options, "sigma": 5})


def test_what_may_pass_is_tried_again(local, tmp_path):
    def flaky(name):
        mark = tmp_path / name
        if not mark.exists():
            mark.touch()
            raise ConnectionResetError("once")
        return name

    def fatal(name):
        os._exit(1)

    assert dict(cluster.each(local, flaky, "abc")) == {"a": "a", "b": "b", "c": "c"}
    outcome = dict(cluster.each(local, lambda name: fatal(name) if name == "x" else name, "xy", retries=0))
    assert outcome["y"] == "y"
    assert type(outcome["x"]).__name__ == "KilledWorker"


# --- the cluster itself ---------------------------------------------------------------------------------


def test_workers_of_another_version_are_refused(tmp_path, scene):
    package = tmp_path / "other" / "cosparse"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '0.0.9'\n")
    processes = Processes(tmp_path)
    try:
        processes.worker(PYTHONPATH=str(package.parent))
        with processes.wait() as client:
            client.wait_for_workers(1, timeout=WAIT)
            expected = rf"this is cosparse {cosparse.__version__}, but tcp://.* has 0\.0\.9"
            with pytest.raises(RuntimeError, match=expected):
                cluster.repair_picture("denoise", scene, tmp_path / "out.zarr", client=client)
            with pytest.raises(RuntimeError, match="0.0.9"), cluster.connect(processes.address):
                pass
    finally:
        processes.end()
    with pytest.raises(RuntimeError, match="asked by cosparse 9.9"):  # one that joined later
        on_worker("9.9", len, [])


def test_a_scheduler_that_is_not_there_or_has_no_workers(tmp_path, capfd):
    def refused(kind, message, address):
        with pytest.raises(kind, match=message), cluster.connect(address, wait=1):
            pass

    refused(ConnectionError, "scheduler: tcp://127.0.0.1:9 does not answer", "tcp://127.0.0.1:9")
    refused(ValueError, "scheduler: 'nonsense://x' is not an address", "nonsense://x")
    processes = Processes(tmp_path)
    try:
        processes.wait().close()
        refused(ConnectionError, "has no workers; start some with: dask worker", processes.address)
    finally:
        processes.end()


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
    assert "2 of 3 are there from an earlier run" in run("denoise", "in", "out", "--scheduler", address, code=1).err
    Path("list.txt").write_text("in/sub/a.png\nin/sub/b.png\n")
    run("upscale", "@list.txt", "large/", "--scheduler", address)
    assert read_image("large/b.png").pixels.shape == (100, 100)
    learning = ("learn", "in/sub", "in.zarr", "-o", "op.safetensors", "--size", 4, "--rows", 24, "--count", 3000)
    assert "3000 patches" in run(*learning, "--iterations", 5, "--scheduler", address).out
    said = run("denoise", "in.zarr", "o.zarr", "--scheduler", address, "--tile", 10, code=1)
    assert said.err == "cosparse: tile: 10 pixels are fewer than the overlap of 32; use tiles of 128 or more\n"

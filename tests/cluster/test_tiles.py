"""One picture by tiles, on real Dask clusters: the whole picture's result, whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
import tifffile
import zarr
from dask_processes import WAIT
from distributed import wait
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from microscope import FIVE, OME, tiff, written

import cosparse
from cosparse import cluster
from cosparse.cluster.large_picture import TiledRepair, Tiling
from cosparse.cluster.layout import Layout
from cosparse.cluster.page_values import find_extremes
from cosparse.cluster.sampling import Sampling, representative, sampled
from cosparse.cluster.steps import Pieces, find_steps
from cosparse.cluster.tiles import Assignment, assign, divided, examine, repair_tile, share_of
from cosparse.io.picture import read_image
from cosparse.optimize import Whitened
from cosparse.reconstruction import measurement
from cosparse.reconstruction.bounds import Extremes
from cosparse.reconstruction.tasks import TASKS
from cosparse.repair import repair

HALF = np.arange(270) < np.full((180, 1), 250)  # and no tile can see the known pixels from the first column


def noisy(image, sigma=20.0):
    return image + sigma * np.random.default_rng(0).standard_normal(image.shape)


def as_zarr(path, pixels, chunks=70):
    sides = (chunks, chunks, *pixels.shape[2:])
    array = zarr.create_array(path, shape=pixels.shape, chunks=sides, dtype=pixels.dtype)
    array[:] = pixels
    return path


def repair_sampled(sampling, task, source, target, client, *, mask=None, tile=1024, **options):
    """As `cluster.repair_picture`, with the steps from other parts of the picture than its size would make them."""
    return TiledRepair(task, source, mask, target, Tiling(tile, sampling=sampling), options).run(client, False)


def rms(a, b, scale=1.0):
    return float(np.sqrt(np.mean((a.astype(float) - b.astype(float)) ** 2))) / scale


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
    yield "upscale", small, cosparse.upscale(small, 2, kernel="lanczos"), {"factor": 2, "kernel": "lanczos"}
    yield "deblur", blurred, cosparse.deblur(blurred, kernel), {"kernel": kernel}


def seam_and_inside(difference, tile):
    """The largest mean jump of the difference across a tile border, and across any other line."""
    jumps = [np.abs(np.diff(difference, axis=axis)).mean(axis=1 - axis) for axis in (0, 1)]
    seams = np.concatenate([jump[tile - 1 :: tile] for jump in jumps])
    inside = np.concatenate([np.delete(jump, np.s_[tile - 1 :: tile]) for jump in jumps])
    return seams.max(), inside.max()


@pytest.mark.parametrize("parts", [False, True], ids=["steps of the whole", "of parts that cover it"])
def test_tiles_give_the_whole_pictures_result(local, scene, tmp_path, parts):
    sampling = Sampling(whole=4, cover=96) if parts else Sampling()
    for task, pixels, whole, options in cases(scene):
        source, target = as_zarr(tmp_path / f"{task}.zarr", pixels), tmp_path / f"{task}.out.zarr"
        report = repair_sampled(sampling, task, source, target, local, tile=80, **options)
        result = zarr.open_array(target, mode="r")[:]
        white = 1.0 if pixels.dtype.kind == "f" else np.iinfo(pixels.dtype).max
        assert (result.shape, result.dtype) == (whole.shape, whole.dtype), task
        assert report.tiles > 1, task
        assert rms(result, whole, white / 255) < 0.05, task
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "kernel"),
    [(4, "lanczos"), (3, np.ones((5, 5))), (1.5, "bicubic")],
    ids=["named", "array", "one and a half"],
)
def test_tiles_of_upscaling_look_at_the_same_phases(scene, factor, kernel):
    """The widest kernels, and a factor that is not whole on odd sides; in this process."""
    pixels = (scene[:97, :131] if factor == 1.5 else scene[:56, :80]) / np.float32(255)
    options = {"factor": factor, "kernel": kernel, "quality": "fast", "operator": "default"}
    work, request = assign("upscale", options, False, Layout((), pixels.shape), pixels.dtype)
    grid, found = divided(work, request, pixels.shape, 32, None), examine(work, pixels, None, alone=False)
    whole = cosparse.upscale(pixels, **options)
    result = np.zeros_like(whole)
    for cell in grid.cells:
        result[grid.target(cell)] = repair_tile((work, grid, found), pixels[grid.region(cell)], None, cell)
    assert len(grid.cells) > 1 and rms(result, whole, 1 / 255) < 0.05


@pytest.mark.slow
def test_tiles_of_noisy_pixels_are_filled_and_then_denoised(scene):
    """By the energy's common steps, then by trained ones, each of which looks further; in this process."""
    gaps = np.random.default_rng(1).random(scene.shape) < 0.3
    pixels, options = (noisy(scene, 15.0) / 255).astype(np.float32), {"sigma": 15 / 255, "quality": "fast"}
    work, request = assign("inpaint", options, True, Layout((), pixels.shape), pixels.dtype)
    grid, found = divided(work, request, pixels.shape, 96, 96), examine(work, pixels, gaps, alone=False)
    whole = cosparse.inpaint(pixels, gaps, **options)
    result = np.zeros_like(whole)
    for cell in grid.cells:
        part = grid.region(cell)
        result[grid.target(cell)] = repair_tile((work, grid, found), pixels[part], gaps[part], cell)
    assert found.steps and len(grid.cells) > 1 and rms(result, whole, 1 / 255) < 0.05


@pytest.mark.slow
def test_tiles_take_the_same_steps_in_every_round(scene):
    """In which noise that neighbours share is taken away; in this process."""
    noise = cosparse.Correlated(15.0, kernel=np.ones((1, 9)))
    pixels = noise.sample(scene[:88], 0).astype(np.float32)
    options = {"noise": noise, "quality": "fast", "data_range": 255.0, "grouping": False}
    work, request = assign("denoise", options, False, Layout((), pixels.shape), pixels.dtype)
    grid, found = divided(work, request, pixels.shape, 96, None), examine(work, pixels, None, alone=False)
    whole = cosparse.denoise(pixels, **options)
    result = np.zeros_like(whole)
    for cell in grid.cells:
        result[grid.target(cell)] = repair_tile((work, grid, found), pixels[grid.region(cell)], None, cell)
    assert len(grid.cells) > 1 and rms(result, whole) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("task", "sigma"), [("denoise", 50.0), ("inpaint", 0.0)])
def test_tiles_move_in_the_same_coordinates(scene, task, sigma):
    """Whitened by filters that do not depend on the picture, nor on the part of it; in this process."""
    gaps = np.random.default_rng(1).random(scene.shape) < 0.8 if task == "inpaint" else None
    pixels = (noisy(scene, sigma) / 255).astype(np.float32)
    options = {"sigma": sigma / 255, "operator": "default", "grouping": False}
    work, request = assign(task, options, gaps is not None, Layout((), pixels.shape), pixels.dtype)
    grid, found = divided(work, request, pixels.shape, 80, None), examine(work, pixels, gaps, alone=False)
    asked = TASKS[task].request(pixels, **({} if gaps is None else {"mask": gaps}), **options)
    assert all(isinstance(space, Whitened) for problem in asked.problems() for space in problem.geometries())
    whole = asked.run()
    result = np.zeros_like(whole)
    for cell in grid.cells:
        part = grid.region(cell)
        seen = None if gaps is None else gaps[part]
        result[grid.target(cell)] = repair_tile((work, grid, found), pixels[part], seen, cell)
    assert len(grid.cells) > 1 and rms(result, whole, 1 / 255) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [30, None], ids=["given", "estimated"])
@pytest.mark.parametrize("quality", ["fast", "balanced"])
def test_tiles_have_the_halves_of_chroma_where_the_whole_has(scene, quality, sigma):
    """Half the size doubles the lattice of the steps, and what they look at; also where the noise is not yet known."""
    pixels = np.clip(noisy(colour(scene), 30), 0, 255).astype(np.uint8)
    options = {"quality": quality, "sigma": sigma}
    work, request = assign("denoise", options, False, Layout((), pixels.shape[:2], 3), pixels.dtype)
    grid, found = divided(work, request, pixels.shape[:2], 112, None), examine(work, pixels, None, alone=False)
    whole = cosparse.denoise(pixels, channel_axis=-1, **options)
    assert any(problem.half for problem in request.problems())
    result = np.zeros_like(whole)
    for cell in grid.cells:
        result[grid.target(cell)] = repair_tile((work, grid, found), pixels[grid.region(cell)], None, cell)
    assert len(grid.cells) > 1 and rms(result, whole) < 0.05


def mapped_cases(scene):
    """Each task with a map of noise levels: pixels, the map, the whole picture's result, and options."""
    pixels = (scene[:110, :150] / 255).astype(np.float32)
    levels = (np.geomspace(0.02, 0.2, 150) * np.linspace(1, 1.5, 110)[:, None]).astype(np.float32)
    gaps = np.random.default_rng(1).random(pixels.shape) < 0.3
    noise = noisy(np.zeros(pixels.shape), 1.0).astype(np.float32)
    seen, calm = pixels + levels * noise, pixels + levels / 4 * noise
    yield "denoise", seen, levels, None, {}
    yield "denoise", seen, levels, None, {"operator": "default"}
    yield "inpaint", seen, levels, gaps, {"grouping": False}
    yield "upscale", calm, levels / 4, None, {"factor": 2, "quality": "fast"}
    yield "deblur", calm, levels / 4, None, {"kernel": measurement.gaussian_kernel(1.2), "quality": "fast"}


@pytest.mark.slow
def test_tiles_with_a_map_of_the_noise_give_the_whole_pictures_result(scene):
    """In this process: every tile has its part of the map, and knows what is typical of the whole."""
    for task, pixels, levels, gaps, options in mapped_cases(scene):
        more = {} if gaps is None else {"mask": gaps}
        whole = TASKS[task].request(pixels, sigma=levels, **more, **options).run()
        work, request = assign(task, options, gaps is not None, Layout((), pixels.shape), pixels.dtype, mapped=True)
        grid, found = divided(work, request, pixels.shape, 64, None), examine(work, pixels, gaps, False, levels)
        result = np.zeros_like(whole)
        for cell in grid.cells:
            region = grid.region(cell)
            parts = pixels[region], None if gaps is None else gaps[region], cell, levels[region]
            result[grid.target(cell)] = repair_tile((work, grid, found), *parts)
        assert len(grid.cells) > 1 and rms(result, whole, 1 / 255) < 0.05, (task, options)


@pytest.mark.parametrize("kind", ["numpy", "dask", "zarr", "path", "Map"])
def test_a_map_of_the_noise_may_be_larger_than_memory_too(local, scene, tmp_path, kind):
    pixels = colour(noisy(scene)[:100, :120]).astype(np.float32) / 255
    levels = np.geomspace(0.05, 0.2, 120, dtype=np.float32) * np.ones((100, 1), np.float32)
    path = as_zarr(tmp_path / "map.zarr", levels)
    given = {
        "numpy": {"sigma": levels},
        "dask": {"sigma": da.from_array(levels, chunks=33)},
        "zarr": {"sigma": zarr.open_array(path, mode="r")},
        "path": {"sigma": path},
        "Map": {"noise": cosparse.Map(levels)},
    }[kind]
    report = repair_sampled(
        Sampling(whole=4, cover=96), "denoise", pixels, tmp_path / "out.zarr", local, tile=64, quality="fast", **given
    )
    assert report.sigma == pytest.approx(float(np.sqrt((levels**2).mean())), rel=1e-5)
    whole = cosparse.denoise(pixels, levels, channel_axis=-1, quality="fast")
    assert rms(zarr.open_array(tmp_path / "out.zarr")[:], whole, 1 / 255) < 0.05


def test_photon_noise_by_tiles(local, scene, tmp_path):
    model = cosparse.PoissonGaussian(0.03, 0.02, 0.04)
    pixels = model.sample(scene[:100, :200] / 255, rng=0).astype(np.float32)
    for task, options in (("denoise", {}), ("upscale", {"factor": 2, "quality": "fast"})):
        target = tmp_path / f"{task}.zarr"
        report = repair_sampled(Sampling(), task, pixels, target, local, tile=60, noise=model, **options)
        assert report.tiles > 1
        whole = TASKS[task].request(pixels, noise=model, **options).run()
        assert rms(zarr.open_array(target)[:], whole, 1 / 255) < 0.05, task


@pytest.mark.parametrize(
    ("levels", "word"),
    [(np.ones((9, 9)), "sigma: has shape"), (np.zeros((48, 60)), "positive"), (np.full((48, 60), np.nan), "positive")],
)
def test_maps_that_cannot_be_are_refused_before_anything_is_written(local, scene, tmp_path, levels, word):
    with pytest.raises(ValueError, match=word):
        cluster.repair_picture("denoise", scene[:48, :60], tmp_path / "out.zarr", sigma=levels, client=local)
    assert not list(tmp_path.iterdir())


def test_no_seam_where_the_steps_come_from_samples(local, scene, tmp_path):
    """Few samples, as of a picture larger than all of them: near the whole's result, and the same on both sides."""
    few = Sampling(whole=4, held=4, samples=4)
    unit = (noisy(scene, 15) / 255).astype(np.float32)
    repair_sampled(few, "denoise", unit, tmp_path / "out.zarr", local, sigma=15 / 255, tile=64)
    difference = (zarr.open_array(tmp_path / "out.zarr")[:] - cosparse.denoise(unit, 15 / 255)) * 255
    assert 0 < np.sqrt((difference**2).mean()) < 0.1
    seam, inside = seam_and_inside(difference, 64)
    assert seam <= inside
    tiles = [[unit[i : i + 64, j : j + 64] for j in range(0, 270, 64)] for i in (0, 64, 128)]
    apart = np.block([[cosparse.denoise(tile, 15 / 255) for tile in row] for row in tiles])
    seam, inside = seam_and_inside((apart - cosparse.denoise(unit, 15 / 255)) * 255, 64)
    assert seam > 1.5 * inside  # tiles on their own do show


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("denoise", {"sigma": 8}),
        ("inpaint", {"sigma": 5}),
        ("upscale", {"factor": 2, "sigma": 3}),
        ("deblur", {"kernel": measurement.gaussian_kernel(1.2), "sigma": 8}),
    ],
)
def test_samples_that_cover_a_picture_give_its_own_steps(scene, task, options):
    """Step by step, and one trial after the other: noise 8 takes steps that the line search shortens."""
    pixels = noisy(scene, 8).astype(np.float32)[:150, :200]
    gaps = np.random.default_rng(1).random(pixels.shape) < 0.3 if task == "inpaint" else None
    known = {"data_range": 255.0, "bounds": (0.0, 255.0)}
    work = Assignment(task, {**options, **known, "operator": cosparse.load_operator()}, colour=False)

    def steps(side, cells):
        samples = [sampled(cell, pixels.shape, side, 32) for cell in cells]
        masks = [None if gaps is None else gaps[sample.region] for sample in samples]
        return find_steps(Pieces(None, [share_of(work, [pixels[one.region] for one in samples], masks, samples)]))

    whole = steps(200, [(0, 0)])
    parts = steps(80, [(i, j) for i in range(2) for j in range(3)])
    for ours, theirs in zip(parts, whole, strict=True):
        assert len(ours) == len(theirs) and ours[0][0] is theirs[0][0] is None
        np.testing.assert_allclose(np.array(ours[1:], float), np.array(theirs[1:], float), rtol=0.01, atol=0.01)


GRIDS = arrays(float, st.tuples(st.integers(1, 40), st.integers(1, 40)), elements=st.integers(0, 9))


@given(interest=GRIDS, count=st.integers(4, 60))
def test_samples_stand_for_all_places(interest, count):
    """For those inside, along the sides and at the corners apart: what they add up to is what all do."""
    rows, columns = interest.shape
    chosen = representative(interest, count)
    weights = dict(chosen)
    assert len(weights) == len(chosen) <= count + 5
    if not interest.any():
        interest = np.ones(interest.shape)
    for sides in range(3):
        total = estimate = 0.0
        for place in np.ndindex(rows, columns):
            if (place[0] in (0, rows - 1)) + (place[1] in (0, columns - 1)) == sides:
                total += interest[place]
                estimate += weights.get(place, 0.0) * interest[place]
        assert estimate == pytest.approx(total)
    assert all(weight > 1 - 1e-6 for weight in weights.values())
    if count > 4 * interest.size:
        assert set(weights) == set(map(tuple, np.argwhere(interest).tolist()))


def test_gaps_in_the_last_narrow_row_and_column_of_samples_are_seen(local, scene, tmp_path):
    gaps = np.zeros(scene.shape, bool)
    gaps[-1, 5] = gaps[5, -1] = gaps[70, 70] = True
    repair = TiledRepair("inpaint", scene, gaps, tmp_path / "out.zarr", Tiling(96), {})
    assert np.argwhere(repair.page(0).interest(local, 32)).tolist() == [[0, 8], [2, 2], [5, 0]]


def test_workers_together_find_the_steps_that_one_process_finds(separate, scene, monkeypatch):
    """To the last bit, though one is killed on the way; one share of the samples has nothing to do."""
    pixels, gaps = scene.astype(np.float32)[:96, :160], np.random.default_rng(1).random((96, 160)) < 0.3
    gaps[:, 80:] = False
    known = {"data_range": 255.0, "bounds": None, "quality": "fast", "operator": cosparse.load_operator()}
    work = Assignment("inpaint", known, colour=False)
    shares = []
    for cell in ((0, 0), (1, 0), (0, 1), (0, 2)):
        sample = sampled(cell, pixels.shape, 48, 0)
        shares.append((work, [pixels[sample.region]], [gaps[sample.region]], [sample]))
    victim = separate.worker()
    separate.client.wait_for_workers(3, timeout=WAIT)
    (address,) = (name for name, pid in separate.client.run(os.getpid).items() if pid == victim.pid)
    kept = [separate.client.submit(share_of, *share, workers=[address], allow_other_workers=True) for share in shares]
    wait(kept)

    gather, calls = Pieces.gather, []

    def strike(pieces):
        calls.append(pieces)
        if len(calls) == 20:
            victim.kill()
        return gather(pieces)

    here = find_steps(Pieces(None, [share_of(*share) for share in shares]))
    assert len(here) == 2 and min(map(len, here)) > 5
    monkeypatch.setattr(Pieces, "gather", strike)
    assert find_steps(Pieces(separate.client, kept)) == here
    assert victim.wait(WAIT) == -signal.SIGKILL


def test_noise_is_that_of_the_whole_picture(local, scene, tmp_path):
    pixels = np.clip(noisy(colour(scene), 12), 0, 255).astype(np.uint8)
    apart = Sampling(whole=4)  # too many pixels for one task, then
    report = repair_sampled(apart, "denoise", pixels, tmp_path / "out.zarr", local, tile=56, quality="fast")
    assert report.sigma == pytest.approx(cosparse.estimate_sigma(pixels, channel_axis=-1), rel=1e-3)


def test_tiff_in_and_out(local, scene, tmp_path):
    pixels = np.clip(noisy(colour(scene), 12), 0, 255).astype(np.uint8)
    options = {"tile": (64, 64), "photometric": "rgb", "resolution": (300, 300), "resolutionunit": 2}
    artist = [(315, 2, 0, "Ada", True)]
    tifffile.imwrite(tmp_path / "in.tif", pixels, bigtiff=True, byteorder=">", extratags=artist, **options)
    report = cluster.repair_picture("denoise", tmp_path / "in.tif", tmp_path / "out.tif", tile=128, client=local)
    assert report.lost == ()
    whole = cosparse.denoise(pixels, channel_axis=-1)
    result = read_image(tmp_path / "out.tif")
    assert rms(result.pixels, whole) < 0.05
    assert result.metadata["dpi"] == (300, 300)
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        assert file.pages[0].is_tiled and file.pages[0].tags[315].value == "Ada"


def test_a_worker_killed_and_a_client_killed_lose_no_tile(separate, scene, tmp_path):
    unit = noisy(np.tile(scene, (2, 1)), 15).clip(0, 255).astype(np.uint8)
    source = as_zarr(tmp_path / "in.zarr", unit)
    command = (
        "import sys; from cosparse import cluster\n"
        "with cluster.connect(sys.argv[1]) as client:\n"
        "    cluster.repair_picture('denoise', sys.argv[2], sys.argv[3], tile=60, client=client, quality='fast',\n"
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
    report = cluster.repair_picture("denoise", source, target, tile=60, client=separate.client, **options)
    assert victim.wait(WAIT) == -signal.SIGKILL
    assert 0 < report.resumed < report.tiles
    assert len(calls) == report.tiles - report.resumed
    assert rms(zarr.open_array(target)[:], cosparse.denoise(unit, quality="fast")) < 0.05


@pytest.fixture
def stopped(monkeypatch):
    """A repair whose tiles are all done, but that was killed before it could finish."""

    def fail(*_):
        raise RuntimeError("stop here")

    def call(*arguments, **options):
        with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="stop here"):
            patch.setattr(TiledRepair, "_finish", fail)
            cluster.repair_picture(*arguments, **options)

    return call


def test_tiles_of_another_repair_are_not_mixed_in(local, scene, tmp_path, stopped):
    target, options = tmp_path / "out.zarr", {"tile": 80, "client": local, "quality": "fast"}
    stopped("denoise", scene, target, sigma=9, **options)
    with pytest.raises(FileExistsError, match="another repair, which differs in sigma;"):
        cluster.repair_picture("denoise", scene, target, sigma=5, **options)
    report = cluster.repair_picture("denoise", scene, target, sigma=5, force=True, **options)
    assert report.resumed == 0
    with pytest.raises(FileExistsError, match="exists"):
        cluster.repair_picture("denoise", scene, target, sigma=5, **options)


def test_tiles_of_another_operator_are_not_mixed_in(local, scene, tmp_path, stopped):
    """Refined operators that differ in scale alone or in exponents alone."""
    default = cosparse.load_operator()
    fields = {name: getattr(default, name) for name in ("matrix", "patch_shape", "penalty", "weights", "provenance")}
    given = {"sigma": 9, "tile": 80, "client": local, "quality": "fast"}
    own = cosparse.AnalysisOperator(**fields, scale=default.scale, exponents=default.exponents)
    stopped("denoise", scene[:90, :120], tmp_path / "out.zarr", operator=default, **given)
    for scale, exponents in ((1.1 * default.scale, default.exponents), (default.scale, 0.9 * default.exponents)):
        other = cosparse.AnalysisOperator(**fields, scale=scale, exponents=exponents)
        with pytest.raises(FileExistsError, match="differs in operator;"):
            cluster.repair_picture("denoise", scene[:90, :120], tmp_path / "out.zarr", operator=other, **given)
    report = cluster.repair_picture("denoise", scene[:90, :120], tmp_path / "out.zarr", operator=own, **given)
    assert report.resumed == report.tiles


def test_tiles_of_a_source_that_was_rewritten_are_not_mixed_in(local, scene, tmp_path, stopped):
    """In place, so that the array's metadata stays as it was; the mask's too."""
    pixels = scene[:90, :120]
    source, mask = as_zarr(tmp_path / "in.zarr", pixels), as_zarr(tmp_path / "mask.zarr", pixels > 200)
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        os.utime(path, ns=(10**18, 10**18))  # clocks of file systems are coarse
    given = {"mask": mask, "tile": 112, "client": local, "quality": "fast"}
    stopped("inpaint", source, tmp_path / "out.zarr", **given)
    zarr.open_array(mask, mode="r+")[80:, :10] = True
    with pytest.raises(FileExistsError, match="differs in mask;"):
        cluster.repair_picture("inpaint", source, tmp_path / "out.zarr", **given)
    zarr.open_array(source, mode="r+")[:20, :20] = 77
    with pytest.raises(FileExistsError, match="differs in source, mask;"):
        cluster.repair_picture("inpaint", source, tmp_path / "out.zarr", **given)


# --- values, channels, pages ------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False], ids=["in one task", "in parts"])
def test_bounds_are_those_of_the_whole_picture(local, scene, tmp_path, whole):
    """A field that leaves [0, 1] on its left alone: tiles on the right would keep to it, if each were asked."""
    sampling = Sampling() if whole else Sampling(whole=4, cover=96)
    unit = (noisy(scene[:96, :200], 12) / 255).astype(np.float32)
    unit = unit / 2 - np.float32(0.5) * (np.arange(200) < 90)
    cases = (
        (unit, None, {}),
        (unit - np.float32(0.5), None, {}),
        ((scene[:96, :200] / 255).round().astype(np.float32), (0.0, 1.0), {"sigma": 0.1}),
        (unit, (0.2, np.inf), {"bounds": (0.2, None)}),
    )
    for number, (pixels, bounds, more) in enumerate(cases):
        options, target = {"quality": "fast", **more}, tmp_path / f"{number}.zarr"
        report = repair_sampled(sampling, "denoise", pixels, target, local, tile=64, **options)
        expected = cosparse.denoise(pixels, **options)
        result = zarr.open_array(target)[:]
        assert rms(result, expected, 1 / 255) < 0.05
        assert report.bounds == (bounds,)
        low, high = bounds or (-np.inf, np.inf)
        assert low <= result.min() and result.max() <= high
    assert report.data_range == 1.0


def test_bounds_by_the_pixels_that_are_known(local, scene, tmp_path):
    pixels = (scene[:96, :160] / 255).astype(np.float32)
    gaps = np.random.default_rng(1).random(pixels.shape) < 0.2
    pixels[gaps] = -5
    options = {"quality": "fast", "mask": gaps, "tile": 96}
    report = repair_sampled(Sampling(whole=4), "inpaint", pixels, tmp_path / "out.zarr", local, **options)
    assert report.bounds == ((0.0, 1.0),)
    expected = cosparse.inpaint(pixels, gaps, quality="fast")
    assert rms(zarr.open_array(tmp_path / "out.zarr")[:], expected, 1 / 255) < 0.05


def test_a_bright_corner_is_no_other_data_range(local, scene, tmp_path):
    """A tile of it alone would be refused, the whole picture is not; what is in other units is refused whole."""
    pixels = (scene[:128, :256] / 255).astype(np.float32)
    pixels[:16, :16] *= np.random.default_rng(0).uniform(2, 40, (16, 16)).astype(np.float32)
    options = {"sigma": 0.05, "tile": 64, "client": local, "quality": "fast"}
    cluster.repair_picture("denoise", pixels, tmp_path / "out.zarr", **options)
    expected = cosparse.denoise(pixels, 0.05, quality="fast")
    assert rms(zarr.open_array(tmp_path / "out.zarr")[:], expected, 1 / 255) < 0.05
    with pytest.raises(ValueError, match="data_range: is 1, but most values lie between"):
        cluster.repair_picture("denoise", (255 * 255 * pixels), tmp_path / "no.zarr", **options)
    assert not list(tmp_path.glob("no.*"))


@pytest.mark.parametrize("channels", [2, 4])
def test_every_channel_of_an_array_is_repaired_and_transparency_where_it_is_said(local, scene, tmp_path, channels):
    pixels = noisy(np.stack([scene[:96, :120]] * channels, axis=-1), 12).clip(0, 255).astype(np.uint8)
    options = {"tile": 64, "client": local, "quality": "fast"}
    for alpha, name in ((None, "all.zarr"), (True, "alpha.tif")):
        report = cluster.repair_picture("denoise", pixels, tmp_path / name, alpha=alpha, **options)
        known = {"channel_axis": -1, "alpha": bool(alpha)}
        expected = cosparse.denoise(pixels, quality="fast", **known)
        result = zarr.open_array(tmp_path / name)[:] if alpha is None else tifffile.imread(tmp_path / name)
        assert rms(result, expected) < 0.05
        assert report.sigma == pytest.approx(cosparse.estimate_sigma(pixels, **known), rel=1e-3)
        assert (result[..., -1] == pixels[..., -1]).all() == bool(alpha)
    again = cluster.repair_picture("denoise", tmp_path / "alpha.tif", tmp_path / "again.tif", **options)
    assert "with transparency" in again.layout
    assert (tifffile.imread(tmp_path / "again.tif")[..., -1] == pixels[..., -1]).all()


def test_pages_along_leading_axes_each_with_its_noise(local, scene, tmp_path):
    """Of a 5-D zarr array, with its names and attributes; stopped on the way, and gone on with."""
    rng = np.random.default_rng(0)
    levels = np.array([4, 12, 20, 8]).reshape(2, 1, 2, 1, 1)
    pixels = scene[:150, :130] + levels * rng.standard_normal((2, 1, 2, 150, 130))
    pixels = pixels.clip(0, 255).astype(np.uint8)
    told = {"dimension_names": tuple("tczyx"), "attributes": {"spacing": 0.5}}
    zarr.create_array(tmp_path / "in.zarr", data=pixels, chunks=(1, 1, 1, 50, 130), **told)
    options = {"tile": 64, "client": local, "quality": "fast"}
    calls = []

    def end(done, total):
        calls.append((done, total))
        if len(calls) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cluster.repair_picture("denoise", tmp_path / "in.zarr", tmp_path / "out.zarr", callback=end, **options)
    report = cluster.repair_picture("denoise", tmp_path / "in.zarr", tmp_path / "out.zarr", **options)
    assert report.layout == "4 pages of 150x130 pixels" and report.pages == 4
    assert report.tiles == 16 == calls[-1][1] and 5 <= report.resumed < 16
    expected = [cosparse.estimate_sigma(page) for page in pixels.reshape(-1, 150, 130)]
    np.testing.assert_allclose(report.sigmas, expected, rtol=1e-3)
    result = zarr.open_array(tmp_path / "out.zarr")
    assert (result.metadata.dimension_names, dict(result.attrs)) == (tuple("tczyx"), {"spacing": 0.5})
    assert rms(result[:], cosparse.denoise(pixels, quality="fast")) < 0.05


def test_pages_enlarged_and_filled(local, scene, tmp_path):
    pixels = np.stack([scene[:50, :60], scene[50:100, :60]])
    options = {"client": local, "quality": "fast"}
    cluster.repair_picture("upscale", pixels, tmp_path / "large.zarr", factor=2, tile=32, **options)
    assert rms(zarr.open_array(tmp_path / "large.zarr")[:], cosparse.upscale(pixels, 2, quality="fast")) < 0.05
    gaps = np.random.default_rng(1).random(pixels.shape) < 0.3
    for mask in (gaps, gaps[0]):
        cluster.repair_picture("inpaint", pixels, tmp_path / "out.zarr", mask=mask, tile=96, force=True, **options)
        expected = cosparse.inpaint(pixels, mask, quality="fast")
        assert rms(zarr.open_array(tmp_path / "out.zarr")[:], expected) < 0.05


KINDS = {
    "imagej": ({"imagej": True}, {"axes": "TZYX", "spacing": 0.5, "unit": "um"}),
    "ome": ({"ome": True}, {"axes": "TZYX", "PhysicalSizeX": 0.1, "PhysicalSizeXUnit": "nm"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_axes_and_sizes_of_a_tiff_are_kept_and_what_is_not_is_said(local, scene, tmp_path, kind):
    pixels = np.stack([scene[:48, :64], scene[48:96, :64]] * 3).reshape(2, 3, 48, 64)
    opened, told = KINDS[kind]
    tifffile.imwrite(tmp_path / "in.tif", pixels, **opened, metadata=told, resolution=(10.0, 10.0))
    options = {"sigma": 3, "client": local, "quality": "fast"}
    report = cluster.repair_picture("denoise", tmp_path / "in.tif", tmp_path / "out.tif", **options)
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        assert (file.series[0].axes, file.series[0].shape) == ("TZYX", pixels.shape)
        assert file.pages[0].get_resolution() == (10, 10)
        if kind == "imagej":
            assert file.imagej_metadata["spacing"] == 0.5 and file.imagej_metadata["unit"] == "um"
        else:
            assert 'PhysicalSizeX="0.1"' in file.ome_metadata and 'PhysicalSizeXUnit="nm"' in file.ome_metadata
        assert rms(file.asarray(), cosparse.denoise(pixels, 3, quality="fast")) < 0.05
    assert report.lost == ()
    report = cluster.repair_picture("denoise", tmp_path / "in.tif", tmp_path / "out.zarr", **options)
    assert bool(report.lost) == (kind == "ome")
    array = zarr.open_array(tmp_path / "out.zarr")
    assert array.metadata.dimension_names == tuple("tzyx")
    assert {key: array.attrs.get(key) for key in told} == {**told, "axes": None}
    assert array.attrs["resolution"][:2] == [10, 10]
    back = cluster.repair_picture("upscale", tmp_path / "out.zarr", tmp_path / "back.tif", factor=2, client=local)
    assert "zarr attributes are not kept in TIFF" in back.lost[-1]
    with tifffile.TiffFile(tmp_path / "back.tif") as file:
        assert (file.series[0].axes, file.series[0].shape) == ("TZYX", (2, 3, 96, 128))


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_ome_xml_by_tiles_is_that_of_the_whole_picture(local, tmp_path, dtype):
    """Channels, units and all, with the sizes of the larger picture."""
    source, goal, options = tmp_path / "in.tif", tmp_path / "out.tif", {"factor": 2, "quality": "fast"}
    source.write_bytes(tiff(FIVE[:, :1].astype(dtype), ome=True, metadata=OME))
    report = cluster.repair_picture("upscale", source, goal, data_range=65535, client=local, **options)
    whole = repair(read_image(source), "upscale", **options).picture
    with tifffile.TiffFile(goal) as file, written(whole.pixels, whole) as expected:
        assert (file.series[0].axes, file.series[0].shape) == ("TCYX", (2, 4, 24, 20))
        assert file.ome_metadata == expected.ome_metadata
        assert 'PhysicalSizeX="0.05"' in file.ome_metadata and 'Name="GFP"' in file.ome_metadata
    assert report.lost == ()


# --- errors -----------------------------------------------------------------------------------------------


def attempts(client):
    """How often each tile was begun, of those that failed at least once."""
    log = [(key, finish) for key, _, finish, *_ in client.cluster.scheduler.transition_log]
    failed = {key for key, finish in log if finish == "erred" and "repair_tile" in str(key)}
    return [sum(one == (key, "processing") for one in log) for key in failed]


def test_what_never_passes_is_tried_once(local, scene, tmp_path):
    """No pixel is known about the last tiles, whatever their turn."""
    local.cluster.scheduler.transition_log.clear()
    options = {"tile": 64, "grouping": False, "client": local}
    with pytest.raises(ValueError, match="no pixel is known around rows"):
        cluster.repair_picture("inpaint", scene, tmp_path / "out.zarr", mask=HALF, **options)
    tried = attempts(local)
    assert tried and set(tried) == {1}


def test_what_may_pass_is_tried_again(local, scene, tmp_path, monkeypatch):
    """A disk that does not answer, once the steps have been found: not the first time, but the second."""
    import dask.array as da

    armed, fired = tmp_path / "armed", tmp_path / "fired"

    def read(block):
        if armed.exists() and not fired.exists():
            fired.touch()
            raise ConnectionResetError("once")
        return block

    found = TiledRepair._found

    def finding(self, *arguments):
        outcome = found(self, *arguments)
        armed.touch()
        return outcome

    monkeypatch.setattr(TiledRepair, "_found", finding)
    pixels = da.from_array(scene, chunks=64).map_blocks(read, dtype=scene.dtype)
    cluster.repair_picture("denoise", pixels, tmp_path / "out.zarr", sigma=5, tile=64, client=local, quality="fast")
    assert fired.exists()
    assert rms(zarr.open_array(tmp_path / "out.zarr")[:], cosparse.denoise(scene, 5, quality="fast")) < 0.05


def test_errors_name_the_file_and_leave_nothing(local, scene, tmp_path):
    pixels = (scene[:96, :96] / 255).astype(np.float32)
    pixels[50, 50] = np.nan
    source = as_zarr(tmp_path / "in.zarr", pixels)
    with pytest.raises(ValueError, match=r"^\S*in\.zarr: holds NaN"):
        cluster.repair_picture("denoise", source, tmp_path / "out.zarr", client=local, tile=64)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.zarr"]


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("denoise", {"tile": 20}, "tile: 20 pixels are fewer than the overlap of 56"),
        ("reconstruct", {}, "reconstruct: every measurement depends on the whole picture"),
        ("deblur", {"kernel": np.ones((3, 3)), "border": "periodic"}, "border='periodic': every measurement"),
        ("inpaint", {}, "mask: inpaint needs one"),
        ("inpaint", {"mask": np.ones((4, 4), bool)}, r"mask: has shape \(4, 4\)"),
        ("inpaint", {"mask": HALF, "tile": 64, "grouping": False}, "no pixel is known around rows"),
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


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5])
def test_extremes_of_parts_are_those_of_the_whole(local, share):
    """Also where hardly a block, or none, is known as a whole."""
    pixels = np.random.default_rng(0).normal(0, 1, (1100, 300))
    missing = np.random.default_rng(1).random(pixels.shape) < share
    found = find_extremes(local, da.from_array(pixels, chunks=(333, 100)), da.from_array(missing, chunks=(50, 300)))
    whole = Extremes.of(pixels, ~missing)
    assert (found.count, found.pixels) == (whole.count, whole.pixels)
    assert (found.blocks is None) == (whole.blocks is None) == (share == 0.5)
    if found.blocks is not None:
        np.testing.assert_allclose(found.blocks, whole.blocks, rtol=1e-5)

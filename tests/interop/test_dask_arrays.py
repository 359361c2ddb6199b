"""Dask arrays in, Dask arrays out: lazy, by tiles, and what the task gives on the whole."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from dask.delayed import delayed

import cosparse
from cosparse.cluster.layout import Layout
from cosparse.cluster.lazy import lazy_tiles
from cosparse.cluster.sampling import Sampling
from cosparse.reconstruction import measurement


def noisy(image, sigma=20.0):
    return image + sigma * np.random.default_rng(0).standard_normal(image.shape)


def rms(a, b):
    return float(np.sqrt(np.mean((np.asarray(a, float) - np.asarray(b, float)) ** 2)))


def colour(grey):
    return np.stack([grey, 255 - grey, np.roll(grey, 3, axis=0)], axis=0)


@pytest.fixture
def once():
    """Threads compute, and none of the blocks twice."""
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def cases(scene):
    """Each task: the image, its other arguments, and keywords."""
    grey = (scene / 255).astype(np.float32)
    gaps = np.random.default_rng(1).random(scene.shape) < 0.5
    kernel = measurement.gaussian_kernel(1.2)
    blurred = measurement.blur(kernel, scene.shape).matvec(scene.ravel().astype(np.float32)).reshape(scene.shape)
    levels = (np.geomspace(5, 40, 270) * np.ones((180, 1))).astype(np.float32)
    deep = np.clip(noisy(colour(scene)) * 257, 0, 65535).astype(np.uint16)
    yield "denoise", deep, (), {"channel_axis": 0, "quality": "fast"}, 257
    yield "denoise", noisy(scene).astype(np.float32), (20,), {"data_range": 255, "operator": "default"}, 1
    yield "denoise", noisy(scene, levels), (levels,), {"data_range": 255, "quality": "fast"}, 1
    tall = np.concatenate([scene, scene[::-1]])
    yield "inpaint", tall, (np.concatenate([gaps, gaps]),), {"quality": "fast"}, 1
    yield "upscale", scene[:90, :130], (2,), {"quality": "fast"}, 1
    yield "deblur", blurred, (kernel,), {"data_range": 255, "sigma": 2, "quality": "fast"}, 1
    yield "deblur", grey[:64, :64], ("gaussian:1",), {"sigma": 0.01, "border": "periodic", "quality": "fast"}, 1 / 255


@pytest.mark.slow
def test_the_tiles_of_every_task_give_the_wholes_result(scene, once):
    for task, image, others, options, unit in cases(scene):
        function = getattr(cosparse, task)
        chunks = {axis: 90 for axis, side in enumerate(image.shape) if side > 3}
        result = function(da.from_array(image, chunks=chunks), *others, **options)
        whole = function(image, *others, **options)
        assert isinstance(result, da.Array) and (result.shape, result.dtype) == (whole.shape, whole.dtype), task
        assert result.npartitions > 1 or image.shape == (64, 64), task
        assert rms(result, whole) < 0.05 * unit, task


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["trained steps", "estimated", "an energy", "a mask"])
def test_pages_too_large_to_look_at_are_known_by_samples(scene, once, kind):
    """As if a small page were one: noise and bounds are the whole's, steps those of squares from all over it."""
    image = (noisy(scene) / 255).astype(np.float32)
    options, mask, task = {"quality": "fast", "sigma": 20 / 255}, None, "denoise"
    if kind == "estimated":
        del options["sigma"]
    elif kind == "an energy":
        options["operator"] = "default"
    elif kind == "a mask":
        task, options, mask = "inpaint", {"quality": "fast"}, np.random.default_rng(1).random(scene.shape) < 0.5
    few = Sampling(whole=4, samples=40, side=32)
    lazy = None if mask is None else da.asarray(mask)
    result = lazy_tiles(  # inpainting has one tile here
        task, da.from_array(image, chunks=90), Layout((), image.shape), options, mask=lazy, sampling=few
    )
    whole = getattr(cosparse, task)(image, **({} if mask is None else {"mask": mask}), **options)
    assert rms(result, whole) < (0.001 if task == "denoise" and "operator" not in options else 0.15) / 255


def test_nothing_is_computed_before_it_is_asked_for_and_then_only_what_is_asked_for(photograph, once):
    read = []

    def page(number):
        read.append(number)
        return photograph[:40, :56]

    stack = da.stack([da.from_delayed(delayed(page)(n), (40, 56), np.uint8) for n in range(4)]).reshape(2, 2, 40, 56)
    result = cosparse.denoise(stack, quality="fast")
    assert read == [] and result.shape == (2, 2, 40, 56) and result.dtype == np.uint8
    expected = cosparse.denoise(photograph[:40, :56], quality="fast")
    np.testing.assert_array_equal(result[1, 0], expected)
    assert set(read) == {2}


def test_chunks_are_the_tiles_within_reason(photograph):
    for chunks, sides in ((64, (112, 80)), (120, (126, 66)), (192, (192,))):
        array = da.from_array(photograph, chunks=chunks)
        assert cosparse.denoise(array, 10).chunks[0] == sides
    huge = da.zeros((5000, 4000), chunks=-1, dtype=np.uint8)
    assert cosparse.denoise(huge, 10).chunks[1] == (2058, 1942)  # a multiple of what the steps need
    small = cosparse.upscale(da.zeros((7, 50, 64), chunks=-1, dtype=np.uint8), 3)
    assert small.shape == (7, 150, 192) and small.chunks == ((1,) * 7, (150,), (192,))


def test_masked_chunks_are_what_is_missing(photograph, once):
    pixels, gaps = photograph[:48, :48], np.random.default_rng(1).random((48, 48)) < 0.3
    masked = da.from_array(np.ma.MaskedArray(pixels, gaps), chunks=24)
    whole = cosparse.inpaint(pixels, gaps, quality="fast")
    np.testing.assert_array_equal(cosparse.inpaint(masked, quality="fast"), whole)
    with pytest.raises(ValueError, match="image: has masked chunks; fill them"):
        cosparse.denoise(masked, 10)


def test_transparency_stays(colour, once):
    alpha = np.random.default_rng(0).integers(0, 255, (*colour.shape[:2], 1), np.uint8)
    pixels = np.concatenate([colour, alpha], axis=-1)
    options = {"channel_axis": -1, "alpha": True, "quality": "fast"}
    result = cosparse.denoise(da.from_array(pixels, chunks=(32, 32, 2)), 10, **options).compute()
    np.testing.assert_array_equal(result, cosparse.denoise(pixels, 10, **options))
    np.testing.assert_array_equal(result[..., -1:], alpha)


def test_a_jpeg_is_undone_page_by_page(photograph, once):
    from cosparse import Jpeg

    pages = np.stack([photograph[:32, :48]] * 2)
    result = cosparse.deblock(da.from_array(pages, chunks=16), Jpeg.standard(20), quality="fast")
    assert result.numblocks == (2, 1, 1)
    np.testing.assert_array_equal(result, cosparse.deblock(pages, Jpeg.standard(20), quality="fast"))


class Chunk(np.ndarray):
    """As CuPy's is known by, for want of a GPU."""


Chunk.__module__ = "cupy"
GREY = da.zeros((32, 32), chunks=16, dtype=np.uint8)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: cosparse.denoise(GREY[GREY[:, 0] > 0]), ValueError, "image: has chunks of unknown sizes; call"),
        (lambda: cosparse.denoise(GREY[:0]), ValueError, r"image: is empty \(shape \(0, 32\)\)"),
        (lambda: cosparse.denoise(da.zeros((32, 32, 3)), 1), ValueError, "looks like a colour image"),
        (lambda: cosparse.denoise(GREY, 1, alpha=True), ValueError, "alpha: the image has no channel"),
        (lambda: cosparse.denoise(GREY, GREY.std()), ValueError, r"sigma: is lazy itself.*pass sigma.compute\(\)"),
        (lambda: cosparse.denoise(GREY, GREY[:5]), ValueError, "sigma: has shape"),
        (lambda: cosparse.denoise(GREY, 1, callback=print), ValueError, "callback: a lazy array has no iterations"),
        (lambda: cosparse.denoise(GREY, 1, strength=2), TypeError, "strength"),
        (lambda: cosparse.denoise(GREY.astype(complex), 1), ValueError, "image: .*complex"),
        (lambda: cosparse.inpaint(GREY), ValueError, "mask: say which pixels are missing"),
        (lambda: cosparse.inpaint(GREY, GREY), ValueError, "mask: expected booleans .* got uint8; pass mask != 0"),
        (lambda: cosparse.upscale(GREY, 5), ValueError, "factor: expected 1.5, 2, 3, 4 or 8"),
        (lambda: cosparse.denoise(delayed(np.zeros)((3, 3))), TypeError, "image: is a Dask Delayed.*pass a Dask"),
        (lambda: cosparse.reconstruct(GREY, np.eye(1024), (32, 32)), TypeError, r"y: reconstruct .* y.compute\(\)"),
        (lambda: cosparse.denoise(GREY.map_blocks(lambda b: b, meta=np.zeros((0, 0)).view(Chunk)), 1), TypeError,
         "torch.from_dlpack"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_at_once(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_only_the_mask_is_lazy(photograph):
    """Then there is nothing to wait for."""
    pixels, gaps = photograph[:32, :32], np.eye(32, dtype=bool)
    result = cosparse.inpaint(pixels, da.from_array(gaps, chunks=16), quality="fast")
    np.testing.assert_array_equal(result, cosparse.inpaint(pixels, gaps, quality="fast"))


def test_on_a_cluster(local, scene):
    image = noisy(scene).astype(np.float32)
    lazy = cosparse.denoise(da.from_array(image, chunks=100), quality="fast", data_range=255)
    future = local.compute(lazy)
    assert rms(future.result(), cosparse.denoise(image, quality="fast", data_range=255)) < 0.001

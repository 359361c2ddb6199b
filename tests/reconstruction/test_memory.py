"""Memory is asked for before it is taken."""

from __future__ import annotations

import numpy as np
import pytest
from repairs import REPAIRS
from scipy.ndimage import zoom
from skimage import data

import cosparse
from cosparse.reconstruction import memory
from cosparse.reconstruction.memory import TooLargeError, memory_needed

MANY = np.broadcast_to(np.uint8(100), (50_000, 60_000))  # takes no memory itself
CALLS = {
    "denoise": lambda image, **more: cosparse.denoise(image, 10, **more),
    "inpaint": lambda image, **more: cosparse.inpaint(image, image > 200, **more),
    "upscale": lambda image, **more: cosparse.upscale(image, 2, **more),
    "deblur": lambda image, **more: cosparse.deblur(image, np.ones((3, 3)), sigma=1, **more),
    "deblock": lambda image, **more: cosparse.deblock(image, [np.full((8, 8), 9)], **more),
}


@pytest.mark.parametrize("task", CALLS)
def test_what_is_too_much_is_refused_before_it_is_taken(task, monkeypatch):
    """Not even a copy of the image is made; the words name the task, the sizes and the other way."""
    monkeypatch.setattr(memory, "memory_left", lambda: 3e9)
    image = MANY[:9000, :9000]
    with pytest.raises(TooLargeError, match=f"to {task} 9000x9000 takes about .* GB of memory, and 3.0 GB are free"):
        CALLS[task](image)
    small = np.full((40, 40), 100, np.uint8)
    with pytest.raises(TooLargeError, match="max_memory allows 1.0 MB; repair"):
        CALLS[task](small, max_memory=1e6)


def test_the_tiled_way_is_named_where_there_is_one():
    with pytest.raises(TooLargeError, match=r"cosparse\.cluster\.repair_picture or --tile 1024"):
        cosparse.denoise(MANY, 5, max_memory=1e9)
    with pytest.raises(TooLargeError, match="parts of it, or pages one by one"):
        cosparse.deblock(MANY, [np.full((8, 8), 9)], max_memory=1e9)


@pytest.mark.parametrize("wrong", [0, -1, float("nan")])
def test_what_is_no_size_is_refused(wrong):
    with pytest.raises(ValueError, match="max_memory: expected a positive number of bytes"):
        cosparse.denoise(np.zeros((20, 20)), 0.1, max_memory=wrong)


def test_enough_changes_nothing(photograph, monkeypatch):
    image = photograph[:40, :40]
    expected = REPAIRS["denoise"](image, sigma=10)
    np.testing.assert_array_equal(REPAIRS["denoise"](image, sigma=10, max_memory=1e9), expected)
    np.testing.assert_array_equal(REPAIRS["denoise"](image, sigma=10, max_memory=float("inf")), expected)
    monkeypatch.setattr(memory, "memory_left", lambda: pytest.fail("small pictures do not ask the system"))
    REPAIRS["denoise"](image, sigma=10)


def test_where_it_cannot_be_told_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "memory_left", lambda: None)
    memory.ask_memory("denoise", MANY, 5, {})


def test_what_is_needed_grows_with_all_there_is_more_of():
    one = memory_needed("denoise", (1000, 1000))
    assert one < memory_needed("denoise", (1000, 1000, 3), -1) == memory_needed("denoise", (3, 1000, 1000), 0)
    assert one < memory_needed("denoise", (1000, 1000), itemsize=8) < memory_needed("denoise", (1000, 1000), noisy=True)
    assert memory_needed("upscale", (500, 500), factor=2) == memory_needed("upscale", (1000, 1000))
    # Pages are worked on one by one: each further one is only held.
    two, three = (memory_needed("denoise", (pages, 1000, 1000)) for pages in (2, 3))
    assert 0 < three - two == two - one < one / 2
    assert memory_needed("denoise", (10**6, 10**6, 10**6)) > 10**19  # of no fixed width


def test_noise_that_was_found_to_be_smooth_is_asked_for_too():
    """It takes more than white noise: a limit that is enough for that is not for this."""
    small = np.random.default_rng(0).standard_normal((129, 129))
    smooth = zoom(small, 2, order=1)[:256, :256]
    noisy = (data.camera()[:256, 100:356] / 255 + 0.05 * smooth / smooth.std()).astype(np.float32)
    limit = (memory_needed("denoise", noisy.shape) + memory_needed("denoise", noisy.shape, noisy=True)) // 2
    assert np.isfinite(cosparse.denoise(noisy, 0.05, max_memory=limit, quality="fast")).all()
    with pytest.raises(TooLargeError):
        cosparse.denoise(noisy, max_memory=limit, quality="fast")

"""What a callback sees, and how it stops the work."""

from __future__ import annotations

import numpy as np
import pytest
from repairs import REPAIRS, checkered, noise

from cosparse import Progress, denoise, inpaint, psnr


@pytest.mark.parametrize("task", REPAIRS)
def test_the_callback_sees_every_iteration_and_can_stop(task, clean):
    image = clean[:32, :32] + noise((32, 32), 0.05)
    seen = []
    REPAIRS[task](image, callback=seen.append)
    assert all(isinstance(progress, Progress) for progress in seen)
    assert [progress.iteration for progress in seen] == list(range(1, len(seen) + 1))
    assert 3 < len(seen) <= seen[0].iterations

    calls = []
    stopped = REPAIRS[task](image, callback=lambda progress: calls.append(progress) or progress.iteration == 2)
    assert len(calls) == 2
    expected = calls[-1].image / 255
    known = ~checkered(image) if task == "inpaint" else np.zeros(expected.shape, bool)
    np.testing.assert_allclose(stopped[~known], expected[~known], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
def test_every_picture_takes_the_same_number_of_iterations(task, clean):
    """Or tiles of a large one could not end where the whole would."""
    for contrast in (1, 0.1, 0.01):
        last: list[Progress] = []
        REPAIRS[task](contrast * clean + noise(clean.shape, 0.001), callback=last.append)
        assert len(last) == last[-1].iteration == last[-1].iterations


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("stack", [False, True])
def test_the_callback_sees_the_page_in_its_own_colours(task, channels, stack, colour):
    """On 0..255 from the first iteration on; what it is shown last of a page is the result."""
    page = np.concatenate([colour[:20, :24], colour[20:40, :24]], axis=-1)[..., :channels] / 255
    image = np.stack([page, page[::-1]]) if stack else page
    seen = []
    result = REPAIRS[task](np.moveaxis(image, -1, 0), channel_axis=0, callback=seen.append)
    result = 255 * np.moveaxis(result, 0, -1)
    order = [(progress.page, progress.plane) for progress in seen]
    assert order == sorted(order)
    turns = channels + (task == "denoise" and channels == 3)  # both opponents once more, together
    assert set(order) == {(i, j) for i in range(1 + stack) for j in range(turns)}
    assert {(progress.pages, progress.planes) for progress in seen} == {(1 + stack, turns)}
    for number, expected in enumerate(result if stack else [result]):
        images = [progress.image for progress in seen if progress.page == number]
        np.testing.assert_allclose(images[-1], expected, atol=1e-3)
        nearness = [psnr(expected, image, data_range=255) for image in images[:-1]]
        assert nearness[0] > 15 and nearness[-1] > nearness[0] - 1e-6


def test_the_callback_sees_opponent_colours_for_what_they_are(colour):
    """The plane at work lies about 0 for a grey picture's second and third; the image never does."""
    grey = np.repeat(colour[..., :1], 3, axis=-1)
    seen = []
    denoise(grey, 10, channel_axis=-1, callback=seen.append)
    for progress in seen:
        assert progress.image.shape == grey.shape and abs(progress.image.mean() - grey.mean()) < 2
        together = progress.point.ndim == 3
        assert progress.point.shape == ((24, 28, 3) if together else grey.shape[:2])
        colours = progress.point[..., 1:] if together else progress.point
        assert np.abs(colours).max() < 2 if progress.plane else progress.point.mean() > 20
    assert [progress.plane for progress in seen if progress.point.ndim == 3] == [3] * 4


def test_progress_tells_stage_weight_and_second_pass(clean):
    seen = []
    inpaint(clean[:32, :32], checkered(clean[:32, :32]), quality="fast", callback=seen.append)
    stages = [progress.stage for progress in seen if not progress.second_pass]
    assert stages == [0] * 14 + [1] * 14
    assert [progress.second_pass for progress in seen] == [False] * 28 + [True] * (len(seen) - 28) and len(seen) > 28
    weights = []
    denoise(clean[:32, :32], 0.1, weight=0.7, grouping=False, callback=lambda progress: weights.append(progress.weight))
    assert set(weights) == {0.7}

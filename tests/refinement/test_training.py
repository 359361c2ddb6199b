"""What a training is asked for."""

from __future__ import annotations

import pytest

from cosparse.refinement.training import LEAST, Training


def test_one_task_or_several_one_level_or_two():
    assert Training().tasks == ("denoise",) and Training(task=["denoise", "inpaint"]).tasks == ("denoise", "inpaint")
    assert Training(sigma=20).levels == (20.0, 20.0) and Training(sigma=[5, 30]).levels == (5.0, 30.0)


@pytest.mark.parametrize("name", LEAST)
def test_too_few_of_anything_are_named(name):
    Training(**{name: LEAST[name]}).check((8, 8))
    with pytest.raises(ValueError, match=f"{name}: must be at least {LEAST[name]}, got {LEAST[name] - 1}"):
        Training(**{name: LEAST[name] - 1}).check((8, 8))

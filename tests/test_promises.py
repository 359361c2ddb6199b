"""The short form of every promise that `make torture` tries at length; see docs/promises.md."""

from __future__ import annotations

import pytest
from torture.frame import Impossible, beginning
from torture.registry import short_parts


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, id=str(part), marks=[getattr(pytest.mark, name) for name in part.markers])
        for part in short_parts()
    ],
)
def test_short_form_of(part):
    with beginning(short=True) as run:
        try:
            part.try_it(run)
        except Impossible as why:
            pytest.skip(str(why))
        assert run.counts, "it counted nothing, so it tried nothing"

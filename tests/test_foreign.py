"""Values of other libraries find their adapter, and those of none go on as they are."""

import sys
import types

import numpy as np
import pytest

from cosparse import foreign
from cosparse.foreign import adapter_of, adopting


class Tensor:
    __module__ = "library.tensors"


class Own(Tensor):  # a user's subclass is known by what it is made from
    pass


@pytest.fixture
def adapter(monkeypatch):
    module = types.ModuleType("adapter")
    module.run = lambda task, *arguments, **keywords: ("adapter", task(1, **keywords), arguments)
    monkeypatch.setitem(sys.modules, "adapter", module)
    monkeypatch.setitem(foreign.ADAPTERS, "library", "adapter")


@adopting
def double(value, *others, times=2):
    """Doc."""
    return times * value


def test_arrays_of_numpy_need_none(adapter):
    assert adapter_of(np.ones(3), [1.0], "name", None) is None
    assert double(3) == 6


@pytest.mark.parametrize("kind", [Tensor, Own])
def test_any_argument_by_position_calls_the_adapter(adapter, kind):
    value = kind()
    assert double(value, times=3) == ("adapter", 3, (value,))
    assert double(3, value) == ("adapter", 2, (3, value))
    assert double(value=value) == ("adapter", 2, (value,))


def test_the_task_keeps_its_name_and_words(adapter):
    assert (double.__name__, double.__doc__) == ("double", "Doc.")

"""Settings objects behind the keywords of learn_operator and refine_operator."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

import cosparse
from cosparse.learning.goal import Learning, LearnKeywords
from cosparse.refinement.train import RefineKeywords, Training

FUNCTIONS = [(cosparse.learn_operator, Learning, LearnKeywords), (cosparse.refine_operator, Training, RefineKeywords)]


@pytest.mark.parametrize(("function", "kind", "typed"), FUNCTIONS)
def test_help_editors_and_type_checkers_see_the_fields(function, kind, typed):
    shown = inspect.signature(function).parameters
    fields = {field.name: field for field in dataclasses.fields(kind)}
    assert {name: field.type for name, field in fields.items()} == {
        name: reference.__forward_arg__ for name, reference in typed.__annotations__.items()
    }
    for name, field in fields.items():
        assert shown[name].default == field.default and shown[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert not any(one.kind is one.VAR_KEYWORD for one in shown.values())


@pytest.mark.parametrize(("function", "kind", "typed"), FUNCTIONS)
def test_what_is_not_a_keyword_is_named(function, kind, typed):
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) got .*'rats'; it takes .*rng\b"):
        function(np.eye(4), np.eye(4), rats=0.1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind().rng = 3

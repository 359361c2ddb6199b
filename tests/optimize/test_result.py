"""How runs end: not converging is a result, a value that is not a number is an error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cosparse.optimize import Result, Stop


def test_limits_and_callbacks_are_no_convergence():
    assert {stop for stop in Stop if not stop.converged} == {Stop.ITERATIONS, Stop.CALLBACK}


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_result_is_finite(value):
    with pytest.raises(FloatingPointError, match="ended at"):
        Result(np.zeros(2), value, 0.0, Stop.ITERATIONS, 1, 2, (0.0, value))

"""Conjugate gradient (Algorithm 2): one loop over a geometry, which learns operators and repairs images."""

from cosparse.optimize.conjugate_gradient import Settings, State, Step, conjugate_gradient
from cosparse.optimize.euclidean import Euclidean
from cosparse.optimize.interpolating import Interpolation, between
from cosparse.optimize.line_search import LineSearch
from cosparse.optimize.oblique import Oblique
from cosparse.optimize.result import Result, Stop
from cosparse.optimize.whitened import Whitened

__all__ = [
    "Euclidean", "Interpolation", "LineSearch", "Oblique", "Result", "Settings", "State", "Step", "Stop", "Whitened",
    "between", "conjugate_gradient",
]  # fmt: skip

"""Conjugate gradient (Algorithm 2): over a geometry, to learn operators, and in flat space, to repair images."""

from cosparse.optimize.conjugate_gradient import Settings, State, conjugate_gradient
from cosparse.optimize.euclidean import Euclidean
from cosparse.optimize.interpolating import Landing, between, flat_conjugate_gradient
from cosparse.optimize.oblique import Oblique
from cosparse.optimize.result import Result, Stop

__all__ = [
    "Euclidean",
    "Landing",
    "Oblique",
    "Result",
    "Settings",
    "State",
    "Stop",
    "between",
    "conjugate_gradient",
    "flat_conjugate_gradient",
]

"""Checks for operators and gradients of your own; the project's tests use the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.reconstruction.measured import dot_gap


def dot_test(A: Any, *, rtol: float = 1e-4, rng: int | np.random.Generator = 0, dtype: Any = float) -> None:
    """Assert that A's adjoint is its adjoint: <A x, y> = <x, Aᴴ y> for random x and y.

    Raises AssertionError with the two numbers otherwise. With dtype=complex, A measures complex images, as
    :func:`cosparse.reconstruct` takes it with that argument: x is complex, and so are the numbers if A x is.
    Otherwise x is real, and the real parts of the numbers are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import aslinearoperator
    >>> dot_test(aslinearoperator(np.arange(6.0).reshape(2, 3)))
    """
    gap, left, right = dot_gap(A, np.random.default_rng(rng), dtype)
    assert gap <= rtol, (
        f"A is not consistent with its adjoint: <A x, y> = {left:.6g} but <x, A* y> = {right:.6g} "
        f"(relative difference {gap:.2g}); check rmatvec"
    )


def gradient_test(
    function: Callable[[NDArray[Any]], tuple[float, NDArray[Any]]],
    point: ArrayLike,
    *,
    step: float = 1e-2,
    rng: int | np.random.Generator = 0,
) -> float:
    """Assert that `function` returns its value and its gradient; return the measured Taylor slope.

    The error of the first-order model f(x) + t<g, d> falls as t² for a right gradient (slope 2 in a log-log plot), as
    t for a wrong one. Only errors that stand clear of the rounding of f in double precision count. Where nearly none
    does (a linear function), the gradient passes, with slope 2, if that alone shows it to be right within 0.1 %;
    where f is so large that it would hide more, the test says that it cannot tell, and fails.

    Examples
    --------
    >>> import numpy as np
    >>> round(gradient_test(lambda x: (float((x**4).sum()), 4 * x**3), np.ones(5)), 1)
    2.0
    """
    x = np.asarray(point, float)
    direction = np.random.default_rng(rng).standard_normal(x.shape)
    direction /= np.linalg.norm(direction)
    value, gradient = function(x)
    rate = float(np.vdot(gradient, direction))
    steps = step * 0.5 ** np.arange(5)
    errors = np.array([abs(function(x + t * direction)[0] - value - t * rate) for t in steps])
    # Rounding: of the value, and through the function of the point.
    rounding = 1e-14 * (abs(value) + float(np.abs(x * gradient).sum()))
    clear = errors > 10 * rounding
    if clear.sum() < 3:
        scale = max(abs(rate), float(np.linalg.norm(gradient)) / np.sqrt(x.size))  # or what is usual for a direction
        unseen = max(errors[0], rounding) / step
        assert unseen <= 1e-3 * scale or unseen == 0, (
            f"cannot tell: the value, {value:.6g}, hides in its rounding a gradient wrong by {unseen:.2g} along a "
            f"direction where it is {rate:.2g}; subtract a constant from the function, or take a larger step"
        )
        return 2.0
    slope = float(np.polyfit(np.log(steps[clear]), np.log(errors[clear]), 1)[0])
    assert slope > 1.8, f"the first-order error falls as t^{slope:.2f}, not t^2: the gradient is wrong"
    return slope

"""An analysis operator as one of PyLops: `pip install 'cosparse[pylops]'`.

PyLops (and PyProximal, which the same extra brings) are under the LGPL, version 3. cosparse neither ships nor needs
them; this module uses what you have installed. The way back needs no adapter: :func:`cosparse.reconstruct` takes any
PyLops operator as its measurement.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cosparse.kernels.reference import positions
from cosparse.operator import AnalysisOperator, chosen_operator

try:
    from pylops import LinearOperator
except ImportError as problem:
    raise ImportError("pylops is not installed: pip install 'cosparse[pylops]' brings it") from problem


def analysis_operator(
    operator: AnalysisOperator | str | None, shape: tuple[int, ...], *, stride: int = 1, dtype: DTypeLike = "float64"
) -> AllPatches:
    """The responses of all patches of an image, Eq. (47), as a PyLops operator.

    It passes `pylops.utils.dottest`, stacks with others, and goes into their solvers: as a regulariser of least
    squares, or under an l1 norm in a primal-dual iteration.

    Parameters
    ----------
    operator : AnalysisOperator or str
        One of yours, a shipped one's name, or a file; None is the one that tasks take.
    shape : (height, width)
        Of the image.
    stride : int
        Pixels between patches.
    dtype : dtype
        Of images, real or complex.

    Returns
    -------
    pylops.LinearOperator
        From `shape` (`dims`) to (rows of patches, patches in a row, atoms) (`dimsd`).

    Examples
    --------
    >>> import numpy as np
    >>> from cosparse import AnalysisOperator
    >>> Op = analysis_operator(AnalysisOperator.finite_differences(), (5, 4))
    >>> Op.dimsd, bool(np.abs(Op @ np.ones(20)).max() < 1e-12)
    ((5, 4, 2), True)
    """
    if len(tuple(shape)) != 2 or min(shape) < 1:
        raise ValueError(f"shape: expected (height, width), got {shape!r}")
    chosen = chosen_operator(operator)
    if not 1 <= stride <= min(chosen.patch_shape):
        raise ValueError(f"stride: must lie between 1 and the patch size {min(chosen.patch_shape)}, got {stride}")
    return AllPatches(chosen, (int(shape[0]), int(shape[1])), stride, np.dtype(dtype))


class AllPatches(LinearOperator):
    """What :func:`analysis_operator` returns."""

    def __init__(self, operator: AnalysisOperator, shape: tuple[int, int], stride: int, dtype: np.dtype[Any]) -> None:
        self._inner = operator.as_linear_operator(shape, stride=stride)
        rows, columns = (positions(side, stride) for side in shape)
        super().__init__(dtype=dtype, dims=shape, dimsd=(rows, columns, len(operator.atoms)), name="A")

    def _matvec(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._inner.matvec(x), self.dtype)

    def _rmatvec(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._inner.rmatvec(x), self.dtype)

"""Anybody's measurements of an image of any layout: checked, and as the engine takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from cosparse.reconstruction.joint import Mixing, OfParts, complex_of, parts_of
from cosparse.reconstruction.planes import FAR
from cosparse.reconstruction.start import nearest

Image = NDArray[np.float32]
UNIT = 0.02  # how near to one a size is taken for one: those of samples and of transforms are


@dataclass(frozen=True)
class Layout:
    """What is reconstructed: (h, w) or (h, w, channels), of real or of complex numbers."""

    shape: tuple[int, ...]
    imaginary: bool = False

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: DTypeLike | None) -> Layout:
        """As the caller says."""
        if len(shape) not in (2, 3) or min(shape) < 1:
            raise ValueError(f"shape: expected (height, width) or (height, width, channels), got {shape!r}")
        kind = "f" if dtype is None else np.dtype(dtype).kind
        if kind not in "fc":
            raise ValueError(f"dtype: expected float or complex, the kind of number a pixel is, got {dtype!r}")
        return cls(tuple(int(side) for side in shape), kind == "c")

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def mixing(self) -> Mixing | None:
        """The planes under the prior; None for one alone."""
        channels = self.shape[2] if len(self.shape) == 3 else 1
        if self.imaginary:
            return Mixing.of_parts(channels)
        return None if len(self.shape) == 2 else Mixing.of_channels(channels)

    @property
    def working_shape(self) -> tuple[int, ...]:
        """Of the image at work: complex numbers are two channels."""
        if not self.imaginary:
            return self.shape
        return (*self.shape, 2) if len(self.shape) == 2 else (*self.shape[:2], 2 * self.shape[2])

    def opened(self, image: ArrayLike, name: str) -> Image:
        """A caller's image as one at work, in the same units; refused under the name."""
        if np.iscomplexobj(image) and not self.imaginary:
            raise ValueError(f"{name}: is complex, but the image is not; pass dtype=complex if it is")
        array: NDArray[Any] = np.array(image, np.complex64 if self.imaginary else np.float32)
        if array.shape != self.shape or not np.isfinite(array).all():
            raise ValueError(f"{name}: expected a finite array of shape {self.shape}, got {array.shape}")
        return parts_of(array).reshape(self.working_shape) if self.imaginary else array

    def closed(self, image: Image) -> NDArray[Any]:
        """The caller's of an image at work."""
        return complex_of(image).reshape(self.shape) if self.imaginary else image


def checked_measurement(y: ArrayLike, A: Any, layout: Layout, tolerance: float) -> tuple[Any, NDArray[Any]]:
    """A as a linear operator on images at work, and the data as a flat float32 or complex64 array."""
    from scipy.sparse.linalg import aslinearoperator

    if not hasattr(A, "matvec"):
        try:
            A = aslinearoperator(A)
        except TypeError as problem:
            raise ValueError(f"A: not a linear operator or a matrix ({problem})") from None
    data = np.asarray(y).reshape(-1)
    if tuple(A.shape) != (data.size, layout.size):
        raise ValueError(_misfit(A, data, layout))
    if not np.isfinite(data).all():
        raise ValueError("y: holds NaN or infinite values; leave those measurements out of y and A")
    data = data.astype(np.complex64 if np.iscomplexobj(data) else np.float32)
    try:
        gap, left, right = dot_gap(A, np.random.default_rng(0), complex if layout.imaginary else float)
    except NotImplementedError:
        raise ValueError("A: has no adjoint; define rmatvec") from None
    if not gap < tolerance:
        how = ", dtype=complex" if layout.imaginary else ""
        of = " of complex images" if layout.imaginary else ""
        raise ValueError(
            f"A: its adjoint{of} is wrong (<A x, y> = {left:.6g}, <x, A* y> = {right:.6g}, {gap:.2g} of ‖A x‖‖y‖ "
            f"apart); check rmatvec with cosparse.testing.dot_test(A{how}), or if it need not be exact raise "
            "adjoint_tolerance"
        )
    if not layout.imaginary:
        _refuse_imaginary_data(A, data)
    return OfParts(A) if layout.imaginary else A, data


def size_of(A: Any) -> float:
    """How large a measurement is: the root mean square of its singular values, each counted by its square.

    So those that say nothing do not count: of pixels, of Fourier coefficients, of rows of any orthogonal matrix it is
    one, however many there are. By one image of white noise, ‖Aᴴ A x‖ / ‖A x‖.
    """
    image = np.random.default_rng(0).standard_normal(A.shape[1]).astype(np.float32)
    seen = np.asarray(A.matvec(image)).reshape(-1)
    back = [np.asarray(A.rmatvec(seen))]
    if np.iscomplexobj(seen) and not np.iscomplexobj(back[0]):
        back.append(np.asarray(A.rmatvec(1j * seen)))  # the imaginary part, of those who give the real one alone
    first, second = float(np.linalg.norm(seen)), float(np.linalg.norm(back))
    size = second / first if first > 0 else 0.0
    return 1.0 if size == 0 or abs(size - 1) < UNIT else size


def dot_gap(A: Any, rng: np.random.Generator, dtype: Any = float) -> tuple[float, complex, complex]:
    """|<A x, y> - <x, Aᴴ y>| relative to ‖A x‖‖y‖, and the two numbers.

    Half of y is A x itself and half is random. For a wholly random y both numbers shrink as 1/sqrt(pixels) of the
    norms, and on a large image even an adjoint of zero would pass. Of real images, and of data that are real, only the
    real parts of the numbers must agree.
    """
    rows, columns = A.shape
    x = rng.standard_normal(columns).astype(np.float32)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(columns).astype(np.float32)
    forward = np.asarray(A.matvec(x)).reshape(-1)
    y = rng.standard_normal(rows).astype(np.float32)
    if np.iscomplexobj(forward):
        y = y + 1j * rng.standard_normal(rows).astype(np.float32)
    norm = float(np.linalg.norm(forward))
    y = forward + y * (norm / (float(np.linalg.norm(y)) + 1e-30) if norm > 0 else 1.0)
    backward = np.asarray(A.rmatvec(y.astype(forward.dtype))).reshape(-1)
    left, right = complex(np.vdot(y, forward)), complex(np.vdot(backward, x))
    if not (np.iscomplexobj(x) and np.iscomplexobj(forward)):
        left, right = left.real, right.real
    scale = norm * float(np.linalg.norm(y)) + 1e-30
    return abs(left - right) / scale, left, right


def _misfit(A: Any, data: NDArray[Any], layout: Layout) -> str:
    """What does not fit, and what may have been meant."""
    sides = "x".join(map(str, layout.shape))
    said = (
        f"A: has shape {tuple(A.shape)}, but y has {data.size} values and an image of {sides} has {layout.size} "
        f"{'pixels' if len(layout.shape) == 2 else 'values'}"
    )
    if len(layout.shape) == 3 and A.shape[1] == math.prod(layout.shape[:2]):
        said += f"; of a matrix A for one channel, scipy.sparse.kron(A, scipy.sparse.eye({layout.shape[2]})) is for all"
    elif layout.imaginary and A.shape[1] == 2 * layout.size:
        said += "; with dtype=complex A takes complex images, not their two parts"
    elif len(layout.shape) == 2 and A.shape[1] == 3 * layout.size:
        said += f"; for colours pass shape=({layout.shape[0]}, {layout.shape[1]}, 3)"
    return said


def _refuse_imaginary_data(A: Any, data: NDArray[Any]) -> None:
    """Refuse complex data that a measurement gives of no real image, as it gives real ones."""
    if np.iscomplexobj(data) and data.imag.any() and not np.iscomplexobj(A.matvec(np.ones(A.shape[1], np.float32))):
        raise ValueError(
            "y: is complex, but A gives real data of a real image; pass dtype=complex if the image is complex, or the "
            "part of y that A measures"
        )


def refuse_far(first: Image, data_range: float) -> None:
    """Refuse what was measured in other units than the data range says, as the first image shows."""
    low, high = (float(end) for end in np.percentile(first, (1, 99)))
    if high - low > 255 * FAR:
        unit = data_range / 255
        raise ValueError(
            f"data_range: is {data_range:g}, but y seems to be of an image with values from about {low * unit:.3g} to "
            f"{high * unit:.3g}; pass data_range, the value of white in the image"
        )


def refuse_imaginary(A: Any, image: Image, data: NDArray[Any], residual: float, sigma: float) -> None:
    """Refuse data of a complex image: they are far from fitted, and an imaginary part would fit them."""
    if residual < 0.05 or residual < 3 * sigma * np.sqrt(2 * data.size) / float(np.linalg.norm(data)):
        return
    left = data - np.asarray(A.matvec(image.ravel())).reshape(-1)
    imaginary = np.asarray(A.rmatvec(left)).imag.astype(np.float32)
    _, rest = nearest(A, imaginary, (-1j * left).astype(data.dtype))
    explained = 1 - float(np.vdot(rest, rest).real) / float(np.vdot(left, left).real)
    if explained > 0.25:
        raise ValueError(
            f"y: seems to be measured from a complex image: a real one misses {residual:.0%} of it, and an imaginary "
            "part would explain much of that; pass dtype=complex"
        )

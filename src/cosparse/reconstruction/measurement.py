"""Measurements y = A s of an image s: what is known of it.

Each is a SciPy LinearOperator on flattened images, with an exact adjoint, so they compose with each other and with
anyone's operators. `image_shape` and `data_shape` say how to unflatten the two sides.

Adding one: write its forward and adjoint, return `Measurement(...)`, and add an example to `EXAMPLES`; the dot-test
then covers it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator

from cosparse.jpeg import coefficients, plane_of
from cosparse.kernels.reference import fold_border
from cosparse.reconstruction.psf import gaussian_kernel
from cosparse.reconstruction.reductions import FACTORS, FILTERS, REDUCTIONS, USUAL, averages

__all__ = [
    "EXAMPLES", "FACTORS", "FILTERS", "REDUCTIONS", "USUAL", "Measurement", "averages", "block_cosines", "blur",
    "downsampling", "fourier_sampling", "gaussian_kernel", "gaussian_sensing", "hadamard_sensing", "identity",
    "radial_mask", "reduction", "sampling", "variable_density_mask",
]  # fmt: skip

Array = NDArray[Any]
Shape = tuple[int, ...]
P = ParamSpec("P")


class Measurement(LinearOperator):
    """A linear map from images to data, given as two functions on unflattened arrays."""

    def __init__(
        self,
        image_shape: Shape,
        data_shape: Shape,
        forward: Callable[[Array], Array],
        adjoint: Callable[[Array], Array],
        dtype: Any = np.float32,
    ) -> None:
        self.image_shape, self.data_shape = tuple(image_shape), tuple(data_shape)
        self.forward, self.adjoint_image = forward, adjoint
        super().__init__(np.dtype(dtype), (int(np.prod(data_shape)), int(np.prod(image_shape))))

    recipe: Callable[[], Measurement] | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled as the call that made it, if that is known."""
        return super().__reduce_ex__(protocol) if self.recipe is None else (self.recipe, ())

    def _matvec(self, x: Array) -> Array:
        return self.forward(x.reshape(self.image_shape)).reshape(-1)

    def _rmatvec(self, y: Array) -> Array:
        return self.adjoint_image(y.reshape(self.data_shape)).reshape(-1)


def _remembered(make: Callable[P, Measurement]) -> Callable[P, Measurement]:
    """The same, its results knowing how to make themselves again. What a generator has given is not to be had twice."""

    @functools.wraps(make)
    def remembering(*given: P.args, **named: P.kwargs) -> Measurement:
        found = make(*given, **named)
        if not any(isinstance(value, np.random.Generator) for value in (*given, *named.values())):
            found.recipe = functools.partial(remembering, *given, **named)
        return found

    return remembering


@_remembered
def identity(shape: Shape) -> Measurement:
    """Every pixel, as it is: denoising."""
    return Measurement(shape, shape, lambda s: s, lambda y: y)


@_remembered
def sampling(known: ArrayLike) -> Measurement:
    """The pixels where `known` is True: inpainting."""
    known = np.asarray(known, bool)

    def scatter(y: Array) -> Array:
        image = np.zeros(known.shape, y.dtype)
        image[known] = y
        return image

    return Measurement(known.shape, (int(known.sum()),), lambda s: s[known], scatter)


@_remembered
def blur(kernel: ArrayLike, shape: Shape, *, border: str = "replicate") -> Measurement:
    """Convolution with `kernel`, centred; the border is "replicate"d or "periodic".

    Small kernels are applied directly, large ones by FFT.
    """
    kernel = np.asarray(kernel, np.float32)
    if border == "periodic":
        return _periodic_blur(kernel, shape)
    height, width = kernel.shape
    top, left = height // 2, width // 2
    edges = ((height - 1 - top, top), (width - 1 - left, left))

    def forward(s: Array) -> Array:
        return _valid(np.pad(s, edges, mode="edge"), kernel)

    def adjoint(y: Array) -> Array:
        full = _valid(np.pad(y, [(side - 1, side - 1) for side in kernel.shape]), kernel[::-1, ::-1])
        return fold_border(full, (shape[0], shape[1]), (edges[0][0], edges[1][0]))

    return Measurement(shape, shape, forward, adjoint)


def _valid(image: Array, kernel: Array) -> Array:
    """Convolution where the kernel fits; direct or by FFT, whichever is less work."""
    from scipy import signal

    if kernel.size > 30:
        return np.asarray(signal.oaconvolve(image, kernel.astype(image.dtype), mode="valid"))
    out = np.zeros([i - k + 1 for i, k in zip(image.shape, kernel.shape, strict=True)], image.dtype)
    height, width = out.shape
    for (i, j), factor in np.ndenumerate(kernel[::-1, ::-1]):
        if factor:
            out += image.dtype.type(factor) * image[i : i + height, j : j + width]
    return out


def _periodic_blur(kernel: NDArray[np.float32], shape: Shape) -> Measurement:
    from scipy import fft

    padded = np.zeros(shape, np.float32)
    for (i, j), factor in np.ndenumerate(kernel):  # a kernel larger than the image wraps around
        row, column = (i - kernel.shape[0] // 2) % shape[0], (j - kernel.shape[1] // 2) % shape[1]
        padded[row, column] += factor
    spectrum = fft.rfft2(padded)

    def apply(s: Array, factor: Array) -> Array:
        return np.asarray(fft.irfft2(fft.rfft2(s) * factor, s=shape), s.dtype)

    return Measurement(shape, shape, lambda s: apply(s, spectrum), lambda y: apply(y, spectrum.conj()))


@_remembered
def downsampling(
    factor: int, shape: Shape, *, kernel: ArrayLike | None = None, offset: int | None = None
) -> Measurement:
    """Blur and keep every `factor`-th pixel: super-resolution, section V-E.

    By default the paper's model: a Gaussian of (2d-1) x (2d-1) pixels and standard deviation d/3, around the middle
    of each d x d block. For even d that lies between pixels, and the kernel has an even number of them, 2d x 2d.
    """
    if kernel is None:
        kernel = gaussian_kernel(factor / 3, size=2 * factor - factor % 2)
    offset = (factor - 1) // 2 if offset is None else offset
    blurred = blur(kernel, shape)
    data_shape = tuple(-(-(side - offset) // factor) for side in shape)

    def adjoint(y: Array) -> Array:
        full = np.zeros(shape, y.dtype)
        full[offset::factor, offset::factor] = y
        return blurred.adjoint_image(full)

    return Measurement(
        shape, data_shape, lambda s: np.ascontiguousarray(blurred.forward(s)[offset::factor, offset::factor]), adjoint
    )


@_remembered
def reduction(factor: float, shape: Shape, kernel: ArrayLike | str = USUAL) -> Measurement:
    """The image made `factor` times smaller, as a program did it: what upscaling undoes.

    "bicubic" (a = -0.5), "box" and "lanczos" (of 3) stretch the filter over the pixels that one of the small image
    stands for, so that nothing aliases, as Pillow does, and MATLAB but for the border: weights of pixels beyond it go
    to those inside. "gaussian" is the paper's, see :func:`downsampling`, and an array is a kernel for that: both keep
    every `factor`-th pixel, so that it is a whole number, which for the others it need not be.
    """
    if isinstance(kernel, str) and kernel not in REDUCTIONS:
        raise ValueError(f"kernel: expected one of {', '.join(REDUCTIONS)} or an array, got {kernel!r}")
    if not isinstance(kernel, str) or kernel == "gaussian":
        if factor % 1:
            raise ValueError(f"kernel: every {factor}-th pixel cannot be kept; for that factor, {', '.join(FILTERS)}")
        return downsampling(int(factor), shape, kernel=None if isinstance(kernel, str) else kernel)
    rows, columns = (averages(kernel, side, factor) for side in shape)
    rows_back, columns_back = rows.T.tocsr(), columns.T.tocsr()

    def both(down: Any, across: Any, image: Array) -> Array:
        return np.ascontiguousarray((across @ (down @ image).T).T)

    return Measurement(
        shape, (rows.shape[0], columns.shape[0]),
        lambda s: both(rows, columns, s), lambda y: both(rows_back, columns_back, y),
    )  # fmt: skip


@_remembered
def block_cosines(shape: Shape, weights: ArrayLike = 1.0) -> Measurement:
    """The cosine coefficients of all blocks of 8x8 pixels, each times its weight: what a JPEG holds.

    A plane whose sides are no multiples of 8 is continued by its last row and column.
    """
    height, width = shape
    edges = ((0, -height % 8), (0, -width % 8))
    weights = np.broadcast_to(np.asarray(weights, np.float32), (8, 8))

    def forward(s: Array) -> Array:
        return np.asarray(coefficients(np.pad(s.astype(np.float32, copy=False), edges, mode="edge")) * weights)

    def adjoint(y: Array) -> Array:
        plane = plane_of(y * weights)
        plane[height - 1] += plane[height:].sum(axis=0)
        plane[:, width - 1] += plane[:, width:].sum(axis=1)
        return plane[:height, :width]

    return Measurement(shape, (-(-height // 8), -(-width // 8), 8, 8), forward, adjoint)


@_remembered
def fourier_sampling(mask: ArrayLike) -> Measurement:
    """The Fourier coefficients where `mask` is True, orthonormal: magnetic resonance imaging.

    `mask` has the zero frequency first, as numpy.fft; use numpy.fft.ifftshift on a centred one.
    """
    from scipy import fft

    mask = np.asarray(mask, bool)

    def adjoint(y: Array) -> Array:
        full = np.zeros(mask.shape, np.complex64 if y.dtype.itemsize <= 8 else np.complex128)
        full[mask] = y
        return np.asarray(fft.ifft2(full, norm="ortho"))

    return Measurement(mask.shape, (int(mask.sum()),), lambda s: fft.fft2(s, norm="ortho")[mask], adjoint, np.complex64)


@_remembered
def hadamard_sensing(shape: Shape, count: int, *, rng: int | np.random.Generator = 0) -> Measurement:
    """`count` random rows of an orthonormal Hadamard matrix, its columns with random signs: dense sensing, fast.

    Behaves like a Gaussian matrix (structurally random) without the need to store one. The matrix is as large as the
    next power of two; an image with fewer pixels is continued with zeros.
    """
    from scipy.linalg import hadamard

    rng = np.random.default_rng(rng)
    size = int(np.prod(shape))
    order = max(0, size - 1).bit_length()
    signs = rng.choice(np.array([-1, 1], np.float32), size)
    rows = np.sort(rng.choice(2**order, count, replace=False))
    # Sylvester's matrix is the Kronecker product of two smaller ones, each of which is applied along an axis.
    parts = (order // 2, order - order // 2)
    first, second = (hadamard(2**part).astype(np.float32) / np.float32(2 ** (part / 2)) for part in parts)

    def transform(values: Array) -> Array:
        return np.asarray(first @ values.reshape(len(first), len(second)) @ second).reshape(-1)

    def forward(s: Array) -> Array:
        full = np.zeros(2**order, s.dtype)
        full[:size] = s.reshape(-1) * signs
        return np.asarray(transform(full)[rows])

    def adjoint(y: Array) -> Array:
        full = np.zeros(2**order, y.dtype)
        full[rows] = y
        return np.asarray(transform(full)[:size] * signs).reshape(shape)

    return Measurement(shape, (count,), forward, adjoint)


@_remembered
def gaussian_sensing(shape: Shape, count: int, *, rng: int | np.random.Generator = 0) -> Measurement:
    """`count` inner products with Gaussian images of unit expected norm; for small images, as it is stored."""
    size = int(np.prod(shape))
    matrix = np.random.default_rng(rng).standard_normal((count, size), np.float32)
    matrix /= np.float32(np.sqrt(count))
    return Measurement(shape, (count,), lambda s: matrix @ s.reshape(-1), lambda y: (y @ matrix).reshape(shape))


def radial_mask(shape: Shape, fraction: float) -> NDArray[np.bool_]:
    """A Fourier mask of evenly spaced lines through the centre that holds `fraction` of all coefficients.

    To the coefficient (and always the mean): as many lines as it takes, shortened at their far ends.

    >>> int(radial_mask((8, 8), 0.25).sum())
    16
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction: must lie in 0..1, got {fraction!r}")
    down, across = np.fft.fftfreq(shape[0])[:, None], np.fft.fftfreq(shape[1])[None, :]
    rows, columns = down * shape[0], across * shape[1]
    radius, angle = np.hypot(rows, columns), np.arctan2(rows, columns) / np.pi
    wanted = max(1, round(fraction * radius.size))

    def on_lines(count: int) -> NDArray[np.bool_]:
        turn = angle * count
        away = np.pi / count * np.abs(turn - np.rint(turn))  # from the nearest line
        return np.asarray(radius * np.sin(away) <= 0.5 + 1e-9)  # ties the same on every machine

    few, many = 0, int(np.pi * radius.max()) + 1  # none; so many that neighbours touch everywhere
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if on_lines(middle).sum() >= wanted else (middle, many)
    mask = on_lines(many)
    nearest = np.argsort(np.where(mask, np.hypot(down, across), np.inf), axis=None, kind="stable")
    mask.flat[nearest[wanted:]] = False
    return mask


def variable_density_mask(shape: Shape, fraction: float, *, rng: int | np.random.Generator = 0) -> NDArray[np.bool_]:
    """A random Fourier mask, dense at low frequencies and thin at high ones."""
    rng = np.random.default_rng(rng)
    radius = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.fftfreq(shape[1])[None, :]) * 2
    density = (1 - np.minimum(radius, 1)) ** 3 + 0.02
    order = rng.random(shape) / density
    order[0, 0] = 0  # always the mean: nothing else tells how bright the image is
    return np.asarray(order <= np.quantile(order, fraction))


EXAMPLES: dict[str, Callable[[Shape], Measurement]] = {
    "identity": identity,
    "sampling": lambda shape: sampling(np.arange(np.prod(shape)).reshape(shape) % 3 == 0),
    "blur": lambda shape: blur(np.arange(1, 13).reshape(3, 4) / 78, shape),
    "blur, large kernel": lambda shape: blur(gaussian_kernel(1.5), shape),
    "blur, periodic": lambda shape: blur(np.arange(1, 13).reshape(3, 4) / 78, shape, border="periodic"),
    "downsampling": lambda shape: downsampling(3, shape),
    "reduction, bicubic": lambda shape: reduction(3, shape, "bicubic"),
    "reduction, box": lambda shape: reduction(2, shape, "box"),
    "reduction, lanczos": lambda shape: reduction(4, shape, "lanczos"),
    "reduction by 1.5": lambda shape: reduction(1.5, shape, "bicubic"),
    "reduction, array": lambda shape: reduction(2, shape, np.arange(1, 13).reshape(3, 4) / 78),
    "block cosines": lambda shape: block_cosines(shape, 1 + np.arange(64).reshape(8, 8)),
    "fourier sampling": lambda shape: fourier_sampling(variable_density_mask(shape, 0.4)),
    "hadamard sensing": lambda shape: hadamard_sensing(shape, int(np.prod(shape)) // 2),
    "gaussian sensing": lambda shape: gaussian_sensing(shape, int(np.prod(shape)) // 2),
}
"""One of each, for any image shape of at least 3 x 3: what the dot-test runs over."""

"""JPEG as a noise model: what a file's tables say of every block of 8x8 pixels.

The encoder takes the picture apart into luma and two chroma planes (these often at half the size), each plane into
blocks of 8x8 pixels, each block into 64 cosines, and rounds every coefficient to a multiple of its step in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.noise import Noise

Array = NDArray[Any]
Single = NDArray[np.float32]

SIDE = 8
# Rows and columns of the image that a sample of chroma stands for.
FACTORS = {"4:4:4": (1, 1), "4:2:2": (1, 2), "4:2:0": (2, 2), "4:4:0": (2, 1), "4:1:1": (1, 4)}
# The tables of the standard's annex K, which most encoders take times a factor that hangs on the quality.
LUMA = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51,
    87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
)  # fmt: skip
CHROMA = (
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66,
    *(99,) * 38,
)  # fmt: skip
# Luma and chroma of red, green and blue (JFIF, BT.601), and back.
YCC = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
_RGB = np.array([[1, 0, 1.402], [1, -0.344136, -0.714136], [1, 1.772, 0]])
SOME, TELLING, MOST = 4096, 300, 0.8  # blocks; coefficients of them, and their part, that tell of an earlier table
MIDDLE = np.array([0.0, 128.0, 128.0])  # what the encoder adds to chroma


def _cosines() -> Single:
    n = np.arange(SIDE)
    matrix = np.sqrt(2 / SIDE) * np.cos((2 * n + 1) * n[:, None] * np.pi / (2 * SIDE))
    matrix[0] /= np.sqrt(2)
    return np.asarray(matrix, np.float32)


COSINES = _cosines()


def coefficients(plane: Array) -> Array:
    """The (rows, columns, 8, 8) cosine coefficients of all blocks of a plane whose sides are multiples of 8."""
    height, width = plane.shape
    blocks = plane.reshape(height // SIDE, SIDE, width // SIDE, SIDE).swapaxes(1, 2)
    cosines = COSINES.astype(plane.dtype, copy=False)
    return np.asarray(cosines @ blocks @ cosines.T)


def plane_of(found: Array) -> Array:
    """The plane that has such coefficients: the inverse of :func:`coefficients`, and its adjoint."""
    rows, columns = found.shape[:2]
    cosines = COSINES.astype(found.dtype, copy=False)
    return np.ascontiguousarray((cosines.T @ found @ cosines).swapaxes(1, 2).reshape(rows * SIDE, columns * SIDE))


def whole_blocks(plane: Array) -> Array:
    """A plane continued by its last row and column to whole blocks, as encoders do."""
    height, width = plane.shape
    if height % SIDE == 0 and width % SIDE == 0:
        return plane
    return np.pad(plane, ((0, -height % SIDE), (0, -width % SIDE)), mode="edge")


def whole(height: int, width: int) -> NDArray[np.bool_]:
    """(rows, columns): the blocks that lie within a plane of this size. Of others, a decoder shows only a part."""
    rows, columns = (np.arange(-(-size // SIDE)) < size // SIDE for size in (height, width))
    return np.asarray(rows[:, None] & columns)


@dataclass(frozen=True, eq=False)
class Jpeg(Noise):
    """The error of a JPEG: every cosine coefficient of a block of 8x8 pixels rounded to a multiple of its step.

    Parameters
    ----------
    quantization : array, sequence or mapping
        The steps, of values on 0..255: one table of (8, 8) or 64 numbers in rows, for luma and chroma alike; one for
        luma and one for chroma; one for each of the three; or Pillow's `image.quantization`, a mapping of them.
    subsampling : {"4:2:0", "4:2:2", "4:4:4", "4:4:0", "4:1:1"}
        How chroma was made smaller. Grey images have none.
    orientation : int
        1 to 8, as in EXIF: how the decoded image was turned since, and with it the blocks.
    data_range : float
        The value of white in the image that this is the noise of.
    offset : float
        And that of black.
    confidence : float
        As of every model: 1, as the tables stand in the file.

    References
    ----------
    ITU-T Recommendation T.81, Digital compression and coding of continuous-tone still images, 1992, annexes A and K.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> coarse = cosparse.Jpeg.standard(10)
    >>> coarse
    Jpeg(steps from 50 to 255, 4:2:0)
    >>> ramp = np.add.outer(np.arange(32.0), np.arange(32.0)) * 4
    >>> bool(0 < np.std(coarse.sample(ramp) - ramp) < np.sqrt(coarse.variance(ramp).max()))
    True
    """

    quantization: Any
    subsampling: str = "4:2:0"
    orientation: int = 1
    data_range: float = 255.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        tables = [_table(one) for one in _listed(self.quantization)]
        object.__setattr__(self, "quantization", tuple((tables + tables[-1:] * 2)[:3]))
        if self.subsampling not in FACTORS:
            raise ValueError(f"subsampling: expected one of {', '.join(FACTORS)}, got {self.subsampling!r}")
        if self.orientation not in range(1, 9):
            raise ValueError(f"orientation: must be 1 to 8, as in EXIF, got {self.orientation!r}")
        if not 0 < self.data_range < np.inf:
            raise ValueError(f"data_range: must be positive, got {self.data_range!r}")

    def __repr__(self) -> str:
        luma = self.quantization[0]
        return f"Jpeg(steps from {luma.min():g} to {luma.max():g}, {self.subsampling})"

    @classmethod
    def standard(cls, quality: int, subsampling: str = "4:2:0") -> Jpeg:
        """The tables of the standard at a quality of 1 to 100, as Pillow and most programs write them."""
        if not 1 <= quality <= 100:
            raise ValueError(f"quality: must lie between 1 and 100, got {quality!r}")
        percent = 5000 // quality if quality < 50 else 200 - 2 * quality
        tables = [np.clip((np.array(table) * percent + 50) // 100, 1, 255) for table in (LUMA, CHROMA)]
        return cls(tables, subsampling)

    @property
    def factors(self) -> tuple[int, int]:
        """Rows and columns of the image that one sample of chroma stands for."""
        return FACTORS[self.subsampling]

    @property
    def quality(self) -> int:
        """That of the standard's tables which are most like the table of luma; those of cameras lie between."""
        tables = np.log(np.stack([self.standard(number).quantization[0] for number in range(1, 101)]))
        return 1 + int(np.abs(tables - np.log(self.quantization[0])).sum(axis=(1, 2)).argmin())

    def earlier(self, image: ArrayLike) -> Jpeg | None:
        """How an image was compressed before it was saved as this, if that was coarser and still shows.

        Then most coefficients, multiples of the steps of now, lie near to multiples of those of the standard's tables
        at an earlier quality; else, as many as chance brings there. The likeliest quality is returned. What was saved
        by other tables, or cropped or resized in between, is not found.
        """
        plane, table, _ = self._planes(self._bytes(image))[0]
        if min(plane.shape) < SIDE:
            return None
        blocks = coefficients(whole_blocks(plane - 128))[whole(*plane.shape)]
        now = np.rint(blocks[:: -(-len(blocks) // SOME)] / table) * table
        best, found = 0.0, None
        for quality in range(5, self.quality - 4):
            steps = self.standard(quality).quantization[0]
            telling = (np.abs(now) > 0.3 * steps) & (steps >= 3 * table + 1)
            if telling.sum() < TELLING:
                continue
            near = (np.abs(now - np.rint(now / steps) * steps) <= table / 2 + 1)[telling]
            chance = np.broadcast_to((table + 2) / steps, now.shape)[telling]
            likelier = float(np.where(near, np.log(0.95 / chance), np.log(0.05 / (1 - chance))).sum())
            if likelier > best and near.mean() > MOST:
                best, found = likelier, quality
        if found is None:
            return None
        return replace(self, quantization=self.standard(found).quantization)

    def scaled(self, factor: float, shift: float = 0.0) -> Jpeg:
        """In other units."""
        return replace(self, data_range=self.data_range * factor, offset=(self.offset - shift) * factor)

    def variance(self, image: ArrayLike) -> Array:
        """Of the pixels of each block, colours on the last axis.

        A coefficient of less than half a step becomes 0 and is its own error; that of a larger one is taken for
        uniform over the step, whose square over 12 is its variance.
        """
        values = self._bytes(image)
        planes = []
        for plane, table, factors in self._planes(values):
            found = coefficients(whole_blocks(plane - 128))
            error = np.where(np.abs(found) < table / 2, found**2, table.astype(float) ** 2 / 12).mean(axis=(2, 3))
            spread = np.repeat(np.repeat(error, SIDE * factors[0], axis=0), SIDE * factors[1], axis=1)
            planes.append(spread[: values.shape[0], : values.shape[1]])
        variance = planes[0] if len(planes) == 1 else np.stack(planes, axis=-1) @ (_RGB**2).T
        return np.asarray(turned(variance, self.orientation) * (self.data_range / 255) ** 2)

    def sample(self, clean: ArrayLike, rng: np.random.Generator | int | None = None) -> Array:
        """The image encoded and decoded: (h, w), or colours on the last axis. Nothing about it is random.

        The same as of libjpeg but for the rounding within its transforms.
        """
        values = self._bytes(clean)
        planes = []
        for plane, table, factors in self._planes(values):
            steps = coefficients(whole_blocks(plane - 128)) / table
            kept = np.sign(steps) * np.floor(np.abs(steps) + 0.5)  # halves away from zero, as encoders do
            decoded = np.rint(plane_of(kept * table) + 128).clip(0, 255)[: plane.shape[0], : plane.shape[1]]
            planes.append(enlarged_chroma(decoded, factors, values.shape[:2]))
        page = planes[0] if len(planes) == 1 else (np.stack(planes, axis=-1) - MIDDLE) @ _RGB.T
        page = turned(np.rint(page).clip(0, 255), self.orientation)
        return np.asarray(page * (self.data_range / 255) + self.offset)

    def _bytes(self, image: ArrayLike) -> Array:
        """Rounded to 0..255 and turned as the encoder saw it."""
        values = np.asarray(image, float)
        if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[-1] != 3) or values.size == 0:
            raise ValueError(f"image: a JPEG is (h, w) or (h, w, 3), got shape {values.shape}")
        at_work = np.rint((values - self.offset) * (255 / self.data_range)).clip(0, 255)
        return turned(at_work, self.orientation, back=True)

    def _planes(self, values: Array) -> list[tuple[Array, Array, tuple[int, int]]]:
        """Those that are encoded, each with its table and how much smaller it is."""
        if values.ndim == 2:
            return [(values, self.quantization[0], (1, 1))]
        planes = np.moveaxis(np.rint(values @ YCC.T + MIDDLE), -1, 0)
        small = [planes[0], *(np.rint(_box(plane, self.factors)) for plane in planes[1:])]
        return list(zip(small, self.quantization, [(1, 1), self.factors, self.factors], strict=True))


def joined(planes: list[Array]) -> Array:
    """Red, green and blue of luma and chroma, chroma about zero, all of one size."""
    return np.asarray(np.stack(planes, axis=-1) @ _RGB.T.astype(planes[0].dtype))


def turned(image: Array, orientation: int, *, back: bool = False) -> Array:
    """An image, its first two axes turned upright as EXIF's orientation says, or back."""
    if orientation >= 5 and not back:
        image = image.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        image = np.flip(image, 1)
    if orientation in (3, 4, 7, 8):
        image = np.flip(image, 0)
    if orientation >= 5 and back:
        image = image.swapaxes(0, 1)
    return np.ascontiguousarray(image)


def enlarged_chroma(plane: Array, factors: tuple[int, int], shape: tuple[int, ...]) -> Array:
    """A plane of chroma in the size of luma, as libjpeg's decoder does: twice by a triangle, else by repetition."""
    for axis in (0, 1):
        plane = np.moveaxis(_enlarged(np.moveaxis(plane, axis, 0), factors[axis]), 0, axis)
    return np.ascontiguousarray(plane[: shape[0], : shape[1]])


def reduced_chroma(plane: Array, factors: tuple[int, int]) -> Array:
    """The small plane that :func:`enlarged_chroma` made this one of: the least squares solution, axis by axis."""
    for axis in (0, 1):
        plane = np.moveaxis(_reduced(np.moveaxis(plane, axis, 0), factors[axis]), 0, axis)
    return np.ascontiguousarray(plane)


def _enlarged(lines: Array, factor: int) -> Array:
    if factor != 2:
        return np.repeat(lines, factor, axis=0)
    before, after = np.concatenate([lines[:1], lines[:-1]]), np.concatenate([lines[1:], lines[-1:]])
    both = np.stack([0.75 * lines + 0.25 * before, 0.75 * lines + 0.25 * after], axis=1)
    return both.reshape(-1, *lines.shape[1:]).astype(lines.dtype, copy=False)


def _reduced(lines: Array, factor: int) -> Array:
    length = -(-len(lines) // factor)
    if factor == 1 or length == 1:
        return lines[:1] if factor > 1 else lines
    if factor != 2:
        padded = np.concatenate([lines, np.repeat(lines[-1:], -len(lines) % factor, axis=0)])
        return np.asarray(padded.reshape(length, factor, -1).mean(axis=1), lines.dtype)
    from scipy.linalg import solveh_banded

    triangle = _triangle(length, len(lines))
    normal = triangle.T @ triangle  # of three diagonals
    bands = np.zeros((2, length))
    bands[0, 1:], bands[1] = normal.diagonal(1), normal.diagonal(0)
    flat = triangle.T @ lines.reshape(len(lines), -1)
    return np.asarray(solveh_banded(bands, flat), lines.dtype).reshape(length, *lines.shape[1:])


def _triangle(length: int, out: int) -> Any:
    """What :func:`_enlarged` does to a column of this length, of which `out` samples are kept."""
    from scipy.sparse import csr_array

    row = np.arange(out)
    own, other = row // 2, np.clip(row // 2 + np.where(row % 2, 1, -1), 0, length - 1)
    weights = np.repeat([0.75, 0.25], out)
    return csr_array((weights, (np.tile(row, 2), np.concatenate([own, other]))), shape=(out, length))


def _box(plane: Array, factors: tuple[int, int]) -> Array:
    """Means of so many rows and columns, continued by the last ones."""
    down, across = factors
    height, width = plane.shape
    padded = np.pad(plane, ((0, -height % down), (0, -width % across)), mode="edge")
    return np.asarray(padded.reshape(-(-height // down), down, -(-width // across), across).mean(axis=(1, 3)))


def _listed(given: Any) -> list[Any]:
    """The tables that were given, in whichever way."""
    if isinstance(given, Mapping):
        given = [given[key] for key in sorted(given)]
    elif np.ndim(given) == 1 or np.shape(given) == (SIDE, SIDE):
        given = [given]
    tables = list(given) if np.iterable(given) else []
    if not 1 <= len(tables) <= 4:
        raise ValueError("quantization: expected one to three tables, as in Pillow's image.quantization")
    return tables[:3]


def _table(given: Any) -> Single:
    try:
        table = np.array(given, np.float32).reshape(SIDE, SIDE)
    except (TypeError, ValueError):
        raise ValueError("quantization: a table has 8x8 numbers, as those of Pillow's image.quantization") from None
    if not (np.isfinite(table).all() and (table >= 1).all()):
        raise ValueError("quantization: steps must be at least 1; values are on 0..255 there, whatever the image's are")
    table.flags.writeable = False
    return table

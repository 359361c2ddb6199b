"""What a JPEG says of a plane: between which values every cosine coefficient of its blocks lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.jpeg import coefficients, plane_of, whole, whole_blocks

Single = NDArray[np.float32]

MIDDLE = np.float32(128)  # what encoders take from every pixel
LOW = 4  # of so many frequencies along each axis the steps are looked at
LEVEL = 1.5  # noise per root of a step: about the error that such steps leave in photographs
SEEN, ODD, FEW = 3.0, 0.17, 100  # see `fits`


def level_of(steps: Single) -> float:
    """One number for how coarse steps are: about the noise, on 0..255, that they leave in photographs.

    At most what errors would be that are uniform over every step, which only the finest tables come near to.
    """
    uniform = np.sqrt(np.mean(steps**2) / 12)
    return float(min(LEVEL * np.sqrt(np.exp(np.log(steps[:LOW, :LOW]).mean())), uniform))


def steps_of_level(level: float, table: ArrayLike) -> Single:
    """A table times the factor that makes it so coarse, rounded as encoders do."""
    steps = np.asarray(table, np.float32).reshape(8, 8)
    factor = np.float32((level / level_of(steps)) ** 2)
    return np.asarray(np.clip(np.floor(steps * factor + np.float32(0.5)), 1, 255))


@dataclass(frozen=True, eq=False)
class Intervals:
    """The set of planes that would be encoded as this one was, D s in [c - Δ/2, c + Δ/2]; D is the blocks' cosines.

    Attributes
    ----------
    centres : (rows, columns, 8, 8) array
        c: the coefficients that the decoder had, multiples of their steps.
    steps : (8, 8) array
        Δ: the table.
    known : (rows, columns) array
        False for blocks of which the decoder showed only a part, at the rim: of those nothing is known exactly.
    """

    centres: Single
    steps: Single
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, plane: Single, steps: Single) -> Intervals:
        """Those of a decoded plane: what rounding to whole grey levels took from the coefficients is put back.

        But for steps of one level, which are no longer than what rounding does: those coefficients stay.
        """
        found = coefficients(whole_blocks(plane) - MIDDLE)
        return cls(np.where(steps > 1, np.rint(found / steps) * steps, found), steps, whole(*plane.shape))

    @property
    def level(self) -> float:
        """How coarse the steps are, see :func:`level_of`."""
        return level_of(self.steps)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the plane of whole blocks."""
        rows, columns = self.known.shape
        return 8 * rows, 8 * columns

    def nearest(self, plane: Single, part: float = 1.0) -> Single:
        """The nearest plane in the set, or in that of intervals so many times as long."""
        found = coefficients(plane - MIDDLE)
        reach = self._reach(part)
        held = np.clip(found, self.centres - reach, self.centres + reach)
        if not self.known.all():
            held = np.where(self.known[:, :, None, None], held, found)
        return plane_of(held) + MIDDLE

    def _reach(self, part: float) -> Single:
        """Half of the intervals; of a step of one level nothing, as pixels say as much."""
        return np.asarray(np.float32(part / 2) * (self.steps - 1 / self.steps), np.float32)

    def free(self, plane: Single, part: float = 1.0) -> NDArray[np.bool_]:
        """Which coefficients `nearest` leaves as they are: where its derivative is one, elsewhere it is zero."""
        off = np.abs(coefficients(plane - MIDDLE) - self.centres)
        return np.asarray((off <= self._reach(part)) | ~self.known[:, :, None, None])

    def fits(self, plane: Single) -> bool:
        """Whether a plane can have been decoded with these steps, on this grid of blocks.

        Then its coefficients lie near to multiples of the steps; of any other plane, those that are not rounded to zero
        lie anywhere between, a quarter of a step away in the mean. Steps of less than three levels do not tell, nor do
        a few coefficients.
        """
        off = np.abs(coefficients(whole_blocks(plane) - MIDDLE) - self.centres) / self.steps
        telling = (self.centres != 0) & (self.steps >= SEEN) & self.known[:, :, None, None]
        return int(telling.sum()) < FEW or float(off[telling].mean()) < ODD

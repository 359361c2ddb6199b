"""How much of the machine a visitor may use, and what is said of more."""

from __future__ import annotations

from dataclasses import dataclass


class Refused(Exception):
    """What the visitor asked for cannot be done; the message says why and what to do."""


@dataclass(frozen=True)
class Limits:
    """All that is bounded, in one place.

    Attributes
    ----------
    upload_bytes, waiting_bytes, waiting_files
        Of one upload; of all that a visitor has uploaded and the page has not yet read.
    pixels
        Of a picture, before it is decoded, and of an enlarged one.
    training_pixels
        Of all training pictures together; of larger collections a part is used.
    seconds
        Of one repair or one learning run.
    queue
        Runs that may wait for their turn.
    pages
        Open at the same time, over all visitors.
    operators
        That one page keeps.
    grace
        Seconds after which the data of a closed page are deleted; a page may come back from a short loss of connection.
    view_pixels
        Above which the page shows a reduced picture; downloads are whole.
    """

    upload_bytes: int = 100_000_000
    waiting_bytes: int = 400_000_000
    waiting_files: int = 64
    pixels: int = 40_000_000
    training_pixels: int = 32_000_000
    seconds: float = 900.0
    queue: int = 16
    pages: int = 32
    operators: int = 12
    grace: float = 60.0
    view_pixels: int = 4_200_000

    def __post_init__(self) -> None:
        """Where an upload may be larger than usual, one must be able to wait."""
        object.__setattr__(self, "waiting_bytes", max(self.waiting_bytes, self.upload_bytes))

"""How much of the machine a visitor may use, and what is said of more."""

from __future__ import annotations

from dataclasses import dataclass


class Refused(Exception):
    """What the visitor asked for cannot be done; the message says why and what to do."""


@dataclass(frozen=True)
class Limits:
    """All that is bounded, in one place."""

    upload_bytes: int = 100_000_000  # of one upload
    waiting_bytes: int = 400_000_000  # of all that a visitor has uploaded and the page has not yet read
    waiting_files: int = 64  # of those
    arriving_bytes: int = 4_000_000_000  # of all that waits, over all visitors: anyone can be many of them
    connections: int = 500  # at a time; every open page has two
    pixels: int = 40_000_000  # of a picture, before it is decoded, and of an enlarged one
    training_pixels: int = 32_000_000  # of all training pictures together; of larger collections a part is used
    seconds: float = 900.0  # of one repair or one learning run
    queue: int = 16  # runs that may wait for their turn
    pages: int = 32  # open at the same time, over all visitors
    operators: int = 12  # that one page keeps
    grace: float = 60.0  # seconds that a closed page's data are kept; it may come back from a short loss of connection
    history_bytes: int = 1_500_000_000  # of the pictures of all steps that one page goes back to
    batch: int = 10  # times `pixels`: what several pictures that are repaired in one go may have together
    view_pixels: int = 4_200_000  # above which the page shows a reduced picture; downloads are whole

    def __post_init__(self) -> None:
        """Where an upload may be larger than usual, one must be able to wait."""
        object.__setattr__(self, "waiting_bytes", max(self.waiting_bytes, self.upload_bytes))

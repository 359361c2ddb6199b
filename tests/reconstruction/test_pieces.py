"""No number moves unseen: what the pieces of the core give is what they gave, as near as another processor comes."""

from __future__ import annotations

import pieces
import pytest
from pieces import registry  # noqa: F401

KEPT = pieces.kept()


@pytest.mark.parametrize("name", pieces.PIECES)
def test_a_piece_gives_what_it_gave(name):
    off = pieces.off(pieces.found(name), KEPT[name], pieces.PIECES[name][1])
    assert off <= 1, f"{name} has moved by {off:.2g} times what it may; see tests/pieces"


def test_all_pieces_are_kept_and_no_other():
    assert sorted(KEPT) == sorted(pieces.PIECES)

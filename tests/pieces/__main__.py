"""Writes golden.npz again."""

import pieces
from pieces import registry  # noqa: F401

pieces.write()

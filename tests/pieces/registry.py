"""Imports all pieces, which then are in `pieces.PIECES`."""

from pieces import copied, engine_room, levels, measured, noisy, repaired, tables  # noqa: F401

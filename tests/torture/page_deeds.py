"""What a client of the web page does in a crowd: has a picture repaired, cancels, vanishes, brings a bomb."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np

from torture.frame import Run
from torture.page_client import Layout, Refusal, Visit, picture


@dataclass
class Crowd:
    """What fifty clients have seen."""

    run: Run
    address: str
    layout: Layout
    until: float
    waits: list[tuple[float, float]] = field(default_factory=list)  # when each joined the queue, and began


async def work(crowd: Crowd, visit: Visit, number: int, rng: np.random.Generator) -> None:
    """Bring a picture and have it repaired; or vanish, cancel, or bring what is no picture."""
    deeds = (bomb_it, cancel, vanish, repair)
    await deeds[int(rng.choice(4, p=(0.15, 0.13, 0.13, 0.59)))](crowd, visit, number, rng)


async def bomb_it(crowd: Crowd, visit: Visit, number: int, rng: np.random.Generator) -> None:
    try:
        told = await visit.load("bomb.png", bomb())
    except Refusal as words:
        if "bomb.png" not in str(words):
            raise
        crowd.run.count("bombs refused")
        return
    crowd.run.hold(False, f"a bomb was taken: {told[-200:]}")


async def _brought(crowd: Crowd, visit: Visit, number: int, rng: np.random.Generator) -> tuple[str, str]:
    """Bring one's own picture; returns the ticket of a repair, and its task."""
    told = await visit.load(f"own-{number}.png", picture(_grey(number), int(rng.integers(48, 200)), rng))
    crowd.run.hold(f"own-{number}.png" in told, f"client {number} was told of another picture: {told[-300:]}")
    return await visit.ticket(), str(rng.choice(["denoise", "upscale", "deblur"]))


def _grey(number: int) -> int:
    """By which a client knows its picture."""
    return 20 + 4 * number


async def cancel(crowd: Crowd, visit: Visit, number: int, rng: np.random.Generator) -> None:
    """While it waits or works."""
    ticket, task = await _brought(crowd, visit, number, rng)
    waiting = asyncio.create_task(visit.repair(ticket, denoise=task))
    await asyncio.sleep(float(rng.uniform(0, 1)))
    await visit.at_once("cancel", [ticket])
    await waiting
    crowd.run.count("cancelled")


async def vanish(crowd: Crowd, visit: Visit, number: int, rng: np.random.Generator) -> None:
    ticket, task = await _brought(crowd, visit, number, rng)
    with contextlib.suppress(TimeoutError):
        await visit.repair(ticket, denoise=task, until=float(rng.uniform(0, 1)))
    crowd.run.count("vanished")


async def repair(crowd: Crowd, visit: Visit, number: int, rng: np.random.Generator) -> None:
    ticket, task = await _brought(crowd, visit, number, rng)
    found = await visit.fetched(await visit.repair(ticket, denoise=task, balanced="fast"))
    off = abs(float(found.mean()) - _grey(number))
    crowd.run.hold(off < 6, f"client {number} got a picture of grey {found.mean():.0f}, its own has {_grey(number)}")
    crowd.waits.append((visit.joined, visit.begun))
    crowd.run.count(f"{task} done")


def bomb() -> bytes:
    """A PNG that claims 20,000 by 20,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    size = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")

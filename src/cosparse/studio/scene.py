"""What the stage of the tab Repair shows: a picture before and after, and a line about it."""

from __future__ import annotations

from typing import Any

from cosparse.reconstruction.request import Task
from cosparse.studio.page_pictures import Array, Source, reduction, working, write_view
from cosparse.studio.session import Session


def present(session: Session, source: Source) -> None:
    """A new picture: what was known of the last one is forgotten."""
    session.source, session.result = source, None
    session.shown = {"before": published(session, "before", working(source.picture)), **extent(session, source)}


def staged(session: Session, task: Task, **more: Any) -> dict[str, Any]:
    """What the browser is told: the picture, and with `after` its repair."""
    return {"after": None, "mask": None, **session.shown, "paint": task.masks, "stage": "", **more}


def published(session: Session, slot: str, work: Array) -> str:
    """The address of a picture, given on 0..255, as the stage shows it."""
    return session.publish(slot, f"{slot}.png", lambda path: write_view(path, work, session.limits))


def extent(session: Session, source: Source, factor: int = 1) -> dict[str, Any]:
    """The size of the picture on the stage, `factor` times enlarged, and a line about it."""
    height, width = source.shape
    smaller = reduction(height * width * factor**2, session.limits.view_pixels)
    depth = {"u1": "8 bit", "u2": "16 bit"}.get(source.picture.pixels.dtype.str[1:], "float")
    colour = "colour" if source.picture.channel_axis is not None else "grey"
    shown = " · shown smaller here, the download is whole" if smaller > 1 else ""
    damage = f" · {source.damage.words}" if source.damage else ""
    note = f"{source.name} · {width} × {height} · {colour} · {depth}{shown}{damage}"
    return {"width": -(-width * factor // smaller), "height": -(-height * factor // smaller), "note": note}

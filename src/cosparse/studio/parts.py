"""Pieces that the tabs of the page are made of."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import gradio as gr

from cosparse.operator import AnalysisOperator, load_operator, shipped_operators
from cosparse.studio.limits import Limits
from cosparse.studio.log import LOG
from cosparse.studio.session import Refused, Session, Visitors

Update = dict[Any, Any]
# One long run at a time, on all cores; short questions never wait behind it.
WORK: dict[str, Any] = {"concurrency_limit": 1, "concurrency_id": "work", "show_progress": "hidden"}
LIGHT: dict[str, Any] = {"concurrency_limit": 4, "concurrency_id": "light", "show_progress": "hidden"}
AT_ONCE: dict[str, Any] = {"queue": False, "show_progress": "hidden"}


def visitor(request: gr.Request) -> str:
    """Whose browser asks; the guard has seen to it that this is known."""
    scope: Any = request.request.scope if request.request else {}
    return str(scope["visitor"])


@dataclass(frozen=True)
class Studio:
    """What every tab needs."""

    visitors: Visitors
    limits: Limits

    def session(self, request: gr.Request) -> Session:
        """Of the page that asks."""
        return self.visitors.session(visitor(request), str(request.session_hash))

    def uploads(self, keys: str, request: gr.Request) -> list[tuple[str, bytes]]:
        """The files that a drop box names, each read once and then gone."""
        try:
            named = json.loads(keys or "[]")
        except ValueError:
            named = []
        wanted = [key for key in named if isinstance(key, str)] if isinstance(named, list) else []
        if not wanted:
            raise Refused("No file arrived; please choose it again.")
        return [self.visitors.take(visitor(request), key) for key in wanted[: self.limits.waiting_files]]


def when_there(call: str) -> str:
    """A call of our script for Gradio to make. It loads both on its own, and either may be there first."""
    return f"const go = () => {call}; window.cosparse ? go() : window.addEventListener('cosparse', go, {{once: true}});"


def drop_box(title: str, hint: str, limits: Limits, *, accept: str, many: bool = False, small: bool = False) -> Any:
    """A box to drop files into; its `upload` event brings the keys of what arrived."""
    ways = f'accept="{accept}" {"multiple" if many else ""} aria-label="{escape(title)}"'
    return gr.HTML(
        value="",
        html_template=f'<label class="drop {"small" if small else ""}" data-limit="{limits.upload_bytes}">'
        f'<b>{escape(title)}</b><span>{escape(hint)}</span><input type="file" {ways}></label>'
        '<div class="drop-state" role="alert"></div>',
        js_on_load=when_there("cosparse.drop(element, props, trigger)"),
        apply_default_css=False,
    )


IMAGES = ".png,.jpg,.jpeg,.tif,.tiff,.bmp,image/png,image/jpeg,image/tiff,image/bmp"


def step(text: str) -> Any:
    """A small heading."""
    return plain(f'<h2 class="step">{escape(text)}</h2>')


def plain(html: str, **options: Any) -> Any:
    """A piece of the page in the page's own style."""
    return gr.HTML(html, apply_default_css=False, **options)


def problem(text: str) -> str:
    """What went wrong, read out by screen readers."""
    return f'<div class="status"><div class="problem" role="alert">{escape(text)}</div></div>'


def news(text: str, right: str = "", share: float | None = None) -> str:
    """How things stand, with a bar while something runs."""
    bar = f'<progress class="bar" max="1" value="{share or 0:.3f}" aria-label="Progress"></progress>'
    return (
        f'<div class="status" role="status"><div class="line"><span>{escape(text)}</span>'
        f'<span class="quiet">{escape(right)}</span></div>{bar if share is not None else ""}</div>'
    )


def seconds(number: float) -> str:
    """As people say it.

    >>> seconds(0.4), seconds(75)
    ('less than a second', '1 min 15 s')
    """
    if number < 1:
        return "less than a second"
    return f"{number:.0f} s" if number < 60 else f"{number // 60:.0f} min {number % 60:.0f} s"


def remaining(number: float) -> str:
    """Seconds that something will still take.

    >>> remaining(0.4), remaining(75)
    ('less than a second left', 'about 1 min 15 s left')
    """
    return f"{'about ' if number >= 1 else ''}{seconds(number)} left"


def sentence(error: Exception) -> str:
    """What went wrong, for the person at the page. What nobody foresaw goes to the log, and only its kind is said."""
    if isinstance(error, Refused):
        return str(error)
    LOG.error("a handler failed", exc_info=error)
    if isinstance(error, MemoryError):
        return "The machine has not enough memory for this; try a smaller picture."
    if isinstance(error, ValueError) and str(error):
        return f"{' '.join(str(error).split()).rstrip('.')}."
    return f"Something unexpected went wrong ({type(error).__name__}); the server's log (--log) says more."


def told(status: Any, handler: Callable[..., Any]) -> Callable[..., Any]:
    """A handler whose failures appear as a message; the page goes on."""
    if inspect.isgeneratorfunction(handler):

        @functools.wraps(handler)
        def watched(*values: Any) -> Iterator[Any]:
            try:
                yield from handler(*values)
            except Exception as error:
                yield {status: problem(sentence(error))}

        return watched

    @functools.wraps(handler)
    def once(*values: Any) -> Any:
        try:
            return handler(*values)
        except Exception as error:
            return {status: problem(sentence(error))}

    return once


def operator_choices(session: Session | None = None) -> list[tuple[str, str]]:
    """What a menu of operators offers: the page's own first, then the shipped ones."""
    own = [(_described(name, one), name) for name, one in session.operators.items()] if session else []
    shipped = [(_described(name, _shipped(name)), name) for name in shipped_operators()]
    return [*reversed(own), *shipped]


def _described(name: str, operator: AnalysisOperator) -> str:
    height, width = operator.patch_shape
    return f"{name} ({len(operator.matrix)} atoms of {height}x{width})"


@cache
def _shipped(name: str) -> AnalysisOperator:
    return load_operator(name)

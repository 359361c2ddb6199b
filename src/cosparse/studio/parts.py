"""Pieces that the tabs of the page are made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import gradio as gr

from cosparse.operator import AnalysisOperator, load_operator, shipped_operators
from cosparse.studio.limits import Limits, Refused
from cosparse.studio.log import LOG
from cosparse.studio.session import Session, Visitors

Update = dict[Any, Any]
# One long run at a time, on all cores; short questions never wait behind it.
WORK: dict[str, Any] = {"concurrency_limit": 1, "concurrency_id": "work", "show_progress": "hidden"}
LIGHT: dict[str, Any] = {"concurrency_limit": 4, "concurrency_id": "light", "show_progress": "hidden"}
AT_ONCE: dict[str, Any] = {"queue": False, "show_progress": "hidden"}


@dataclass(frozen=True)
class Studio:
    """What every tab needs."""

    visitors: Visitors
    limits: Limits

    def session(self, request: gr.Request) -> Session:
        """Of the page that asks; the guard has seen to it that the visitor is known."""
        scope: Any = request.request.scope if request.request else {}
        return self.visitors.session(str(scope["visitor"]), str(request.session_hash))

    def uploads(self, session: Session, keys: str) -> list[tuple[str, bytes]]:
        """The files that a drop box names, each read once and then gone."""
        try:
            named = json.loads(keys or "[]")
        except ValueError:
            named = []
        wanted = [key for key in named if isinstance(key, str)] if isinstance(named, list) else []
        if not wanted:
            raise Refused("No file arrived; please choose it again.")
        return [self.visitors.take(session.visitor, key) for key in wanted[: self.limits.waiting_files]]

    def on(
        self, event: Any, status: Any, handler: Callable[..., Update], inputs: list[Any], outputs: list[Any],
        how: dict[str, Any] = LIGHT,
    ) -> Any:  # fmt: skip
        """Answer an event by `handler`, which gets the page's session and the inputs. Failures appear as the status."""

        def answer(request: gr.Request, *values: Any) -> Update:
            try:
                return handler(self.session(request), *values)
            except Exception as error:
                return {status: problem(error)}

        answer.__name__ = handler.__name__  # what Gradio calls it
        return event(answer, inputs, [status, *outputs], **how)


def scripted(template: str, call: str, *, value: str | None = "", **options: Any) -> Any:
    """A piece of the page that our script brings to life. Gradio loads both on its own, and either may be first."""
    go = f"const go = () => cosparse.{call};"
    script = f"{go} window.cosparse ? go() : window.addEventListener('cosparse', go, {{once: true}});"
    return gr.HTML(value, html_template=template, js_on_load=script, apply_default_css=False, **options)


IMAGES = ".png,.jpg,.jpeg,.tif,.tiff,.bmp,image/png,image/jpeg,image/tiff,image/bmp"


def drop_box(
    title: str, hint: str, limits: Limits, *, accept: str = IMAGES, many: bool = False, small: bool = False
) -> Any:
    """A box to drop files into; its `upload` event brings the keys of what arrived."""
    ways = f'accept="{accept}" {"multiple" if many else ""} aria-label="{escape(title)}"'
    return scripted(
        f'<label class="drop {"small" if small else ""}" data-limit="{limits.upload_bytes}">'
        f'<b>{escape(title)}</b><span>{escape(hint)}</span><input type="file" {ways}></label>'
        '<div class="drop-state" role="alert"></div>',
        "drop(element, props, trigger)",
    )


def step(text: str) -> Any:
    """A small heading."""
    return plain(f'<h2 class="step">{escape(text)}</h2>')


def plain(html: str, **options: Any) -> Any:
    """A piece of the page in the page's own style."""
    return gr.HTML(html, apply_default_css=False, **options)


def problem(error: Exception) -> str:
    """What went wrong, read out by screen readers."""
    return f'<div class="status"><div class="problem" role="alert">{escape(sentence(error))}</div></div>'


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


def figures(cells: list[tuple[str, str, str]], link: str, address: str, name: str) -> str:
    """Numbers (what, how much, and "good" where that is so) and a download, of which `link` says more in HTML."""
    body = "".join(
        f'<div class="figure {css}"><small>{escape(label)}</small><b>{escape(value)}</b></div>'
        for label, value, css in cells
    )
    download = f'<a class="download" href="{address}" download="{escape(name)}">{link}</a>'
    return f'<div class="figures">{body}{download}</div>'


def operator_menu(elem_id: str) -> Any:
    """What chooses an operator."""
    return gr.Dropdown(operator_choices(), value="default", label="Operator", elem_id=elem_id)


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

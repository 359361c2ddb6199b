"""Pieces that the tabs of the page are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

import gradio as gr

from cosparse.operator import STAGED, load_operator, shipped_operators
from cosparse.reconstruction.memory import TooLargeError
from cosparse.studio.limits import Limits, Refused
from cosparse.studio.log import LOG
from cosparse.studio.session import Session, Visitors

Update = dict[Any, Any]  # what a handler answers with, by part of the page
Handler = Callable[..., Update]
Parts = list[Any]
Options = dict[str, Any]
# One long run at a time, on all cores, in Gradio's queue; short questions never wait behind it. They do not go through
# the queue, whose answers come by a stream that the server ends with the last answer: a question that is under way to
# it at that moment would never be answered.
WORK: Options = {"concurrency_limit": 1, "concurrency_id": "work", "show_progress": "hidden"}
AT_ONCE: Options = {"queue": False, "show_progress": "hidden"}


@dataclass(frozen=True)
class Studio:
    """What every tab needs."""

    visitors: Visitors
    limits: Limits
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))  # for questions that need a while

    def session(self, request: gr.Request) -> Session:
        """Of the page that asks; the guard has seen to it that the visitor is known."""
        scope: Any = request.request.scope if request.request else {}
        return self.visitors.session(str(scope["visitor"]), str(request.session_hash))

    def uploads(self, session: Session, keys: str) -> list[tuple[str, bytes]]:
        """The files that a drop box names, each read once and then gone."""
        wanted = str(keys).split()
        if not wanted:
            raise Refused("No file arrived; please choose it again.")
        return [self.visitors.take(session.visitor, key) for key in wanted[: self.limits.waiting_files]]

    def on(
        self,
        status: Any,
        event: Any,
        handler: Handler,
        inputs: Parts,
        outputs: Parts,
        *,
        brief: bool = False,
        last: bool = False,
        js: str | None = None,
    ) -> Any:
        """Answer an event by `handler`, which gets the page's session and the inputs. Failures appear as the status.

        A few are answered at a time, those of a page in the order in which they were asked (see `Guard`). What is
        `brief` does not wait for other pages. Of many events in a moment only the `last` counts, if so. The browser
        first runs `js` on the inputs.
        """

        def answer(request: gr.Request, *values: Any) -> Update:
            try:
                return handler(self.session(request), *values)
            except Exception as error:
                return {status: problem(error)}

        async def wait(request: gr.Request, *values: Any) -> Update:
            async with self.places:
                return await asyncio.to_thread(answer, request, *values)

        asked = answer if brief else wait
        asked.__name__ = getattr(handler, "__name__", "answer")  # what Gradio calls it
        return event(asked, inputs, [status, *outputs], js=js, trigger_mode="always_last" if last else None, **AT_ONCE)


def scripted(template: str, call: str, *, value: str | None = "", **options: Any) -> Any:
    """A piece of the page that our script brings to life. Gradio loads both on its own, and either may be first.

    Buttons that were pressed before the script was there are pressed again.
    """
    early = "const early = [], note = (event) => early.push(event.target.closest('button'));"
    go = f"const go = () => {{ cosparse.{call}; element.removeEventListener('click', note); "
    go += "early.forEach((button) => button?.click()); };"
    wait = "element.addEventListener('click', note); window.addEventListener('cosparse', go, {once: true});"
    script = f"{early} {go} if (window.cosparse) go(); else {{ {wait} }}"
    return gr.HTML(value, html_template=template, js_on_load=script, apply_default_css=False, **options)


IMAGES = ".png,.jpg,.jpeg,.tif,.tiff,.bmp,image/png,image/jpeg,image/tiff,image/bmp"


def drop_box(
    title: str,
    hint: str,
    limits: Limits,
    *,
    accept: str = IMAGES,
    many: bool = False,
    small: bool = False,
    main: bool = False,
) -> Any:
    """A box to drop files into; its `upload` event brings the keys of what arrived.

    The `main` one of a tab also gets what is dropped or pasted anywhere else on the page.
    """
    ways = f'accept="{accept}" {"multiple" if many else ""} aria-label="{escape(title)}"'
    return scripted(
        f'<label class="drop {"small" if small else ""}" {"data-main" if main else ""} '
        f'data-limit="{limits.upload_bytes}">'
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
    """How things stand, with a bar while something runs; the page's script has it read out, but for the bar."""
    bar = f'<progress class="bar" max="1" value="{share or 0:.3f}" aria-label="Progress"></progress>'
    return (
        f'<div class="status"><div class="line"><span>{escape(text)}</span>'
        f'<span class="quiet">{escape(right)}</span></div>{bar if share is not None else ""}</div>'
    )


def sentence(error: Exception) -> str:
    """What went wrong, for the person at the page. What nobody foresaw goes to the log, and only its kind is said."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, TooLargeError):
        return f"The machine has too little memory for this: {str(error).partition('; ')[0]}. Try a smaller picture."
    LOG.error("a handler failed", exc_info=error)
    if isinstance(error, MemoryError):
        return "The machine has not enough memory for this; try a smaller picture."
    if isinstance(error, ValueError) and str(error):
        return f"{' '.join(str(error).split()).rstrip('.')}."
    return f"Something unexpected went wrong ({type(error).__name__}); the server's log (--log) says more."


def operator_menu(elem_id: str) -> Any:
    """What chooses an operator."""
    return gr.Dropdown(operator_choices(), value=STAGED, label="Operator", elem_id=elem_id)


def operator_choices(session: Session | None = None) -> list[tuple[str, str]]:
    """What a menu of operators offers: the page's own first, then the shipped ones."""
    offered = dict(reversed(session.operators.items())) if session else {}
    offered |= {name: _shipped(name) for name in shipped_operators()}
    shapes = {name: "{}x{}".format(*one.patch_shape) for name, one in offered.items()}
    return [(f"{name} ({len(one.matrix)} atoms of {shapes[name]})", name) for name, one in offered.items()]


_shipped = cache(load_operator)

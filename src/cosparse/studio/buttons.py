"""The two buttons of a long run: one starts it, the other really stops it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from cosparse.studio.parts import AT_ONCE, WORK, Studio, Update, news, told


class RunButtons:
    """Start and Cancel. A run waits its turn in the queue; cancelling works while it waits, too.

    Each press makes a run, whose ticket the browser sends along with the work and with Cancel: what else was started
    meanwhile does not matter to either.
    """

    def __init__(self, studio: Studio, label: str, name: str, *, ready: bool) -> None:
        self.studio, self.name = studio, name
        self.ticket = gr.Textbox(visible=False)
        with gr.Row():
            self.go = gr.Button(label, variant="primary", interactive=ready, elem_id=name, scale=3)
            self.stop = gr.Button(
                "Cancel", variant="stop", interactive=False, elem_id=f"{name}-cancel", scale=1, min_width=90
            )

    def connect(
        self, work: Callable[..., Any], inputs: list[Any], outputs: list[Any], status: Any, *, js: str | None = None
    ) -> None:
        """Let the button start `work`, a generator of updates, which gets the run's ticket before its inputs."""

        def enter(request: gr.Request) -> Update:
            return {
                self.ticket: studio.visitors.start(studio.session(request), self.name).ticket,
                self.go: gr.update(interactive=False),
                self.stop: gr.update(interactive=True),
                status: news("Waiting for a free place…"),
            }

        def entered(ticket: str, request: gr.Request) -> None:
            """Ends the chain here if there was no place; the person knows already."""
            run = studio.session(request).runs.get(self.name)
            if run is None or run.begun or run.ticket != ticket:
                raise gr.Error("no place", visible=False, print_exception=False)

        def idle() -> Update:
            return {self.go: gr.update(interactive=True), self.stop: gr.update(interactive=False)}

        def cancel(ticket: str, request: gr.Request) -> Update:
            run = studio.session(request).run(ticket)
            run.cancel()
            update: Update = {self.stop: gr.update(interactive=False)}
            if not run.begun:
                update[status] = news("Cancelled; it leaves the queue when its turn comes.")
            return update

        studio = self.studio
        self.go.click(told(status, enter), None, [self.ticket, self.go, self.stop, status], **AT_ONCE).then(
            entered, [self.ticket], None, **AT_ONCE
        ).success(told(status, work), [self.ticket, *inputs], outputs, js=js, **WORK).then(
            idle, None, [self.go, self.stop], **AT_ONCE
        )  # also when the run failed
        self.stop.click(told(status, cancel), [self.ticket], [self.stop, status], **AT_ONCE)

"""The two buttons of a long run: one starts it, the other really stops it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from cosparse.studio.parts import AT_ONCE, WORK, Studio, Update, news, told


class RunButtons:
    """Start and Cancel. A run waits its turn in the queue; cancelling works while it waits, too."""

    def __init__(self, studio: Studio, label: str, name: str, *, ready: bool) -> None:
        self.studio = studio
        with gr.Row():
            self.go = gr.Button(label, variant="primary", interactive=ready, elem_id=name, scale=3)
            self.stop = gr.Button(
                "Cancel", variant="stop", interactive=False, elem_id=f"{name}-cancel", scale=1, min_width=90
            )

    def connect(
        self, work: Callable[..., Any], inputs: list[Any], outputs: list[Any], status: Any, *, js: str | None = None
    ) -> None:
        """Let the button start `work`, a generator of updates."""

        def wait(request: gr.Request) -> Update:
            studio.session(request).start()
            return {
                self.go: gr.update(interactive=False),
                self.stop: gr.update(interactive=True),
                status: news("Waiting for a free place…"),
            }

        def idle() -> Update:
            return {self.go: gr.update(interactive=True), self.stop: gr.update(interactive=False)}

        def cancel(request: gr.Request) -> Update:
            session = studio.session(request)
            if session.run:
                session.run.cancel()
            return {self.stop: gr.update(interactive=False)}

        studio = self.studio
        self.go.click(wait, None, [self.go, self.stop, status], **AT_ONCE).then(
            told(status, work), inputs, outputs, js=js, **WORK
        ).then(idle, None, [self.go, self.stop], **AT_ONCE)  # also when the run failed, or found no place
        self.stop.click(cancel, None, [self.stop], **AT_ONCE)

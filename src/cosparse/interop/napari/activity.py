"""Work in a thread of its own, shown and cancelled in napari's activity bar; what it gives comes back to the window."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

PARTS = 1000  # of a bar


@dataclass(eq=False)
class Watched:
    """What work running in a thread tells, and asks: it calls this with how much is done, 0 to 1, and ends at True."""

    tell: Callable[[float], object] = field(default=lambda part: None)
    cancelled: Callable[[], bool] = field(default=lambda: False)

    def __call__(self, part: float) -> bool:
        self.tell(part)
        return self.cancelled()


Work = Callable[[Watched], Any]


def start(
    description: str,
    work: Work,
    *,
    done: Callable[[Any], object],
    failed: Callable[[Exception], object],
    ended: Callable[[bool], object],
) -> Any:
    """Start the work; returns napari's worker, whose `quit` cancels it.

    All three are called by the window's thread: `done` with what the work gave, `failed` with the error of a caller,
    ValueError, TypeError or OSError, and at last `ended` with whether it was cancelled. Any other error is napari's to
    show.
    """
    from napari.qt.threading import create_worker
    from napari.utils.progress import cancelable_progress

    # Of tqdm's figures only the time that is left: with all of them the button to cancel lies outside the dialog.
    bar = cancelable_progress(total=PARTS, desc=description, bar_format="{desc}|{remaining}")
    watched = Watched()

    def running() -> Generator[float, None, tuple[Any, Exception | None]]:
        result, problem = None, None
        try:
            result = work(watched)
        except (ValueError, TypeError, OSError) as caught:
            problem = caught
        yield 1.0  # a worker that was cancelled ends here, without a result
        return result, problem

    worker = create_worker(running, _start_thread=False)

    def cancelled() -> bool:
        if bar.is_canceled:
            worker.quit()
        return bool(worker.abort_requested)

    def show(part: float) -> None:
        bar.update(max(0, min(PARTS, round(PARTS * part)) - bar.n))

    def returned(found: tuple[Any, Exception | None]) -> None:
        result, problem = found
        if problem is None:
            done(result)
        else:
            failed(problem)

    def finished() -> None:
        bar.close()
        ended(bool(worker.abort_requested))

    told = 0

    def tell(part: float) -> None:
        nonlocal told
        if round(PARTS * part) != told:  # a small picture has thousands of iterations a second, the window other work
            told = round(PARTS * part)
            worker.yielded.emit(part)

    watched.tell, watched.cancelled = tell, cancelled
    worker.yielded.connect(show)
    worker.returned.connect(returned)
    worker.finished.connect(finished)
    worker.start()
    return worker

"""The widget that learns an operator from a layer: the repairs of the same viewer then know it, and it can be saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import cosparse
from cosparse.interop.napari.activity import Watched
from cosparse.interop.napari.layer_axes import LayerAxes
from cosparse.interop.napari.layer_blocks import lazy
from cosparse.interop.napari.layer_panel import LayerPanel
from cosparse.interop.napari.shelf import shelf_of
from cosparse.learning import LearnResult
from cosparse.patches import grey_images, sample_up_to

PLANES = 16  # of a layer that is not in memory, at most so many are looked at
SIDE = 2048  # and of each at most a square of so many pixels, from its middle


class Learn(LayerPanel):
    """Learn from this layer."""

    verb = "Learn"

    def fields(self) -> list[Any]:
        """How large the patches are, how many of them, how many atoms, for how long."""
        from magicgui.widgets import CheckBox, SpinBox

        self.side: Any = SpinBox(name="side", label="Patch", value=8, min=3, max=16, tooltip="Its side in pixels.")
        self.atoms: Any = SpinBox(
            name="atoms", label="Atoms", value=128, min=9, max=1024, step=16,
            tooltip="Rows of the operator; at least as many as a patch has pixels, twice as many is usual.",
        )  # fmt: skip
        self.patches: Any = SpinBox(
            name="patches", label="Patches", value=50_000, min=1000, max=1_000_000, step=10_000,
            tooltip="How many are looked at, at most.",
        )  # fmt: skip
        self.iterations: Any = SpinBox(name="iterations", label="Iterations", value=300, min=1, max=10_000, step=50)
        self.draw: Any = CheckBox(name="draw", label="show the atoms as a layer", value=True)
        return [self.side, self.atoms, self.patches, self.iterations, self.draw]

    def below(self) -> list[Any]:
        """To save what was learned."""
        from magicgui.widgets import PushButton

        self.learned: Any = None  # the last operator, and its name
        self.saver: Any = PushButton(name="saver", text="Save the operator…", enabled=False)
        self.saver.changed.connect(lambda *_: self.ask_where())
        return [self.saver]

    def begin(self) -> None:
        """Sample patches and learn."""
        axes, layer = self.axes(), self.layer.value
        pixels, side = self.data(), int(self.side.value)
        blocks, where = lazy(pixels), self.where(axes)
        source = pixels if blocks is None else blocks
        white = self.data_range(source, axes)
        source = source if where is None else source[where]
        rows, most, iterations = (int(one.value) for one in (self.atoms, self.patches, self.iterations))
        if rows < side * side:
            raise ValueError(f"atoms: {rows} are fewer than the {side * side} pixels of a patch; use {2 * side * side}")

        def work(watched: Watched) -> LearnResult:
            patches = sample_up_to(grey_images(_planes(source, axes), white), side, most, data_range=255)
            return cosparse.learn_operator(
                patches, rows, settings=cosparse.Settings(iterations=iterations),
                callback=lambda progress: watched(progress.iteration / iterations),
            )  # fmt: skip

        def done(result: LearnResult) -> None:
            operator = result.operator
            name = shelf_of(self.viewer).add(f"learned from {layer.name}", operator)
            self.learned, self.saver.enabled = (name, operator), True
            if self.draw.value:
                self.viewer.add_image(operator.atoms_image(scale=6), name=f"atoms {name}")
            figures = f"{result.iterations} iterations, condition {operator.condition:.2f}"
            self.say(f"Done: {figures}. The other widgets know it as “{name}”.")

        self.run(f"Learn from {layer.name}", work, done)

    def ask_where(self) -> None:
        """Choose a file to save to."""
        from magicgui.widgets import show_file_dialog

        path = show_file_dialog(
            mode="w", caption="Save the operator", start_path=f"{self.learned[0]}.safetensors", filter="*.safetensors",
            parent=self.container.native,
        )  # fmt: skip
        if path:
            self.save(path)

    def save(self, path: str | Path) -> None:
        """The last operator that was learned, to a file."""
        goal = Path(path) if Path(path).suffix else Path(path).with_suffix(".safetensors")
        try:
            self.learned[1].save(goal)
        except (ValueError, OSError) as problem:
            self.complain(problem)
        else:
            self.say(f"Saved as {goal.name}.")


def _planes(source: Any, axes: LayerAxes) -> list[Any]:
    """The planes to learn from: all that are in memory, of others some from all over, and of those the middle."""
    arranged = axes.arranged(source)
    arranged = arranged[..., :-1] if axes.alpha else arranged
    count = len(axes.pages)
    pages = list(np.ndindex(*arranged.shape[:count]))
    if isinstance(arranged, np.ndarray):
        chosen = [arranged[page] for page in pages]
    else:
        few = [pages[at] for at in np.linspace(0, len(pages) - 1, min(PLANES, len(pages))).astype(int)]
        middle = tuple(slice(max(0, (side - SIDE) // 2), max(0, (side - SIDE) // 2) + SIDE) for side in axes.size)
        chosen = [np.asarray(arranged[page][middle]) for page in few]
    if axes.colours is None or chosen[0].shape[-1] == 3:
        return chosen
    return [plane[..., channel] for plane in chosen for channel in range(plane.shape[-1])]

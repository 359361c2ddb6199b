"""What the widgets have in common: a layer and how its axes are read, a button that starts and cancels, and words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cosparse.interop.napari.activity import Watched, start
from cosparse.interop.napari.layer_axes import LayerAxes, axes_of
from cosparse.interop.napari.layer_blocks import lazy, some_values
from cosparse.interop.napari.layer_repair import white_of

NO_COLOURS = "none, each plane alone"
BLANK = 16 * "\N{NO-BREAK SPACE}"  # as wide as the widest label: all are made so
WIDTH = 300  # pixels, below which labels and fields would be squeezed


class LayerPanel:
    """The upper and the lower end of a widget. Who inherits it adds what is asked for, and says what to do.

    `container` is the magicgui widget that napari docks; its fields have the names that scripts set them by.
    """

    verb = ""  # on the button

    def __init__(self, viewer: Any) -> None:
        from magicgui.widgets import CheckBox, ComboBox, Container, FloatSpinBox, Label, PushButton, create_widget
        from napari.layers import Image
        from qtpy.QtWidgets import QSizePolicy

        self.viewer = viewer
        self.worker: Any = None  # what runs, if anything does
        self.layer: Any = create_widget(annotation=Image, name="layer", label="Layer")
        self.plane: Any = ComboBox(
            name="plane", label="Plane", choices=self._planes,
            tooltip="The axes of rows and columns; planes along all other axes are repaired one by one.",
        )  # fmt: skip
        self.colours: Any = ComboBox(
            name="colours", label="Colours", choices=self._colours,
            tooltip="An axis whose three channels are red, green and blue, which are repaired together. Channels of a "
            "microscope are no colours: leave each plane alone.",
        )  # fmt: skip
        self.read_as: Any = Label(name="read_as", label="Read as", value="")
        self.shown_only: Any = CheckBox(
            name="shown_only", label="only the plane that is shown", value=False,
            tooltip="To try settings: the result is one plane, at its place in the stack.",
        )  # fmt: skip
        self.white: Any = FloatSpinBox(
            name="white", label="White", value=0, min=0, max=1e12, step=1,
            tooltip="Its value. Automatic: 255 or 65535 for whole numbers; for floats by where most values lie.",
        )  # fmt: skip
        self.white.native.setSpecialValueText("automatic")
        self.button: Any = PushButton(name="button", text=self.verb)
        self.status: Any = Label(name="status", label=BLANK, value="")
        fields = [
            self.layer, self.plane, self.colours, self.read_as, self.shown_only, *self.fields(), self.white,
            self.button, *self.below(),
        ]  # fmt: skip
        self.container: Any = Container(name=self.verb.lower(), widgets=fields)
        self.container.append(self.status)  # one by itself: only then magicgui makes all labels equally wide
        self.container.native.setMinimumWidth(WIDTH)
        for words in (self.read_as, self.status):
            words.native.setWordWrap(True)
            words.native.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        # Functions, not methods: magicgui holds methods weakly, and nobody else holds this object.
        self.layer.changed.connect(lambda *_: self.layer_changed())
        self.plane.changed.connect(lambda *_: self.axes_changed())
        self.colours.changed.connect(lambda *_: self.axes_changed())
        self.button.changed.connect(lambda *_: self.pressed())
        self.layer_changed()

    # --- for those who inherit ---------------------------------------------------------------------------

    def fields(self) -> list[Any]:
        """What else is asked for."""
        return []

    def below(self) -> list[Any]:
        """What stands under the button."""
        return []

    def begin(self) -> None:
        """What the button does, if nothing runs; a ValueError is shown to the user."""

    # --- the layer and its axes --------------------------------------------------------------------------

    def data(self) -> Any:
        """The layer's pixels, at full resolution."""
        return self.layer.value.data[0] if self.layer.value.multiscale else self.layer.value.data

    def axes(self) -> LayerAxes:
        """As they are chosen."""
        if self.layer.value is None:
            raise ValueError("layer: there is none; open a picture first")
        own = self.layers_axes()
        colours = None if self.colours.value in (None, NO_COLOURS) else self.colours.value
        return own.reading(plane=self.plane.value, colours=colours if isinstance(colours, int) else None)

    def layers_axes(self) -> LayerAxes:
        """As the layer itself says."""
        layer = self.layer.value
        return axes_of(tuple(self.data().shape), layer.axis_labels, bool(layer.rgb))

    def _planes(self, _: Any) -> list[tuple[str, tuple[int, int]]]:
        if self.layer.value is None or self.layer.value.ndim < 2:
            return []
        axes = self.layers_axes()
        return [(", ".join(map(axes.described, pair)), pair) for pair in axes.planes()]

    def _colours(self, _: Any) -> list[tuple[str, Any]]:
        if self.layer.value is None or self.layer.value.ndim < 2:
            return [(NO_COLOURS, NO_COLOURS)]
        axes = self.layers_axes()
        if axes.rgb:
            return [("red, green, blue", "rgb")]
        plane = self.plane.value or axes.plane
        others = [axis for axis in range(len(axes.shape)) if axis not in plane]
        return [(NO_COLOURS, NO_COLOURS), *((axes.described(axis), axis) for axis in others)]

    def layer_changed(self) -> None:
        """Another layer: its axes are read as it says."""
        with self.plane.changed.blocked(), self.colours.changed.blocked():
            self.plane.reset_choices()
            if self.layer.value is not None and self.layer.value.ndim >= 2:
                self.plane.value = self.layers_axes().plane
        self.axes_changed()

    def axes_changed(self) -> None:
        """The axes are read another way."""
        with self.colours.changed.blocked():
            self.colours.reset_choices()
        try:
            axes = self.axes()
        except ValueError as problem:
            self.read_as.value = str(problem)
            return
        more = ", computed when shown" if lazy(self.data()) is not None else ""
        self.read_as.value = f"{axes}{more}"
        self.colours.visible = axes.rgb or len(axes.shape) > 2
        self.plane.visible = len(axes.shape) - axes.rgb > 2
        self.shown_only.visible = bool(axes.pages)

    def where(self, axes: LayerAxes) -> tuple[slice, ...] | None:
        """The plane that is shown, if only that is asked for."""
        if not (self.shown_only.value and axes.pages):
            return None
        layer = self.layer.value
        point = layer.world_to_data(np.asarray(self.viewer.dims.point)[-layer.ndim :])
        return axes.at(np.rint(point).astype(int).tolist())

    def data_range(self, pixels: Any, axes: LayerAxes) -> float | None:
        """The value of white: as it was said, or as the values are."""
        if self.white.value:
            return float(self.white.value)
        return white_of(np.dtype(pixels.dtype), lambda: some_values(pixels, axes))

    # --- running -------------------------------------------------------------------------------------------

    def pressed(self) -> None:
        """Start, or cancel what runs."""
        if self.worker is not None:
            self.worker.quit()
            self.say("Cancelling…")
            return
        try:
            self.begin()
        except (ValueError, TypeError, OSError) as problem:
            self.complain(problem)

    def run(self, description: str, work: Callable[[Watched], Any], done: Callable[[Any], object]) -> None:
        """Work in a thread, with a bar in napari's activity, and this panel's button to cancel it."""

        def ended(cancelled: bool) -> None:
            self.worker, self.button.text = None, self.verb
            if cancelled:
                self.say("Cancelled.")

        self.button.text = "Cancel"
        self.say("Running…")
        self.worker = start(description, work, done=done, failed=self.complain, ended=ended)

    def say(self, words: str) -> None:
        """Words under the button."""
        self.status.value = words

    def complain(self, problem: Exception) -> None:
        """What is wrong, under the button and as a notification."""
        from napari.utils.notifications import show_warning

        words = f"{problem}"
        self.say(words[:1].upper() + words[1:])
        show_warning(f"cosparse: {words}")

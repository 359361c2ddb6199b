"""The widgets that repair a layer: denoise, inpaint, deblur. The result is a layer beside it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from cosparse._version import __version__
from cosparse.interop.napari.activity import Watched
from cosparse.interop.napari.layer_axes import LayerAxes
from cosparse.interop.napari.layer_blocks import lazy, repaired_lazily
from cosparse.interop.napari.layer_panel import LayerPanel
from cosparse.interop.napari.layer_repair import Repair, part_done
from cosparse.interop.napari.layer_result import settings_of_result
from cosparse.interop.napari.shelf import SHIPPED, Shelf, shelf_of
from cosparse.reconstruction.request import Request
from cosparse.reconstruction.stages import QUALITIES
from cosparse.reconstruction.tasks import TASKS

KERNELS = {"Gaussian": "gaussian", "box": "box", "disk": "disk", "motion": "motion"}
LAYER_KERNEL = "a layer"


class RepairPanel(LayerPanel):
    """A repair of a layer, with the operator and the quality that are chosen."""

    task = ""
    no_noise = "estimated"  # what a noise of 0 stands for

    def fields(self) -> list[Any]:
        """Those of the task, then operator and quality."""
        from magicgui.widgets import ComboBox, Container, FloatSpinBox, PushButton

        self.shelf: Shelf = shelf_of(self.viewer)
        self.sigma: Any = FloatSpinBox(
            name="sigma", label="Noise", value=0, min=0, max=1e9, step=1,
            tooltip="The standard deviation of the noise, in the layer's own values.",
        )  # fmt: skip
        self.sigma.native.setSpecialValueText(self.no_noise)
        self.quality: Any = ComboBox(name="quality", label="Quality", choices=QUALITIES, value="balanced")
        self.operator: Any = ComboBox(
            name="operator", label="Operator", choices=lambda _: self.shelf.names, value=SHIPPED,
            tooltip="What pictures are taken to be like: as photographs are, or as a layer was that you learned from.",
        )  # fmt: skip
        self.opener: Any = PushButton(name="opener", text="Open…", tooltip="An operator file: *.safetensors")
        chosen = Container(name="chosen", label="Operator", layout="horizontal", labels=False,
                           widgets=[self.operator, self.opener])  # fmt: skip
        chosen.margins = (0, 0, 0, 0)
        self.opener.changed.connect(lambda *_: self.ask_for_operator())
        self.shelf.tell(self.new_operator)
        return [*self.own(), self.sigma, self.quality, chosen]

    def own(self) -> list[Any]:
        """What only this task asks for."""
        return []

    def ask_for_operator(self) -> None:
        """Choose a file."""
        from magicgui.widgets import show_file_dialog

        path = show_file_dialog(
            mode="r", caption="Open an operator", filter="*.safetensors", parent=self.container.native
        )
        if path:
            self.open_operator(path)

    def open_operator(self, path: str | Path) -> None:
        """Take the operator of a file."""
        try:
            self.operator.value = self.shelf.open(path)
        except (ValueError, OSError) as problem:
            self.complain(problem)

    def new_operator(self) -> None:
        """There is another to choose."""
        self.operator.reset_choices()

    def options(self) -> dict[str, Any]:
        """What the task is asked for, beside layer and mask."""
        sigma = float(self.sigma.value) or (None if TASKS[self.task].estimates_noise else 0.0)
        return {"sigma": sigma, "quality": self.quality.value, "operator": self.shelf.operators[self.operator.value]}

    def missing(self, pixels: Any, axes: LayerAxes, where: tuple[slice, ...] | None) -> Any:
        """Which pixels are missing, for tasks that ask: as the planes are arranged, or one plane for all."""
        return None

    def begin(self) -> None:
        """Repair the layer, or the plane that is shown."""
        axes, pixels, layer = self.axes(), self.data(), self.layer.value
        where = self.where(axes)
        blocks = lazy(pixels)
        source = pixels if blocks is None else blocks
        white = self.data_range(source, axes)
        axis = None if axes.colours is None else -1
        repair = Repair(self.task, self.options(), white, axis, axes.alpha)
        source = source if where is None else source[where]
        missing = self.missing(source, axes, where)
        said = {"version": __version__, "task": self.task, "layer": layer.name, "quality": self.quality.value,
                "operator": self.operator.value}  # fmt: skip
        if blocks is not None and where is None:
            said["sigma"] = repair.options["sigma"]
            self.add(layer, repaired_lazily(repair, source, axes, missing), None, said)
            self.say("Added; its planes are computed when they are shown or saved.")
            return
        self._run(repair, layer, (source, missing, axes, where), said)

    def _run(self, repair: Repair, layer: Any, what: tuple[Any, Any, LayerAxes, Any], said: dict[str, Any]) -> None:
        source, missing, axes, where = what
        started = time.monotonic()

        def work(watched: Watched) -> tuple[Any, Request]:
            planes = np.asarray(axes.arranged(source))
            gaps = None if missing is None else np.asarray(missing)
            request = repair.request(planes, gaps, lambda progress: watched(part_done(progress)))
            return axes.restored(request.run()), request

        def done(found: tuple[Any, Request]) -> None:
            result, request = found
            unit = request.caller.data_range / 255
            sigmas = [float(sigma * unit) for sigma in request.sigmas]
            self.add(layer, result, where, {**said, "sigma": sigmas[0] if len(sigmas) == 1 else sigmas})
            seen = f"noise {_between(sigmas)}, " if max(sigmas, default=0) else ""
            self.say(f"Done: {seen}{time.monotonic() - started:.1f} s.")

        self.run(f"{self.verb} {layer.name}", work, done)

    def add(self, layer: Any, result: Any, where: tuple[slice, ...] | None, said: dict[str, Any]) -> None:
        """The result as a layer like the one that it is of."""
        self.viewer.add_image(result, **settings_of_result(layer, TASKS[self.task].word, where, said))


def _between(values: list[float]) -> str:
    low, high = (f"{end:.3g}" for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


class Denoise(RepairPanel):
    """Remove noise."""

    verb, task = "Denoise", "denoise"


class Inpaint(RepairPanel):
    """Fill in what labels mark."""

    verb, task, no_noise = "Inpaint", "inpaint", "none"

    def own(self) -> list[Any]:
        """The labels that mark what is missing."""
        from magicgui.widgets import create_widget
        from napari.layers import Labels

        self.mask: Any = create_widget(
            annotation=Labels, name="mask", label="Missing",
            options={"tooltip": "Pixels with any label are filled in; NaN are too. Paint them with napari's brush."},
        )  # fmt: skip
        return [self.mask]

    def missing(self, pixels: Any, axes: LayerAxes, where: tuple[slice, ...] | None) -> Any:
        """Where there are labels, and where floats are NaN."""
        nan = np.isnan(axes.arranged(pixels)) if pixels.dtype.kind == "f" else None
        if nan is not None and axes.colours is not None:
            nan = nan.any(axis=-1)
        labels = self.mask.value
        if labels is None:
            if nan is None or (isinstance(nan, np.ndarray) and not nan.any()):
                raise ValueError("mask: nothing is marked as missing; paint it in a Labels layer")
            return nan
        data = labels.data[0] if labels.multiscale else labels.data
        order = self.axes().of_mask(tuple(data.shape))
        if where is not None and len(order) == len(self.axes().pages) + 2:
            colours = self.axes().colours
            data = data[tuple(one for axis, one in enumerate(where) if axis != colours)]
        blocks = lazy(data)
        gaps = ((data if blocks is None else blocks) != 0).transpose(order)
        return gaps if nan is None else gaps | nan


class Deblur(RepairPanel):
    """Undo a known blur."""

    verb, task = "Deblur", "deblur"

    def own(self) -> list[Any]:
        """What a point was smeared into."""
        from magicgui.widgets import ComboBox, FloatSpinBox, create_widget
        from napari.layers import Image

        self.kernel: Any = ComboBox(
            name="kernel", label="Blur", choices=[*KERNELS, LAYER_KERNEL], value="Gaussian",
            tooltip="What a single bright pixel was smeared into.",
        )  # fmt: skip
        self.extent: Any = FloatSpinBox(
            name="extent", label="Width", value=2.0, min=0.1, max=99, step=0.5,
            tooltip="In pixels: a Gaussian's standard deviation, a box's side, a disk's radius, a motion's length.",
        )  # fmt: skip
        self.angle: Any = FloatSpinBox(name="angle", label="Angle", value=0, min=-180, max=180, step=5)
        self.point: Any = create_widget(
            annotation=Image, name="point", label="Point",
            options={"tooltip": "A layer with the picture of a point, (rows, columns)."},
        )  # fmt: skip
        self.kernel.changed.connect(lambda *_: self.kernel_changed())
        self.kernel_changed()
        return [self.kernel, self.extent, self.angle, self.point]

    def kernel_changed(self) -> None:
        """Ask for what this kind has."""
        kind = self.kernel.value
        self.extent.visible = kind != LAYER_KERNEL
        self.angle.visible = kind == "motion"
        self.point.visible = kind == LAYER_KERNEL

    def options(self) -> dict[str, Any]:
        """With the kernel."""
        return {**super().options(), "kernel": self._kernel()}

    def _kernel(self) -> Any:
        kind = self.kernel.value
        if kind == LAYER_KERNEL:
            layer = self.point.value
            if layer is None or layer.rgb or len(layer.data.shape) != 2:
                raise ValueError("point spread: expected a layer of one grey plane; choose another")
            return np.asarray(layer.data, np.float32)
        width = round(self.extent.value) if kind == "box" else f"{self.extent.value:g}"
        turned = f":{self.angle.value:g}" if kind == "motion" else ""
        return f"{KERNELS[kind]}:{width}{turned}"

"""What a layer says of its pixels, said of the result too: where they lie, their units, how they are shown."""

from __future__ import annotations

from typing import Any

import numpy as np

# Of a layer's settings, those that a result shares; napari's words.
PLACE = ("scale", "translate", "rotate", "shear", "affine", "units", "axis_labels")
LOOK = ("rgb", "colormap", "contrast_limits", "gamma", "blending", "opacity", "interpolation2d", "interpolation3d",
        "rendering", "projection_mode")  # fmt: skip


def settings_of_result(layer: Any, word: str, where: tuple[slice, ...] | None, said: dict[str, Any]) -> dict[str, Any]:
    """What `viewer.add_image` is told beside the pixels of a result, the layer's own words but for its name.

    A result that is only one plane, `where`, is put at its place. What was done is noted in its metadata as `said`.
    """
    told = layer.as_layer_data_tuple()[1]
    kept = {key: told[key] for key in (*PLACE, *LOOK) if told.get(key) is not None}
    if kept.get("rgb"):
        kept.pop("colormap", None)
    if where is not None:
        from napari.utils.transforms import Affine

        first = np.array([one.start or 0 for one in where[: layer.ndim]], float)
        own = Affine(scale=layer.scale, rotate=layer.rotate, shear=layer.shear, translate=layer.translate)
        kept["translate"] = own(first)
    metadata = {**layer.metadata, "cosparse": said}
    return {**kept, "name": f"{layer.name} {word}", "metadata": metadata}

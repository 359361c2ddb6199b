"""cosparse in napari: widgets that denoise, inpaint and deblur a layer, and learn an operator from one.

Needs napari: pip install 'cosparse[napari]'. The manifest ``napari.yaml`` beside this package tells napari of them; in
napari they are under Plugins > cosparse.
"""

from __future__ import annotations

from typing import Any


def denoise_widget(viewer: Any = None) -> Any:
    """The widget that removes noise from a layer, of a viewer or the current one."""
    from cosparse.interop.napari.panels import Denoise

    return Denoise(_current(viewer)).container


def inpaint_widget(viewer: Any = None) -> Any:
    """The widget that fills in what a Labels layer marks."""
    from cosparse.interop.napari.panels import Inpaint

    return Inpaint(_current(viewer)).container


def deblur_widget(viewer: Any = None) -> Any:
    """The widget that undoes a known blur of a layer."""
    from cosparse.interop.napari.panels import Deblur

    return Deblur(_current(viewer)).container


def learn_widget(viewer: Any = None) -> Any:
    """The widget that learns an operator from a layer, for the others to use."""
    from cosparse.interop.napari.learn_panel import Learn

    return Learn(_current(viewer)).container


def _current(viewer: Any) -> Any:
    """The viewer that is meant: napari gives none to functions, and the one in front has asked."""
    from napari import current_viewer

    viewer = current_viewer() if viewer is None else viewer
    if viewer is None:
        raise ValueError("viewer: there is none; make one with napari.Viewer()")
    return viewer


def noisy_photograph() -> list[tuple[Any, dict[str, Any], str]]:
    """Two layers to try the widgets on: a photograph of scikit-image with noise, and labels on scratches in it."""
    import numpy as np
    from skimage.data import camera

    noisy = camera() + 20 * np.random.default_rng(0).standard_normal((512, 512))
    scratches = np.zeros((512, 512), np.uint8)
    for start in (60, 200, 330):
        rows = np.arange(40, 480)
        columns = start + rows // 4
        for shift in range(3):
            scratches[rows, columns + shift] = 1
    scratched = np.where(scratches > 0, 255, noisy).clip(0, 255).round().astype(np.uint8)
    return [(scratched, {"name": "photograph"}, "image"), (scratches, {"name": "scratches"}, "labels")]

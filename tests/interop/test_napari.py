"""The widgets in a real napari viewer, and without one how they read a layer's axes.

Needs napari, a Qt and a display with OpenGL: `make test-napari` sees to all of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cosparse
from cosparse.interop.napari import noisy_photograph
from cosparse.interop.napari.layer_axes import LayerAxes, axes_of
from cosparse.interop.napari.layer_blocks import repaired_lazily, some_values
from cosparse.interop.napari.layer_repair import Repair, white_of

MANIFEST = Path(cosparse.__file__).parent / "interop" / "napari.yaml"
PLACED = {
    "scale": (2.0, 0.5, 0.25), "translate": (10.0, 20.0, 30.0), "units": ("s", "um", "um"),
    "axis_labels": ("t", "y", "x"), "colormap": "magma", "contrast_limits": (100, 40_000), "gamma": 0.7,
}  # fmt: skip


@pytest.fixture(scope="module")
def stack(photograph):
    """Three noisy planes of 16 bit."""
    crops = np.stack([photograph[:48, :56], photograph[40:88, 60:116], photograph[90:138, 30:86]]).astype(float)
    noisy = crops + 15 * np.random.default_rng(0).standard_normal(crops.shape)
    return np.clip(noisy * 257, 0, 65535).astype(np.uint16)


# --- in a viewer ------------------------------------------------------------------------------------------


@pytest.fixture
def viewer(request):
    pytest.importorskip("napari", reason="needs napari, which make test-napari installs")
    pytest.importorskip("pytestqt", reason="needs pytest-qt, which make test-napari installs")
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ):
        pytest.skip("needs a display with OpenGL, as xvfb-run makes one")
    return request.getfixturevalue("make_napari_viewer")()


@pytest.fixture
def docked(viewer):
    """Dock a widget by the name it has in napari's menu."""

    def dock(name):
        _, widget = viewer.window.add_plugin_dock_widget("cosparse", name)
        return widget

    return dock


@pytest.fixture
def ran(viewer, qtbot):
    """Press a widget's button and wait for the end of its work; returns the layers that it added."""
    from napari._qt.qthreading import wait_for_workers_to_quit

    def run(widget):
        before = list(viewer.layers)
        widget.button.native.click()
        qtbot.waitUntil(lambda: widget.button.text != "Cancel", timeout=120_000)
        wait_for_workers_to_quit(120_000)
        return [layer for layer in viewer.layers if layer not in before]

    return run


def test_the_manifest_is_valid():
    pytest.importorskip("npe2", reason="needs napari, which make test-napari installs")
    npe2 = Path(sys.executable).with_name("npe2")
    for what in ("cosparse", str(MANIFEST)):
        done = subprocess.run([npe2, "validate", what], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "valid" in done.stdout + done.stderr


@pytest.mark.slow
def test_the_example_runs(viewer):
    """In a process of its own, as a reader would; the viewer here only says whether there can be one."""
    pytest.importorskip("matplotlib")
    script = Path(__file__).resolve().parents[2] / "docs" / "examples" / "napari_layers.py"
    without_screen = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=without_screen)
    assert done.returncode == 0, done.stderr
    scratched, filled, clean = map(float, re.findall(r"([\d.]+) dB", done.stdout))
    assert clean > filled + 4 and filled > scratched + 2
    assert 15 < float(re.search(r"found: ([\d.]+) grey", done.stdout)[1]) < 25


def test_denoising_is_the_library_s_and_the_layer_s_place_is_kept(viewer, docked, ran, stack):
    layer = viewer.add_image(stack, name="cells", metadata={"by": "hand"}, **PLACED)
    widget = docked("Denoise")
    assert widget.read_as.value == "3 planes of 48 x 56 pixels (t)"
    widget.quality.value = "fast"
    (result,) = ran(widget)
    np.testing.assert_array_equal(result.data, cosparse.denoise(stack, quality="fast"))
    assert result.data.dtype == np.uint16 and result.name == "cells denoised"
    for name in ("scale", "translate", "rotate", "shear"):
        np.testing.assert_array_equal(getattr(result, name), getattr(layer, name))
    assert result.units == layer.units and result.axis_labels == ("t", "y", "x")
    assert result.colormap.name == "magma" and tuple(result.contrast_limits) == (100, 40_000) and result.gamma == 0.7
    assert result.metadata["by"] == "hand" and result.metadata["cosparse"]["task"] == "denoise"
    sigmas = result.metadata["cosparse"]["sigma"]
    assert len(sigmas) == 3 and sigmas[0] == pytest.approx(cosparse.estimate_sigma(stack[0]), rel=0.2)
    assert widget.status.value.startswith("Done: noise ")


def test_one_plane_to_try_lies_where_it_was(viewer, docked, ran, stack):
    layer = viewer.add_image(stack, **PLACED)
    viewer.dims.set_point(0, 10.0 + 2 * 1)
    widget = docked("Denoise")
    widget.shown_only.value, widget.quality.value, widget.sigma.value = True, "fast", 15 * 257
    (result,) = ran(widget)
    np.testing.assert_array_equal(result.data, cosparse.denoise(stack[1:2], 15 * 257, quality="fast"))
    np.testing.assert_allclose(result.data_to_world((0, 5, 6)), layer.data_to_world((1, 5, 6)))


def test_colours_are_repaired_together_and_transparency_is_kept(viewer, docked, ran, photograph):
    colour = np.stack([photograph[:40, :44], photograph[2:42, :44], photograph[4:44, :44]], axis=-1)
    alpha = np.full((40, 44, 1), 77, np.uint8)
    viewer.add_image(np.concatenate([colour, alpha], axis=-1), rgb=True)
    widget = docked("Denoise")
    assert widget.read_as.value == "a plane of 40 x 44 pixels, red, green and blue together and transparency"
    widget.quality.value, widget.sigma.value = "fast", 12
    (result,) = ran(widget)
    assert result.rgb
    np.testing.assert_array_equal(result.data[..., 3:], alpha)
    np.testing.assert_array_equal(result.data[..., :3], cosparse.denoise(colour, 12, quality="fast", channel_axis=-1))


def test_an_axis_may_be_of_colours_and_planes_lie_anywhere(viewer, docked, ran, photograph):
    """(x, y, c): the labels say which are rows and columns, the user that c is of colours."""
    colour = np.stack([photograph[:40, :44], photograph[2:42, :44], photograph[4:44, :44]], axis=-1)
    pixels = (colour.transpose(1, 0, 2) / 255).astype(np.float32)
    viewer.add_image(pixels, rgb=False, axis_labels=("x", "y", "c"))
    widget = docked("Denoise")
    assert widget.read_as.value == "3 planes of 40 x 44 pixels (c)"
    widget.colours.value = 2
    assert widget.read_as.value == "a plane of 40 x 44 pixels, red, green and blue together"
    widget.quality.value, widget.sigma.value = "fast", 0.05
    (result,) = ran(widget)
    expected = cosparse.denoise(pixels.transpose(1, 0, 2), 0.05, quality="fast", channel_axis=-1)
    assert result.data.dtype == np.float32
    np.testing.assert_array_equal(result.data.transpose(1, 0, 2), expected)


def test_labels_are_what_is_missing(viewer, docked, ran, stack):
    viewer.add_image(stack)
    labels = np.zeros(stack.shape[1:], np.int32)
    labels[20:24, 10:30] = 5
    viewer.add_labels(labels)
    widget = docked("Inpaint")
    widget.quality.value = "fast"
    (result,) = ran(widget)
    np.testing.assert_array_equal(result.data, cosparse.inpaint(stack, labels > 0, quality="fast"))
    viewer.layers.remove("labels")
    viewer.add_labels(np.ones((5, 6), np.int32))
    assert ran(widget) == []
    assert widget.status.value.startswith("Mask: has shape (5, 6), and the layer's planes (3, 48, 56)")


def test_a_blur_is_undone_by_its_name_or_a_layer(viewer, docked, ran, photograph):
    from cosparse.reconstruction.measurement import gaussian_kernel

    sharp = photograph[:40, :44]
    viewer.add_image(sharp, name="sharp")
    widget = docked("Deblur")
    widget.extent.value, widget.sigma.value, widget.quality.value = 1.5, 2.0, "fast"
    (result,) = ran(widget)
    expected = cosparse.deblur(sharp, "gaussian:1.5", sigma=2.0, quality="fast")
    np.testing.assert_array_equal(result.data, expected)
    point = viewer.add_image(np.asarray(gaussian_kernel(1.5)), name="point")
    widget.kernel.value = "a layer"
    widget.layer.value, widget.point.value = viewer.layers["sharp"], point
    (result,) = ran(widget)
    np.testing.assert_allclose(result.data.astype(int), expected, atol=1)


def test_what_is_learned_can_be_used_and_saved(viewer, docked, ran, photograph, tmp_path, monkeypatch):
    viewer.add_image(photograph, name="camera")
    repair, learn = docked("Denoise"), docked("Learn from this layer")
    learn.side.value, learn.atoms.value, learn.patches.value, learn.iterations.value = 4, 24, 2000, 10
    (drawn,) = ran(learn)
    assert drawn.name == "atoms learned from camera" and "10 iterations" in learn.status.value
    name = "learned from camera"
    assert repair.chosen.operator.choices == ("shipped", name)
    other = docked("Inpaint")  # opened later, it knows it too
    assert name in other.chosen.operator.choices
    monkeypatch.setattr("magicgui.widgets.show_file_dialog", lambda **_: tmp_path / "mine.safetensors")
    learn.saver.native.click()
    assert learn.status.value == "Saved as mine.safetensors."
    operator = cosparse.load_operator(tmp_path / "mine.safetensors")
    other.chosen.opener.native.click()
    assert other.chosen.operator.value == "mine"
    repair.chosen.operator.value, repair.sigma.value, repair.quality.value = name, 10, "fast"
    repair.layer.value = viewer.layers["camera"]
    (result,) = ran(repair)
    np.testing.assert_array_equal(result.data, cosparse.denoise(photograph, 10, operator=operator, quality="fast"))


def test_cancelling_ends_within_an_iteration_and_adds_nothing(viewer, docked, qtbot, photograph):
    """By the button of napari's activity bar, and by the widget's own."""
    from napari._qt.widgets.qt_progress_bar import QtLabeledProgressBar

    large = np.tile(photograph, (4, 4))[None].repeat(40, axis=0)  # minutes of work
    viewer.add_image(large)
    widget = docked("Denoise")
    widget.sigma.value = 20

    def bars():
        dialog = viewer.window._qt_window._activity_dialog
        return [bar for bar in dialog.findChildren(QtLabeledProgressBar) if bar.isVisibleTo(dialog)]

    for cancel in (lambda: bars()[0].cancel_button.click(), lambda: widget.button.native.click()):
        widget.button.native.click()
        qtbot.waitUntil(lambda: bool(bars()) and bars()[0].qt_progress_bar.value() > 0, timeout=120_000)
        assert bars()[0].description_label.text().startswith("Denoise large")
        cancel()
        qtbot.waitUntil(lambda: widget.button.text == "Denoise", timeout=60_000)
        assert widget.status.value == "Cancelled." and len(viewer.layers) == 1


def test_a_lazy_layer_gives_a_lazy_result(viewer, docked, ran, stack):
    import dask.array as da

    viewer.add_image(da.from_array(stack, chunks=(2, 20, 30)), contrast_limits=(0, 65535))
    widget = docked("Denoise")
    assert widget.read_as.value == "3 planes of 48 x 56 pixels (axis 0), computed when shown"
    widget.quality.value = "fast"
    (result,) = ran(widget)
    assert isinstance(result.data, da.Array) and result.data.chunks == ((1, 1, 1), (48,), (56,))
    np.testing.assert_array_equal(result.data.compute(), cosparse.denoise(stack, quality="fast"))


def test_what_cannot_be_done_is_said(viewer, docked, ran, stack):
    widget = docked("Denoise")
    assert ran(widget) == [] and widget.status.value == "Layer: there is none; open a picture first"
    broken = stack.astype(np.float32)
    broken[0, 3, 3] = np.nan
    viewer.add_image(broken, contrast_limits=(0, 65535))
    assert ran(widget) == []
    assert widget.status.value == "Image: holds NaN; fill those pixels with cosparse.inpaint first"
    fill = docked("Inpaint")
    fill.quality.value = "fast"
    (result,) = ran(fill)
    assert np.isfinite(result.data).all()


# --- without a viewer -------------------------------------------------------------------------------------


def test_axes_are_read_as_labels_say():
    five = axes_of((3, 2, 5, 40, 50), "tczyx", False)
    assert (five.plane, five.pages, five.colours) == ((3, 4), (0, 1, 2), None)
    assert five.planes()[0] == (3, 4) and len(five.planes()) == 10
    assert str(five.reading(colours=1)) == "15 planes of 40 x 50 pixels (t, z), 2 channels each"
    assert str(five.reading(plane=(2, 4))) == "240 planes of 5 x 50 pixels (t, c, y)"
    assert axes_of((40, 50, 3), ("-2", "-1"), True).colours == 2
    with pytest.raises(ValueError, match="colours: y is of rows or columns"):
        five.reading(colours=3)
    with pytest.raises(ValueError, match=r"layer: has the shape \(9,\)"):
        axes_of((9,), ("x",), False)


def test_arrays_go_there_and_back_and_masks_along():
    axes = LayerAxes((4, 6, 3, 5), ("x", "t", "c", "y"), (3, 0), 2)
    pixels = np.random.default_rng(0).random((4, 6, 3, 5))
    arranged = axes.arranged(pixels)
    assert arranged.shape == (6, 5, 4, 3)
    np.testing.assert_array_equal(axes.restored(arranged), pixels)
    assert axes.at((9, 2, 9, 9)) == (slice(None), slice(2, 3), slice(None), slice(None))
    each, one = np.zeros((4, 6, 5), bool), np.zeros((4, 5), bool)
    assert each.transpose(axes.of_mask(each.shape)).shape == (6, 5, 4)
    assert one.transpose(axes.of_mask(one.shape)).shape == (5, 4)
    with pytest.raises(ValueError, match=r"mask: has shape \(5, 4\)"):
        axes.of_mask((5, 4))


def test_white_is_known_by_the_type_or_by_most_values(stack):
    axes = axes_of(stack.shape, "tyx", False)
    assert white_of(stack.dtype, lambda: some_values(stack, axes)) is None
    assert white_of(np.dtype("f4"), lambda: some_values((stack / 65535).astype("f4"), axes)) == 1.0
    signed = stack.astype(np.int32) - 20_000
    assert 40_000 < white_of(np.dtype("i4"), lambda: some_values(signed, axes)) < 80_000


@pytest.mark.slow
def test_planes_too_large_for_one_block_are_done_by_tiles(monkeypatch, scene):
    """As the whole plane to 0.01 grey levels; or it is said why they cannot be, and what else to do."""
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("cosparse.interop.napari.layer_blocks.WHOLE", 1000)
    monkeypatch.setattr("cosparse.interop.napari.layer_blocks.TILE", 96)
    noisy = np.clip(scene + 15 * np.random.default_rng(0).standard_normal(scene.shape), 0, 255).astype(np.uint8)
    axes = axes_of(noisy.shape, "yx", False)
    lazy = da.from_array(noisy, chunks=64)
    result = repaired_lazily(Repair("denoise", {"sigma": 15.0}), lazy, axes)
    assert max(result.numblocks) > 1
    difference = result.compute(scheduler="synchronous").astype(float) - cosparse.denoise(noisy, 15)
    assert np.sqrt(np.mean(difference**2)) < 0.01
    for repair, mask, message in (
        (Repair("denoise", {"sigma": None}), None, "noise: a plane of 180 x 270 pixels is too large"),
        (Repair("denoise", {"sigma": 9.0, "operator": "default"}), None, "operator: .* take the shipped one"),
        (Repair("deblur", {"sigma": 9.0, "kernel": "box:3"}), None, "layer: .* deblur needs that; save the layer as"),
    ):
        with pytest.raises(ValueError, match=message):
            repaired_lazily(repair, lazy, axes, mask)


def test_lazy_masks_fit_one_or_all_planes(stack):
    da = pytest.importorskip("dask.array")
    axes, gaps = axes_of(stack.shape, "tyx", False), np.zeros(stack.shape[1:], bool)
    gaps[10:13, 20:40] = True
    repair = Repair("inpaint", {"quality": "fast", "grouping": False})
    expected = cosparse.inpaint(stack, gaps, quality="fast", grouping=False)
    for mask in (gaps, da.from_array(np.broadcast_to(gaps, stack.shape), chunks=16)):
        result = repaired_lazily(repair, da.from_array(stack, chunks=30), axes, mask)
        np.testing.assert_array_equal(result.compute(scheduler="synchronous"), expected)
    colour = np.stack([stack[:2], stack[1:], stack[:2] // 2], axis=-1)  # two planes in colour
    expected = cosparse.inpaint(colour, gaps, quality="fast", grouping=False, channel_axis=-1)
    repair = Repair("inpaint", {"quality": "fast", "grouping": False}, channel_axis=-1)
    result = repaired_lazily(repair, da.from_array(colour, chunks=30), axes_of(colour.shape, "tyx", True), gaps)
    np.testing.assert_array_equal(result.compute(scheduler="synchronous"), expected)


def test_the_sample_is_a_picture_and_its_labels():
    (picture, _, image), (marked, _, labels) = noisy_photograph()
    assert (image, labels) == ("image", "labels") and picture.shape == marked.shape
    assert (picture[marked > 0] == 255).all() and 0.001 < (marked > 0).mean() < 0.05

"""
Repairing layers in napari
==========================

A photograph with scratches and noise in a napari viewer: the labels mark the scratches, one widget fills them in and
another takes the noise away. Everything below can be done with the mouse, under Plugins > cosparse; a script docks,
sets and starts the same widgets. :doc:`../interop-napari` says how they read axes, colours, stacks and layers that are
not in memory.

::

    pip install 'cosparse[napari]' PySide6_Essentials matplotlib
    python docs/examples/napari_layers.py

.. image:: ../images/napari.jpg
   :alt: napari with a photograph, its labels, and the results of two widgets as layers
"""

import sys

import matplotlib.pyplot as plt
import napari
from napari.qt import get_qapp
from skimage.data import camera

import cosparse

viewer = napari.Viewer(show=True)
viewer.window.resize(1280, 860)
viewer.open_sample("cosparse", "photograph")  # as under File > Open Sample


# %%
# Work is done in a thread of its own, with napari's progress bar, and can be cancelled there. With the mouse one goes
# on meanwhile; this script waits.
def run(name, **fields):
    """Dock a widget, fill in its fields, press its button; the layer that it adds."""
    dock, widget = viewer.window.add_plugin_dock_widget("cosparse", name)
    for field, value in fields.items():
        getattr(widget, field).value = value
    before = set(viewer.layers)
    widget.button.native.click()
    while not set(viewer.layers) - before or widget.button.text == "Cancel":
        get_qapp().processEvents()
        if "failed" in widget.status.value.lower():
            raise RuntimeError(widget.status.value)
    (layer,) = set(viewer.layers) - before
    viewer.window.remove_dock_widget(dock)
    return layer


# %%
# Labels are what is missing. The result is a layer of its own; nothing is changed in place.
filled = run("Inpaint", layer=viewer.layers["photograph"], mask=viewer.layers["scratches"], quality="fast")

# %%
# The noise is estimated, of every plane of a stack, unless it is said.
clean = run("Denoise", layer=filled)
print(f"found: {clean.metadata['cosparse']['sigma']:.1f} grey levels of noise, where 20 were added")

# %%
# A layer is an array again: here beside the photograph without scratches and noise.
for name, layer in (("scratched", viewer.layers["photograph"]), ("filled", filled), ("denoised", clean)):
    print(f"{name}: {cosparse.psnr(camera(), layer.data):.2f} dB")

# %%
# The window as it is now, with both widgets for the next picture.
for name in ("Inpaint", "Denoise"):
    viewer.window.add_plugin_dock_widget("cosparse", name)
for layer in viewer.layers:
    layer.visible = layer is clean
viewer.reset_view()
get_qapp().processEvents()
window = viewer.screenshot(canvas_only=False, flash=False)
if len(sys.argv) > 1:
    plt.imsave(sys.argv[1], window[..., :3])
fig, axis = plt.subplots(figsize=(12.8, 8.6), layout="constrained")
axis.imshow(window)
axis.set_axis_off()
plt.show()
viewer.close()

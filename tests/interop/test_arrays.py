"""NumPy's own kinds of arrays, and those that are refused with a way."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import cosparse


class Subclass(np.ndarray):
    pass


def memmap(array, folder):
    mapped = np.memmap(folder / "pixels", array.dtype, "w+", shape=array.shape)
    mapped[:] = array
    return mapped


KINDS = {
    "memmap": memmap,
    "matrix": lambda array, _: array.view(np.matrix),
    "subclass": lambda array, _: array.view(Subclass),
    "masked, nothing of it": lambda array, _: np.ma.MaskedArray(array),
    "list": lambda array, _: array.tolist(),
    "by protocol": lambda array, _: Protocol(array),  # as JAX's and TensorFlow's
}
TASKS = {
    "denoise": lambda image: cosparse.denoise(image, 8.0, data_range=255, quality="fast"),
    "denoise nothing": lambda image: cosparse.denoise(image, 0.0, data_range=255),
    "inpaint": lambda image: cosparse.inpaint(image, np.eye(40, dtype=bool), data_range=255, quality="fast"),
    "upscale": lambda image: cosparse.upscale(image, 2, data_range=255, quality="fast"),
    "deblur": lambda image: cosparse.deblur(image, "gaussian:1", sigma=1.0, data_range=255, quality="fast"),
    "deblock": lambda image: cosparse.deblock(image, cosparse.Jpeg.standard(30), data_range=255, quality="fast"),
}


class Protocol:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array.copy() if copy else self.array


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", TASKS)
def test_a_plain_array_comes_back(photograph, tmp_path, task, kind):
    pixels = photograph[:40, :40].astype(float)
    result = TASKS[task](KINDS[kind](pixels, tmp_path))
    assert type(result) is np.ndarray and not np.shares_memory(result, pixels)
    np.testing.assert_array_equal(result, TASKS[task](pixels))


def fake(module, **attributes):
    """An array of a library that is not here, by all that is looked at."""
    kind = type("Fake", (np.ndarray,), {"__module__": module, **attributes})
    return np.zeros((16, 16)).view(kind)


def test_cupy_is_shown_the_way_to_torch():
    words = r"denoise: takes no CuPy arrays; pass torch.from_dlpack\(array\).*cosparse.interop.torch.*array.get\(\)"
    with pytest.raises(TypeError, match=words):
        cosparse.denoise(fake("cupy"), 10)
    with pytest.raises(TypeError, match="inpaint: takes no CuPy"):
        cosparse.inpaint(np.zeros((16, 16)), fake("cupy._core.core"))


def test_units_are_not_dropped_without_a_word():
    quantity = fake("astropy.units.quantity", unit="adu")
    with pytest.raises(TypeError, match="image: is in adu, and denoise knows no units; pass plain values"):
        cosparse.denoise(quantity, 10)
    with pytest.raises(TypeError, match="sigma: is in adu"):
        cosparse.denoise(np.zeros((16, 16)), quantity)
    kernel = fake("astropy.convolution.kernels") + 1  # has no unit, and is taken as it is
    assert cosparse.deblur(np.ones((16, 16)), kernel[:3, :3], sigma=0.01).shape == (16, 16)


@pytest.mark.parametrize(
    ("library", "made"),
    [
        ("astropy.units", lambda units, values: values * units.adu),
        ("pint", lambda pint, values: pint.UnitRegistry().Quantity(values, "volt")),
        ("unyt", lambda unyt, values: unyt.unyt_array(values, "V")),
    ],
)
def test_units_of_the_libraries_themselves(library, made):
    module = pytest.importorskip(library)
    with pytest.raises(TypeError, match="image: is in "):
        cosparse.denoise(made(module, np.zeros((16, 16))), 10)


@pytest.mark.parametrize("name", ["sklearn", "xarray", "dask", "cupy", "units"])
def test_adapters_import_nothing_else_than_they_name(name):
    """What is registered can be loaded, wherever its library is there."""
    pytest.importorskip({"cupy": "numpy", "units": "numpy"}.get(name, name))
    assert importlib.import_module(f"cosparse.interop.{name}")

"""Labelled arrays in, labelled arrays out."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse

xarray = pytest.importorskip("xarray", reason="needs xarray: the extra xarray")


@pytest.fixture
def stack(photograph):
    """Two pages of three bands, with coordinates of every kind."""
    grey = photograph[:40, :48].astype(np.float32) / 255
    pages = np.stack([np.stack([grey, grey[::-1], 1 - grey])] * 2)
    return xarray.DataArray(
        pages, dims=("time", "band", "y", "x"), name="reflectance", attrs={"units": "1"},
        coords={
            "time": np.array(["2026-01-01", "2026-02-01"], "datetime64[ns]"), "band": ["red", "green", "blue"],
            "y": ("y", 600000.0 - 10 * np.arange(40), {"units": "metre"}), "x": 5000.0 + 20 * np.arange(48),
            "longitude": (("y", "x"), np.add.outer(np.zeros(40), np.arange(48.0))), "crs": 32633,
            "row": ("y", [f"r{n}" for n in range(40)]),
        },
    )  # fmt: skip


def test_what_is_said_of_an_array_stays_with_it(stack):
    result = cosparse.denoise(stack, 0.05, channel_axis="band", quality="fast")
    expected = cosparse.denoise(stack.values, 0.05, channel_axis=1, quality="fast")
    xarray.testing.assert_identical(result, stack.copy(data=expected))
    assert result.dtype == np.float32 and stack.attrs == result.attrs
    by_keyword = cosparse.denoise(image=stack, sigma=0.05, channel_axis=1, quality="fast")
    xarray.testing.assert_identical(by_keyword, result)


def test_a_dimension_is_no_channel_unless_that_is_said(stack):
    pages = cosparse.denoise(stack, 0.05, quality="fast")
    np.testing.assert_array_equal(pages, cosparse.denoise(stack.values, 0.05, quality="fast"))
    last = stack.isel(time=0).transpose("y", "x", "band")
    with pytest.raises(ValueError, match="looks like a colour image; pass channel_axis"):
        cosparse.denoise(last, 0.05)


def test_masks_and_maps_are_laid_out_by_their_names(stack):
    page = stack.isel(time=0, band=0)
    mask = xarray.DataArray(np.random.default_rng(0).random((48, 40)) < 0.3, dims=("x", "y"))
    result = cosparse.inpaint(page, mask, quality="fast")
    np.testing.assert_array_equal(result, cosparse.inpaint(page.values, mask.values.T, quality="fast"))
    holes = stack.where(~mask.transpose("y", "x"))
    filled = cosparse.inpaint(holes, holes.isnull().any("band"), channel_axis="band", quality="fast")
    assert filled.dims == stack.dims and not filled.isnull().any()
    levels = xarray.full_like(page, 0.05) * np.linspace(1, 2, 48)
    mapped = cosparse.denoise(page, levels.T, quality="fast")
    np.testing.assert_array_equal(mapped, cosparse.denoise(page.values, levels.values, quality="fast"))
    total = cosparse.denoise(page, page.std() / 5, quality="fast")
    np.testing.assert_array_equal(total, cosparse.denoise(page.values, float(page.std() / 5), quality="fast"))


def test_larger_pixels_have_coordinates_of_their_own(stack):
    result = cosparse.upscale(stack, 2, channel_axis="band", quality="fast")
    expected = cosparse.upscale(stack.values, 2, channel_axis=1, quality="fast")
    np.testing.assert_array_equal(result, expected)
    # Blocks of the finer pixels lie where the coarse ones lay.
    coarse = result.coarsen(y=2, x=2).mean()
    for name in ("y", "x", "longitude"):
        np.testing.assert_allclose(coarse[name], stack[name], atol=1e-9)
    np.testing.assert_allclose(np.diff(result.x), 10)
    np.testing.assert_allclose(np.diff(result.y), -5)
    assert result.y.attrs == {"units": "metre"} and result.attrs == stack.attrs and result.name == "reflectance"
    assert result.indexes["band"].tolist() == ["red", "green", "blue"] and int(result.crs) == 32633
    assert "row" not in result.coords  # names have no halves
    thin = cosparse.upscale(stack.isel(time=0, band=0, y=slice(0, 1)), 2)
    assert thin.shape == (2, 96) and "y" not in thin.coords  # nothing says how high the pixel was


def test_uneven_coordinates():
    from cosparse.interop.xarray import finer

    np.testing.assert_allclose(finer(np.array([0.0, 1.0, 4.0]), 0, 3), [-1 / 3, 0, 1 / 3, 2 / 3, 1, 2, 3, 4, 5])


def test_every_task_takes_them(stack):
    page = stack.isel(time=0, band=0)
    for call in (
        lambda image: cosparse.deblur(image, "gaussian:1", sigma=0.01, quality="fast"),
        lambda image: cosparse.deblock(image, cosparse.Jpeg.standard(30), quality="fast"),
    ):
        xarray.testing.assert_identical(call(page), page.copy(data=call(page.values)))
    found = cosparse.reconstruct(page, np.eye(page.size), page.shape, sigma=0.05, quality="fast")
    expected = cosparse.reconstruct(page.values, np.eye(page.size), page.shape, sigma=0.05, quality="fast")
    np.testing.assert_array_equal(found.image, expected.image)
    mask = page > 0.8
    np.testing.assert_array_equal(cosparse.inpaint(page.values, mask), cosparse.inpaint(page.values, mask.values))


def test_a_dataset_is_mapped_variable_by_variable(stack):
    dataset = stack.isel(time=0).to_dataset("band")
    with pytest.raises(TypeError, match=r"image: is a Dataset; pass .*dataset\['red'\].*dataset.map\(cosparse.denoise"):
        cosparse.denoise(dataset, 0.05)
    mapped = dataset.map(cosparse.denoise, sigma=0.05, quality="fast")
    xarray.testing.assert_identical(mapped["red"].drop_attrs(), cosparse.denoise(
        dataset["red"], 0.05, quality="fast").drop_attrs())  # fmt: skip


def test_lazy_ones_stay_lazy(stack):
    da = pytest.importorskip("dask.array", reason="needs dask: the extra cluster")
    lazy = stack.chunk({"time": 1, "y": 20})
    result = cosparse.denoise(lazy, channel_axis="band", quality="fast")
    assert isinstance(result.data, da.Array) and set(result.coords) == set(stack.coords)
    expected = cosparse.denoise(stack, channel_axis="band", quality="fast")
    np.testing.assert_allclose(result.compute(scheduler="sync"), expected, atol=1e-6)
    assert cosparse.upscale(lazy, 2, channel_axis="band").sizes == {"time": 2, "band": 3, "y": 80, "x": 96}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"channel_axis": "c"}, "channel_axis: 'c' is no dimension of the image, which has 'time', 'band', 'y', 'x'"),
        ({"sigma": xarray.DataArray(np.ones(3), dims="z")}, "sigma: has dimensions that the image has not: 'z'"),
        (
            {"sigma": xarray.DataArray(np.ones(48), dims="x")},
            "sigma: has the dimensions 'x'; expected 'y', 'x', or all",
        ),
        (
            {"sigma": xarray.DataArray(np.ones((40, 48)), dims=("y", "x"), coords={"x": np.arange(48)})},
            "sigma: its coordinates are not the image's",
        ),
        ({"sigma": xarray.DataArray(np.ones((40, 9)), dims=("y", "x"))}, "sigma: its coordinates are not the image's"),
    ],
)
def test_what_does_not_fit_is_said_by_name(stack, options, words):
    with pytest.raises(ValueError, match=words):
        cosparse.denoise(stack, **options)
    with pytest.raises(TypeError, match="image: is xarray's Variable; pass a DataArray"):
        cosparse.denoise(stack.variable)

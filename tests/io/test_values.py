"""Between what files hold and what the kernels work on, and which files are images."""

from __future__ import annotations

import numpy as np
import pytest
from pixels import noise, same

from cosparse.io.find import find_images
from cosparse.io.picture import read_grey, read_greys, write_image
from cosparse.io.values import default_range, from_working, to_working


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, ">u2"])
def test_every_integer_comes_back(dtype):
    values = np.arange(int(default_range(dtype)) + 1).astype(dtype)
    same(from_working(to_working(values), dtype=dtype), values)


def test_working_values():
    same(to_working([[False, True]]), np.array([[0, 255]], np.float32))
    same(to_working(np.array([0, 0.5, np.nan])), np.array([0, 127.5, np.nan], np.float32))
    same(
        to_working(np.array([-1000, 3095], np.int16), data_range=4095)[1:],
        np.float32([3095 / 4095 * 255]),
    )
    mine = np.full((3, 4), 7, np.float32, order="F")
    work = to_working(mine, data_range=255)
    assert not np.shares_memory(work, mine)
    assert work.flags.c_contiguous
    same(from_working([-1.0, 0.5, 1.5, 1e9], dtype=np.uint8), np.array([0, 0, 2, 255], np.uint8))
    same(from_working([-51.0, 510.0], dtype=np.float64), np.array([-0.2, 2.0]))
    same(from_working([100, 200], dtype=bool), np.array([False, True]))
    same(
        from_working([-255.0, 255.0], dtype=np.int16, data_range=4095),
        np.array([-4095, 4095], np.int16),
    )
    assert from_working([1e9], dtype=np.uint32)[0] == 2**32 - 1
    with pytest.raises(ValueError, match="values: hold NaN"):
        from_working([np.nan], dtype=np.uint8)


@pytest.mark.parametrize(("image", "options", "says"), [
    (np.zeros((2, 2), int), {}, "photo: int64 values have no agreed range; pass data_range"),
    (np.zeros((2, 2), complex), {}, "photo: holds complex128"),
    (np.zeros((0, 2)), {}, "photo: is empty"),
    (np.array([np.inf]), {}, "photo: has infinite"),
    (np.array([1e300]), {}, "photo: has infinite"),
    (np.ma.masked_equal([1.0, 2.0], 1.0), {}, "photo: has masked"),
    (np.zeros(2), {"data_range": 0}, "data_range: must be positive"),
    (np.zeros(2), {"data_range": np.nan}, "data_range: must be positive"),
])  # fmt: skip
def test_values_that_are_refused(image, options, says):
    with pytest.raises(ValueError, match=f"^{says}"):
        to_working(image, name="photo", **options)


def test_read_grey(tmp_path):
    write_image(tmp_path / "a.png", np.full((3, 4, 3), [65535, 0, 0], np.uint16))
    np.testing.assert_allclose(read_grey(tmp_path / "a.png"), np.full((3, 4), 255 * 0.2125), rtol=1e-5)
    stack = noise((5, 20, 30), np.uint16)
    write_image(tmp_path / "a.tif", stack)
    pages = read_greys(tmp_path / "a.tif")
    np.testing.assert_allclose(pages, stack / 257, rtol=1e-5)
    assert len(pages) == 5 and pages[0].dtype == np.float32
    with pytest.raises(ValueError, match=r"a\.tif: holds 5 pages; give a single picture"):
        read_grey(tmp_path / "a.tif")


def test_find_images(tmp_path):
    for name in [
        "b.PNG",
        "a.tif",
        "deep/c.jpg",
        ".hid.png",
        ".dir/d.png",
        "notes.txt",
        "none/x.txt",
    ]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def found(*paths):
        return [p.relative_to(tmp_path).as_posix() for p in find_images([tmp_path / p for p in paths])]

    assert found(".") == ["a.tif", "b.PNG", "deep/c.jpg"]
    assert found("*") == ["a.tif", "b.PNG"]
    assert found("deep/c.jpg", "notes.txt", "**/*.jpg") == ["deep/c.jpg", "notes.txt"]
    assert found(".dir") == [".dir/d.png"]
    assert find_images(str(tmp_path / "a.tif")) == [tmp_path / "a.tif"]
    for bad, error in [
        ("none", ValueError),
        ("*.xyz", ValueError),
        ("gone.png", FileNotFoundError),
    ]:
        with pytest.raises(error, match=bad.replace("*", r"\*")):
            found(bad)

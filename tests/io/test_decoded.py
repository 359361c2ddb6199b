"""Between decoders and pictures: the right way up, alpha apart and together, reasons in one line."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
from picture_files import encoded
from PIL import Image, ImageOps
from pixels import noise, same

from cosparse.io.decoded import RefusedError, joined, naming, storable, straight
from cosparse.io.picture import Picture, read_image, write_image


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["png", "jpeg", "tiff"])
def test_orientation_is_applied_and_reset(orientation, format):
    grey = np.kron(np.arange(6).reshape(2, 3) * 50, np.ones((8, 8))).astype(np.uint8)
    exif = Image.Exif()
    exif[274], exif[271] = orientation, "Maker"
    with Image.open(io.BytesIO(encoded(grey, format, exif=exif))) as image:
        want = np.array(ImageOps.exif_transpose(image))
    picture = read_image(encoded(grey, format, exif=exif))
    np.testing.assert_allclose(picture.pixels, want)
    kept = Image.Exif()
    kept.load(picture.metadata["exif"])
    assert (kept[274], kept[271]) == (1, "Maker")


def test_alpha_follows_dtype_and_must_fit(tmp_path):
    like = Picture(noise((4, 4)), np.full((4, 4), 51, np.uint8))
    write_image(tmp_path / "a.png", noise((4, 4, 3), np.uint16), like=like)
    same(read_image(tmp_path / "a.png").alpha, np.full((4, 4), 13107, np.uint16))
    with pytest.raises(ValueError, match=r"a\.png: .*like\.alpha is \(4, 4\)"):
        write_image(tmp_path / "a.png", noise((8, 8)), like=like)
    wider = dataclasses.replace(like, alpha=np.full((8, 8), 7, np.uint8))
    write_image(tmp_path / "a.png", noise((8, 8)), like=wider)
    assert read_image(tmp_path / "a.png").alpha.shape == (8, 8)


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
def test_what_is_joined_is_split_again(colour, alpha, leading):
    pixels = noise((*leading, 6, 5) + (3,) * colour)
    see_through = noise((*leading, 6, 5), seed=1) if alpha else None
    samples = joined(pixels, see_through, grey=None if colour else pixels.ndim)
    assert (samples.leading, samples.colour, samples.has_alpha) == (len(leading), colour, alpha)
    back, apart = samples.split()
    same(back, pixels)
    assert apart is None if see_through is None else (apart == see_through).all()


def test_colours_that_were_multiplied_with_their_alpha():
    """Divided again, never beyond white; where nothing shows, nothing is known."""
    values = np.array([[[100, 50, 0, 128], [200, 7, 9, 100], [3, 3, 3, 0]]], np.uint8)
    same(straight(values), np.array([[[199, 100, 0, 128], [255, 18, 23, 100], [0, 0, 0, 0]]], np.uint8))
    same(straight(np.array([[[0.2, 0.5]]], np.float32)), np.array([[[0.4, 0.5]]], np.float32))


def test_values_that_can_be_stored():
    same(storable(np.array([[0, 255]], ">u2")), np.array([[0, 255]], np.uint16))
    same(storable(np.array([[1.5]])), np.array([[1.5]], np.float32))
    with pytest.raises(RefusedError, match="int32 values from -1 to 70000, which do not fit uint16; convert"):
        storable(np.array([[-1, 70000]], np.int32))


def test_reasons_are_one_line_that_names_the_file():
    with pytest.raises(ValueError, match="^a.png: holds no pixels$"), naming("a.png", "failed ({})"):
        raise RefusedError("holds no pixels")
    with pytest.raises(ValueError, match=r"^a\.png: failed \(two lines \{\}\)$"), naming("a.png", "failed ({})"):
        raise OSError("two\n lines {}")
    with pytest.raises(MemoryError), naming("a.png", "failed ({})"):
        raise MemoryError

"""What goes with the enlarged pixels of a picture."""

from __future__ import annotations

import numpy as np
from pixels import noise

from cosparse.io.picture import Picture, read_image, write_image
from cosparse.repair import enlarged_like


def test_the_alpha_of_every_page_is_enlarged(tmp_path):
    alpha = np.zeros((2, 3, 4, 5), np.uint8)
    alpha[1] = 255
    picture = Picture(noise(alpha.shape), alpha, stack=True, metadata={"dpi": (300.0, 150.0)}, axes="TZYX")
    like = enlarged_like(picture, 3)
    assert like.alpha.shape == (2, 3, 12, 15) and like.alpha.dtype == np.uint8
    assert not like.alpha[0].any() and (like.alpha[1] == 255).all()
    write_image(tmp_path / "a.tif", noise((2, 3, 12, 15)), like=like)
    back = read_image(tmp_path / "a.tif")
    assert back.metadata["dpi"] == (900, 450) and back.axes == "TZYX"
    np.testing.assert_array_equal(back.alpha, like.alpha)


def test_a_resolution_beyond_what_files_hold_is_dropped():
    assert enlarged_like(Picture(noise((4, 4)), metadata={"dpi": (60_000.0, 60_000.0)}), 4).metadata == {}

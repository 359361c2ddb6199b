"""The public door to image files."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import cosparse
from cosparse import images


def test_its_names_are_those_of_the_rooms_behind_it():
    """All that is imported is public, and nothing is defined here."""
    found = {name for name, value in vars(images).items() if not name.startswith("_") and callable(value)}
    assert found == set(images.__all__) and images.__all__ == sorted(images.__all__)
    assert all(getattr(images, name).__module__.startswith("cosparse.io.") for name in found)


def test_a_picture_is_read_written_and_found_by_these_names_alone(tmp_path):
    pixels = np.arange(48, dtype=np.uint16).reshape(6, 8) * 1000
    images.write_image(tmp_path / "a.png", pixels)
    (path,) = images.find_images(tmp_path)
    picture = images.read_image(path)
    np.testing.assert_array_equal(picture.pixels, pixels)
    work = images.to_working(picture.pixels)
    np.testing.assert_array_equal(images.from_working(work, dtype=np.uint16), pixels)
    assert images.losses(picture, "jpeg") == () == tuple(images.unread_files(tmp_path))


def test_it_opens_when_it_is_asked_for():
    """And brings neither Pillow nor tifffile before there is a file to read."""
    code = "import sys, cosparse; cosparse.images.read_image; print(*{'PIL', 'tifffile'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
    assert cosparse.images is images

"""Image files, read and written: the public names of :mod:`cosparse.io`."""

from cosparse.io.find import find_images, unread_files
from cosparse.io.picture import Picture, losses, read_grey, read_greys, read_image, write_image
from cosparse.io.values import default_range, float_range, from_working, to_working

__all__ = [
    "Picture", "default_range", "find_images", "float_range", "from_working", "losses", "read_grey", "read_greys",
    "read_image", "to_working", "unread_files", "write_image",
]  # fmt: skip

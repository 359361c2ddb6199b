"""TIFF, one page or a stack, by tifffile; by Pillow where tifffile lacks the decompressor."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from cosparse.codecs import exif, pillow
from cosparse.codecs.samples import (
    Array,
    RefusedError,
    Samples,
    check_size,
    clean_dpi,
    one_line,
)

PREMULTIPLIED, STRAIGHT = 1, 2  # the kinds of alpha


def decode(fp: BinaryIO, max_pixels: int) -> Samples:
    """Decode the full-size pages, which must all be alike."""
    import tifffile

    with tifffile.TiffFile(fp) as tif:
        pages = _full_pages(tif, fp, max_pixels)
        first = pages[0]
        decoded = [_page(fp, page, tifffile) for page in pages]
        metadata: dict[str, Any] = {"icc_profile": first.iccprofile}
        if 282 in first.tags and first.resolutionunit in (2, 3):  # per inch or per cm
            metadata["dpi"] = clean_dpi(first.get_resolution(2))
        metadata["exif"] = exif.from_tiff(fp, first.offset, _numbers(tif), _not_words(first))
        # Pillow turns what it decodes, tifffile does not.
        turned = not _by_tifffile(first, tifffile)
        orientation = 1 if turned else int(first.tags.valueof(exif.ORIENTATION, 1))
    stack = len(decoded) > 1
    return Samples(np.stack(decoded) if stack else decoded[0], stack, orientation, metadata)


def encode(values: Array, colour: bool, has_alpha: bool, metadata: Mapping[str, Any]) -> memoryview:
    """Encode samples of any kind; pages along the first axis."""
    import tifffile

    options: dict[str, Any] = {"photometric": "rgb" if colour else "minisblack"}
    options["iccprofile"] = metadata.get("icc_profile")
    if colour or has_alpha:
        options["planarconfig"] = "contig"
    if has_alpha:
        options["extrasamples"] = [STRAIGHT]
    if "dpi" in metadata:
        options.update(resolution=metadata["dpi"], resolutionunit=2)
    block = metadata.get("exif", b"")
    options["byteorder"] = exif.byte_order(block) or "="
    out = io.BytesIO()
    tifffile.imwrite(out, values, metadata=None, software=False, **options)
    exif.into_tiff(out, block)
    return out.getbuffer()


def _numbers(tif: Any) -> exif.Layout:
    return exif.Layout(tif.byteorder, tif.is_bigtiff)


def _not_words(page: Any) -> set[int]:
    """Tags by which microscopes and scanners tell how their file is laid out: ours will not be."""
    if not page.flags:
        return set()
    return {exif.DESCRIPTION, exif.SOFTWARE} | ({exif.GPS} if page.is_sis else set())


def _full_pages(tif: Any, fp: BinaryIO, max_pixels: int) -> list[Any]:
    """The pages that are neither thumbnails nor masks; refuses files that are cut short."""
    size = fp.seek(0, os.SEEK_END)
    every: list[Any] = list(tif.pages)
    # tifffile gives the pages it could reach; a chain that does not end in 0 was cut.
    fp.seek(tif.pages.next_page_offset or 0)
    if any(fp.read(tif.tiff.offsetsize)):
        raise RefusedError("is cut short, pages are missing; save or copy it again")
    pages = [page for page in every if not page.is_reduced and not page.is_mask]
    if not pages:
        raise RefusedError("holds no full-size image; convert it to a plain TIFF or PNG")
    first = pages[0]
    wide, high = int(first.imagewidth), int(first.imagelength)  # damage can make them tuples
    check_size(wide, high, len(pages), max_pixels)
    if any(_layout(page) != _layout(first) for page in pages):
        raise RefusedError("has pages of different kinds; save them as separate files")
    for page in pages:
        spans = zip(page.dataoffsets, page.databytecounts, strict=True)
        if any(start + length > size for start, length in spans):
            raise RefusedError("is cut short, pixels are missing; save or copy it again")
    if tif.series[0].size > first.size * len(pages):
        raise RefusedError("keeps a stack under one header; save it as a plain TIFF stack")
    return pages


def _layout(page: Any) -> tuple[Any, ...]:
    return page.shape, page.axes, page.dtype, page.bitspersample, page.photometric


def _check(page: Any) -> None:
    """Refuse what has no faithful reading as grey or RGB, with or without one alpha."""
    if page.photometric == 5:
        raise RefusedError("is a CMYK image; convert it to RGB first")
    if page.photometric not in (0, 1, 2, 3, 6):
        raise RefusedError(f"has {page.photometric.name} colours; convert it to RGB first")
    if page.axes not in ("YX", "YXS", "SYX") or page.dtype is None:
        raise RefusedError(f"has an unsupported layout {page.axes}; convert it to a plain TIFF")
    if page.bitspersample not in (1, 2, 4, 8, 16, 32, 64):
        raise RefusedError(f"has {page.bitspersample} bits a sample; convert it to 8 or 16 bits")
    if page.samplesperpixel not in ((3, 4) if page.photometric in (2, 6) else (1, 2)):
        raise RefusedError(f"has {page.samplesperpixel} channels; keep grey or RGB, and one alpha")


def _by_tifffile(page: Any, tifffile: Any) -> bool:
    """Whether tifffile decodes this without its optional codecs; else Pillow's libtiff does."""
    return (
        page.compression in tifffile.TIFF.DECOMPRESSORS
        and page.predictor in tifffile.TIFF.UNPREDICTORS
        and page.bitspersample not in (2, 4)
        and page.photometric != 6
    )


def _page(fp: BinaryIO, page: Any, tifffile: Any) -> Array:
    """One page as (h, w) or (h, w, channels), with straight alpha."""
    _check(page)
    straight = list(map(int, page.extrasamples)) != [PREMULTIPLIED]
    if _by_tifffile(page, tifffile):
        values = _expanded(page.asarray(), page)
    else:
        values = _by_pillow(fp, page)
        # Pillow divides by the alpha itself, at 8 bits.
        straight = straight or (values.shape[2:] == (4,) and values.dtype == np.uint8)
    return values if straight else _straight(values)


def _by_pillow(fp: BinaryIO, page: Any) -> Array:
    from PIL import TiffImagePlugin

    try:
        if page.bitspersample == 16 and page.samplesperpixel > 1:
            if page.samplesperpixel == 2 or page.planarconfig != 1:
                raise ValueError("16-bit planes")
            little = sys.byteorder == "little"  # libtiff hands out the machine's own order
            plugin = TiffImagePlugin.TiffImageFile
            high, low = ("L", "B") if little else ("B", "L")
            return pillow.two_bytes(
                pillow.one_byte(fp, plugin, page.index, high),
                pillow.one_byte(fp, plugin, page.index, low),
            )
        fp.seek(0)
        image = TiffImagePlugin.TiffImageFile(fp)
        image.seek(page.index)
        values = pillow.array_of(image)
        # Pillow turns white-is-zero round at 8 bits and not at 16.
        inverted = page.photometric == 0 and values.dtype.itemsize == 2
        return np.iinfo(values.dtype).max - values if inverted else values
    except RefusedError:
        raise
    except Exception as error:
        raise RefusedError(
            f"cannot be decoded ({page.compression.name} compression, {one_line(error)}); it is "
            "damaged, or save it without compression"
        ) from error


def _expanded(values: Array, page: Any) -> Array:
    """Planes moved last, palettes, 1 bit and white-is-zero made plain."""
    if page.axes == "SYX":
        values = np.moveaxis(values, 0, -1)
    if page.photometric == 3:
        table = np.asarray(page.colormap)  # (3, colours), 16 bit; mostly 8-bit values spread out
        coarse = table >> 8
        if (table == coarse * 257).all() or (table == coarse << 8).all():
            table = coarse.astype(np.uint8)
        return np.moveaxis(table[:, values], 0, -1)
    if values.dtype == bool:
        values = values.astype(np.uint8) * np.uint8(255)
    if page.photometric == 0:
        if values.dtype.kind != "u":
            raise RefusedError("is white-is-zero in a signed type; convert it to black-is-zero")
        values = np.iinfo(values.dtype).max - values
    return values


def _straight(values: Array) -> Array:
    """Colours divided by the alpha they were multiplied with, as Mac software stores them."""
    whole = values.dtype.kind == "u"
    top = np.iinfo(values.dtype).max if whole else 1.0
    part = values[..., -1:] / top
    colours = values[..., :-1]
    colours = np.divide(colours, part, out=np.zeros(colours.shape), where=part > 0)
    if whole:
        colours = np.rint(np.minimum(colours, top))
    return np.concatenate([colours.astype(values.dtype), values[..., -1:]], axis=-1)

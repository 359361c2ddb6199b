"""TIFF, one page or a stack, by tifffile; by Pillow where tifffile lacks the decompressor."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from operator import attrgetter
from typing import Any, BinaryIO

import numpy as np

from cosparse.io import exif, ome, pillow, words
from cosparse.io.decoded import RefusedError, Samples, check_size, from_bits, left_behind, one_line, straight
from cosparse.io.inflating import inflates_beyond
from cosparse.io.pixel_size import clean_dpi
from cosparse.io.values import Array

PREMULTIPLIED, STRAIGHT = 1, 2  # the kinds of alpha
# Told anew by tifffile, or words of its own.
COUNTED = {
    "images", "channels", "slices", "frames", "axes", "shape", "order", "truncated", "rgb", "colormapped", "colormaped",
}  # fmt: skip
WIDE = {"Info", "Labels", "Properties"}  # of ImageJ's words, those that any letter may stand in
OF_IMAGEJ = {"uint8", "uint16", "float32"}
LARGE = 3 << 30  # bytes, beyond which a file should be a BigTIFF, and cannot be ImageJ's
SLACK = 1 << 20  # bytes that a strip may have beside its pixels
RATIO = {8: 1032, 32946: 1032, 50013: 1032, 32773: 64}  # at most so many bytes come of one
LOST = {33723: "IPTC captions", 37724: "Photoshop's layers", 34735: "GeoTIFF coordinates"}


def decode(fp: BinaryIO, max_pixels: int) -> Samples:
    """Decode the full-size pages of the first series, which must all be alike."""
    import tifffile

    # Without OME: see the module ome.
    with tifffile.TiffFile(fp, is_ome=False, _multifile=False) as tif:
        stack = _stack(tif, fp, max_pixels)
        first = stack.pages[0]
        for page in stack.pages:
            _check(page)
            _check_pieces(page, fp, max_pixels)
        if stack.under_one_header is None:
            decoded = [_page(fp, page) for page in stack.pages]
        elif _by_tifffile(first):
            decoded = [_expanded(one, first) for one in stack.under_one_header.asarray().reshape(-1, *first.shape)]
        else:
            raise RefusedError("keeps a compressed stack under one header; save it as a plain TIFF stack")
        if stack.order is not None:
            decoded = [decoded[number] for number in stack.order]
        metadata = {**stack.metadata, **_told_by_page(tif, fp, first)}
        # Pillow turns what it decodes, tifffile does not.
        orientation = int(first.tags.valueof(exif.ORIENTATION, 1)) if _by_tifffile(first) else 1
        notes = (*stack.notes, *_left_behind(first))
    values = np.stack(decoded).reshape(stack.shape + decoded[0].shape) if stack.shape else decoded[0]
    return Samples(values, len(stack.shape), orientation, metadata, stack.axes, notes)


def outline(tif: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Metadata and notes as those of :class:`Samples`, of a file whose first series tifffile reads region by region."""
    series = tif.series[0]
    first = series.levels[0].pages[0]
    metadata, notes = ({}, ()) if series.kind in ("generic", "uniform") else _told_by(tif, series.kind)
    if len(tif.series) > 1:
        notes = (*notes, left_behind(len(tif.series) - 1, "series", "series"))
    metadata |= _told_by_page(tif, tif.filehandle, first)
    return {key: value for key, value in metadata.items() if value}, (*notes, *_left_behind(first))


def encode(samples: Samples) -> memoryview:
    """Encode samples of any kind; pages along the leading axes."""
    import tifffile

    options: dict[str, Any] = {"photometric": "rgb" if samples.colour else "minisblack"}
    if samples.channels > 1:
        options["planarconfig"] = "contig"
    if samples.has_alpha:
        options["extrasamples"] = [STRAIGHT]
    out = io.BytesIO()
    tifffile.imwrite(out, samples.values, software=False, **options, **metadata_options(samples))
    exif.into_tiff(out, samples.metadata.get("exif", b""))
    return out.getbuffer()


def metadata_options(samples: Samples) -> dict[str, Any]:
    """What tifffile's writer is told besides the pixels, of which shape and type are enough; EXIF is added later."""
    metadata = samples.metadata
    options: dict[str, Any] = {"iccprofile": metadata.get("icc_profile")}
    if told := resolution_of(metadata):
        options.update(resolution=told[:2], resolutionunit=told[2])
    if xmp := metadata.get("xmp"):
        options["extratags"] = [(words.XMP_TAG, 1, len(xmp), xmp, True)]
    options["byteorder"] = exif.byte_order(metadata.get("exif", b"")) or "="
    return {**options, **_described(samples)}


def resolution_of(metadata: Mapping[str, Any]) -> tuple[float, float, int] | None:
    """Pixels a unit along x and y, and TIFF's number of that unit."""
    return metadata.get("resolution") or ((*metadata["dpi"], 2) if "dpi" in metadata else None)


def _described(samples: Samples) -> dict[str, Any]:
    """How the axes are told: as OME-TIFF or ImageJ if the file was that, else as tifffile does, or not at all."""
    values, metadata, axes, letters = samples.values, samples.metadata, samples.axes or "", samples.letters
    if "ome" in metadata and (xml := ome.fitted(metadata["ome"], values, samples.channels)):
        return {"description": xml, "metadata": None}
    eight_bit = not samples.has_alpha and (not samples.colour or values.dtype == np.uint8)  # what ImageJ's colours are
    in_order = axes == "".join(axis for axis in "TZC" if axis in axes)
    fits = eight_bit and in_order and str(values.dtype) in OF_IMAGEJ and values.nbytes <= LARGE
    if "imagej" in metadata and letters and fits:
        return {"imagej": True, "metadata": {**_escaped(metadata["imagej"]), "axes": letters}}
    if samples.leading > 1 or axes or "shaped" in metadata:
        return {"metadata": {**metadata.get("shaped", {}), **({"axes": letters} if letters else {})}}
    return {"metadata": None}


def _escaped(told: Mapping[str, Any]) -> dict[str, Any]:
    """ImageJ's words with those of its description in ASCII, as it writes micrometres itself: "\\u00B5m"."""

    def plain(text: str) -> str:
        return "".join(letter if letter.isascii() else f"\\u{ord(letter) & 0xFFFF:04X}" for letter in text)

    narrow = {key for key, value in told.items() if isinstance(value, str)} - WIDE
    return {key: plain(value) if key in narrow else value for key, value in told.items() if key.isascii()}


def _not_words(page: Any) -> set[int]:
    """Tags by which microscopes and scanners tell how their file is laid out: ours will not be, or is told anew."""
    return {exif.DESCRIPTION, exif.SOFTWARE, *([exif.GPS] if page.is_sis else [])} if page.flags else set()


def _told_by_page(tif: Any, fp: BinaryIO, page: Any) -> dict[str, Any]:
    """Colour profile, resolution, XMP and EXIF."""
    layout = exif.ByteLayout(tif.byteorder, tif.is_bigtiff)
    return {
        "icc_profile": page.iccprofile, **_resolution(page),
        "xmp": words.upright_xmp(page.tags.valueof(words.XMP_TAG)),
        "exif": exif.from_tiff(fp, page.offset, layout, _not_words(page)),
    }  # fmt: skip


def _resolution(page: Any) -> dict[str, Any]:
    """The resolution as dpi where its unit is known, and as it stands where that is not an inch."""
    if 282 not in page.tags or 283 not in page.tags:
        return {}
    unit = int(page.resolutionunit) if page.resolutionunit in range(1, 6) else 1  # else damaged
    found: dict[str, Any] = {}
    if unit in (2, 3):
        found["dpi"] = clean_dpi(page.get_resolution(2))
    xy = clean_dpi(page.resolution, 2**32)
    if unit != 2 and xy and xy != (1, 1):  # 1 is what is written for nothing
        found["resolution"] = (*xy, unit)
    return found


def _left_behind(page: Any) -> Iterator[str]:
    """What of a page does not come along."""
    if page.subifds:
        yield "smaller copies in the file are not kept"
    for tag, what in LOST.items():
        if tag in page.tags:
            yield f"{what} are not kept"


# --- which pages, in which order ------------------------------------------------------------


@dataclass(frozen=True)
class Stack:
    """The pages to read, and what the file says of the axes they lie along."""

    pages: list[Any]
    shape: tuple[int, ...] = ()  # of the leading axes
    axes: str | None = ""  # a letter each; None if the file does not say
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    order: list[int] | None = None  # of the pages along those axes, if not as they come
    under_one_header: Any = None  # tifffile's series, if all pages follow the first one's header


def _stack(tif: Any, fp: BinaryIO, max_pixels: int) -> Stack:
    """The pages of the first series, neither thumbnails nor masks; refuses files that are cut short."""
    end = fp.seek(0, os.SEEK_END)
    every: list[Any] = list(tif.pages)
    # tifffile gives the pages it could reach; a chain that does not end in 0 was cut.
    fp.seek(tif.pages.next_page_offset or 0)
    if any(fp.read(tif.tiff.offsetsize)):
        raise RefusedError("is cut short, pages are missing; save or copy it again")
    pages = [page for page in every if not page.is_reduced and not page.is_mask]
    if not pages:
        raise RefusedError("holds no full-size image; convert it to a plain TIFF or PNG")
    first = pages[0]
    size = int(first.imagewidth), int(first.imagelength)  # damage can make them tuples
    check_size(size, max_pixels)
    stack = _by_ome(first, pages, every) if first.is_ome else _by_series(tif, pages)
    if len(pages) < len(every):
        stack = replace(stack, notes=(*stack.notes, "thumbnails or masks in the file are not kept"))
    check_size(size, max_pixels, prod(stack.shape))
    kind = attrgetter("shape", "axes", "dtype", "bitspersample", "photometric")
    if any(kind(page) != kind(first) for page in stack.pages):
        raise RefusedError("has pages of different kinds; save them as separate files")
    for page in stack.pages:
        spans = zip(page.dataoffsets, page.databytecounts, strict=True)
        if any(start + length > end for start, length in spans):
            raise RefusedError("is cut short, pixels are missing; save or copy it again")
    whole = stack.under_one_header
    if whole is not None and whole.dataoffset + whole.nbytes > end:
        raise RefusedError("is cut short, pages are missing; save or copy it again")
    return stack


def _flat(pages: list[Any], *notes: str) -> Stack:
    """One page, or a stack of which the file does not say more."""
    many = len(pages) > 1
    return Stack(pages, (len(pages),) * many, None if many else "", notes=notes)


def _by_ome(first: Any, pages: list[Any], every: list[Any]) -> Stack:
    """As OME-XML has it, which counts thumbnails too."""
    found = ome.planes(first.description, len(every))
    if found is None:
        return _flat(pages, "its OME-XML does not fit the pages that are here, and is not kept")
    chosen = [every[number] for number in found.order]
    notes = (left_behind(found.others, "series", "series"),) if found.others else ()
    return Stack(chosen, found.shape, found.axes, {"ome": first.description}, notes)


def _by_series(tif: Any, pages: list[Any]) -> Stack:
    """As tifffile finds it in ImageJ's files, its own, and those of many instruments."""
    first, series = pages[0], tif.series[0]
    ends = len(first.axes)
    fits = series.axes.endswith(first.axes) and series.shape[-ends:] == first.shape
    told = fits and series.kind not in ("generic", "uniform")
    lead = [(a, n) for a, n in zip(series.axes[:-ends], series.shape[:-ends], strict=True) if n > 1]
    axes, shape = "".join(axis for axis, _ in lead), tuple(number for _, number in lead)
    count = prod(shape) if told else len(pages)
    if first.is_imagej and (tif.imagej_metadata or {}).get("images", 1) > count * first.samplesperpixel:
        raise RefusedError("is cut short, pages are missing; save or copy it again")
    if not told:
        if series.size > first.size * len(pages):
            raise RefusedError("keeps a stack under one header; save it as a plain TIFF stack")
        return _flat(pages)
    metadata, notes = _told_by(tif, series.kind)
    if series.kind == "shaped" and len(tif.series) > 1:
        notes = (*notes, left_behind(len(tif.series) - 1, "series", "series"))
        pages = pages[:count]
    whole = series if count > len(pages) and series.dataoffset is not None and len(series.pages) == 1 else None
    if whole is None and count != len(pages):
        return _flat(pages, "what the file says of its axes does not fit its pages, and is not kept")
    if whole is not None:
        pages = [first]
    order = None
    if series.kind == "imagej":  # it may have them in any order, and is written in one
        by_axis = sorted(range(len(axes)), key=lambda number: "ITZC".find(axes[number]))
        places = np.arange(count).reshape(shape).transpose(by_axis)
        axes, shape, order = "".join(axes[number] for number in by_axis), places.shape, places.ravel().tolist()
    unknown = any(axis in "IQ" for axis in axes)
    if unknown and "imagej" in metadata:
        metadata, notes = {}, (*notes, "ImageJ's metadata is not kept, it does not fit the pages")
    return Stack(pages, shape, None if unknown else axes, metadata, notes, order, whole)


def _told_by(tif: Any, kind: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What else a file of this kind says, and what of it is left behind."""
    if kind == "ome":
        return {kind: tif.ome_metadata}, ()
    told = {"imagej": lambda: tif.imagej_metadata, "shaped": lambda: tif.shaped_metadata[0]}.get(kind)
    if told is None:
        return {}, (f"the {kind.upper()} metadata is not kept",)
    return {kind: {key: value for key, value in told().items() if key not in COUNTED}}, ()


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


def _check_pieces(page: Any, fp: BinaryIO, max_pixels: int) -> None:
    """Refuse strips or tiles that hold far more than their pixels, before they are decompressed."""
    if page.is_tiled:  # one tile may claim to be larger than the picture
        check_size((int(page.tilewidth), int(page.tilelength)), max_pixels)
    if page.compression == 1 or not _by_tifffile(page):
        return  # libtiff decompresses into what it has room for
    most = SLACK + 2 * prod(page.chunks) * page.dtype.itemsize
    for start, length in zip(page.dataoffsets, page.databytecounts, strict=True):
        if length * RATIO.get(int(page.compression), length) <= most:
            continue
        fp.seek(start)
        if inflates_beyond(int(page.compression), fp.read(length), most):
            raise RefusedError("would become far larger than its pixels when decompressed; save it again")


def _by_tifffile(page: Any) -> bool:
    """Whether tifffile decodes this without its optional codecs; else Pillow's libtiff does."""
    from tifffile import TIFF

    return (
        page.compression in TIFF.DECOMPRESSORS
        and page.predictor in TIFF.UNPREDICTORS
        and page.bitspersample not in (2, 4)
        and page.photometric != 6
    )


def _page(fp: BinaryIO, page: Any) -> Array:
    """One page as (h, w) or (h, w, channels), with straight alpha."""
    if _by_tifffile(page):
        return _expanded(page.asarray(), page)
    values = _by_pillow(fp, page)
    divided = values.shape[2:] == (4,) and values.dtype == np.uint8  # by Pillow itself, at 8 bits
    return values if divided else _straight(values, page)


def _straight(values: Array, page: Any) -> Array:
    return straight(values) if list(map(int, page.extrasamples)) == [PREMULTIPLIED] else values


def _by_pillow(fp: BinaryIO, page: Any) -> Array:
    from PIL import TiffImagePlugin

    try:
        if page.bitspersample == 16 and page.samplesperpixel > 1:
            if page.samplesperpixel == 2 or page.planarconfig != 1:
                raise ValueError("16-bit planes")
            orders = "LB" if sys.byteorder == "little" else "BL"  # libtiff hands out the machine's own
            plugin = TiffImagePlugin.TiffImageFile
            return pillow.two_bytes(*(pillow.one_byte(fp, plugin, page.index, order) for order in orders))
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
    """Planes moved last; palettes, 1 bit, white-is-zero and premultiplied alpha made plain."""
    if page.axes == "SYX":
        values = np.moveaxis(values, 0, -1)
    if page.photometric == 3:
        table = np.asarray(page.colormap)  # (3, colours), 16 bit; mostly 8-bit values spread out
        coarse = table >> 8
        if (table == coarse * 257).all() or (table == coarse << 8).all():
            table = coarse.astype(np.uint8)
        return _straight(np.moveaxis(table[:, values], 0, -1), page)
    values = from_bits(values)
    if page.photometric == 0:
        if values.dtype.kind != "u":
            raise RefusedError("is white-is-zero in a signed type; convert it to black-is-zero")
        values = np.iinfo(values.dtype).max - values
    return _straight(values, page)

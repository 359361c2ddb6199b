"""Pictures that need not fit in memory: zarr arrays and tiled TIFF files, read region by region on the workers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.connection import gathered
from cosparse.cluster.description import Description, of_zarr
from cosparse.cluster.layout import Layout, named
from cosparse.cluster.multiscales import Multiscales, of_group
from cosparse.identity import digest, stored
from cosparse.io import exif, tiff
from cosparse.io.decoded import one_line
from cosparse.io.disk import shown_name
from cosparse.io.values import default_range, range_of_floats

if TYPE_CHECKING:
    import dask.array as da
    import zarr
    from distributed import Client

STRIP = 256 << 20  # bytes: a TIFF whose pieces are larger cannot be read region by region
TIFF = (".tif", ".tiff")
LOOKED_AT = 2**20  # values of a float picture, at most about, from which its range is taken


def is_zarr(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a zarr array or a group of them: by what is in the folder, or by its ending."""
    inside = any(Path(path, name).exists() for name in ("zarr.json", ".zarray", ".zgroup"))
    return inside or Path(path).suffix == ".zarr"


class OnDisk:
    """A picture in a file, as far as Dask needs to know it: shape, type, and regions on demand.

    Only the path travels to the workers, which must see the file under the same name. `shown` is what errors call it.
    Of an OME-Zarr group it is the full resolution.
    """

    def __init__(self, path: str | os.PathLike[str], *, shown: object = None) -> None:
        self.path = os.fspath(path)
        self.shown = shown_name(shown or self.path)
        if not Path(self.path).exists():
            raise FileNotFoundError(f"{self.shown}: no such file or folder; check the path")
        self.colour: bool | None = None
        """Whether the last axis is of channels; None if the file does not say."""
        self.alpha = False
        """Whether the last channel is transparency."""
        with self._naming_damage():
            self.ome = self._group()
            """What an OME-Zarr group says of the picture; None if it is not in such a one."""
            with self._opened() as array:
                self.shape: tuple[int, ...] = tuple(array.shape)
                self.dtype: np.dtype[Any] = np.dtype(array.dtype)
                piece = math.prod(array.chunks) * self.dtype.itemsize
                if is_zarr(self.path):
                    self.description = of_zarr(array, Path(self.path).resolve(), self.ome)
                else:
                    self.description = self._of_tiff()
        self.ndim = len(self.shape)
        about = () if self.ome is None else (str(self.ome),)
        self.identity = digest([], stored(self.path), str(self.shape), self.dtype.str, *about)
        """The file as it is now."""
        if piece > STRIP:
            raise ValueError(
                f"{self.shown}: is stored in pieces of {piece >> 20} MB, too large to read region by region; "
                "save it tiled"
            )

    @contextmanager
    def _naming_damage(self) -> Iterator[None]:
        """What a damaged file makes zarr, a codec or tifffile raise, as a line that names it.

        What the disk says stays as it is: it may pass, and then the same is tried again.
        """
        try:
            yield
        except Exception as problem:
            ours = isinstance(problem, ValueError) and str(problem).startswith(self.shown)
            if ours or isinstance(problem, MemoryError) or getattr(problem, "errno", None):
                raise
            raise ValueError(
                f"{self.shown}: cannot be read ({one_line(problem)}); it is damaged, copy it again"
            ) from problem

    @contextmanager
    def _opened(self) -> Iterator[zarr.Array[Any]]:
        import zarr

        shown = self.shown
        if not is_zarr(self.path):
            import tifffile

            try:
                store: Any = tifffile.imread(self.path, aszarr=True, series=0, level=0)
            except Exception as problem:
                raise ValueError(f"{shown}: cannot be read as a TIFF ({one_line(problem)})") from problem
            with store:
                yield zarr.open_array(store, mode="r")
            return
        found = self._zarr()
        if isinstance(found, zarr.Group):
            inside = ", ".join(sorted(found.array_keys())[:5])
            raise ValueError(f"{shown}: is a zarr group; name an array in it ({inside or 'it holds none'})")
        yield found

    def _zarr(self) -> Any:
        """What zarr has there: an array or a group."""
        import zarr

        try:
            return zarr.open(self.path, mode="r")
        except Exception as problem:
            raise ValueError(f"{self.shown}: cannot be read as zarr ({one_line(problem)})") from problem

    def _group(self) -> Multiscales | None:
        """What an OME-Zarr group says, whose full resolution is then the picture; its channels are pages."""
        import zarr

        found = self._zarr() if is_zarr(self.path) else None
        ome = of_group(found, self.shown) if isinstance(found, zarr.Group) else None
        if ome is not None:
            self.path, self.colour = os.path.join(self.path, ome.path), False
            if not Path(self.path).exists():
                raise ValueError(f"{self.shown}: its full resolution ({ome.path}) is not there; copy the group again")
            with self._opened() as array:
                if array.ndim != len(ome.axes):
                    raise ValueError(f"{self.shown}: names {len(ome.axes)} axes, and its pixels have {array.ndim}")
        return ome

    def __getitem__(self, key: Any) -> NDArray[Any]:
        with self._naming_damage(), self._opened() as array:
            return np.asarray(array[key])

    def __dask_tokenize__(self) -> str:
        return self.identity

    def _of_tiff(self) -> Description:
        """What a TIFF says of itself; refuses what tiles would get wrong."""
        import tifffile

        with tifffile.TiffFile(self.path) as file:
            series = file.series[0]
            page: Any = series.levels[0].pages[0]
            if page.photometric not in (1, 2):
                raise ValueError(f"{self.shown}: its colours are {page.photometric.name}; save it as grey or RGB")
            self.colour = series.axes.endswith("S")
            if page.axes == "SYX" or not series.axes.rstrip("S").endswith("YX"):
                raise ValueError(f"{self.shown}: keeps its colours in planes ({series.axes}); save them interleaved")
            if int(page.tags.valueof(274, 1)) != 1:
                raise ValueError(f"{self.shown}: is stored turned; save it upright")
            extra = list(map(int, page.extrasamples))
            if 1 in extra:
                raise ValueError(f"{self.shown}: its colours are premultiplied by alpha; save them straight")
            self.alpha = extra[-1:] == [2]
            metadata, notes = tiff.outline(file)
            names = None if set(series.axes) & set("IQ") else tuple(series.axes.lower())
            return Description(names, metadata, lost=notes)


Source: TypeAlias = "OnDisk | da.Array | zarr.Array[Any] | NDArray[Any]"


def opened(source: Source | str | os.PathLike[str]) -> Source:
    """A path as what is there; anything else as it is."""
    return OnDisk(source) if isinstance(source, str | os.PathLike) else source


def identity_of(source: Source) -> str:
    """A name for a picture or a mask as it is now: files by place, sizes and times, arrays by their content."""
    import zarr
    from dask.base import tokenize

    if isinstance(source, OnDisk):
        return source.identity
    if isinstance(source, zarr.Array):
        kind = (str(source.store_path), str(source.shape), source.dtype.str)
        place = folder_of(source)
        if place is not None:
            return digest([], stored(place), *kind)
        in_memory = isinstance(source.store, zarr.storage.MemoryStore)
        return digest([source[:]] if in_memory else [], *kind[not in_memory :])
    return str(tokenize(source))


def folder_of(array: zarr.Array[Any]) -> Path | None:
    """Where a zarr array is on this machine's disks: its folder, or the archive it is in."""
    root = getattr(array.store, "root", None)
    if root is not None:
        return Path(str(root), array.path)
    archive = getattr(array.store, "path", None)
    return Path(archive) if isinstance(archive, str | os.PathLike) and Path(archive).is_file() else None


def description_of(source: Source) -> Description:
    """What a source says of its pixels."""
    import zarr

    if isinstance(source, OnDisk):
        return source.description
    return of_zarr(source, folder_of(source)) if isinstance(source, zarr.Array) else Description()


def as_dask(source: Any, chunks: tuple[tuple[int, ...], ...] | None = None, *, name: str = "source") -> da.Array:
    """An opened path, zarr array, NumPy array or Dask array as a Dask array, in the given chunks."""
    import dask.array as da
    import zarr

    if not isinstance(source, da.Array | OnDisk | zarr.Array | np.ndarray):
        raise ValueError(f"{name}: expected a path, a zarr, Dask or NumPy array, got {type(source).__name__}")
    if isinstance(source, da.Array):
        return source if chunks is None else source.rechunk(chunks)
    asked: Any = "auto" if chunks is None else chunks
    like = np.empty((0,) * source.ndim, source.dtype)
    found: da.Array = da.from_array(source, chunks=asked, asarray=True, inline_array=True, meta=like)
    return found


def value_range(client: Client, source: Source, layout: Layout) -> float:
    """The value of white, as of image files: by the type, of floats by where the bulk of their values lies.

    The percentiles are those of every k-th row and column of all pages, about a million values, transparency left out.
    """
    if source.dtype.kind != "f":
        return default_range(source.dtype, name=named(source))
    seen = gathered(client, client.compute(thinned(as_dask(source), layout)))
    return range_of_floats(seen, seen.size)


def thinned(array: Any, layout: Layout, count: int = LOOKED_AT) -> Any:
    """About `count` pixels of an array, the same ones every time, evenly from everywhere; without transparency."""
    seen = array[..., :-1] if layout.alpha else array
    excess = math.prod((*layout.leading, *layout.size)) / count
    step = max(1, round(excess**0.5))
    rows, columns = (min(step, max(1, side // 16)) for side in layout.size)
    # What short sides cannot give up is left out of the first axis of pages.
    most = layout.leading[0] if layout.leading else 1
    pages = min(most, max(1, round(excess / (rows * columns))))
    steps = [pages, *(1 for _ in layout.leading[1:])] if layout.leading else []
    return seen[tuple(slice(step // 2, None, step) for step in (*steps, rows, columns))]


def write_tiff(store: Path, target: Path, goal: Path, layout: Layout, description: Description) -> tuple[str, ...]:
    """A zarr array as a tiled TIFF, BigTIFF where it needs to be, a row of tiles at a time; returns what is lost so."""
    import tifffile
    import zarr

    array: Any = zarr.open_array(store, mode="r")
    side, last, first = 512, layout.last, len(layout.leading)
    height, width = array.shape[first : first + 2]

    def tiles() -> Iterator[NDArray[Any]]:
        for page in layout.pages:
            for top in range(0, height, side):
                band = np.asarray(array[(*page, slice(top, top + side))])
                for left in range(0, width, side):
                    piece = band[:, left : left + side]
                    full = np.zeros((side, side, *last), array.dtype)
                    full[: piece.shape[0], : piece.shape[1]] = piece
                    yield full

    options, lost = description.for_tiff(goal, array, first)
    colours = (layout.channels or 1) - layout.alpha
    options["photometric"] = "rgb" if colours == 3 else "minisblack"
    if last:
        options["planarconfig"] = "contig"
        extra = last[0] - (3 if colours == 3 else 1)
        options["extrasamples"] = [0] * (extra - layout.alpha) + [2] * layout.alpha
    tifffile.imwrite(
        target, tiles(), shape=array.shape, dtype=array.dtype, tile=(side, side), compression="zlib",
        predictor=array.dtype.kind == "u", software=False, bigtiff=array.nbytes > tiff.LARGE, **options,
    )  # fmt: skip
    with open(target, "r+b") as file:
        exif.into_tiff(file, description.metadata.get("exif", b""))
    return lost

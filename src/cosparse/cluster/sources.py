"""Pictures that need not fit in memory: zarr arrays and tiled TIFF files, read region by region on the workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.connection import gathered
from cosparse.codecs.disk import shown_name
from cosparse.codecs.samples import one_line
from cosparse.images import default_range

STRIP = 256 << 20  # bytes: a TIFF whose pieces are larger cannot be read region by region
TIFF = (".tif", ".tiff")


def is_zarr(path: Any) -> bool:
    """Whether a path names a zarr array: by what is in the folder, or by its ending."""
    if not isinstance(path, str | os.PathLike):
        return False
    place = Path(path)
    inside = any((place / name).exists() for name in ("zarr.json", ".zarray", ".zgroup"))
    return inside or place.suffix == ".zarr"


class OnDisk:
    """A picture in a file, as far as Dask needs to know it: shape, type, and regions on demand.

    Only the path travels to the workers, which must see the file under the same name.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        shown = shown_name(self.path)
        if not Path(self.path).exists():
            raise FileNotFoundError(f"{shown}: no such file or folder; check the path")
        with self._opened() as array:
            self.shape: tuple[int, ...] = tuple(array.shape)
            self.dtype: np.dtype[Any] = np.dtype(array.dtype)
            piece = int(np.prod(array.chunks)) * self.dtype.itemsize
        self.ndim = len(self.shape)
        self.metadata = {} if is_zarr(self.path) else _described(self.path)
        if piece > STRIP:
            raise ValueError(
                f"{shown}: is stored in pieces of {piece >> 20} MB, too large to read region by region; save it tiled"
            )

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import zarr

        shown = shown_name(self.path)
        if not is_zarr(self.path):
            import tifffile

            try:
                store: Any = tifffile.imread(self.path, aszarr=True, series=0, level=0)
            except Exception as problem:
                raise ValueError(f"{shown}: cannot be read as a TIFF ({one_line(problem)})") from problem
            with store:
                yield zarr.open_array(store, mode="r")
            return
        try:
            found = zarr.open(self.path, mode="r")
        except Exception as problem:
            raise ValueError(f"{shown}: cannot be read as zarr ({one_line(problem)})") from problem
        if isinstance(found, zarr.Group):
            inside = ", ".join(sorted(found.array_keys())[:5])
            raise ValueError(f"{shown}: is a zarr group; name an array in it ({inside or 'it holds none'})")
        yield found

    def __getitem__(self, key: Any) -> NDArray[Any]:
        with self._opened() as array:
            return np.asarray(array[key])

    def __dask_tokenize__(self) -> tuple[str, tuple[int, ...], float]:
        return self.path, self.shape, self.changed

    @property
    def changed(self) -> float:
        """When the file was last written."""
        place = Path(self.path)
        inside = next((place / name for name in ("zarr.json", ".zarray") if (place / name).exists()), place)
        return inside.stat().st_mtime


def _described(path: str) -> dict[str, Any]:
    """What a TIFF says of itself; refuses what tiles would get wrong."""
    import tifffile

    shown = shown_name(path)
    with tifffile.TiffFile(path) as file:
        page: Any = file.series[0].levels[0].pages[0]
        if page.photometric not in (1, 2):
            raise ValueError(f"{shown}: its colours are {page.photometric.name}; save it as grey or RGB")
        if page.axes == "SYX":
            raise ValueError(f"{shown}: keeps its colours in planes; save them interleaved")
        if int(page.tags.valueof(274, 1)) != 1:
            raise ValueError(f"{shown}: is stored turned; save it upright")
        if 1 in map(int, page.extrasamples):
            raise ValueError(f"{shown}: its colours are premultiplied by alpha; save them straight")
        found: dict[str, Any] = {"iccprofile": page.iccprofile}
        if 282 in page.tags and page.resolutionunit in (2, 3):
            found |= {"resolution": page.get_resolution(), "resolutionunit": int(page.resolutionunit)}
        return found


def as_dask(source: Any, chunks: tuple[tuple[int, ...], ...] | None = None, *, name: str = "source") -> Any:
    """A path, zarr array, NumPy array or Dask array as a Dask array, in the given chunks of the first two axes."""
    import dask.array as da
    import zarr

    if isinstance(source, str | os.PathLike):
        source = OnDisk(source)
    if not isinstance(source, da.Array | OnDisk | zarr.Array | np.ndarray):
        raise ValueError(f"{name}: expected a path, a zarr, Dask or NumPy array, got {type(source).__name__}")
    if chunks is not None:
        chunks = (*chunks, *((side,) for side in source.shape[2:]))
    if isinstance(source, da.Array):
        return source if chunks is None else source.rechunk(chunks)
    asked: Any = "auto" if chunks is None else chunks
    like = np.empty((0,) * source.ndim, source.dtype)
    return da.from_array(source, chunks=asked, asarray=True, inline_array=True, meta=like)


def value_range(client: Any, array: Any) -> float:
    """The value of white, by the rule of :class:`cosparse.images.Picture`: of floats it depends on all of them."""
    import dask.array as da

    if array.dtype.kind != "f":
        return default_range(array.dtype, name="source")
    finite = da.where(da.isfinite(array), array, np.nan)
    low, high = gathered(client, client.compute([da.nanmin(finite), da.nanmax(finite)]))
    return 1.0 if low >= 0 and high <= 1 else max(255.0, float(high))


def write_tiff(store: Path, target: Path, metadata: dict[str, Any], colour: bool) -> None:
    """A zarr array as a tiled TIFF, BigTIFF where it needs to be, a row of tiles at a time."""
    import tifffile
    import zarr

    array: Any = zarr.open_array(store, mode="r")
    side = 512
    height, width = array.shape[:2]
    channels = array.shape[2] if colour else 1
    depth = () if not colour else (channels,)

    def tiles() -> Any:
        for top in range(0, height, side):
            band = np.asarray(array[top : top + side])
            for left in range(0, width, side):
                piece = band[:, left : left + side]
                full = np.zeros((side, side, *depth), array.dtype)
                full[: piece.shape[0], : piece.shape[1]] = piece
                yield full

    options: dict[str, Any] = {"photometric": "rgb" if channels >= 3 else "minisblack", **metadata}
    if colour:
        options["planarconfig"] = "contig"
    if channels in (2, 4):
        options["extrasamples"] = [2]
    size = int(np.prod(array.shape)) * array.dtype.itemsize
    with tifffile.TiffWriter(target, bigtiff=size > 3 << 30) as file:
        file.write(
            tiles(), shape=array.shape, dtype=array.dtype, tile=(side, side), compression="zlib",
            predictor=array.dtype.kind == "u", metadata=None, software=False, **options,
        )  # fmt: skip

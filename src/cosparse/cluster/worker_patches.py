"""Training patches that are kept on the workers, and the data term of learning computed where they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse._version import __version__
from cosparse.cluster.connection import check_workers, gathered, on_worker
from cosparse.cluster.layout import layout_of
from cosparse.cluster.sources import OnDisk, as_dask, is_zarr
from cosparse.identity import digest
from cosparse.io.find import find_images
from cosparse.io.picture import read_greys
from cosparse.kernels.fused import CHUNK
from cosparse.learning.objective import Matrix, PatchSparsity
from cosparse.patches import checked_patches, grey_images, sample_image
from cosparse.penalty import Penalty

Patches = NDArray[np.float32]

PARTITION = 64 * CHUNK  # patches that one task takes: 67 MB of 8x8
FAN = 8  # how many partial sums are added by one task
PIECE = 2048  # side in pixels of the pieces that a large picture is sampled in


class ClusterPatches:
    """Training patches on a cluster's workers, for :func:`cosparse.learn_operator`.

    Made by :func:`sample_patches` or :meth:`of`. Each evaluation sends the atoms to the workers and adds up, in a tree,
    one number and one matrix of the atoms' size from every partition. The order of the sums depends on the partitions
    alone, and a partition that was lost with its worker is sampled again from the same seed: the result is the same
    whatever the number of workers and whatever happens to them.
    """

    count: int
    columns: int

    def __init__(self, client: Any, partitions: Sequence[Any], columns: int, problems: Sequence[str] = ()) -> None:
        self.client, self.columns = client, columns
        self.problems = tuple(problems)
        """What could not be read, a line each."""
        self._partitions = list(partitions)
        sizes = self._each(len)
        self._partitions = [part for part, size in zip(self._partitions, sizes, strict=True) if size]
        self.count = int(sum(sizes))

    @classmethod
    def of(cls, patches: ArrayLike | Any, *, client: Any, partition: int = PARTITION) -> ClusterPatches:
        """Patches that exist already: a (count, pixels) NumPy or Dask array, checked as learn_operator does."""
        import dask.array as da

        check_workers(client)
        if not isinstance(patches, da.Array):
            patches = da.from_array(np.asarray(patches, np.float32), chunks=(partition, -1))
        if patches.ndim != 2 or 0 in patches.shape:
            raise ValueError(f"patches: expected (count, pixels), got shape {patches.shape}")
        blocks = patches.rechunk((_whole(partition), -1)).astype(np.float32).to_delayed().ravel()
        return cls(client, _kept(client, [(checked_patches, (block,)) for block in blocks]), int(patches.shape[1]))

    def __len__(self) -> int:
        return self.count

    def __call__(self, atoms: Matrix, penalty: Penalty) -> tuple[float, Matrix]:
        """The value and gradient of the data term."""
        # As a task, not scattered: if its worker dies, the scheduler still knows what it was.
        sent = self.client.submit(np.asarray, atoms, pure=False)
        parts = self.client.map(
            lambda part, atoms: on_worker(__version__, _summed, part, atoms, penalty),
            self._partitions, atoms=sent, pure=False, key="cosparse-sparsity",
        )  # fmt: skip
        while len(parts) > 1:
            parts = [
                self.client.submit(_added, parts[first : first + FAN], pure=False)
                for first in range(0, len(parts), FAN)
            ]
        value, gradient = gathered(self.client, parts[0])
        return value / self.count, gradient / self.count

    def digest(self) -> str:
        """A fingerprint of the patches, for checkpoints."""
        return digest([], *self._each(lambda part: digest([part])))

    def gather(self) -> Patches:
        """All patches, in this process's memory."""
        return np.concatenate(gathered(self.client, self._partitions))

    def _each(self, what: Callable[[Patches], Any]) -> list[Any]:
        return list(gathered(self.client, self.client.map(what, self._partitions, pure=False)))


def sample_patches(
    images: Any,
    size: int = 8,
    count: int = 10_000_000,
    *,
    client: Any,
    partition: int = PARTITION,
    data_range: float | None = None,
    rng: int = 0,
) -> ClusterPatches:
    """Random patches as of :func:`cosparse.sample_patches`, sampled on the workers and kept there.

    Parameters
    ----------
    images : path, zarr array, Dask array, or iterable of them
        Image files and folders, zarr arrays and Dask arrays; workers see the files under the same names. Arrays are
        read as by :func:`repair_picture`: pages along the leading axes, three channels as one grey picture, of other
        numbers each on its own. Every file gives the same number of patches, all its pages together, and every array in
        proportion to its area.
    size, count
        Side of a patch; how many there are to be. Where the images hold fewer, all that were found are taken.
    client : distributed.Client
    partition : int
        Patches in one piece on a worker; a multiple of 4096, rounded up to it.
    data_range : float, optional
        The value of white: by default that of their type, 255, 65535, or 1.0 for arrays of floats; for float files see
        :func:`cosparse.images.float_range`.
    rng : int
        The same seed gives the same patches, whatever the cluster.
    """
    if not 2 <= size <= 64:
        raise ValueError(f"size: a patch is 2 to 64 pixels wide, got {size!r}")
    if count < size * size:
        raise ValueError(f"count: at least {size * size} patches are needed to learn from, got {count!r}")
    check_workers(client)
    pieces = list(_pieces(images))
    if not pieces:
        raise ValueError("images: none given")
    partition = _whole(partition)
    parts = -(-count // partition)
    # Each partition draws on pieces from everywhere; where there are fewer pieces than partitions, on bands of one.
    jobs = []
    for number in range(parts):
        wanted = min(partition, count - number * partition)
        if len(pieces) >= parts:
            share = [(piece, 0, 1) for piece in pieces[number::parts]]
        else:
            own = number % len(pieces)
            share = [(pieces[own], number // len(pieces), len(range(own, parts, len(pieces))))]
        jobs.append((_sampled, (share, size, wanted, data_range, (rng, number))))
    pairs = _kept(client, jobs)
    patches = client.map(itemgetter(0), pairs, pure=False)
    problems = [line for lines in gathered(client, client.map(itemgetter(1), pairs, pure=False)) for line in lines]
    found = ClusterPatches(client, patches, size * size, problems)
    if found.count < size * size:
        raise ValueError(
            f"images: hold only {found.count} patches of {size} x {size} that are not nearly constant; add others"
            + (f" ({problems[0]})" if problems else "")
        )
    return found


def _whole(partition: int) -> int:
    """A multiple of the kernels' chunk, so that sums are rounded as on a single machine."""
    if partition < 1:
        raise ValueError(f"partition: must be positive, got {partition!r}")
    return -(-partition // CHUNK) * CHUNK


def _pieces(images: Any) -> Iterable[Any]:
    """What can be read at once: a path, or a delayed block of one page of an array."""
    import dask.array as da
    import zarr

    single = isinstance(images, str | os.PathLike | da.Array | zarr.Array | np.ndarray)
    for image in [images] if single else images:
        if isinstance(image, str | os.PathLike) and not is_zarr(image):
            yield from (str(path) for path in find_images(image))
            continue
        source = OnDisk(image) if isinstance(image, str | os.PathLike) else image
        array = as_dask(source, name="images")
        layout = layout_of(source)
        ends = len(layout.leading)
        sides: Any = dict.fromkeys(range(ends), 1) | {ends: PIECE, ends + 1: PIECE}
        if layout.channels is not None:
            sides[ends + 2] = 3 if layout.channels == 3 else 1
        yield from array.rechunk(sides).to_delayed().ravel()


def _kept(client: Any, jobs: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    """Futures of what the jobs give, which the workers hold on to."""
    from dask.delayed import delayed

    run = delayed(on_worker, pure=False)
    return list(client.compute([run(__version__, work, *arguments) for work, arguments in jobs]))


def _sampled(
    share: list[tuple[Any, int, int]], size: int, wanted: int, data_range: float | None, seed: tuple[int, int]
) -> tuple[Patches, list[str]]:
    """`wanted` patches, or the nearest multiple of the kernels' chunk that there are; and what is not readable."""
    generator, missing = np.random.default_rng(seed), wanted
    found: list[Patches] = [np.zeros((0, size * size), np.float32)]
    problems: list[str] = []
    for number, (piece, band, bands) in enumerate(share):
        quota = -(-missing // (len(share) - number))  # what the others lacked is made up for
        try:
            if isinstance(piece, str):
                pages = read_greys(piece, data_range=data_range)
            else:
                pages = grey_images([_page(piece)], data_range)
        except ValueError as problem:
            problems.append(str(problem))
            continue
        for page, grey in enumerate(pages):
            if bands > 1:  # other partitions take the other bands
                height = grey.shape[0] - size + 1
                grey = grey[height * band // bands : height * (band + 1) // bands + size - 1]
            part = -(-quota // (len(pages) - page))
            found.append(sample_image(grey, size, part, generator))
            missing -= len(found[-1])
            quota -= len(found[-1])
    patches = np.concatenate(found)
    kept = len(patches) if missing == 0 or len(patches) < CHUNK else len(patches) // CHUNK * CHUNK
    return patches[:kept], problems


def _page(block: Any) -> NDArray[Any]:
    """A block of one page, (h, w) or (h, w, 3): without the axes that are one long, before and after."""
    values = np.asarray(block)
    if values.shape[-1] == 1 and values.ndim > 2:
        values = values[..., 0]
    return values.reshape(values.shape[-3:] if values.ndim > 2 and values.shape[-1] == 3 else values.shape[-2:])


def _summed(patches: Patches, atoms: Matrix, penalty: Penalty) -> tuple[float, Matrix]:
    """The sums over one partition, not the means."""
    value, gradient = PatchSparsity(patches)(atoms, penalty)
    return value * len(patches), gradient * len(patches)


def _added(parts: list[tuple[float, Matrix]]) -> tuple[float, Matrix]:
    values, gradients = zip(*parts, strict=True)
    return sum(values), sum(gradients)

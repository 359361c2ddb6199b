"""What the cluster scripts share: a large picture made on the fly, and the memory of processes watched."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil

CHUNK = 1000


def _chunk(block: np.ndarray, noise: float, block_info: dict) -> np.ndarray:
    """A photograph, mirrored, stretched and lit differently from chunk to chunk, with noise; 16 bit."""
    from skimage.data import camera

    row, column = block_info[0]["chunk-location"]
    rng = np.random.default_rng((row, column))
    picture = np.kron(camera()[:: rng.choice((1, -1)), :: rng.choice((1, -1))], np.ones((2, 2)))
    picture = picture[: block.shape[0], : block.shape[1]] * rng.uniform(0.4, 1.0)
    return np.clip((picture + rng.normal(0, noise, picture.shape)) * 257, 0, 65535).astype(np.uint16)


def make_picture(client, path: Path, side: int, noise: float) -> None:
    """A zarr array of side x side pixels, written by the workers chunk by chunk; kept if it is there."""
    import dask.array as da
    import zarr

    if path.exists():
        return
    array = zarr.create_array(path, shape=(side, side), chunks=(CHUNK, CHUNK), dtype=np.uint16)
    made = da.zeros((side, side), chunks=CHUNK, dtype=np.uint16).map_blocks(_chunk, noise, dtype=np.uint16)
    client.compute(da.store(made, array, lock=False, compute=False)).result()


def written(path: Path) -> float:
    """When a zarr array was created, in seconds since 1970."""
    return (path / "zarr.json").stat().st_mtime


class Watch(threading.Thread):
    """The processes of a cluster and this one: the largest memory of each in bytes, looked at twice a second."""

    def __init__(self, client) -> None:
        super().__init__(daemon=True)
        self.processes = {f"worker {n}": psutil.Process(pid) for n, pid in enumerate(client.run(_pid).values())}
        self.processes["client and scheduler"] = psutil.Process()
        self.peak = dict.fromkeys(self.processes, 0)
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.5):
            for name, process in self.processes.items():
                try:
                    self.peak[name] = max(self.peak[name], process.memory_info().rss)
                except psutil.NoSuchProcess:
                    continue

    def used(self, kind: str = "") -> float:
        """Processor seconds so far, of all of them or of one kind."""
        return sum(sum(process.cpu_times()[:2]) for name, process in self.processes.items() if name.startswith(kind))

    def largest(self, kind: str) -> int:
        """The largest memory of any process of a kind, in bytes."""
        return max(peak for name, peak in self.peak.items() if name.startswith(kind))

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Stop the workers meanwhile; for less than the five minutes after which the scheduler gives them up."""
        workers = [process for name, process in self.processes.items() if name.startswith("worker")]
        for process in workers:
            process.suspend()
        try:
            yield
        finally:
            for process in workers:
                process.resume()

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


def _pid() -> int:
    import os

    return os.getpid()

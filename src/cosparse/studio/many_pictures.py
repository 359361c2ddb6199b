"""Several pictures, repaired in one go and handed over as one file."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from cosparse.noise import Map, Noise
from cosparse.studio import noise_seen, repair_job
from cosparse.studio.limits import Limits, Refused
from cosparse.studio.page_pictures import Source, must_agree, open_picture, own_format, write_download
from cosparse.studio.page_tasks import Job
from cosparse.studio.session import File, Session


def gather(session: Session, files: list[tuple[str, bytes]], limits: Limits) -> tuple[list[File], list[str]]:
    """Keep those that can be repaired, on disk; and a line for each of the others."""
    kept: list[File] = []
    problems: list[str] = []
    room = limits.batch * limits.pixels
    session.folder.mkdir(parents=True, exist_ok=True)
    for number, (name, data) in enumerate(files):
        try:
            height, width = open_picture(name, data, limits).pixels.shape[:2]
            if height * width > room:
                raise Refused(
                    f"{name}: left out, the pictures are over {limits.batch * limits.pixels / 1e6:.0f} megapixels."
                )
        except Refused as error:
            problems.append(str(error))
        else:
            path = session.folder / f"batch-{number}"
            path.write_bytes(data)
            kept.append(File(path, name))
            room -= height * width
    return kept, problems


def opened(file: File, limits: Limits) -> Source:
    """One of them."""
    return Source(file.name, open_picture(file.name, file.path.read_bytes(), limits))


def its_own(job: Job, source: Source, noise: Noise | None, limits: Limits) -> Job:
    """The job for one picture: `noise` None is estimated anew, and what belongs to a size must fit."""
    if noise is None:
        noise = noise_seen.look(source).noise
    if isinstance(noise, Map):
        must_agree(f"{source.name}, for which the noise map is not made", noise.sigma.shape, source)
    if job.missing is not None:
        must_agree("The mask", job.missing.shape, source)
    found = replace(job, noise=noise)
    repair_job.check(source, found, limits)
    return found


def free_name(name: str, taken: set[str]) -> str:
    """A name in the archive.

    >>> free_name("a.png", {"a.png"})
    'a-2.png'
    """
    path = Path(name)
    names: Iterator[str] = (f"{path.stem}-{n}{path.suffix}" for n in range(2, len(taken) + 3))
    return next(one for one in (name, *names) if one not in taken)


class Archive:
    """A ZIP file that results are added to one by one; it is whole after each."""

    def __init__(self, path: Path) -> None:
        self.path, self.names = path, set[str]()
        path.unlink(missing_ok=True)

    def add(self, source: Source, job: Job, result: repair_job.PageResult) -> None:
        """A result, in the format that keeps most of it."""
        picture, ending = result.picture, own_format(source.original)
        name = free_name(f"{Path(source.name).stem}-{job.task.name}.{ending}", self.names)
        part = self.path.with_suffix(f".{ending}")
        partial(write_download, picture=picture, ending=ending)(part)
        with zipfile.ZipFile(self.path, "a", zipfile.ZIP_STORED) as archive:
            archive.write(part, name)
        part.unlink()
        self.names.add(name)

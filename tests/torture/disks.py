"""What goes wrong around a run: full disks, disks that fail, a clock that jumps, a page killed as it is sent pictures.

Each function is run in a process of its own, and prints its counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import http.client
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from torture.executioner import PATIENCE, Scaffold, ended, stop, tell
from torture.frame import Impossible
from torture.victims import forked

SIZE = 64 << 20  # bytes of the small disk


@contextlib.contextmanager
def small_disk(folder: Path, *options: str) -> Iterator[Path]:
    """A disk of its own, in memory; where none may be mounted, that is said."""
    place = folder / "disk"
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", ",".join((f"size={SIZE}", *options)), "tmpfs", str(place)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as refused:
        raise Impossible("no tmpfs may be mounted here") from refused
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def hold_clean(scaffold: Scaffold, code: int | None, where: str) -> None:
    """It ended of itself and said why, without a traceback; nothing is half done, no temporary file is left."""
    said = scaffold.log.read_text()
    assert code in (0, 1, 2), f"{where}: ended with {code}: {said[-3000:]}"
    assert "Traceback" not in said and "unexpected" not in said, f"{where}: {said[-3000:]}"
    assert code == 0 or str(scaffold.folder) in said, f"{where}: does not say which file: {said[-3000:]}"
    left = [path for path in scaffold.folder.rglob(".*.part") if path.is_file()]
    assert not left, f"{where}: left {left}"
    scaffold.hold_absent_or_complete(where)


def full_disk(name: str, folder: str, seed: str, times: str) -> None:
    """With so many bytes left, from none to enough; then there is room, and it is run again."""
    counts, rng = Counter[str](), np.random.default_rng(int(seed))
    with small_disk(Path(folder)) as disk:
        scaffold = Scaffold(name, disk, Path(folder, "log"))
        needed = sum(path.stat().st_size for path in scaffold.folder.rglob("*") if path.is_file())
        for number in range(int(times)):
            scaffold.fresh()
            filler = disk / "filler"
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
            spare = 0 if number == 0 else int(needed * rng.random() ** 2)
            with filler.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(1, free - spare))
            code = ended(scaffold.start(), PATIENCE)
            hold_clean(scaffold, code, f"{name}, with {spare} bytes left")
            counts["ended for lack of room, in words" if code else "had room enough"] += 1
            filler.unlink()
            scaffold.finish()
            scaffold.hold_whole(f"{name}, with {spare} bytes left")
    tell(counts)


def read_only(name: str, folder: str, *_: str) -> None:
    """On a disk that is mounted to be read alone: refused in words; then it may be written again."""
    with small_disk(Path(folder)) as disk:
        scaffold = Scaffold(name, disk, Path(folder, "log"))
        scaffold.fresh()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        code = ended(scaffold.start(), PATIENCE)
        assert code != 0, f"{name}: wrote to a disk that is to be read alone"
        hold_clean(scaffold, code, f"{name}, on a disk to be read alone")
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        scaffold.finish()
        scaffold.hold_whole(name)
    tell(Counter({"refused, in words": 1}))


def _faulty() -> ctypes.CDLL:
    """What LD_PRELOAD brought into this process."""
    return ctypes.CDLL(os.environ["LD_PRELOAD"])


def failing_disk(name: str, folder: str, seed: str, times: str) -> None:
    """EIO from some write on; the same again with a disk that works."""
    counts, rng, faulty = Counter[str](), np.random.default_rng(int(seed)), _faulty()
    scaffold = Scaffold(name, Path(folder))
    for _ in range(int(times)):
        scaffold.fresh()
        after = int(60 * rng.random() ** 2)
        place = str(scaffold.folder).encode()
        code = ended(scaffold.start(lambda place=place, after=after: faulty.torture_disk(place, after)), PATIENCE)
        hold_clean(scaffold, code, f"{name}, whose disk fails after {after} writes")
        counts["ended for a disk that failed, in words" if code else "done before the disk failed"] += 1
        scaffold.finish()
        scaffold.hold_whole(name)
    tell(counts)


def jumping_clock(name: str, folder: str, *_: str) -> None:
    """The time of day goes a year ahead and back at every look: the same bytes."""
    scaffold = Scaffold(name, Path(folder))
    scaffold.fresh()
    code = ended(scaffold.start(lambda: _faulty().torture_clock(1)), PATIENCE)
    assert code == 0, f"{name}, while the clock jumps, ended with {code}: {scaffold.log.read_text()[-3000:]}"
    scaffold.hold_whole(f"{name}, while the clock jumps")
    tell(Counter({"runs with the same bytes": 1}))


def uploads(_: str, folder: str, seed: str, kills: str) -> None:
    """Kill the page while pictures are sent to it: the next one clears up what is left, and takes them."""
    from cosparse.studio import leftovers, server

    place, rng, counts = Path(folder, "tmp"), np.random.default_rng(int(seed)), Counter[str]()
    place.mkdir()
    data = rng.bytes(3_000_000)
    lines = Path(folder, "lines")

    def serve() -> int:
        tempfile.tempdir = str(place)
        server.serve(port=0, browser=False, tell=lambda line: lines.write_text(line))
        return 0

    for _number in range(int(kills)):
        lines.unlink(missing_ok=True)
        process = forked(serve, Path(folder, "log"))
        port = _port(lines, process, Path(folder, "log"))
        left = list(place.glob(f"{leftovers.PREFIX}*"))
        assert len(left) == 1, f"a page that was killed left {left}"
        answers: list[bool] = []
        known = threading.Event()
        sender = threading.Thread(target=_send, args=(port, data, answers, known))
        sender.start()
        known.wait(PATIENCE)
        sender.join(float(rng.random()) * 0.3)
        assert stop(process, signal.SIGKILL) == -signal.SIGKILL
        sender.join(PATIENCE)
        counts["kills"] += 1
        counts["uploads answered before the kill"] += sum(answers)
    process = forked(serve, Path(folder, "log"))
    lines.unlink(missing_ok=True)
    port = _port(lines, process, Path(folder, "log"))
    answers = []
    _send(port, data, answers, threading.Event(), 1)
    assert answers == [True], "after kills, a picture is not taken"
    kept = [path for path in place.rglob("*") if path.is_file() and path.stat().st_size == len(data)]
    assert [hashlib.sha256(path.read_bytes()).digest() for path in kept] == [hashlib.sha256(data).digest()], kept
    stop(process, signal.SIGTERM)
    shutil.rmtree(place)
    tell(counts)


def _port(lines: Path, process: int, log: Path) -> int:
    """Of the page, once it listens."""
    for _ in range(6000):
        if lines.exists() and "Ctrl-C" in (said := lines.read_text()):
            return int(said.split("127.0.0.1:")[1].split("/")[0].split()[0])
        assert ended(process, 0.05) is None, log.read_text()[-3000:]
    raise AssertionError("the page did not begin")


def _send(port: int, data: bytes, answers: list[bool], known: threading.Event, times: int = 1000) -> None:
    """Send a picture again and again, as a browser does, until the page is gone; `known` once it has a cookie."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        cookies = "; ".join(
            value.partition(";")[0] for key, value in answer.getheaders() if key.lower() == "set-cookie"
        )
        known.set()
        for _ in range(times):
            headers = {"Cookie": cookies, "X-Name": "a.png", "Origin": f"http://127.0.0.1:{port}"}
            connection.request("POST", "/upload", body=data, headers=headers)
            answer = connection.getresponse()
            answers.append(answer.status == 200 and b"key" in answer.read())
            if not answers[-1]:
                return

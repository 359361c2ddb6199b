"""A Dask cluster of real processes, for the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

WAIT = 120  # seconds for a cluster: only to fail instead of hanging


def dask_process(*arguments, **environment):
    command = [str(Path(sys.executable).with_name("dask")), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    )


class Processes:
    """A scheduler and workers, each a process of its own, on loopback."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", self.file)
        self.processes = [dask_process("scheduler", *options)]

    def worker(self, **environment):
        options = ("--nthreads", 1, "--no-nanny", "--no-dashboard", "--scheduler-file", self.file)
        self.processes.append(dask_process("worker", *options, **environment))
        return self.processes[-1]

    @property
    def address(self):
        return json.loads(self.file.read_text())["address"]

    def wait(self):
        from distributed import Client

        return Client(scheduler_file=str(self.file), timeout=WAIT)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()

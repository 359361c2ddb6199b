"""What the tests of threads and forks share."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

from threadpoolctl import threadpool_info


def blas_threads():
    return [
        (library["filepath"], library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas"
    ]


@contextmanager
def forking():
    """Python 3.12 warns of any fork beside threads; that it works here is what is tested."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
        yield

"""Whole repairs from many places at once: the same bytes, and the caller's settings left alone."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from forks import blas_threads, forking
from skimage.data import camera
from threadpoolctl import threadpool_limits

import cosparse
from cosparse.kernels import threads

# Read once, before any fork: imageio tries to import an absent module each time, and a child of a process forked in the
# middle of that would wait for the import's lock for ever.
PHOTO = camera()[100:164, 200:264]


def repairs_digest(_=None) -> str:
    """A fingerprint of a denoised, an inpainted and an enlarged picture of 64 x 64."""
    image = PHOTO
    rng = np.random.default_rng(0)
    noisy = image / 255 + rng.normal(0, 0.1, image.shape)
    results = (
        cosparse.denoise(noisy, 0.1),
        cosparse.inpaint(image, rng.random(image.shape) < 0.5, quality="fast"),
        cosparse.upscale(image[:32, :32], 2, quality="fast"),
    )
    return hashlib.sha256(b"".join(result.tobytes() for result in results)).hexdigest()


def test_the_same_bytes_from_eight_threads_at_a_time():
    expected = repairs_digest()
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        together = threading.Barrier(8)

        def caller(_):
            together.wait(60)
            return repairs_digest()

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(caller, range(8))) == {expected}
        assert blas_threads() == before


@pytest.mark.slow
@pytest.mark.parametrize("check", ["fork", "spawn", "fork_in_the_middle"])
def test_the_same_bytes_from_other_processes(check):
    """In a fresh process: other tests' servers have threads of their own, which may not survive a fork."""
    method = check.partition("_")[0]
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    call = "in_the_middle_of_repairs()" if check == "fork_in_the_middle" else f"other_processes({method!r})"
    code = f"import test_concurrency\nif __name__ == '__main__': test_concurrency.{call}"
    folders = [str(Path(__file__).parent), str(Path(cosparse.__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, env=environment)


def other_processes(method):
    expected = repairs_digest()  # the parent's pool is running when it forks
    with forking(), multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(repairs_digest, range(2)).get(120) == [expected] * 2
    assert repairs_digest() == expected


def in_the_middle_of_repairs():
    """Other threads hold the pool and the BLAS limit at the moment of the fork."""
    expected = repairs_digest()
    before = blas_threads()
    busy = threading.Event()

    def keep_busy():
        results = set()
        while not busy.is_set():
            results.add(repairs_digest())
        return results

    with ThreadPoolExecutor(2) as callers:
        running = [callers.submit(keep_busy) for _ in range(2)]
        try:
            with forking(), multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map_async(repairs_digest, range(4)).get(120) == [expected] * 4
        finally:
            busy.set()
        assert set().union(*(each.result() for each in running)) <= {expected}
    assert blas_threads() == before


@pytest.mark.parametrize("ending", ["returns", "stops", "raises"])
def test_blas_threads_are_put_back(ending):
    image = camera()[:48, :48]

    def callback(progress):
        assert {count for _, count in blas_threads()} == {1}
        if ending == "raises":
            raise ZeroDivisionError
        return ending == "stops"

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        if ending == "raises":
            with pytest.raises(ZeroDivisionError):
                cosparse.denoise(image, 20, callback=callback)
        else:
            cosparse.denoise(image, 20, callback=callback)
        assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_forked_as_the_limit_is_set_inherits_none(monkeypatch):
    """Between setting the limit and noting it a fork must wait, or the child would keep one BLAS thread for ever."""
    outcome = []

    def fork():
        with forking():
            child = os.fork()
        if child == 0:
            os._exit(0 if blas_threads() == before else 1)
        outcome.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    class Controller(threads.ThreadpoolController):
        def limit(self, **limits):
            limiter = super().limit(**limits)
            forker.start()
            forker.join(0.5)  # long enough to fork, if nothing holds it
            return limiter

    forker = threading.Thread(target=fork)
    monkeypatch.setattr(threads, "ThreadpoolController", Controller)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with threads.one_blas_thread():
            pass
        forker.join(60)
    assert outcome == [0]

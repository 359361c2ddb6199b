"""Threads, forks and other people's settings: the same bytes, and nothing left changed."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from forks import blas_threads, forking
from threadpoolctl import threadpool_limits

import cosparse
from cosparse import Penalty
from cosparse.kernels import fused, threads
from cosparse.kernels.threads import one_blas_thread, spread

PENALTY = Penalty.log(0.1)


def kernels_digest() -> str:
    """A fingerprint of what both kernels answer, over several bands and chunks."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((24, 16)).astype(np.float32)
    weights = rng.random(24).astype(np.float32)
    patches = rng.standard_normal((3 * fused.CHUNK + 5, 16)).astype(np.float32)
    image = rng.random((70, 300)).astype(np.float32)
    arguments = PENALTY.code, PENALTY.nu, PENALTY.p
    digest = hashlib.sha256()
    for value, gradient in (
        fused.patch_sparsity(atoms, weights, patches, *arguments, False),
        fused.image_sparsity(atoms, weights, image, (4, 4), (1, 1), *arguments),
    ):
        digest.update(repr(value).encode() + gradient.tobytes())
    return digest.hexdigest()


@contextmanager
def pool_of(cores, monkeypatch):
    """A pool of that size, whatever the machine."""
    with monkeypatch.context() as patch:
        patch.setattr(threads, "_threads", threads._Threads())
        patch.setenv("COSPARSE_NUM_THREADS", str(cores))
        yield
        if threads._threads.pool is not None:
            threads._threads.pool.shutdown()


# -- spread ----------


def test_results_come_in_order():
    # Early items finish last: each waits for the one after it.
    done = [threading.Event() for _ in range(9)]
    done[8].set()

    def work(number):
        if threads.available_cores() > 1 and number % 2 == 0:
            done[number + 1].wait(10)
        done[number].set()
        return number**2

    assert spread(work, range(8)) == [number**2 for number in range(8)]
    assert spread(work, []) == []
    assert spread(work, iter([3])) == [9]


def test_an_error_in_a_worker_reaches_the_caller():
    def work(number):
        if number == 5:
            raise ZeroDivisionError("in a worker")
        return number

    with pytest.raises(ZeroDivisionError, match="in a worker"):
        spread(work, range(8))
    assert spread(abs, range(4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_the_number_of_cores_does_not_change_a_bit(cores, monkeypatch):
    expected = kernels_digest()
    with pool_of(cores, monkeypatch):
        assert kernels_digest() == expected


def test_eight_callers_at_once_get_the_same_bytes():
    expected = kernels_digest()
    before = blas_threads()
    together = threading.Barrier(8)

    def caller(_):
        together.wait(60)
        return kernels_digest()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(caller, range(8))) == {expected}
    assert blas_threads() == before


# -- how many ----------


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
def test_a_limit_holds_and_changes_no_bit(limit, monkeypatch):
    expected = kernels_digest()
    running, most, lock = 0, 0, threading.Lock()
    meeting = threading.Barrier(min(limit, 4))  # all that may run at once do

    def work(number):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        meeting.wait(60)
        with lock:
            running -= 1
        return number, threading.get_ident()

    with pool_of(4, monkeypatch), cosparse.limit_threads(limit):
        assert threads.available_cores() == min(limit, 4)
        found = spread(work, range(12))
        assert kernels_digest() == expected
    assert [number for number, _ in found] == list(range(12))
    assert most == min(limit, 4)
    assert len({ident for _, ident in found}) <= limit


def test_each_caller_has_a_limit_of_its_own(monkeypatch):
    expected = kernels_digest()
    together = threading.Barrier(3)

    def caller(limit):
        with cosparse.limit_threads(limit):
            together.wait(60)
            answer = kernels_digest()
            together.wait(60)
            return threads.available_cores(), answer

    with pool_of(8, monkeypatch), ThreadPoolExecutor(3) as pool:
        assert list(pool.map(caller, [1, 2, 5])) == [(1, expected), (2, expected), (5, expected)]
        assert threads.available_cores() == 8


def test_the_smaller_of_two_limits_holds(monkeypatch):
    monkeypatch.setenv("COSPARSE_NUM_THREADS", "6")
    with cosparse.limit_threads(np.int64(3)):
        with cosparse.limit_threads(5):
            assert threads.available_cores() == 3
        with cosparse.limit_threads(2):
            assert threads.available_cores() == 2
        assert threads.available_cores() == 3
    assert threads.available_cores() == 6


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", None, True])
def test_a_limit_is_a_number_of_threads(wrong):
    with pytest.raises(ValueError, match="n: must be a whole number of at least 1"), cosparse.limit_threads(wrong):
        pass


@pytest.mark.parametrize("wrong", ["0", "-2", "two", "1.5", "²"])
def test_the_environments_number_is_checked(wrong, monkeypatch):
    monkeypatch.setenv("COSPARSE_NUM_THREADS", wrong)
    with pytest.raises(ValueError, match="COSPARSE_NUM_THREADS: must be a whole number of at least 1, got"):
        threads.available_cores()
    monkeypatch.setenv("COSPARSE_NUM_THREADS", "")
    assert threads.available_cores() >= 1


def test_an_error_within_a_limit_reaches_the_caller_and_nothing_more_begins(monkeypatch):
    begun = []

    def work(number):
        begun.append(number)
        if number == 0:
            raise IndexError("in a worker")
        stop.wait(60)

    stop = threading.Event()
    with pool_of(4, monkeypatch), cosparse.limit_threads(2):
        with pytest.raises(IndexError, match="in a worker"):
            spread(work, range(50))
        stop.set()
    assert set(begun) <= {0, 1}


def test_the_quota_counts(monkeypatch):
    monkeypatch.delenv("COSPARSE_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_quota", lambda: None)
    everything = threads.available_cores()
    for quota, expected in ((1, 1), (10_000, everything)):
        monkeypatch.setattr(threads, "_quota", lambda quota=quota: quota)
        assert threads.available_cores() == expected


# -- one_blas_thread ----------


@pytest.mark.parametrize("limit", [1, 2])
def test_the_callers_limit_is_put_back(limit):
    with threadpool_limits(limit, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            assert {count for _, count in blas_threads()} == {1}
            with one_blas_thread():
                assert {count for _, count in blas_threads()} == {1}
            assert {count for _, count in blas_threads()} == {1}  # we are still in
        assert blas_threads() == before


@pytest.mark.parametrize("last_out", ["the caller", "another thread"])
def test_overlapping_callers_leave_the_limit_as_it_was(last_out):
    """In, in, out, out: the first to leave must not lift the second's limit, nor keep it for good.

    From 3.8 on, threadpoolctl silently ignores a thread that lifts what another has set.
    """
    kernels_digest()
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        entered, leave = threading.Event(), threading.Event()
        held = []

        def other():
            with one_blas_thread():
                held.append({count for _, count in blas_threads()})
                entered.set()
                leave.wait(60)

        thread = threading.Thread(target=other)
        if last_out == "the caller":
            thread.start()
            entered.wait(60)
            with one_blas_thread():
                leave.set()
                thread.join()
                held.append({count for _, count in blas_threads()})
        else:
            with one_blas_thread():
                thread.start()
                entered.wait(60)
            held.append({count for _, count in blas_threads()})
            leave.set()
            thread.join()
        assert held == [{1}, {1}]
        assert blas_threads() == before


def test_an_error_inside_puts_the_limit_back():
    before = blas_threads()
    with pytest.raises(RuntimeError), one_blas_thread():
        raise RuntimeError
    assert blas_threads() == before


FRESH = """
import sys
import numpy as np
state = np.random.get_state()[1].copy()
import cosparse
from cosparse.kernels import fused
from threadpoolctl import threadpool_info
ones = np.ones((4, 4), np.float32)
def held():
    return [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]
seen = []
original = fused._patch_chunk
def watching(*arguments):
    answer = original(*arguments)
    seen.append(held())  # now the kernel's own BLAS is loaded for sure
    return answer
fused._patch_chunk = watching
fused.patch_sparsity(ones, ones[0], ones, 0, 1.0, 0.0, False)
assert seen and all(count == 1 for count in seen[0]), seen
assert any("scipy" in library["filepath"] for library in threadpool_info())
assert (np.random.get_state()[1] == state).all()
assert "matplotlib" not in sys.modules and "torch" not in sys.modules
"""


def test_in_a_fresh_process_the_kernels_own_blas_is_held_too():
    """Numba loads SciPy's BLAS at its first product, which must not be after the limit was set."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


# -- processes ----------


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_process_gives_the_same_bytes(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    expected = kernels_digest()  # the parent's pool has threads now, which a fork does not copy
    with forking(), multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(kernels_digest).get(60) == expected
    assert kernels_digest() == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_while_the_limit_is_held_leaves_the_child_whole():
    """The child inherits a count that is not its own, and starts again from zero."""
    expected = kernels_digest()
    with threadpool_limits(2, user_api="blas"):
        free = blas_threads()
        read, write = os.pipe()
        with forking(), one_blas_thread():
            child = os.fork()
            if child == 0:
                os.close(read)
        if child == 0:  # has left the block it did not enter
            signal.alarm(60)  # should it hang
            status = 1
            try:
                right = kernels_digest() == expected and blas_threads() == free
                right = right and threads._threads.inside == 0
                status = 0 if right else 2
            finally:
                os._exit(status)
        os.close(write)
        os.close(read)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert blas_threads() == free
    assert kernels_digest() == expected

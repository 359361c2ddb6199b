"""The caller's BLAS threads are left alone, whatever happens; that the bytes are the same, tests/torture tries."""

from __future__ import annotations

import os
import threading

import pytest
from forks import blas_threads, forking
from skimage.data import camera
from threadpoolctl import threadpool_limits

import cosparse
from cosparse.kernels import threads


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

"""Products of matrices take one thread while rows are summed, and as many as before afterwards."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import discreet
from discreet.errors import DataError
from discreet.exact.arrays import one_blas_thread
from discreet.tables.source import ComputeOptions

DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
TABLE = {"x": np.linspace(0, 1, 50), "y": np.linspace(0, 1, 50)}


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, "blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has one thread")
        yield


@pytest.mark.parametrize("mechanism", ["gaussian", "irls"])
def test_a_release_sums_with_one_thread_and_leaves_the_others_as_they_were(mechanism):
    seen = []
    compute = ComputeOptions(progress=lambda _share: seen.append(blas_threads()))
    discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, mechanism=mechanism, compute=compute)
    assert seen
    assert all(threads == {1} for threads in seen)
    assert blas_threads() == {2}


def test_an_error_leaves_the_threads_as_they_were():
    with pytest.raises(DataError):
        discreet.release({"x": [0.5], "y": [None]}, DESIGN, epsilon=1.0, delta=1e-6)
    assert blas_threads() == {2}


def test_threads_that_sum_at_once_leave_it_as_it_was():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(60)

    worker = threading.Thread(target=other)
    with one_blas_thread():
        worker.start()
        assert inside.wait(60)
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    leave.set()
    worker.join()
    assert blas_threads() == {2}
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            pass
        assert blas_threads() == {1}
    assert blas_threads() == {2}

"""Threads over one table: results in order, the error of the earliest part whoever is first, an end to all of them."""

from __future__ import annotations

import threading
from itertools import count

import numpy as np
import pytest

from discreet.curator.workers import each_part, shared_out, ticked
from discreet.errors import DataError

PATIENCE = 20  # seconds until a test that hangs fails


def no_thread_is_left():
    return not any(thread.name.startswith("discreet-") for thread in threading.enumerate())


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_are_in_the_order_of_the_parts(jobs):
    turns = [threading.Event() for _ in range(jobs + 1)]
    turns[jobs].set()

    def job(index):
        def work(tick):
            # the last part is done first
            assert turns[index + 1].wait(PATIENCE)
            turns[index].set()
            tick()
            return index

        return work

    heard = []
    assert each_part([job(index) for index in range(jobs)], lambda: heard.append(threading.current_thread())) == list(
        range(jobs)
    )
    assert set(heard) == {threading.current_thread()}
    assert len(heard) == jobs
    assert no_thread_is_left()


@pytest.mark.parametrize("first_to_fail", [0, 1, 2])
def test_the_error_is_that_of_the_earliest_part_whoever_fails_first(first_to_fail):
    failed = threading.Event()

    def job(index):
        def work(tick):
            if index == 3:
                return index
            if index != first_to_fail:
                assert failed.wait(PATIENCE)
            failed.set()
            raise DataError(f"part {index}")

        return work

    with pytest.raises(DataError, match="part 0"):
        each_part([job(index) for index in range(4)])
    assert no_thread_is_left()


def test_a_part_behind_one_that_failed_is_given_up_and_one_before_it_goes_on():
    second_failed, ticks = threading.Event(), []

    def first(tick):
        assert second_failed.wait(PATIENCE)
        for _ in range(3):
            tick()
            ticks.append("first")
        return "whole"

    def second(tick):
        second_failed.set()
        raise DataError("second")

    def third(tick):
        for _ in count():
            # without an end unless it is given up
            tick()

    with pytest.raises(DataError, match="second"):
        each_part([first, second, third])
    assert ticks == ["first"] * 3
    assert no_thread_is_left()


def test_an_interrupt_of_the_caller_stops_all_parts():
    def endless(tick):
        for _ in count():
            tick()

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each_part([endless, endless], interrupted)
    assert no_thread_is_left()


def test_what_is_set_for_computations_holds_in_every_thread():
    def divided(tick):
        return float(np.divide(1.0, np.zeros(1))[0])

    with np.errstate(divide="ignore"):
        assert each_part([divided, divided]) == [np.inf, np.inf]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_every_item_is_shared_out_once(workers):
    heard = []
    jobs = [list] * workers
    found = shared_out(iter(range(100)), jobs, lambda: heard.append(1))
    assert sorted(item for part in found for item in part) == list(range(100))
    assert all(part == sorted(part) for part in found)
    assert len(heard) == 100
    assert no_thread_is_left()


@pytest.mark.parametrize("items", [[], ["only"]])
def test_one_item_is_not_worth_a_thread(items):
    def job(given):
        return threading.current_thread(), list(given)

    assert shared_out(items, [job, job]) == [(threading.current_thread(), items)]


def test_items_are_read_in_the_thread_of_the_caller_and_not_far_ahead():
    read, release = [], threading.Event()

    def items():
        for index in range(50):
            read.append(threading.current_thread())
            yield index
            if index == 5:
                release.set()

    def slow(given):
        # nobody takes anything until reading has gone as far as it goes
        release.wait(0.2)
        before = len(read)
        return before, list(given)

    found = shared_out(items(), [slow, slow])
    assert set(read) == {threading.current_thread()}
    # two that wait, one to be handed on
    assert min(before for before, _ in found) <= 4
    assert sorted(item for _, part in found for item in part) == list(range(50))


def failing_at(bad, first):
    """A job that fails on some items, on the first of them last."""
    later = threading.Event()

    def job(given):
        for item in given:
            if item in bad:
                if item == first:
                    later.wait(0.2)
                later.set()
                raise DataError(f"item {item}")

    return job


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_error_is_that_of_the_earliest_item(workers):
    for _ in range(10):
        job = failing_at({5, 6, 7, 8}, 5)
        with pytest.raises(DataError, match="item 5"):
            shared_out(iter(range(40)), [job] * workers)
    assert no_thread_is_left()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("readable", [0, 1, 2, 9])
def test_what_cannot_be_read_counts_behind_all_that_was_read(workers, readable):
    def items():
        yield from range(readable)
        raise DataError("unreadable")

    with pytest.raises(DataError, match="unreadable"):
        shared_out(items(), [list] * workers)
    if readable:
        job = failing_at({readable - 1}, None)
        with pytest.raises(DataError, match=f"item {readable - 1}"):
            shared_out(items(), [job] * workers)
    assert no_thread_is_left()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_while_items_are_read_stops_all(workers):
    def items():
        yield from range(7)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shared_out(items(), [list] * workers)
    assert no_thread_is_left()


def test_a_failure_of_the_caller_while_it_reports_is_raised():
    def notice():
        raise ValueError("bar")

    with pytest.raises(ValueError, match="bar"):
        shared_out(iter(range(9)), [list, list], notice)
    with pytest.raises(ValueError, match="bar"):
        each_part([lambda tick: tick(), lambda tick: tick()], notice)
    assert no_thread_is_left()


def test_a_thread_that_cannot_be_started_stops_those_that_were(monkeypatch):
    real, started = threading.Thread.start, []

    def start(self):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(self)
        real(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="new thread"):
        each_part([lambda tick: [tick() for _ in count()], lambda tick: None])
    assert no_thread_is_left()


def test_ticks_are_after_the_work():
    done = []
    for item in ticked("ab", lambda: done.append("tick")):
        done.append(item)
    assert done == ["a", "tick", "b", "tick"]

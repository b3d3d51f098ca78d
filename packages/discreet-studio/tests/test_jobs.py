"""One piece of work at a time; the same request is the same work; a failure quotes nothing."""

from __future__ import annotations

import logging
from threading import Event

import discreet
from discreet_studio.jobs import Jobs


def test_a_second_click_gets_the_first_job_and_other_work_waits():
    jobs, go, runs = Jobs(), Event(), []

    def work(job):
        runs.append(job)
        go.wait(10)

    first = jobs.start("release", "/x", work, request="a")
    assert jobs.start("release", "/x", work, request="a") is first
    assert jobs.start("release", "/x", work, request="b") is None
    assert jobs.running is first
    go.set()
    jobs.wait(first, 10)
    assert first.state == "done"
    assert jobs.start("release", "/x", work, request="a") is first
    assert len(runs) == 1
    assert jobs.find(first.key) is first
    assert jobs.find("?") is None


def test_what_went_wrong_is_said_without_a_value(caplog):
    jobs = Jobs()

    def refused(job):
        raise discreet.DiscreetError("expected a number")

    def broken(job):
        raise RuntimeError("cell 4711")

    def cancelled(job):
        raise discreet.Cancelled

    ended = {}
    with caplog.at_level(logging.DEBUG):
        for name, work in (("refused", refused), ("broken", broken), ("cancelled", cancelled)):
            job = jobs.start("check", "/check", work, request=name)
            jobs.wait(job, 10)
            ended[name] = job
    assert (ended["refused"].state, ended["refused"].error) == ("failed", "expected a number")
    assert (ended["broken"].state, ended["broken"].error) == ("failed", "an unexpected error occurred (RuntimeError)")
    assert ended["cancelled"].state == "cancelled"
    assert "4711" not in caplog.text


def test_progress_and_cancel():
    jobs, go, token = Jobs(), Event(), discreet.CancelToken()

    def work(job):
        job.progress(0.25)
        go.wait(10)
        token.check()

    job = jobs.start("check", "/check", work, request="a", token=token)
    while job.share is None:
        pass
    assert job.percent == 25
    assert job.can_cancel
    assert token.cancel()
    assert not job.can_cancel
    go.set()
    jobs.wait(job, 10)
    assert job.state == "cancelled"


def test_old_jobs_are_forgotten():
    jobs = Jobs()
    first = jobs.start("check", "/check", lambda job: None, request="first")
    jobs.wait(first, 10)
    for number in range(25):
        jobs.wait(jobs.start("check", "/check", lambda job: None, request=str(number)), 10)
    assert jobs.find(first.key) is None
    assert jobs.asked("first") is None

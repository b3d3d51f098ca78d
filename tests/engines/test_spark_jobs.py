"""A question to Spark: answered, or ended in one plain sentence, soon."""

from __future__ import annotations

import logging
import sys
import threading
import types
import warnings

import pytest

from discreet.errors import DataError, SpecError
from discreet.spark import spark_session as spark_jobs
from discreet.spark.spark_session import _condition, _is_other_thread, check_spark, plan_text, run_on_spark
from support.pretend_spark import PretendSession, pretended


def test_an_answer():
    session = PretendSession()
    assert run_on_spark(session, lambda: 5, "it failed") == 5
    assert run_on_spark(None, lambda: 6, "it failed") == 6
    assert (len(session.tags), session.stopped) == (1, [])


def test_errors_of_our_own_pass_through():
    def refuses():
        raise SpecError("expected 1, got 2")

    with pytest.raises(SpecError, match="expected 1, got 2"):
        run_on_spark(None, refuses, "it failed")


def test_any_other_failure_is_one_sentence_without_what_caused_it():
    def fails():
        raise ValueError("secret")

    with pytest.raises(DataError, match=r"^it failed$") as error:
        run_on_spark(None, fails, "it failed")
    assert (error.value.__cause__, error.value.__context__) == (None, None)


def test_nobody_waits_for_ever(monkeypatch):
    monkeypatch.setattr(spark_jobs, "_GRACE", 0.1)
    session, never = PretendSession(), threading.Event()
    with pytest.raises(DataError, match="too late"):
        run_on_spark(session, never.wait, "it failed", within=0.2, late="too late")
    assert session.stopped == session.tags
    with pytest.raises(DataError, match="too late"):
        run_on_spark(None, never.wait, "it failed", within=0.2, late="too late")
    never.set()


def test_an_interrupt_stops_the_job(monkeypatch):
    monkeypatch.setattr(spark_jobs, "_GRACE", 0.1)
    session, never = PretendSession(), threading.Event()

    def interrupted(seconds):
        raise KeyboardInterrupt

    class Thread(threading.Thread):
        def join(self, timeout=None):
            interrupted(timeout) if self.name == spark_jobs._THREAD and not session.stopped else super().join(timeout)

    monkeypatch.setattr(spark_jobs.threading, "Thread", Thread)
    with pytest.raises(KeyboardInterrupt):
        run_on_spark(session, never.wait, "it failed")
    assert session.stopped == session.tags
    never.set()


def test_a_session_that_does_not_hear_does_not_matter(monkeypatch):
    monkeypatch.setattr(spark_jobs, "_GRACE", 0.1)
    session, never = PretendSession(), threading.Event()
    session.interruptTag = lambda tag: 1 / 0
    with pytest.raises(DataError, match="too late"):
        run_on_spark(session, never.wait, "it failed", within=0.1, late="too late")
    never.set()


def test_warnings_of_the_library_are_not_passed_on():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run_on_spark(None, lambda: warnings.warn("not for our users", stacklevel=1), "it failed")
    assert seen == []


def test_loggers_of_the_library_say_nothing_of_our_questions():
    loggers = {}
    module = types.ModuleType("pyspark.logger")
    module.PySparkLogger = types.SimpleNamespace(getLogger=lambda name: loggers.setdefault(name, logging.Logger(name)))
    seen = []
    with pretended(), pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyspark.logger", module)

        def writes():
            handler = logging.Handler()
            handler.emit = seen.append
            loggers["SQLQueryContextLogger"].addHandler(handler)
            loggers["SQLQueryContextLogger"].error("secret")

        run_on_spark(None, writes, "it failed")
        # and others hear all of it
        loggers["SQLQueryContextLogger"].error("of somebody else")
    assert [record.getMessage() for record in seen] == ["of somebody else"]
    assert _is_other_thread(logging.makeLogRecord({"threadName": "MainThread"}))


@pytest.mark.parametrize("name", ["secret cell", "lower", "A B", "", None, 5])
def test_only_a_word_of_a_list_is_repeated(name):
    class OddError(Exception):
        def getErrorClass(self):  # noqa: N802  # Spark's name
            return name

    assert _condition(OddError()) == ""


def test_a_condition_is_named():
    class OddError(Exception):
        def getErrorClass(self):  # noqa: N802  # Spark's name
            return "TABLE_OR_VIEW_NOT_FOUND"

    assert _condition(OddError()) == " (Spark's condition: TABLE_OR_VIEW_NOT_FOUND)"


def test_spark_that_is_missing_or_old(monkeypatch):
    with pretended("3.5.6"), pytest.raises(SpecError, match=r"pyspark 3\.5\.6 is too old"):
        check_spark()
    with pretended("odd"), pytest.raises(SpecError, match="too old"):
        check_spark()
    with pretended("4.0.0"):
        check_spark()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(SpecError, match=r"pip install 'discreet\[spark\]'"):
        check_spark()


def test_a_plan_is_heard_and_what_other_threads_print_is_not_kept(capsys):
    class Frame:
        def explain(self, mode):
            print("== Physical Plan ==")
            other = threading.Thread(target=print, args=("of another thread",))
            other.start()
            other.join()

    assert plan_text(Frame()) == "== Physical Plan ==\n"
    assert capsys.readouterr().out == "of another thread\n"

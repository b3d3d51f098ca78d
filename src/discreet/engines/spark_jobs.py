"""One question to Spark: asked in a thread of its own, so that an interrupt or a time limit ends it.

What Spark says about a failure quotes cells and plans, so nothing of it is repeated but the name of its condition,
which is a word of a fixed list.
"""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
import uuid
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from typing import Any, Final, TypeVar

from discreet.errors import DataError, DiscreetError, SpecError, missing_extra

Result = TypeVar("Result")

# within it Spark must start, describe a table, and run a first small task
ANSWER_SECONDS: float = 300.0
_STEP: Final = 0.1
_GRACE: Final = 10.0
_CONDITION: Final = re.compile(r"[A-Z][A-Z0-9_]*(\.[A-Z][A-Z0-9_]*)?")
_OLDEST: Final = 4
_THREAD: Final = "spark-question"
# they write what failed to the standard error of whoever asked, with cells in it
_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")


def check_spark() -> None:
    """Refuse to go on without Spark's library, or with one that is too old."""
    try:
        import pyspark
    except ImportError:
        raise missing_extra("spark", "pyspark", "the engine spark") from None
    major = pyspark.__version__.partition(".")[0]
    if not major.isdigit() or int(major) < _OLDEST:
        raise SpecError(
            f"pyspark {pyspark.__version__} is too old: expected {_OLDEST}.0 or newer; install it with: "
            "pip install 'discreet[spark]'"
        )


def asked(
    session: Any,  # noqa: ANN401  # Spark's sessions have no type in common
    question: Callable[[], Result],
    problem: str,
    *,
    within: float | None = None,
    late: str = "",
) -> Result:
    """The answer to a question, or one plain sentence.

    Parameters
    ----------
    session
        Whose jobs are stopped where nobody waits any more; none before there is one.
    question
        Calls Spark; errors of our own pass through.
    problem
        What is said where it fails.
    within, late
        Seconds to wait, without limit unless given, and what is said after them.

    Raises
    ------
    DataError
        If Spark fails or does not answer.
    """
    tag = f"discreet-{uuid.uuid4().hex}"
    results: list[Result] = []
    errors: list[BaseException] = []

    _hush()

    def ask() -> None:
        try:
            with warnings.catch_warnings():
                # what it thinks of versions is for its own users
                warnings.simplefilter("ignore")
                if session is not None:
                    session.addTag(tag)
                results.append(question())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=ask, name=_THREAD, daemon=True)
    thread.start()
    waited = 0.0
    try:
        while thread.is_alive() and (within is None or waited < within):
            thread.join(_STEP)
            waited += _STEP
    except BaseException:
        _stop(session, tag, thread)
        raise
    if thread.is_alive():
        _stop(session, tag, thread)
        raise DataError(late)
    if not errors:
        return results[0]
    known = next((error for error in errors if isinstance(error, DiscreetError)), None)
    said = known if known is not None else DataError(f"{problem}{_condition(errors[0])}")
    # what Spark said stays behind: error trackers would show it
    errors.clear()
    raise said


def explained(frame: Any) -> str:  # noqa: ANN401  # a DataFrame, classic or of Connect
    """The plan of a DataFrame as Spark prints it: searched and never shown, as it quotes what was asked for."""
    heard = _Heard()
    with redirect_stdout(heard):
        frame.explain(mode="simple")
    return heard.getvalue()


class _Heard(io.StringIO):
    """What this thread prints; what others print meanwhile goes where it went before."""

    def __init__(self) -> None:
        super().__init__()
        self._mine, self._before = threading.get_ident(), sys.stdout

    def write(self, text: str) -> int:
        """Keep a text, or hand it on."""
        return super().write(text) if threading.get_ident() == self._mine else self._before.write(text)


def _hush() -> None:
    """Keep Spark's own loggers from writing about our questions; those of others are not touched."""
    with suppress(ImportError):
        from pyspark.logger import PySparkLogger

        for name in _LOGGERS:
            # adding it twice is adding it once
            PySparkLogger.getLogger(name).addFilter(_of_others)


def _of_others(record: logging.LogRecord) -> bool:
    return record.threadName != _THREAD


def _stop(session: Any, tag: str, thread: threading.Thread) -> None:  # noqa: ANN401  # as above
    """Ask Spark to stop what runs under a tag, and wait no longer than a moment for it."""
    if session is None:
        return

    def stop() -> None:
        with suppress(BaseException):
            session.interruptTag(tag)

    # Spark may not hear it either
    stopping = threading.Thread(target=stop, name="spark-stop", daemon=True)
    stopping.start()
    stopping.join(_GRACE)
    thread.join(_GRACE)


def _condition(error: BaseException) -> str:
    """The name of Spark's own condition, in brackets; nothing where it has none.

    >>> _condition(ValueError("secret"))
    ''
    """
    for method in ("getCondition", "getErrorClass"):
        with suppress(Exception):
            name = getattr(error, method)()
            if isinstance(name, str) and _CONDITION.fullmatch(name):
                return f" (Spark's condition: {name})"
    return ""

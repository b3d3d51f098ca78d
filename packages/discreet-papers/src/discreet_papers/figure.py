"""Define a figure of a document: independent cells of work, criteria fixed before the run, and a plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

Row = dict[str, str | float | int]
Verdict = Literal["reproduced", "differs", "refuted", "not run"]


@dataclass(frozen=True)
class Run:
    """Settings of a run.

    With `quick`, there are fewer repetitions; lines, panels, data sets and the range of epsilon stay the same. `data`
    is a folder of Parquet tables, or None to use only tables of installed packages. `method` is a user's method as
    `module:factory`, which is drawn on the same axes.
    """

    quick: bool = False
    data: Path | None = None
    method: str | None = None


@dataclass(frozen=True)
class Cell:
    """An independent piece of work, which can run in any process and in any order.

    `name` must be unique within the figure: the seed is derived from the names of figure and cell. `work` must be a
    top-level function; it is called with `seed` and the arguments, and returns rows of numbers. `arguments` must be
    text, numbers, None or tuples of them.
    """

    name: str
    work: Callable[..., list[Row]]
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Result of a criterion or an erratum.

    `holds` says whether the claim holds, or is None if it could not be evaluated. `measured` contains the numbers.
    """

    holds: bool | None
    measured: str


@dataclass(frozen=True)
class Criterion:
    """An inequality fixed before the run.

    `key` is unique within the figure. `claim` is the inequality as a sentence with its numbers. `check` maps the
    numbers of the figure to an outcome; `holds` is None if the required numbers are missing. If the inequality does not
    hold, the verdict is `otherwise`, and `why` is printed as the reason.
    """

    key: str
    claim: str
    check: Callable[[DataFrame], Outcome]
    otherwise: Literal["differs", "refuted"]
    why: str


@dataclass(frozen=True)
class NumberTable:
    """A table on the page of a figure. Every row is as long as the headers."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """One figure of a document.

    Attributes
    ----------
    name
        Name such as `kalaja-4.1`.
    document
        Key in `figure_catalogue.DOCUMENTS`.
    title
        Short description of the plot.
    says
        The document's claim, in our words.
    choices
        Our choices of parameters that the document leaves open, one sentence each.
    cells
        Returns the cells of a run.
    not_run
        Returns the data or lines that a run omits, one sentence each.
    criteria
        Criteria that decide the verdict.
    draw
        Maps the numbers to a plot.
    tables
        Maps the numbers to tables for the page.
    predictions
        Whether a user's method can be drawn on the same axes.
    pdf
        Whether the plot is also written as PDF, as in its document.
    """

    name: str
    document: str
    title: str
    says: str
    cells: Callable[[Run], Sequence[Cell]]
    criteria: tuple[Criterion, ...]
    draw: Callable[[DataFrame, Run], Picture]
    choices: tuple[str, ...] = ()
    not_run: Callable[[Run], Sequence[str]] = lambda run: ()
    tables: Callable[[DataFrame], Sequence[NumberTable]] = lambda numbers: ()
    predictions: bool = False
    pdf: bool = False


@dataclass(frozen=True)
class Erratum:
    """An incorrect claim of a document, with code that refutes it.

    `number` is the number in the errata table, `document` a key in `figure_catalogue.DOCUMENTS`, and `where` the
    location in the document. `show` evaluates the claim; `holds` is False if the claim is refuted.
    """

    number: int
    document: str
    where: str
    claim: str
    show: Callable[[], Outcome]


def verdict_of(outcomes: Sequence[tuple[Criterion, Outcome]]) -> Verdict:
    """Return the verdict on a figure: the worst over its criteria, or `not run` if one could not be evaluated.

    >>> sound = Criterion("a", "1 < 2", lambda numbers: Outcome(True, "1"), "refuted", "")
    >>> verdict_of([(sound, Outcome(True, "1"))]), verdict_of([(sound, Outcome(False, "3"))])
    ('reproduced', 'refuted')
    """
    verdicts = {
        "reproduced" if outcome.holds else criterion.otherwise
        for criterion, outcome in outcomes
        if outcome.holds is not None
    }
    if "refuted" in verdicts:
        return "refuted"
    if "differs" in verdicts:
        return "differs"
    return "not run" if any(outcome.holds is None for _, outcome in outcomes) else "reproduced"

"""Figures of a document: cells of work, criteria fixed before the run, and a plot."""

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

    Attributes
    ----------
    quick
        Whether to run fewer repetitions. Lines, panels, data sets and the range of epsilon stay the same.
    data
        Folder of Parquet tables. None uses only tables of installed packages.
    method
        A user's method as `module:factory`, drawn on the same axes.
    """

    quick: bool = False
    data: Path | None = None
    method: str | None = None


@dataclass(frozen=True)
class Cell:
    """An independent piece of work, run in any process and in any order.

    Attributes
    ----------
    name
        Unique within the figure. The seed of the cell is derived from the names of figure and cell.
    work
        A top-level function, called with `seed` and the arguments. It returns rows of numbers.
    arguments
        Plain values: text, numbers, None and tuples of them.
    """

    name: str
    work: Callable[..., list[Row]]
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Result of a criterion or an erratum: whether the claim holds (None if it could not be run), and the numbers."""

    holds: bool | None
    measured: str


@dataclass(frozen=True)
class Criterion:
    """An inequality fixed before the run.

    Attributes
    ----------
    key
        Short name, unique within the figure.
    claim
        The inequality as a sentence with its numbers.
    check
        Maps the numbers of the figure to an outcome. `holds` is None if the required numbers are missing.
    otherwise
        The verdict if the inequality does not hold.
    why
        The reason to print if it does not hold.
    """

    key: str
    claim: str
    check: Callable[[DataFrame], Outcome]
    otherwise: Literal["differs", "refuted"]
    why: str


@dataclass(frozen=True)
class NumberTable:
    """A table on the page of a figure.

    Attributes
    ----------
    title
        Description of its numbers, with the unit.
    headers, rows
        Cells as text. Every row is as long as the headers.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """One figure of a document.

    Attributes
    ----------
    name
        For example `kalaja-4.1`.
    document
        Key in `figure_catalogue.DOCUMENTS`.
    title
        Short description of the plot.
    says
        The claim of the document, in our words.
    choices
        Our choice of parameters that the document leaves open, one sentence each.
    cells
        The work of a run.
    not_run
        Data or lines that this run omits, one sentence each.
    criteria
        Criteria that decide the verdict.
    draw
        Maps the numbers to a plot.
    tables
        Maps the numbers to tables for its page.
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
    """An incorrect claim of a document, with code that shows it.

    Attributes
    ----------
    number
        Number in the table of errata, 1 to 30.
    document
        Key in `figure_catalogue.DOCUMENTS`.
    where
        Location in the document.
    claim
        The claim of the document.
    show
        Evaluates the claim. `holds` is False if the claim is refuted.
    """

    number: int
    document: str
    where: str
    claim: str
    show: Callable[[], Outcome]


def verdict_of(outcomes: Sequence[tuple[Criterion, Outcome]]) -> Verdict:
    """Return the verdict on a figure: the worst of its criteria, or not run if one could not be evaluated.

    >>> sound = Criterion("a", "1 < 2", lambda numbers: Outcome(True, "1"), "refuted", "")
    >>> verdict_of([(sound, Outcome(True, "1"))]), verdict_of([(sound, Outcome(False, "3"))])
    ('reproduced', 'refuted')
    """
    found = {
        "reproduced" if outcome.holds else criterion.otherwise
        for criterion, outcome in outcomes
        if outcome.holds is not None
    }
    if "refuted" in found:
        return "refuted"
    if "differs" in found:
        return "differs"
    return "not run" if any(outcome.holds is None for _, outcome in outcomes) else "reproduced"

"""What a figure of a document is: cells of work, criteria fixed before the run, and a picture."""

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
    """How a figure is run.

    Attributes
    ----------
    quick
        Whether repetitions are cut; lines, panels, data sets and the range of epsilon are never cut.
    data
        Folder of Parquet tables; none leaves the tables that installed packages hold.
    method
        A reader's own method as `module:factory`, drawn on the same axes.
    """

    quick: bool = False
    data: Path | None = None
    method: str | None = None


@dataclass(frozen=True)
class Cell:
    """One independent piece of work, done in any process and in any order.

    Attributes
    ----------
    name
        Unique within the figure; the seed of the cell is derived from the names of figure and cell.
    work
        A function at the top of its module, called with `seed` and the arguments; it returns rows of numbers.
    arguments
        Plain values: text, numbers, None and tuples of them.
    """

    name: str
    work: Callable[..., list[Row]]
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a criterion or an erratum found: whether the claim holds (none: could not be run), and the numbers."""

    holds: bool | None
    measured: str


@dataclass(frozen=True)
class Criterion:
    """An inequality fixed before the run.

    Attributes
    ----------
    key
        A short name, unique within the figure.
    claim
        The inequality in words, with its numbers.
    check
        From the numbers of the figure to an outcome; `holds` is None where the numbers it needs are missing.
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
        What its numbers are, with the unit.
    headers, rows
        Cells as text, a row as long as the headers.
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
        Key in `catalogue.DOCUMENTS`.
    title
        What the picture shows, in a few words.
    says
        What the document claims about it, in our words.
    choices
        Parameters that the document leaves open, a sentence each.
    cells
        The work of a run.
    not_run
        Data or lines that this run leaves out, a sentence each.
    criteria
        What decides the verdict.
    draw
        From the numbers to a picture.
    tables
        From the numbers to tables for its page.
    predictions
        Whether a reader's own method can be drawn on the same axes.
    pdf
        Whether the picture is written as PDF too, as its document does.
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
    """A claim of a document that is wrong, with code that shows it.

    Attributes
    ----------
    number
        Number in the table of errata, 1 to 30.
    document
        Key in `catalogue.DOCUMENTS`.
    where
        Place in the document.
    claim
        What the document says.
    show
        Evaluates the claim; `holds` is False where the claim is refuted.
    """

    number: int
    document: str
    where: str
    claim: str
    show: Callable[[], Outcome]


def verdict_of(outcomes: Sequence[tuple[Criterion, Outcome]]) -> Verdict:
    """The verdict on a figure: the worst of its criteria; not run if a criterion could not be evaluated.

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

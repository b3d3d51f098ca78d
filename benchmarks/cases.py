"""What a case is: subjects on the same table, and the figures that are read off them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.measuring import Subject


@dataclass(frozen=True, slots=True)
class Figure:
    """A number to quote: a ratio of two measurements of one case, or one measurement by itself.

    Attributes
    ----------
    name, label
        The key in the results, and what a reader sees.
    top, bottom
        Names of measurements; without a bottom the figure is the top itself, in seconds or MB.
    of
        cpu, wall or memory.
    limit, busy_limit
        What is wanted, at the size of a full run: at most so much; the second where others use the machine.
    least
        Whether larger is better, as in a rival's cost over ours: then at least so much is wanted.
    """

    name: str
    label: str
    top: str
    bottom: str | None = None
    of: str = "cpu"
    limit: float | None = None
    busy_limit: float | None = None
    least: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """Subjects that are measured in turns, and what is read off them.

    Attributes
    ----------
    name, title
        The key in the results, and a heading: what is measured on how much.
    subjects, figures
        What is measured, and what is read off.
    tables
        Names of the tables that the subjects' words hold.
    most
        Most repeats.
    """

    name: str
    title: str
    subjects: tuple[Subject, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[str, ...] = ()
    most: int | None = None


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file that a job of `work.tables` writes; its name ends in `suffix`."""

    job: str
    given: Mapping[str, object]
    suffix: str = ""


def job(name: str, /, **given: object) -> tuple[str, ...]:
    """The words that run a job of `work`."""
    return ("-m", "benchmarks.jobs", name, json.dumps(given))


def ours_on_file(table: str, design: str, *more: str) -> tuple[str, ...]:
    """The words that publish a file by the command line."""
    budget = ("--epsilon", "1", "--delta", "1e-6")
    return ("-m", "discreet", "release", f"{{{table}}}", "--design", f"{{{design}}}", *budget, "--force", "-o", "{out}",
            *more)  # fmt: skip

"""Benchmark cases: subjects measured on the same table, and the figures computed from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.measuring import Subject


@dataclass(frozen=True, slots=True)
class Figure:
    """A number to report: a ratio of two measurements of a case, or a single measurement.

    Attributes
    ----------
    name, label
        Key in the results, and text for readers.
    top, bottom
        Names of measurements. Without a bottom, the figure is the top in seconds or MB.
    of
        cpu, wall or memory.
    limit, busy_limit
        Required maximum at the sizes of a full run. The second applies if other programs use the machine.
    least
        Whether larger is better, as for the cost of a baseline relative to ours. The limit is then a minimum.
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
    """Subjects that are measured in turn, and the figures computed from them.

    Attributes
    ----------
    name, title
        Key in the results, and heading.
    subjects, figures
        Programs to measure, and numbers to compute.
    tables
        Names of the tables that the commands of the subjects refer to.
    most
        Maximum number of repeats.
    """

    name: str
    title: str
    subjects: tuple[Subject, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[str, ...] = ()
    most: int | None = None


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file written by a job of `jobs.tables`. Its name ends in `suffix`."""

    job: str
    given: Mapping[str, object]
    suffix: str = ""


def job(name: str, /, **given: object) -> tuple[str, ...]:
    """Return the command-line arguments that run a job."""
    return ("-m", "benchmarks.jobs", name, json.dumps(given))


def ours_on_file(table: str, design: str, *more: str) -> tuple[str, ...]:
    """Return the command-line arguments that make a release by `gaussian`, in one pass, from a file."""
    budget = ("--epsilon", "1", "--delta", "1e-6", "--mechanism", "gaussian")
    return ("-m", "discreet", "release", f"{{{table}}}", "--design", f"{{{design}}}", *budget, "--force", "-o", "{out}",
            *more)  # fmt: skip

"""One input of the catalogue: how it is made, and what must be said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import discreet
from support.cli_folder import CANARY, DESIGN, PEOPLE, SECRET

LEDGER, DATASET = "books.db", "people"
ROWS = [line.split(",") for line in PEOPLE.strip().split("\n")[1:]]
TABLE: dict[str, list[Any]] = {
    "income": [float(row[0]) for row in ROWS],
    "age": [float(row[1]) for row in ROWS],
    "region": [row[2] for row in ROWS],
    "remark": [row[3] for row in ROWS],
}
# how the options and the ledger are named in every command
BUDGET = ("--delta", "1e-6", "--ledger", LEDGER, "--dataset", DATASET)
CHANGED = "--accept-changed-data"


@dataclass(frozen=True)
class Case:
    """An input.

    Attributes
    ----------
    number, name
        Number in the catalogue, and what it is.
    make
        Writes files into the folder it is given, and gives the words of a command; for `api` it makes the call.
    code
        Expected exit code; 0 for what is accepted.
    says
        A piece of what is said: of the error, or of the output where it is accepted.
    twin
        For what is accepted: a table and a design whose exact sums are the same, made in the same folder.
    api
        Whether `make` is a call of Python, whose error has the exit code.
    """

    number: int
    name: str
    make: Callable[[Path], Any]
    code: int = 2
    says: str = ""
    twin: Callable[[Path], tuple[tuple[object, str], tuple[object, str]]] | None = None
    api: bool = False

    @property
    def id(self) -> str:
        """Its name in a report of the tests."""
        return f"{self.number:03d} {self.name}"


def released(*more: str, data: str = "people.csv", design: str = "design.toml", epsilon: str = "0.5") -> list[str]:
    """The words of a release with the ledger."""
    given = ["release", data, "--design", design, "--epsilon", epsilon, *BUDGET, CHANGED, *more]
    return given if "-o" in more else [*given, "-o", "out.json"]


def command(*words: str) -> Callable[[Path], list[str]]:
    """A command that needs no file of its own."""
    return lambda folder: list(words)


def options(*more: str, **changed: str) -> Callable[[Path], list[str]]:
    """A release with other options."""
    return lambda folder: released(*more, **changed)


def csv(text: str | bytes, *more: str, name: str = "bad.csv", design: str = DESIGN) -> Callable[[Path], list[str]]:
    """A release of a file with this text."""

    def make(folder: Path) -> list[str]:
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
        (folder / "its.toml").write_text(design)
        return released(*more, data=name, design="its.toml")

    return make


def parquet(name: str = "bad.parquet", *, design: str = DESIGN, **columns: object) -> Callable[[Path], list[str]]:
    """A release of a Parquet file with some columns replaced."""

    def make(folder: Path) -> list[str]:
        pq.write_table(pa.table(TABLE | columns), folder / name)
        (folder / "its.toml").write_text(design)
        return released(data=name, design="its.toml")

    return make


def designed(text: str) -> Callable[[Path], list[str]]:
    """A release with a design of this text."""
    return csv(PEOPLE, name="good.csv", design=text)


def twin(
    text: str = PEOPLE, design: str = DESIGN, data: str = "bad.csv"
) -> Callable[[Path], tuple[tuple[object, str], tuple[object, str]]]:
    """The same exact sums as a plain file of this text."""

    def make(folder: Path) -> tuple[tuple[object, str], tuple[object, str]]:
        (folder / "twin.csv").write_text(text)
        given = (folder / "its.toml").read_text() if (folder / "its.toml").exists() else DESIGN
        return (str(folder / data), given), (str(folder / "twin.csv"), design)

    return make


def frame_of(change: Callable[[Any], Any] = lambda frame: frame, **columns: object) -> Any:
    """The table as a pandas frame, changed."""
    import pandas as pd

    return change(pd.DataFrame(TABLE | columns))


def spent(folder: Path, data: object, design: str = DESIGN, **more: Any) -> discreet.Release:
    """A release in Python that the ledger of the folder records."""
    account = discreet.Ledger(folder / LEDGER).account(DATASET, accept_changed_data=True)
    return discreet.release(data, discreet.Design.from_toml(design), epsilon=0.5, delta=1e-6, spend=account, **more)


def python(make: Callable[[], object], design: str = DESIGN, **more: Any) -> Callable[[Path], object]:
    """A release of a table in memory."""
    return lambda folder: spent(folder, make(), design, **more)


def memory_twin(
    make: Callable[[], object], text: str = PEOPLE, design: str = DESIGN
) -> Callable[[Path], tuple[tuple[object, str], tuple[object, str]]]:
    """The same exact sums as a plain file of this text, for a table in memory."""

    def both(folder: Path) -> tuple[tuple[object, str], tuple[object, str]]:
        (folder / "twin.csv").write_text(text)
        return (make(), design), (str(folder / "twin.csv"), design)

    return both


CANARIES: Mapping[str, str] = {"value": CANARY, "its digits": CANARY.partition(".")[0], "text": SECRET}

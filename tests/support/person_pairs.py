"""What each person of a table adds to exact sums, after the cap on the rows of a person, from one reading."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.curator.sums.gram import Sums
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.tables import random_design, random_table

PERSON = "who"


class EachPerson:
    """Keeps the exact sums of every person apart; for tests alone."""

    unit = 1

    def __init__(self, fresh: Callable[[], Sums]) -> None:
        self._fresh = fresh
        self.parts: list[np.ndarray] = []

    def empty(self):
        return self

    def add_persons(self, chunk, starts):
        for rows in np.split(chunk, starts[1:], axis=1):
            sums = self._fresh()
            sums.add(np.ascontiguousarray(rows))
            self.parts.append(np.array(sums.totals(), dtype=object))

    def totals(self):
        return ()


def person_design(rng: np.random.Generator, neighbours: str, **options) -> Design:
    """A random design whose unit is a person of one to four rows that count."""
    drawn = random_design(rng, **options)
    unit = {"id": PERSON, "max_rows": int(rng.integers(1, 5)), "neighbours": neighbours}
    return Design("y", dict(drawn.columns), radius=drawn.radius, unit=unit)


def people(rng: np.random.Generator, design: Design, how_many: int) -> list[dict[str, list[object]]]:
    """Tables of one person each: fewer rows than count, or more; often one row repeated; some rows are dropped."""
    drops = any(column.missing == "drop" for column in design.table_columns.values())
    tables = []
    for number in range(how_many):
        rows = int(rng.integers(1, design.unit.max_rows + 3))
        alike = rng.random() < 0.5
        table = random_table(design, 1 if alike else rows, rng)
        if drops and rng.random() < 0.3:
            table[str(rng.choice(list(table)))][0] = None
        repeated = {name: values * rows if alike else values for name, values in table.items()}
        tables.append({PERSON: [f"person {number:04d}"] * rows, **repeated})
    return tables


def together(tables: list[dict[str, list[object]]]) -> dict[str, list[object]]:
    """One table of all of them."""
    return {name: [cell for table in tables for cell in table[name]] for name in tables[0]}


def totals_of(design: Design, table: dict[str, list[object]], sums: Sums) -> np.ndarray:
    return np.array(
        accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions(), sums).values, dtype=object
    )


def person_changes(
    rng: np.random.Generator, design: Design, fresh: Callable[[], Sums], how_many: int
) -> list[np.ndarray]:
    """Exact changes of the sums as one person comes, goes or is exchanged for another, `how_many` of them.

    What persons add is taken apart in one reading of one table. That it adds up, and that the table without its first
    person differs by one of these changes, is checked against readings of whole tables.
    """
    tables = people(rng, design, how_many + 1)
    each = EachPerson(fresh)
    totals_of(design, together(tables), each)
    whole = totals_of(design, together(tables), fresh())
    assert (sum(each.parts) == whole).all()
    nothing = 0 * whole
    # of a person whose rows are all dropped nothing is left
    parts = each.parts + [nothing] * (len(tables) - len(each.parts))
    first = whole - totals_of(design, together(tables[1:]), fresh())
    assert any((first == part).all() for part in parts)
    # persons come in the order of digests under a key of their own
    parts.sort(key=lambda part: part.tolist())
    order = rng.permutation(len(parts))
    others = [nothing] * how_many if design.unit.neighbours == "add-remove" else [parts[k] for k in order[1:]]
    return [parts[k] - other for k, other in zip(order[:-1], others, strict=True)]

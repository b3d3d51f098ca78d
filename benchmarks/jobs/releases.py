"""Costs of a mechanism in addition to the sums: noise, later passes and linear algebra."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping

import discreet
from benchmarks.jobs import tables
from benchmarks.jobs.sums import BUDGET, alone
from benchmarks.jobs.timing import Seconds, timed

FEW = 100  # rows, so that noise and accounting dominate the cost


def warm_up(name: str, budget: Mapping[str, float] = BUDGET) -> None:
    """Make a small release first, so that one-time loading is not measured."""
    discreet.release(tables.in_memory(FEW, 2), discreet.Design("y", tables.declared(2)), **budget, mechanism=name)


def noise(columns: int) -> dict[str, Seconds]:
    """Time a release of so few rows that noise dominates its cost, and the writing of its file."""
    table = tables.in_memory(FEW, columns)
    design = discreet.Design("y", tables.declared(columns))
    warm_up("gaussian")
    made: list[discreet.Release] = []
    release = timed(lambda: made.append(discreet.release(table, design, **BUDGET, mechanism="gaussian")))
    return {"release": release, "file": timed(made[0].to_json)}


def mechanism(name: str, rows: int, columns: int, *, pure: bool = False) -> dict[str, Seconds]:
    """Time a release by a mechanism with its default settings."""
    table = tables.in_memory(rows, columns)
    design = discreet.Design("y", tables.declared(columns))
    budget = {"epsilon": 1.0} if pure else BUDGET
    warm_up(name, budget)
    return {"release": timed(lambda: discreet.release(table, design, **budget, mechanism=name, compute=alone()))}


def passes(name: str, rows: int, columns: int, settings: dict[str, object]) -> dict[str, Seconds]:
    """Time passes over a table in memory: the single one of `gaussian`, which buffers no rows, and a mechanism's.

    The first pass of a mechanism reads, rounds and buffers the rows. For the later passes the median is reported.
    """
    from discreet.curator.table import Table

    warm_up("gaussian")
    warm_up(name)
    taken: list[Seconds] = []
    sums: Callable[..., object] = Table.sums

    def watched(self: Table, *given: object) -> object:
        found = []
        taken.append(timed(lambda: found.append(sums(self, *given))))
        return found[0]

    Table.sums = watched
    table = tables.in_memory(rows, columns)
    design = discreet.Design("y", tables.declared(columns))
    discreet.release(table, design, **BUDGET, mechanism="gaussian", compute=alone())
    discreet.release(table, design, **BUDGET, mechanism=name, settings=settings, compute=alone())
    only, first, *later = taken
    assert later, "the mechanism made one pass only"
    median = {what: statistics.median(one[what] for one in later) for what in first}
    return {"gaussian": only, "first": first, "later": median}

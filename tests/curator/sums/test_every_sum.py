"""The contract of every kind of sum, and so of every engine: parts that are summed apart add up to the whole."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import operator
import pickle
import pkgutil

import numpy as np
import pytest

import discreet.curator.sums
from discreet.curator.engine import PartSums
from discreet.curator.rows import SettledRows
from discreet.curator.summing import totals_of
from discreet.curator.sums.cell_counts import CellCounts, ColumnCells, DyadicCells, Partition
from discreet.curator.sums.gram import (
    CellSums,
    CodedCategory,
    Coding,
    ExactGram,
    GramWithWeights,
    IndividualSums,
    LevelGram,
    RecodedSums,
    SettledSums,
)
from discreet.curator.sums.huber import CombinedSums, HuberSums
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass, ScoreSum, WeightedGram
from discreet.curator.sums.row_counts import RowCounts
from discreet.curator.sums.scaled_rows import (
    ClippedScores,
    OffsetSum,
    RowNorms,
    Scaling,
    ShrunkRows,
    on_grid,
)
from discreet.curator.sums.staged_rows import ScoredRows, ScoreNorms, StagedGram, StagedScores
from discreet.design.design import Design
from discreet.design.domain import RowDomain

DESIGN = Design("y", {"x": (0, 1), "w": (0, 1), "y": (0, 1)})
SEARCHED = Design("y", {"y": (0, 1), "x": "private"})
WITH_WEIGHTS = Design("y", {"x": (0, 1), "w": (0, 1), "y": (0, 1)}, weights="w")
DOMAIN = RowDomain.of(DESIGN)
SCALING = Scaling((0.0, 0.1), (0.5, 0.7), 4.0, 1)
POINT = (0.1, -0.4, 0.7)
SCORED = ScoredRows(
    DOMAIN, Scaling((0.0, 0.1), (0.5, 0.7), np.inf, 1), 0.1, POINT, None, ((1.0,), (0.2, 0.9), (-0.1, 0.3, 1.1))
)
SCORED_IN_BALL = ScoredRows(DOMAIN, Scaling((0.0, 0.1), (0.5, 0.7), np.inf, 1), 0.1, POINT, 1.5)


def half(residual):
    return np.clip(residual, -0.5, 0.5)


def gram_and_ratio(rows=1):
    return ResidualGram(DOMAIN, 3, POINT, 0.6, rows), RatioSquares(DOMAIN, POINT, 0.5, 0.1, 0.9, rows)


# (1, x, w, y) unless said otherwise
KINDS = {
    "gram": lambda: ExactGram(4, 16),
    "gram of two limbs": lambda: ExactGram(4, 26),
    "products by level": lambda: LevelGram(Coding(6, (0, 1, 5), (CodedCategory(4, 2, (1, 2, 3)),)), 16),
    "products by level of two limbs": lambda: LevelGram(Coding(6, (0, 1, 5), (CodedCategory(4, 2, (1, 2, 3)),)), 26),
    "products with weights": lambda: GramWithWeights(3, RowDomain.of(WITH_WEIGHTS)),
    "cells": lambda: CellCounts(DOMAIN, Partition.of(DESIGN, 3)),
    "cells of columns": lambda: ColumnCells(DOMAIN, [1, 3]),
    "cells of settled rows": lambda: DyadicCells(SEARCHED),
    "scores": lambda: ScoreSum(DOMAIN, 3, POINT, half),
    "weighted products": lambda: WeightedGram(DOMAIN, 3, POINT, np.abs),
    "Huber's loss": lambda: HuberSums(DOMAIN, [1 << 20, -(1 << 21), 12345], 1, 20_000),
    "Huber's loss of large digits": lambda: HuberSums(DOMAIN, [1, 0, 0], 1, 2 * DOMAIN.unit, products=False),
    "Huber's loss without products": lambda: HuberSums(DOMAIN, [5, 6], 2, 9_000, intercept=False, products=False),
    "combined": lambda: CombinedSums([ResidualGram(DOMAIN, 3, POINT, 0.6), ExactGram(4, 16)]),
    "residuals": lambda: gram_and_ratio()[0],
    "ratio": lambda: gram_and_ratio()[1],
    "both of residuals": lambda: ResidualPass(gram_and_ratio()[:1], gram_and_ratio()[1]),
    "both of residuals of persons": lambda: ResidualPass(gram_and_ratio(3)[:1], gram_and_ratio(3)[1]),
    "norms": lambda: RowNorms(DOMAIN, SCALING, [0.5, 1.5]),
    "rows written anew": lambda: ShrunkRows(DOMAIN, SCALING, 1.2, 0.1, [0.2, 0.4]),
    "norms of scores": lambda: ScoreNorms(SCORED, [0.2, 0.8]),
    "rows of staged": lambda: StagedGram(SCORED_IN_BALL, 1.5, [0.2, 0.8]),
    "scores of staged": lambda: StagedScores(SCORED, 0.9, 0.4),
    "scores and products of staged": lambda: StagedScores(SCORED, 0.9, 0.4, products=True),
    "pilot scores of staged": lambda: StagedScores(SCORED_IN_BALL, 0.9),
    # over rows (a, u)
    "clipped scores": lambda: ClippedScores(DOMAIN, on_grid(POINT, DOMAIN), 0.5),
    "offset": lambda: OffsetSum(DOMAIN, on_grid(POINT, DOMAIN), 1.2, 0.4),
}


def rows_for(sums):
    rng = np.random.default_rng(5)
    if isinstance(sums, SettledSums):
        rows = SettledRows(SEARCHED, RowDomain.of(SEARCHED), 200)
        return rows.encoded([rng.random(200), rng.normal(0, 1e4, 200)])
    grid = np.rint(rng.uniform(-1, 1, (4, 200)) * DOMAIN.unit)
    if isinstance(sums, ClippedScores | OffsetSum):
        return ShrunkRows(DOMAIN, SCALING, 1.2, 0.1, [0.2]).recoded(grid)
    grid[0] = DOMAIN.unit
    if isinstance(sums, LevelGram):
        grid[-1] = rng.integers(0, 4, 200)
    if isinstance(sums, GramWithWeights):
        grid[-1] = np.abs(grid[-1])
    return grid


def add(sums, rows, of_a_person=3):
    """A chunk of rows as a table gives them: of persons with so many rows where sums care for persons."""
    if isinstance(sums, RecodedSums):
        rows = sums.recoded(rows)
    if isinstance(sums, IndividualSums):
        sums.add_persons(rows, np.arange(0, rows.shape[1], of_a_person))
    else:
        sums.add(rows)
    return sums


def numbers(totals):
    return totals.values, totals.unit, None if totals.cells is None else totals.cells.tolist()


def finished(sums):
    return totals_of(sums, RowCounts())


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_any_kind_of_sum_add_up_to_the_whole(kind):
    made = KINDS[kind]()
    rows = rows_for(made)
    whole = finished(add(made, rows))
    # ends of persons; one part without any row
    parts = [rows[:, :30], rows[:, 30:30], rows[:, 30:33], rows[:, 33:]]
    own = [KINDS[kind](), *(made.empty() for _ in parts[1:])]
    apart = [finished(add(sums, part) if part.shape[1] else sums) for sums, part in zip(own, parts, strict=True)]
    assert numbers(functools.reduce(operator.add, apart)) == numbers(whole)
    assert numbers(whole) != numbers(finished(made.empty()))
    # negative control: whoever adds a part twice, as one who shares sums would, gets something else
    assert numbers(whole + apart[0]) != numbers(whole)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_empty_has_no_row_and_shares_nothing(kind):
    made = KINDS[kind]()
    first = add(made.empty(), rows_for(made))
    assert numbers(finished(first.empty())) == numbers(finished(made))
    assert type(first.empty()) is type(made)
    assert isinstance(made, CellSums) == isinstance(first.empty(), CellSums)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_without_rows_can_be_sent_to_another_process(kind):
    made = KINDS[kind]()
    sent = pickle.loads(pickle.dumps(made))
    rows = rows_for(made)
    apart = numbers(finished(add(sent.empty(), rows)))
    assert apart == numbers(finished(add(sent, rows))) == numbers(finished(add(made, rows)))


# rows of a chunk of the tests at the edge of 64 bits: as many as weighted products take at once
CHUNK_ROWS = 16_384


def largest_rows(sums):
    """Rows with the largest coordinates of the grid, of both signs, so that totals grow as fast as they can."""
    if isinstance(sums, SettledSums):
        rows = SettledRows(SEARCHED, RowDomain.of(SEARCHED), CHUNK_ROWS)
        return rows.encoded([np.ones(CHUNK_ROWS), np.full(CHUNK_ROWS, 1e4)])
    unit = math.isqrt(sums.unit) if isinstance(sums, ExactGram | LevelGram) else DOMAIN.unit
    rows = np.full((4, CHUNK_ROWS), float(unit))
    rows[1::2] *= -1
    if isinstance(sums, ClippedScores | OffsetSum):
        return ShrunkRows(DOMAIN, SCALING, 1.2, 0.1, [0.2]).recoded(rows)
    if isinstance(sums, LevelGram):
        rows[-1] = 3
    if isinstance(sums, GramWithWeights):
        rows[-1] = RowDomain.of(WITH_WEIGHTS).weight_unit
    return rows


def kept_integers(sums):
    """Every integer that a sum keeps, alone or in arrays: where it is, by its path of names, and its value."""
    found, seen = {}, set()

    def walk(value, path):
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "iO":
                found[path] = value.copy()
        elif type(value) is int:
            found[path] = value
        elif id(value) not in seen:
            seen.add(id(value))
            own = hasattr(value, "__dict__") and type(value).__module__.startswith(("discreet.curator.sums", __name__))
            inside = vars(value) if own else value
            if isinstance(inside, dict | list | tuple):
                for key, one in inside.items() if isinstance(inside, dict) else enumerate(inside):
                    walk(one, (*path, key))

    walk(sums, ())
    return found


def put_integer(sums, path, value):
    for key in path[:-1]:
        sums = vars(sums)[key] if hasattr(sums, "__dict__") else sums[key]
    if hasattr(sums, "__dict__"):
        vars(sums)[path[-1]] = value
    else:
        sums[path[-1]] = value


def countdowns(kept):
    """How much can be added before 64 bits are emptied into unlimited integers, by path."""
    return {path: value for path, value in kept.items() if str(path[-1]).endswith("_until_flush")}


def fill(sums, rows):
    """Add a chunk until 64 bits were emptied three times, and give the number of chunks.

    Where nothing is ever emptied, a quarter of 2^63 rows are added. Chunks are really added where 64 bits are emptied,
    and otherwise what one chunk adds is multiplied. Arrays of 64 bits wrap around here as they do one by one.
    """
    # products by level are emptied after 2^46 rows at 16 bits, which takes too long here, and after 2^36 at 26
    emptied = {path: 0 for path, most in countdowns(kept_integers(sums)).items() if most <= 2**40}
    times, most_times = 0, 2**61 // CHUNK_ROWS - 1
    while min(emptied.values()) < 3 if emptied else times < most_times:
        before = kept_integers(sums)
        add(sums, rows, 1)
        after = kept_integers(sums)
        times += 1
        restarted = [path for path, left in countdowns(after).items() if left > before[path]]
        for path in restarted:
            emptied[path] += 1
        if restarted or before.keys() != after.keys():
            continue
        left = [value // (before[path] - value) for path, value in countdowns(after).items()]
        steps = min([most_times - times, *left])
        for path, value in after.items():
            change = value - before[path]
            if np.any(change):
                put_integer(sums, path, value + change * (np.int64(steps) if isinstance(value, np.ndarray) else steps))
        times += steps
    return times


def at_the_edge(made):
    """What a sum gives at the edge of 64 bits, and what it should give, in Python's integers."""
    rows = largest_rows(made)
    once = finished(add(made.empty(), rows, 1))
    times = fill(made, rows)
    return finished(made), (
        [value * times for value in once.values],
        None if once.cells is None else once.cells * times,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_exact_beyond_64_bits_and_so_are_sums_of_parts(kind):
    """Counts of rows may have 64 bits: no table has 2^63 rows. Everything else has no limit."""
    given, (values, cells) = at_the_edge(KINDS[kind]())
    assert given.values == tuple(values)
    assert np.array_equal(given.cells, cells) if cells is not None else given.cells is None
    part = PartSums(given)
    merged = part + PartSums.unpacked(part.packed()) + part
    assert merged.totals.values == tuple(3 * value for value in values)
    assert np.array_equal(merged.totals.cells, 3 * cells) if cells is not None else merged.totals.cells is None


class NeverEmptied(ExactGram):
    """Wrong: 64 bits are never emptied."""

    def __init__(self, size, grid_bits):
        super().__init__(size, grid_bits)
        self._rows_until_flush = self._flush_after = 2**40


class EmptiedTooLate(HuberSums):
    """Wrong: 64 bits are emptied after more blocks than they hold."""

    def __init__(self, *given):
        super().__init__(*given)
        self._blocks_until_flush = 2**12


class ScoresOf64Bits(ScoreSum):
    """Wrong: chunks are added in 64 bits."""

    def __init__(self, *given):
        super().__init__(*given)
        self._wrong = np.zeros(3, dtype=np.int64)

    def add(self, chunk):
        self._wrong += self.rows(chunk).sum(axis=1).astype(np.int64)

    def totals(self):
        return tuple(self._wrong.tolist())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: NeverEmptied(4, 16),
        lambda: EmptiedTooLate(DOMAIN, [1, 0, 0], 1, 2 * DOMAIN.unit),
        lambda: ScoresOf64Bits(DOMAIN, 3, POINT, half),
    ],
)
def test_a_sum_that_leaves_64_bits_is_seen(wrong):
    """Negative controls; each gives what its base gives while the sums are small."""
    made = wrong()
    rows = largest_rows(made)
    right = type(made).__mro__[1](*made._made_from[0])
    assert finished(add(wrong(), rows)).values == finished(add(right, rows)).values
    given, (values, _) = at_the_edge(made)
    assert given.values != tuple(values)


def test_no_kind_of_sum_is_left_out():
    modules = [
        importlib.import_module(f"discreet.curator.sums.{module.name}")
        for module in pkgutil.iter_modules(discreet.curator.sums.__path__)
    ]
    named = {
        one
        for module in modules
        for _, one in inspect.getmembers(module, inspect.isclass)
        if hasattr(one, "unit") and hasattr(one, "totals") and not getattr(one, "_is_protocol", False)
    }
    assert named == {type(make()) for make in KINDS.values()}

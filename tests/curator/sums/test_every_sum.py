"""The contract of every kind of sum, and so of every engine: parts that are summed apart add up to the whole."""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import pickle
import pkgutil

import numpy as np
import pytest

import discreet.curator.sums
from discreet.curator.rows import SettledRows
from discreet.curator.summing import totals_of
from discreet.curator.sums.cells import CellCounts, Partition
from discreet.curator.sums.clipped_scores import ClippedScores, OffsetSum, on_grid
from discreet.curator.sums.column_cells import ColumnCells
from discreet.curator.sums.dyadic_cells import DyadicCells
from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.huber import CombinedSums, HuberSums
from discreet.curator.sums.level_gram import CodedCategory, Coding, LevelGram
from discreet.curator.sums.protocol import CellSums, PersonSums, RecodedSums, SettledSums
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass
from discreet.curator.sums.sample_weights import GramWithWeights
from discreet.curator.sums.scaled_rows import RowNorms, Scaling, ShrunkRows
from discreet.curator.sums.scores import ScoreSum, WeightedGram
from discreet.curator.sums.weighted_rows import WeightedMoments, WeightedResiduals, Weighting
from discreet.design.domain import RowDomain
from discreet.design.model import Design

DESIGN = Design("y", {"x": (0, 1), "w": (0, 1), "y": (0, 1)})
SEARCHED = Design("y", {"y": (0, 1), "x": "private"})
WITH_WEIGHTS = Design("y", {"x": (0, 1), "w": (0, 1), "y": (0, 1)}, weights="w")
DOMAIN = RowDomain.of(DESIGN)
SCALING = Scaling((0.0, 0.1), (0.5, 0.7), 4.0, 1)
WEIGHTING = Weighting(DOMAIN, Scaling((0.0, 0.1), (0.5, 0.7), np.inf, 1), 1.5, 0.1, 0.8)
POINT = (0.1, -0.4, 0.7)


def half(residual):
    return np.clip(residual, -0.5, 0.5)


def gram_and_ratio(rows=1):
    return ResidualGram(DOMAIN, 3, POINT, 0.6, rows), RatioSquares(DOMAIN, POINT, 0.5, 0.1, 0.9, rows)


# (1, x, w, y) unless said otherwise
KINDS = {
    "gram": lambda: ExactGram(4, 16),
    "gram of two limbs": lambda: ExactGram(4, 26),
    "products by level": lambda: LevelGram(Coding(6, (0, 1, 5), (CodedCategory(4, 2, (1, 2, 3)),)), 16),
    "products with weights": lambda: GramWithWeights(3, RowDomain.of(WITH_WEIGHTS)),
    "cells": lambda: CellCounts(DOMAIN, Partition.of(DESIGN, 3)),
    "cells of columns": lambda: ColumnCells(DOMAIN, [1, 3]),
    "cells of settled rows": lambda: DyadicCells(SEARCHED),
    "scores": lambda: ScoreSum(DOMAIN, 3, POINT, half),
    "weighted products": lambda: WeightedGram(DOMAIN, 3, POINT, np.abs),
    "Huber's loss": lambda: HuberSums(DOMAIN, [1 << 20, -(1 << 21), 12345], 1, 20_000),
    "Huber's loss without products": lambda: HuberSums(DOMAIN, [5, 6], 2, 9_000, intercept=False, products=False),
    "combined": lambda: CombinedSums([ResidualGram(DOMAIN, 3, POINT, 0.6), ExactGram(4, 16)]),
    "residuals": lambda: gram_and_ratio()[0],
    "ratio": lambda: gram_and_ratio()[1],
    "both of residuals": lambda: ResidualPass(gram_and_ratio()[:1], gram_and_ratio()[1]),
    "both of residuals of persons": lambda: ResidualPass(gram_and_ratio(3)[:1], gram_and_ratio(3)[1]),
    "norms": lambda: RowNorms(DOMAIN, SCALING, [0.5, 1.5]),
    "rows written anew": lambda: ShrunkRows(DOMAIN, SCALING, 1.2, 0.1, [0.2, 0.4]),
    "weighted rows": lambda: WeightedMoments(WEIGHTING),
    "weighted rows without fourth moments": lambda: WeightedMoments(WEIGHTING, fourth=False),
    "weighted residuals": lambda: WeightedResiduals(WEIGHTING, POINT, 0.7),
    "weighted residuals of persons": lambda: WeightedResiduals(WEIGHTING, POINT, 0.7, 3),
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


def add(sums, rows):
    """A chunk of rows as a table gives them: persons of three rows where sums care for persons."""
    if isinstance(sums, RecodedSums):
        rows = sums.recoded(rows)
    if isinstance(sums, PersonSums):
        sums.add_persons(rows, np.arange(0, rows.shape[1], 3))
    else:
        sums.add(rows)
    return sums


def numbers(totals):
    return totals.values, totals.unit, None if totals.cells is None else totals.cells.tolist()


def finished(sums):
    return totals_of(sums, 0, ())


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

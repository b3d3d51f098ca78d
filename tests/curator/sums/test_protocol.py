"""Totals: they add, state what a step of them is worth, and show their numbers to nobody."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.curator.sums.cell_counts import CellCounts, Partition
from discreet.curator.sums.gram import ExactGram, Totals, common_unit
from discreet.curator.sums.huber import CombinedSums, HuberSums, digit_bits
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass, ScoreSum, WeightedGram
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError

DESIGN = Design("y", {"x": (-1, 1), "y": (-1, 1)})
HALF, QUARTER, EIGHTH = Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)


def test_totals_add_up_by_value_count_and_clipped_rows():
    whole = Totals((1, 2, 3), 4**16, RowCounts(5, (4, 1), (1, 0))) + Totals(
        (10, 20, 30), 4**16, RowCounts(7, (5, 2), (2, 4))
    )
    assert (whole.values, whole.unit, whole.counts.units, whole.counts.clipped) == ((11, 22, 33), 4**16, 12, (3, 4))
    assert whole.counts.fitting == (9, 3)


def every_count() -> RowCounts:
    """Counts with another number in every slot, so that a slot that a method forgets is seen."""
    return RowCounts(units=7, fitting=(11, 13), clipped=(17, 19))


def numbers_of(counts):
    return {name: value if isinstance(value, int) else sum(value) for name, value in counts.packed().items()}


def test_every_count_is_added_packed_raised_and_released():
    counts, defaults = every_count(), numbers_of(RowCounts())
    assert set(counts.packed()) == set(RowCounts.__slots__)
    assert all(number != defaults[name] for name, number in numbers_of(counts).items()), "fill the new slot above"
    assert numbers_of(counts + counts) == {name: 2 * number for name, number in numbers_of(counts).items()}
    assert RowCounts.unpacked(json.loads(json.dumps(counts.packed()))).packed() == counts.packed()
    assert counts.replaced(clipped=(1, 2)).packed() == {**counts.packed(), "clipped": (1, 2)}
    raised = counts.raised(3)
    # the number of units may be public, and every other count has a block of noise
    assert raised.units == counts.units
    raises = [one - other for block in counts.by_block for one, other in
              zip(raised.by_block[block], counts.by_block[block], strict=True)]  # fmt: skip
    assert raises == [3] * 4
    assert sum(map(len, counts.by_block.values())) == sum(
        1 if isinstance(one, int) else len(one) for name, one in counts.packed().items() if name != "units"
    )


@pytest.mark.parametrize(
    "other",
    [
        Totals((1, 2, 3), 4**17, RowCounts(1, clipped=(0,))),
        Totals((1, 2), 4**16, RowCounts(1, clipped=(0,))),
        Totals((1, 2, 3), 4**16, RowCounts(1)),
    ],
    ids=["unit", "columns", "clipped"],
)
def test_totals_of_different_designs_do_not_add(other):
    one = Totals((1, 2, 3), 4**16, RowCounts(1, clipped=(0,)))
    with pytest.raises(SpecError, match="only if they have equal units and columns"):
        one + other


def test_totals_never_show_or_serialise_their_numbers():
    totals = Totals((918273, 2, 3), 4**16, RowCounts(918273))
    assert "918273" not in repr(totals) + str(totals)
    for serialise in (pickle.dumps, copy.copy, copy.deepcopy, Totals.__getstate__):
        with pytest.raises(TypeError, match="never serialised"):
            serialise(totals)
    counts = RowCounts(918273, (918273, 0), (918273,))
    assert "918273" not in repr(counts) + str(counts)
    for serialise in (pickle.dumps, copy.copy, copy.deepcopy, RowCounts.__getstate__):
        with pytest.raises(TypeError, match="never serialised"):
            serialise(counts)
    for hand_out in (dataclasses.asdict, dataclasses.astuple, dataclasses.fields, vars, iter):
        with pytest.raises(TypeError):
            hand_out(totals)
        with pytest.raises(TypeError):
            hand_out(counts)


def test_totals_cannot_be_changed_and_equal_only_themselves():
    totals = Totals((1, 2, 3), 4**16, RowCounts(1))
    with pytest.raises(AttributeError, match="cannot be changed"):
        totals.values = ()
    with pytest.raises(AttributeError):
        totals.extra = 1
    with pytest.raises(AttributeError, match="cannot be changed"):
        del totals.counts
    assert totals.values == (1, 2, 3)
    assert totals != Totals((1, 2, 3), 4**16, RowCounts(1))


def test_on_a_finer_grid_every_value_is_worth_the_same():
    totals = Totals((3, -5, 2**90), 2**8, RowCounts(1))
    for unit in (2**8, 3 * 2**8, 4**16, 2**90):
        assert [Fraction(value, unit) for value in totals.on_grid(unit)] == [
            Fraction(value, 2**8) for value in totals.values
        ]


@pytest.mark.parametrize("unit", [0, 1, 2**7, 2**8 + 1, 3 * 2**7])
def test_a_grid_on_which_values_would_be_rounded_is_refused(unit):
    with pytest.raises(SpecError, match=f"multiple of 256 steps in one scaled unit, got {unit}"):
        Totals((918273,), 2**8, RowCounts(918273)).on_grid(unit)


def kinds_of_sums(grid_bits):
    """Each kind of sum, and what it makes of the row x = 1/2, y = 1/4 at coefficients 0, in scaled units."""
    domain = RowDomain.of(DESIGN, grid_bits)
    unit, zeros = domain.unit, [0.0, 0.0]

    def halved(residuals):
        return np.full_like(residuals, 0.5)

    gram = [1, HALF, QUARTER, QUARTER, EIGHTH, Fraction(1, 16)]
    residuals = ResidualGram(domain, 2, zeros, 0.5), [QUARTER, EIGHTH, Fraction(1, 16)]
    squares = RatioSquares(domain, zeros, 0.0, 0.0, 0.125), [QUARTER]
    digits = 2 * 26 // digit_bits(2, grid_bits) + 1
    huber = [QUARTER, EIGHTH, 1, HALF, QUARTER]

    def huber_sums(*, products=True):
        return HuberSums(domain, [0, 0], digits, unit, products=products)

    return {
        "gram": (ExactGram(3, grid_bits), gram),
        "scores": (ScoreSum(domain, 2, zeros, halved), [HALF, QUARTER]),
        "weighted gram": (WeightedGram(domain, 2, zeros, halved), [value / 4 for value in gram]),
        "residuals": residuals,
        "ratio squares": squares,
        "residual pass": (
            ResidualPass([ResidualGram(domain, 2, zeros, 0.5)], RatioSquares(domain, zeros, 0.0, 0.0, 0.125)),
            [*residuals[1], *squares[1]],
        ),
        "huber": (huber_sums(), huber),
        "huber scores": (huber_sums(products=False), huber[:2]),
        "combined": (CombinedSums([huber_sums(products=False), huber_sums()]), [*huber[:2], *huber]),
        "cells": (CellCounts(domain, Partition.of(DESIGN, 2)), [0, 0, 0, 1]),
    }


@pytest.mark.parametrize("grid_bits", [8, 16, 26])
@pytest.mark.parametrize("kind", list(kinds_of_sums(8)))
def test_a_total_over_the_unit_that_its_sum_states_is_its_value_in_scaled_units(kind, grid_bits):
    sums, scaled = kinds_of_sums(grid_bits)[kind]
    unit = 2**grid_bits
    sums.add(np.array([[1.0, 1.0], [0.5, 0.5], [0.25, 0.25]]) * unit)
    assert [Fraction(total, sums.unit) for total in sums.totals()] == [2 * value for value in scaled]


def test_sums_of_one_pass_have_one_unit():
    domain = RowDomain.of(DESIGN)
    gram, scores = ExactGram(3, 16), ScoreSum(domain, 2, [0.0, 0.0], np.ones_like)
    assert common_unit([gram, ExactGram(2, 16)]) == 4**16
    with pytest.raises(SpecError, match="expected sums in one unit, got 2 units"):
        common_unit([gram, scores])
    with pytest.raises(SpecError, match="expected sums in one unit, got 2 units"):
        _ = CombinedSums([gram, scores]).unit


def test_counts_by_cell_add_up_and_others_have_none():
    one, two = (
        Totals((), 1, RowCounts(3), cells=np.array([[1, 2]])),
        Totals((), 1, RowCounts(4), cells=np.array([[0, 4]])),
    )
    assert (one + two).cells.tolist() == [[1, 6]]
    assert (Totals((1,), 1, RowCounts(1)) + Totals((2,), 1, RowCounts(1))).cells is None
    with pytest.raises(SpecError, match="only if they have equal units and columns"):
        one + Totals((), 1, RowCounts(1))

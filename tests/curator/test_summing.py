"""The one function that every engine calls: it depends on its arguments alone, and parts add up."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from discreet.curator.rows import row_size
from discreet.curator.summing import summed, table_rows
from discreet.curator.sums.cell_counts import DyadicCells
from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DataError

DESIGN = Design(
    "y",
    {
        "y": (0, 1),
        "x": {"bounds": (0, 1), "missing": "drop"},
        "g": {"levels": ["a", "b", "c"], "missing": {"fill": "a"}},
        "lx": {"formula": "log(x + 1)"},
    },
)
DOMAIN = RowDomain.of(DESIGN)
SIZE = len(DESIGN.released)


def batch(seed, rows=500):
    rng = np.random.default_rng(seed)
    x = [None if cell < 0 else cell for cell in rng.uniform(-0.1, 1.2, rows)]
    return pa.record_batch({"x": x, "y": rng.random(rows), "g": rng.choice(["a", "b", "c", "d"], rows)})


def everything(totals):
    return totals.values, totals.unit, totals.counts.packed()


def test_batches_that_are_summed_apart_add_up():
    batches = [batch(seed) for seed in range(4)]
    whole = summed(batches, DESIGN, DOMAIN, ExactGram(SIZE, 16), clip_counts=True)
    parts = [
        summed(part, DESIGN, DOMAIN, ExactGram(SIZE, 16), chunk_rows=7, clip_counts=True)
        for part in (batches[3:], batches[:1], [], [batches[2].slice(100), batches[1], batches[2].slice(0, 100)])
    ]
    assert everything(parts[0] + parts[1] + parts[2] + parts[3]) == everything(whole)
    assert whole.counts.units == 2000
    assert 0 < whole.counts.fitting[1] < 2000
    assert sum(whole.counts.clipped) > 0
    assert everything(parts[0] + parts[1]) != everything(whole)


def test_what_it_is_given_can_be_sent_to_another_process():
    arguments = [batch(1)], DESIGN, DOMAIN, ExactGram(SIZE, 16)
    sent = pickle.loads(pickle.dumps(arguments))
    assert everything(summed(*sent)) == everything(summed(*arguments))


def test_every_chunk_can_be_taken_as_it_is_summed():
    taken = []
    totals = summed(
        [batch(2)], DESIGN, DOMAIN, ExactGram(SIZE, 16), chunk_rows=64, take=lambda c: taken.append(c.copy())
    )
    assert sum(chunk.shape[1] for chunk in taken) == totals.counts.fitting[0]
    gram = ExactGram(SIZE, 16)
    gram.add(np.concatenate(taken, axis=1))
    assert gram.totals() == totals.values


def test_rows_are_settled_cells_where_bounds_are_to_be_found():
    design = Design("y", {"y": (0, 1), "x": "private"})
    domain = RowDomain.of(design)
    assert row_size(design) == 5
    assert table_rows(design, domain, 10).capacity == 10
    rows = pa.record_batch({"y": [0.5, 0.25], "x": [1e3, 2.0]})
    totals = summed([rows], design, domain, DyadicCells(design), clip_counts=True)
    assert totals.values[-1] == 2
    assert totals.counts.clipped == ()


def test_a_cell_that_stops_a_release_stops_it():
    design = Design("y", {"y": (0, 1), "x": (0, 1)})
    with pytest.raises(DataError, match="column 'x'"):
        summed([batch(3)], design, RowDomain.of(design), ExactGram(3, 16))

"""Rows of a table on the grid, sums over them, and runs of mechanisms that read a table several times."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.accounting.settings import checked_settings
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.curator.table import accumulate
from discreet.design.domain import RowDomain
from discreet.mechanisms.protocol import RunContext
from discreet.privacy.budget import PrivacyBudget
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions

COLUMNS = {"x": (-1, 1), "b": bool, "g": ["a", "b", "c"], "y": (-1, 1)}


class Kept:
    """Keeps the rows (1, x, y) themselves; for tests alone."""

    unit = 1

    def __init__(self):
        self.chunks = []

    def empty(self):
        return self

    def add(self, chunk):
        self.chunks.append(chunk.copy())

    def totals(self):
        return ()


def grid_rows(table, design, grid_bits=16):
    """The rows (1, x, y) of a table in grid steps, shape (p, rows)."""
    kept = Kept()
    accumulate(open_source(table), design, RowDomain.of(design, grid_bits), ComputeOptions(), kept)
    return np.concatenate(kept.chunks, axis=1)


def summed(sums, rows):
    """The exact totals of a fresh `sums` over rows."""
    sums.add(np.ascontiguousarray(rows))
    return sums.totals()


def neighbours_of(rows, index, relation):
    """Two sets of rows that differ in the row at `index`: left out, or exchanged for the last one; the rest is kept."""
    rest = np.delete(rows[:, :-1], index, axis=1)
    one = np.concatenate([rest, rows[:, [index]]], axis=1)
    return (one, rest) if relation == "add-remove" else (one, np.concatenate([rest, rows[:, [-1]]], axis=1))


def losses(one, other, sigmas) -> Fraction:
    """Sum of squared changes over squared noise, exactly."""
    return sum((Fraction((a - b) ** 2, s**2) for a, b, s in zip(one, other, sigmas, strict=True)), start=Fraction(0))


class NoNoise:
    """Draws zeros, NOT PRIVATE."""

    private = False

    def draw(self, sigmas):
        return [0] * len(sigmas)


def prepared(mechanism, design, epsilon=1.0, delta=1e-6, sampler=None, grid_bits=16, **given):
    """A job of a mechanism."""
    domain = RowDomain.of(design, grid_bits)
    settings = checked_settings(mechanism.name, mechanism.info.settings, given)
    distribution = mechanism.noise_model(design, domain, PrivacyBudget(epsilon, delta), settings)
    return RunContext(design, domain, distribution, settings, sampler or NoNoise())


def carried_out(mechanism, context, rows):
    """What a mechanism publishes for rows in grid steps."""
    passes = mechanism.passes(context)
    sums = next(passes)
    while True:
        try:
            sums = passes.send(Totals(summed(sums, rows), sums.unit, RowCounts(rows.shape[1])))
        except StopIteration as done:
            return done.value


def simulated(rows, rng, *, outliers=0.1):
    x, b = rng.uniform(-1, 1, rows), rng.random(rows) < 0.4
    g = rng.choice(["a", "b", "c"], rows)
    y = 0.1 + 0.4 * x - 0.2 * b + 0.15 * (g == "b") + rng.normal(0, 0.1, rows)
    y[rng.random(rows) < outliers] = 1.0
    return {"x": x, "b": b, "g": g, "y": np.clip(y, -1, 1)}

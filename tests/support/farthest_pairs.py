"""A search for the two rows of a design whose products are farthest apart, in units of the noise of each entry."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.spatial.distance import cdist

from discreet.design.columns import Boolean, Numeric
from discreet.design.design import Design
from support.iterative_runs import grid_rows

# rows compared with each other in a round, and rounds; each round draws rows near the best of the one before
ROWS, ROUNDS = 400, 7


def farthest_rows(design: Design, scales, metric: str, seed: int = 0) -> tuple[dict[str, list[object]], ...]:
    """Two tables of one row each: `metric` is `euclidean` or `cityblock`, of changes over scales; 0 is left out."""
    rng = np.random.default_rng(seed)
    drawn = _drawn(design, rng)
    best, found = -1.0, None
    for spread in 0.4 ** np.arange(1, ROUNDS + 1):
        table = {name: [_cell(design.table_columns[name], value) for value in drawn[name]] for name in drawn}
        points = _products(design, table, scales)
        distances = cdist(points, points, metric)
        indices = np.divmod(np.argsort(distances, axis=None)[::-1][:40], ROWS)
        if distances.max() > best:
            best = distances.max()
            found = tuple({name: [values[index[0]]] for name, values in table.items()} for index in indices)
        near = rng.choice(np.unique(indices), ROWS)
        drawn = {name: _moved(design.table_columns[name], values[near], spread, rng) for name, values in drawn.items()}
    return found


def _products(design: Design, table, scales) -> np.ndarray:
    rows = grid_rows(table, design)
    pairs = itertools.combinations_with_replacement(range(len(rows)), 2)
    return np.array([rows[i] * rows[j] / s for (i, j), s in zip(pairs, scales, strict=True) if s]).T


def _drawn(design: Design, rng) -> dict[str, np.ndarray]:
    """Scaled numbers, at their ends for the most part; numbers of levels."""
    out = {}
    for name, column in design.table_columns.items():
        if isinstance(column, Numeric):
            out[name] = np.clip(rng.uniform(-2, 2, ROWS), -1, 1)
        else:
            out[name] = rng.integers(0, 2 if isinstance(column, Boolean) else len(column.levels), ROWS).astype(float)
    return out


def _moved(column, values: np.ndarray, spread: float, rng) -> np.ndarray:
    if isinstance(column, Numeric):
        # half of the numbers stay
        return np.clip(values + spread * rng.normal(size=ROWS) * (rng.random(ROWS) < 0.5), -1, 1)
    return values


def _cell(column, value: float) -> object:
    if isinstance(column, Numeric):
        return column.mid + column.half * float(value)
    return bool(value) if isinstance(column, Boolean) else column.levels[int(value)]

"""Exact changes of sums between neighbouring tables: every pair of units that can be made of a few rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.privacy.budget import PrivacyUnit

UNITS = tuple(
    PrivacyUnit(neighbours=neighbours, id=None if rows == 1 else "person", max_rows=rows)
    for neighbours in ("add-remove", "replace")
    for rows in (1, 2)
)
Totals = tuple[int, ...]


def corner_rows(domain, *, booleans: int = 0) -> np.ndarray:
    """Rows (1, x, y) at corners of the box, booleans last among x, and some inside it; in grid steps."""
    ends = [(-1.0, 1.0)] * domain.numeric + [(0.0, 1.0)] * booleans + [(-1.0, 1.0)]
    rows = [(1.0, *corner) for corner in itertools.product(*ends)]
    inside = [tuple(np.linspace(0.3, 0.7, len(ends)).tolist()), tuple(np.linspace(0.1, 0.0, len(ends)).tolist())]
    scaled = np.array([*rows, *((1.0, *row) for row in inside)]).T * domain.unit
    return np.rint(scaled)


def contributions(fresh: Callable[[], Any], rows: np.ndarray, unit: PrivacyUnit) -> list[Totals]:
    """What every unit of at most `max_rows` of these rows, alike or not, adds to the totals; an empty one is first."""
    found = []
    for size in range(unit.max_rows + 1):
        for chosen in itertools.combinations_with_replacement(range(rows.shape[1]), size):
            sums = fresh()
            chunk = np.ascontiguousarray(rows[:, list(chosen)])
            if size and unit.id is not None and hasattr(sums, "add_persons"):
                sums.add_persons(chunk, np.array([0]))
            elif size:
                sums.add(chunk)
            found.append(sums.totals())
    return found


def largest(measure: Callable[[Totals], int], added: Sequence[Totals], unit: PrivacyUnit) -> int:
    """The largest measure of a change between neighbouring tables whose units add these totals."""
    others = added[:1] if unit.neighbours == "add-remove" else added
    return max(measure(tuple(a - b for a, b in zip(one, other, strict=True))) for one in added for other in others)


def l1(change: Totals) -> int:
    return sum(abs(value) for value in change)


def squares(change: Totals) -> int:
    return sum(value * value for value in change)


def most(change: Totals) -> int:
    return max(abs(value) for value in change)


def frobenius(size: int) -> Callable[[Totals], int]:
    """Squared Frobenius norm of a symmetric matrix from its upper triangle."""
    weights = [1 if i == j else 2 for i in range(size) for j in range(i, size)]
    return lambda change: sum(w * value * value for w, value in zip(weights, change, strict=True))


def bounds(found: int, sensitivity: float, unit: int, *, power: int = 1) -> tuple[bool, bool]:
    """Whether the largest change is at most a sensitivity in scaled units; and at most half of it, which it is not."""
    return tuple(found <= (Fraction(claim) * unit) ** power for claim in (sensitivity, sensitivity / 2))

"""Releases made in a test: exact sums of rows on the grid, with or without noise, by code that shares nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.design.columns import Boolean, Numeric
from discreet.design.design import Design
from discreet.privacy.guarantee import Guarantee
from discreet.releases import BLOCKS, NoiseDistribution, Release, block_of

FOUR_FEATURES = Design("y", {"y": (0, 10), "a": (-1, 1), "b": (0, 4), "c": (10, 30), "flag": bool})


@dataclass(frozen=True)
class Made:
    """A release, and the rows it was made of: whole grid steps and exact numbers in original units, by name."""

    release: Release
    steps: dict[str, list[int]]
    rows: dict[str, list[Fraction]]

    def matrix(self, names: Sequence[str], *, intercept: bool = True) -> np.ndarray:
        """The named columns as floats, the constant first."""
        columns = [[float(value) for value in self.rows[name]] for name in names]
        return np.column_stack(([np.ones(len(self.rows[names[0]]))] if intercept else []) + columns)


def made(
    design: Design,
    table: Mapping[str, Sequence[object]],
    *,
    grid_bits: int = 16,
    sigma: Mapping[str, float] | float = 0.0,
    seed: int = 0,
    guarantee: Guarantee | None = None,
    units_public: bool = False,
) -> Made:
    """Round rows to the grid, sum their products in integers, add noise of `sigma` scaled units."""
    unit = 2**grid_bits
    count = len(next(iter(table.values())))
    steps: dict[str, list[int]] = {"1": [unit] * count}
    rows: dict[str, list[Fraction]] = {"1": [Fraction(1)] * count}
    for name, column in design.columns.items():
        if isinstance(column, Numeric):
            mid, half = Fraction(column.mid), Fraction(column.half)
            scaled = [(Fraction(value) - mid) / half for value in table[name]]
            assert all(-1 <= value <= 1 for value in scaled), "test rows lie inside the bounds"
            steps[name] = [round(value * unit) for value in scaled]
            rows[name] = [mid + half * Fraction(step, unit) for step in steps[name]]
        elif isinstance(column, Boolean):
            steps[name] = [unit * int(value) for value in table[name]]
            rows[name] = [Fraction(int(value)) for value in table[name]]
        else:
            for level in column.levels:
                if level != column.reference:
                    steps[f"{name}[{level}]"] = [unit * (value == level) for value in table[name]]
                    rows[f"{name}[{level}]"] = [Fraction(value == level) for value in table[name]]
    names = design.released
    size = len(names)
    distribution = {
        block: round((sigma if not isinstance(sigma, Mapping) else sigma[block]) * unit**2) for block in BLOCKS
    }
    if units_public:
        distribution["count"] = 0
    random = np.random.default_rng(seed)
    totals = []
    for i in range(size):
        for j in range(i, size):
            exact = sum(a * b for a, b in zip(steps[names[i]], steps[names[j]], strict=True))
            totals.append(exact + round(distribution[block_of(i, j, size)] * random.standard_normal()))
    release = Release(
        design=design,
        guarantee=guarantee,
        mechanism="gaussian" if guarantee else "none",
        mechanism_version="1",
        noise=NoiseDistribution(grid_bits, distribution, "gaussian" if guarantee else "none"),
        totals=tuple(totals),
        units_public=count if units_public else None,
        anchor="untracked",
        made_by="a test",
    )
    return Made(release, steps, rows)


def exact_least_squares(
    y: Sequence[Fraction], columns: Sequence[Sequence[Fraction]], ridge: Sequence[Fraction] | None = None
) -> list[Fraction]:
    """Coefficients in rational arithmetic, by Gaussian elimination of the normal equations."""
    size = len(columns)
    table = [
        [sum(a * b for a, b in zip(columns[i], columns[j], strict=True)) for j in range(size)]
        + [sum(a * b for a, b in zip(columns[i], y, strict=True))]
        for i in range(size)
    ]
    for i in range(size):
        table[i][i] += ridge[i] if ridge else 0
    for i in range(size):
        for j in range(size):
            if j != i:
                ratio = Fraction(table[j][i]) / table[i][i]
                table[j] = [a - ratio * b for a, b in zip(table[j], table[i], strict=True)]
    return [table[i][-1] / table[i][i] for i in range(size)]


def digits(got: Sequence[float], wanted: Sequence[object]) -> float:
    """Decimal digits to which the worst of the coefficients agrees; 16 where all are equal."""
    errors = [
        abs(Fraction(value) - Fraction(true)) / (abs(Fraction(true)) or 1)
        for value, true in zip(got, wanted, strict=True)
    ]
    worst = float(max(errors))
    return 16.0 if worst == 0 else -np.log10(worst)


def four_features(count: int, seed: int = 0) -> dict[str, list[object]]:
    """Rows of `FOUR_FEATURES` on a line, with noise of standard deviation 0.5."""
    random = np.random.default_rng(seed)
    a, b, c = random.uniform(-1, 1, count), random.uniform(0, 4, count), random.uniform(10, 30, count)
    flag = random.random(count) < 0.5
    y = np.clip(5 + a + 0.3 * b - 0.05 * (c - 20) + flag + random.normal(0, 0.5, count), 0, 10)
    return {name: values.tolist() for name, values in {"y": y, "a": a, "b": b, "c": c, "flag": flag}.items()}

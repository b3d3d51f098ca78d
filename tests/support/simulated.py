"""Simulated tables for coverage: exact moments once, then noise of the mechanism's distribution as often as wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import discreet
from discreet.mechanisms.registry import chosen_mechanism
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import NoiseDistribution
from discreet.releases.reference_distribution import NotEstimable
from discreet.testing.not_private import exact_release

INTERCEPT, RESIDUAL_SD = 0.5, 0.5


@dataclass(frozen=True)
class Population:
    """x uniform on [-1, 1]^d, slopes of length 1 with one of them 0 if d > 1, Gaussian errors; y within 4 deviations.

    Clipping y there moves the coefficients by less than 1e-4, which is below a twentieth of every width studied.
    """

    d: int

    @property
    def beta(self) -> np.ndarray:
        slopes = np.array([(-1.0) ** j for j in range(self.d)])
        if self.d > 1:
            slopes[-1] = 0.0
        return slopes / np.linalg.norm(slopes)

    @property
    def truth(self) -> dict[str, float]:
        return {"Intercept": INTERCEPT, **{f"x{j}": float(value) for j, value in enumerate(self.beta)}}

    @property
    def rsquared(self) -> float:
        return (1 / 3) / (1 / 3 + RESIDUAL_SD**2)

    @property
    def bound(self) -> float:
        return INTERCEPT + 4 * float(np.sqrt(1 / 3 + RESIDUAL_SD**2))

    def design(self, **options) -> discreet.Design:
        names = {f"x{j}": (-1, 1) for j in range(self.d)}
        return discreet.Design("y", {"y": (-self.bound, self.bound), **names}, **options)

    def table(self, n: int, random: np.random.Generator) -> dict[str, np.ndarray]:
        X = random.uniform(-1, 1, (n, self.d))
        y = INTERCEPT + X @ self.beta + random.normal(0, RESIDUAL_SD, n)
        return {"y": y, **{f"x{j}": X[:, j] for j in range(self.d)}}


class NoisyReleases:
    """Releases of one exact one at many budgets, with noise of the distribution that the mechanism would use."""

    def __init__(self, design: discreet.Design, epsilons, delta: float = 1e-6, mechanism: str = "gaussian") -> None:
        self.distributions = {
            one: chosen_mechanism(design, PrivacyBudget(one, delta), ReleaseOptions(mechanism=mechanism))[2]
            for one in epsilons
        }
        self.design = design
        self._steps = {
            one: np.array([float(s) for s in distribution.steps(len(design.released))])
            for one, distribution in self.distributions.items()
        }

    def exact(self, table) -> discreet.Release:
        return exact_release(table, self.design)

    def at(self, exact: discreet.Release, epsilon: float, random: np.random.Generator) -> discreet.Release:
        distribution, steps = self.distributions[epsilon], self._steps[epsilon]
        noise = (steps * _variates(distribution, random, len(steps))).round().tolist()
        totals = [total + int(value) for total, value in zip(exact.totals, noise, strict=True)]
        return replace(exact, noise=distribution, totals=tuple(distribution.with_copies(totals, len(exact.columns))))


def _variates(distribution: NoiseDistribution, random: np.random.Generator, count: int) -> np.ndarray:
    """Variates of unit scale: normal, Laplace, or the first coordinates of a K-norm vector."""
    if distribution.family == "discrete-laplace":
        return random.laplace(size=count)
    if distribution.family == "k-norm":
        normals = random.standard_normal(max(distribution.parameters["dimension"], count))
        length = random.gamma(distribution.parameters["dimension"])
        return length * normals[:count] / np.linalg.norm(normals)
    return random.standard_normal(count)


@dataclass
class Tally:
    """Counts of one cell: intervals asked for, released, covering; widths; tests of a true 0; R^2; predictions."""

    asked: int = 0
    released: int = 0
    covered: int = 0
    tests: int = 0
    rejected: int = 0
    r2_released: int = 0
    r2_covered: int = 0
    r2_informative: int = 0
    new_released: int = 0
    new_covered: int = 0

    def __post_init__(self) -> None:
        self.widths: list[float] = []

    def add(self, fit: discreet.Fit | None, population: Population, fresh=None) -> None:
        """Count one fit; none where the sums were refused as a whole."""
        self.count(fit, population.truth)
        if fit is None:
            return
        ends = fit.rsquared_conf_int()
        if not isinstance(ends, NotEstimable):
            self.r2_released += 1
            self.r2_covered += ends.contains(population.rsquared)
            self.r2_informative += ends.upper - ends.lower < 1
        if fresh is not None and not any(isinstance(sd, NotEstimable) for sd in fit.bse.values()):
            table = {name: values for name, values in fresh.items() if name != "y"}
            sets = fit.get_prediction(table).conf_int(obs=True)
            self.new_released += len(sets)
            self.new_covered += sum(one.contains(y) for one, y in zip(sets, fresh["y"], strict=True))

    def count(self, fit: discreet.Fit | None, truth: dict[str, float]) -> None:
        """Count the intervals and the tests of the true values."""
        self.asked += len(truth)
        if fit is None:
            return
        for name, ends in fit.conf_int().items():
            if not isinstance(ends, NotEstimable):
                self.released += 1
                self.covered += ends.contains(truth[name])
                if ends.bounded:
                    self.widths.append(ends.upper - ends.lower)
        for p in fit.t_test(truth).pvalue.values():
            if not isinstance(p, NotEstimable):
                self.tests += 1
                self.rejected += p < 0.05


def fitted(release: discreet.Release) -> discreet.Fit | None:
    model = discreet.fit(release)
    return model if model.estimable else None


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f}" if whole else "    -"

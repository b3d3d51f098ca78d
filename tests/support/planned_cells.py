"""Tables to plan for: what a planner would state of each, and rows to hold the plan against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import discreet
from discreet.analyst.planning.expected import Plan
from discreet.testing.not_private import exact_release
from support.simulated import NoisyReleases

SHARES = {"a": 0.55, "b": 0.25, "c": 0.10, "d": 0.07, "e": 0.03}
Table = dict[str, np.ndarray]


@dataclass(frozen=True)
class Cell:
    """One design with rows, budget, and a table that is drawn anew as often as wanted."""

    name: str
    columns: dict[str, object]
    draw: Callable[[int, np.random.Generator], Table]
    rows: int
    epsilon: float
    delta: float = 1e-6
    mechanism: str = "gaussian"
    correlated: tuple[tuple[str, str], ...] = ()
    options: dict[str, object] = field(default_factory=dict)

    @property
    def design(self) -> discreet.Design:
        return discreet.Design("y", self.columns, **self.options)

    def stated(self, *, slopes: bool = False) -> dict[str, object]:
        """What a planner who knows the population states: shares, means, sds and correlations after clipping, and R^2.

        They are read off half a million rows that no release is made of. With `slopes` also the coefficients, from
        which R^2 follows.
        """
        design, table = self.design, self.draw(500_000, np.random.default_rng(99))
        assume: dict[str, dict[str, object]] = {}
        values = {}
        for name, column in design.columns.items():
            if column.formula is not None and name != "y":
                continue
            if hasattr(column, "bounds"):
                values[name] = np.clip(table[name], *column.bounds)
                assume[name] = {"mean": float(values[name].mean()), "sd": float(values[name].std())}
            elif hasattr(column, "levels"):
                assume[name] = {"share": {level: float(np.mean(table[name] == level)) for level in column.levels}}
            else:
                values[name] = table[name].astype(float)
                assume[name] = {"share": float(values[name].mean())}
        correlation = {(a, b): float(np.corrcoef(values[a], values[b])[0, 1]) for a, b in self.correlated} or None
        full = discreet.fit(exact_release(table, design), intercept=True)
        if not slopes:
            return {"assume": assume, "correlation": correlation, "rsquared": full.rsquared}
        for name in design.regressors:
            column = design.columns[name]
            found = {one: full.params[one] for one in column.released(name)}
            slope = (
                {one[len(name) + 1 : -1]: value for one, value in found.items()} if name not in found else found[name]
            )
            assume.setdefault(name, {})["slope"] = slope
        return {"assume": assume, "correlation": correlation}

    def plan(self, **stated: object) -> Plan:
        budget = {"epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism}
        return discreet.plan(self.design, rows=self.rows, **budget, **(stated or self.stated()))

    def real(self, tables: int, noises: int, seed: int = 1) -> tuple[dict[str, float], dict[str, float]]:
        """Median standard error and share of bounded intervals of each coefficient, over tables and noises."""
        random = np.random.default_rng(seed)
        noisy = NoisyReleases(self.design, [self.epsilon], self.delta, self.mechanism)
        errors, bounded = [], []
        for _ in range(tables):
            exact = noisy.exact(self.draw(self.rows, random))
            for _ in range(noises):
                release = noisy.at(exact, self.epsilon, random)
                errors.append(standard_errors(release))
                bounded.append(has_interval(release))
        names = self.plan_names()
        medians = dict(zip(names, np.median(errors, axis=0).tolist(), strict=True))
        return medians, dict(zip(names, np.mean(bounded, axis=0).tolist(), strict=True))

    def plan_names(self) -> list[str]:
        return ["Intercept", *self.design.released[1:-1]][not self.design.intercept :]


def standard_errors(release: discreet.Release) -> list[float]:
    """What the public path says, infinite where it says nothing."""
    return [error if isinstance(error, float) else np.inf for error in discreet.fit(release).bse.values()]


def has_interval(release: discreet.Release) -> np.ndarray:
    """Whether the public path gives an interval."""
    return np.array([ends.kind == "interval" for ends in discreet.fit(release).conf_int().values()])


def treatment(n: int, random: np.random.Generator) -> Table:
    x, t = random.uniform(-1, 1, n), random.random(n) < 0.02
    return {"x": x, "t": t, "y": 0.5 + x + 0.8 * t + random.normal(0, 0.6, n)}


def levels(n: int, random: np.random.Generator) -> Table:
    g = random.choice(list(SHARES), n, p=list(SHARES.values()))
    x = random.uniform(0, 10, n)
    shift = np.select([g == level for level in SHARES], [0.0, 1.0, -1.0, 2.0, 3.0])
    return {"g": g, "x": x, "y": 20 + 1.5 * x + shift + random.normal(0, 4, n)}


def correlated(n: int, random: np.random.Generator, second: float = 2.0) -> Table:
    z = random.normal(size=(n, 2))
    a, b = z[:, 0], 0.9 * z[:, 0] + np.sqrt(1 - 0.81) * z[:, 1]
    return {"a": 50 + 12 * a, "b": 100 + 30 * b, "y": 10 + 3 * a + second * b + random.normal(0, 5, n)}


def opposed(n: int, random: np.random.Generator) -> Table:
    return correlated(n, random, -2.0)


def lognormal(n: int, random: np.random.Generator) -> Table:
    x, w = np.exp(random.normal(0, 0.8, n)), random.normal(0, 1, n)
    return {"x": x, "w": w, "y": 2 + 1.2 * x + w + random.normal(0, 2, n)}


def squares(n: int, random: np.random.Generator) -> Table:
    x = random.uniform(0, 60, n)
    return {"x": x, "y": 5 + 0.6 * x - 0.008 * x**2 + random.normal(0, 3, n)}


def mixed(n: int, random: np.random.Generator) -> Table:
    table = correlated(n, random)
    g = random.choice(list(SHARES), n, p=list(SHARES.values()))
    t = random.random(n) < 0.05
    return table | {"g": g, "t": t, "y": table["y"] + 3 * t + 2.0 * (g == "e")}


TREATMENT = {"x": (-1, 1), "t": bool, "y": (-3, 4)}
LEVELS = {"g": list(SHARES), "x": (0, 10), "y": (0, 50)}
CORRELATED = {"a": (0, 100), "b": (0, 200), "y": (-20, 40)}
LOGNORMAL = {"x": (0, 6), "w": (-4, 4), "y": (-8, 16)}
SQUARES = {"x": (0, 60), "x2": {"formula": "x ** 2"}, "old": {"formula": "x >= 40"}, "y": (0, 35)}
PAIR = (("a", "b"),)

CELLS = [
    Cell("2% boolean", TREATMENT, treatment, 10_000, 1.0),
    Cell("2% boolean", TREATMENT, treatment, 100_000, 0.5),
    Cell("five levels", LEVELS, levels, 20_000, 2.0),
    Cell("five levels", LEVELS, levels, 100_000, 0.5),
    Cell("correlated 0.9", CORRELATED, correlated, 10_000, 5.0, correlated=PAIR),
    Cell("correlated 0.9", CORRELATED, correlated, 100_000, 1.0, correlated=PAIR),
    Cell("lognormal", LOGNORMAL, lognormal, 10_000, 1.0),
    Cell("lognormal", LOGNORMAL, lognormal, 2_000, 5.0),
    Cell("mixed", CORRELATED | {"g": list(SHARES), "t": bool}, mixed, 100_000, 2.0, correlated=PAIR),
    Cell("2% boolean, pure", TREATMENT, treatment, 100_000, 1.0, 0.0, "laplace"),
    Cell("no intercept", LOGNORMAL, lognormal, 20_000, 1.0, options={"intercept": False}),
    Cell("radius", LOGNORMAL, lognormal, 20_000, 1.0, options={"radius": 0.8}),
    Cell("replace", LEVELS, levels, 50_000, 1.0, options={"unit": {"neighbours": "replace"}}),
    Cell("wishart", LOGNORMAL, lognormal, 50_000, 2.0, mechanism="wishart"),
]
# slopes of opposite signs on correlated columns: no other assumption tells them
OPPOSED = [
    Cell("opposed", CORRELATED, opposed, 100_000, 1.0, correlated=PAIR),
    Cell("square, condition", SQUARES, squares, 100_000, 5.0),
]

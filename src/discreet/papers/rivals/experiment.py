"""The runs that check the rivals against their papers: public tables where they are there, simulated ones elsewhere."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.papers.figure import Row
from discreet.papers.kalaja.algorithms import averaged, mirrored
from discreet.papers.kalaja.preprocessing import Recipe, prepared
from discreet.papers.rivals.boosted import BoostedAdaSSP
from discreet.papers.rivals.gradient_descent import AdaptiveClipping, followed
from discreet.papers.rivals.hessian_mixing import HessianMixing
from discreet.papers.rivals.rows import BoxedRegressor
from discreet.papers.rivals.tukey import TukeyEM
from discreet.papers.tables import regression_table
from discreet.privacy import mu_from

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

SINGLE: Final = "AdaSSP (one round), correct noise"
TEN: Final = "boosted, 10 rounds, correct noise"
HUNDRED: Final = "boosted, 100 rounds, correct noise"
SCRIPT: Final = "boosted, 100 rounds, noise of the public script (NOT PRIVATE at this epsilon)"
MIXING: Final = "iterative Hessian mixing, exact accounting"
THIRDS: Final = "AdaSSP, a third of epsilon and delta each, as in the paper"
EXACT: Final = "AdaSSP, exact composition"
LEAST: Final = "least squares, no privacy"
ADAPTIVE: Final = "adaptive clip"
BEST: Final = "best fixed clip in hindsight"
TUKEY: Final = "TukeyEM, correct test"
CLIPS: Final = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SIGMA_LAW: Final = 1.0  # sd of the log of the norms that a clip follows
CLIENTS: Final = 100


# Any: settings of rivals have several types
def _method(kind: type[BoxedRegressor], epsilon: float, delta: float, **settings: Any) -> BoxedRegressor:  # noqa: ANN401
    """A rival that is given rows in the unit ball and needs no box."""
    return kind(epsilon=epsilon, delta=delta, bounds=[(-1.0, 1.0)], target_bounds=(-1.0, 1.0), **settings)


def _halves(rows: int, share: float, rng: np.random.Generator) -> tuple[Any, Any]:
    order = rng.permutation(rows)
    held_out = round(rows * share)
    return order[held_out:], order[:held_out]


@lru_cache(maxsize=16)
def steep_table(rows: int = 20_000) -> tuple[FloatArray, FloatArray]:
    """A simulated table whose rows have norm about 1 and whose target reaches far beyond 1, as a codebook may hide."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((rows, 5)) / math.sqrt(5)
    return x, x @ np.array([6.0, -4.0, 3.0, 2.0, 0.0]) + 0.5 * rng.standard_normal(rows)


def table_of(name: str, folder: str | None) -> tuple[FloatArray, FloatArray]:
    """A table by its name; `steep` is simulated."""
    return steep_table() if name == "steep" else regression_table(name, None if folder is None else Path(folder))


def boosted(seed: int, table: str, folder: str | None, epsilon: float, repeats: int) -> list[Row]:
    """Test error with clips of 1 for rows and target that nobody chose with the data: Tang et al., fixed clips."""
    rng = np.random.default_rng(seed)
    x, y = table_of(table, folder)
    a = x / np.maximum(np.linalg.norm(x, axis=1), 1.0)[:, None]
    delta, found = 1e-6, []
    for repeat in range(repeats):
        train, test = _halves(len(y), 0.2, rng)
        made = {
            SINGLE: _method(BoostedAdaSSP, epsilon, delta, rounds=1).coefficients(a[train], y[train], rng),
            TEN: _method(BoostedAdaSSP, epsilon, delta, rounds=10).coefficients(a[train], y[train], rng),
            HUNDRED: _method(BoostedAdaSSP, epsilon, delta, rounds=100).coefficients(a[train], y[train], rng),
            SCRIPT: _Script(epsilon=epsilon, delta=delta, bounds=[(-1.0, 1.0)], target_bounds=(-1.0, 1.0), rounds=100)
            .coefficients(a[train], y[train], rng),
        }  # fmt: skip
        found += [
            _row(table, line, epsilon, repeat, float(np.mean((y[test] - a[test] @ theta) ** 2) / np.var(y[test])))
            for line, theta in made.items()
        ]
    return found


class _Script(BoostedAdaSSP):
    """The noise of the public script: mu itself as standard deviation, in every round."""

    def noise(self) -> tuple[float, float]:
        """Standard deviations as the script has them."""
        mu = mu_from(self.epsilon, self.delta)
        return mu, mu


def _row(panel: str, line: str, epsilon: float, repeat: int, value: float) -> Row:
    return {"panel": panel, "line": line, "epsilon": epsilon, "repeat": repeat, "value": value}


def mixing(seed: int, table: str, folder: str | None, epsilon: float, repeats: int) -> list[Row]:
    """Test error with rows by Wang's recipe and delta = 1/n^2: Lev et al., against AdaSSP in two accountings."""
    rng = np.random.default_rng(seed)
    x, y = table_of(table, folder)
    found = []
    for repeat in range(repeats):
        train, test = _halves(len(y), 0.2, rng)
        made = prepared(x, y, train, test, Recipe("row", "all"))
        delta = len(train) ** -2.0
        lines = {
            LEAST: np.linalg.lstsq(made.x, made.y, rcond=None)[0],
            MIXING: _method(HessianMixing, epsilon, delta).coefficients(made.x, made.y, rng),
            THIRDS: _adassp(made.x, made.y, 1 / mu_from(epsilon / 3, delta / 3), mirrored, delta, rng),
            EXACT: _adassp(made.x, made.y, math.sqrt(3) / mu_from(epsilon, delta), averaged, delta, rng),
        }
        found += [
            _row(table, line, epsilon, repeat, float(np.mean((made.test_y - made.test_x @ theta) ** 2)))
            for line, theta in lines.items()
        ]
    return found


def _adassp(x: FloatArray, y: FloatArray, sd: float, noise: Any, delta: float, rng: np.random.Generator) -> FloatArray:  # noqa: ANN401
    """AdaSSP with noise of this standard deviation on each of its three statistics; failure probability delta / 10."""
    size = x.shape[1]
    gram = x.T @ x
    tail = math.sqrt(2 * math.log(20 / delta))
    at_least = max(0.0, np.linalg.eigvalsh(gram)[0] + sd * (rng.standard_normal() - tail))
    ridge = max(0.0, sd * math.sqrt(size * math.log(20 * size**2 / delta)) - at_least)
    noisy = gram + sd * noise(rng, 1, size)[0] + ridge * np.eye(size)
    return np.asarray(np.linalg.solve(noisy, x.T @ y + sd * rng.standard_normal(size)), dtype=np.float64)


def followed_quantile(seed: int, target: float, rounds: int, repeats: int) -> list[Row]:
    """The clip that follows a quantile of lognormal norms, count noise a twentieth of the number of clients."""
    rng = np.random.default_rng(seed)
    found: list[Row] = []
    for repeat in range(repeats):
        clip = 0.1
        for turn in range(rounds):
            norms = rng.lognormal(0.0, SIGMA_LAW, CLIENTS)
            share = float(np.mean(norms <= clip)) + rng.standard_normal() / 20
            clip = followed(clip, share, target=target)
            found.append({"panel": "clip", "line": f"{target:g}", "round": turn + 1, "repeat": repeat, "value": clip})
    return found


def clipped_descent(seed: int, table: str, folder: str | None, epsilon: float, repeats: int) -> list[Row]:
    """Test error of gradient descent with the adaptive clip and with every fixed one."""
    rng = np.random.default_rng(seed)
    x, y = table_of(table, folder)
    bounds = list(zip(x.min(axis=0).tolist(), x.max(axis=0).tolist(), strict=True))
    limits = (float(y.min()), float(y.max()))
    found = []
    for repeat in range(repeats):
        train, test = _halves(len(y), 0.1, rng)
        for clip in (None, *CLIPS):
            model = AdaptiveClipping(
                epsilon=epsilon, delta=1e-6, bounds=bounds, target_bounds=limits, fixed_clip=clip,
                seed=int(rng.integers(2**62)),
            )  # fmt: skip
            predicted = model.fit(x[train], y[train]).predict(x[test])
            value = float(np.mean((y[test] - predicted) ** 2) / np.var(y[test]))
            found.append(_row(table, ADAPTIVE if clip is None else f"clip {clip:g}", epsilon, repeat, value))
    return found


def tukey(seed: int, models: int, rows: int, repeats: int) -> list[Row]:
    """R2 on the simulated table of Amin et al. at epsilon = log 3, delta = 1e-5, and least squares on the same rows."""
    from sklearn.datasets import make_regression

    found: list[Row] = []
    for repeat in range(repeats):
        x, y = make_regression(rows, n_features=10, n_informative=10, noise=10, random_state=(seed + repeat) % 2**32)
        a = np.column_stack([x, np.ones(rows)])
        rng = np.random.default_rng([seed, repeat])
        method = _method(TukeyEM, math.log(3), 1e-5, models=models)
        theta = method.coefficients(a, y, rng)
        plain = np.linalg.lstsq(a, y, rcond=None)[0]
        for line, rule in ((TUKEY, theta), (LEAST, plain)):
            r2 = 1 - float(np.mean((y - a @ rule) ** 2) / np.var(y))
            found.append({"panel": f"{rows:,} rows", "line": line, "models": models, "repeat": repeat, "value": r2,
                          "failed": int(not theta.any())})  # fmt: skip
    return found

"""Width and coverage of releases by `staged`, on the cells that its page quotes."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.design.design import Design
from discreet.testing import seeded_release

ROWS, RELEASES = 10_000, 400
SHARES = [0.4, 0.25, 0.15, 0.08, 0.05, 0.04, 0.02, 0.01]


def normal(rng, wide=1.0):
    """Five normal columns with correlation 1/2, bounds at five standard deviations or farther."""
    x = rng.normal(size=(ROWS, 5)) @ np.linalg.cholesky(0.5 + 0.5 * np.eye(5)).T
    slopes = np.linspace(1, 0, 5)
    names = [f"x{j}" for j in range(5)]
    table = {**dict(zip(names, x.T, strict=True)), "y": x @ slopes + rng.normal(size=ROWS)}
    columns = dict.fromkeys(names, (-5 * wide, 5 * wide)) | {"y": (-12 * wide, 12 * wide)}
    return table, Design("y", columns), dict(zip(names, slopes, strict=True))


def levels(rng):
    """Eight unbalanced levels and one normal column."""
    which, x, effects = rng.choice(8, ROWS, p=SHARES), rng.normal(size=ROWS), np.linspace(0, 1, 8)
    names = [f"l{k}" for k in range(8)]
    y = 0.5 * x + effects[which] + rng.normal(size=ROWS)
    table = {"x": x, "g": [names[k] for k in which], "y": y}
    truth = {"x": 0.5} | {f"g[{name}]": float(effect) for name, effect in zip(names, effects, strict=True)}
    return table, Design("y", {"x": (-5, 5), "g": names, "y": (-8, 8)}), truth


def multiplied(rng):
    """A linear mean with skewed multiplicative errors."""
    x = rng.normal(size=(ROWS, 2))
    mean = 2 + 0.5 * x[:, 0].clip(-3, 3) + 0.25 * x[:, 1].clip(-3, 3)
    y = mean * np.exp(0.8 * rng.normal(size=ROWS) - 0.32)
    design = Design("y", {"x0": (-3, 3), "x1": (-3, 3), "y": (0, 60)})
    return {"x0": x[:, 0], "x1": x[:, 1], "y": y}, design, {"x0": 0.5, "x1": 0.25}


CELLS = {
    "normal": (normal, 1.45),
    "bounds five times as wide": (lambda rng: normal(rng, 5.0), 1.5),
    "eight levels": (levels, 1.8),
    "skewed errors": (multiplied, 2.2),
}


def least_squares_errors(table, design, *, robust):
    """Standard errors of least squares by name, robust where errors are not equally variable."""
    names, parts = ["1"], [np.ones(ROWS)]
    for name in design.regressors:
        if name == "g":
            codes = np.array(table["g"])
            for k in range(1, 8):
                names.append(f"g[l{k}]")
                parts.append((codes == f"l{k}").astype(float))
        else:
            names.append(name)
            parts.append(np.clip(table[name], *design.columns[name].bounds))
    X, y = np.column_stack(parts), np.clip(table["y"], *design.columns["y"].bounds)
    H = np.linalg.inv(X.T @ X)
    residual = y - X @ (H @ (X.T @ y))
    scores = X * residual[:, None]
    covariance = H @ (scores.T @ scores) @ H if robust else H * (residual @ residual / (ROWS - len(names)))
    return dict(zip(names, np.sqrt(np.diag(covariance)), strict=True))


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("cell", CELLS)
def test_width_and_coverage(cell):
    """Coverage is that of all slopes: its standard error over 400 releases is at most 1.1 points."""
    make, widest = CELLS[cell]
    widths, covered, bounded = [], [], []
    for seed in range(RELEASES):
        table, design, truth = make(np.random.default_rng([977, seed]))
        made = seeded_release(table, design, seed=seed, epsilon=1.0, delta=1e-6, mechanism="staged")
        sets, errors = discreet.fit(made).conf_int(), least_squares_errors(table, design, robust=make is multiplied)
        for name, value in truth.items():
            if name not in sets:
                continue
            ends = sets[name]
            bounded.append(ends.bounded)
            covered.append(ends.contains(value))
            widths.append((ends.upper - ends.lower) / (2 * 1.96 * errors[name]) if ends.bounded else np.inf)
    width, coverage, share = float(np.median(widths)), float(np.mean(covered)), float(np.mean(bounded))
    print(f"\n{cell}: {width:.2f} times least squares, coverage {coverage:.1%}, bounded {share:.1%}")
    assert width <= widest
    assert 0.935 <= coverage <= 0.995
    assert share >= 0.98

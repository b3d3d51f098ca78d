"""Compare predictions of `refined` with published AdaSSP on tables in a folder, by the ratio of their excess errors.

Run: python benchmarks/refined.py FOLDER [--splits K] [--widen F] [--tables NAME ...] [--mechanism NAME]
     [--unit-rows] [--seed N]

Each file NAME.parquet has numeric columns x0, x1, ... and y. Every row is one individual under add-remove, and
delta = n^-1.1 for n training rows. Bounds are the range of the table, widened by the factor F. This protocol suits
public tables and gives no guarantee: a real design is declared without looking at the data. With --unit-rows the table
is prepared as in the code of AdaSSP: standardised columns, rows of length 1, a centred target of at most 1, no
intercept. The error is the median over splits of 1 - R^2 on the held-out tenth of the rows. The excess over least
squares is at least 0.002. The noise is seeded: NOT PRIVATE.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import discreet
from discreet.testing import seeded_release

EPSILONS = (0.1, 0.3, 1.0, 3.0)
LEAST, MOST = 0.002, 10.0
# tables that were not used to choose constants
CHECK_SET = ("randhie", "protein", "energy", "housing")
Box = tuple[np.ndarray, np.ndarray]
# public ranges of the columns and of the target; None for rows of length 1 without an intercept
Boxes = tuple[Box, Box] | None
Predictor = Callable[[np.ndarray], np.ndarray]


def widened(values: np.ndarray, factor: float) -> Box:
    """Widen the range of each column around its midpoint."""
    low, high = values.min(axis=0), values.max(axis=0)
    return (low + high) / 2 - factor * (high - low) / 2, (low + high) / 2 + factor * (high - low) / 2


def released(
    x: np.ndarray, y: np.ndarray, boxes: Boxes, budget: tuple[float, float], seed: int, mechanism: str
) -> Predictor:
    """Predict by a mechanism of the library, from moments by the posterior mean."""
    if boxes is None:
        ranges = {f"x{j}": (-1.0, 1.0) for j in range(x.shape[1])}
        design = discreet.Design("y", {**ranges, "y": (-1.0, 1.0)}, intercept=False, radius=1.0)
    else:
        (x_low, x_high), (y_low, y_high) = boxes
        ranges = {f"x{j}": (float(a), float(b)) for j, (a, b) in enumerate(zip(x_low, x_high, strict=True))}
        design = discreet.Design("y", {**ranges, "y": (float(y_low), float(y_high))})
    table = {**{f"x{j}": x[:, j] for j in range(x.shape[1])}, "y": y}
    epsilon, delta = budget
    release = seeded_release(table, design, seed=seed, epsilon=epsilon, delta=delta, mechanism=mechanism)
    fit = discreet.fit(release, penalty="bayes" if release.kind == "moments" else "none")
    return lambda new: fit.predict({f"x{j}": new[:, j] for j in range(new.shape[1])})


def adassp(
    x: np.ndarray, y: np.ndarray, boxes: Boxes, budget: tuple[float, float], rng: np.random.Generator
) -> Predictor:
    """Predict by AdaSSP with the constants of its published code, on rows of length at most 1."""
    if boxes is None:
        theta = adassp_coefficients(x, y, x.shape[1], budget, rng)
        return lambda new: new @ theta
    (x_low, x_high), (y_low, y_high) = boxes

    def rows(values: np.ndarray) -> np.ndarray:
        scaled = np.clip(2 * (values - x_low) / (x_high - x_low) - 1, -1, 1)
        return np.column_stack([np.ones(len(values)), scaled]) / math.sqrt(x.shape[1] + 1)

    target = np.clip(2 * (y - y_low) / (y_high - y_low) - 1, -1, 1)
    theta = adassp_coefficients(rows(x), target, x.shape[1], budget, rng)
    return lambda new: y_low + (rows(new) @ theta + 1) * (y_high - y_low) / 2


def adassp_coefficients(
    used: np.ndarray, target: np.ndarray, columns: int, budget: tuple[float, float], rng: np.random.Generator
) -> np.ndarray:
    """Compute AdaSSP coefficients for rows of length and targets of size at most 1. `columns` sets the target ridge."""
    size, (epsilon, delta) = used.shape[1], budget
    third, log = epsilon / 3, math.log(6 / delta)
    sd = math.sqrt(log) / third
    gram = used.T @ used
    upper = np.triu(rng.normal(0, sd / math.sqrt(2), (size, size)), 1)
    noise = upper + upper.T + np.diag(rng.normal(0, sd, size))
    least = max(np.linalg.eigvalsh(gram)[0] + sd * rng.normal() - log / third, 0.0)
    wanted = math.sqrt(columns * log * math.log(2 * columns**2 / 0.05)) / third
    ridge = max(0.0, wanted - least) * np.eye(size)
    return np.linalg.solve(gram + noise + ridge, used.T @ target + rng.normal(0, sd, size))


def unit_rows(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide standardised columns by the row length, and the centred target by its largest absolute value."""
    standard, centred = (x - x.mean(axis=0)) / x.std(axis=0), y - y.mean()
    return standard / np.linalg.norm(standard, axis=1, keepdims=True), centred / np.abs(centred).max()


def errors(
    x: np.ndarray, y: np.ndarray, epsilon: float, boxes: Boxes, seeds: tuple[int, int], mechanism: str
) -> tuple[float, float, float]:
    """Return the median 1 - R^2 on held-out rows of least squares, AdaSSP and the mechanism.

    `seeds` holds the number of splits and the seed of the noise.
    """
    splits, noise = seeds
    found = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(y))
        held, kept = order[: len(y) // 10], order[len(y) // 10 :]
        budget = epsilon, len(kept) ** -1.1
        ones = x if boxes is None else np.column_stack([np.ones(len(y)), x])
        theta = np.linalg.lstsq(ones[kept], y[kept], rcond=None)[0]
        rng = np.random.default_rng([split, int(10 * epsilon), *([noise] if noise else [])])
        predictors = (
            adassp(x[kept], y[kept], boxes, budget, rng),
            released(x[kept], y[kept], boxes, budget, 10_000 * noise + 100 * split + int(10 * epsilon), mechanism),
        )
        predicted = [ones[held] @ theta, *(predictor(x[held]) for predictor in predictors)]
        found.append([min(float(np.mean((y[held] - one) ** 2) / y[held].var()), MOST) for one in predicted])
    least_squares, published, ours = np.median(found, axis=0).tolist()
    return least_squares, published, ours


def main() -> None:
    """Print a line for each table and epsilon, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--widen", type=float, default=1.2)
    parser.add_argument("--rows", type=int, default=1000, help="leave out tables with fewer rows")
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--mechanism", default="refined")
    parser.add_argument("--unit-rows", action="store_true")
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise; splits do not depend on it")
    asked = parser.parse_args()
    ratios: dict[tuple[bool, float], list[float]] = {}
    worse = cells = 0
    for path in sorted(asked.folder.glob("*.parquet")):
        table = pq.read_table(path)
        if table.num_rows < asked.rows or (asked.tables and path.stem not in asked.tables):
            continue
        y = table["y"].to_numpy()
        x = np.column_stack([table[name].to_numpy() for name in table.column_names if name != "y"])
        x, y = unit_rows(x, y) if asked.unit_rows else (x, y)
        boxes = None if asked.unit_rows else (widened(x, asked.widen), widened(y, asked.widen))
        for epsilon in asked.epsilons:
            ols, published, ours = errors(x, y, epsilon, boxes, (asked.splits, asked.seed), asked.mechanism)
            excess = [max(one - ols, LEAST) for one in (published, ours)]
            ratios.setdefault((path.stem in CHECK_SET, epsilon), []).append(math.log(excess[1] / excess[0]))
            worse, cells = worse + (ours > published), cells + 1
            print(
                f"{path.stem:12s} epsilon {epsilon:<4g} OLS {ols:.4f}  AdaSSP {published:.4f}  "
                f"{asked.mechanism} {ours:.4f}  excess {excess[1]:.4f}",
                flush=True,
            )
    for group, chosen in (("all tables", (False, True)), ("design", (False,)), ("check", (True,))):
        by_epsilon = [[r for one in chosen for r in ratios.get((one, e), [])] for e in asked.epsilons]
        if any(by_epsilon):
            words = " ".join(f"{math.exp(np.mean(one)):.4f}" for one in by_epsilon)
            print(f"ratio, {group}: {words}  over all {math.exp(np.mean(np.concatenate(by_epsilon))):.4f}")
    print(f"worse than AdaSSP in {worse} of {cells} cells")


if __name__ == "__main__":
    main()

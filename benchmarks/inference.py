"""Time of a fit with standard errors and intervals from a release, against statsmodels on rows of the same design.

A release holds sums, so its fit does not depend on the number of rows; statsmodels reads rows. Both run in one process
on one thread and are interleaved; the figures to quote are the medians and their ratio.
Run: python benchmarks/inference.py [--repeat K]
"""

from __future__ import annotations

import os

# before NumPy is loaded: threads would time the machine, not the method
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import statsmodels.api as sm

import discreet
from discreet.testing.not_private import seeded_release

ROWS = 20_000
LIMITS = {50: 0.05, 300: 2.0}  # seconds


def table_of(columns: int) -> dict[str, np.ndarray]:
    """Uniform columns of which every tenth matters."""
    random = np.random.default_rng(columns)
    X = random.uniform(-1, 1, (ROWS, columns))
    y = X[:, ::10].sum(axis=1) / np.sqrt(columns / 10) + 0.5 * random.standard_normal(ROWS)
    return {"y": np.clip(y, -4, 4), **{f"x{j}": X[:, j] for j in range(columns)}}


def release_of(table: dict[str, np.ndarray]) -> discreet.Release:
    """The release of a table, with so little noise that every coefficient is estimable; NOT PRIVATE."""
    names = {name: (-1, 1) for name in table if name != "y"}
    design = discreet.Design("y", {"y": (-4, 4), **names})
    return seeded_release(table, design, seed=1, epsilon=1e4, delta=1e-6)


def ours(release: discreet.Release) -> float:
    """Coefficients, standard errors, intervals and p-values; the number of coefficients that have an interval."""
    # a release keeps what it has computed, and a new one has computed nothing
    fit = discreet.fit(replace(release))
    ends, p = np.asarray(fit.conf_int()), np.asarray(fit.pvalues)
    return float(len(ends) + 0 * p.sum())


def theirs(y: np.ndarray, X: np.ndarray) -> float:
    """The same from rows."""
    fit = sm.OLS(y, X).fit()
    ends, p = np.asarray(fit.conf_int()), np.asarray(fit.pvalues)
    return float(len(ends) + 0 * p.sum())


def medians(repeat: int, *runs: Callable[[], object]) -> list[float]:
    """Median seconds of each, taken in turns; the first turn is not counted."""
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(repeat + 1):
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            if turn:
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    print(f"fit, standard errors, intervals and p-values, medians of {repeat}; statsmodels on {ROWS:,} rows")
    for columns, limit in LIMITS.items():
        table = table_of(columns)
        release = release_of(table)
        X = sm.add_constant(np.column_stack([values for name, values in table.items() if name != "y"]))
        y = table["y"]
        assert ours(release) == theirs(y, X) == columns + 1
        mine, rival = medians(repeat, lambda release=release: ours(release), lambda y=y, X=X: theirs(y, X))
        kept = "within" if mine < limit else "ABOVE"
        print(
            f"  {columns:3d} columns: discreet {mine * 1e3:8.1f} ms ({kept} {limit * 1e3:g} ms)"
            f"   statsmodels {rival * 1e3:8.1f} ms   discreet / statsmodels {mine / rival:.2f}"
        )


if __name__ == "__main__":
    main()

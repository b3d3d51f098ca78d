"""Coverage of intervals, size of tests, R^2 and predictions over the grid. Figures for the record: make slow."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import discreet
from support.simulated import NoisyReleases, Population, Tally, fitted, percent

REPLICATIONS = int(os.environ.get("COVERAGE_REPLICATIONS", "300"))
ROWS = (1_000, 10_000, 100_000)
DIMENSIONS = (1, 5, 20)
EPSILONS = (0.1, 0.5, 1.0, 5.0)
FRESH_ROWS = 5
ENOUGH = 0.03  # cells that release less are counted as refused

HEAD = "  d       n   eps  coverage  refused  width    /OLS   size  R2 cov (given, below 1 wide)  new obs"


def spread(share: float, count: int) -> float:
    """Three and a half binomial standard errors, as if the count were of independent replications."""
    return 3.5 * float(np.sqrt(share * (1 - share) / count))


@pytest.mark.slow
def test_released_intervals_cover_over_the_grid():
    """Bands of the issue, widened by 3.5 binomial errors of the number of replications that released something."""
    random = np.random.default_rng(20_240)
    print(f"\n95 % intervals, intercept included, add-remove, delta = 1e-6, {REPLICATIONS} replications")
    print(HEAD)
    misses = []
    for d in DIMENSIONS:
        population = Population(d)
        design = population.design()
        noisy = NoisyReleases(design, EPSILONS)
        for n in ROWS:
            tallies = {epsilon: Tally() for epsilon in EPSILONS}
            began, plain = time.perf_counter(), []
            for _ in range(REPLICATIONS):
                exact = noisy.exact(population.table(n, random))
                plain.append(float(np.median(np.diff(np.asarray(discreet.fit(exact).conf_int()), axis=1))))
                for epsilon, tally in tallies.items():
                    fresh = population.table(FRESH_ROWS, random)
                    tally.add(fitted(noisy.at(exact, epsilon, random)), population, fresh)
            for epsilon, tally in tallies.items():
                print(line(d, n, epsilon, tally, float(np.median(plain))), flush=True)
                misses += [f"d={d} n={n} epsilon={epsilon}: {miss}" for miss in missed(tally)]
            print(f"    ({time.perf_counter() - began:.0f} s)", flush=True)
    assert not misses, "\n".join(misses)


def line(d: int, n: int, epsilon: float, tally: Tally, plain: float) -> str:
    width = float(np.median(tally.widths)) if tally.widths else float("nan")
    return (
        f"{d:3d} {n:7d} {epsilon:5.1f}     {percent(tally.covered, tally.released)}"
        f"    {percent(tally.asked - tally.released, tally.asked)}  {width:7.3g} {width / plain:6.2f}"
        f"  {percent(tally.rejected, tally.tests)}   {percent(tally.r2_covered, tally.r2_released)}"
        f" ({percent(tally.r2_released, REPLICATIONS)}, {percent(tally.r2_informative, REPLICATIONS)})"
        f"    {percent(tally.new_covered, tally.new_released)}"
    )


def missed(tally: Tally) -> list[str]:
    """Name the bands that a cell leaves by more than its binomial error."""
    out = []
    share = tally.released / tally.asked
    if share >= ENOUGH:
        runs = max(1, round(share * REPLICATIONS))
        coverage, size = tally.covered / tally.released, tally.rejected / tally.tests
        if not 0.935 - spread(0.935, runs) <= coverage <= 0.97 + spread(0.97, runs):
            out.append(f"coverage {coverage:.3f}")
        if not 0.02 - spread(0.02, runs) <= size <= 0.065 + spread(0.065, runs):
            out.append(f"size {size:.3f}")
    if tally.r2_released >= ENOUGH * REPLICATIONS:
        covered, runs = tally.r2_covered / tally.r2_released, tally.r2_released
        if not 0.92 - spread(0.92, runs) <= covered <= 0.98 + spread(0.98, runs):
            out.append(f"R^2 coverage {covered:.3f}")
    if tally.new_released >= ENOUGH * REPLICATIONS * FRESH_ROWS:
        covered, runs = tally.new_covered / tally.new_released, round(tally.new_released / FRESH_ROWS)
        # where the noise hides the residual variance no interval can be exact, and these are wide: printed, no miss
        if covered < 0.93 - spread(0.93, runs):
            out.append(f"prediction coverage {covered:.3f}")
    return out


def correlated(n, random):
    """Three uniform-like predictors with pairwise correlation 0.9, inside [-1, 1]."""
    shared = random.uniform(-1, 1, (n, 1))
    weight = 0.75  # 0.75^2 / (0.75^2 + 0.25^2) = 0.9
    X = weight * shared + (1 - weight) * random.uniform(-1, 1, (n, 3))
    y = 0.5 + X @ [1.0, -0.5, 0.0] + random.normal(0, 0.5, n)
    return {"y": y, **{f"x{j}": X[:, j] for j in range(3)}}


def indicators(n, random):
    """A number, a yes or no of 20 %, and three unequal levels."""
    x, flag = random.uniform(-1, 1, n), random.random(n) < 0.2
    level = random.choice(3, n, p=[0.5, 0.3, 0.2])
    y = 0.5 + x + 0.5 * flag + np.array([0.0, -0.5, 0.3])[level] + random.normal(0, 0.5, n)
    return {"y": y, "x": x, "flag": flag, "g": np.array(["p", "q", "r"])[level]}


NUMBERS = {"y": (-3.5, 3.5), "x0": (-1, 1), "x1": (-1, 1), "x2": (-1, 1)}
MIXED = {"y": (-3.5, 3.5), "x": (-1, 1), "flag": bool, "g": ["p", "q", "r"]}
OTHERS = [
    ("correlation 0.9", NUMBERS, correlated, {}),
    ("indicators", MIXED, indicators, {}),
    ("n public", MIXED, indicators, {"unit": {"neighbours": "replace"}}),
    ("no intercept", NUMBERS, correlated, {"intercept": False}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "columns", "draw", "options"), OTHERS)
def test_other_designs_cover_too(name, columns, draw, options):
    """The target is least squares on four million rows of the same distribution, clipped as the release clips them."""
    random = np.random.default_rng(77)
    design = discreet.Design("y", columns, **options)
    noisy = NoisyReleases(design, EPSILONS)
    truth = dict(discreet.fit(noisy.exact(draw(4_000_000, random))).params)
    print(f"\n{name}: coverage %, refused %, median width, size %; {REPLICATIONS} replications")
    misses = []
    for n in (1_000, 10_000):
        tallies = {epsilon: Tally() for epsilon in EPSILONS}
        for _ in range(REPLICATIONS):
            exact = noisy.exact(draw(n, random))
            for epsilon, tally in tallies.items():
                tally.count(fitted(noisy.at(exact, epsilon, random)), truth)
        for epsilon, tally in tallies.items():
            width = float(np.median(tally.widths)) if tally.widths else float("nan")
            print(
                f"{n:7d} {epsilon:5.1f}  {percent(tally.covered, tally.released)}"
                f"  {percent(tally.asked - tally.released, tally.asked)}  {width:7.3g}"
                f"  {percent(tally.rejected, tally.tests)}",
                flush=True,
            )
            misses += [f"{name} n={n} epsilon={epsilon}: {miss}" for miss in missed(tally)]
    assert not misses, "\n".join(misses)


def uniform(d):
    """Draw from the population of the grid."""
    return lambda n, random: Population(d).table(n, random)


PUBLIC = [
    ("d = 1", Population(1).design(), uniform(1), "gaussian"),
    ("d = 5", Population(5).design(), uniform(5), "gaussian"),
    ("d = 20", Population(20).design(), uniform(20), "gaussian"),
    *((name, discreet.Design("y", columns, **options), draw, "gaussian") for name, columns, draw, options in OTHERS),
    ("laplace, d = 5", Population(5).design(), uniform(5), "laplace"),
    ("k-norm, d = 5", Population(5).design(), uniform(5), "k-norm"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "design", "draw", "mechanism"), PUBLIC, ids=[case[0] for case in PUBLIC])
def test_the_public_path_agrees_with_the_fast_one(name, design, draw, mechanism):
    """`discreet.release` with its own sampler against exact moments with noise of the same distribution; n = 10,000,
    epsilon 1.

    Their coverages differ by at most five binomial errors (false alarm below 1e-6), their median widths by a tenth.
    """
    random = np.random.default_rng(78)
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    noisy = NoisyReleases(design, (1.0,), delta, mechanism)
    truth = dict(discreet.fit(noisy.exact(draw(4_000_000, random))).params)
    public, fast = Tally(), Tally()
    for _ in range(REPLICATIONS):
        table = draw(10_000, random)
        public.count(fitted(discreet.release(table, design, epsilon=1.0, delta=delta, mechanism=mechanism)), truth)
        fast.count(fitted(noisy.at(noisy.exact(table), 1.0, random)), truth)
    shares = [tally.covered / tally.released for tally in (public, fast)]
    widths = [float(np.median(tally.widths)) for tally in (public, fast)]
    print(
        f"\n{name}: public {100 * shares[0]:.1f} % of width {widths[0]:.3g}, "
        f"fast {100 * shares[1]:.1f} % of width {widths[1]:.3g}; {REPLICATIONS} replications"
    )
    assert abs(shares[0] - shares[1]) <= 5 * np.sqrt(2 * 0.05 * 0.95 / REPLICATIONS)
    assert widths[0] == pytest.approx(widths[1], rel=0.1)
    assert shares[0] >= 0.935 - spread(0.935, REPLICATIONS)

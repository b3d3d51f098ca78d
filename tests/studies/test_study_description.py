"""Coverage of the intervals of `release.describe()`: means for any rows, the rest for Gaussian rows or for one table.

Figures for docs/how-to/tables.md: make slow. Seeds are fixed; with other seeds a cell of 2,000 releases is a false
alarm with probability 1e-9 if its intervals cover 94% or more. Intervals that ignore the noise do not pass.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.releases.description import EntryForms, Intervals, NoNumberError, ReleasedSums
from discreet.releases.reference_distribution import family_of
from support.simulated import NoisyReleases

RELEASES = int(os.environ.get("COVERAGE_REPLICATIONS", "2000"))
LEAST, ALARM = 0.94, 1e-9
EPSILONS = (0.2, 1.0, 5.0)
WAYS = (("gaussian", 1e-6), ("laplace", 0.0))
RHO, SD_X, SD_Y, MEAN_X, MEAN_Y = 0.6, 1.0, 2.0, 1.5, -2.0
# five standard deviations to either side: clipping moves no moment by more than 1e-5
DESIGN = discreet.Design("y", {"x": (-5, 7), "y": (-12, 9)})
SKEWED = discreet.Design("y", {"rare": bool, "skewed": (0, 20), "y": (0, 1)})


def gaussian_table(n, random):
    first, second = random.standard_normal((2, n))
    x = MEAN_X + SD_X * first
    return {"x": x, "y": MEAN_Y + SD_Y * (RHO * first + np.sqrt(1 - RHO**2) * second)}


def skewed_table(n, random):
    """An indicator of 5%, an exponential distribution clipped at 20 times its mean, zeros and ones beside uniform
    numbers."""
    mixed = np.where(random.random(n) < 0.5, random.random(n) < 0.9, random.random(n))
    return {"rare": random.random(n) < 0.05, "skewed": random.exponential(1.0, n), "y": mixed}


def own_values(table):
    both = np.cov(table["x"], table["y"])
    return {
        ("mean", 1): table["x"].mean(),
        ("sd", 1): np.sqrt(both[0, 0]),
        ("covariance", 1, 2): both[0, 1],
        ("correlation", 1, 2): np.corrcoef(table["x"], table["y"])[0, 1],
    }


TRUE_VALUES = {
    ("sd", 1): SD_X,
    ("sd", 2): SD_Y,
    ("covariance", 1, 2): RHO * SD_X * SD_Y,
    ("correlation", 1, 2): RHO,
}
TRUE_MEANS = {("mean", 1): 0.05, ("mean", 2): 1 - np.exp(-20), ("mean", 3): 0.7}


def about(release, noise_sd=None):
    sd = release.noise_sd if noise_sd is None else noise_sd
    return Intervals(ReleasedSums(release), EntryForms(sd), family_of(release.noise.family), 0.95)


def interval(found, what, columns, rows):
    """Ends, or none where the noise leaves no number of rows: then nothing is claimed."""
    try:
        return getattr(found, what)(*columns, rows)
    except NoNumberError:
        return None


def holds(ends, value):
    """Whether an interval holds a value; rows are rounded to the grid, by less than 1e-4 in these units."""
    return ends is None or ends[0] - 1e-4 <= value <= ends[1] + 1e-4


def tallied(noisy, made, rows):
    """Share covered, and share that says something, by quantity and budget; and the same where noise is ignored."""
    random = np.random.default_rng(7)
    covered, said, blind = {}, {}, {}
    for exact, values in made:
        for epsilon in EPSILONS:
            release = noisy.at(exact, epsilon, random)
            found, without = about(release), about(release, np.zeros_like(release.noise_sd))
            for (what, *columns), value in values.items():
                key = epsilon, what, *columns
                ends = interval(found, what, columns, rows)
                covered[key] = covered.get(key, 0) + holds(ends, value)
                said[key] = said.get(key, 0) + (ends is not None and not (what == "correlation" and ends == (-1, 1)))
                blind[key] = blind.get(key, 0) + holds(interval(without, what, columns, rows), value)
    return covered, said, blind


def judged(title, covered, said, blind):
    least = stats.binom.ppf(ALARM, RELEASES, LEAST)
    print(f"\n{title}, {RELEASES} releases; lowest that passes {least / RELEASES:.1%}")
    for key, count in covered.items():
        shares = [f"{one / RELEASES:.1%}" for one in (count, said[key], blind[key])]
        print(f"  {key}: {shares[0]} (informative {shares[1]}, without the noise {shares[2]})", flush=True)
    assert min(covered.values()) >= least
    # where the noise is large, ignoring it is seen
    smallest = [count for key, count in blind.items() if key[0] == EPSILONS[0]]
    assert min(smallest) < least


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "delta"), WAYS)
@pytest.mark.parametrize("n", [300, 3000])
def test_means_are_covered_for_any_rows(mechanism, delta, n):
    random = np.random.default_rng(n)
    noisy = NoisyReleases(SKEWED, EPSILONS, delta, mechanism)
    made = ((noisy.exact(skewed_table(n, random)), TRUE_MEANS) for _ in range(RELEASES))
    judged(f"means, {mechanism}, n = {n}", *tallied(noisy, made, "any"))


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "delta"), WAYS)
@pytest.mark.parametrize("n", [300, 3000])
def test_gaussian_rows_are_covered(mechanism, delta, n):
    random = np.random.default_rng(n)
    noisy = NoisyReleases(DESIGN, EPSILONS, delta, mechanism)
    made = ((noisy.exact(gaussian_table(n, random)), TRUE_VALUES) for _ in range(RELEASES))
    judged(f"Gaussian rows, {mechanism}, n = {n}", *tallied(noisy, made, "gaussian"))


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "delta"), WAYS)
@pytest.mark.parametrize("n", [300, 3000])
def test_the_values_of_a_table_are_covered(mechanism, delta, n):
    table = gaussian_table(n, np.random.default_rng(n))
    noisy = NoisyReleases(DESIGN, EPSILONS, delta, mechanism)
    made = [(noisy.exact(table), own_values(table))] * RELEASES
    judged(f"this table, {mechanism}, n = {n}", *tallied(noisy, made, "table"))

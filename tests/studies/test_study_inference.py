"""Pure-epsilon coverage, heavy tails and skewed predictors, and power. Figures for the record: make slow."""

from __future__ import annotations

import itertools
import os
import warnings

import numpy as np
import pytest

import discreet
from discreet.errors import PrivacyNotice
from discreet.mechanisms.registry import mechanisms
from support.simulated import NoisyReleases, Population, Tally, fitted, percent

REPLICATIONS = int(os.environ.get("COVERAGE_REPLICATIONS", "300"))
PURE = [name for name in ("laplace", "k-norm") if name in mechanisms()]
ENOUGH = 0.03  # cells that release less are counted as refused


def spread(share: float, count: int) -> float:
    """Three and a half binomial standard errors, as if the count were of independent replications."""
    return 3.5 * float(np.sqrt(share * (1 - share) / max(count, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("name", PURE)
def test_pure_epsilon_intervals_cover(name):
    """At least 93.5 % less the binomial error, and not all: 99.5 % would be a rule far too wide."""
    random = np.random.default_rng(31)
    print(f"\n95 % intervals under epsilon alone, mechanism {name}, add-remove, {REPLICATIONS} replications")
    print("  d       n   eps  coverage  refused  width    /OLS   size")
    misses = []
    for d in (1, 5):
        population = Population(d)
        noisy = NoisyReleases(population.design(), (1.0, 5.0), 0.0, name)
        for n in (10_000, 100_000):
            tallies, plain = {epsilon: Tally() for epsilon in (1.0, 5.0)}, []
            for _ in range(REPLICATIONS):
                exact = noisy.exact(population.table(n, random))
                plain.append(float(np.median(np.diff(np.asarray(discreet.fit(exact).conf_int()), axis=1))))
                for epsilon, tally in tallies.items():
                    tally.count(fitted(noisy.at(exact, epsilon, random)), population.truth)
            for epsilon, tally in tallies.items():
                width = float(np.median(tally.widths)) if tally.widths else float("nan")
                print(
                    f"{d:3d} {n:7d} {epsilon:5.1f}     {percent(tally.covered, tally.released)}"
                    f"    {percent(tally.asked - tally.released, tally.asked)}  {width:7.3g}"
                    f" {width / np.median(plain):6.2f}  {percent(tally.rejected, tally.tests)}",
                    flush=True,
                )
                share = tally.released / tally.asked
                runs = round(share * REPLICATIONS)
                if share >= ENOUGH:
                    coverage = tally.covered / tally.released
                    if not 0.935 - spread(0.935, runs) <= coverage <= 0.995:
                        misses.append(f"d={d} n={n} epsilon={epsilon}: coverage {coverage:.3f}")
                    if tally.rejected / tally.tests > 0.065 + spread(0.065, runs):
                        misses.append(f"d={d} n={n} epsilon={epsilon}: size {tally.rejected / tally.tests:.3f}")
    assert not misses, "\n".join(misses)


def skewed(n, random):
    """Log-normal predictors and errors with three degrees of freedom, whose spread grows with the first predictor."""
    x = random.lognormal(0.0, 0.6, (n, 2))
    error = random.standard_t(3, n) * (0.3 + 0.2 * x[:, 0])
    return {"y": 1 + x @ [1.0, -0.5] + error, "x0": x[:, 0], "x1": x[:, 1]}


@pytest.mark.slow
def test_robust_intervals_cover_with_skewed_predictors_and_heavy_tails():
    """The target is least squares on four million rows, clipped as the release clips them; n = 20,000."""
    random = np.random.default_rng(32)
    # bounds that hold nearly all of the predictors and clip the far tail of the target
    design = discreet.Design("y", {"y": (-8, 12), "x0": (0, 6), "x1": (0, 6)})
    noisy = NoisyReleases(design, (1.0,))
    truth = dict(discreet.fit(noisy.exact(skewed(4_000_000, random))).params)
    print(f"\nlog-normal predictors, t3 errors of unequal spread, n = 20,000, {REPLICATIONS} replications")
    print("  eps  kind     coverage of Intercept, x0, x1        median width of x0")
    for epsilon in (1.0, 5.0):
        inside = {kind: dict.fromkeys(truth, 0) for kind in ("plain", "robust")}
        widths: dict[str, list[float]] = {kind: [] for kind in inside}
        for _ in range(REPLICATIONS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyNotice)
                asked = {"epsilon": epsilon, "delta": 1e-6, "mechanism": "gaussian", "robust": True}
                release = discreet.release(skewed(20_000, random), design, **asked)
            fit = discreet.fit(release)
            for kind, model in (("plain", fit), ("robust", fit.robust())):
                for name, (low, high) in model.conf_int().items():
                    inside[kind][name] += low <= truth[name] <= high
                low, high = model.conf_int()["x0"]
                widths[kind].append(high - low)
        for kind, counts in inside.items():
            shares = "  ".join(percent(count, REPLICATIONS) for count in counts.values())
            print(f"{epsilon:5.1f}  {kind:7}  {shares}              {np.median(widths[kind]):.4g}", flush=True)
        for name, count in inside["robust"].items():
            share = count / REPLICATIONS
            assert share >= 0.92 - spread(0.92, REPLICATIONS), f"epsilon={epsilon}, {name}: {share:.3f}"


SLOPES = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)


@pytest.mark.slow
def test_power_grows_with_the_slope_and_with_epsilon():
    """Share of rejections at 5 % of 'the last slope is 0'; the first column is the size of the test. n = 10,000."""
    random = np.random.default_rng(33)
    population = Population(5)
    design = population.design()
    distributions = {
        ("gaussian", 1.0): NoisyReleases(design, (1.0,)),
        ("gaussian", 5.0): NoisyReleases(design, (5.0,)),
        **{(name, 5.0): NoisyReleases(design, (5.0,), 0.0, name) for name in PURE},
    }
    rejected = {key: dict.fromkeys(SLOPES, 0) for key in (*distributions, ("none", np.inf))}
    for _ in range(REPLICATIONS):
        table = population.table(10_000, random)
        for slope in SLOPES:
            exact = distributions["gaussian", 1.0].exact({**table, "y": table["y"] + slope * table["x4"]})
            rejected["none", np.inf][slope] += discreet.fit(exact).pvalues["x4"] < 0.05
            for key, noisy in distributions.items():
                model = fitted(noisy.at(exact, key[1], random))
                p = 1.0 if model is None else model.pvalues["x4"]
                # what is not estimable rejects nothing
                rejected[key][slope] += isinstance(p, float) and p < 0.05
    print(f"\nshare of rejections at 5 %, d = 5, n = 10,000, residual sd 0.5, {REPLICATIONS} replications")
    print("true slope           " + "".join(f"{slope:7g}" for slope in SLOPES))
    for (name, epsilon), counts in rejected.items():
        shares = "".join(f"  {percent(count, REPLICATIONS)}" for count in counts.values())
        print(f"{name:9} eps {epsilon:5.1f}  {shares}")
    for key, counts in rejected.items():
        shares = [count / REPLICATIONS for count in counts.values()]
        assert shares[0] <= 0.065 + spread(0.065, REPLICATIONS), key
        assert shares[-1] > 0.5, key
        assert all(later >= earlier - 0.08 for earlier, later in itertools.pairwise(shares)), key

"""Size of tests of terms, of one side and of the whole model, coverage of pairs, and what criteria let in.

Figures for the record: make slow. NOT PRIVATE: tables and noise come from seeds. The formulas are those of
`support.many_releases`, as arrays; the first releases of each setting are held against `discreet.fit`.
"""

from __future__ import annotations

import math
import os
from itertools import combinations

import numpy as np
import pytest
from scipy.special import stdtrit

import discreet
from discreet.analyst.inference.contrasts import simultaneous_value
from support.many_releases import Case, Many, Setup, as_release, distribution_of, drawn_moments, with_noise

COUNT = int(os.environ.get("TERM_RELEASES", "1000"))
COMPARED = 3
DRAWS = 9_999
EFFECTS = (0.0, 0.3, -0.2, 0.0)
LEVELS = ["p", "q", "r", "s"]
COLUMNS = {"x": (-1, 1), "w": (-1, 1), "g": LEVELS, "h": ["a", "b", "c"], "u": (-2, 2), "y": (-4, 6)}
FEATURES = ["x", "w", "g", "h"]
PAIRS = list(combinations(range(4), 2))


def rows(n, random):
    """Only x and g move y; w and h say nothing of it, and nothing says anything of u."""
    x, w = random.uniform(-1, 1, (2, n))
    g, h = random.integers(0, 4, n), random.integers(0, 3, n)
    u, error = random.normal(0, 0.5, (2, n))
    return {"x": x, "w": w, "g": g, "h": h, "u": u, "y": 1 + x + np.array(EFFECTS)[g] + error}


def case(**model):
    return Case("terms", COLUMNS, rows, {}, model)


def picked(setup, *names):
    """Rows of weights that pick these coefficients."""
    return np.eye(setup.size)[[setup.names.index(name) for name in names]]


def pair_weights(setup):
    """Rows of weights of all differences of two levels of g."""
    of = [np.zeros(setup.size), *picked(setup, *(f"g[{level}]" for level in LEVELS[1:]))]
    return np.array([of[second] - of[first] for first, second in PAIRS])


def largest_errors(many, weights, random):
    """Critical values of max-t in every release, with the same normal draws for all."""
    normals = random.standard_normal((DRAWS, 3))
    shares = np.sqrt(random.chisquare(many.df.mean(), DRAWS) / many.df.mean())
    rank = math.ceil(round(0.95 * (DRAWS + 1), 6)) - 1
    slots = [index for index in range(weights.shape[1]) if weights[:, index].any()]
    out = []
    for covariance in many.covariance[:, slots][:, :, slots]:
        own = weights[:, slots]
        spread = own @ np.linalg.cholesky(covariance)
        errors = normals @ (spread / np.linalg.norm(spread, axis=1, keepdims=True)).T
        out.append(np.partition(np.abs(errors).max(axis=1) / shares, rank)[rank])
    return np.array(out)


def criteria(many):
    """AIC and BIC, and the textbook formulas on noisy sums, for the scaled target up to a constant; NaN for none."""
    n, k = many.df + many.H.shape[1], many.H.shape[1]
    followed = (np.linalg.inv(many.H) * (many.covariance - many.sampling)).sum(axis=(1, 2))
    whole = many.s2 * many.df
    found = {}
    with np.errstate(invalid="ignore"):
        for name, price in (("aic", 2.0), ("bic", np.log(n))):
            found[f"textbook {name}"] = n * np.log((whole - followed) / n) + price * k
            found[name] = n * np.log(whole / n) + price * k + (price - 1) * followed * many.df / whole
    return found


def spread(share, count):
    """Five binomial standard errors: one check in two million fails by chance."""
    return 5 * math.sqrt(share * (1 - share) / count)


@pytest.mark.slow
def test_study_tests_of_terms_keep_their_size_pairs_cover_and_criteria_count_the_noise():
    """At 5% no test rejects more than 6.5% plus chance; pairs cover 93.5% less it; AIC lets in 20% at most."""
    random = np.random.default_rng(41)
    full = case(features=FEATURES)
    setups = {"y": Setup.of(full), "u": Setup.of(case(target="u", features=FEATURES))}
    choices = {name: Setup.of(case(features=features)) for name, features in (("x", ["x"]), ("xw", ["x", "w"]))}
    tables, population = drawn_moments(full, COUNT, random)
    truths = {name: setup.truth(population) for name, setup in setups.items()}
    main = setups["y"]
    weights = pair_weights(main)
    print(f"\n{COUNT} releases of each setting: rejections at 5%; pairs that all cover; a feature that is let in")
    print("     n  eps  definite  w=0   h=0  larger smaller all u=0  max-t  Bonf  alone | textbook aic, aic, then bic")
    misses = []
    for n in (1_000, 10_000):
        for epsilon in (1.0, 5.0, math.inf):
            distribution = distribution_of(full, 1.0 if math.isinf(epsilon) else epsilon)
            sd = distribution.entry_sd(len(main.empty.columns)) * (0.0 if math.isinf(epsilon) else 1.0)
            noisy = with_noise(tables[n], sd, random, distribution.indicator_columns)
            many = Many.of(noisy, sd, main, distribution.indicator_columns)
            theta = truths["y"]
            tests = {}
            for name, L in (("w", picked(main, "w")), ("h", picked(main, "h[b]", "h[c]"))):
                tests[name] = many.test(L, L @ theta).p
            one = picked(main, "x")
            two_sided, above = many.test(one, one @ theta).p, many.theta @ one[0] > one[0] @ theta
            tests["larger"] = np.where(above, two_sided / 2, 1 - two_sided / 2)
            tests["smaller"] = 1 - tests["larger"]
            other = Many.of(noisy, sd, setups["u"], distribution.indicator_columns)
            slopes = np.eye(main.size)[1:]
            tests["all"] = other.test(slopes, slopes @ truths["u"]).p
            single = np.array([many.test(row[None, :], row[None, :] @ theta).p for row in weights])
            reach = -stdtrit(many.df, single / 2)
            critical = largest_errors(many, weights, random)
            families = {
                "max-t": (reach <= critical).all(axis=0),
                "bonferroni": (single >= 0.05 / len(PAIRS)).all(axis=0),
                "alone": (single >= 0.05).all(axis=0),
            }
            let_in = {}
            definite = {
                name: Many.of(noisy, sd, setup, distribution.indicator_columns) for name, setup in choices.items()
            }
            both = definite["x"].definite & definite["xw"].definite
            values = {name: criteria(one) for name, one in definite.items()}
            for name in values["x"]:
                small, large = (values[key][name][both[definite[key].definite]] for key in ("x", "xw"))
                given = np.isfinite(small) & np.isfinite(large)
                let_in[name] = float((large < small)[given].mean())
            shares = {name: float((p < 0.05).mean()) for name, p in tests.items()}
            covers = {name: float(held.mean()) for name, held in families.items()}
            print(
                f"{n:6d} {epsilon:4.1f}  {100 * many.definite.mean():6.1f}  "
                + "  ".join(f"{100 * share:5.1f}" for share in (*shares.values(), *covers.values()))
                + " | "
                + "  ".join(f"{100 * share:5.1f}" for share in let_in.values()),
                flush=True,
            )
            runs = int(many.definite.sum())
            misses += [
                f"n={n} epsilon={epsilon}: {name} rejects {share:.3f}"
                for name, share in shares.items()
                if share > 0.065 + spread(0.065, runs)
            ]
            misses += [
                f"n={n} epsilon={epsilon}: {name} covers {covers[name]:.3f}"
                for name in ("max-t", "bonferroni")
                if covers[name] < 0.935 - spread(0.935, runs)
            ]
            if let_in["aic"] > 0.20 + spread(0.20, runs):
                misses.append(f"n={n} epsilon={epsilon}: aic lets in {let_in['aic']:.3f}")
            if not math.isinf(epsilon):
                compare(main, distribution, noisy, many, theta, tests, critical, values, both)
    assert not misses, "\n".join(misses)


def compare(setup, distribution, noisy, many, theta, tests, critical, values, both):
    """The first releases as `discreet.fit` reads them: the same p-values, critical values and criteria."""
    for index in range(COMPARED):
        place = np.flatnonzero(many.definite & both)[index]
        release = as_release(setup, distribution, noisy[place])
        fit = discreet.fit(release, features=FEATURES)
        own = int(many.definite[:place].sum())
        # scaled slopes are in units of the scaled target, half of whose width is 5
        truth = {name: 5 * theta[setup.names.index(name)] for name in ("x", "h[b]", "h[c]")}
        joint = fit.f_test({name: truth[name] for name in ("h[b]", "h[c]")}).pvalue
        assert joint == pytest.approx(tests["h"][own], rel=1e-3, abs=1e-7)
        for side in ("larger", "smaller"):
            (p,) = fit.t_test({"x": truth["x"]}, alternative=side).pvalue.values()
            assert p == pytest.approx(tests[side][own], rel=1e-3, abs=1e-7)
        about = fit.t_test_pairwise("g").contrasts
        assert simultaneous_value(about, 0.95, "max-t", release.digest) == pytest.approx(critical[own], abs=0.08)
        small, large = (discreet.fit(release, features=features) for features in (["x"], ["x", "w"]))
        at = int(both[:place].sum())
        for name in ("aic", "bic"):
            less, more = getattr(small, name), getattr(large, name)
            if isinstance(less, float) and isinstance(more, float):
                wanted = values["xw"][name][at] - values["x"][name][at]
                assert more - less == pytest.approx(wanted, rel=1e-4, abs=1e-3), name

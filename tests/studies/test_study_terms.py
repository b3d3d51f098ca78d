"""Size of tests of terms, of one side and of the whole model, and coverage of pairs. Figures for the record: make slow.

NOT PRIVATE: tables and noise come from seeds.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import discreet
from discreet.analyst.values.not_estimable import known
from support.simulated import NoisyReleases, percent

REPLICATIONS = int(os.environ.get("TERM_REPLICATIONS", "2000"))
EPSILONS = (0.5, 1.0, 5.0)
EFFECTS = {"p": 0.0, "q": 0.3, "r": -0.2, "s": 0.0}
DESIGN = discreet.Design(
    "y",
    {
        "y": (-4, 6),
        "x": (-1, 1),
        "w": (-1, 1),
        "g": list(EFFECTS),
        "h": ["a", "b", "c"],
        "u": (-2, 2),
    },
)
FEATURES = ["x", "w", "g", "h"]


def table(n: int, random: np.random.Generator) -> dict[str, list[object]]:
    """Only x and g move y; w and h say nothing of it, and nothing says anything of u."""
    x, w = random.uniform(-1, 1, (2, n))
    g, h = random.choice(list(EFFECTS), n), random.choice(["a", "b", "c"], n)
    y = 1 + x + np.array([EFFECTS[level] for level in g]) + random.normal(0, 0.5, n)
    u = random.normal(0, 0.5, n)
    return {name: values.tolist() for name, values in zip("yxwghu", (y, x, w, g, h, u), strict=True)}


def counted(release: discreet.Release, counts: Counter[str]) -> None:
    """Add up what one release rejects and covers, where least squares has a minimum."""
    fit = discreet.fit(release, features=FEATURES)
    if not fit.estimable:
        return
    counts["estimable"] += 1
    counts["factor"] += known(fit.anova()["h"].pvalue) < 0.05
    counts["one column"] += known(fit.anova()["w"].pvalue) < 0.05
    for side in ("larger", "smaller"):
        counts[side] += known(fit.t_test("x = 1", alternative=side).pvalue["x = 1"]) < 0.05
    whole = discreet.fit(release, target="u", features=FEATURES)
    counts["whole"] += known(whole.f_pvalue) < 0.05
    truth = [EFFECTS[second] - EFFECTS[first] for first, second in combinations(EFFECTS, 2)]
    for way in ("max-t", "bonferroni"):
        pairs = fit.t_test_pairwise("g", simultaneous=way)
        counts[way] += all(one.contains(true) for one, true in zip(pairs.conf_int().values(), truth, strict=True))
    alone = pairs.contrasts.intervals(pairs.contrasts.critical(0.95)).values()
    counts["one by one"] += all(one.contains(true) for one, true in zip(alone, truth, strict=True))


def chosen(release: discreet.Release, counts: Counter[str]) -> None:
    """Count how often each criterion lets in w, which says nothing."""
    small, large = (discreet.fit(release, features=features) for features in (["x", "g"], ["x", "g", "w"]))
    for name in ("aic", "bic", "aic_noise", "bic_noise"):
        less, more = known(getattr(small, name)), known(getattr(large, name))
        if less is not None and more is not None:
            counts[f"{name} given"] += 1
            counts[name] += more < less


def spread(share: float, count: int) -> float:
    """Five binomial standard errors: one check in two million fails by chance."""
    return 5 * float(np.sqrt(share * (1 - share) / max(count, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1_000, 10_000])
def test_study_tests_of_terms_keep_their_size_and_pairs_cover(n):
    """At 5% no test rejects a true hypothesis in more than 6.5% plus chance; pairs cover in at least 93.5% less it."""
    random = np.random.default_rng(41)
    noisy = NoisyReleases(DESIGN, EPSILONS)
    counts: dict[float, Counter[str]] = {epsilon: Counter() for epsilon in EPSILONS}
    choices: dict[float, Counter[str]] = {epsilon: Counter() for epsilon in (*EPSILONS, np.inf)}
    for _ in range(REPLICATIONS):
        exact = noisy.exact(table(n, random))
        chosen(exact, choices[np.inf])
        for epsilon in EPSILONS:
            made = noisy.at(exact, epsilon, random)
            counted(made, counts[epsilon])
            chosen(made, choices[epsilon])
    print(f"\nn = {n}, {REPLICATIONS} releases: rejections of true hypotheses at 5%, and family coverage of 6 pairs")
    print("  eps  estimable  w = 0  h = 0  x > 1  x < 1  u: all 0  max-t  Bonferroni  one by one")
    misses = []
    for epsilon, found in counts.items():
        runs = found["estimable"]
        shares = "  ".join(
            percent(found[name], runs)
            for name in ("one column", "factor", "larger", "smaller", "whole", "max-t", "bonferroni", "one by one")
        )
        print(f"{epsilon:5.1f}  {percent(runs, REPLICATIONS)}     {shares}", flush=True)
        for name in ("one column", "factor", "larger", "smaller", "whole"):
            if runs and found[name] / runs > 0.065 + spread(0.065, runs):
                misses.append(f"epsilon={epsilon}: {name} rejects {found[name] / runs:.3f}")
        for name in ("max-t", "bonferroni"):
            if runs and found[name] / runs < 0.935 - spread(0.935, runs):
                misses.append(f"epsilon={epsilon}: {name} covers {found[name] / runs:.3f}")
    print("share of releases in which a criterion lets in a feature that says nothing")
    print("  eps    aic    bic  aic_noise  bic_noise")
    for epsilon, found in choices.items():
        names = ("aic", "bic", "aic_noise", "bic_noise")
        print(
            f"{epsilon:5.1f}  " + "  ".join(percent(found[name], found[f"{name} given"]) for name in names), flush=True
        )
    assert choices[np.inf]["aic"] == choices[np.inf]["aic_noise"]
    assert not misses, "\n".join(misses)

"""Coverage of intervals of interactions: slopes by level, and pairs of levels. Figures for the record: make slow."""

from __future__ import annotations

import os

import numpy as np
import pytest

import discreet
from support.simulated import NoisyReleases, Tally, fitted

REPLICATIONS = int(os.environ.get("INTERACTION_REPLICATIONS", "1000"))
ROWS = 20_000
EPSILONS = (0.5, 1.0, 4.0)
LEVELS = ("north", "south", "east")
SD = 2.0
TRUTH = {
    "Intercept": 4.0, "age": 0.10, "region[south]": 3.0, "region[east]": -2.0, "sex[female]": 1.0,
    "ar[south]": -0.15, "ar[east]": 0.05, "rs[south,female]": 2.0, "rs[east,female]": 0.0,
}  # fmt: skip
INTERACTIONS = ("ar[south]", "ar[east]", "rs[south,female]", "rs[east,female]")
COLUMNS = {
    "y": (-16, 26), "age": (18, 90), "region": list(LEVELS), "sex": ["male", "female"],
    "ar": {"formula": "age:region"}, "rs": {"formula": "region:sex"},
}  # fmt: skip


def table(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Rows of the model above; y stays inside its bounds but for some rows in ten thousand."""
    age, region = random.uniform(18, 90, ROWS), random.integers(0, 3, ROWS)
    female = random.random(ROWS) < 0.5
    slope = np.array([TRUTH["age"], TRUTH["age"] + TRUTH["ar[south]"], TRUTH["age"] + TRUTH["ar[east]"]])[region]
    level = np.array([0.0, TRUTH["region[south]"], TRUTH["region[east]"]])[region]
    pair = np.array([1.0, 1.0 + TRUTH["rs[south,female]"], 1.0 + TRUTH["rs[east,female]"]])[region] * female
    y = TRUTH["Intercept"] + slope * age + level + pair + random.normal(0, SD, ROWS)
    return {"y": y, "age": age, "region": np.array(LEVELS)[region], "sex": np.where(female, "female", "male")}


@pytest.mark.slow
def test_intervals_of_interactions_cover():
    """At least 93.5 % less 3.5 binomial errors, which is below one false alarm in four thousand for each of three."""
    random = np.random.default_rng(1616)
    design = discreet.Design("y", COLUMNS)
    noisy = NoisyReleases(design, EPSILONS)
    tallies = {epsilon: Tally() for epsilon in EPSILONS}
    own = {epsilon: Tally() for epsilon in EPSILONS}
    for _ in range(REPLICATIONS):
        exact = noisy.exact(table(random))
        for epsilon in EPSILONS:
            fit = fitted(noisy.at(exact, epsilon, random))
            tallies[epsilon].count(fit, TRUTH)
            own[epsilon].asked += len(INTERACTIONS)
            for name in INTERACTIONS if fit is not None else ():
                ends = fit.conf_int()[name]
                own[epsilon].released += 1
                own[epsilon].covered += ends.contains(TRUTH[name])
                own[epsilon].widths += [ends.upper - ends.lower] if ends.bounded else []
    print(f"\n95 % intervals of interactions, {ROWS} rows, delta = 1e-6, {REPLICATIONS} releases at each epsilon")
    for epsilon, tally in own.items():
        every = tallies[epsilon].covered / tallies[epsilon].released
        print(
            f"  epsilon {epsilon:3.1f}: interactions {tally.covered / tally.released:6.1%}, all {every:6.1%},"
            f" bounded {len(tally.widths) / tally.asked:6.1%}, median width {np.median(tally.widths):.3g}"
        )
        spread = 3.5 * float(np.sqrt(0.935 * 0.065 / REPLICATIONS))
        assert tally.covered / tally.released >= 0.935 - spread
        assert every >= 0.935 - spread

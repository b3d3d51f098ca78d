"""The simulated trial: its model, its arms, and bounds that follow from both."""

from __future__ import annotations

import numpy as np

from discreet.datasets.simulated_clinical import COEFFICIENTS, simulated_clinical
from support.dataset_oracle import counted_rows


def test_the_bounds_of_the_target_follow_from_the_model() -> None:
    ranges = {"before": (100, 180), "age": (18, 80), "bmi": (16, 40), "smoker": (0, 1)}
    ends = [sorted((COEFFICIENTS[name] * low, COEFFICIENTS[name] * high)) for name, (low, high) in ranges.items()]
    arms = (0.0, COEFFICIENTS["arm[low]"], COEFFICIENTS["arm[high]"])
    noise = 3 * 6
    low = COEFFICIENTS["Intercept"] + sum(end[0] for end in ends) + min(arms) - noise
    high = COEFFICIENTS["Intercept"] + sum(end[1] for end in ends) + max(arms) + noise
    bounds = simulated_clinical(rows=1).design.columns["after"].bounds
    assert bounds[0] < low < bounds[0] + 2
    assert bounds[1] - 2 < high < bounds[1]


def test_what_the_regressors_leave_is_noise_of_the_stated_size() -> None:
    """With 20,000 rows the standard deviation is known to 0.5%; the seed is fixed."""
    rows = counted_rows(simulated_clinical(rows=20_000, seed=7))
    known = np.array([COEFFICIENTS[name] for name in rows.names])
    noise = rows.y - rows.X @ known
    assert abs(noise.std() / 6 - 1) < 0.02
    assert np.abs(noise).max() <= 18 + 1e-9
    # a wrong coefficient is noticed
    known[rows.names.index("smoker")] += 4.0
    assert (rows.y - rows.X @ known).std() / 6 > 1.02


def test_the_arms_have_a_third_each_and_ages_are_in_years() -> None:
    """Shares of 20,000 rows vary by 0.0033; five times that is allowed, and the seed is fixed."""
    table = simulated_clinical(rows=20_000, seed=7).table
    arms = np.array(table["arm"].to_pylist())
    for arm in ("placebo", "low", "high"):
        assert abs(np.mean(arms == arm) - 1 / 3) < 5 * 0.0033
    ages = np.asarray(table["age"])
    assert set(ages.tolist()) == set(range(18, 81))


def test_a_trial_without_one_of_its_arms_is_still_a_table() -> None:
    made = simulated_clinical(rows=1, seed=3)
    assert made.table.num_rows == 1
    assert made.simulated
    assert dict(made.coefficients or {}) == COEFFICIENTS

"""The simulated heads of households; what all simulated tables share is in `test_simulated.py`."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.datasets.simulated_ipums import COEFFICIENTS, simulated_ipums

ROWS = 40_000
# a share of 0.8 lies further than five standard deviations off with a probability of 6e-7; the seed is fixed
FIVE_SD = 5 * np.sqrt(0.25 / (ROWS / 10))


@pytest.fixture(scope="module")
def cells() -> dict[str, np.ndarray]:
    table = simulated_ipums(ROWS, seed=1).table
    return {name: table[name].to_numpy().astype(float) for name in table.column_names}


def test_the_shares_are_those_of_the_note(cells: dict[str, np.ndarray]) -> None:
    married, female = cells["married"] == 1, cells["female"] == 1
    found = {
        "female": (female.mean(), 0.3),
        "nonwhite": (cells["nonwhite"].mean(), 0.2),
        "married men": (married[~female].mean(), 0.7),
        "married women": (married[female].mean(), 0.25),
        "employed below 65": (cells["employed"][cells["age"] < 65].mean(), 0.8),
        "employed from 65 on": (cells["employed"][cells["age"] >= 65].mean(), 0.15),
        "house, married": (cells["house"][married].mean(), 0.8),
        "house, not married": (cells["house"][~married].mean(), 0.5),
    }
    assert {name: pair for name, pair in found.items() if abs(pair[0] - pair[1]) > FIVE_SD} == {}


def test_the_model_explains_a_quarter_of_the_variance_of_income(cells: dict[str, np.ndarray]) -> None:
    mean = COEFFICIENTS["Intercept"] + sum(COEFFICIENTS[name] * cells[name] for name in COEFFICIENTS if name in cells)
    assert 0.2 < np.var(mean) / np.var(cells["income"]) < 0.35


def test_a_married_head_has_a_family_of_two_or_more(cells: dict[str, np.ndarray]) -> None:
    assert cells["famsize"][cells["married"] == 1].min() == 2
    assert cells["famsize"].min() == 1
    assert cells["famsize"].max() == 8

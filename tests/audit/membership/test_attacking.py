"""The attacker against production: within the promise as it is, above it with half the noise.

The production sampler cannot be seeded: the right mechanism is judged at a confidence of 1 - 1e-9.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from discreet.audit import membership_attack
from discreet.audit import runs as pooled
from discreet.datasets.tables import Dataset
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.sampler import ExactSampler

SURE = 1 - 1e-9


@pytest.fixture(scope="module")
def table():
    """Two columns, so that a draw is cheap."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 400)
    rows = pa.table({"y": np.clip(x / 2 + rng.normal(0, 0.2, 400), -1, 1), "x": x})
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    return Dataset("line", "y on x", rows, design, {}, "drawn for this test", simulated=True)


class HalfTheNoise(ExactSampler):
    def draw(self, sigmas):
        return super().draw([sigma // 2 for sigma in sigmas])


@pytest.mark.full
@pytest.mark.no_cover
def test_half_the_noise_exceeds_the_curve_and_the_right_noise_does_not(table, monkeypatch):
    """With half the noise mu is 1.68 instead of 0.84: of 3,000 draws some 20 points more are found than allowed."""
    budget = {"epsilons": [4.0], "draws": 3000, "confidence": SURE}
    right = membership_attack(table, **budget)
    assert right.passed, right.summary()
    monkeypatch.setattr(pooled, "ExactSampler", HalfTheNoise)
    wrong = membership_attack(table, **budget)
    verdicts = {(one.published, one.row): one.verdict for one in wrong.attacks}
    assert verdicts["gaussian, epsilon 4", "worst row"] == "violation"
    assert not wrong.passed


def test_no_noise_is_found_to_exceed_epsilon_and_delta_alone(table, monkeypatch):
    class NoNoise(ExactSampler):
        def draw(self, sigmas):
            return [0] * len(sigmas)

    monkeypatch.setattr(pooled, "ExactSampler", NoNoise)
    found = membership_attack(table, epsilons=[0.5], draws=100, confidence=SURE)
    worst = found.attacks[2]
    assert dataclasses.replace(worst, claim=dataclasses.replace(worst.claim, mu=None)).verdict == "violation"


def test_attacks_are_in_order_and_progress_is_reported(table):
    seen = []
    found = membership_attack(
        table, epsilons=[1.0, 2.0], draws=20, confidence=SURE, progress=lambda *facts: seen.append(facts)
    )
    assert [one.published for one in found.attacks[::2]] == [
        "least squares, NOT PRIVATE",
        "gaussian, epsilon 1",
        "gaussian, epsilon 2",
    ]
    assert {one.row for one in found.attacks} == {"worst row", "typical row"}
    assert seen == [("epsilon 1", 1, 2), ("epsilon 2", 2, 2)]
    assert found.table == "line, simulated"


def test_the_census_sample_is_attacked_unless_a_table_is_given():
    found = membership_attack(epsilons=[1.0], draws=20, confidence=SURE)
    assert found.table.startswith("census2000")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dataset": "census2000"}, "expected a Dataset"),
        ({"draws": 3}, "expected an integer of at least 20 for draws, got 3"),
        ({"confidence": 1.0}, "expected a number of at least 0.5 and below 1 for confidence"),
        ({"epsilons": []}, "expected at least one epsilon"),
        ({"epsilons": [-1.0]}, "epsilon"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    with pytest.raises(SpecError, match=words):
        membership_attack(**arguments)


def test_rows_with_weights_are_not_attacked(table):
    columns = {**table.design.columns, "weight": (0, 2)}
    weighted = dataclasses.replace(table, design=Design(table.design.target, columns, weights="weight"))
    with pytest.raises(SpecError, match="does not support weights; leave weights out"):
        membership_attack(weighted, epsilons=[1.0], draws=20)

"""What people get: a table, sentences, plain values, and a verdict for each attack."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.audit.judging import Claim
from discreet.audit.membership_result import (
    MEMBERSHIP_HEADERS,
    NOT_PRIVATE,
    Attack,
    MembershipResult,
    certain,
    measured,
    thresholds,
)

MU = 0.8


def roc(mu=MU):
    rng = np.random.default_rng(5)
    sides = rng.normal(mu * mu / 2, mu, 4000), rng.normal(-mu * mu / 2, mu, 4000)
    return measured(*sides, thresholds(mu), 1e-9)


def attack(claim, mu=MU):
    return Attack("gaussian, epsilon 4", "worst row", claim, mu, None, roc(mu), 4000)


BARE = Attack(NOT_PRIVATE, "worst row", None, None, 3, certain(known=True), 0)
RIGHT = attack(Claim(4.0, 1e-6, MU))


def test_a_row_of_the_table_has_measured_and_allowed_numbers():
    cells = dict(zip(enumerate(MEMBERSHIP_HEADERS), RIGHT.cells(), strict=True))
    assert cells[(4, "allowed")] == "0.982"
    assert cells[(6, "Gaussian")] == "0.063"
    assert RIGHT.verdict == "pass"


def test_without_noise_there_is_no_promise_to_compare_with():
    assert BARE.cells() == (NOT_PRIVATE, "worst row", "1.000", "", "", "1.000", "", "", "no guarantee")
    assert BARE.violations == ()
    assert BARE.to_dict()["private"] is False


def test_a_claim_without_a_curve_has_no_cell_for_it():
    assert attack(Claim(4.0, 1e-6)).cells()[3] == ""


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (Claim(4.0, 1e-6, MU / 2), ["moves the sums by 0.8 noise standard deviations", "the row is found in at least"]),
        (Claim(0.1), ["the row is found in at least"]),
    ],
)
def test_what_is_above_the_promise_is_a_violation(claim, words):
    found = attack(claim)
    assert found.verdict == "violation"
    assert all(word in sentence for word, sentence in zip(words, found.violations, strict=True))


def test_a_result_says_everything_and_is_plain():
    result = MembershipResult((BARE, RIGHT), "census2000", 0.99, 1.5)
    assert result.passed
    text = result.summary()
    assert text.splitlines()[1].startswith(NOT_PRIVATE)
    assert "3 significant digits of the coefficients reveal" in text
    assert "A pass is not a proof." in text
    plain = json.loads(json.dumps(result.to_dict()))
    assert [one["verdict"] for one in plain["attacks"]] == ["no guarantee", "pass"]
    wrong = MembershipResult((attack(Claim(0.1)),), "census2000", 0.99, 1.5)
    assert not wrong.passed
    assert wrong.sentences()[0].startswith("VIOLATION  gaussian, epsilon 4, worst row: ")

"""A replayed run shows the exact numbers of both tables, and whether anything else reaches what is published."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.audit.exact_losses import ReplaySampler, exact_loss, replayed, replayed_square
from discreet.audit.judging import Claim
from discreet.audit.runs import SyntheticRows
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.protocol import with_curve
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.release_request import ReleaseRequest
from discreet.testing.not_private import SeededSampler

DESIGN = Design("y", {"y": (-1, 1), "x": (-1, 1)})
ONE, TWO = {"x": [1.0, 0.5], "y": [1.0, -0.5]}, {"x": [1.0, 0.5, 1.0], "y": [1.0, -0.5, 1.0]}


def asked(mechanism):
    return ReleaseRequest.checked(DESIGN, PrivacyBudget(1.0, 1e-6), ReleaseOptions(mechanism=mechanism))  # fmt: skip


def sides(question):
    return tuple(SyntheticRows(table, DESIGN, question.domain) for table in (TWO, ONE))


@pytest.mark.parametrize("mechanism", ["gaussian", "refined", "gradient"])
def test_equal_noisy_numbers_give_equal_results_and_the_exact_numbers_differ(mechanism):
    question = asked(mechanism)
    (first, published), (second, again) = replayed(question, sides(question), SeededSampler(1))
    assert published == again
    assert first.noisy == second.noisy
    assert first.exact != second.exact


def test_the_square_is_that_of_the_moments():
    """A corner row is added to a table: the change of every moment is one product of it."""
    question = asked("gaussian")
    (first, _), _ = replayed(question, sides(question), SeededSampler(1))
    assert first.scales == question.distribution.steps(3)
    expected = sum(Fraction(4**16, scale) ** 2 for scale in first.scales)
    assert replayed_square(question, sides(question), SeededSampler(1)) == expected


def test_a_mechanism_that_publishes_an_exact_number_has_a_loss_without_end(monkeypatch):
    question = asked("refined")
    run = type(question.mechanism).passes

    def leaking(self, context):
        passes = run(self, context)
        totals = yield next(passes)
        count = int(totals.cells.sum())
        while True:
            try:
                totals = yield passes.send(totals)
            except StopIteration as done:
                values = done.value.values
                return type(done.value)((values[0] + count, *values[1:]), ranges=done.value.ranges)

    monkeypatch.setattr(type(question.mechanism), "passes", leaking)
    assert replayed_square(question, sides(question), SeededSampler(1)) is None
    claim = Claim.of(with_curve(Guarantee.promised(DESIGN.unit, question.budget), question.distribution))
    assert exact_loss("pair", question, claim, sides(question), SeededSampler(1)).value == math.inf


def test_other_noise_cannot_be_replayed():
    sampler = ReplaySampler(SeededSampler(1))
    for call in (sampler.laplace, sampler.bits):
        with pytest.raises(SpecError, match="Gaussian"):
            call(1)

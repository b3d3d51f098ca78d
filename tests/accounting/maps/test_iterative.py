"""Mechanisms of several passes, forwards: every pass counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.iterations import (
    gram_l1_sensitivity,
    gram_sensitivity,
    score_l1_sensitivity,
    score_sensitivity,
    weighted_gram_sensitivity,
)
from discreet.accounting.moments import OFF_WEIGHT
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.privacy.spend import pure_mu
from support.loss_cases import one_case


@pytest.mark.parametrize(("name", "settings"), [("gradient", {}), ("irls", {}), ("irls", {"form": "moment"})])
def test_twice_the_passes_break_the_promise(name, settings):
    case = one_case(name, iterations=50, **settings)
    more = case.loss_with(case.distribution, iterations=100)
    assert case.kept
    assert more.mu > 1.3 * case.loss.mu


def test_the_number_of_rows_counts_unless_it_is_public():
    hidden = one_case("gradient")
    public = one_case("gradient", Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"}))
    assert "count" in hidden.distribution.sigma
    assert "count" not in public.distribution.sigma
    assert not hidden.kept_with_half("count")
    assert public.kept


def test_under_replace_the_two_parts_of_weighted_moments_are_not_largest_together():
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)}, unit={"neighbours": "replace"})
    joint = one_case("irls", design, form="moment")
    apart = one_case("irls", design, form="moment", composition="zcdp")
    assert joint.kept
    assert apart.kept
    for block in ("gram_diagonal", "cross"):
        assert not joint.kept_with_half(block)


def test_pure_scores():
    case = one_case("irls", delta=0.0)
    assert case.loss.is_pure
    assert case.loss_with(case.distribution, iterations=40).epsilon > 1.6 * case.loss.epsilon
    with pytest.raises(SpecError, match="the setting 'form' must be 'score' for this mechanism, got 'moment'"):
        case.loss_with(case.distribution, form="moment")


def test_choices_have_the_loss_of_their_range():
    composed, pure = one_case("frank-wolfe"), one_case("frank-wolfe", delta=0.0)
    each = 1 / 20
    assert pure.loss.epsilon == pytest.approx(1.0, rel=1e-6)
    assert pure.loss.rho == pytest.approx(20 * each**2 / 8, rel=1e-6)
    assert pure.loss.mu == pytest.approx(20**0.5 * pure_mu(each), rel=1e-6)
    assert composed.loss.failure == 0
    assert composed.kept
    with pytest.raises(SpecError, match="expected noise for 10 iterations, as in the settings, got 20"):
        composed.loss_with(composed.distribution, iterations=10)


def test_momentum_is_a_parameter_exactly_where_it_is_used():
    case = one_case("gradient")
    with pytest.raises(SpecError, match="takes no parameter 'momentum_per_mille', but the release states one"):
        case.loss_with(case.distribution, momentum=False)
    with pytest.raises(SpecError, match="needs a parameter 'momentum_per_mille', but the release states none"):
        case.loss_with(replace(case.distribution, parameters={}))


# -- the same figures by arithmetic of their own: sensitivities and scales, and how often each is used ---------------

ONE = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1)})


def over(case, sensitivity, block):
    return sensitivity * case.distribution.unit / case.distribution.sigma[block]


def lattice(case, entries):
    return sum(many / (16 * case.distribution.sigma[block] ** 2) for block, many in entries.items())


def gram_square(case, sensitivity):
    return max(over(case, sensitivity, "gram_diagonal") ** 2, over(case, sensitivity, "gram_off_diagonal") ** 2 / 2)


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_scores_are_counted_in_every_pass_and_the_gram_once(passes):
    case = one_case("irls", ONE, iterations=passes)
    domain = RowDomain.of(ONE)
    score = over(case, score_sensitivity(domain, ONE.unit, intercept=True), "score")
    square = gram_square(case, gram_sensitivity(ONE, domain)) + passes * score**2
    assert case.loss.mu == pytest.approx(square**0.5, rel=1e-9)
    entries = {"gram_diagonal": 3, "gram_off_diagonal": 3, "score": 3 * passes}
    assert case.loss.tau == pytest.approx(lattice(case, entries), rel=1e-9, abs=0)


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_weighted_moments_are_counted_in_every_pass(passes):
    case = one_case("irls", ONE, form="moment", iterations=passes)
    of_gram, of_cross = weighted_gram_sensitivity(RowDomain.of(ONE), ONE.unit, intercept=True)
    square = passes * (gram_square(case, of_gram) + over(case, of_cross, "cross") ** 2)
    assert case.loss.mu == pytest.approx(square**0.5, rel=1e-9)
    entries = {"gram_diagonal": 3 * passes, "gram_off_diagonal": 3 * passes, "cross": 3 * passes}
    assert case.loss.tau == pytest.approx(lattice(case, entries), rel=1e-9, abs=0)


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_pure_scores_are_counted_in_every_pass_and_the_gram_once(passes):
    case = one_case("irls", ONE, delta=0.0, iterations=passes)
    domain = RowDomain.of(ONE)
    gram = gram_l1_sensitivity(ONE, domain) * max(
        over(case, 1, "gram_diagonal"), over(case, 1, "gram_off_diagonal") / float(OFF_WEIGHT)
    )
    epsilon = gram + passes * over(case, float(score_l1_sensitivity(ONE, domain)), "score")
    assert case.loss.epsilon == pytest.approx(float(epsilon), rel=1e-9)


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_steps_of_a_gradient_are_counted_every_time(passes):
    case = one_case("gradient", ONE, iterations=passes)
    score = over(case, score_sensitivity(RowDomain.of(ONE), ONE.unit, intercept=True), "score")
    square = passes * score**2 + over(case, 1, "count") ** 2
    assert case.loss.mu == pytest.approx(square**0.5, rel=1e-9)
    assert case.loss.tau == pytest.approx(lattice(case, {"score": 3 * passes, "count": 1}), rel=1e-9, abs=0)

"""Mechanisms of several passes, forwards: every pass counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.privacy.loss import pure_mu
from support.loss_cases import one_case


@pytest.mark.parametrize(("name", "settings"), [("gradient", {}), ("irls", {}), ("irls", {"form": "moment"})])
def test_twice_the_passes_break_the_promise(name, settings):
    case = one_case(name, iterations=50, **settings)
    more = case.loss_with(case.law, iterations=100)
    assert case.kept
    assert more.mu > 1.3 * case.loss.mu


def test_the_number_of_rows_counts_unless_it_is_public():
    hidden = one_case("gradient")
    public = one_case("gradient", Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"}))
    assert "count" in hidden.law.sigma
    assert "count" not in public.law.sigma
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
    assert case.loss_with(case.law, iterations=40).epsilon > 1.6 * case.loss.epsilon
    with pytest.raises(SpecError, match="the setting 'form' is 'moment'"):
        case.loss_with(case.law, form="moment")


def test_choices_have_the_loss_of_their_range():
    composed, pure = one_case("frank-wolfe"), one_case("frank-wolfe", delta=0.0)
    each = 1 / 20
    assert pure.loss.epsilon == pytest.approx(1.0, rel=1e-6)
    assert pure.loss.rho == pytest.approx(20 * each**2 / 8, rel=1e-6)
    assert pure.loss.mu == pytest.approx(20**0.5 * pure_mu(each), rel=1e-6)
    assert composed.loss.failure == 0
    assert composed.kept
    with pytest.raises(SpecError, match="expected 10 choices as in the settings, got 20"):
        composed.loss_with(composed.law, iterations=10)


def test_momentum_is_a_parameter_exactly_where_it_is_used():
    case = one_case("gradient")
    with pytest.raises(SpecError, match="got a parameter 'momentum_per_mille'"):
        case.loss_with(case.law, momentum=False)
    with pytest.raises(SpecError, match="expected a parameter 'momentum_per_mille'"):
        case.loss_with(replace(case.law, parameters={}))

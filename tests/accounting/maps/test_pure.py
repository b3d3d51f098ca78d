"""Epsilon forwards from the scales of noise that keeps it alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.errors import SpecError
from support.loss_cases import one_case


@pytest.mark.parametrize("name", ["laplace", "functional", "k-norm"])
def test_twice_the_scales_give_half_of_epsilon(name):
    case = one_case(name, delta=0.0)
    wider = replace(case.distribution, sigma={block: 2 * sigma for block, sigma in case.distribution.sigma.items()})
    assert case.loss_with(wider).epsilon == pytest.approx(case.loss.epsilon / 2, rel=1e-9)
    assert case.loss.is_pure


def test_counts_of_clipped_rows_are_counted():
    case = one_case("laplace", delta=0.0, beside={"clip_counts": True})
    without = replace(
        case.distribution, sigma={block: s for block, s in case.distribution.sigma.items() if block != "clipped"}
    )
    assert case.loss_with(without).epsilon == pytest.approx(0.98 * case.loss.epsilon, rel=1e-6)


def test_noise_of_another_dimension_is_refused():
    case = one_case("k-norm", delta=0.0)
    with pytest.raises(SpecError, match="expected dimension = 10, got 9"):
        case.loss_with(replace(case.distribution, parameters={"dimension": 9}))

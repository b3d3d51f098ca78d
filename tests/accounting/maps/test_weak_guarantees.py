"""Guarantees so weak that rounding could confirm them for any noise, and noise outside the range of its proof."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.accounting.privacy_loss import keeps
from discreet.errors import SpecError
from discreet.privacy.spend import Loss
from support.loss_cases import one_case


@pytest.mark.parametrize("delta", [1 - 2e-6, 0.9999995, 1 - 1e-12])
def test_almost_no_noise_satisfies_no_delta_below_1(delta):
    case = one_case("gaussian")
    bare = case.loss_with(replace(case.distribution, sigma=dict.fromkeys(case.distribution.sigma, 1)))
    assert not keeps(bare, 1.0, delta)
    assert not keeps(Loss.approximate(1.0, 1 - 2**-20), 1.0, delta)
    assert keeps(Loss.approximate(1.0, 0.5), 1.0, delta)


def test_wishart_noise_outside_the_range_of_its_proof_is_refused():
    case = one_case("wishart")
    many = {**case.distribution.parameters, "degrees": 100_001}
    with pytest.raises(SpecError, match="at most 100,000 degrees of freedom, got 100001"):
        case.loss_with(replace(case.distribution, parameters=many))


@pytest.mark.parametrize("columns", [3, 6])
def test_counts_of_clipped_rows_are_charged_no_less_than_exactly(columns):
    """The root of 3 and of 6 is rounded down in double precision; the margin makes up for it."""
    from discreet.accounting.moment_queries import clip_query
    from discreet.design.design import Design

    design = Design("y", {"y": (0, 1), **{f"x{j}": (0, 1) for j in range(columns - 1)}})
    query = clip_query(design)
    assert query.squared_loss({"clipped": Fraction(1)}) >= columns
    assert replace(query, margin=1.0).squared_loss({"clipped": Fraction(1)}) < columns

"""Wishart noise forwards: delta at the promised epsilon, from scales and degrees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.privacy_loss import split
from discreet.accounting.privacy_maps import loss_of
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.wishart import Scales
from discreet.privacy.lattice import ROUNDING
from support.loss_cases import one_case

IRLS = {"form": "moment", "noise": "wishart", "iterations": 3}


def test_less_noise_has_more_delta():
    case = one_case("wishart", degrees=500)
    of = Scales.of(case.distribution)
    half = Scales(of.constant // 2, of.regressor // 2, of.target // 2).blocks(count_public=False)
    assert case.loss_with(replace(case.distribution, sigma=half)).delta > 100 * case.delta


def test_scales_that_are_no_products_are_refused():
    case = one_case("wishart", degrees=500)
    with pytest.raises(SpecError, match="must be a product of two column scales"):
        case.loss_with(
            replace(case.distribution, sigma={**case.distribution.sigma, "cross": case.distribution.sigma["cross"] + 1})
        )


def test_fewer_degrees_have_more_delta():
    case = one_case("wishart", degrees=500)
    assert case.loss_with(replace(case.distribution, parameters={"degrees": 300})).delta > case.delta
    for degrees in (3, 5_000_000):
        with pytest.raises(SpecError, match="degrees of freedom"):
            case.loss_with(replace(case.distribution, parameters={"degrees": degrees}))


def test_what_the_mechanism_refuses_is_refused():
    case = one_case("wishart", degrees=500)
    persons = Design("y", {"y": (0, 10), "x": (0, 5), "z": (-1, 1)}, unit={"id": "p", "max_rows": 2})
    with pytest.raises(SpecError, match="one row per person"):
        replace(case, design=persons).loss  # noqa: B018
    with pytest.raises(SpecError, match=r"Wishart noise needs epsilon from .* and delta of at least"):
        replace(case, delta=1e-40).loss  # noqa: B018
    public = one_case("wishart", Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"}), degrees=500)
    with pytest.raises(SpecError, match="with a public number of rows needs debiased = true, got false"):
        public.loss_with(public.distribution, debiased=False)


def test_passes_of_irls_add_up():
    case = one_case("irls", **IRLS)
    assert case.kept
    assert case.loss_with(case.distribution, iterations=6).delta > 10 * case.loss.delta
    with pytest.raises(SpecError, match="needs delta above 0"):
        replace(case, delta=0.0).loss  # noqa: B018


@pytest.mark.parametrize("composition", ["basic", "advanced"])
def test_every_pass_of_wishart_noise_has_its_delta(composition):
    case = one_case("irls", form="moment", noise="wishart", composition=composition, iterations=40)
    each, _ = split(composition, case.epsilon, case.delta, 40)
    # one matrix by itself, at what the rule leaves it of epsilon
    alone = loss_of("irls", case.design, case.distribution, {**case.settings, "iterations": 1, "composition": "basic"},
                    each * ROUNDING, case.delta).delta  # fmt: skip
    fixed = case.delta / 2 if composition == "advanced" else 0.0
    assert case.loss.delta == pytest.approx(40 * alone + fixed, rel=1e-3)

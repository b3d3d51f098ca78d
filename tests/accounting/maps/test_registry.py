"""Every mechanism has a map; its loss is within the promise, reaches it, and is never below that of worst pairs."""

from __future__ import annotations

import math

import pytest

from discreet.accounting.privacy_maps import VERSION, loss_of
from discreet.accounting.settings import MECHANISMS, MOMENTS
from discreet.audit.pairs import worst_pairs
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.registry import mechanisms
from discreet.privacy.gaussian_dp import delta_from, mu_from, rho_from
from support.loss_cases import BUDGETS, cases, one_case
from support.pure_pairs import exact_epsilon
from support.statistics_pairs import exact_mu2, totals_of

NAMES = sorted(mechanisms())
# rules that promise far less than the noise keeps: they are there to be compared with
LOOSE = ("basic", "advanced", "cdp")
# blocks that the worst pair need not move: with one column there is no entry off the diagonal, and where a row may be
# exchanged or be absent the exchange may be worse than the absence, or move other blocks
MAY_NOT_COUNT = ("gram_off_diagonal", "count", "target_square")


def test_every_mechanism_has_a_map_and_the_same_version():
    assert set(MECHANISMS) == set(mechanisms())
    assert {mechanism.version for mechanism in mechanisms().values()} == {VERSION} == {"1"}
    assert {name for name, one in mechanisms().items() if one.kind == "moments"} == MOMENTS


def reaches(case) -> bool:
    """Whether the loss is within 2% of the promise, in the currency in which the noise was calibrated."""
    loss, epsilon, delta = case.loss, case.epsilon, case.delta
    if case.distribution.calibration == "pure":
        return loss.epsilon >= 0.98 * epsilon
    if case.distribution.calibration == "gaussian":
        return loss.mu >= 0.98 * mu_from(epsilon, delta)
    if case.distribution.calibration == "discrete-zcdp" or case.mechanism.name == "frank-wolfe":
        return loss.rho >= 0.96 * rho_from(epsilon, delta)
    # of Wishart noise and a bound the degrees, the grid or the parts of delta leave something
    return loss.delta >= 0.1 * delta


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_within_the_promise_and_reaches_it(name):
    checked = 0
    for case in cases(name, budgets=BUDGETS if name != "wishart" else BUDGETS[:2]):
        assert case.kept, (case.settings, case.design.unit, case.epsilon, case.loss)
        if case.settings.get("composition") not in LOOSE:
            assert reaches(case), (case.settings, case.design.unit, case.epsilon, case.loss)
        checked += 1
    assert checked >= 8


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("wishart", "objective")])
def test_the_loss_is_within_the_promise_on_coarse_and_fine_grids(name):
    for case in cases(name, budgets=((1.0, 1e-6), (1.0, 0.0)), grids=(8, 26)):
        assert case.kept, (case.settings, case.design.unit, case.distribution.grid_bits)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_half_of_any_scale_that_counts_breaks_the_promise(name):
    for case in cases(name, budgets=((1.0, 1e-6), (1.0, 0.0)) if name != "wishart" else ((1.0, 1e-6),)):
        if case.settings.get("composition") in LOOSE:
            continue
        for block, sigma in case.distribution.sigma.items():
            if sigma and block not in MAY_NOT_COUNT:
                assert not case.kept_with_half(block), (case.settings, case.design.unit, block)


@pytest.mark.parametrize("block", MAY_NOT_COUNT)
@pytest.mark.parametrize("name", ["gaussian", "laplace", "k-norm"])
def test_half_of_the_scales_that_may_not_count_breaks_it_where_rows_are_added(name, block):
    assert not one_case(name, delta=1e-6 if name == "gaussian" else 0.0).kept_with_half(block)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", ["gaussian", "ssp", "laplace", "functional"])
def test_worst_pairs_lose_no_more_than_the_map_says(name, neighbours):
    delta = 1e-6 if name in ("gaussian", "ssp") else 0.0
    for columns in ({"y": (-1, 1), "a": (-1, 1), "b": (0, 10)}, {"y": bool, "a": (-1, 1), "b": bool}):
        design = Design("y", columns, unit={"neighbours": neighbours})
        case = one_case(name, design, delta=delta)
        loss, worst = case.loss, 0.0
        for pair in worst_pairs(name, design):
            if delta:
                found = math.sqrt(
                    exact_mu2(
                        design, case.distribution, totals_of(pair.table, design), totals_of(pair.neighbour, design)
                    )
                )
                claimed = loss.mu
            else:
                found = float(exact_epsilon(design, case.distribution, pair.table, pair.neighbour))
                claimed = loss.epsilon
            assert found <= claimed * (1 + 1e-12)
            worst = max(worst, found / claimed)
        # the pairs come close, so the claim is not far above the truth
        assert worst >= 0.85


def test_an_unknown_mechanism_is_refused_in_words():
    case = one_case("gaussian")
    with pytest.raises(SpecError, match=r"unknown mechanism 'gausian'.*Did you mean 'gaussian'"):
        loss_of("gausian", case.design, case.distribution, {}, 1.0, 1e-6)


def test_the_loss_agrees_with_the_exact_curve_of_its_mu():
    loss = one_case("gaussian").loss
    assert delta_from(1.0, loss.mu) <= loss.delta <= 1e-6 * (1 + 1e-9)
    assert loss.rho == pytest.approx(loss.mu**2 / 2, rel=1e-12)

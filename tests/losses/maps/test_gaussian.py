"""Discrete Gaussian noise on moments, forwards: every statistic that is released counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.errors import SpecError
from discreet.losses.maps.gaussian import CLOSE
from discreet.losses.sensitivity.l2_sensitivity import GAP
from discreet.privacy.lattice import lattice_gap
from support.loss_cases import one_case


def halved(case, block):
    return case.loss_with(replace(case.law, sigma={**case.law.sigma, block: case.law.sigma[block] // 2}))


@pytest.mark.parametrize("beside", [{"robust": True}, {"clip_counts": True}, {"robust": True, "clip_counts": True}])
def test_sums_over_residuals_and_clipped_rows_are_counted(beside):
    case = one_case("gaussian", beside=beside)
    plain = case.loss
    further = [block for block in case.law.sigma if block.startswith(("residual", "clipped"))]
    assert len(further) in (1, 3, 4)
    for block in further:
        assert halved(case, block).mu > plain.mu * 1.01
        assert halved(case, block).tau > plain.tau
    without = replace(case.law, sigma={k: v for k, v in case.law.sigma.items() if k not in further})
    assert case.loss_with(without).mu < plain.mu * 0.99


def test_an_earlier_robust_release_without_the_ratio_is_read():
    case = one_case("gaussian", beside={"robust": True})
    sigma = {block: value for block, value in case.law.sigma.items() if block != "residual_ratio"}
    assert case.loss_with(replace(case.law, sigma=sigma)).mu < case.loss.mu


def test_one_residual_block_alone_is_refused():
    case = one_case("gaussian", beside={"robust": True})
    sigma = {block: value for block, value in case.law.sigma.items() if block != "residual_diagonal"}
    with pytest.raises(SpecError, match="expected a scale 'residual_diagonal'"):
        case.loss_with(replace(case.law, sigma=sigma))


def test_the_eigenvalue_is_counted():
    case = one_case("adassp")
    assert halved(case, "smallest_eigenvalue").mu > case.loss.mu * 1.1


def test_tau_is_that_of_the_lattice():
    case = one_case("ssp")
    entries = {"count": 1, "sum_x": 2, "gram_diagonal": 2, "gram_off_diagonal": 1, "sum_y": 1, "cross": 2}
    gap = lattice_gap(0.0, [(entries[block], sigma) for block, sigma in case.law.sigma.items()])
    assert case.loss.tau == pytest.approx(gap / 2, rel=1e-9)


def test_the_search_forwards_is_closer_than_that_of_calibrations():
    assert CLOSE <= GAP / 100

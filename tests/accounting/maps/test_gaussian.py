"""Discrete Gaussian noise on moments, forwards: every statistic that is released counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.moments import CLOSE, GAP
from discreet.accounting.noise_distribution import model_blocks
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.privacy.lattice import lattice_gap
from support.loss_cases import one_case


def halved(case, block):
    return case.loss_with(
        replace(case.distribution, sigma={**case.distribution.sigma, block: case.distribution.sigma[block] // 2})
    )


@pytest.mark.parametrize("beside", [{"robust": True}, {"clip_counts": True}, {"robust": True, "clip_counts": True}])
def test_sums_over_residuals_and_clipped_rows_are_counted(beside):
    case = one_case("gaussian", beside=beside)
    plain = case.loss
    further = [block for block in case.distribution.sigma if block.startswith(("residual", "clipped"))]
    assert len(further) in (1, 3, 4)
    for block in further:
        assert halved(case, block).mu > plain.mu * 1.01
        assert halved(case, block).tau > plain.tau
    without = replace(case.distribution, sigma={k: v for k, v in case.distribution.sigma.items() if k not in further})
    assert case.loss_with(without).mu < plain.mu * 0.99


@pytest.mark.parametrize("block", ["residual_diagonal", "residual_ratio"])
def test_robust_sums_without_one_of_their_blocks_are_refused(block):
    case = one_case("gaussian", beside={"robust": True})
    sigma = {name: value for name, value in case.distribution.sigma.items() if name != block}
    with pytest.raises(SpecError, match=f"needs a scale '{block}', but the release states none"):
        case.loss_with(replace(case.distribution, sigma=sigma))


def test_the_eigenvalue_is_counted():
    case = one_case("adassp")
    assert halved(case, "smallest_eigenvalue").mu > case.loss.mu * 1.1


def test_tau_is_that_of_the_lattice():
    case = one_case("ssp")
    entries = {"count": 1, "sum_x": 2, "gram_diagonal": 2, "gram_off_diagonal": 1, "sum_y": 1, "cross": 2}
    gap = lattice_gap(0.0, [(entries[block], sigma) for block, sigma in case.distribution.sigma.items()])
    assert case.loss.tau == pytest.approx(gap / 2, rel=1e-9)


def test_the_search_forwards_is_closer_than_that_of_calibrations():
    assert CLOSE <= GAP / 100


# in the order of a release; the first has no feature
MODELS = ((3,), (1, 3), (1, 3, 2))


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "p", "max_rows": 3}])
def test_sums_over_residuals_of_further_models_are_counted(unit):
    design = Design("y", {"y": (0, 10), "x": (0, 5), "z": (-1, 1)}, unit=unit)
    case = one_case("gaussian", design, beside={"robust": True, "models": MODELS})
    assert case.kept
    assert case.loss.delta > 0.999 * case.delta
    for number in range(1, 4):
        diagonal, off = model_blocks(number)
        assert halved(case, diagonal).mu > case.loss.mu * 1.005
        assert not case.kept_with_half(diagonal)
        # a model without features has no entry off the diagonal
        assert (halved(case, off).mu > case.loss.mu) == (number != 1)


def test_models_that_the_noise_does_not_fit_are_refused():
    case = one_case("gaussian", beside={"robust": True, "models": MODELS})
    plain = one_case("gaussian", beside={"robust": True})
    with pytest.raises(SpecError, match="needs a scale 'residual_diagonal_1', but the release states none"):
        case.loss_with(replace(plain.distribution, models=MODELS))
    with pytest.raises(SpecError, match="takes no scale 'residual_diagonal_1', but the release states one"):
        case.loss_with(replace(case.distribution, models=()))
    for wrong in ((1, 2, 3), (2, 1, 3), (0, 3), (3, 3), (9,), ()):
        with pytest.raises(SpecError, match="expected the columns of an additional model of the design"):
            case.loss_with(replace(case.distribution, models=(wrong, *MODELS[1:])))
    other = one_case("ssp")
    with pytest.raises(SpecError, match="this mechanism takes no additional models"):
        other.loss_with(replace(other.distribution, models=MODELS))


def test_a_longer_model_needs_more_noise_than_a_shorter_one_has():
    """A file that names another model for the same noise states a stronger promise than it keeps."""
    case = one_case("gaussian", beside={"robust": True, "models": ((3,),)})
    longer = replace(case.distribution, models=((1, 3),))
    assert case.loss_with(longer).delta > case.delta >= case.loss.delta

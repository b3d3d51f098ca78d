"""Every claim is refuted by its code, and the code would say so if the claim were true."""

from __future__ import annotations

import numpy as np
import pytest

from discreet_papers.dandekar import dandekar_errata, dandekar_methods
from discreet_papers.dandekar.dandekar_errata import (
    ERRATA,
    enumerated_sensitivity,
    lambda_by_rows,
    output_loss,
    symmetrised_loss,
)
from discreet_papers.dandekar.dandekar_methods import Quadratic
from discreet_papers.figure import Erratum


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: f"E{erratum.number}")
def test_the_claim_is_refuted_with_numbers(erratum: Erratum) -> None:
    outcome = erratum.show()
    assert outcome.holds is False, outcome
    assert any(character.isdigit() for character in outcome.measured)


def test_the_numbers_are_those_of_the_report() -> None:
    assert [erratum.number for erratum in ERRATA] == [16, 17, 18, 19, 26, 28]


@pytest.mark.parametrize("exchanged", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_sensitivity_is_the_square_of_the_columns(d: int, exchanged: bool) -> None:
    assert enumerated_sensitivity(d, exchanged=exchanged) == (d + 1) ** 2


# what the mathematics, or CVXPY, would have to say for the claim to be true
TRUE_CLAIMS: dict[int, tuple[object, str, object]] = {
    16: (dandekar_methods, "claimed_sensitivity", dandekar_methods.exact_sensitivity),
    17: (dandekar_errata, "symmetrised_loss", lambda: 2.1),
    18: (dandekar_errata, "output_loss", lambda epsilon, *, repaired: 1.1 * epsilon),
    19: (Quadratic, "of", lambda X, y: Quadratic(-X.T @ X, X.T @ y)),
    26: (dandekar_errata, "refusals", lambda: (0, "CVXPY")),
    28: (dandekar_errata, "least_squares_slope", lambda x, y: float(np.median(y / x))),
}


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: f"E{erratum.number}")
def test_the_verdict_depends_on_the_numbers(erratum: Erratum, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*TRUE_CLAIMS[erratum.number])  # type: ignore[call-overload]
    assert erratum.show().holds is True


@pytest.mark.parametrize("size", [0.1, 1.0, 4.0])
def test_the_mean_of_two_entries_spends_at_most_what_both_spend(size: float) -> None:
    assert 1.9 * size < symmetrised_loss(size) <= 2 * size


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("repaired", [True, False])
def test_post_processing_spends_at_most_epsilon(epsilon: float, repaired: bool) -> None:
    spent = output_loss(epsilon, repaired=repaired)
    assert 0.5 * epsilon < spent <= epsilon + 1e-9


def test_cross_validation_follows_a_single_row() -> None:
    one, other = lambda_by_rows()
    assert one != other


def test_a_table_without_noise_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dandekar_errata, "WINE_EPSILONS", (1e9,))
    refused, versions = dandekar_errata.refusals(tries=2)
    assert refused == 0
    assert "CVXPY" in versions


def test_the_density_of_a_mean_of_two_laplace_variables_is_the_one_used() -> None:
    rng = np.random.default_rng(1)
    drawn = rng.laplace(size=(2, 100_000)).mean(axis=0)
    z = np.linspace(0, 12, 12_001)
    below = 0.5 + np.cumsum((1 + 2 * z) * np.exp(-2 * z) / 2) * 1e-3
    # 100,000 draws: a share lies 0.01 off with a probability below 1e-9
    assert np.mean(drawn <= 0.5) == pytest.approx(below[500], abs=0.01)

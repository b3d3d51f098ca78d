"""Each claim is evaluated; a test would fail if it were true."""

import numpy as np
import pytest

from discreet_papers.kalaja import kalaja_errata
from discreet_papers.kalaja.kalaja_errata import ERRATA

NUMBERS = {6: "30.667", 7: "1.62", 8: "0.70", 9: "8.782", 10: "exact means", 11: "1.414", 24: "1.59 at 1", 27: "y not"}


def test_all_errata_of_the_thesis_are_here():
    assert [one.number for one in ERRATA] == sorted(NUMBERS)
    assert {one.document for one in ERRATA} == {"kalaja"}


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda one: f"E{one.number}")
def test_the_claim_is_refuted_by_numbers(erratum):
    outcome = erratum.show()
    assert outcome.holds is False
    assert NUMBERS[erratum.number] in outcome.measured


def test_the_verdicts_follow_the_numbers(monkeypatch):
    """With other constants the claims would hold."""
    monkeypatch.setattr(kalaja_errata, "true_epsilon", lambda name, epsilon: 2 * epsilon)
    assert kalaja_errata.insufficient_noise().holds
    monkeypatch.setattr(kalaja_errata, "true_epsilon", lambda name, epsilon: epsilon / 2)
    assert kalaja_errata.coded_budget().holds
    monkeypatch.setattr(kalaja_errata, "printed_sigma", lambda epsilon, delta: 1e-9)
    assert kalaja_errata.needed_noise().holds
    monkeypatch.setattr(kalaja_errata, "averaged", lambda rng, many, size: 3 * rng.standard_normal((many, size, size)))
    assert kalaja_errata.not_symmetric().holds
    monkeypatch.setattr(kalaja_errata, "delta_from", lambda epsilon, mu: 1.0)
    assert kalaja_errata.at_most_one().holds
    monkeypatch.setattr(kalaja_errata, "_intercept_errors", lambda *, centred: (2.0, 1.0))
    assert kalaja_errata.missing_intercept().holds


def test_statistics_without_noise_would_be_harmless_if_they_moved_little_and_hid_the_row(monkeypatch):
    monkeypatch.setattr(kalaja_errata, "_scaled_gram", lambda x: np.zeros((5, 5)))
    assert not kalaja_errata.unperturbed().holds
    monkeypatch.setattr(kalaja_errata.np, "allclose", lambda one, other: False)
    assert kalaja_errata.unperturbed().holds


def test_the_spectral_norm_would_do_if_it_were_the_frobenius_norm(monkeypatch):
    monkeypatch.setattr(kalaja_errata.np.linalg, "norm", lambda matrix, order=None: 1.0)
    assert kalaja_errata.spectral_norm().holds

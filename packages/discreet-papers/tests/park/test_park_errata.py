"""Every claim of the note that is wrong is found false, and by code that could find it true."""

from __future__ import annotations

import numpy as np
import pytest

from discreet_papers.park import park_errata
from discreet_papers.park.park_errata import ERRATA


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: f"E{erratum.number}")
def test_the_claim_is_refuted(erratum):
    assert erratum.document == "park"
    assert erratum.show().holds is False


def test_the_numbers_are_those_of_the_page():
    by_number = {erratum.number: erratum.show().measured for erratum in ERRATA}
    assert "0.095" in by_number[20]
    assert "inf" in by_number[20]
    assert "-4.16" in by_number[21]
    assert "1.050" in by_number[22]
    assert "7.31" in by_number[22]
    assert "[6, 6, 6]" in by_number[23]
    assert "2 times its level" in by_number[23]


def test_each_would_be_found_true_if_it_were(monkeypatch):
    assert park_errata.wishart_keeps_its_level(level=1e-9, draws=50).holds
    monkeypatch.setattr(park_errata, "cdp_level", lambda epsilon, pieces: (2 * epsilon / pieces) ** 0.5 * 0.9)
    assert park_errata.levels_keep_the_expected_loss().holds
    monkeypatch.setattr(park_errata, "delta_from", lambda epsilon, mu: 0.0)
    monkeypatch.setattr(park_errata.math, "log", lambda value: 1.0)
    assert park_errata.gaussian_keeps_its_level().holds


def test_coefficients_that_the_cap_sets_to_zero_would_be_counted(monkeypatch):
    sparse = np.array([[1.0, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]])[np.newaxis]
    monkeypatch.setattr(park_errata, "reweighted", lambda *given: sparse)
    found = park_errata.cap_sets_the_sparsity()
    assert "[2, 3, 4]" in found.measured
    assert not found.holds
    monkeypatch.setattr(park_errata, "_CAPS", (1.0, 5.0, 50.0))
    assert park_errata.cap_sets_the_sparsity().holds

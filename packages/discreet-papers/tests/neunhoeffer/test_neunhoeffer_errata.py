"""Every erratum of the notebook refutes its claim by numbers, and would agree if the claim were true."""

from __future__ import annotations

import numpy as np
import pytest

from discreet_papers.neunhoeffer import neunhoeffer_errata, neunhoeffer_lines, neunhoeffer_objective
from discreet_papers.neunhoeffer.neunhoeffer_errata import ERRATA


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(neunhoeffer_errata, "_TABLES", 60)
    monkeypatch.setattr(neunhoeffer_errata, "_DRAWS", 1000)


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: f"E{erratum.number}")
def test_the_claim_is_refuted(erratum):
    assert erratum.show().holds is False


# what the mathematics would have to say for the claim to be true
TRUE_CLAIMS = {
    12: (neunhoeffer_lines, "jiang_loss", lambda row, epsilon: np.full(np.shape(row)[:-1], 1.0)),
    13: (neunhoeffer_lines, "per_entry_loss", lambda low, high, epsilon, n, exchanged=False: 1.0),
    14: (neunhoeffer_lines, "per_entry_loss", lambda low, high, epsilon, n, exchanged=False: 1.0),
    15: (neunhoeffer_errata, "_held", lambda rows, scheme, epsilon: 0.95),
    25: (neunhoeffer_objective, "certified_loss", lambda without, with_row: 0.03),
}


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: f"E{erratum.number}")
def test_the_verdict_depends_on_the_numbers(erratum, monkeypatch):
    module, name, instead = TRUE_CLAIMS[erratum.number]
    monkeypatch.setattr(module, name, instead)
    assert erratum.show().holds is True


def test_they_are_the_errata_of_the_notebook_with_the_numbers_of_the_table():
    shown = {erratum.number: erratum.show().measured for erratum in ERRATA}
    assert sorted(shown) == [12, 13, 14, 15, 25]
    assert "28.5" in shown[12]
    assert "6.00" in shown[13]
    assert "2.75" in shown[13]
    assert "201 epsilon" in shown[14]
    assert "605" in shown[14]
    assert "0.009986" in shown[25]


def test_shares_are_of_lines_with_errors():
    rows = [
        {"line": "jiang", "epsilon": 1.0, "known": 1, "covers": 1},
        {"line": "jiang", "epsilon": 1.0, "known": 1, "covers": 0},
        {"line": "jiang", "epsilon": 1.0, "known": 0, "covers": 0},
    ]
    assert neunhoeffer_errata._held(rows, "jiang", 1.0) == 0.5

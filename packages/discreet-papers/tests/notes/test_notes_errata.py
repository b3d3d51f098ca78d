"""Every erratum of the notes refutes its claim by numbers; with the claim repaired the same code agrees."""

from __future__ import annotations

import pytest

from discreet_papers.notes import notes_counts, notes_mean, notes_noisy_max
from discreet_papers.notes.notes_errata import ERRATA


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: f"E{erratum.number}")
def test_the_claim_is_refuted(erratum):
    assert erratum.show().holds is False


def test_they_are_the_errata_of_the_notes():
    assert [erratum.number for erratum in ERRATA] == [1, 2, 3, 4, 5]
    assert {erratum.document for erratum in ERRATA} == {"notes"}


# what the mathematics would have to say for the claim to be true
TRUE_CLAIMS = {
    1: (notes_mean, "squared_sensitivity", lambda n, reach=1.0: 1 / n),
    2: (notes_mean, "squared_error_loss", lambda n, epsilon, at: 1.0),
    3: (notes_mean, "private_size_loss", lambda n, epsilon, at: 1.0),
    4: (notes_noisy_max, "true_loss", lambda lead, epsilon, relation, factor=1.0: 1.0),
    5: (notes_mean, "absolute_error_loss", lambda n, rate: 1.0),
}


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: f"E{erratum.number}")
def test_the_verdict_depends_on_the_numbers(erratum, monkeypatch):
    module, name, instead = TRUE_CLAIMS[erratum.number]
    monkeypatch.setattr(module, name, instead)
    assert erratum.show().holds is True


def test_numbers_quoted_in_the_table_of_errata():
    shown = {erratum.number: erratum.show().measured for erratum in ERRATA}
    assert "0.0199" in shown[1]
    assert "9.00" in shown[2]
    assert "4.99" in shown[3]
    assert "1.99" in shown[4]
    assert notes_counts.true_loss(10, 1.0, "add-remove") == 0.5

"""The worst row moves noisy sums as far as the claim allows; the typical one is in the middle of all."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.membership import attack_question, reach, targets
from discreet.audit.runs import SyntheticRows
from discreet.curator.sums.gram import ExactGram
from discreet.datasets import load
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import lattice_curve


@pytest.fixture(scope="module")
def found():
    dataset = load("simulated-census", rows=501)
    asked = attack_question(dataset, PrivacyBudget(1.0, 1e-6))
    return dataset, asked, targets(dataset, asked)


def test_the_worst_row_reaches_the_claim_and_no_row_of_the_table_exceeds_it(found):
    _, asked, (worst, _) = found
    (mu,) = reach(worst.row, asked.distribution, asked.domain.unit)
    claimed, _ = lattice_curve(1.0, 1e-6)
    assert 0.999 * claimed < mu <= claimed
    assert (reach(worst.others, asked.distribution, asked.domain.unit) <= claimed).all()


def test_the_typical_row_is_in_the_middle(found):
    _, asked, (worst, typical) = found
    (mu,) = reach(typical.row, asked.distribution, asked.domain.unit)
    assert mu == np.median(reach(worst.others, asked.distribution, asked.domain.unit))


def test_totals_differ_by_the_products_of_the_row(found):
    dataset, asked, (worst, typical) = found
    rows = SyntheticRows(dataset.table, asked.design, asked.domain)
    whole = rows.sums(ExactGram(len(asked.design.released), asked.domain.grid_bits)).values
    assert worst.totals(asked, with_row=False).values == whole
    assert typical.totals(asked, with_row=True).values == whole
    for target in (worst, typical):
        here, there = (target.totals(asked, with_row=one) for one in (True, False))
        row = [int(value) for value in target.row[:, 0]]
        products = [a * b for i, a in enumerate(row) for b in row[i:]]
        assert [a - b for a, b in zip(here.values, there.values, strict=True)] == products
        assert here.counts.units == there.counts.units + 1

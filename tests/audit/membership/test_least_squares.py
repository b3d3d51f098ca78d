"""Exact least squares shows a row from some digit on, or never."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.membership import Target, attack_question, targets, telling_digits
from discreet.datasets import load
from discreet.errors import SpecError
from discreet.privacy.budget import PrivacyBudget


@pytest.fixture(scope="module")
def found():
    dataset = load("simulated-census", rows=300)
    asked = attack_question(dataset, PrivacyBudget(1.0, 1e-6))
    return asked, targets(dataset, asked)


def test_coefficients_differ_from_that_digit_on_as_ordinary_software_gives_them(found):
    asked, both = found
    for target in both:
        digits = telling_digits(target, asked)
        whole = np.concatenate([target.others, target.row], axis=1)
        here, there = (
            np.linalg.lstsq(rows[:-1].T, rows[-1], rcond=None)[0] for rows in (whole / 2.0**16, target.others / 2.0**16)
        )
        shown = [[[f"{v:.{d - 1}e}" for v in one] for one in (here, there)] for d in range(1, digits + 1)]
        assert shown[-1][0] != shown[-1][1]
        assert all(one == other for one, other in shown[:-1])


def test_a_row_of_zeros_never_shows(found):
    asked, (worst, _) = found
    assert telling_digits(Target("nothing", np.zeros_like(worst.row), worst.others), asked) is None


def test_collinear_columns_are_refused(found):
    asked, (worst, _) = found
    with pytest.raises(SpecError, match="collinear"):
        telling_digits(Target("alone", worst.row, worst.row), asked)

"""The shift of Wishart noise; tables are tried in tests/mechanisms/moments/test_wishart.py."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.chi_square import row_shift
from discreet.accounting.iterations import weighted_row_shift
from discreet.design.domain import RowDomain


def test_the_longest_row_divided_by_scales():
    domain = RowDomain(3, 0, 0, None, False, 8)
    assert row_shift(domain, 256, 512, 256) == 1 + Fraction(3, 4) + 1
    assert row_shift(domain, 300, 300, 100) == weighted_row_shift(domain, 300, 100)

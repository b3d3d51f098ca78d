"""Sensitivities of sums over residuals; neighbouring tables are tried in tests/curator/sums."""

from __future__ import annotations

import pytest

from discreet.accounting.moments import ratio_sensitivity, residual_sensitivity
from discreet.design.domain import RowDomain


def test_exchanged_rows_at_right_angles_move_the_sum_by_the_root_of_two():
    domain = RowDomain(2, 0, 0, None, False, 16)
    added, exchanged = (residual_sensitivity(domain, relation) for relation in ("add-remove", "replace"))
    assert exchanged / added == pytest.approx(2**0.5)
    assert added >= 3
    assert ratio_sensitivity() >= 1

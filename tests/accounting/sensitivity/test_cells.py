"""Sensitivities of counts of cells; neighbouring tables are tried in tests/curator/sums."""

from __future__ import annotations

import pytest

from discreet.accounting.fitted_models import cells_l1_sensitivity, cells_l2_sensitivity
from discreet.privacy.budget import PrivacyUnit


@pytest.mark.parametrize(("neighbours", "l1", "l2"), [("add-remove", 3, 3.0), ("replace", 6, 3 * 2**0.5)])
def test_all_rows_of_a_person_move(neighbours, l1, l2):
    unit = PrivacyUnit(neighbours=neighbours, id="p", max_rows=3)
    assert cells_l1_sensitivity(unit) == l1
    assert cells_l2_sensitivity(unit) == pytest.approx(l2)

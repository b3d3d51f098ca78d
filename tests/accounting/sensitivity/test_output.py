"""How far ridge coefficients move; tables are tried in tests/mechanisms/coefficients/test_output.py."""

from __future__ import annotations

import pytest

from discreet.accounting.fitted_models import coefficient_sensitivity
from discreet.design.design import Design
from discreet.design.domain import RowDomain


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_larger_penalty_holds_them_closer(neighbours):
    design = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": neighbours})
    found = [
        coefficient_sensitivity(design, RowDomain.of(design), {"strength": strength, "bound": 1.0})
        for strength in (10.0, 1000.0)
    ]
    assert found[0] > 10 * found[1]

"""What one row can do inside a ball; tables are tried in tests/mechanisms/coefficients/test_ball_ridge.py."""

from __future__ import annotations

import pytest

from discreet.accounting.fitted_models import RowSensitivity, coefficient_count, rounding_sensitivity
from discreet.design.design import Design
from discreet.design.domain import RowDomain


@pytest.mark.parametrize(("neighbours", "rows"), [("add-remove", 2), ("replace", 4)])
def test_rows_of_both_tables_count(neighbours, rows):
    design = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": neighbours, "id": "p", "max_rows": 2})
    found = RowSensitivity.of(design, RowDomain.of(design), 1.0)
    assert found.rows == rows
    assert found.residual == pytest.approx(1 + 2**0.5)


def test_an_intercept_is_a_coefficient():
    columns = {"y": (-1, 1), "x": (-1, 1)}
    assert [coefficient_count(Design("y", columns, intercept=one)) for one in (True, False)] == [2, 1]
    assert rounding_sensitivity(4) == pytest.approx(1 + 1 / 16)

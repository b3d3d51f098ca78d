"""Sensitivities of counts of clipped rows; neighbouring tables are tried in tests/curator/sums."""

from __future__ import annotations

import pytest

from discreet.accounting.moments import clips_l1_sensitivity, clips_l2_sensitivity
from discreet.design.design import Design


def test_every_numeric_column_of_every_row_counts():
    design = Design("y", {"y": (0, 1), "x": (0, 1), "b": bool}, unit={"id": "p", "max_rows": 3})
    assert clips_l1_sensitivity(design) == 6
    assert clips_l2_sensitivity(design) == pytest.approx(3 * 2**0.5)

"""How far linear terms move; tables are tried in tests/mechanisms/coefficients/test_objective.py."""

from __future__ import annotations

import pytest

from discreet.accounting.fitted_models import in_units, sensitivity_and_shifts, threshold_steps
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError

DESIGN = Design("y", {"y": (0, 1), "x": (0, 1)})
DOMAIN = RowDomain.of(DESIGN)


def test_a_threshold_bounds_the_residual():
    row, (shift,) = sensitivity_and_shifts(DESIGN, DOMAIN, {"loss": "huber", "bound": 1.0, "threshold": 0.5})
    assert row.residual == 0.5
    assert shift.length == pytest.approx(0.5 * row.norm, rel=1e-9)


def test_a_threshold_below_a_step_is_refused():
    with pytest.raises(SpecError, match=r"expected a threshold of at least .*, one grid step at grid_bits"):
        threshold_steps({"threshold": 1e-9}, DOMAIN)
    assert in_units(DOMAIN.unit**2, DOMAIN) == 1.0

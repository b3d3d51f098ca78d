"""Each part of a design is checked by itself."""

from __future__ import annotations

from discreet.design.columns import Boolean, Numeric
from discreet.design.dates import Problems
from discreet.design.design import (
    check_keys,
    check_released,
    check_target,
    checked_columns,
    checked_radius,
    checked_unit,
    is_released,
)
from discreet.privacy.budget import PrivacyUnit


def test_parts_that_are_right_are_given_back() -> None:
    problems = Problems()
    check_keys(problems, {"target": "y", "columns": {}})
    assert checked_columns(problems, {"y": (0, 1)}) == {"y": Numeric((0, 1))}
    check_target(problems, "y", ["y"], {"y": Boolean()})
    unit = PrivacyUnit(neighbours="replace")
    assert checked_unit(problems, unit, ["y"]) is unit
    assert checked_unit(problems, {"id": "p", "max_rows": 2}, ["y"]) == PrivacyUnit(id="p", max_rows=2)
    assert checked_unit(problems, None, []) == PrivacyUnit()
    assert checked_radius(problems, 2) == 2.0
    assert checked_radius(problems, None) is None
    check_released(problems, "y", ["x", "y"], {"y": Numeric((0, 1)), "x": Numeric((0, 1))})
    assert problems.found == []
    assert not is_released(Numeric((0, 1), is_released=False))


def test_an_id_that_is_a_column_is_found_in_every_form() -> None:
    for given in (PrivacyUnit(id="y"), {"id": "y"}, {"id": "y", "max_rows": 0}):
        problems = Problems()
        checked_unit(problems, given, ["y"])
        assert "unit.id" in [one.key for one in problems.found]


def test_a_wrong_radius_is_no_radius() -> None:
    problems = Problems()
    assert checked_radius(problems, 0) is None
    assert problems.found[0].key == "radius"

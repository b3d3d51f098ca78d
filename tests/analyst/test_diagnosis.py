"""`discreet.diagnose`: the findings of a fit, or of the full model of a release."""

from __future__ import annotations

import pytest

import discreet
from discreet.analyst.diagnostics import findings
from discreet.errors import SpecError

DESIGN = discreet.Design("y", {"y": (0, 10), "x": (0, 5), "z": (0, 5)})
TABLE = {"x": [1.0, 2.0, 3.0, 4.0] * 50, "y": [2.0, 4.0, 6.0, 8.0] * 50, "z": [1.0, 2.0, 2.0, 1.0] * 50}


def seeded(epsilon: float = 1.0) -> discreet.Release:
    return discreet.testing.seeded_release(TABLE, DESIGN, seed=1, epsilon=epsilon, delta=1e-6)


def test_a_release_is_looked_at_through_its_full_model() -> None:
    release = seeded()
    assert discreet.diagnose(release) == discreet.diagnose(discreet.fit(release))
    assert discreet.diagnose(release)[0].number == "D001"


def test_a_fit_is_looked_at_as_it_is() -> None:
    ridge = discreet.fit(seeded(), features=["x"], penalty="ridge", strength=0.5)
    found = discreet.diagnose(ridge)
    assert found == findings(ridge.release, ridge)
    assert "D006" in {finding.number for finding in found}
    assert "D006" not in {finding.number for finding in discreet.diagnose(ridge.release)}


def test_a_release_of_coefficients_has_findings_too() -> None:
    release = discreet.testing.seeded_release(TABLE, DESIGN, seed=1, epsilon=1.0, delta=1e-6, mechanism="output")
    assert "D013" in {finding.number for finding in discreet.diagnose(release)}


@pytest.mark.parametrize("wrong", ["R.json", None, {"x": 1}])
def test_anything_else_is_refused_with_exit_code_2(wrong: object) -> None:
    with pytest.raises(SpecError, match="diagnose: expected a Fit or a Release, got") as caught:
        discreet.diagnose(wrong)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2

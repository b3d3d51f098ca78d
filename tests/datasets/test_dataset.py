"""A data set and its design."""

from __future__ import annotations

import pytest


def test_a_dataset_cannot_be_changed(simulated: object) -> None:
    with pytest.raises(AttributeError):
        simulated.name = "other"  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        simulated.coefficients["educ"] = 1.0  # type: ignore[attr-defined]

"""The law of the noise survives its table in a release file, and a table that fits no design is refused."""

from __future__ import annotations

import pytest

from discreet.accounting.noise_distribution import law_of
from discreet.design.design import Design
from discreet.errors import ReleaseFileError
from discreet.planning import noise_law_for

DESIGN = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
LAW = noise_law_for(DESIGN, 1.0, 1e-6, moments="robust", robust_models=["y ~ x"])
REFUSED = {
    "family": ({"family": "cauchy"}, 6, "does not know the noise distribution"),
    "grid": ({"grid_bits": 99}, 6, r"noise\.grid_bits is out of range"),
    "below 0": ({"sigma": {"count": "-1"}}, 6, r"noise\.sigma must be positive"),
    "parameters": ({"family": "wishart"}, 6, "are not those of the family 'wishart'"),
    "weights": ({"parameters": {"weight_bits": "8"}}, 6, "the design has no weights"),
    "early factors": ({}, 3, r"schema version 3 has no noise\.factors"),
    "early indicators": ({}, 5, r"schema version 5 has no noise\.indicators"),
    "other indicators": ({"indicators": [[1, 1]]}, 6, r"noise\.indicators are not the first and last columns"),
    "no model": ({"models": [[0, 1, 2]]}, 6, r"noise\.models must list the columns of models"),
    "a model twice": ({"models": [[1, 4], [1, 4]]}, 6, "each model once"),
}


def test_a_law_survives_its_table():
    assert law_of(LAW.to_dict(), DESIGN, 6) == LAW
    assert (LAW.factors, LAW.indicators, LAW.models) == (((2, 3),), ((2, 3),), ((1, 4),))


@pytest.mark.parametrize(("changes", "schema", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_hold_together_is_refused(changes, schema, message):
    with pytest.raises(ReleaseFileError, match=message):
        law_of(LAW.to_dict() | changes, DESIGN, schema)


def test_models_need_version_6():
    table = {name: value for name, value in LAW.to_dict().items() if name != "indicators"}
    with pytest.raises(ReleaseFileError, match=r"schema version 5 has no noise\.models"):
        law_of(table, DESIGN, 5)

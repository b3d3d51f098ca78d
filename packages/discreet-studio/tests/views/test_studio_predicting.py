"""Columns that a prediction needs, as fields."""

from __future__ import annotations

import pytest

import discreet
from discreet_studio.forms import Form
from discreet_studio.views.prediction_view import places, predicted

DESIGN = discreet.Design.from_dict({
    "target": "y",
    "columns": {
        "y": {"bounds": [0, 10]}, "x": {"bounds": [0, 5]}, "code": {"levels": [1, 2]}, "member": {"dtype": "bool"},
        "day": {"bounds": ["2020-01-01", "2020-12-31"]},
    },
})  # fmt: skip


@pytest.fixture(scope="module")
def fit():
    rows = discreet.datasets.simulated_rows(DESIGN, 3000)
    return discreet.fit(discreet.testing.exact_release(rows, DESIGN))


def test_every_kind_of_column_has_its_field(fit):
    typed = {"x:x": "2", "x:code": "2", "x:member": "yes", "x:day": "2020-05-01"}
    found = {one.name: one for one in places(fit, Form(list(typed.items())))}
    assert {name: one.cell for name, one in found.items()} == {"x": 2.0, "code": 2, "member": True, "day": "2020-05-01"}
    assert [key for key, _ in found["code"].options] == ["", "1", "2"]
    assert found["x"].hint == "From 0 to 5."
    assert found["day"].hint == "From 2020-01-01 to 2020-12-31."
    value, mean, one = predicted(fit, 0.95, list(found.values()))
    assert mean.lower < value < mean.upper
    assert one.lower < mean.lower


def test_a_row_with_gaps_is_not_predicted(fit):
    assert predicted(fit, 0.95, places(fit, Form([("x:x", "2")]))) is None

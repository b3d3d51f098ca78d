"""A model by one line over released columns."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from discreet.errors import SpecError
from discreet.testing.not_private import exact_release

DESIGN = Design("income", {"income": (0, 10), "age": (0, 5), "region": ["n", "s"], "gross pay": (0, 9), "flag": bool})
TABLE = {
    "income": [1.0, 2, 4, 8, 9, 3], "age": [1.0, 2, 3, 4, 5, 0], "region": ["n", "s"] * 3,
    "gross pay": [2.0, 1, 7, 3, 9, 4], "flag": [True, False, True, True, False, False],
}  # fmt: skip


@pytest.fixture(scope="module")
def release():
    return exact_release(TABLE, DESIGN)


SAME = {
    "income ~ age": {"features": ["age"]},
    "income~age+region": {"features": ["age", "region"]},
    " income  ~  region + age ": {"features": ["region", "age"]},
    "age ~ income": {"target": "age", "features": ["income"]},
    "income ~ `gross pay`": {"features": ["gross pay"]},
    "`gross pay` ~ flag": {"target": "gross pay", "features": ["flag"]},
    "income ~ .": {},
    "income ~ flag + .": {"features": ["flag", "age", "region", "gross pay"]},
    "income ~ age - 1": {"features": ["age"], "intercept": False},
    "income ~ 0 + age": {"features": ["age"], "intercept": False},
    "income ~ 1 + age": {"features": ["age"], "intercept": True},
    "income ~ 1": {"features": [], "intercept": True},
    "income ~ C(region) + age": {"features": ["region", "age"]},
    "income ~ . - region": {"features": ["age", "gross pay", "flag"]},
    "income ~ . - `gross pay` - C(region) - 1": {"features": ["age", "flag"], "intercept": False},
    "income ~ age + region[s]": {"features": ["age", "region[s]"]},
}


@pytest.mark.parametrize("formula", SAME)
def test_a_formula_is_the_model_in_one_line(release, formula):
    short, long = discreet.fit(release, formula), discreet.fit(release, **SAME[formula])
    assert short.model == long.model
    assert dict(short.params) == dict(long.params)


REFUSED = {
    "income": "expected a target, '~' and features",
    "income ~ age ~ flag": "expected a target, '~' and features",
    "~ age": "expected a target, '~' and features",
    "income ~": "expected features after '~'",
    "income ~ age flag": r"joined by '\+'",
    "income ~ age +": r"joined by '\+'",
    "income ~ log(age)": "declared before the release",
    "income ~ age*flag": "declared before the release",
    "income ~ age:flag": "declared before the release",
    "income ~ aeg": "unknown column 'aeg'; .* Did you mean 'age'",
    "income ~ flag - age": "cannot be removed, because no term before it",
    "income ~ . - .": "unknown column '.'",
    "income ~ age + - flag": r"joined by '\+'",
    "income ~ C(age)": "requires a column with declared levels, but 'age' has none",
    "income ~ C(nowhere)": "unknown column 'nowhere'",
    "income ~ region[nowhere]": "unknown level 'nowhere' among the indicators of 'region'",
    "income ~ region + region[s]": "included twice, by its own name and by its category",
    "log(nothing) ~ age": "unknown target",
    "incom ~ age": "unknown target 'incom'",
    "region ~ age": "categorical",
    "income ~ age + age": "named twice",
    "income ~ income": "both the target and a feature",
    "income ~ __import__('os')": "declared before the release",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_what_a_formula_cannot_say_is_refused(release, formula):
    with pytest.raises(SpecError, match=REFUSED[formula]):
        discreet.fit(release, formula)


def test_a_model_is_said_once_and_in_text(release):
    with pytest.raises(SpecError, match="pass only the formula"):
        discreet.fit(release, "income ~ age", features=["age"])
    with pytest.raises(SpecError, match="expected a formula"):
        discreet.fit(release, ["income", "age"])
    with pytest.raises(SpecError, match="fit: expected a Release, got"):
        discreet.fit("release.json", "income ~ age")


def test_notebooks_show_releases_and_escape_names():
    hostile = Design("<script>y", {"<script>y": (0, 1), "x": (0, 1)})
    shown = exact_release({"<script>y": [0.5], "x": [0.5]}, hostile)._repr_html_()
    assert "<script>" not in shown
    assert "NOT PRIVATE" in shown
    model = discreet.fit(exact_release({"<script>y": [0.5, 0.2, 0.9], "x": [0.5, 0.1, 0.7]}, hostile))._repr_html_()
    assert "<script>" not in model
    assert "std err" in model
    private = discreet.release({"<script>y": [0.5], "x": [0.5]}, hostile, epsilon=1.0, delta=1e-6)
    assert "epsilon = 1" in private._repr_html_()


CROSSED = discreet.Design(
    "log wage",
    {
        "wage": {"bounds": (1, 100), "release": False}, "log wage": {"formula": "log(wage)"}, "age": (18, 90),
        "region": ["north", "south", "east"], "ar": {"formula": "age:region"}, "a2": {"formula": "(age - 50) ** 2"},
        "band": {"formula": "cut(age, 30, 50)"}, "sex": ["male", "female"],
    },
)  # fmt: skip


@pytest.fixture(scope="module")
def crossed():
    rng = np.random.default_rng(7)
    rows = 400
    table = {
        "wage": rng.uniform(2, 90, rows), "age": rng.uniform(18, 90, rows), "sex": rng.choice(["male", "female"], rows),
        "region": rng.choice(["north", "south", "east"], rows),
    }  # fmt: skip
    return table, exact_release(table, CROSSED)


@pytest.mark.parametrize(("formula", "features"), [
    ("log(wage) ~ age + region + age:region", ["age", "region", "ar"]),
    ("`log wage` ~ age + C(region) + region:age", ["age", "region", "ar"]),
    ("log( wage ) ~ I((age - 50)**2) + age", ["a2", "age"]),
    ("log(wage) ~ band[30 to 50] + band[>=50]", ["band[30 to 50]", "band[>=50]"]),
    ("log(wage) ~ cut(age, 30, 50) + sex[female]", ["band", "sex[female]"]),
    ("age ~ . - ar - `log wage` - a2 - band", ["region", "sex"]),
])  # fmt: skip
def test_a_term_may_be_a_formula_or_a_level(crossed, formula, features):
    _, release = crossed
    short = discreet.fit(release, formula)
    target = "age" if formula.startswith("age") else "log wage"
    assert short.model == model_of(release.design, target, features)


def test_one_indicator_is_a_model_of_its_own_and_predicts(crossed):
    table, release = crossed
    found = discreet.fit(release, "age ~ region[south] + sex[female]")
    x = np.column_stack([np.ones(400), table["region"] == "south", table["sex"] == "female"]).astype(float)
    wanted = np.linalg.lstsq(x, table["age"], rcond=None)[0]
    np.testing.assert_allclose(list(found.params.values()), wanted, atol=1e-3)
    assert list(found.table_columns) == ["region", "sex"]
    new = {"region": ["south", "north", "east"], "sex": ["male", "female", "female"]}
    p = found.params
    np.testing.assert_allclose(
        found.predict(new), [p["Intercept"] + p["region[south]"], *[p["Intercept"] + p["sex[female]"]] * 2]
    )
    assert "region[south]" in str(found.summary())
    # the indicators of a category one by one are the category
    both = discreet.fit(release, "age ~ region[south] + region[east]")
    assert dict(both.params) == dict(discreet.fit(release, "age ~ region").params)

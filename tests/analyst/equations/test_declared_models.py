"""Models that are declared before a release: every way to write one, and what is refused."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from discreet.design.design import Design
from discreet.design.model_columns import declared_models
from discreet.errors import SpecError
from discreet.options import MOST_MODELS, RobustErrors

COLUMNS = {"y": (0, 1), "x": (0, 2), "g": ["a", "b", "c"], "x2": {"formula": "x ** 2"}, "xg": {"formula": "x:g"}}
DESIGN = Design("y", COLUMNS)
# 1, x, g[b], g[c], x2, xg[a], xg[b], y or the like
Y = len(DESIGN.released) - 1


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("y ~ x", (1, Y)),
        (" y~x+1 ", (1, Y)),
        ("y ~ g + x", (1, 2, 3, Y)),
        ("y ~ x + C(g)", (1, 2, 3, Y)),
        ("y ~ g[b] + g[c] + x", (1, 2, 3, Y)),
        ("y ~ g[c]", (3, Y)),
        ("y ~ x**2", (4, Y)),
        ("y ~ . - xg - x2", (1, 2, 3, Y)),
        ("y ~ 1", (Y,)),
        ("x ~ y + g", (2, 3, Y, 1)),
    ],
)
def test_a_model_is_known_by_its_columns_however_it_is_written(formula, columns):
    assert declared_models(DESIGN, [formula]) == (columns,)


def test_models_have_one_order_however_they_are_listed_and_any_list_will_do():
    """Those of the target of the design first, smaller before larger: the request of a ledger is the same."""
    formulas = ["x ~ 1", "y ~ g", "y ~ x2", "y ~ x", "y ~ 1"]
    ordered = ((Y,), (1, Y), (4, Y), (2, 3, Y), (1,))
    assert {declared_models(DESIGN, given) for given in permutations(formulas)} == {ordered}
    assert declared_models(DESIGN, RobustErrors(models=set(formulas)).models) == ordered
    assert declared_models(DESIGN, RobustErrors(models=np.array(["y ~ x"])).models) == ((1, Y),)
    assert declared_models(DESIGN, []) == declared_models(DESIGN, RobustErrors().models) == ()


MANY = Design("y", {"y": (0, 1)} | {f"x{k}": (0, 1) for k in range(12)})
BAD = {
    "text": ("y ~ x", r"^expected a list of formulas such as \['y ~ a', 'y ~ a \+ b'\] for robust_models, got 'y ~ x'"),
    "a number": (5, "expected a list of formulas"),
    "a number in it": ([5], "expected a formula such as 'y ~ a [+] b' for robust_models, got 5"),
    "an unknown column": (["y ~ q"], "^additional model: unknown column 'q'"),
    "an unknown target": (["q ~ x"], "^additional model: unknown target 'q'"),
    "a category as the target": (["g ~ x"], "the target 'g' is categorical"),
    "no tilde": (["y + x"], "^additional model: .*expected a target, '~' and features"),
    "a product": (["y ~ x:y"], "must be declared before the release"),
    "no intercept": (["y ~ x - 1"], "'y ~ x - 1' has no intercept"),
    "the same twice": (["y ~ x + g", "y ~ g + x"], "'y ~ x [+] g' and 'y ~ g [+] x' are the same model; keep one"),
    "the full model": (["y ~ ."], "is the full model, which always has robust standard errors; leave it out"),
    "an interaction without its category": (
        ["y ~ xg"],
        "^additional model: the model has the interaction 'xg' .* without 'g'",
    ),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_bad_models_are_refused_in_words(given, message):
    with pytest.raises(SpecError, match=message) as caught:
        declared_models(DESIGN, RobustErrors(models=given).models)
    assert caught.value.exit_code == 2


def test_there_are_at_most_ten_of_them():
    models = [f"y ~ x{k}" for k in range(12)]
    assert len(declared_models(MANY, RobustErrors(models=models[:MOST_MODELS]).models)) == 10
    with pytest.raises(SpecError, match="expected at most 10 additional robust models, got 11"):
        RobustErrors(models=models[:11])

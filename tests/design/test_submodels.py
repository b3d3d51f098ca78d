"""Models as released columns: their names, what is none, and a domain that no row of any table leaves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.audit.runs import SyntheticRows
from discreet.design.design import Design
from discreet.design.domain import (
    RowDomain,
    formula_name,
    full_columns,
    is_model,
    model_domain,
    model_names,
    model_text,
)
from discreet.design.model_columns import parse_model
from support.tables import random_design, random_table

DESIGN = Design(
    "y",
    {
        "y": (0, 1),
        "x": (0, 2),
        "g": ["a", "b", "c"],
        "net pay": bool,
        "curve": {"formula": "spline(x, 1.0)"},
    },
)


def test_names_of_a_model_are_read_back_as_the_same_columns():
    places = range(1, len(DESIGN.released))
    some = [columns for size in (0, 1, 2) for columns in itertools.combinations(places, size)]
    for target, features in itertools.product((places[-1], 1), some):
        columns = (*features, target)
        if not is_model(DESIGN, columns):
            continue
        formula = parse_model(model_text(DESIGN, columns), DESIGN)
        assert (formula.target, formula.features) == model_names(DESIGN, columns)
        assert model_names(DESIGN, columns)[0] == DESIGN.released[target]
    assert model_text(DESIGN, (2, 3, 4, len(DESIGN.released) - 1)) == "y ~ g + `net pay`"
    assert model_text(DESIGN, (len(DESIGN.released) - 1,)) == "y ~ 1"


def test_names_that_are_no_plain_words_are_quoted():
    names = ["age", "g[south east]", "länge", "2nd", "a b", "x.y"]
    assert list(map(formula_name, names)) == ["age", "g[south east]", "länge", "`2nd`", "`a b`", "`x.y`"]


LAST = len(DESIGN.released) - 1
NONE = {
    "the full model": full_columns(DESIGN),
    "columns in another order": (2, 1, LAST),
    "a column twice": (1, 1, LAST),
    "the target as a feature": (1, LAST, LAST),
    "an indicator as the target": (1, 2),
    "the constant": (0, LAST),
    "the constant as the target": (1, 0),
    "a part of a spline": (5, LAST),
    "a column that is not there": (LAST + 1, LAST),
    "a number below 0": (-1, LAST),
    "true": (True, LAST),
    "text": ("1", LAST),
    "nothing": (),
}


@pytest.mark.parametrize("columns", NONE.values(), ids=NONE)
def test_what_is_no_model(columns):
    assert not is_model(DESIGN, columns)


@pytest.mark.no_cover
def test_no_row_of_any_table_is_longer_than_the_domain_of_a_model_and_some_are_as_long():
    """Exact squared norms on the grid of any features of a model, for boxes and balls, both kinds of target."""
    rng = np.random.default_rng(8)
    longest = []
    for _ in range(60):
        design = random_design(rng, derived=bool(rng.random() < 0.5))
        domain = RowDomain.of(design, 12)
        rows = SyntheticRows(random_table(design, 40, rng), design, domain).grid.astype(np.int64)
        for _ in range(4):
            places = [at for at in range(1, len(design.released)) if rng.random() < 0.5]
            found = model_domain(design, domain, (*places, len(design.released) - 1))
            norms = (rows[places] ** 2).sum(axis=0)
            assert norms.max(initial=0) <= found.norm2_bound
            longest.append(norms.max(initial=0) / max(found.norm2_bound, 1))
    assert max(longest) == 1


def test_the_ball_of_a_design_holds_for_any_of_its_regressors_and_not_with_its_target():
    design = Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1), "b": bool}, radius=0.5)
    domain = RowDomain.of(design)
    assert model_domain(design, domain, (1, 2, 4)).norm2_bound == 2**32 // 4
    with_target = model_domain(design, domain, (1, 4, 2))
    assert (with_target.radius, with_target.norm2_bound) == (None, 2 * 2**32)
    boolean = model_domain(design, domain, (1, 3))
    assert (boolean.target_nonnegative, boolean.numeric, boolean.boolean) == (True, 1, 0)

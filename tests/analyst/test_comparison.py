"""Several models of one release, and intervals that hold together."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.analyst.comparison import ComparedModel, ModelComparison, compare_models
from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.model import fit
from discreet.errors import SpecError
from discreet.releases.reference_distribution import NotEstimable
from support.compared import release


def test_the_table_holds_what_each_fit_says():
    one = release()
    compared = compare_models(one, [["a"], ["a", "b"], [], ["a", "b", "c"]])
    assert compared.target == "y"
    for line in compared.models:
        result = fit(one, features=line.features)
        assert line.rsquared_adj == result.rsquared_adj
        assert line.rsquared_interval == result.rsquared_conf_int()
        assert line.coefficients == len(result.names)
        assert not line.repaired
    assert compared.models[compared.best].features[:2] == ("a", "b")
    errors = [line.error for line in compared.models]
    assert errors[2] == max(errors)
    assert errors[1] == pytest.approx(0.09, abs=0.03)
    frame = compared.to_frame().to_pydict()
    assert frame["features"] == ["a", "a + b", "1", "a + b + c"]
    assert frame["error"] == errors
    assert frame["reason"] == [None] * 4
    assert "post-processing" in repr(compared)
    assert "a + b: " in repr(compared)
    for line in compared.models:
        result = fit(one, features=line.features)
        assert (line.aic, line.bic) == (result.aic, result.bic)
    assert frame["aic"] == [line.aic for line in compared.models]


def test_a_model_is_tested_in_the_next_ones_that_contain_it():
    one = release()
    compared = compare_models(one, [[], ["a"], ["a", "b", "c"], ["c"], ["a", "b"]])
    assert [(found.smaller, found.larger) for found in compared.nested] == [(0, 1), (3, 2), (4, 2), (0, 3), (1, 4)]
    test = compared.nested[1].test
    assert test == fit(one).f_test("a = 0, b = 0")
    plain = compared.to_dict()
    assert plain["nested"][1]["pvalue"] == test.pvalue
    assert plain["models"][2]["formula"] == "y ~ a + b + c"
    assert plain["best"] == compared.best
    assert compared.nested_frame().to_pydict()["larger"] == ["a", "a + b + c", "a + b + c", "c", "a + b"]
    assert "c in a + b + c: F(2, " in repr(compared)


def test_formulas_name_models_too_and_must_have_one_target():
    one = release()
    compared = compare_models(one, ["b ~ a", "b ~ a + y", "b ~ a - 1"])
    assert compared.target == "b"
    assert [line.terms for line in compared.models] == ["a", "a + y", "a + 0"]
    assert [(found.smaller, found.larger) for found in compared.nested] == [(2, 0), (0, 1)]
    with pytest.raises(SpecError, match="expected models with the same target, got a, y"):
        compare_models(one, ["y ~ b", "a ~ b"])
    with pytest.raises(SpecError, match="a formula cannot be combined with target"):
        compare_models(one, ["y ~ b"], target="y")


def test_models_beyond_the_budget_say_so():
    weak = release(count=30, sigma=20.0, seed=3)
    compared = compare_models(weak, [["a", "b", "c"], ["a"]], intercept=False)
    assert any(isinstance(line.rsquared_adj, NotEstimable) for line in compared.models)
    assert any(line.repaired for line in compared.models)
    frame = compared.to_frame().to_pydict()
    assert None in frame["rsquared_adj"]
    assert any(frame["reason"])
    assert "not estimable [0 to 1]" in repr(compared)
    assert ", repaired" in repr(compared)


def test_no_rows_to_speak_of_leave_nothing_to_compare():
    from dataclasses import replace

    one = release(count=4, sigma=0.0)
    empty = replace(one, totals=(-(4**16) * 5, *one.totals[1:]))
    compared = compare_models(empty, [["a"]])
    assert isinstance(compared.models[0].error, NotEstimable)
    assert "not estimable" in repr(compared)
    with pytest.raises(NotEstimableError, match="cannot be estimated for any model"):
        _ = compared.best
    assert compared.to_dict()["best"] is None


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "expected at least one model to compare"),
        ("ab", "a list of formulas or of feature lists"),
        (3, "a list of formulas or of feature lists"),
        ([["z"]], "unknown feature"),
    ],
)
def test_what_is_no_list_of_models_is_refused(models, message):
    with pytest.raises(SpecError, match=message):
        compare_models(release(), models)


# -- intervals that hold together ------------------------------------------------------------------------------------


def test_simultaneous_intervals_are_wider_and_reproducible():
    result = fit(release(together=0.7))
    plain = np.asarray(result.conf_int())
    for way in ("bonferroni", "max-t"):
        wide = np.asarray(result.conf_int(simultaneous=way))
        assert (wide[:, 0] < plain[:, 0]).all()
        assert (wide[:, 1] > plain[:, 1]).all()
    tight, loose = (np.asarray(result.conf_int(simultaneous=way)) for way in ("max-t", "bonferroni"))
    assert (np.diff(tight) <= np.diff(loose)).all()
    np.testing.assert_array_equal(tight, np.asarray(fit(release(together=0.7)).conf_int(simultaneous="max-t")))


def test_an_unknown_way_is_refused():
    with pytest.raises(SpecError, match="Did you mean 'bonferroni'"):
        fit(release()).conf_int(simultaneous="bonferoni")


@pytest.mark.parametrize("wrong", ["R.json", None])
def test_what_is_no_release_is_refused_by_name(wrong):
    with pytest.raises(SpecError, match="compare_models: expected a Release, got") as caught:
        discreet.compare_models(wrong, [["a"]])
    assert caught.value.exit_code == 2


def test_an_error_below_zero_is_not_printed_as_a_number():
    known = [ComparedModel(("x",), 2, 0.5, NotEstimable("no"), error, False, True, 1.0, 2.0) for error in (-3.25, 0.5)]
    lines = repr(ModelComparison("y", tuple(known))).splitlines()
    assert lines[1] == "  x: 0.5 [-], not estimable, 1, 2"
    assert lines[2] == "  x: 0.5 [-], 0.5, 1, 2"
    assert ModelComparison("y", tuple(known)).best == 0

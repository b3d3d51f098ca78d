"""Predictions: rows of any table library, clipped as the released rows were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.analyst.model import fit
from discreet.analyst.prediction import Limits
from discreet.design.design import Design
from discreet.errors import ColumnNotice, DataError, PrivacyNotice, SpecError
from support.made_releases import made

duckdb = pytest.importorskip("duckdb")

COLUMNS = {
    "y": (0, 10),
    "x": (2, 6),
    "g": {"levels": ["p", "q", "r"], "missing": {"fill": "q"}},
    "z": {"bounds": [100, 300], "missing": "drop"},
    "flag": bool,
}
NEW = {
    "flag": [True, False, True, False],
    "z": [150.0, 99.0, 300.0, 1e300],
    "g": ["p", "q", "r", "p"],
    "x": [2.5, 100.0, -7.0, 6.0],
    "ignored": ["a", "b", "c", "d"],
}
CLIPPED = np.array([[2.5, 0, 0, 150, 1], [6, 1, 0, 100, 0], [2, 0, 1, 300, 1], [6, 0, 0, 300, 0]])


def relation(table):
    return duckdb.from_arrow(pa.table(table))


FRAMES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "duckdb": relation,
    "reader": lambda table: pa.table(table).to_reader(),
}


@pytest.fixture(scope="module")
def release():
    random = np.random.default_rng(0)
    count = 80
    x, z, flag = random.uniform(2, 6, count), random.uniform(100, 300, count), random.random(count) < 0.5
    rows = {
        "y": np.clip(x + z / 100 + flag - 1 + random.normal(0, 0.3, count), 0, 10).tolist(),
        "x": x.tolist(),
        "g": random.choice(["p", "q", "r"], count).tolist(),
        "z": z.tolist(),
        "flag": flag.tolist(),
    }
    return made(Design("y", COLUMNS), rows).release


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("intercept", [True, False])
def test_predictions_are_the_clipped_rows_times_the_coefficients(release, kind, intercept):
    result = fit(release, intercept=intercept)
    X = np.column_stack([np.ones(4), CLIPPED]) if intercept else CLIPPED
    predicted = result.predict(FRAMES[kind](NEW))
    assert predicted.dtype == np.float64
    np.testing.assert_allclose(predicted, X @ result.coefficients, rtol=1e-12)


def test_an_array_has_the_columns_in_the_order_of_the_features(release):
    result = fit(release, features=["z", "x"])
    rows = np.array([[150.0, 2.5], [99.0, 100.0]])
    wanted = np.array([[1, 150, 2.5], [1, 100, 6]]) @ result.coefficients
    with pytest.warns(ColumnNotice, match="column 0 as 'z', column 1 as 'x'") as told:
        np.testing.assert_allclose(result.predict(rows), wanted, rtol=1e-12)
    assert [warning.filename for warning in told] == [__file__]
    with pytest.warns(ColumnNotice, match="column 0 as 'z', column 1 as 'x'") as told:
        np.testing.assert_allclose(result.get_prediction(rows).predicted_mean, wanted, rtol=1e-12)
    assert [warning.filename for warning in told] == [__file__]
    structured = np.array([(2.5, 150.0), (100.0, 99.0)], dtype=[("x", "f8"), ("z", "f4")])
    np.testing.assert_allclose(result.predict(structured), wanted, rtol=1e-12)


@pytest.mark.parametrize("method", ["predict", "get_prediction"])
def test_an_array_of_another_width_is_refused_with_both_numbers(release, method):
    result = fit(release, features=["z", "x"])
    with pytest.raises(SpecError, match=r"expected .* 2 columns, in this order: 'z', 'x'; got 3 columns"):
        getattr(result, method)(np.zeros((4, 3)))
    with pytest.raises(SpecError, match=r"expected .* two dimensions and 2 columns.*got an array with 1 dimension"):
        getattr(result, method)(np.zeros(4))


def test_a_model_without_features_reads_no_position_of_an_array(release):
    result = fit(release, features=[])
    np.testing.assert_array_equal(result.predict(np.zeros((4, 3))), np.full(4, result.params["Intercept"]))


def test_arrays_are_predicted_as_the_frame_is(release):
    result = fit(release, features=["g", "x"])
    arrays = [np.array([0.0, 2.0, np.nan]), np.array([3.0, 4.0, 50.0])]
    frame = {"g": ["p", "r", None], "x": [3.0, 4.0, 50.0]}
    np.testing.assert_array_equal(result.predict_arrays(arrays), result.predict(frame))


def test_large_frames_are_predicted_in_pieces(release):
    result = fit(release, features=["x"])
    x = np.linspace(2, 6, 150_001)
    np.testing.assert_allclose(
        result.predict({"x": x}), result.params["Intercept"] + result.params["x"] * x, rtol=1e-12
    )


def test_an_empty_frame_gives_an_empty_array(release):
    predicted = fit(release, features=["x"]).predict({"x": np.empty(0)})
    assert predicted.shape == (0,)
    assert predicted.dtype == np.float64


def test_a_boolean_target_is_predicted_as_a_number(release):
    result = fit(release, target="flag", features=["y"])
    np.testing.assert_allclose(
        result.predict({"y": [3.0]}), [result.params["Intercept"] + 3 * result.params["y"]], rtol=1e-12
    )


# -- a declared radius ------------------------------------------------------------------------------------------------

BALL = {"y": (0, 10), "x": (2, 6), "w": (-1, 1), "flag": bool}
# scaled rows (x, w, flag) of lengths sqrt(3), sqrt(2), 0.6 and 0
ROWS_BY_BALL = {"x": [6.0, -9.0, 4.0, 4.0], "w": [-1.0, 1.0, 0.6, 0.0], "flag": [True, False, False, False]}
SCALED = np.array([[1, -1, 1], [-1, 1, 0], [0, 0.6, 0], [0, 0, 0]])


def ball_release(radius):
    random = np.random.default_rng(4)
    x, w, flag = random.uniform(2, 6, 500), random.uniform(-1, 1, 500), random.random(500) < 0.5
    table = {"x": x, "w": w, "flag": flag, "y": 4 + x / 2 + w + flag}
    design = Design("y", BALL, radius=radius)
    with pytest.warns(PrivacyNotice, match="WEAK"):
        return discreet.release(table, design, epsilon=1e6, delta=1e-6, allow_weak_privacy=True)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("radius", [0.25, 1.0, 1.5, 5.0])
def test_new_rows_are_shrunk_to_the_radius_as_the_released_rows_were(radius, intercept):
    result = discreet.fit(ball_release(radius), features=["flag", "x", "w"], intercept=intercept)
    length = np.linalg.norm(SCALED, axis=1)
    shrunk = SCALED * np.minimum(1, radius / np.maximum(length, 1e-9))[:, None]
    inside = {"x": 4 + 2 * shrunk[:, 0], "w": shrunk[:, 1]}
    params = result.params
    wanted = inside["x"] * params["x"] + inside["w"] * params["w"] + shrunk[:, 2] * params["flag"]
    wanted = wanted + (params["Intercept"] if intercept else 0)
    np.testing.assert_allclose(result.predict(ROWS_BY_BALL), wanted, rtol=1e-9)
    np.testing.assert_allclose(result.get_prediction(ROWS_BY_BALL).predicted_mean, wanted, rtol=1e-9)
    arrays = [np.asarray(ROWS_BY_BALL[name], dtype=float) for name in result.table_columns]
    np.testing.assert_allclose(result.predict_arrays(arrays), wanted, rtol=1e-9)
    outside = SCALED @ [params["x"] * 2, params["w"], params["flag"]] + 4 * params["x"]
    outside = outside + (params["Intercept"] if intercept else 0)
    assert np.allclose(result.predict(ROWS_BY_BALL), outside) == (radius > 3**0.5)


def test_fitted_rows_and_predicted_rows_pass_through_one_map():
    release = ball_release(0.5)
    result = discreet.fit(release)
    moments = release.moments
    random = np.random.default_rng(4)
    table = {"x": random.uniform(2, 6, 500), "w": random.uniform(-1, 1, 500), "flag": random.random(500) < 0.5}
    # residuals of least squares with an intercept sum to 0, if predictions see the rows that were fitted
    mean_y = 5 + 5 * moments[0, -1] / moments[0, 0]
    assert result.predict(table).mean() == pytest.approx(mean_y, abs=1e-3)
    assert "Predictions shrink new rows in the same way" in " ".join(result.summary().split())


def test_a_model_without_all_columns_says_that_it_cannot_shrink():
    release = ball_release(0.5)
    for result in (
        discreet.fit(release, features=["x", "w"]),
        discreet.fit(release, target="x", features=["y", "w", "flag"]),
    ):
        names = list(result.table_columns)
        new = {name: [float(release.design.columns[name].bounds[1])] if name != "flag" else [True] for name in names}
        row = [1.0, *(float(new[name][0]) for name in result.features)]
        np.testing.assert_allclose(result.predict(new), [np.dot(row, result.coefficients)])
        text = " ".join(result.summary().split())
        assert "does not have all columns that the radius applies to" in text
        assert any("do not shrink new rows" in note for note in result.to_dict()["notes"])


def test_the_estimator_and_the_command_line_shrink_alike(tmp_path):
    from click.testing import CliRunner

    from discreet.cli.main import program

    release = ball_release(0.5)
    wanted = discreet.fit(release).predict(ROWS_BY_BALL)
    release.save(tmp_path / "r.json")
    pd.DataFrame(ROWS_BY_BALL).to_csv(tmp_path / "new.csv", index=False)
    run = CliRunner().invoke(
        program, ["predict", str(tmp_path / "r.json"), str(tmp_path / "new.csv"), "-o", str(tmp_path / "out.csv")]
    )
    assert run.exit_code == 0, run.output
    assert "Predictions shrink new rows in the same way" in run.output
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], wanted, rtol=1e-9)
    X = np.array([[1.0, -1.0], [0.2, 0.1]] * 50)
    budget = {"epsilon": 1e6, "delta": 1e-6, "allow_weak_privacy": True}
    model = discreet.PrivateLinearRegression(bounds=(-1, 1), target_bounds=(-1, 1), radius=0.5, **budget)
    with pytest.warns(PrivacyNotice, match="WEAK"):
        model.fit(X, X[:, 0])
    far = model.predict(X[:1])
    np.testing.assert_allclose(far, model.predict(X[:1] * 0.5 / 2**0.5))
    assert not np.allclose(far, X[0] @ model.coef_ + model.intercept_)


# -- missing cells ---------------------------------------------------------------------------------------------------


def test_missing_cells_follow_the_rule_of_their_column(release):
    result = fit(release)
    frame = {name: list(values) for name, values in NEW.items()}
    frame["z"][1] = None
    frame["g"][2] = None
    frame["g"][3] = "unheard of"
    predicted = result.predict(frame)
    X = np.column_stack([np.ones(4), CLIPPED])
    X[2:, 2:4] = [1, 0]
    wanted = X @ result.coefficients
    wanted[1] = np.nan
    np.testing.assert_allclose(predicted, wanted, rtol=1e-12)


@pytest.mark.parametrize("cell", [None, np.nan, np.inf])
def test_a_missing_cell_is_refused_by_name_where_the_rule_says_so(release, cell):
    with pytest.raises(DataError, match="column 'x' has a cell that is missing"):
        fit(release, features=["x"]).predict({"x": [3.0, cell]})


def test_the_target_is_not_needed_and_a_feature_is(release):
    result = fit(release, features=["x", "flag"])
    assert len(result.predict({"x": [3.0], "flag": [True]})) == 1
    with pytest.raises(DataError, match="no column 'flag'"):
        result.predict(pd.DataFrame({"x": [3.0]}))


@pytest.mark.parametrize("frame", ["table.csv", None, [[1.0]], 3])
def test_what_is_no_table_is_refused(release, frame):
    with pytest.raises(SpecError, match="expected a table in memory"):
        fit(release, features=["x"]).predict(frame)


def test_arrays_that_do_not_fit_are_refused(release):
    result = fit(release, features=["x", "z"])
    with pytest.raises(SpecError, match="expected 2 arrays, one for each column, got 1"):
        result.predict_arrays([np.zeros(2)])
    with pytest.raises(DataError, match="different lengths"):
        result.predict_arrays([np.zeros(2), np.zeros(3)])
    with pytest.raises(DataError, match="different lengths"):
        result.predict_arrays([np.zeros((2, 1)), np.zeros((2, 1))])


# -- a mean alone ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FRAMES)
def test_a_mean_is_predicted_once_for_each_row(release, kind):
    result = fit(release, features=[])
    np.testing.assert_allclose(result.predict(FRAMES[kind](NEW)), np.full(4, result.params["Intercept"]), rtol=1e-12)


def test_a_mean_is_predicted_for_arrays_and_empty_tables(release):
    result = fit(release, features=[])
    assert len(result.predict(np.zeros((3, 2)))) == 3
    assert len(result.predict({})) == 0
    with pytest.raises(SpecError, match="takes no arrays, because its prediction is constant"):
        result.predict_arrays([])


def test_limits_clip_features_and_predictions_and_only_where_they_were_released():
    design = Design("y", {"y": (0, 10), "x": (0, 4), "flag": bool})
    rng = np.random.default_rng(0)
    x, flag = rng.uniform(0, 4, 400), rng.random(400) < 0.5
    table = {"x": x, "flag": flag, "y": 2 * x + flag}
    made = discreet.testing.seeded_release(table, design, seed=1, epsilon=5.0, delta=1e-6, mechanism="irls")
    limited = replace(made, coefficients=replace(made.coefficients, ranges=((-0.5, 0.25), (-1.0, 1.0))))
    wide, close = fit(made), fit(limited)
    assert Limits.of(made, wide.model) is None
    assert Limits.of(limited, close.model) == Limits(((-0.5, 0.25), (-1.0, 1.0)), (0.0, 10.0))
    exact = discreet.testing.exact_release(table, design)
    assert Limits.of(exact, fit(exact).model) is None
    # -0.5 is 1 and 0.25 is 2.5 in the units of x
    new = {"x": [0.0, 1.0, 2.0, 2.5, 4.0], "flag": [False] * 5}
    got = close.predict(new)
    assert got.tolist() == wide.predict({"x": [1.0, 1.0, 2.0, 2.5, 2.5], "flag": [False] * 5}).tolist()
    assert close.predict_arrays([np.array(new["x"]), np.zeros(5)]).tolist() == got.tolist()
    steep = replace(limited, coefficients=replace(limited.coefficients, values=(0.0, 90.0, 0.0)))
    assert fit(steep).predict(new).tolist() == [0.0, 0.0, 5.0, 10.0, 10.0]


def test_predictions_of_a_boolean_target_are_cut_to_its_two_values():
    design = Design("y", {"y": bool, "x": (-1, 1)})
    table = {"x": [0.1, 0.9], "y": [True, False]}
    made = discreet.testing.seeded_release(table, design, seed=1, epsilon=5.0, delta=1e-6, mechanism="refined")
    steep = replace(made, coefficients=replace(made.coefficients, values=(0.0, 90.0), ranges=((-1.0, 1.0),)))
    assert fit(steep).predict({"x": [-1.0, 1.0]}).tolist() == [0.0, 1.0]

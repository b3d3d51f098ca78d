"""`discreet predict`: new rows in, the same rows with a prediction out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import discreet.cli.predict
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.releases import Release
from discreet.testing.not_private import exact_release, seeded_release
from support.cli_folder import DESIGN, Call, contents

PATH = "income.release.json"


def predictions(path: str) -> tuple[list[str], list[float | None]]:
    table = arrow_csv.read_csv(path) if path.endswith(".csv") else pq.read_table(path)
    return table.column_names, table.column("prediction").to_pylist()


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "OUT.CSV"])
def test_predictions_are_those_of_the_library_in_the_order_of_the_rows(out: str, folder: Path, call: Call) -> None:
    result = call("predict", PATH, "new.csv", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert out in result.stdout
    table = arrow_csv.read_csv("new.csv")
    names, found = predictions(out) if not out.isupper() else predictions_of_capitals(out)
    assert names == ["age", "region", "prediction"]
    assert found == fit(Release.load(PATH)).predict(table).tolist()


def test_json_is_one_document_about_the_predictions(folder: Path, call: Call) -> None:
    result = call("predict", PATH, "new.csv", "-o", "out.csv", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"path": "out.csv", "target": "income", "rows": 10, "notes": []}
    release_with_rules(folder)
    (folder / "gaps.csv").write_text("age,region,member\n30,north,true\n,south,false\n50,,\n")
    result = call("predict", "rules.NOT-PRIVATE.json", "gaps.csv", "-o", "gaps.parquet", "--json")
    assert json.loads(result.stdout)["rows"] == 3
    assert result.stderr.startswith("notice: NOT PRIVATE")


def predictions_of_capitals(path: str) -> tuple[list[str], list[float | None]]:
    table = arrow_csv.read_csv(path)
    return table.column_names, table.column("prediction").to_pylist()


def test_the_model_can_be_chosen(folder: Path, call: Call) -> None:
    result = call("predict", PATH, "new.csv", "-o", "out.csv", "--features", "age", "--penalty", "ridge",
                  "--strength", "0.5", "--no-intercept")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    model = fit(Release.load(PATH), features=["age"], intercept=False, penalty="ridge", strength=0.5)
    names, found = predictions("out.csv")
    assert names == ["age", "prediction"]
    assert found == model.predict(arrow_csv.read_csv("new.csv")).tolist()


def test_the_model_can_be_said_in_one_line_with_a_chosen_strength(folder: Path, call: Call) -> None:
    result = call("predict", PATH, "new.csv", "-o", "out.csv", "--formula", "income ~ age", "--penalty", "elastic-net",
                  "--strength", "criterion", "--l1-ratio", "0.5")  # fmt: skip
    assert (result.exit_code, result.stderr) == (0, "")
    model = fit(Release.load(PATH), "income ~ age", penalty="elastic-net", strength="criterion", l1_ratio=0.5)
    assert predictions("out.csv")[1] == model.predict(arrow_csv.read_csv("new.csv")).tolist()


def test_a_dropped_row_keeps_its_place_with_an_empty_prediction(folder: Path, call: Call) -> None:
    release_with_rules(folder)
    (folder / "gaps.csv").write_text("age,region,member\n30,north,true\n,south,false\n50,,\n")
    for out in ("out.csv", "out.parquet"):
        result = call("predict", "rules.NOT-PRIVATE.json", "gaps.csv", "-o", out)
        assert result.exit_code == 0, result.stderr
        assert "notice: NOT PRIVATE" in result.stderr
        _, found = predictions(out)
        assert [value is None for value in found] == [False, True, False]
    assert (folder / "out.csv").read_text().splitlines()[2] == ',"south",false,'


def release_with_rules(folder: Path) -> None:
    text = DESIGN.replace("bounds = [18, 90]", 'bounds = [18, 90]\nmissing = "drop"')
    text = text.replace('["north", "south"]', '["north", "south"]\nmissing = {fill = "north"}')
    design = Design.from_toml(text + '[columns.member]\ndtype = "bool"\nmissing = {fill = false}\n')
    table = {
        "income": [1e4, 2e4, 5e4, 3e4, 7e4, 2e5],
        "age": [20.0, 30.0, 40.0, 50.0, 60.0, 33.0],
        "region": ["north", "south"] * 3,
        "member": [True, False, False, True, True, True],
    }
    exact_release(table, design).save(folder / "rules.NOT-PRIVATE.json")


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_any_readable_type_can_be_written(out: str, folder: Path, call: Call) -> None:
    release_with_rules(folder)
    table = pa.table({
        "age": pa.array([30, 40, 50], pa.int16()),
        "region": pa.array(["north", "south", "north"]).dictionary_encode(),
        "member": pa.nulls(3),
    })  # fmt: skip
    pq.write_table(table, folder / "new.parquet")
    result = call("predict", "rules.NOT-PRIVATE.json", "new.parquet", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert None not in predictions(out)[1]


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_columns_without_a_value_get_the_type_they_are_declared_with(out: str, folder: Path, call: Call) -> None:
    release_with_rules(folder)
    full = {"age": [30.0], "region": pa.array(["north"], pa.string_view()), "member": [True]}
    (folder / "parts").mkdir()
    pq.write_table(pa.table({name: pa.nulls(2) for name in full}), folder / "parts" / "a.parquet")
    pq.write_table(pa.table(full), folder / "parts" / "b.parquet")
    result = call("predict", "rules.NOT-PRIVATE.json", "parts", "-o", out)
    assert result.exit_code == 0, result.stderr
    _, found = predictions(out)
    assert [value is None for value in found] == [True, True, False]


def test_views_of_text_are_written_as_text(folder: Path, call: Call) -> None:
    from pyarrow import ipc

    table = pa.table({"age": [30.0], "region": pa.array(["north"], pa.string_view())})
    with ipc.new_file(folder / "new.arrow", table.schema) as file:
        file.write_table(table)
    result = call("predict", PATH, "new.arrow", "-o", "out.csv")
    assert result.exit_code == 0, result.stderr
    assert (folder / "out.csv").read_text().startswith('"age","region","prediction"\n30,"north",')


def test_rows_are_written_batch_by_batch(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discreet.cli.predict, "BATCH_ROWS", 3)
    ages = np.linspace(18, 90, 20)
    pq.write_table(pa.table({"age": ages, "region": ["north", "south"] * 10}), folder / "new.parquet")
    result = call("predict", PATH, "new.parquet", "-o", "out.parquet")
    assert result.exit_code == 0, result.stderr
    assert pq.ParquetFile(folder / "out.parquet").num_row_groups == 7
    assert pq.read_table("out.parquet").column("age").to_pylist() == ages.tolist()


def test_a_fault_in_a_late_batch_leaves_no_file(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discreet.cli.predict, "BATCH_ROWS", 2)
    pq.write_table(pa.table({"age": [20.0] * 9 + [None], "region": ["north"] * 10}), folder / "new.parquet")
    before = contents(folder)
    result = call("predict", PATH, "new.parquet", "-o", "existing.csv", "--force")
    assert result.exit_code == 2
    assert contents(folder) == before


def test_a_feature_called_prediction_is_refused(folder: Path, call: Call) -> None:
    design = Design("y", {"y": (0, 1), "prediction": (0, 1)})
    exact_release({"y": [0.0, 1.0, 1.0], "prediction": [0.0, 1.0, 0.5]}, design).save("p.NOT-PRIVATE.json")
    result = call("predict", "p.NOT-PRIVATE.json", "new.csv", "-o", "out.csv")
    assert result.exit_code == 2
    assert "'prediction'" in result.stderr


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_columns_to_keep_are_copied_in_front(out: str, folder: Path, call: Call) -> None:
    (folder / "ids.csv").write_text("who,age,region,when\n007,30,north,May\n,40,south,\n1e3,50,north,June\n")
    result = call("predict", PATH, "ids.csv", "-o", out, "--keep", "who", "--keep", "when")
    assert (result.exit_code, result.stderr) == (0, "")
    text = arrow_csv.ConvertOptions(column_types={"who": pa.string()}, strings_can_be_null=True)
    table = arrow_csv.read_csv(out, convert_options=text) if out == "out.csv" else pq.read_table(out)
    assert table.column_names == ["who", "when", "age", "region", "prediction"]
    assert table.column("who").to_pylist() == ["007", None, "1e3"]
    assert table.column("when").to_pylist() == ["May", None, "June"]
    rows = {"age": [30.0, 40.0, 50.0], "region": ["north", "south", "north"]}
    assert table.column("prediction").to_pylist() == fit(Release.load(PATH)).predict(rows).tolist()


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize(
    "ids",
    [
        pa.array([2**60, 7], pa.int64()),
        pa.array(["a", None]).dictionary_encode(),
        pa.array([0, 86_400_000], pa.timestamp("ms")),
        pa.array(["a", "b"], pa.large_string()),
        pa.DictionaryArray.from_arrays(pa.array([1, None]), pa.array(["a", "b"], pa.string_view())),
        pa.array([True, None]),
        pa.nulls(2),
    ],
    ids=["int64", "dictionary", "timestamp", "large text", "dictionary of views", "boolean", "null"],
)
def test_columns_to_keep_stay_what_they_are(out: str, ids: pa.Array, folder: Path, call: Call) -> None:
    from pyarrow import ipc

    table = pa.table({"age": [30, 40], "region": ["north", "south"], "who": ids})
    with ipc.new_file(folder / "new.arrow", table.schema) as file:
        file.write_table(table)
    result = call("predict", PATH, "new.arrow", "-o", out, "--keep", "who")
    assert (result.exit_code, result.stderr) == (0, "")
    if out == "out.parquet":
        assert pq.read_table(out).column("who").to_pylist() == ids.to_pylist()
    assert None not in predictions(out)[1]


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize(("cell", "kind"), [(["SECRETCELL"], "list"), (b"SECRETCELL\xff", "binary")])
def test_a_column_that_no_csv_can_hold_is_refused_by_name(out, cell, kind, folder: Path, call: Call) -> None:
    pq.write_table(pa.table({"age": [30], "region": ["north"], "notes": [cell]}), folder / "new.parquet")
    before = contents(folder)
    result = call("predict", PATH, "new.parquet", "-o", out, "--keep", "notes")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"column 'notes' has type {kind}, but --keep supports only numbers, text" in result.stderr
    assert "SECRETCELL" not in result.stderr
    assert contents(folder) == before


def test_features_of_any_text_are_written(folder: Path, call: Call) -> None:
    from pyarrow import ipc

    views = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["north", "south"], pa.string_view()))
    table = pa.table({"age": [30.0, 40.0], "region": views})
    with ipc.new_file(folder / "new.arrow", table.schema) as file:
        file.write_table(table)
    result = call("predict", PATH, "new.arrow", "-o", "out.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert arrow_csv.read_csv("out.csv").column("region").to_pylist() == ["south", "north"]


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (("age",), "--keep 'age' names a feature, which is written anyway; leave it out"),
        (("who", "who"), "--keep 'who' was given twice; pass it once"),
        (("prediction",), "--keep 'prediction' has the same name as an output column; rename it in the table"),
        (("whoo",), "no column 'whoo', which is required; another column has a very similar name"),
    ],
)
def test_what_cannot_be_kept_is_refused(keep: tuple[str, ...], message: str, folder: Path, call: Call) -> None:
    (folder / "ids.csv").write_text("who,age,region\n007,30,north\n")
    before = contents(folder)
    result = call("predict", PATH, "ids.csv", "-o", "out.csv", *(word for name in keep for word in ("--keep", name)))
    assert result.exit_code == 2
    assert message in result.stderr
    assert contents(folder) == before


def test_whole_number_levels_are_written_as_they_are_read(folder: Path, call: Call) -> None:
    design = Design("y", {"y": (0, 1), "ward": {"levels": [1, 2], "missing": "drop"}})
    exact_release({"y": [0.0, 1.0, 1.0], "ward": [1, 2, 2]}, design).save("w.NOT-PRIVATE.json")
    (folder / "a.csv").write_text("ward\n2\n1\n")
    assert call("predict", "w.NOT-PRIVATE.json", "a.csv", "-o", "out.csv").exit_code == 0
    assert predictions("out.csv")[1] == pytest.approx([1.0, 0.0])
    pq.write_table(pa.table({"ward": pa.nulls(2)}), folder / "none.parquet")
    assert call("predict", "w.NOT-PRIVATE.json", "none.parquet", "-o", "none.csv").exit_code == 0
    assert predictions("none.csv")[1] == [None, None]


def test_a_model_without_features_is_refused(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.options.names", lambda text: [])
    result = call("predict", PATH, "new.csv", "-o", "out.csv", "--features", "age")
    assert result.exit_code == 2
    assert "no features" in result.stderr


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_intervals_are_those_of_the_library(out: str, folder: Path, call: Call) -> None:
    result = call("predict", PATH, "new.csv", "--intervals", "--level", "0.9", "-o", out)
    assert result.exit_code == 0, result.stderr
    table = arrow_csv.read_csv(out) if out.endswith(".csv") else pq.read_table(out)
    names = ["mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper", "mean_ci_kind", "obs_ci_kind"]
    assert table.column_names == ["age", "region", "prediction", *names]
    model = fit(Release.load(PATH))
    expected = model.get_prediction(arrow_csv.read_csv("new.csv")).summary_frame(0.9)
    for name in names:
        assert table.column(name).to_pylist() == expected.column(name).to_pylist()


def test_unbounded_sets_are_written_with_their_kind(folder: Path, call: Call) -> None:
    table = {"x": [(i % 101) / 101 for i in range(300)], "y": [(i % 7) / 20 for i in range(300)]}
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    budget = {"epsilon": 0.3, "delta": 1e-6, "mechanism": "gaussian"}
    releases = (seeded_release(table, design, seed=seed, **budget) for seed in range(500))
    weak = next(
        one
        for one in releases
        if fit(one).estimable and "everything" in fit(one).get_prediction({"x": [0.0, 1.0]}).conf_int().kind
    )
    weak.save("weak.NOT-PRIVATE.json")
    (folder / "rows.csv").write_text("x\n0\n1\n")
    plain = call("predict", "weak.NOT-PRIVATE.json", "rows.csv", "-o", "plain.csv")
    assert "are unbounded, so predictions may be far off" in plain.stderr
    assert "--intervals" in plain.stderr
    result = call("predict", "weak.NOT-PRIVATE.json", "rows.csv", "--intervals", "-o", "out.csv")
    assert result.exit_code == 0
    assert "are unbounded, so predictions may be far off" not in result.stderr
    kinds = arrow_csv.read_csv("out.csv").column("mean_ci_kind").to_pylist()
    assert "everything" in kinds
    line = (folder / "out.csv").read_text().splitlines()[1 + kinds.index("everything")]
    assert "-inf,inf" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--level", "0.9"), "--level applies only with --intervals"),
        (("--intervals", "--level", "0.05"), "for --level, got 0.05; pass --level 0.95"),
        (
            ("--intervals", "--penalty", "lasso", "--strength", "0.1"),
            "an L1 penalty has no intervals",
        ),
        (("--intervals", "--keep", "mean_ci_kind"), "has the same name as an output column"),
    ],
)
def test_intervals_that_cannot_be_given_are_refused(
    words: tuple[str, ...], message: str, folder: Path, call: Call
) -> None:
    before = contents(folder)
    result = call("predict", PATH, "new.csv", *words, "-o", "out.csv")
    assert result.exit_code == 2
    assert message in result.stderr
    assert contents(folder) == before


def test_a_fit_without_coefficients_predicts_nothing_and_says_what_does(folder: Path, call: Call) -> None:
    table = {"x": [(i % 101) / 101 for i in range(20)], "y": [(i % 7) / 20 for i in range(20)]}
    table["z"] = table["x"]
    design = Design("y", dict.fromkeys("xyz", (0, 1)))
    seeded_release(table, design, seed=3, epsilon=0.1, delta=1e-6).save("hopeless.NOT-PRIVATE.json")
    (folder / "rows.csv").write_text("x,z\n0,0\n1,1\n")
    before = contents(folder)
    result = call("predict", "hopeless.NOT-PRIVATE.json", "rows.csv", "-o", "out.csv")
    assert result.exit_code == 2
    assert "pass --penalty bayes" in result.stderr
    assert contents(folder) == before
    again = call("predict", "hopeless.NOT-PRIVATE.json", "rows.csv", "--penalty", "bayes", "-o", "out.csv")
    assert again.exit_code == 0


def test_every_level_on_the_command_line_is_checked(folder: Path, call: Call) -> None:
    (folder / "design.toml").write_text(DESIGN)
    for words in (
        ("plan", "--design", "design.toml", "--rows", "1000", "--epsilon", "1", "--delta", "1e-6"),
        ("plan", "--from", "sums.release.json", "--epsilon", "1", "--delta", "1e-6"),
        ("report", PATH, "-o", "R.html"),
        ("predict", PATH, "new.csv", "--intervals", "-o", "out.csv"),
    ):
        result = call(*words, "--level", "0.05")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "expected a number from 0.5 to below 1 for --level, got 0.05; pass --level 0.95" in result.stderr

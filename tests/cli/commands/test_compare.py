"""`discreet compare`: models of one release side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.analyst.comparison import compare_models
from discreet.releases import Release
from support.cli_folder import Call

PATH = "income.release.json"
MODELS = ("income ~ age", "income ~ age + region", "income ~ 1")


def test_a_row_for_each_model_and_a_line_for_each_nested_test(folder: Path, call: Call) -> None:
    result = call("compare", PATH, *MODELS)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "Models of income"
    assert [line.split("  ")[0] for line in lines[2:5]] == ["age", "age + region", "1"]
    assert [line.split(":")[0] for line in lines[5:7]] == ["Nested   1 in age", "Nested   age in age + region"]
    assert lines[-1].startswith("Note     All models are post-processing of one release")


def test_json_is_the_comparison_as_plain_values(folder: Path, call: Call) -> None:
    result = call("compare", PATH, *MODELS, "--json", "--level", "0.9")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    wanted = compare_models(Release.load(PATH), MODELS, level=0.9).to_dict()
    assert {name: found[name] for name in wanted} == wanted
    assert (found["level"], found["private"]) == (0.9, True)
    assert {"aic", "bic"} < set(found["models"][0])
    assert not {"aic_noise", "bic_noise"} & set(found["models"][0])


def test_models_that_were_repaired_are_named(folder: Path, call: Call) -> None:
    from discreet.design.design import Design
    from discreet.testing.not_private import seeded_release

    design = Design("y", {"y": (0, 1), "a": (0, 1), "b": (0, 1), "c": (0, 1)})
    rows = {name: [0.1, 0.5, 0.4] for name in "yabc"}
    seeded_release(rows, design, seed=3, epsilon=0.1, delta=1e-6).save(folder / "weak.NOT-PRIVATE.json")
    result = call("compare", "weak.NOT-PRIVATE.json", "y ~ .", "y ~ a")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("NOT PRIVATE")
    assert "Repaired, because the noise outweighs the signal: " in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((PATH,), "Missing argument 'FORMULA...'"),
        ((PATH, "income ~ wealth"), "unknown column 'wealth'"),
        ((PATH, "income"), "expected a target, '~' and features"),
        ((PATH, "income ~ age", "age ~ region"), "expected models with the same target, got age, income"),
        ((PATH, "income ~ age", "--level", "0.05"), "pass --level 0.95"),
        (("missing.json", "income ~ age"), "missing.json"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: tuple[str, ...], message: str, folder: Path, call: Call) -> None:
    result = call("compare", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""

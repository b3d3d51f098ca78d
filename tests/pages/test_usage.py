"""Lines to copy give the model that is shown."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import discreet
from discreet.analyst.model import fit
from discreet.cli.main import program
from discreet.design.design import Design
from discreet.pages.view import usage
from discreet.testing.not_private import seeded_release
from support.every_column import mixed
from support.report_cases import example, table


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"target": "a", "features": ["c", "b"]},
        {"intercept": False},
        {"penalty": "adaptive"},
        {"penalty": "elastic-net", "strength": 0.001, "l1_ratio": 0.25},
        {"penalty": "ridge", "strength": "criterion"},
    ],
    ids=str,
)
def test_the_lines_to_copy_give_the_same_model(
    spec: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = example()
    model = fit(release, **spec)
    lines = usage(release, model)
    scope: dict[str, object] = {"discreet": discreet, "release": release}
    exec(lines.python[2], scope)  # our own line, which is the thing to try
    assert dict(scope["fit"].params) == dict(model.params)
    monkeypatch.chdir(tmp_path)
    release.save("R.json")
    told = CliRunner().invoke(program, [*shlex.split(lines.commands[0])[1:], "--json"])
    assert json.loads(told.stdout)["params"] == dict(model.params)


@pytest.mark.parametrize("kind", ["HC1", "HC0"])
def test_the_lines_to_copy_give_the_same_robust_errors(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = Design("y", dict.fromkeys("ya", (0, 1)))
    release = seeded_release(table("ya", 500), design, seed=1, epsilon=9.0, delta=1e-6, robust=True)
    model = fit(release, cov_type=kind)
    lines = usage(release, model)
    scope: dict[str, object] = {"discreet": discreet, "release": release}
    exec(lines.python[2], scope)  # our own line, which is the thing to try
    assert dict(scope["fit"].bse) == dict(model.bse) != dict(fit(release).bse)
    monkeypatch.chdir(tmp_path)
    Path("R.NOT-PRIVATE.json").write_text(release.to_json())
    said = CliRunner().invoke(program, [*shlex.split(lines.commands[0])[1:], "--json"])
    assert json.loads(said.stdout)["bse"] == dict(model.bse)
    others = [line.split()[1] for line in lines.commands if "--robust" in line]
    # pictures and pages know HC1 alone
    assert others == (["fit", "plot", "report"] if kind == "HC1" else [])
    assert len(lines.commands) == (4 if kind == "HC1" else 2)


def test_the_file_of_a_release_that_is_not_private_has_its_own_name() -> None:
    assert "R.NOT-PRIVATE.json" in usage(mixed(), None).commands[0]


def test_a_name_with_a_comma_stands_in_quotes() -> None:
    names = ("y", "a, b", "c", "d")
    release = seeded_release(
        table(names, 500), Design("y", dict.fromkeys(names, (0, 1))), seed=1, epsilon=9.0, delta=1e-6
    )
    words = shlex.split(usage(release, fit(release, features=["a, b", "c"])).commands[0])
    assert words[words.index("--features") + 1] == '"a, b",c'

"""`discreet compare-methods`: the list, a run on a table of one's own, JSON, and refusals."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from discreet_papers.comparison.method_scores import all_methods
from support.cli_folder import Call


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = [f"{a},{b},{a - b + 0.1 * noise}" for a, b, noise in rng.uniform(-1, 1, (120, 3))]
    Path("mine.csv").write_text("\n".join(["a,b,y", *rows, ",1,2"]))


def test_the_list_names_every_method(call: Call) -> None:
    result = call("compare-methods", "--list")
    assert result.exit_code == 0
    for one in all_methods():
        assert f"\n{one['name']} " in result.stdout
    assert json.loads(call("compare-methods", "--list", "--json").stdout) == list(all_methods())


@pytest.mark.no_cover
def test_a_run_prints_tables_notes_and_files_and_says_not_private(call: Call) -> None:
    Path("own_method_here.py").write_text(
        "class Mean:\n"
        "    def __init__(self, **given): self.given = given\n"
        "    def fit(self, X, y): self.mean = y.mean()\n"
        "    def predict(self, X): return X[:, 0] * 0 + self.mean\n"
    )
    given = shlex.split(
        "compare-methods mine.csv --target y --data-is-public --methods mean,gaussian --with own_method_here:Mean "
        "--epsilon 1 --epsilon 2 --splits 2 --delta 1e-5 --workers 1 -o out"
    )
    result = call(*given)
    assert result.exit_code == 0, result.output
    for words in (
        "1 - R2 on mine, median over splits, NOT PRIVATE",
        "Excess error relative to adassp-published, NOT PRIVATE",
        "ols (no privacy)",
        "own_method_here:Mean (yours)",
        "epsilon 2",
        "note: mine: 1 rows with missing cells were left out.",
        "Written  out/compare-methods-NOT-PRIVATE.csv",
    ):
        assert words in result.stdout
    assert result.stdout.splitlines()[-1].startswith("NOT PRIVATE")
    found = json.loads(call(*given, "--json").stdout)
    assert {one["method"] for one in found["ratios"]} >= {"mean", "gaussian", "own_method_here:Mean"}
    assert not list(Path().rglob("*.release.json"))


def test_without_data_a_simulated_table_is_used(call: Call) -> None:
    result = call("compare-methods", "--methods", "mean", "--epsilon", "1", "--quick", "--workers", "1", "-o", "out")
    assert result.exit_code == 0, result.output
    assert "simulated-clinical" in result.stdout


def test_data_that_nobody_declared_is_refused(call: Call) -> None:
    result = call("compare-methods", "mine.csv", "--target", "y")
    assert result.exit_code == 2
    assert "--data-is-public" in result.stderr
    assert not Path("discreet-compare-methods").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--output", ""], "expected the name of a folder for --output"),
        (["--epsilon", "1,5"], "epsilon '1,5' is not a number"),
        (["--methods", "gausian"], "unknown method 'gausian'"),
        (["--target", "y"], "got target='y' but no data"),
    ],
)
def test_other_refusals(call: Call, given: list[str], words: str) -> None:
    result = call("compare-methods", *given)
    assert result.exit_code == 2
    assert words in result.stderr

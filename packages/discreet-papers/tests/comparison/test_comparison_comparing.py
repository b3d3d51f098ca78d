"""The public function: what it runs, keeps, refuses and says."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

import discreet_papers
from discreet.errors import OutputError, SpecError
from discreet_papers.comparison import method_comparison
from discreet_papers.runner import KEPT


def frame(rows=200):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (rows, 2))
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x @ [1.0, -0.5] + 0.1 * rng.standard_normal(rows)})


FEW = {"target": "y", "data_is_public": True, "methods": ["mean", "gaussian"], "epsilons": [1.0], "quick": True}


class Own:
    """The mean, as an object with fit and predict."""

    def fit(self, X, y):
        self.mean = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


@pytest.mark.parametrize(
    "declared", [{}, {"data_is_public": False}, {"data_is_public": 1}, {"data_is_simulated": "yes"}]
)
def test_data_must_be_declared_public_or_simulated(declared, tmp_path):
    with pytest.raises(SpecError, match="the data must be public or simulated"):
        discreet_papers.compare_methods(frame(), target="y", output=tmp_path / "out", **declared)
    assert not (tmp_path / "out").exists()


@pytest.mark.no_cover
def test_reference_and_baseline_always_take_part_and_cells_are_kept(tmp_path):
    seen = []
    found = discreet_papers.compare_methods(
        frame(), **FEW, output=tmp_path, workers=1, own={"mine": Own()}, progress=lambda *done: seen.append(done)
    )
    assert list(dict.fromkeys(found.numbers["method"])) == ["ols", "mean", "gaussian", "adassp-published", "mine"]
    assert len(found.numbers) == 5 * 3
    assert seen[-1] == ("mine", 5, 5)
    assert "table, ols, epsilon 1" in {name for name, _, _ in seen}
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / KEPT).rglob("*.json")}
    assert len(kept) == 4
    again = discreet_papers.compare_methods(frame(), **FEW, output=tmp_path, workers=1, own={"mine": Own()})
    assert again.numbers.equals(found.numbers), "noise without a seed is kept too"
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / KEPT).rglob("*.json")}
    mean = found.medians().xs("mean", level="method").to_numpy()
    assert found.medians().xs("mine", level="method").to_numpy() == pytest.approx(mean)


@pytest.mark.no_cover
def test_a_refusal_becomes_a_note():
    given = FEW | {"methods": ["gaussian/nothing"], "data_is_public": False, "data_is_simulated": True}
    found = discreet_papers.compare_methods({"mine": frame()}, **given, workers=1)
    assert found.files == ()
    assert any(note.startswith("gaussian/nothing failed on mine: ") for note in found.notes)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"methods": ["no-such"]}, "unknown method 'no-such'"),
        ({"baseline": "no-such"}, "unknown method 'no-such'"),
        ({"own": {"ols": Own()}}, "own: expected names that no other method has, got ols"),
        ({"workers": 0}, "workers: expected a positive integer"),
        ({"splits": 0}, "splits: expected a positive integer"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(given, words, tmp_path):
    with pytest.raises(SpecError, match=words):
        discreet_papers.compare_methods(frame(), **(FEW | given), output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match="cannot create the folder"):
        discreet_papers.compare_methods(frame(), **FEW, output=tmp_path / "out")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(
        method_comparison, "find_spec", lambda name: None if name == "pandas" else importlib.util.find_spec(name)
    )
    with pytest.raises(SpecError, match=r"comparing methods needs 'pandas'.*packages/discreet-papers"):
        discreet_papers.compare_methods()

"""`reproduce` runs, judges and writes what was asked for, and refuses the rest before any work."""

import importlib.util
import json

import pytest

from discreet.errors import OutputError, SpecError
from discreet_papers import figures, reproduce, reproduction, runner
from discreet_papers.figure import Erratum, Outcome
from support.toy_figure import TOY


@pytest.fixture
def toys(monkeypatch):
    """The toy in place of every figure, and one erratum."""
    monkeypatch.setattr(reproduction, "NAMES", ("park-1",))
    monkeypatch.setattr(reproduction, "figure_named", lambda name: {"park-1": TOY}[name])
    erratum = Erratum(1, "park", "page 1", "one is two", lambda: Outcome(False, "1 != 2"))
    monkeypatch.setattr(runner, "errata", lambda: (erratum,))


@pytest.mark.usefixtures("toys")
def test_one_figure_gives_its_four_files(tmp_path):
    made = reproduce("park-1", output=tmp_path / "new" / "out", quick=True, workers=1)
    assert [path.name for path in made.files] == ["park-1.png", "park-1.svg", "park-1.csv", "park-1.md"]
    assert made.errata == ()
    assert json.loads(json.dumps(made.to_dict()))["figures"]["park-1"]["verdict"] == "reproduced"


@pytest.mark.usefixtures("toys")
def test_all_figures_come_with_the_errata_and_a_file_of_verdicts(tmp_path):
    made = reproduce(output=tmp_path, quick=True, workers=1)
    assert made.files[-1].name == "verdicts.json"
    assert [one.verdict for one in made.errata] == ["refuted"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"names": "park-9"}, "unknown figure 'park-9'"),
        ({"names": "park-1", "data": "/no/such/folder"}, "data: expected a folder with Parquet files"),
        ({"names": "park-1", "workers": 0}, "workers: expected a positive integer, got 0"),
        ({"names": "park-1", "workers": True}, "workers: expected a positive integer, got True"),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_written(given, words, tmp_path):
    with pytest.raises(SpecError, match=words):
        reproduce(**given, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match="cannot create the folder"):
        reproduce("park-1", output=tmp_path / "out")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(reproduction, "find_spec", lambda name: None if name == "cvxpy" else importlib.util.find_spec)
    with pytest.raises(SpecError, match=r"reproducing a figure needs 'cvxpy'.*packages/discreet-papers"):
        figures()

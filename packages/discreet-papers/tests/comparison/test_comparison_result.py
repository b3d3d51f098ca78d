"""What a comparison hands on says NOT PRIVATE in type, file names and text, and cannot be a release."""

import json

import pandas as pd

from discreet_papers.comparison.method_comparison import STEM, MethodComparisonNotPrivate
from discreet_papers.comparison.method_scores import Protocol

KINDS = {"ols": "reference", "base": "baseline", "mine": "own", "none": "mechanism"}


def made():
    rows = [
        {
            "table": table,
            "method": method,
            "kind": KINDS[method],
            "epsilon": epsilon,
            "delta": 1e-4,
            "split": split,
            "value": value / epsilon + split / 10,
            "note": "",
        }
        for table in ("t", "u", "v")
        for method, value in (("ols", 0.1), ("base", 0.5), ("mine", 0.2), ("none", float("nan")))
        for epsilon in (0.5, 1.0)
        for split in range(3)
    ]
    return MethodComparisonNotPrivate(pd.DataFrame(rows), Protocol((0.5, 1.0), splits=3), "base", ("a note.",))


def test_everything_says_not_private(tmp_path):
    found = made().write(tmp_path)
    assert "NotPrivate" in type(found).__name__
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{STEM}{end}" for end in (".csv", ".png", ".svg", ".md")
    )
    assert all("NOT-PRIVATE" in path.name for path in found.files)
    assert (tmp_path / f"{STEM}.csv").read_text().startswith("# NOT PRIVATE")
    assert "NOT PRIVATE" in str(found)
    assert "NOT PRIVATE" in found.plot().get_suptitle()
    assert not hasattr(found, "save")
    assert not hasattr(found, "release")


def test_the_csv_can_be_read_back(tmp_path):
    found = made().write(tmp_path)
    again = pd.read_csv(found.files[0], comment="#")
    assert len(again) == len(found.numbers)
    assert again["value"].isna().sum() == 18


def test_tables_mark_what_has_no_privacy_and_what_refused():
    text = made().to_markdown()
    for words in ("| ols (no privacy) |", "| mine (yours) |", "| none | refused |", "- a note.", "delta = 1/n^1.1"):
        assert words in text
    assert text.index("mine (yours)") < text.index("| base |"), "the best comes first"


def test_plain_values_leave_out_what_is_missing():
    found = json.loads(json.dumps(made().to_dict()))
    assert found["not_private"].startswith("NOT PRIVATE")
    assert {one["method"] for one in found["medians"]} == {"ols", "base", "mine"}
    assert [one["value"] for one in found["ratios"] if one["method"] == "base"] == [1.0, 1.0, 1.0]


def test_a_delta_that_was_given_is_shown():
    assert "delta = 1e-05" in MethodComparisonNotPrivate(made().numbers, Protocol(delta=1e-5), "base").to_markdown()

"""The value of a check: marked in name, text and file, and nothing that passes for a release."""

from __future__ import annotations

import json

import pytest

import discreet
from discreet.curator.inspection import MARK, CheckNotForPublication, check_name
from discreet.errors import OutputError, ReleaseFileError

DESIGN = discreet.Design("y", {"y": (0, 1), "<b>x": {"bounds": (0, 1), "missing": "drop"}})
SECRET = "918273.5"
FOUND = discreet.check({"y": [0.5, 918273.5, 0.2], "<b>x": [0.1, SECRET, None]}, DESIGN)


def test_the_type_the_text_and_the_page_say_what_it_is() -> None:
    assert "NotForPublication" in type(FOUND).__name__
    for text in (repr(FOUND), str(FOUND), FOUND._repr_html_(), json.dumps(FOUND.to_dict())):
        assert MARK in text
        assert SECRET not in text
    assert "<b>" not in FOUND._repr_html_()
    assert FOUND.to_dict()["private"] is False


def test_it_is_no_release_and_no_release_can_be_read_from_it(tmp_path) -> None:
    assert not isinstance(FOUND, discreet.Release)
    path = tmp_path / "people.NOT-FOR-PUBLICATION.json"
    FOUND.save(path)
    with pytest.raises(ReleaseFileError):
        discreet.Release.load(path)
    with pytest.raises(discreet.DiscreetError):
        discreet.fit(FOUND)


def test_files_carry_the_mark_in_their_name_and_text(tmp_path) -> None:
    for end in ("json", "txt"):
        path = tmp_path / f"people.NOT-FOR-PUBLICATION.{end}"
        FOUND.save(path)
        text = path.read_text()
        assert MARK in text.splitlines()[0 if end == "txt" else 1]
        with pytest.raises(OutputError, match="exists"):
            FOUND.save(path)
        FOUND.save(path, force=True)
    assert json.loads((tmp_path / "people.NOT-FOR-PUBLICATION.json").read_text()) == FOUND.to_dict()
    before = sorted(tmp_path.iterdir())
    for name in ("people.json", "people.txt", "NOT-FOR-PUBLICATION.csv", "people.NOT-PRIVATE.json"):
        with pytest.raises(OutputError, match=r"the file name must end in '\.NOT-FOR-PUBLICATION\.json'"):
            FOUND.save(tmp_path / name)
        with pytest.raises(OutputError):
            check_name(name)
    assert sorted(tmp_path.iterdir()) == before


def test_every_count_is_in_the_dictionary() -> None:
    document = FOUND.to_dict()
    assert (document["rows_read"], document["rows_fit"], document["numbered"]) == (3, 1, "row")
    assert document["persons"] is None
    assert document["release_would_stop"] == []
    first, second = document["columns"]  # type: ignore[misc]
    assert first["clipped_high"] == {"count": 1, "first": [1]}
    assert second["missing"] == {"count": 1, "first": [2]}
    assert second["not_a_number"] == {"count": 1, "first": [1]}
    assert (second["name"], second["kind"], second["rule"], second["problem"]) == ("<b>x", "number", "drop", None)
    assert isinstance(FOUND, CheckNotForPublication)
    unit = {"id": "who", "max_rows": 1}
    table = {"y": [0.5, 0.5], "x": [0.1, 0.2], "who": ["a", "a"]}
    found = discreet.check(table, discreet.Design("y", {"y": (0, 1), "x": (0, 1)}, unit=unit))
    assert found.to_dict()["persons"] == {"persons": 1, "max_rows": 1, "over_cap": 1, "rows_beyond": 1}

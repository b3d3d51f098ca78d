"""What was filled in survives the end of the program; a file that was tampered with opens nothing."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from discreet_studio.studio_folder import NAME, FieldError, State, Store


def test_it_is_read_back_and_only_its_owner_may_read_it(tmp_path):
    store = Store(tmp_path)
    store.change(table="people.csv", draft={"target": "é"})
    again = Store(tmp_path).state
    assert (again.table, again.draft, again.version) == ("people.csv", {"target": "é"}, 1)
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("text", ["", "[]", "{", "3", '{"table": 5, "unknown": 1, "draft": []}', "\x00"])
def test_what_is_broken_is_left_out(tmp_path, text):
    (tmp_path / NAME).write_text(text)
    assert Store(tmp_path).state == State()


@pytest.mark.parametrize("wrong", [
    {"version": -1}, {"version": True},
    {"plan": {"rows": 3}}, {"made": [3]}, {"columns": [["a"]]}, {"columns": [["a", 1]]},
    {"reading": {"x": {}}}, {"accounts": {"a.csv": ["x"]}}, {"accounts": []}, {"begun": {"name": 1}},
    {"begun": [1]}, {"draft": 7}, {"database_table": None},
])  # fmt: skip
def test_a_file_by_other_hands_is_not_used(tmp_path, wrong):
    (tmp_path / NAME).write_text(json.dumps({"table": "people.csv"} | wrong))
    assert Store(tmp_path).state == State()


def test_a_release_that_was_begun_is_read_back(tmp_path):
    begun = dict.fromkeys(("name", "sign", "changed", "ledger", "dataset", "table"), "x")
    begun |= {"draft": {}, "plan": {"rows": "4"}, "reading": {"delimiter": ";", "quoted_line_breaks": True}}
    Store(tmp_path).change(begun=begun)
    assert Store(tmp_path).state.begun == begun


def test_a_link_is_not_followed(tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"table": "../elsewhere.csv"}))
    (tmp_path / NAME).symlink_to(other)
    assert Store(tmp_path).state.table == ""


def test_a_full_disk_is_reported_and_keeps_the_old_file(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.change(table="one.csv")

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(FieldError, match="No space left"):
        store.change(table="two.csv")
    assert store.state.table == "two.csv"
    monkeypatch.undo()
    assert Store(tmp_path).state.table == "one.csv"
    assert [file.name for file in tmp_path.iterdir()] == [NAME]

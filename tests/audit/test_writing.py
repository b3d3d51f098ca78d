"""Files of an audit."""

from __future__ import annotations

import json

import pytest

from discreet.audit.audit_result import AuditedCase, AuditResult, prepared_folder, write_result
from discreet.audit.judging import Claim, Judgement
from discreet.audit.membership_result import NOT_PRIVATE, Attack, MembershipResult, certain
from discreet.errors import OutputError

RESULT = AuditResult((AuditedCase("m", "p", Judgement(Claim(1.0), 0.5, None, None, None), (), (), 100, 0.1),), 0.99)


def test_document_and_pictures_are_written_and_written_over(tmp_path):
    folder = prepared_folder(tmp_path / "new")
    for _ in range(2):
        paths = write_result(RESULT, folder)
    assert [path.name for path in paths] == ["audit.json", "audit.png", "audit.svg"]
    assert json.loads(paths[0].read_text())["passed"] is True
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[2].read_text()


def test_attacks_on_membership_have_files_of_their_own(tmp_path):
    bare = Attack(NOT_PRIVATE, "worst row", None, None, 3, certain(known=True), 0)
    paths = write_result(MembershipResult((bare,), "census2000", 0.99, 1.0), tmp_path)
    assert [path.name for path in paths] == ["membership.json", "membership.png", "membership.svg"]
    assert "NOT PRIVATE" in paths[0].read_text()


def test_a_folder_that_cannot_be_made_is_refused_before_the_audit(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot create the folder"):
        prepared_folder(tmp_path / "file")
    with pytest.raises(OutputError, match="does not exist; create that folder first"):
        prepared_folder(tmp_path / "file" / "folder")


def test_a_folder_without_a_name_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in ("", "  "):
        with pytest.raises(OutputError, match="expected the name of a folder"):
            prepared_folder(given)
    assert list(tmp_path.iterdir()) == []
    assert prepared_folder(".").samefile(tmp_path)


def test_a_folder_inside_one_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(OutputError, match="no-such' does not exist; create that folder first"):
        prepared_folder(tmp_path / "no-such" / "findings")
    assert list(tmp_path.iterdir()) == []

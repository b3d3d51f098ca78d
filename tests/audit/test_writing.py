"""Files of an audit."""

from __future__ import annotations

import json

import pytest

from discreet.audit.membership.result import NOT_PRIVATE, Attack, MembershipResult
from discreet.audit.membership.roc import certain
from discreet.audit.result import AuditedCase, AuditResult
from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.judging import Judgement
from discreet.audit.writing import prepared_folder, write_result
from discreet.errors import OutputError

RESULT = AuditResult((AuditedCase("m", "p", Judgement(Claim(1.0), 0.5, None, None, None), (), (), 100, 0.1),), 0.99)


def test_document_and_pictures_are_written_and_written_over(tmp_path):
    folder = prepared_folder(tmp_path / "new" / "folder")
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
    with pytest.raises(OutputError, match="cannot make the folder"):
        prepared_folder(tmp_path / "file" / "folder")

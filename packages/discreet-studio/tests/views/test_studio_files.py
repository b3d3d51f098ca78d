"""Frames and downloads."""

from __future__ import annotations

from discreet_studio.request_gate import FRAME_POLICY
from discreet_studio.views.files_view import attached, framed


def test_a_frame_has_its_own_policy_and_a_file_is_saved():
    assert framed("<p>x").headers["content-security-policy"] == FRAME_POLICY
    given = attached("x", 'a"b\r\nset-cookie: x\u00e9.csv', "text/csv")
    assert given.headers["content-disposition"] == 'attachment; filename="a_b__set-cookie_ x_.csv"'

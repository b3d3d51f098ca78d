"""Short TOML files: whatever is wrong is said in words."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.parts.keys import toml_table


def test_a_table_is_read(tmp_path):
    (tmp_path / "a.toml").write_text('name = "ü"\n', encoding="utf-8")
    assert toml_table(tmp_path / "a.toml") == {"name": "ü"}


@pytest.mark.parametrize("content", [b"\xff", b"a =", b"a = " + b"[" * 5000, b"PAR1\0\0"])
def test_other_content_is_refused(content, tmp_path):
    (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(SpecError, match="is not a TOML file in UTF-8"):
        toml_table(tmp_path / "a.toml")


def test_a_byte_order_mark_is_passed_over(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert toml_table(tmp_path / "a.toml") == {"a": 1}


@pytest.mark.parametrize("content", [b"b = 1\na = 1\na = 2\n", b"[t]\na = 1\n[t]\n", b"\n\na = {b = 1, b = 2}"])
def test_what_is_there_twice_is_said(content, tmp_path):
    (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(SpecError, match="has a duplicate key or table on line 3; keep one of the two"):
        toml_table(tmp_path / "a.toml")


def test_a_long_file_and_one_that_is_not_there_are_refused(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(SpecError, match="longer than 1,048,576 bytes"):
        toml_table(tmp_path / "a.toml")
    with pytest.raises(SpecError, match="cannot read"):
        toml_table(tmp_path / "b.toml")

"""What a header line suggests about its file, and that nothing behind it is looked at."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import discreet
from discreet.errors import DataError
from discreet.tables.blank_design import proposed
from discreet.tables.csv_format import ReadOptions

CASES: dict[str, tuple[str, bytes, dict[str, object]]] = {
    "commas": ("t.csv", b"a,b,c", {}),
    "semicolons": ("t.csv", b"a;b;c", {"delimiter": ";"}),
    "tabs": ("t.csv", b"a\tb", {"delimiter": "\t"}),
    "bars": ("t.csv", b"a|b", {"delimiter": "|"}),
    "tabs as the name says": ("t.tsv", b"a\tb", {}),
    "semicolons in spite of the name": ("t.tsv", b"a;b", {"delimiter": ";"}),
    "as many of both": ("t.csv", b"a,b;c", {}),
    "more of the other": ("t.csv", b"a,b;c;d", {"delimiter": ";"}),
    "commas inside quotes": ("t.csv", b'"a,b,c,d";e', {"delimiter": ";"}),
    "one cell": ("t.csv", b"a", {}),
    "a quote that is not closed": ("t.csv", b'a,"b', {}),
    "UTF-8": ("t.csv", "größe,x".encode(), {}),
    "UTF-8 with a mark": ("t.csv", "größe,x".encode("utf-8-sig"), {}),
    "UTF-16": ("t.csv", "größe;Ċ".encode("utf-16"), {"encoding": "utf-16", "delimiter": ";"}),
    "one byte for each sign": ("t.csv", "größe;x".encode("cp1252"), {"encoding": "cp1252", "delimiter": ";"}),
    "a byte that cp1252 does not have": ("t.csv", b"a\x81,b", {"encoding": "latin-1"}),
    "packed": ("t.csv.gz", gzip.compress("größe;x\n1;2\n".encode("cp1252")), {"encoding": "cp1252", "delimiter": ";"}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_header_line_suggests_encoding_and_delimiter(case: str, tmp_path: Path) -> None:
    name, content, expected = CASES[case]
    (tmp_path / name).write_bytes(content)
    found = proposed(tmp_path / name, ReadOptions())
    assert found.given() == expected


def test_what_is_given_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("größe;x,y".encode("cp1252"))
    given = ReadOptions("cp1250", ",", ",", ".", True)
    assert proposed(tmp_path / "t.csv", given) == given
    found = proposed(tmp_path / "t.csv", ReadOptions(delimiter=","))
    assert found == ReadOptions("cp1252", ",")


@pytest.mark.parametrize("behind", [b"", b"\xff\xfe\x00", b"a;b;c;d;e;f;g", "größe".encode("cp1252") * 3])
def test_nothing_depends_on_what_is_behind_the_header(behind: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + behind)
    assert proposed(tmp_path / "t.csv", ReadOptions()) == ReadOptions()
    assert discreet.blank_design(tmp_path / "t.csv").reading == ReadOptions()


def test_what_is_wrong_with_the_line_is_said_where_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\n\n")
    with pytest.raises(DataError, match="must have a header line with the column names, but is blank"):
        proposed(tmp_path / "t.csv", ReadOptions())

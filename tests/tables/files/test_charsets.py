"""Encodings of CSV files: one line gives one row, and no row changes how another is read."""

from __future__ import annotations

import codecs
import encodings
import pkgutil
from encodings.aliases import aliases

import pytest

import discreet
from discreet.curator.table import accumulate
from discreet.design.domain import RowDomain
from discreet.errors import DataError, SpecError
from discreet.tables.blank_design import column_names_and_types
from discreet.tables.csv_format import CHARSETS, ReadOptions, charset_named, wrong_mark
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions

PLAN = discreet.Design("y", {"y": {"bounds": (0, 1), "missing": "drop"}, "x": {"bounds": (0, 1), "missing": "drop"}})
STATEFUL = ["unicode_escape", "raw_unicode_escape", "utf-7", "iso2022_jp", "iso2022_kr", "hz", "utf-32", "utf-16-le",
            "utf-16-be", "cp037", "cp500", "cp1140", "gb18030", "shift_jis", "big5", "euc_jp", "cp932", "punycode",
            "idna", "mac-iceland", "mac-romanian", "mac-arabic", "tis-620", "hp-roman8", "cp65001x"]  # fmt: skip
# what CSV itself is made of; a text that holds one of these is more than a cell
STRUCTURE = frozenset('\r\n",\0')
EVERY_NAME = sorted(
    {*aliases, *aliases.values(), *(module.name for module in pkgutil.iter_modules(encodings.__path__)), *STATEFUL}
)


def python_name(name):
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def test_the_list_is_the_published_one():
    assert CHARSETS == (
        "ascii", "utf-8", "utf-8-sig", "utf-16", "latin-1", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5",
        "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-9", "iso8859-10", "iso8859-11", "iso8859-13", "iso8859-14",
        "iso8859-15", "iso8859-16", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257",
        "cp1258", "cp437", "cp850", "cp852", "cp866", "koi8-r", "koi8-u", "mac-roman", "mac-latin2", "mac-cyrillic",
        "mac-greek", "mac-turkish",
    )  # fmt: skip


def refusal(name):
    try:
        ReadOptions(encoding=name)
    except SpecError as refused:
        return str(refused)
    return None


def test_every_name_that_python_knows_is_accepted_only_if_it_is_one_of_the_list():
    listed = {python_name(name) for name in CHARSETS}
    for name in EVERY_NAME:
        if python_name(name) in listed:
            assert charset_named(name) == python_name(name), name
            assert charset_named(name.upper()) == python_name(name), name
        else:
            expected = f"encoding: expected one of {', '.join(CHARSETS)}, got {name!r}"
            assert refusal(name) == expected, name


def test_the_codecs_that_make_rows_of_text_are_refused_before_the_data_is_looked_for():
    for name in STATEFUL:
        with pytest.raises(SpecError, match="encoding: expected one of ascii, utf-8"):
            discreet.release("no-such-file.csv", PLAN, epsilon=1.0, delta=1e-6, reading=ReadOptions(name))


def signs_of(charset):
    """Every character that the charset has, or one of every kind where it has all of Unicode."""
    if charset.startswith("utf"):
        # line ends of Unicode, marks, characters whose UTF-16 has the bytes of CR, LF, quote and comma, pairs
        return [*map(chr, range(1, 0x300)), *"\u0a0d\u0d0a\u220a\u2c22\u2028\u2029\ufeff\ufffe\uffff\U0001f600\u0a0a"]
    found = (bytes([byte]).decode(charset, errors="ignore") for byte in range(256))
    return [sign for sign in found if sign]


def rows_of(path, charset):
    source = open_source(path, reading=ReadOptions(encoding=charset))
    return accumulate(source, PLAN, RowDomain.of(PLAN), ComputeOptions()).values


@pytest.mark.no_cover
@pytest.mark.parametrize("charset", CHARSETS)
def test_one_line_is_one_row_and_no_row_changes_how_others_are_read(charset, tmp_path):
    """Additivity over files: rows with every character of the charset, before and behind rows that count."""
    plain = [f"{k / 8},{k / 8},plain" for k in range(1, 8)]
    odd = [f"0.25,0.5,a{sign}z" for sign in signs_of(charset) if sign not in STRUCTURE]
    # the same characters in a numeric cell: not a number, dropped
    numeric = frozenset("0123456789eE")
    odd += [f"0.{sign}5,0.5,a" for sign in signs_of(charset) if sign not in STRUCTURE | numeric]

    def summed(name, lines):
        path = tmp_path / f"{name}.csv"
        path.write_bytes("".join(f"{line}\n" for line in ("x,y,note", *lines)).encode(charset))
        return rows_of(path, charset)

    of_plain, of_odd = summed("plain", plain), summed("odd", odd)
    kept = sum(line.startswith("0.25,") for line in odd)
    assert of_odd[0] == kept * 4**16
    together = tuple(a + b for a, b in zip(of_plain, of_odd, strict=True))
    assert summed("behind", plain + odd) == together
    assert summed("before", odd + plain) == together
    for start in range(0, len(odd), 29):
        one = odd[start : start + 1]
        wanted = tuple(a + b for a, b in zip(of_plain, summed("one", one), strict=True))
        assert summed("middle", plain[:3] + one + plain[3:]) == wanted


@pytest.mark.parametrize("charset", CHARSETS)
def test_a_character_of_structure_is_the_same_in_every_charset(charset, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('x,y,note\r\n0.5,0.5,"a ""b"", c"\r0.5,0.5,d\n'.encode(charset))
    assert rows_of(path, charset)[0] == 2 * 4**16


def test_an_encoding_with_escapes_would_have_made_rows_of_one_line():
    """Negative control: what the refused codecs do to the text of one row."""
    assert rb"0.5,0.5,a\n0.5,0.5,b".decode("unicode_escape").count("\n") == 1
    assert b"0.5,0.5,a+AAo-0.5,0.5,b".decode("utf-7").count("\n") == 1
    assert b"0.5,0.5,~{\n0.5,0.5,b~}".decode("hz", errors="replace") != "0.5,0.5,~{\n0.5,0.5,b~}"


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_utf_16_needs_its_mark(name, tmp_path):
    text = "x,y\n0.5,0.5\n"
    bare, marked = tmp_path / "bare.csv", tmp_path / "marked.csv"
    bare.write_bytes(text.encode(name))
    marked.write_bytes("\ufeff".encode(name) + text.encode(name))
    reading = ReadOptions(encoding="utf-16")
    assert rows_of(marked, "utf-16")[0] == 4**16
    assert [column for column, _ in column_names_and_types(marked, reading)] == ["x", "y"]
    for read in (lambda: rows_of(bare, "utf-16"), lambda: column_names_and_types(bare, reading)):
        with pytest.raises(DataError) as refused:
            read()
        assert str(refused.value) == (
            "the file 'bare.csv' must begin with a byte order mark to be read as utf-16; write the file with one, or "
            "as "
            "utf-8"
        )


def test_the_mark_of_another_encoding_is_named():
    assert wrong_mark(codecs.BOM_UTF16_LE, "utf-16") is None
    assert wrong_mark(codecs.BOM_UTF16_BE, "utf-8-sig") == "is UTF-16 text; pass encoding='utf-16'"
    for charset in ("utf-8", "utf-16"):
        for mark in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
            assert wrong_mark(mark, charset) == "is UTF-32 text, which is not supported; write the file as utf-8"
    # in a one-byte charset these bytes are letters
    assert wrong_mark(codecs.BOM_UTF16_LE + b"ab", "iso8859-1") is None

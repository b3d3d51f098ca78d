"""Encoding and delimiter that a header line suggests, for a person to confirm; no byte behind it is looked at."""

from __future__ import annotations

import codecs
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from discreet.errors import DataError
from discreet.tables.files.header import first_line, split_names
from discreet.tables.files.packed import TextBytes
from discreet.tables.files.reading import DEFAULT_READING, ReadOptions

_DELIMITERS: Final = (",", ";", "\t", "|")
# cp1252 is what most programs write that do not write UTF-8; latin-1 has a character for every byte
_ENCODINGS: Final = ("utf-8", "cp1252", "latin-1")
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def proposed(path: Path, given: ReadOptions, *, encoding: bool, delimiter: bool) -> ReadOptions:
    """The given options, with a proposal for the encoding, the delimiter or both where asked for.

    The encoding: UTF-16 where the file begins with its mark, else the first of UTF-8, cp1252 and latin-1 in which the
    header line is text. The delimiter: the one of comma, semicolon, tab and bar that splits the line into the most
    cells, and none where that is what the name of the file says anyway.
    """
    if encoding:
        given = replace(given, encoding=_encoding(path, given))
    if not delimiter:
        return given
    line = first_line(path, given)
    usual = DEFAULT_READING.for_file(path).delimiter or ","
    cells = {sign: len(split_names(line, sign) or ()) for sign in (usual, *_DELIMITERS)}
    best = max(cells, key=lambda sign: cells[sign])
    # where the line is one cell however it is split, what is wrong with it is said by the usual delimiter
    return given if best == usual or cells[best] < 2 else replace(given, delimiter=best)


def _encoding(path: Path, given: ReadOptions) -> str:
    with TextBytes(path, buffering=0) as raw:
        if raw.read(2) in _UTF16_MARKS:
            return "utf-16"
    for name in _ENCODINGS[:-1]:
        # what else is wrong with the line is said where it is read
        with suppress(DataError):
            first_line(path, replace(given, encoding=name))
            return name
    return _ENCODINGS[-1]

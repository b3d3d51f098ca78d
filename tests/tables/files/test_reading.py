"""How a text file is written: what may be said, what follows from a name, and what a ledger keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import SpecError
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions, text_suffix


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("decimal", ";", "decimal: expected '.' or ',', got ';'"),
        ("decimal", None, "decimal: expected '.' or ',', got None"),
        ("decimal", ["."], "decimal"),
        ("thousands", "", "thousands: expected one of"),
        ("thousands", "1", "or no character, got '1'"),
        ("thousands", "..", "or no character, got '..'"),
        ("thousands", 3, "or no character, got 3"),
        ("thousands", ".", "thousands and decimal must be different characters, got '.' for both"),
        ("quoted_line_breaks", "yes", "quoted_line_breaks"),
        ("quoted_line_breaks", 1, "quoted_line_breaks"),
    ],
)
def test_an_option_that_is_not_allowed_is_refused(option: str, value: object, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        ReadOptions(**{option: value})  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("sign", [",", "'", "’", "_", " ", "\u00a0", "\u202f"])
def test_signs_between_groups_of_digits(sign: str) -> None:
    assert ReadOptions(thousands=sign).local_numbers
    assert not ReadOptions().local_numbers


@pytest.mark.parametrize(
    ("name", "sign"),
    [("a.csv", ","), ("a.tsv", "\t"), ("A.TSV", "\t"), ("a.tab", "\t"), ("a.tsv.zst", "\t"), ("a.csv.gz", ",")],
)
def test_the_name_gives_the_delimiter_unless_it_is_given(name: str, sign: str) -> None:
    assert ReadOptions().for_file(Path(name)).delimiter == sign
    assert ReadOptions(delimiter="|").for_file(Path(name)).delimiter == "|"
    assert ReadOptions(delimiter=",").for_file(Path(name)).delimiter == ","


def test_an_ending_is_that_of_the_text_inside() -> None:
    assert [text_suffix(Path(name)) for name in ("a.csv", "a.CSV.GZ", "a.parquet.zst", "gz", "a.gz")] == [
        ".csv", ".csv", ".parquet", "", "",
    ]  # fmt: skip


def test_a_ledger_keeps_what_is_used_and_nothing_else() -> None:
    # the text of earlier versions, by which a recorded request is found again
    assert DEFAULT_READING.read_as() == {"encoding": "utf-8", "delimiter": ","}
    every = ReadOptions("latin1", ";", ",", ".", True)
    assert every.read_as() == {
        "encoding": "iso8859-1", "delimiter": ";", "decimal": ",", "thousands": ".", "quoted_line_breaks": True,
    }  # fmt: skip
    assert ReadOptions(delimiter="\t").read_as() == ReadOptions().for_file(Path("a.tsv")).read_as()

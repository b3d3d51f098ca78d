"""Records and quotes are found as by reading one sign after the other."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.tables.csv import (
    count_lines,
    first_stray_quote,
    record_ends,
    record_lines,
    record_starts,
    record_widths,
)


def stray_quote(text: str, *, line_breaks: bool = False) -> bool:
    """Whether quotes are used wrongly, by reading one sign after the other."""
    state = "border"
    for sign in text + "\n":
        if state == "border":
            state = {'"': "inside", ",": "border", "\n": "border", "\r": "border"}.get(sign, "plain")
        elif state == "plain":
            if sign == '"':
                return True
            state = "border" if sign in ",\r\n" else "plain"
        elif state == "inside":
            if sign in "\r\n" and not line_breaks:
                return True
            state = "quote" if sign == '"' else "inside"
        elif sign == '"':
            state = "inside"
        elif sign in ",\r\n":
            state = "border"
        else:
            return True
    return False


@given(text=st.text('a",\n\r', max_size=40))
def test_quotes_are_judged_as_by_reading_sign_after_sign(text) -> None:
    found = first_stray_quote(text.encode(), ",")
    assert (found is not None) == stray_quote(text)
    if found is not None:
        assert text[found] == '"'
        line_before = text[: max(text.rfind("\n", 0, found), text.rfind("\r", 0, found)) + 1]
        assert not stray_quote(line_before)


def open_quote(text: str) -> bool:
    return text.count('"') % 2 == 1


@given(text=st.text('a",\n\r', max_size=40))
def test_quotes_around_line_breaks_are_judged_as_by_reading_sign_after_sign(text) -> None:
    found = first_stray_quote(text.encode(), ",", line_breaks=True)
    # a quote that the end of the text leaves open is one too
    assert (found is not None) == (stray_quote(text, line_breaks=True) or open_quote(text))


cells = st.text('a",\n\r é', max_size=6)
tables = st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8)


@given(rows=tables, end=st.sampled_from(["\n", "\r\n", "\r"]), last=st.booleans())
def test_records_are_those_that_a_writer_wrote(rows, end, last) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    written = text.getvalue() if last else text.getvalue()[: -len(end)]
    block = written.encode()
    assert first_stray_quote(block, ",", line_breaks=True) is None
    assert record_widths(block, ",").tolist() == [3] * len(rows)
    starts = record_starts(block).tolist()
    parts = [block[start:stop] for start, stop in zip(starts, [*starts[1:], len(block)], strict=True)]
    # a field limit or a dialect cannot get in the way: Python's own reader takes each part for one record
    assert [tuple(next(csv.reader([part.decode()], strict=True))) for part in parts] == rows
    lines = record_lines(block, 7)
    assert lines == [7 + count_lines(block[:start]) for start in starts]


@given(rows=tables, cut=st.integers(0, 200))
def test_a_record_end_does_not_depend_on_what_is_behind_it(rows, cut) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    block = text.getvalue().encode()
    known = set(record_ends(block).tolist())
    found = set(record_ends(block[:cut]).tolist())
    assert found <= known
    # at most the last one is not known yet: its CR may be half of a pair
    assert {end for end in known if end <= cut} == found


@pytest.mark.parametrize(
    ("block", "widths"),
    [(b"a,b\n\nc,d\n", [2, 1, 2]), (b"\n", [1]), (b"a", [1]), (b'","\r', [1]), (b'a,"""\n,",\r\n', [3])],
)
def test_widths_of_odd_blocks(block: bytes, widths: list[int]) -> None:
    assert record_widths(block, ",").tolist() == widths

"""Ids of persons in every kind of text and number: what is one id, what is none, and what is refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from discreet.curator.individuals import known_ids, known_persons, person_digests
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DataError
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import exact_release

COLUMNS = {"x": (0, 1), "g": ["a", "b", "c"], "y": (-1, 1)}


def design(max_rows=2, neighbours="add-remove"):
    return Design("y", COLUMNS, unit={"id": "person", "max_rows": max_rows, "neighbours": neighbours})


def total_design():
    dropping = {name: {**column.to_dict(), "missing": "drop"} for name, column in design().columns.items()}
    return Design("y", dropping, unit={"id": "person", "max_rows": 2})


def text_of(kind, cells):
    """An Arrow array of text with these bytes, whether they are UTF-8 or not."""
    if kind == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array(range(len(cells))), text_of("string", cells))
    if kind == "view":
        return pa.array(cells, pa.binary_view()).view(pa.string_view())
    wide = kind == "large"
    return pa.array(cells, pa.large_binary() if wide else pa.binary()).view(pa.large_string() if wide else pa.string())


@pytest.mark.parametrize("kind", ["string", "large", "view", "dictionary"])
@pytest.mark.parametrize("box", ["mapping", "table", "reader"])
def test_an_id_that_is_not_utf_8_is_told_as_that_or_left_out(kind, box):
    def boxed(cells):
        rows = range(1, len(cells) + 1)
        columns = {"person": text_of(kind, cells), "x": [k / 8 for k in rows], "g": ["a"] * len(cells)}
        columns["y"] = [k / 8 for k in rows]
        whole = pa.table(columns)
        return {"mapping": columns, "table": whole, "reader": whole.to_reader()}[box]

    with pytest.raises(DataError) as caught:
        exact_release(boxed([b"a", b"\xff\xfe", b"b"]), design())
    assert str(caught.value) == (
        "the id column 'person' has a cell that is not valid UTF-8; write ids as text or integers"
    )
    # as if the row were not there, whatever stands in the cells around it
    left = exact_release(boxed([b"a", None, b"\xe4\xb8"]), total_design()).totals
    assert left == exact_release(boxed([b"a"]), total_design()).totals


def test_an_id_of_another_type_is_refused():
    table = {"person": np.array([True]), "x": [0.5], "g": ["a"], "y": [0.0]}
    with pytest.raises(DataError, match="id column 'person' must contain text or integers, but has type bool"):
        exact_release(table, design())


def test_ids_written_with_and_without_a_point_are_one_person(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "a.csv").write_text("person,x,g,y\n1,0.1,a,0\n2,0.2,b,0\n")
    (parts / "b.csv").write_text("person,x,g,y\n1.0,0.3,a,0\n2.0,0.4,b,0\n-3.00,0.4,b,0\n")
    plan = design(1, "replace")
    moments = accumulate(open_source(parts / "*.csv"), plan, RowDomain.of(plan), ComputeOptions())
    assert moments.counts.units == 3
    assert moments.values[0] == 3 * 4**16


@pytest.mark.parametrize("kind", ["category", "text", "whole"])
def test_dictionaries_of_ids_are_read_in_every_kind_of_text(kind):
    import polars as pl

    column = {
        "category": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
        "text": pl.Series(["a", "b", "a"]),
        "whole": pl.Series([1, 2, 1]),
    }[kind]
    frame = pl.DataFrame({"person": column, "x": [0.1, 0.2, 0.3], "g": ["a", "b", "c"], "y": [0.0, 0.0, 0.0]})
    assert exact_release(frame, design(1)).moments[0, 0] == 2


def test_an_id_of_thousands_of_digits_is_no_id():
    table = {"person": [10**5000, "p"], "x": [0.5, 0.5], "g": ["a", "a"], "y": [0.0, 0.0]}
    assert exact_release(table, total_design()).totals[0] == 4**16


@pytest.mark.parametrize("odd", [1.5, object(), [1], b"\xff"])
def test_an_id_that_is_neither_text_nor_an_integer_is_not_called_missing(odd):
    table = {"x": [0.5, 0.5], "g": ["a", "b"], "y": [0.0, 0.0], "person": ["a", odd]}
    with pytest.raises(
        DataError, match="a cell that is missing or neither text nor an integer; every row must have an id"
    ):
        exact_release(table, design())


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_whole_numbers_as_floats_are_the_same_ids_as_whole_numbers(kind):
    wanted = pa.array(["1", "0", "-7", "0", "2047"], pa.large_string())
    persons, known = known_persons("person", pa.array([1, 0, -7, 0, 2047]), total=False)
    assert (persons, known) == (wanted, None)
    floats = pa.array(np.array([1.0, 0.0, -7.0, -0.0, 2047.0], dtype=kind.to_pandas_dtype()))
    coded = pa.DictionaryArray.from_arrays(pa.array(range(5)), floats)
    for values in (floats, coded, pa.array(["1.0", "0", "-7.", "-0.00", "2047"])):
        persons, known = known_persons("person", values, total=False)
        assert (persons, known) == (wanted, None)
    assert known_persons("person", pa.array([2.0**53 - 1]), total=False)[0].to_pylist() == [str(2**53 - 1)]


def test_text_that_is_no_integer_stays_as_it_is():
    ids, known = known_ids("person", pa.array(["1.5", "1.50", "1.0", "x.0", "-1.", "1..0"]), total=False)
    assert (ids.to_pylist(), known) == (["1.5", "1.50", "1", "x.0", "-1", "1..0"], None)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_ids_of_a_batch_may_have_more_text_than_32_bits_count(kind):
    """A dictionary holds a long id once, but the rows of a batch hold it together."""
    for values in (pa.array(["a", "b", "a"], kind), pa.array(["a", "b", "a"], kind).dictionary_encode()):
        ids, _ = known_ids("person", values, total=False)
        assert (ids.type, ids.to_pylist()) == (pa.large_string(), ["a", "b", "a"])


def test_a_digest_has_all_its_bits():
    """Four numbers of 64 bits, each of its own: with fewer, persons on disk would be taken for one another."""
    ids = pa.array([str(k) for k in range(3000)])
    pieces = person_digests(ids, hashlib.blake2b(key=b"k", digest_size=32))
    assert pieces.shape == (4, 3000)
    assert len(set(pieces.ravel().tolist())) == 4 * 3000
    # no bit is the same in all of them
    assert all(np.bitwise_or.reduce(piece) == np.uint64(2**64 - 1) for piece in pieces)
    assert all(np.bitwise_and.reduce(piece) == 0 for piece in pieces)

"""Compressed text is the text inside it, or is refused as a whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import DataError
from discreet.tables.csv_format import TextBytes
from support.refusals import GOOD, HEADER, read_all, refusal

ROWS = np.random.default_rng(2).random(20_000)
TEXT = (HEADER + "".join(f"{value:.6f},true,a,1\n" for value in ROWS)).encode()


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


PACKERS = {"t.csv.gz": gzip.compress, "t.csv.zst": zstd}


@pytest.mark.parametrize("size", [1 << 20, 1000, 7])
@pytest.mark.parametrize("name", PACKERS)
def test_the_bytes_are_those_inside(name: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / name
    content = TEXT if size > 7 else TEXT[:2000]
    path.write_bytes(PACKERS[name](content))
    found = b""
    with TextBytes(path) as raw:
        assert raw.share == 0
        while piece := raw.read(size):
            assert len(piece) <= size
            found += piece
        assert raw.share == 1
        assert not raw.has_grown
    assert found == content


@pytest.mark.parametrize("name", PACKERS)
def test_parts_that_were_packed_one_behind_the_other_are_one_text(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PACKERS[name](TEXT[:1000]) + PACKERS[name](TEXT[1000:]))
    with TextBytes(tmp_path / name) as raw:
        assert b"".join(iter(lambda: raw.read(1 << 16), b"")) == TEXT


@pytest.mark.parametrize("name", PACKERS)
def test_a_stream_that_breaks_off_anywhere_is_refused_as_a_whole(name: str, tmp_path: Path) -> None:
    path, whole = tmp_path / name, PACKERS[name](TEXT)
    for cut in (len(whole) - 1, len(whole) - 5, len(whole) - 9, len(whole) // 2, 30):
        path.write_bytes(whole[:cut])
        assert refusal(path, DataError).endswith("it is damaged or truncated; write or copy the file again")
    path.write_bytes(whole + b"something else")
    assert "cannot be decompressed" in refusal(path, DataError)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("name", PACKERS)
def test_a_damaged_byte_is_refused_or_gives_another_text(name: str, tmp_path: Path) -> None:
    path, whole = tmp_path / name, PACKERS[name](TEXT)
    path.write_bytes(whole)
    read_all(path)
    rng = np.random.default_rng(4)
    refused = 0
    for index in rng.integers(10, len(whole), 40):
        damaged = bytearray(whole)
        damaged[index] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            read_all(path)
        except DataError:
            refused += 1
    assert refused > 0


FAULTS = {
    "not packed": (b"x,yes,g,n\n", "not compressed as its extension says"),
    "empty": (b"", "is empty"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", PACKERS)
def test_a_misnamed_file_is_refused(name: str, fault: str, tmp_path: Path) -> None:
    content, message = FAULTS[fault]
    (tmp_path / name).write_bytes(content)
    assert message in refusal(tmp_path / name, DataError)


@pytest.mark.parametrize("name", PACKERS)
def test_what_is_packed_is_judged_like_plain_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for content, message in (
        (b"", "is empty after decompression"),
        ((HEADER + GOOD).encode("utf-16"), "pass encoding='utf-16'"),
        (b"SQLite format 3\0", "is not CSV text"),
        ((HEADER + GOOD + "SECRETCELL,true\n").encode(), "line 3 "),
        ((HEADER + GOOD + 'x,"SECRETCELL\n",\n').encode(), "line 3 "),
    ):
        path.write_bytes(PACKERS[name](content))
        assert message in refusal(path, DataError)

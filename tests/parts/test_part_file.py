"""Files of parts: read back as they were written; whatever is changed, cut or lengthened is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from discreet.errors import PartFileError
from discreet.parts.agreement import design_table
from discreet.parts.part_file import Part, PartHeader
from support.curators import DESIGN, curators

MAGIC = b"discreet part 1\n"


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return curators(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def header(people):
    return PartHeader(people.session, design_table(DESIGN), 1, 3, "untracked", None, "discreet 1")


@pytest.fixture(scope="module")
def part(people, header):
    return Part.signed(header, bytes(range(48)), people.keys[1].sign)


def test_a_part_is_read_back(part, header, tmp_path):
    part.save(tmp_path / "a.part")
    again = Part.load(tmp_path / "a.part")
    assert again == part
    assert (again.header, again.numbers, again.curator) == (header, bytes(range(48)), "süd")
    assert again.digest == part.digest
    assert repr(part) == f"<Part of 'süd' in session {header.session.id[:8]}, masked>"


def test_a_change_of_any_byte_is_refused(part):
    for place in range(0, len(part.content), 7):
        changed = bytearray(part.content)
        changed[place] ^= 1
        with pytest.raises(PartFileError):
            Part.from_bytes(bytes(changed))


@pytest.mark.parametrize("cut", [0, 5, 16, 20, 40, -1, -64, -65])
def test_a_cut_part_is_refused(part, cut):
    with pytest.raises(PartFileError, match="this is not a part, or it is damaged"):
        Part.from_bytes(part.content[:cut])


def test_a_longer_part_is_refused(part):
    with pytest.raises(PartFileError, match="its length does not match its header"):
        Part.from_bytes(part.content + b"x")


@pytest.mark.parametrize("content", [None, "text", b"{}", MAGIC + b"\xff\xff\xff\xff" + bytes(80)])
def test_other_content_is_refused(content):
    with pytest.raises(PartFileError, match="this is not a part"):
        Part.from_bytes(content)


def signed_header(people, text):
    said = MAGIC + len(text).to_bytes(4, "big") + text + bytes(48)
    return said + people.keys[1].sign.sign(said)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"curator": 3}, "the curator of the part is not in its session"),
        ({"curator": -1}, "the curator of the part is not in its session"),
        ({"curator": True}, "the curator of the part is not in its session"),
        ({"curator": 0}, "curator 'north' did not sign it"),
        ({"numbers": 0}, "masked numbers"),
        ({"numbers": 2**40}, "masked numbers"),
        ({"numbers": 2}, "its length does not match"),
        ({"origin": "moon"}, "its design or its origin"),
        ({"design": []}, "its design or its origin"),
        ({"anchor": ""}, "'anchor' must be text without invisible characters"),
        ({"anchor": "a\nb"}, "'anchor' must be text without invisible characters"),
        ({"made_by": 5}, "'made_by' must be text without invisible characters"),
        ({"more": 5}, "missing or unknown fields"),
        ({"session": {}}, "the session in the part is invalid"),
    ],
)
def test_a_header_that_cannot_be_is_refused_though_it_is_signed(people, header, change, message):
    text = json.dumps(json.loads(header.to_bytes()) | change).encode()
    with pytest.raises(PartFileError, match=message):
        Part.from_bytes(signed_header(people, text))


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"a":1,"a":2}', b'{"a":NaN}', b"[" * 100_000, b"\xff"])
def test_a_header_that_is_no_table_is_refused(people, text):
    with pytest.raises(PartFileError, match="its header is not JSON"):
        Part.from_bytes(signed_header(people, text))


def test_a_signature_key_that_is_no_point_is_refused(people, header):
    keys = [replace(one, sign_key="ed25519:" + "A" * 42 + "I=") for one in people.session.curators]
    session = replace(people.session, curators=(people.session.curators[0], keys[1], people.session.curators[2]))
    text = replace(header, session=session).to_bytes()
    with pytest.raises(PartFileError, match="the signature of the part is not valid"):
        Part.from_bytes(signed_header(people, text))


def test_a_file_that_is_not_there_or_too_long_is_refused(tmp_path):
    with pytest.raises(PartFileError, match="cannot read"):
        Part.load(tmp_path / "a.part")
    with (tmp_path / "b.part").open("wb") as file:
        # takes no room on the disk, and is never read
        file.truncate(1 << 40)
    with pytest.raises(PartFileError, match="longer than"):
        Part.load(tmp_path / "b.part")
    (tmp_path / "c.part").write_bytes(b"x")
    with pytest.raises(PartFileError, match=r"c\.part': this is not a part"):
        Part.load(tmp_path / "c.part")


def test_a_part_is_read_back_from_what_a_ledger_keeps(part):
    assert Part.from_text(part.to_text()) == part
    for other in ("", "[]", "{}", '{"format": "discreet-release"}', "[" * 100_000):
        assert Part.from_text(other) is None
    for damaged in ('{"format": "discreet-part"}', '{"format": "discreet-part", "part": "=="}'):
        with pytest.raises(PartFileError, match="this is not a part, or it is damaged"):
            Part.from_text(damaged)

"""The record of a session: written once, before anybody sees a part; other sums are refused."""

from __future__ import annotations

import os
import sys

import pytest

from discreet.errors import OutputError, SpecError
from discreet.parts import making as module
from discreet.parts.agreement import design_table
from discreet.parts.making import Record, folder_of
from discreet.parts.part_file import Part, PartHeader
from support.curators import DESIGN, curators

VALUES = [5, -7, 2**70]


@pytest.fixture
def people(tmp_path):
    return curators(tmp_path)


def signed(people, numbers=bytes(48)):
    header = PartHeader(people.session, design_table(DESIGN), 0, 3, "untracked", None, "discreet 1")
    return Part.signed(header, numbers, people.keys[0].sign)


def record(people):
    return Record.beside(people.path(0), people.session, people.keys[0].record_key())


def test_the_same_sums_find_their_part_and_others_are_refused(people):
    kept, part = record(people), signed(people)
    assert kept.find(VALUES) is None
    assert kept.keep(VALUES, part) == part
    assert record(people).find(VALUES) == part
    for other in ([5, -7, 2**70 + 1], [5, -7], [5, -(72**70)], []):
        with pytest.raises(SpecError, match=r"this key already used session .* for another table.*Nothing was written"):
            record(people).find(other)


def test_a_link_to_the_key_finds_the_same_record(people):
    (people.folder / "elsewhere").mkdir()
    link = people.folder / "elsewhere" / "link.key"
    link.symlink_to(people.path(0))
    linked = Record.beside(link, people.session, people.keys[0].record_key())
    assert linked.path == record(people).path.resolve()


def test_a_key_under_another_name_finds_the_same_record(people):
    for other in ("renamed.key", "copied.key"):
        given = Record.beside(people.folder / other, people.session, people.keys[0].record_key())
        assert given.path == record(people).path
    assert Record.beside(people.path(0), people.session, people.keys[1].record_key()).path != record(people).path


def test_the_first_of_two_processes_decides(people):
    first, second = record(people), record(people)
    one, other = signed(people), signed(people, bytes([1] * 48))
    assert first.keep(VALUES, one) == one
    assert second.keep(VALUES, other) == one
    with pytest.raises(SpecError, match="this key already used session"):
        second.keep([1, 2, 3], other)


def test_the_record_is_for_its_owner_alone_and_holds_no_sum(people):
    record(people).keep([12345678901234567890], signed(people))
    (folder,) = people.folder.glob("discreet-sessions-*")
    (file,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    assert b"12345678901234567890" not in file.read_bytes()


@pytest.mark.parametrize("damage", [b"", b"discreet part record 1\n", b"x" * 200])
def test_a_damaged_record_counts_as_a_used_session(people, damage):
    kept = record(people)
    kept.path.write_bytes(damage)
    with pytest.raises(SpecError, match="is damaged, so the session is treated as used"):
        kept.find(VALUES)


def test_a_record_whose_part_was_changed_counts_as_used(people):
    kept = record(people)
    kept.keep(VALUES, signed(people))
    content = kept.path.read_bytes()
    kept.path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(SpecError, match="is damaged"):
        kept.find(VALUES)


def test_a_record_that_is_a_folder_is_refused(people):
    kept = record(people)
    kept.path.mkdir()
    with pytest.raises(SpecError, match="cannot read the record"):
        kept.find(VALUES)


def test_a_record_that_comes_and_goes_is_refused(people, monkeypatch):
    monkeypatch.setattr(module, "write_once", lambda *_: False)
    with pytest.raises(OutputError, match="another program deleted the session record"):
        record(people).keep(VALUES, signed(people))


def test_without_a_place_for_records_nothing_is_used(people, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="cannot write a session record into"):
        record(people)
    (people.folder / folder_of(b"")).write_text("")
    with pytest.raises(OutputError, match="cannot create the folder"):
        Record.beside(people.path(1), people.session, b"")


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701])
def test_a_folder_of_records_that_others_may_use_is_refused(people, mode):
    folder = record(people).path.parent
    folder.chmod(mode)
    words = r"other users may access the folder of session records .*; restrict it to its owner: chmod 700"
    with pytest.raises(SpecError, match=words):
        record(people)
    folder.chmod(0o700)
    assert record(people)


def test_what_two_parts_would_show_depends_on_who_draws_the_noise(people, tmp_path):
    for made, what in ((people, "too little noise"), (curators(tmp_path / "m", noise="merger"), "exact")):
        record(made).keep(VALUES, signed(made))
        with pytest.raises(SpecError, match=f"Two parts under one mask would reveal .*{what}"):
            record(made).find([1])


def test_another_key_or_session_has_another_digest(people, tmp_path):
    kept = record(people)
    kept.keep(VALUES, signed(people))
    with pytest.raises(SpecError, match="this key already used session"):
        Record(kept.path, people.session, b"another key").find(VALUES)
    altered = curators(tmp_path / "other").session
    with pytest.raises(SpecError, match="this key already used session"):
        Record(kept.path, altered, kept.key).find(VALUES)


def test_a_link_that_leads_nowhere_counts_as_a_used_session(people):
    kept = record(people)
    assert not kept.is_used
    kept.path.symlink_to("nowhere")
    assert kept.is_used
    with pytest.raises(SpecError, match=r"it is a link, a folder or a device, so the session is treated as used"):
        kept.find(VALUES)


def test_without_locks_the_record_alone_decides(people, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with record(people).alone(), record(people).alone():
        assert record(people).keep(VALUES, signed(people))

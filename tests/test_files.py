"""Files are written whole or not at all."""

from __future__ import annotations

import os
import socket
import stat

import pytest

from discreet import files
from discreet.errors import OutputError, SpecError
from discreet.files import check_output
from discreet.releases import Release
from support.small_releases import a_release


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    def refuse(*_given):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("discreet.files.os.open", refuse)
    with pytest.raises(OutputError, match=r"cannot create a file in .*: Permission denied; choose another folder"):
        check_output(tmp_path / "r.json", force=False)


def test_what_exists_and_is_no_plain_file_is_refused_even_if_forced(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket.json"))
        for name in ("pipe.json", "socket.json"):
            for force in (False, True):
                with pytest.raises(OutputError, match="is a pipe, socket or device; name a plain file"):
                    check_output(tmp_path / name, force=force)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_of_the_system_that_takes_no_file_is_found_before_anything_is_spent():
    # as root it looks writable; the attempt alone tells
    with pytest.raises(OutputError, match="cannot create a file in '/proc'"):
        check_output("/proc/x.json", force=False)


def test_a_long_name_that_the_folder_allows_is_written_and_a_longer_one_is_told(tmp_path):
    release = a_release()
    row_norm = tmp_path / f"{'n' * 250}.json"
    release.save(row_norm)
    assert Release.load(row_norm) == release
    assert [p.name for p in tmp_path.iterdir()] == [row_norm.name]
    for name in ("n" * 300, f"{'n' * 300}/r.json"):
        with pytest.raises(OutputError, match=r"the name 'n{20}\.\.\.' is too long; choose a shorter name"):
            check_output(tmp_path / name, force=False)


def test_a_name_with_a_nul_is_refused(tmp_path):
    with pytest.raises(SpecError, match="NUL"):
        check_output(tmp_path / "a\0b.json", force=False)


def test_a_secret_file_is_for_its_owner_alone(tmp_path):
    files.write_bytes(tmp_path / "key", b"secret", secret=True)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_written_once_stays_what_it_was(tmp_path):
    path = tmp_path / "record"
    assert files.write_once(path, b"first")
    assert not files.write_once(path, b"second")
    assert path.read_bytes() == b"first"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["record"]


def test_a_file_that_cannot_be_written_once_is_said_to_be_so(tmp_path):
    with pytest.raises(OutputError, match="cannot write"):
        files.write_once(tmp_path / "none" / "record", b"first")


def test_a_file_may_have_a_limit_of_its_own(tmp_path):
    (tmp_path / "long").write_bytes(b"12345")
    assert files.read_limited(tmp_path / "long", 5) == b"12345"
    with pytest.raises(OSError, match="longer than 4 bytes"):
        files.read_limited(tmp_path / "long", 4)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"SQLite format 3\0" + bytes(90), "a database, such as a ledger,"),
        (b"# SECRET\nformat = 'discreet-curator-key'\n", "a private key"),
        (b"-----BEGIN PRIVATE KEY-----\nMC4C\n", "a private key"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\n", "a private key"),
        (files.PART_RECORD + bytes(40), "the record of a session"),
        (files.MERGE_RECORD + b"0\n{}", "the record of a session"),
    ],
)
def test_what_is_lost_for_good_is_never_replaced(content, words, tmp_path):
    path = tmp_path / "kept"
    path.write_bytes(content)
    with pytest.raises(OutputError, match=f"is {words} and is never replaced; choose another name"):
        files.write_bytes(path, b"other", force=True)
    assert path.read_bytes() == content
    # negative control: any other file is replaced where that is asked for
    path.write_bytes(b"-----BEGIN PUBLIC KEY-----\n")
    files.write_bytes(path, b"other", force=True)
    assert path.read_bytes() == b"other"


def test_a_file_that_cannot_be_looked_into_is_replaced_as_any_other(tmp_path, monkeypatch):
    path = tmp_path / "closed"
    path.write_bytes(b"old")

    def closed(*_, **__):
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(type(path), "open", closed)
        assert check_output(path, force=True) == path


def test_why_a_file_stays_is_said_in_the_words_of_its_kind(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(OutputError, match=r"'.*a' already exists; keys stay$"):
        check_output(tmp_path / "a", force=False, stays="keys stay")


def test_a_kept_file_is_a_file_or_nothing_at_all(tmp_path):
    path = tmp_path / "kept"
    assert files.read_kept(path) is None
    files.write_once(path, b"content")
    assert files.read_kept(path) == b"content"
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError, match="it is a link, a folder or a device"):
        files.read_kept(path)


def test_a_record_of_several_curators_is_recognised():
    from discreet.files import MERGE_RECORD, PART_RECORD, of_several_curators

    for mark in (PART_RECORD, MERGE_RECORD):
        assert of_several_curators(mark + b"...") == "is the record of a session; leave it where it is"
    assert of_several_curators(b"{}") == ""

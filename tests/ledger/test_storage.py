"""The file: private, append-only, whole or refused, and every failure of SQLite in our words."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from discreet.errors import LedgerError, OutputError, SpecError
from discreet.ledger import event_log as module
from discreet.ledger.event_log import EventLog, Storage, created, plain_words
from discreet.ledger.ledger import Ledger
from support.spends import DATASET, asking, ledger_of


def raw(path: Path, *statements: str) -> None:
    """Change a ledger as somebody with an editor would."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ledger = ledger_of(tmp_path)
    for epsilon in (0.1, 0.2):
        receipt = ledger.account(DATASET)(asking(epsilon))
        assert receipt.commit is not None
        receipt.commit("a release")
    return tmp_path / "books.db"


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_the_file_is_for_its_owner_alone_whatever_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        created(tmp_path / "books.db")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "books.db").stat().st_mode) == 0o600


def test_the_journal_is_on_disk_before_a_transaction_counts(path):
    connection = module._connected(path)
    settings = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in (
        "journal_mode", "synchronous", "trusted_schema", "busy_timeout"
    )]  # fmt: skip
    connection.close()
    assert settings == ["delete", 3, 0, 60_000]


def test_an_existing_file_and_a_missing_folder_are_left_alone(tmp_path):
    (tmp_path / "books.db").write_text("precious")
    with pytest.raises(OutputError, match="exists"):
        created(tmp_path / "books.db")
    assert (tmp_path / "books.db").read_text() == "precious"
    with pytest.raises(OutputError, match="cannot create the ledger"):
        created(tmp_path / "none" / "books.db")


def test_a_ledger_that_cannot_be_made_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_SCHEMA", ("CREATE nonsense", "CREATE nonsense"))
    with pytest.raises(LedgerError, match="SQLite says SQLITE_ERROR"):
        created(tmp_path / "books.db")
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_fchmod_makes_a_ledger_too(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "fchmod")
    assert created(tmp_path / "books.db").ledger_id


def test_a_link_a_folder_and_a_pipe_are_no_ledger(path, tmp_path):
    (tmp_path / "link.db").symlink_to(path)
    (tmp_path / "folder.db").mkdir()
    os.mkfifo(tmp_path / "pipe.db")
    for name, what in (("link", "a link"), ("folder", "a folder"), ("pipe", "a pipe")):
        with pytest.raises(SpecError, match=f"is {what}"):
            Ledger(tmp_path / f"{name}.db")


def test_a_ledger_with_two_names_is_refused_until_it_has_one(path, tmp_path):
    """The journal is found by name, so a crash under one name is not seen under the other."""
    ledger = Ledger(path)
    os.link(path, tmp_path / "other.db")
    for name in ("books.db", "other.db"):
        with pytest.raises(SpecError, match=rf"{name}' has 2 names \(hard links\).*: cp .*{name} .*{name}\.own"):
            Ledger(tmp_path / name)
    for use in (ledger.verify, ledger.statuses, lambda: ledger.account(DATASET)(asking(0.3))):
        with pytest.raises(SpecError, match="2 names"):
            use()
    shutil.copy(path, tmp_path / "books.db.own")
    assert Ledger(tmp_path / "books.db.own").status(DATASET).requests == 2
    (tmp_path / "other.db").unlink()
    assert ledger.verify().seq == 5


def test_a_missing_ledger_is_not_made(tmp_path):
    with pytest.raises(LedgerError, match=r"there is no ledger .* make a ledger with Ledger.create"):
        Ledger(tmp_path / "books.db")
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger(tmp_path / "books.db" / "deeper.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="Not a directory"):
        Ledger(tmp_path / "file" / "deeper.db")
    assert not (tmp_path / "books.db").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a ledger"),
        (b"income,age\n1,2\n" * 100, "the file is not a ledger"),
        (b"SQLite format 3\0" + b"\0" * 200, "ledger"),
    ],
)
def test_another_file_is_no_ledger(tmp_path, content, message):
    (tmp_path / "books.db").write_bytes(content)
    with pytest.raises(LedgerError, match=message):
        Ledger(tmp_path / "books.db")


def test_another_database_a_newer_and_an_older_one_are_refused(path, tmp_path):
    for number, (statement, message) in enumerate([
        ("PRAGMA application_id = 5", "database of another program"),
        ("PRAGMA user_version = 2", "made by a newer version"),
        ("PRAGMA user_version = 0", "its tables are not the tables of a ledger"),
        ("DROP TRIGGER events_update", "its tables are not the tables of a ledger"),
        ("CREATE TABLE more (x)", "its tables are not the tables of a ledger"),
        ("PRAGMA journal_mode = WAL", "journal mode"),
    ]):  # fmt: skip
        copy = tmp_path / f"{number}.db"
        shutil.copy(path, copy)
        raw(copy, statement)
        with pytest.raises(LedgerError, match=message):
            Ledger(copy)


def test_events_cannot_be_changed_or_removed_while_the_triggers_stand(path):
    for statement in (
        "UPDATE events SET body = '{}'", "DELETE FROM events", "UPDATE meta SET value = ''", "DELETE FROM meta",
        "INSERT INTO meta VALUES ('x', 'y')",
    ):  # fmt: skip
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            raw(path, statement)
    Ledger(path).verify()


TRIGGERS = ("events_update", "events_delete", "meta_update", "meta_delete", "meta_insert")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = replace(body, '100000000000', '1') WHERE seq = 2",
        "UPDATE events SET body = replace(body, '1.0', '9.0') WHERE seq = 1",
        "DELETE FROM events WHERE seq = 3",
        "DELETE FROM events WHERE seq = 1",
        "UPDATE events SET content = 'another release' WHERE seq = 3",
        "UPDATE meta SET value = '00' WHERE name = 'key'",
        "UPDATE meta SET value = 'not hexadecimal' WHERE name = 'key'",
        "UPDATE meta SET value = '00' WHERE name = 'id'",
        "DELETE FROM meta WHERE name = 'id'",
    ],
)
def test_an_edited_ledger_is_refused_on_opening(path, statement):
    kept = [sql for sql in module._SCHEMA if "TRIGGER" in sql]
    raw(path, *(f"DROP TRIGGER {name}" for name in TRIGGERS), statement, *kept)
    with pytest.raises(LedgerError, match="changed or damaged"):
        Ledger(path)


def test_the_last_event_removed_is_seen_by_whoever_has_it_open(path):
    ledger = Ledger(path)
    kept = [sql for sql in module._SCHEMA if "TRIGGER" in sql]
    raw(path, *(f"DROP TRIGGER {name}" for name in TRIGGERS), "DELETE FROM events WHERE seq = 5", *kept)
    with pytest.raises(LedgerError, match="event 5 was removed or changed while the ledger was in use"):
        ledger.status(DATASET)
    # a shorter chain is whole by itself
    assert Ledger(path).verify().seq == 4


def test_a_large_ledger_is_followed_only_where_it_is_asked_for(path, monkeypatch):
    kept = [sql for sql in module._SCHEMA if "TRIGGER" in sql]
    change = "UPDATE events SET time = 'x' WHERE seq = 2"
    raw(path, *(f"DROP TRIGGER {name}" for name in TRIGGERS), change, *kept)
    monkeypatch.setattr(module, "_SMALL_BYTES", 10)
    ledger = Ledger(path)
    assert ledger.status(DATASET).requests == 2
    with pytest.raises(LedgerError, match="at event 2"):
        ledger.verify()
    new = created(path.parent / "new.db")
    assert Storage(new.path).seen[0] == 0


def test_an_index_that_does_not_match_is_found_by_verify(path, monkeypatch):
    storage = Storage(path)
    real = EventLog.events

    class Connection(sqlite3.Connection):
        def execute(self, sql, *values):
            return super().execute("SELECT 'row 3 missing from index'" if "integrity_check" in sql else sql, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Connection))
    with pytest.raises(LedgerError, match="SQLite reports that the file is corrupt"):
        storage.check_whole()
    assert EventLog.events is real


def test_a_full_disk_is_refused_before_anything_is_reserved(path, monkeypatch):
    ledger = Ledger(path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**12, 10**12, 9_999_999))
    with pytest.raises(LedgerError, match="less than 10 MB is free"):
        ledger.account(DATASET)(asking(0.3))
    with pytest.raises(LedgerError, match="less than 10 MB is free"):
        ledger.account(DATASET).advise(asking(0.3))
    assert ledger.status(DATASET).requests == 2


def test_a_busy_ledger_is_given_up_after_a_while(path, monkeypatch):
    ledger = Ledger(path)
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerError, match="another program has been using it for too long"):
        ledger.status(DATASET)
    with pytest.raises(LedgerError, match="another program has been using it for too long"):
        Ledger(path)
    other.close()
    assert ledger.status(DATASET).requests == 2


def test_a_look_from_the_same_process_does_not_let_others_write(path):
    """A process that closes a file lets go of all its locks on it (POSIX), so the file is opened by SQLite alone."""
    storage = Storage(path)
    tried = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}, timeout=0, isolation_level=None); "
        "c.execute('BEGIN IMMEDIATE')"
    )
    with storage.writing():
        Ledger(path).status(DATASET)
        other = subprocess.run([sys.executable, "-c", tried], check=False, capture_output=True, text=True)
    assert "database is locked" in other.stderr
    assert subprocess.run([sys.executable, "-c", tried], check=False).returncode == 0


def test_a_database_that_may_not_grow_says_that_the_disk_is_full(path, monkeypatch):
    ledger = Ledger(path)
    real = module._connected

    def small(file):
        connection = real(file)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(module, "_connected", small)
    with pytest.raises(LedgerError, match="the disk is full"):
        ledger.account(DATASET)(asking(0.3)).commit("r" * 50_000)
    monkeypatch.undo()
    assert ledger.verify()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_ledger_can_be_read_and_refuses_a_spend(path):
    path.chmod(0o400)
    ledger = Ledger(path)
    assert ledger.status(DATASET).requests == 2
    with pytest.raises(LedgerError, match="is not writable"):
        ledger.account(DATASET)(asking(0.3))


def test_a_ledger_that_only_opens_for_reading_can_be_read_and_refuses_a_spend(path, monkeypatch):
    ledger = Ledger(path)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda name, **named: connect(name.replace("mode=rw", "mode=ro"), **named))
    assert ledger.status(DATASET).requests == 2
    with pytest.raises(LedgerError, match="is not writable"):
        ledger.account(DATASET)(asking(0.3))


def test_a_connection_that_cannot_be_set_up_is_closed(tmp_path):
    (tmp_path / "books.db").write_bytes(b"text of another kind " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        module._connected(tmp_path / "books.db")


@pytest.mark.parametrize("error", [sqlite3.ProgrammingError("cell 918273"), MemoryError(), OverflowError("918273")])
def test_a_failure_without_a_name_is_told_without_its_words(error):
    with pytest.raises(LedgerError, match="cannot be used") as caught, plain_words(Path("books.db")):
        raise error
    assert "918273" not in str(caught.value)


def test_other_failures_pass_as_they_are(tmp_path):
    with pytest.raises(KeyError), plain_words(tmp_path):
        raise KeyError("own")


def flipped(content: bytes, position: int, bit: int) -> bytes:
    changed = bytearray(content)
    changed[position] ^= 1 << bit
    return bytes(changed)


def outcome_of_a_flip(path: Path, content: bytes, position: int, bit: int, wanted: list[object]) -> str:
    """`refused`, `unused` if the ledger says the same as before, or `silent`."""
    path.write_bytes(flipped(content, position, bit))
    try:
        ledger = Ledger(path)
        ledger.verify()
        said = [ledger.status(DATASET).to_dict(), *(line.to_dict() for line in ledger.history())]
    except LedgerError:
        return "refused"
    return "unused" if said == wanted else "silent"


def flips(path: Path, how_many: int, seed: int) -> dict[str, int]:
    import random

    source, content = random.Random(seed), path.read_bytes()
    ledger = Ledger(path)
    wanted = [ledger.status(DATASET).to_dict(), *(line.to_dict() for line in ledger.history())]
    copy = path.with_name("copy.db")
    found = {"refused": 0, "unused": 0, "silent": 0}
    for _ in range(how_many):
        found[outcome_of_a_flip(copy, content, source.randrange(len(content)), source.randrange(8), wanted)] += 1
    return found


def test_no_flipped_bit_goes_unseen(path):
    found = flips(path, 60, seed=1)
    assert found["silent"] == 0
    assert found["refused"] > 5


@pytest.mark.slow
def test_no_flipped_bit_of_two_thousand_goes_unseen(path):
    found = flips(path, 2000, seed=2)
    print(f"bit flips: {found}")
    assert found["silent"] == 0


TABLES = {
    "meta": ("name", "value"),
    "events": ("time", "kind", "dataset", "request", "body", "content", "salt", "previous", "hash"),
}
WRONG = (None, b"\xff\x00", 5, "", "[]", "[" * 100_000)


def loosened(path: Path) -> list[str]:
    """Take a ledger's types, indices and triggers away; give the statements that put them back."""
    connection = sqlite3.connect(path, isolation_level=None)
    kept = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    for kind, name, _ in kept:
        if kind != "table":
            connection.execute(f"DROP {kind} {name}")
    connection.execute("PRAGMA writable_schema = ON")
    loose = "replace(replace(replace(sql, ' STRICT', ''), ' NOT NULL', ''), ' TEXT', '')"
    connection.execute(f"UPDATE sqlite_schema SET sql = {loose} WHERE type = 'table'")
    connection.close()
    tables = [f"UPDATE sqlite_schema SET sql = '{sql}' WHERE name = '{name}'" for _, name, sql in kept[:2]]
    return ["PRAGMA writable_schema = ON", *tables, *(sql for _, _, sql in kept[2:])]


def used(path: Path) -> str:
    """Everything that reads a ledger; gives the name of the error."""
    try:
        ledger = Ledger(path)
        ledger.statuses()
        ledger.history()
        again = ledger.account(DATASET, "one", refuse_shared_table=True)(asking(0.1))
        assert ledger.export("one") == again.stored
        ledger.account(DATASET, "two")(asking(0.2))
        ledger.verify()
    except (LedgerError, SpecError) as error:
        # not the error itself, which would keep the file open
        return type(error).__name__
    return ""


@pytest.mark.full
@pytest.mark.parametrize("small", [64_000_000, 10], ids=["followed", "too large to be followed"])
@pytest.mark.parametrize("table", TABLES)
def test_a_cell_of_any_other_type_is_refused_in_our_words(tmp_path, monkeypatch, table, small):
    """An event of each kind, and both the name and the key; a file that is too large is checked as it is used."""
    ledger = ledger_of(tmp_path)
    receipt = ledger.account(DATASET, "one")(asking(0.1))
    assert receipt.stage is not None
    assert receipt.commit is not None
    receipt.stage("guard", lambda: '{"counts":[1,2],"verdict":"go"}')
    receipt.commit("a release")
    whole, copy = tmp_path / "books.db", tmp_path / "copy.db"
    shutil.copy(whole, copy)
    assert used(copy) == ""
    tight = loosened(whole)
    content = whole.read_bytes()
    monkeypatch.setattr(module, "_SMALL_BYTES", small)
    for column, row in product(TABLES[table], range(1, 3 if table == "meta" else 5)):
        for value in WRONG:
            copy.write_bytes(content)
            connection = sqlite3.connect(copy, isolation_level=None)
            same = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = {row}").fetchone() == (value,)
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {row}", (value,))
            connection.close()
            raw(copy, *tight)
            found = used(copy)
            # a data set or a request by another name is not there; all else is damage
            missing = found == "SpecError" and column in ("dataset", "request", "kind")
            assert same or missing or found == "LedgerError", (column, row, value, found)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9, 0.99])
def test_a_truncated_ledger_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(LedgerError):
        Ledger(path).verify()


def test_every_event_has_a_salt_of_its_own(path):
    with Storage(path).reading() as log:
        salts = [event.salt for event in log.events()]
    assert len(set(salts)) == len(salts) == 5
    assert all(len(salt) == 32 and len(set(salt)) > 4 for salt in salts)


@pytest.mark.parametrize("name", ["a?mode=memory", "a#b", "a%20b", "a'b", "a\udc80b"])
def test_a_name_is_a_name_whatever_addresses_make_of_its_signs(tmp_path, name):
    Ledger.create(tmp_path / name).declare(DATASET, epsilon=1.0)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert Ledger(tmp_path / name).status(DATASET).requests == 0

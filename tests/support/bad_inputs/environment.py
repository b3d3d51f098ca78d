"""Numbers 83 to 98: ledger, output and the world around the program."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

import discreet
from support.bad_inputs.case import CHANGED, LEDGER, PEOPLE, Case, command, csv, options, released
from support.cli_folder import CANARY, ROWS


def changed_table(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(PEOPLE + ROWS[0])
    return [word for word in released() if word != CHANGED]


def ledger_of(content: bytes) -> object:
    def make(folder: Path) -> list[str]:
        (folder / LEDGER).write_bytes(content)
        return released()

    return make


def damaged(folder: Path) -> list[str]:
    whole = bytearray((folder / LEDGER).read_bytes())
    place = whole.index(b"people")
    whole[place : place + 6] = b"others"
    (folder / LEDGER).write_bytes(whole)
    return released()


def cut(folder: Path) -> list[str]:
    whole = (folder / LEDGER).read_bytes()
    (folder / LEDGER).write_bytes(whole[: len(whole) // 2])
    return released()


def other_database(folder: Path) -> list[str]:
    (folder / LEDGER).unlink()
    connection = sqlite3.connect(folder / LEDGER)
    connection.execute("create table people (x)")
    connection.commit()
    connection.close()
    return released()


def newer(folder: Path) -> list[str]:
    connection = sqlite3.connect(folder / LEDGER)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    return released()


def read_only(folder: Path) -> list[str]:
    (folder / LEDGER).chmod(0o400)
    return released()


def closed_folder(folder: Path) -> list[str]:
    (folder / "closed").mkdir(mode=0o500)
    return released("-o", "closed/out.json")


def open_mask(folder: Path) -> object:
    before = os.umask(0)
    try:
        discreet.Ledger.create(folder / "new.db")
    finally:
        os.umask(before)
    assert (folder / "new.db").stat().st_mode & 0o777 == 0o600
    (folder / "new.db").unlink()
    return None


CASES: Final = [
    Case(83, "budget too small", options(epsilon="7"), 3, "left"),
    Case(84, "data set not declared", options("--dataset", "others"), 2, "others"),
    Case(
        84,
        "declared twice",
        command("ledger", "init", LEDGER, "--dataset", "people", "--epsilon", "1"),
        2,
        "is already declared",
    ),
    Case(
        84, "ledger without a data set", command(*released()[:8], "--ledger", LEDGER, "-o", "out.json"), 2, "--dataset"
    ),
    Case(85, "table changed since the last release", changed_table, 2, "--accept-changed-data"),
    Case(86, "ledger missing", options("--ledger", "none.db"), 4, "there is no ledger"),
    Case(86, "ledger empty", ledger_of(b""), 4, "empty"),
    Case(86, "ledger of other bytes", ledger_of(CANARY.encode() * 99), 4, "not a ledger"),
    Case(86, "ledger damaged", damaged, 4, "changed or damaged"),
    Case(86, "ledger cut", cut, 4, "damaged"),
    Case(86, "another database", other_database, 4, "not a ledger"),
    Case(86, "newer ledger", newer, 4, "newer version"),
    Case(88, "ledger that cannot be written", read_only, 4, "permissions"),
    Case(89, "output exists", options("-o", "existing.json"), 2, "--force"),
    Case(89, "output is the ledger", options("-o", LEDGER, "--force"), 2, LEDGER),
    Case(89, "output is another ledger", options("-o", "other.db", "--force"), 2, "never replaced"),
    Case(89, "output is the data", options("-o", "people.csv", "--force"), 2, "is the same file as the input"),
    Case(90, "folder of the output missing", options("-o", "none/out.json"), 2, "does not exist"),
    Case(90, "folder that cannot be written", closed_folder, 2, "cannot create a file"),
    Case(90, "folder of the system", options("-o", "/proc/out.json"), 2, "cannot create a file"),
    Case(90, "output a folder", options("-o", ".", "--force"), 2, "folder"),
    Case(90, "name too long", options("-o", "n" * 300), 2, "too long"),
    Case(94, "two runs on one output", csv(PEOPLE, "--force", "-o", "existing.json"), 0, "Published"),
    Case(97, "umask 000", open_mask, 0, "", api=True),
]
NOT_APPLICABLE: Final = {
    87: "a locked ledger: tests/ledger/test_storage.py waits for it with a short limit",
    91: "a closed pipe: tests/cli/test_terminal.py and the run in a process of its own below",
    92: "signals before and after the spend: tests/cli/test_stopping.py and tests/ledger/test_faults.py",
    93: "memory that runs out: no fixed limit can be tested; tests/tables/files/test_memory.py measures the peak",
    95: "a wrong clock: the time of an event is written and never read back",
    96: "locale, hash seed and threads: the runs in processes of their own below",
    98: "python -O: the runs in processes of their own below",
}
ROOT_READS_ALL: Final = frozenset(("unreadable", "ledger that cannot be written", "folder that cannot be written"))

"""Rows that wait on disk: under keyed digests, in a folder that is gone however the work ends."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import discreet
from discreet.curator import buffered_rows as private_folder
from discreet.curator import individuals as persons
from discreet.curator.buffered_rows import PrivateFolder, remove_abandoned
from discreet.design.design import Design
from discreet.errors import DataError
from discreet.tables.source import ComputeOptions

PLAN = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 1})
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ENDING = [signal.SIGTERM, signal.SIGHUP]

# a release with ids that stops where it is told to, says so and waits; `early` runs before it
CHILD = """
import os, signal, sys, threading, time
for sent in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(sent, signal.default_int_handler if sent == signal.SIGINT else signal.SIG_DFL)
import discreet
from discreet.curator import buffered_rows as scratch
from discreet.curator.individuals import IndividualCap
from discreet.tables.source import ComputeOptions
scratch.IN_MEMORY_BYTES = 0
from discreet.privacy.spend import untracked
n = 100_000
table = {"person": [f"canary-{k:012d}" for k in range(n)], "x": [0.5] * n, "y": [0.25] * n}
plan = discreet.Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 1})
def wait(*_):
    print("ready", flush=True)
    # a signal between two lines must not wait until a long sleep is over
    for _ in range(600):
        time.sleep(0.1)
def release(progress=None, spend=untracked):
    compute = ComputeOptions(progress=progress)
    return discreet.release(table, plan, epsilon=1.0, delta=1e-6, compute=compute, spend=spend)
"""
READING = "release(progress=wait)\n"
SPENDING = "release(spend=wait)\n"
# the database sorts when the signal is sent
SORTING = (
    "keep = IndividualCap.keep\n"
    "def asked(*given):\n    print('ready', flush=True)\n    return keep(*given)\n"
    "IndividualCap.keep = asked\nwhile True: release()\n"
)


def child(code, folder):
    return subprocess.Popen(
        [sys.executable, "-c", CHILD + code],
        env={**os.environ, "TMPDIR": str(folder)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(code, folder, *signals):
    """Run until it is ready, send the signals, give its end and what it said."""
    with child(code, folder) as running:
        assert running.stdout.readline() == "ready\n", running.stderr.read()
        for sent in signals:
            running.send_signal(sent)
        return running.wait(timeout=60), running.stderr.read()


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.mark.full
@pytest.mark.parametrize("sent", ENDING)
@pytest.mark.parametrize("stage", [READING, SORTING, SPENDING])
def test_a_signal_ends_a_library_program_as_by_default_and_leaves_nothing(sent, stage, scratch):
    assert ended(stage, scratch, sent) == (-sent, "")
    assert list(scratch.iterdir()) == []


def test_two_signals_at_once_leave_nothing(scratch):
    code, said = ended(READING, scratch, signal.SIGTERM, signal.SIGHUP)
    assert code in (-signal.SIGTERM, -signal.SIGHUP)
    assert said == ""
    assert list(scratch.iterdir()) == []


def test_a_keyboard_interrupt_that_the_program_leaves_to_the_system_leaves_nothing(scratch):
    code = "signal.signal(signal.SIGINT, signal.SIG_DFL)\n" + READING
    assert ended(code, scratch, signal.SIGINT) == (-signal.SIGINT, "")
    assert list(scratch.iterdir()) == []


def test_a_signal_that_was_ignored_stays_ignored(scratch):
    code = (
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "def once(*_):\n"
        "    global seen\n"
        "    if not seen:\n        seen = True\n        print('ready', flush=True)\n        sys.stdin.readline()\n"
        "seen = False\nrelease(progress=once)\nassert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\nprint('done')\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", CHILD + code],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with running:
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGHUP)
        said, wrong = running.communicate("\n", timeout=60)
        assert (running.returncode, said, wrong) == (0, "done\n", "")
    assert list(scratch.iterdir()) == []


def test_what_a_killed_process_leaves_holds_no_id_and_goes_with_the_next_release(scratch):
    # a second program that lives on keeps its own folder
    with child(READING, scratch) as other:
        assert other.stdout.readline() == "ready\n"
        (living,) = scratch.iterdir()
        assert ended(SORTING, scratch, signal.SIGKILL)[0] == -signal.SIGKILL
        (left,) = set(scratch.iterdir()) - {living}
        assert left.stat().st_mode & 0o777 == 0o700
        stored = b"".join(path.read_bytes() for path in left.rglob("*") if path.is_file())
        assert len(stored) > 100_000 * 32
        assert b"canary" not in stored
        # any release, whether it has ids or not
        discreet.release({"x": [0.5], "y": [0.5]}, Design("y", {"x": (0, 1), "y": (0, 1)}), **BUDGET)
        assert list(scratch.iterdir()) == [living]
        other.kill()
    discreet.release({"person": ["a"], "x": [0.5], "y": [0.5]}, PLAN, **BUDGET)
    assert list(scratch.iterdir()) == []


@pytest.fixture
def nothing_in_memory(monkeypatch):
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)


def watched_bytes(scratch):
    """All that lies in the folder while a table of two ids is read and summed."""
    seen = []

    def watch(_share):
        seen.extend(path.read_bytes() for path in scratch.rglob("*") if path.is_file())

    table = {"person": ["canary-one", "canary-two"] * 100, "x": [0.5] * 200, "y": [0.5] * 200}
    discreet.release(table, PLAN, **BUDGET, compute=ComputeOptions(batch_rows=1, progress=watch))
    return b"".join(seen)


def test_ids_are_on_disk_as_digests_only(scratch, nothing_in_memory, monkeypatch):
    assert b"canary" not in watched_bytes(scratch)
    # negative control: where the ids themselves are stored, they are found
    plain = persons.person_digests

    def undigested(ids, keyed):
        stored = np.array([cell.encode().ljust(32) for cell in ids.to_pylist()], dtype="S32").view(np.uint64)
        stored = np.ascontiguousarray(stored.reshape(-1, 4).T)
        assert stored.shape == plain(ids, keyed).shape
        return stored

    monkeypatch.setattr(persons, "person_digests", undigested)
    # of every id the first eight bytes are in one number
    assert b"canary-o" in watched_bytes(scratch)


def test_the_key_is_another_for_every_table():
    with (
        persons.IndividualCap(PLAN, len(PLAN.released) - 1) as one,
        persons.IndividualCap(PLAN, len(PLAN.released) - 1) as other,
    ):
        assert one._keyed.copy().digest() != other._keyed.copy().digest()


def test_only_signals_that_nobody_handles_are_taken_and_they_are_given_back(scratch):
    before = [signal.getsignal(sent) for sent in ENDING]
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, print)
        with PrivateFolder():
            assert signal.getsignal(signal.SIGTERM) is private_folder._remove_and_end
            assert signal.getsignal(signal.SIGHUP) is print
            # a folder inside the life of another takes nothing and gives nothing back
            with PrivateFolder():
                pass
            assert signal.getsignal(signal.SIGTERM) is private_folder._remove_and_end
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        with PrivateFolder():
            signal.signal(signal.SIGTERM, print)
        assert signal.getsignal(signal.SIGTERM) is print
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        taken = []
        worker = threading.Thread(target=lambda: taken.append(PrivateFolder()))
        worker.start()
        worker.join()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        taken[0].close()
        # closed by a thread that may not touch signals
        folder = PrivateFolder()
        worker = threading.Thread(target=folder.close)
        worker.start()
        worker.join()
        assert not folder.files.exists()
        assert signal.getsignal(signal.SIGTERM) is private_folder._remove_and_end
    finally:
        for sent, handler in zip(ENDING, before, strict=True):
            signal.signal(sent, handler)
    assert list(scratch.iterdir()) == []


def test_the_handler_removes_and_then_does_what_the_signal_does(scratch, monkeypatch):
    raised = []
    monkeypatch.setattr(private_folder.signal, "raise_signal", lambda number: raised.append(number))
    before = signal.getsignal(signal.SIGTERM)
    try:
        folder = PrivateFolder()
        private_folder._remove_and_end(signal.SIGTERM, None)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        assert raised == [signal.SIGTERM]
        assert list(scratch.iterdir()) == []
        folder.close()
        folder.close()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_fork_leaves_the_folder_of_its_parent(scratch, monkeypatch):
    with PrivateFolder() as folder:
        parent = os.getpid()
        monkeypatch.setattr(private_folder.os, "getpid", lambda: parent + 1)
        private_folder._remove_all()
        assert folder.files.exists()
        monkeypatch.undo()
        # what the fork forgot the parent still knows in its own memory
        private_folder._live[folder._path] = parent
    assert not folder.files.exists()


def abandoned(scratch, name="discreet-rows-0123456789abcdef", lock=True):
    folder = scratch / name
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "rows.duckdb").write_bytes(b"rows")
    if lock:
        (folder / "lock").touch()
    return folder


def test_only_folders_of_dead_processes_of_this_user_are_removed(scratch, monkeypatch):
    dead = abandoned(scratch)
    # not known to be abandoned: no lock yet, another name, a file, a link
    abandoned(scratch, f"discreet-rows-{1:016x}", lock=False)
    abandoned(scratch, "discreet-other")
    abandoned(scratch, "discreet-rows-mine")
    (scratch / f"discreet-rows-{2:016x}").touch()
    elsewhere = abandoned(scratch, "elsewhere")
    (scratch / f"discreet-rows-{3:016x}").symlink_to(elsewhere)
    stay = sorted(set(scratch.iterdir()) - {dead})
    with PrivateFolder() as living:
        with monkeypatch.context() as other:
            other.setattr(private_folder.os, "getuid", lambda: os.stat(scratch).st_uid + 1)
            remove_abandoned()
        assert dead.exists()
        remove_abandoned()
        assert living.files.exists()
        assert sorted(set(scratch.iterdir()) - {living._path}) == stay
    assert (elsewhere / "files" / "rows.duckdb").read_bytes() == b"rows"


def test_a_removal_that_was_cut_short_is_taken_up_again(scratch, monkeypatch):
    dead = abandoned(scratch)
    gone = private_folder.shutil.rmtree

    def interrupted(path, **options):
        gone(path, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(private_folder.shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        remove_abandoned()
    assert sorted(path.name for path in dead.iterdir()) == ["lock"]
    monkeypatch.undo()
    monkeypatch.setenv("TMPDIR", str(scratch))
    remove_abandoned()
    assert list(scratch.iterdir()) == []


def test_an_interrupted_close_is_made_up_for_at_the_end_of_the_program(scratch, monkeypatch):
    folder = PrivateFolder()
    with monkeypatch.context() as broken:
        broken.setattr(private_folder.shutil, "rmtree", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            folder.close()
    assert folder.files.exists()
    private_folder._remove_all()
    assert list(scratch.iterdir()) == []


def test_a_folder_named_from_here_is_removed_from_elsewhere(scratch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", scratch.name)
    folder = PrivateFolder()
    assert len(list(scratch.iterdir())) == 1
    monkeypatch.chdir("/")
    folder.close()
    assert list(scratch.iterdir()) == []


def test_a_folder_for_temporary_files_that_cannot_be_used_stops_no_release_in_one_pass(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    asked = {"x": [0.5], "y": [0.5]}, Design("y", {"x": (0, 1), "y": (0, 1)})
    discreet.release(*asked, **BUDGET, mechanism="gaussian")
    # several passes need the folder for the rows of a large table, so it is checked for every table
    with pytest.raises(DataError, match="TMPDIR"):
        discreet.release(*asked, **BUDGET)
    with pytest.raises(DataError, match="TMPDIR"):
        PrivateFolder()


def test_without_locks_folders_are_made_and_none_is_taken_for_abandoned(scratch, monkeypatch):
    dead = abandoned(scratch)

    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    with monkeypatch.context() as broken:
        broken.setattr(fcntl, "flock", unsupported)
        with PrivateFolder() as folder:
            remove_abandoned()
            assert folder.files.exists()
    with monkeypatch.context() as other:
        # as on Windows
        other.setitem(sys.modules, "fcntl", None)
        with PrivateFolder() as folder:
            remove_abandoned()
            assert folder.files.exists()
        assert not folder.files.exists()
    assert list(scratch.iterdir()) == [dead]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_folder_that_cannot_be_made_leaves_nothing(error, scratch, monkeypatch):
    def failing(_path):
        raise error

    monkeypatch.setattr(private_folder, "_locked", failing)
    kind = DataError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(kind) as caught:
        PrivateFolder()
    assert kind is KeyboardInterrupt or "could not be stored on disk (No space left on device)" in str(caught.value)
    assert list(scratch.iterdir()) == []

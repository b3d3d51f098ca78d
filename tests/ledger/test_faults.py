"""Against a real process: never two releases for one spend, never one without a spend, never a lost committed one."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.ledger.event_log import STEPS
from discreet.ledger.ledger import Ledger
from discreet.releases import Release
from support.child_releases import Children, Job

DESIGN = 'target = "y"\n[columns.y]\nbounds = [0, 10]\n[columns.x]\nbounds = [0, 5]\n'
TABLE = "x,y\n" + "".join(f"{i % 5},{i % 10}\n" for i in range(100))
KILL, INT, TERM = int(signal.SIGKILL), int(signal.SIGINT), int(signal.SIGTERM)
CODES = {KILL: -KILL, INT: 128 + INT, TERM: 128 + TERM}
# a release without a stage does not pass these
STAGE_STEPS = ("staging", "staged")
PLAIN_STEPS = tuple(step for step in STEPS if step not in STAGE_STEPS)


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    started = Children()
    yield started
    started.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def prepared(folder: Path, epsilon: float = 1.0) -> Path:
    (folder / "design.toml").write_text(DESIGN)
    (folder / "table.csv").write_text(TABLE)
    Ledger.create(folder / "books.db").declare("people", epsilon=epsilon)
    return folder


def words(output: str, epsilon: str = "0.25", *more: str) -> tuple[str, ...]:
    return (
        "release", "table.csv", "--design", "design.toml", "--epsilon", epsilon, "-o", output, "--ledger", "books.db",
        "--dataset", "people", *more,
    )  # fmt: skip


def job(folder: Path, output: str = "out.json", *, step: str = "", number: int = 0, after: float = 0.0) -> Job:
    return Job(words(output, "0.25", "--force"), str(folder), step, number, after)


def check_one_release_for_one_spend(children: Children, folder: Path) -> None:
    """Whatever happened, the same command now gives one release, twice the same, for one spend."""
    seen = (folder / "out.json").read_bytes() if (folder / "out.json").exists() else None
    assert children.run(job(folder, "retry.json")) == [0]
    assert children.run(job(folder, "again.json")) == [0]
    released = (folder / "retry.json").read_bytes()
    assert (folder / "again.json").read_bytes() == released
    assert seen in (None, released), "two different releases for one spend"
    ledger = Ledger(folder / "books.db")
    status = ledger.status("people")
    assert (status.requests, status.waiting, status.spent_epsilon) == (1, (), 0.25)
    ledger.verify(Release.load(folder / "retry.json"))
    assert not list(folder.glob("*journal*"))


def end_at(children: Children, folder: Path, step: str, number: int) -> None:
    code = children.run(job(folder, step=step, number=number))[0]
    assert code == CODES[number]
    requests = Ledger(folder / "books.db").status("people").requests
    assert requests == (0 if STEPS.index(step) <= STEPS.index("reserving") else 1)
    assert (folder / "out.json").exists() == (step == "written")
    check_one_release_for_one_spend(children, folder)


@pytest.mark.parametrize("step", PLAIN_STEPS)
def test_a_process_that_is_killed_at_any_step_leaves_one_release_for_one_spend(children, folder, step):
    end_at(children, folder, step, KILL)


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("reserving", INT), ("reserving", TERM), ("committing", INT), ("committing", TERM), ("drawn", INT),
        ("committed", TERM),
    ],
)  # fmt: skip
def test_a_process_that_is_interrupted_leaves_one_release_for_one_spend(children, folder, step, number):
    end_at(children, folder, step, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", [INT, TERM])
@pytest.mark.parametrize("step", PLAIN_STEPS)
def test_a_process_that_is_interrupted_at_any_step_leaves_one_release_for_one_spend(children, folder, step, number):
    end_at(children, folder, step, number)


# Of 60,000 rows all fit or none does. With epsilon 0.25 the scale of the noise is 400 rows for a guard and 160 rows for
# a search. The noise of 41 cells adds up to a quarter of all rows with a probability below 1e-16, so another verdict is
# less likely than 1e-15.
MANY = 60_000
STAGED = {
    "guard": ('missing = "drop"\nbounds = [0, 5]', ("--guard",)),
    "discovery": ('bounds = "private"', ()),
}


@pytest.mark.parametrize("step", STAGE_STEPS)
@pytest.mark.parametrize(("stage", "verdict"), [("guard", "go"), ("guard", "stop"), ("discovery", "go")])
def test_a_process_that_is_killed_around_a_stage_leaves_one_verdict_for_one_spend(
    children, folder, step, stage, verdict
):
    column, options = STAGED[stage]
    (folder / "design.toml").write_text(DESIGN.replace("[columns.x]\nbounds = [0, 5]", f"[columns.x]\n{column}"))
    cell = "" if verdict == "stop" else "3"
    (folder / "table.csv").write_text("x,y\n" + f"{cell},5\n" * MANY)
    asked = words("out.json", "0.25", "--force", *options)
    assert children.run(Job(asked, str(folder), step, KILL)) == [-KILL]
    ledger = Ledger(folder / "books.db")
    committed = stage_texts(ledger)
    assert len(committed) == (step == "staged")
    assert ledger.status("people").spent_epsilon == 0.25
    codes = [children.run(Job(asked, str(folder)))[0] for _ in range(2)]
    assert codes == ([5, 5] if verdict == "stop" else [0, 0])
    texts = stage_texts(ledger)
    assert texts[: len(committed)] == committed
    (text,) = texts
    assert json.loads(text)["verdict"] == verdict
    status = ledger.status("people")
    assert (status.requests, status.waiting) == (1, ())
    assert status.spent_epsilon == (pytest.approx(0.0025, rel=0.1) if verdict == "stop" else 0.25)
    ledger.verify(None if verdict == "stop" else Release.load(folder / "out.json"))
    if stage == "guard" and verdict == "go":
        guard = Release.load(folder / "out.json").guard
        assert json.loads(text)["counts"] == [guard.fitting, guard.other]


def stage_texts(ledger: Ledger) -> list[str]:
    with ledger._storage.reading() as log:
        return [str(event.content) for event in log.events("kind = 'stage'")]


def race(children: Children, folder: Path, processes: int, *, same: bool) -> Counter[int]:
    """Processes at once, each with 0.1 of a budget of 1; under one request id or each under its own."""
    prepared(folder)
    jobs = [
        Job(words(f"{index}.json", "0.1", "--request-id", "one" if same else f"r{index}"), str(folder))
        for index in range(processes)
    ]
    codes = Counter(children.run(*jobs))
    ledger = Ledger(folder / "books.db")
    ledger.verify()
    status = ledger.status("people")
    made = [path for index in range(processes) if (path := folder / f"{index}.json").exists()]
    assert len(made) == codes[0]
    assert status.requests == (1 if same else codes[0])
    assert status.waiting == ()
    for path in made:
        ledger.verify(Release.load(path))
    assert len({path.read_bytes() for path in made}) == (1 if same else codes[0])
    return codes


def test_twenty_processes_share_a_budget(children, tmp_path):
    assert race(children, tmp_path, 20, same=False) == {0: 10, 3: 10}


def test_processes_with_one_request_id_have_one_release(children, tmp_path):
    assert race(children, tmp_path, 6, same=True) == {0: 6}


@pytest.mark.slow
def test_ten_rounds_of_fifty_processes(children, tmp_path):
    total: Counter[int] = Counter()
    for round_number in range(10):
        (tmp_path / str(round_number)).mkdir()
        codes = race(children, tmp_path / str(round_number), 50, same=False)
        assert codes == {0: 10, 3: 40}
        total += codes
    (tmp_path / "same").mkdir()
    assert race(children, tmp_path / "same", 30, same=True) == {0: 30}
    print(f"10 rounds of 50 processes by exit code: {dict(total)}; 30 of one request: one release")


@pytest.mark.slow
def test_two_hundred_kills_at_any_time(children, tmp_path):
    source, codes, shown = random.Random(5), Counter[int](), 0
    (tmp_path / "timed").mkdir()
    prepared(tmp_path / "timed")
    for _ in range(2):
        begun = time.monotonic()
        assert children.run(job(tmp_path / "timed", "out.json")) == [0]
        longest = time.monotonic() - begun
    number = 0
    while codes[-KILL] < 200:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        code = children.run(job(prepared(folder), number=KILL, after=source.uniform(0.001, longest * 1.1)))[0]
        codes[code] += 1
        shown += (folder / "out.json").exists()
        check_one_release_for_one_spend(children, folder)
        shutil.rmtree(folder)
    print(
        f"{number} runs killed at any time up to {longest:.2f} s: exit codes {dict(codes)}, {shown} had written a file"
    )


def test_an_output_folder_that_vanishes_costs_nothing_more(children, folder):
    (folder / "results").mkdir()
    gone = Job(words("results/out.json"), str(folder), "reserved", KILL)
    assert children.run(gone) == [-KILL]
    shutil.rmtree(folder / "results")
    assert children.run(Job(words("results/out.json"), str(folder))) == [2]
    check_one_release_for_one_spend(children, folder)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting needs the superuser")
@pytest.mark.slow
def test_a_full_disk_loses_nothing(children, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=11m", "none", disk], check=False, capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        prepared(disk)
        codes = []
        for step in ("summed", "reserved", "drawn", "writing"):
            named = words(f"{step}.json", "0.1", "--request-id", step)
            (code,) = children.run(Job(named, str(disk), step=step, fill=True))
            codes.append((step, code))
            before = Ledger(disk / "books.db").status("people").requests
            # a disk that is full from the start is refused before anything is reserved
            assert children.run(Job(words("full.json", "0.1", "--request-id", "full"), str(disk)))[0] in (2, 4)
            assert Ledger(disk / "books.db").status("people").requests == before
            (disk / "filler").unlink()
            assert children.run(Job((*named, "--force"), str(disk))) == [0]
        print(f"disk full from a step on: {codes}; each finished when there was room")
        assert [code for _, code in codes] == [4, 5, 5, 5]
        ledger = Ledger(disk / "books.db")
        assert ledger.status("people").requests == 4
        for step, _ in codes:
            ledger.verify(Release.load(disk / f"{step}.json"))
    finally:
        subprocess.run(["umount", disk], check=True)

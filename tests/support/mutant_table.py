"""Try every mistake, and count false alarms; `python -m support.mutant_table` writes what the documentation shows."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context

import pytest

import discreet
from discreet.audit import audited_mechanisms as mechanisms
from discreet.audit.auditing import Task, subject_of
from discreet.audit.judging import judged
from support.mutants import ROOT
from support.production_mutants import MUTANTS

TABLE = ROOT / "docs" / "reference" / "mutants.json"
ENTRIES = ("gaussian", "laplace")
RUNS = 300
LEVEL = 0.01


def false_alarms(name: str, runs: int = RUNS) -> int:
    """How many of so many runs of an entry at a level of 1% find something, each with new draws.

    Bounds and tests of distributions; exact losses have no chance in them. Few draws take the whole path, which is
    slow.
    """
    alarms = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "WHOLE_DRAWS", 20)
        for _ in range(runs):
            subject = subject_of(Task(name, 1.0, 2000, LEVEL))
            drawn = subject.draws(0, 2000), subject.draws(1, 2000)
            checks = subject.checks(drawn, LEVEL / 2)
            alarms += judged(*drawn, subject.claim, LEVEL / 2).refuted or not all(check.passed for check in checks)
    return alarms


def tried(name: str) -> dict[str, object]:
    """What the judge of a mistake finds with it, and whether it passes the program as it is."""
    mutant = MUTANTS[name]
    start = time.process_time()
    with pytest.MonkeyPatch.context() as patch:
        mutant.apply(patch)
        found = list(mutant.judge.findings())
    return {
        "kind": mutant.kind,
        "where": mutant.where,
        "judge": mutant.judge.kind,
        "on": mutant.judge.name,
        "found": said(found[0], mutant.judge.kind) if found else "",
        "caught": bool(found),
        "seconds": round(time.process_time() - start, 1),
    }


def said(sentence: str, judge: str) -> str:
    """What was found, without the figures that are new in each run.

    >>> said("the exact mu of 'second corner row' is 0.5, claimed 0.2", "audit")
    "the exact mu of 'second corner row'"
    >>> said("what is published is no function of the noisy sums", "lockstep")
    'what is published is no function of the noisy sums'
    """
    exact = judge == "audit" and sentence.startswith("the exact")
    return sentence.partition(" is " if exact else ": ")[0]


def stamp() -> dict[str, object]:
    """When the figures were made, with what, and on what."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": discreet.__version__,
        "commit": commit,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def passes(name: str) -> bool:
    """Whether the judge of a mistake passes the program as it is."""
    return not MUTANTS[name].judge.findings()


def main() -> None:
    one_each = {(one.judge.kind, one.judge.name): name for name, one in MUTANTS.items()}
    # a new process each, so that no two share the state of a generator
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found, passed = pool.map(tried, MUTANTS), pool.map(passes, one_each.values())
        counted = pool.map(false_alarms, ENTRIES)
        table, right = list(found), dict(zip(one_each, passed, strict=True))
        alarms = dict(zip(ENTRIES, counted, strict=True))
    rows = [{**one, "passes_without": right[one["judge"], one["on"]]} for one in table]
    shown = {name: {"runs": RUNS, "level": LEVEL, "alarms": count} for name, count in alarms.items()}
    document = {"run": stamp(), "mutants": rows, "false_alarms": shown}
    TABLE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    caught = sum(bool(one["caught"] and one["passes_without"]) for one in rows)
    print(f"{caught} of {len(rows)} mistakes are seen by a judge that passes the program as it is")
    for name, count in alarms.items():
        print(f"false alarms of {name}: {count} of {RUNS} runs at {LEVEL:.0%}")


if __name__ == "__main__":
    main()

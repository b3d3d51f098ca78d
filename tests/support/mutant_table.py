"""Try every mistake, and count false alarms; `python -m support.mutant_table` writes what the documentation shows."""

from __future__ import annotations

import json
import time

import pytest

from discreet.audit.running import Task, subject_of
from discreet.audit.statistics.judging import judged
from discreet.audit.subjects import mechanisms
from support.mutants import ROOT
from support.production_mutants import MUTANTS, ProductionMutant

TABLE = ROOT / "docs" / "reference" / "mutants.json"
ENTRIES = ("gaussian", "laplace")
RUNS = 300
LEVEL = 0.01


def false_alarms(name: str, runs: int = RUNS) -> int:
    """How many of so many runs of an entry at a level of 1% find something, each with new draws.

    Bounds and tests of laws; exact losses have no chance in them. Few draws take the whole path, which is slow.
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


def tried(mutant: ProductionMutant) -> dict[str, object]:
    """What the judge of a mistake finds with it and without it."""
    start = time.process_time()
    with pytest.MonkeyPatch.context() as patch:
        mutant.apply(patch)
        found = list(mutant.judge.findings())
    seconds = time.process_time() - start
    return {
        "kind": mutant.kind,
        "where": mutant.where,
        "judge": mutant.judge.kind,
        "on": mutant.judge.name,
        "found": found[0].split(":")[0].split(" is ")[0] if found else "",
        "caught": bool(found),
        "passes_without": not mutant.judge.findings(),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    table = [tried(mutant) for mutant in MUTANTS.values()]
    alarms = {name: {"runs": RUNS, "level": LEVEL, "alarms": false_alarms(name)} for name in ENTRIES}
    TABLE.write_text(json.dumps({"mutants": table, "false_alarms": alarms}, indent=1) + "\n", encoding="utf-8")
    caught = sum(bool(one["caught"]) and bool(one["passes_without"]) for one in table)
    print(f"{caught} of {len(table)} mistakes are seen by a judge that passes the program as it is")
    for name, found in alarms.items():
        print(f"false alarms of {name}: {found['alarms']} of {RUNS} runs at {LEVEL:.0%}")


if __name__ == "__main__":
    main()

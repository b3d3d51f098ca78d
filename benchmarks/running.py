"""Run the cases in order on tables in a temporary folder, and collect the results."""

from __future__ import annotations

import compileall
import datetime
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.cases import Case, TableFile, job
from benchmarks.catalogue import PROFILES, WORKERS, cases, tables
from benchmarks.measuring import ROOT, Machine, Spread, launched, measured

Note = Callable[[str], None]


class Files:
    """Tables of a run, written when a case first needs them and deleted after the last case that does."""

    def __init__(self, folder: Path, known: Mapping[str, TableFile]) -> None:
        self._folder = folder
        self._known = known

    def path(self, name: str) -> Path:
        """Return the path of a table, whether or not it exists yet."""
        return self._folder / f"{name}{self._known[name].suffix}"

    def make(self, names: Sequence[str]) -> dict[str, str]:
        """Write the tables if necessary, and return their paths by name."""
        paths = {name: str(self.path(name)) for name in names} | {"out": str(self._folder / "release.json")}
        # a table that another one is copied from comes first
        for name in sorted(names, key=lambda one: "one" in self._known[one].given):
            if not self.path(name).exists():
                table = self._known[name]
                given = {key: re.sub(r"^\{(\w+)\}$", self._place, str(value)) if isinstance(value, str) else value
                         for key, value in table.given.items()}  # fmt: skip
                run = launched([sys.executable, *job(table.job, path=paths[name], **given)], limit=600)
                if run.code:
                    raise RuntimeError(f"failed to write the table {name}: {run.err.strip()}")
        return paths

    def drop(self, names: Sequence[str]) -> None:
        """Delete tables."""
        for path in map(self.path, names):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _place(self, found: re.Match[str]) -> str:
        return str(self.path(found[1]))


def chosen(every: Sequence[Case], only: Sequence[str]) -> list[Case]:
    """Return the cases whose names begin with one of the given prefixes, or all if there are none."""
    found = [case for case in every if not only or any(case.name.startswith(word) for word in only)]
    if not found:
        raise ValueError(f"unknown case {', '.join(only)}; choose from {', '.join(case.name for case in every)}")
    return found


def run(profile: str, *, repeats: int | None, only: Sequence[str], note: Note) -> dict[str, Any]:
    """Measure the cases of a profile."""
    sizes = PROFILES[profile]
    features = results.features()
    wanted = chosen(cases(sizes, workers=WORKERS in features), only)
    known = results.environment()
    begun, entries = time.perf_counter(), []
    # compile the bytecode first, as it is for installed packages and so for every baseline
    compileall.compile_dir(ROOT / "src", quiet=1)
    for name, packages in known["versions"].items():
        note(f"{name}: {', '.join(f'{key} {value}' for key, value in packages.items()) or 'not installed'}\n")
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as place:
        files = Files(Path(place), tables(sizes))
        for index, case in enumerate(wanted):
            start = time.perf_counter()
            note(f"{case.name:<14} ")
            paths = files.make(case.tables)
            machine = Machine()
            times = min(repeats or sizes.repeats, case.most or sys.maxsize)
            found = measured(case.subjects, paths, repeats=times, features=features, note=note)
            entries.append(results.entry(case, found, machine.others(), full=profile == "full"))
            later = {name for other in wanted[index + 1 :] for name in other.tables}
            files.drop([name for name in case.tables if name not in later])
            note(f" {time.perf_counter() - start:.0f} s\n")
            for line in lines(entries[-1]):
                note(f"    {line}\n")
    return {
        "schema": results.SCHEMA,
        "profile": profile,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(time.perf_counter() - begun),
        "repeats": repeats or sizes.repeats,
        "environment": known,
        "cases": entries,
    }


def lines(entry: Mapping[str, Any]) -> list[str]:
    """Describe a case: its figures, and gaps with their reasons."""
    found = []
    for one in entry["figures"]:
        if one["gap"] is not None:
            found.append(f"{one['label']}: gap ({one['gap']})")
            continue
        spread = Spread.of(one["values"])
        wanted = "" if one["wanted"] is None else f"; wanted {'>=' if one['least'] else '<='} {one['wanted']:g}"
        met = {True: ", met", False: ", NOT MET", None: ""}[one["met"]]
        found.append(f"{one['label']}: {spread.median:.3g} ({spread.low:.3g} to {spread.high:.3g}){wanted}{met}")
    return found


def failures(run: Mapping[str, Any]) -> list[str]:
    """Return the subjects of this library that failed. A missing baseline is not a failure."""
    return [
        f"{case['name']}, {one['label']}: {one['gap']}"
        for case in run["cases"]
        for one in case["measurements"]
        if one["failed"]
    ]

"""Run: python -m benchmarks [run | check | page | list]. `make bench` and `make bench-check` call it.

run     measure, store the run in benchmarks/results, and write the pages and plots
check   measure the quick profile and compare its ratios with the stored run; exit code 1 on a regression
page    write the pages and plots from the stored run
list    print the names of the cases
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

from benchmarks import comparison, results, running
from benchmarks.catalogue import PROFILES, cases


def note(text: str) -> None:
    """Print the progress of a run."""
    print(text, end="", flush=True)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", default="run", choices=("run", "check", "page", "list"))
    parser.add_argument("--profile", choices=tuple(PROFILES), help="profile of sizes (default: full, for check: quick)")
    parser.add_argument("--repeats", type=int, help="repeats of each subject (default: set by the profile)")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="CASE", help="measure the cases whose names begin with CASE"
    )
    parser.add_argument("--results", type=Path, metavar="FILE", help="run: file to write; check and page: run to read")
    asked = parser.parse_args()
    if asked.repeats is not None and asked.repeats < 1:
        parser.error(f"--repeats: expected an integer of at least 1, got {asked.repeats}")
    return asked


def main() -> int:
    """Run the requested action and return the exit code."""
    asked = arguments()
    if asked.what == "list":
        print("\n".join(f"{case.name:<16} {case.title}" for case in cases(PROFILES[asked.profile or "full"])))
        return 0
    if asked.what == "page":
        return write_pages(asked.results)
    if asked.what == "check":
        return check(asked)
    profile = asked.profile or "full"
    run = running.run(profile, repeats=asked.repeats, only=asked.only, note=note)
    if asked.only and asked.results is None:
        print("only some cases were measured, so the run is not stored; pass --results FILE to store it")
    else:
        results.save(run, asked.results or results.FOLDER / f"{profile}.json")
    if not asked.only and asked.results is None:
        write_pages(None)
    return failed(run)


def check(asked: argparse.Namespace) -> int:
    """Compare a new run with the stored one."""
    if asked.results is None:
        run = running.run(asked.profile or "quick", repeats=asked.repeats, only=asked.only, note=note)
    else:
        run = results.load(asked.results)
    stored = results.stored(str(run["profile"]))
    worse = comparison.regressions(run, results.load(stored))
    print(f"compared with {stored.name}: {len(worse)} ratios are worse")
    for line in worse:
        print(f"  {line}")
    return 1 if worse else failed(run)


def failed(run: dict[str, Any]) -> int:
    """Print the subjects of this library that failed, and return the exit code."""
    found = running.failures(run)
    for line in found:
        print(f"FAILED {line}", file=sys.stderr)
    return 1 if found else 0


def write_pages(path: Path | None) -> int:
    """Write pages and plots from a run."""
    from benchmarks import page, plots

    run = results.load(path or results.stored())
    page.write(run)
    for name in plots.write(run):
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)

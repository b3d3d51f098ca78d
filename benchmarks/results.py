"""A run as it is kept: measurements, figures, versions and the machine, as JSON without a path."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, Figure
from benchmarks.measuring import ROOT, Measurement, Spread, Unavailable, interpreter, launched, paired

FOLDER = Path(__file__).parent / "results"
SCHEMA = 1
QUIET = 0.1  # cores that others use: from there on wall times are not judged
PACKAGES = {
    ".venv": ("discreet", "numpy", "pyarrow", "opendp", "scipy", "scikit-learn", "statsmodels", "pandas", "duckdb",
              "polars", "cvxpy"),
    ".venv-diffprivlib": ("diffprivlib", "scikit-learn", "numpy"),
    ".venv-spark": ("pyspark",),
}  # fmt: skip
_VERSIONS = (
    "import json, sys; from importlib import metadata\n"
    "print(json.dumps({name: metadata.version(name) for name in sys.argv[1:]}))"
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure of one run: its spread, or why there is none, and whether it is what was wanted.

    Attributes
    ----------
    met
        None where nothing is wanted, or where it cannot be judged here.
    """

    figure: Figure
    values: tuple[float, ...]
    gap: str | None
    wanted: float | None
    met: bool | None

    @property
    def spread(self) -> Spread | None:
        """Median and ends of the repeats."""
        return Spread.of(self.values) if self.values else None


def judged(figure: Figure, found: Mapping[str, Measurement], others: float | None, *, full: bool) -> Judged:
    """Read a figure off the measurements of its case.

    Parameters
    ----------
    figure, found
        What is read, and measurements by name.
    others
        Cores that others used meanwhile.
    full
        Whether the sizes are those for which something is wanted.
    """
    names = [figure.top, *([figure.bottom] if figure.bottom else [])]
    gaps = [f"{found[name].label}: {found[name].gap}" for name in names if found[name].gap is not None]
    busy = others is None or others >= QUIET
    limit = figure.busy_limit if busy and figure.busy_limit is not None else figure.limit
    if gaps:
        return Judged(figure, (), "; ".join(gaps), limit, None)
    top = found[figure.top].values(figure.of)
    if figure.bottom is None:
        values = [value / (2**20 if figure.of == "memory" else 1.0) for value in top]
    else:
        values = paired(top, found[figure.bottom].values(figure.of))
    median = Spread.of(values).median
    fit_to_judge = full and limit is not None and not (figure.of == "wall" and busy and figure.busy_limit is None)
    met = (median >= limit if figure.least else median <= limit) if fit_to_judge and limit is not None else None
    return Judged(figure, tuple(values), None, limit, met)


def entry(case: Case, found: Sequence[Measurement], others: float | None, *, full: bool) -> dict[str, Any]:
    """One case as it is kept."""
    by_name = {one.name: one for one in found}
    return {
        "name": case.name,
        "title": case.title,
        "others": None if others is None else round(others, 3),
        "measurements": [_rounded(asdict(one)) for one in found],
        "figures": [
            {
                **{key: value for key, value in asdict(one.figure).items() if key not in ("limit", "busy_limit")},
                "values": [float(f"{value:.4g}") for value in one.values],
                "gap": one.gap,
                "wanted": one.wanted,
                "met": one.met,
            }
            for one in (judged(figure, by_name, others, full=full) for figure in case.figures)
        ],
    }


def _rounded(measurement: dict[str, Any]) -> dict[str, Any]:
    """Seconds to microseconds, memory to bytes."""
    for what in ("cpu", "wall"):
        measurement[what] = [round(value, 6) for value in measurement[what]]
    return measurement


def environment() -> dict[str, Any]:
    """What the figures depend on beside the code."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": cores(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "commit": commit(),
        "versions": versions(),
    }


def versions() -> dict[str, dict[str, str]]:
    """Versions of the product and its rivals, by environment; an environment that is not there has none."""
    found: dict[str, dict[str, str]] = {}
    for name, packages in PACKAGES.items():
        try:
            run = launched([interpreter(name), "-c", _VERSIONS, *packages])
        except Unavailable:
            found[name] = {}
            continue
        found[name] = json.loads(run.out) if not run.code else {}
    return found


def commit() -> str:
    """The commit that was measured, marked if files differ from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        state = subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + (" with changes" if state.stdout.strip() else "")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def features() -> frozenset[str]:
    """What some subjects need: options of `discreet release`, and numbers of cores."""
    run = launched([sys.executable, "-m", "discreet", "release", "--help"])
    if run.code:
        raise RuntimeError(run.err)
    return frozenset(re.findall(r"--[a-z-]+", run.out)) | {f"{count} cores" for count in range(2, cores() + 1)}


def stored(profile: str | None = None) -> Path:
    """The stored run of a profile; without one the full run, or the quick one while there is no full one."""
    names = ("full", "quick") if profile is None else (profile,)
    return next((path for name in names if (path := FOLDER / f"{name}.json").exists()), FOLDER / f"{names[-1]}.json")


def load(path: Path) -> dict[str, Any]:
    """A kept run."""
    run = json.loads(path.read_text(encoding="utf-8"))
    if run.get("schema") != SCHEMA:
        raise ValueError(f"{path.name}: expected schema {SCHEMA}, got {run.get('schema')!r}; measure again")
    return dict(run)


def save(run: Mapping[str, Any], path: Path) -> None:
    """Keep a run, one measurement to a line."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(run, indent=1, ensure_ascii=False)
    # lists of numbers on one line
    text = re.sub(r"\[\s+([-\d.e,\s]+?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    path.write_text(text + "\n", encoding="utf-8")

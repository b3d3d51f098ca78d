"""Stored runs: measurements, figures, versions and the machine, as JSON without paths."""

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
QUIET = 0.1  # cores used by other programs, above which wall times are not judged
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
    """A figure of one run: its spread or the reason for its absence, and whether it meets its limit.

    Attributes
    ----------
    met
        None if there is no limit, or if the limit cannot be judged here.
    """

    figure: Figure
    values: tuple[float, ...]
    gap: str | None
    wanted: float | None
    met: bool | None

    @property
    def spread(self) -> Spread | None:
        """Median and range of the repeats."""
        return Spread.of(self.values) if self.values else None


def judged(figure: Figure, found: Mapping[str, Measurement], others: float | None, *, full: bool) -> Judged:
    """Compute a figure from the measurements of its case.

    Limits are judged at full sizes only. `others` is the number of cores that other programs used meanwhile.
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
    """Convert a case to its stored form."""
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
    """Round seconds to microseconds and memory to bytes."""
    for what in ("cpu", "wall"):
        measurement[what] = [round(value, 6) for value in measurement[what]]
    return measurement


def environment() -> dict[str, Any]:
    """Describe the machine and software that the figures depend on."""
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
    """Return the versions of this library and the baselines by environment. A missing environment has none."""
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
    """Return the measured commit, marked if the working tree differs from it."""
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
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def features() -> frozenset[str]:
    """Return the available requirements of subjects: options of `discreet release` and numbers of cores."""
    run = launched([sys.executable, "-m", "discreet", "release", "--help"])
    if run.code:
        raise RuntimeError(run.err)
    return frozenset(re.findall(r"--[a-z-]+", run.out)) | {f"{count} cores" for count in range(2, cores() + 1)}


def stored(profile: str | None = None) -> Path:
    """Return the stored run of a profile. By default the full run or, if there is none, the quick run."""
    names = ("full", "quick") if profile is None else (profile,)
    return next((path for name in names if (path := FOLDER / f"{name}.json").exists()), FOLDER / f"{names[-1]}.json")


def load(path: Path) -> dict[str, Any]:
    """Load a stored run."""
    run = json.loads(path.read_text(encoding="utf-8"))
    if run.get("schema") != SCHEMA:
        raise ValueError(f"{path.name}: expected schema {SCHEMA}, got {run.get('schema')!r}; measure again")
    return dict(run)


def save(run: Mapping[str, Any], path: Path) -> None:
    """Store a run with one measurement per line."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(run, indent=1, ensure_ascii=False)
    # write lists of numbers on one line
    text = re.sub(r"\[\s+([-\d.e,\s]+?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    path.write_text(text + "\n", encoding="utf-8")

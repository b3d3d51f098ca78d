"""Measure subjects in fresh processes, in turn. A subject that cannot run becomes a gap with a reason.

This module imports only the standard library, so that it loads independently of the measured programs.
"""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHAT = ("cpu", "wall", "memory")
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_LONGEST = 160  # characters of a reason


@dataclass(frozen=True, slots=True)
class Subject:
    """One program to measure.

    Attributes
    ----------
    name, label
        Key in the results, and text for readers.
    words
        Arguments of the interpreter. `{NAME}` is replaced by the path of a table or of an output folder.
    parts
        Names of the parts that the program times and prints. Without parts, the whole process is measured.
    ours, refusable
        Whether the subject is this library. Then a failure fails the run, unless a refusal of the table is allowed.
    environment
        Folder of the virtual environment whose interpreter runs it.
    threads
        Threads of the matrix libraries. None leaves the number to the libraries.
    beside
        Number of busy processes that run at the same time.
    most, limit
        Maximum number of repeats, and seconds until it is stopped.
    needs
        A requirement that may be missing: a feature of this library, or a number of cores.
    """

    name: str
    label: str
    words: tuple[str, ...]
    parts: tuple[str, ...] = ()
    ours: bool = False
    refusable: bool = False
    environment: str = ".venv"
    threads: int | None = 1
    beside: int = 0
    most: int | None = None
    limit: float = 120.0
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class Measurement:
    """The repeats of a subject or of one of its parts, or the reason why there are none."""

    name: str
    label: str
    ours: bool = False
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    gap: str | None = None
    failed: bool = False

    def values(self, what: str) -> list[float]:
        """Return the repeats of CPU seconds, wall seconds or bytes."""
        return {"cpu": self.cpu, "wall": self.wall, "memory": self.memory}[what]


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with the smallest and the largest repeat."""

    median: float
    low: float
    high: float
    repeats: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Compute the spread of at least one value.

        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, low=1.0, high=3.0, repeats=3)
        """
        return cls(statistics.median(values), min(values), max(values), len(values))


def paired(top: Sequence[float], bottom: Sequence[float]) -> list[float]:
    """Return ratios of consecutive repeats, as many as the shorter sequence has.

    >>> paired([2.0, 9.0, 4.0], [1.0, 3.0])
    [2.0, 3.0]
    """
    return [one / other for one, other in zip(top, bottom, strict=False)]


class Unavailable(Exception):  # noqa: N818  # not an error: a baseline is not installed
    """A subject that cannot run here, with the reason to report."""


@dataclass(frozen=True, slots=True)
class Run:
    """The cost and the output of one process."""

    cpu: float
    wall: float
    memory: float
    code: int
    late: bool
    out: str
    err: str


def launched(
    command: Sequence[str],
    *,
    threads: int | None = 1,
    beside: int = 0,
    limit: float = 120.0,
    folder: Path | None = None,
) -> Run:
    """Measure one program, started from a small separate process."""
    environment = {name: value for name, value in os.environ.items() if name not in _THREADS}
    environment |= dict.fromkeys(_THREADS, str(threads)) if threads is not None else {}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        out, err = Path(place, "out"), Path(place, "err")
        asked = {
            "command": list(command), "environment": environment, "out": str(out), "err": str(err), "beside": beside,
            "limit": limit,
        }  # fmt: skip
        launcher = [sys.executable, "-I", "-S", str(ROOT / "benchmarks" / "launcher.py"), json.dumps(asked)]
        with subprocess.Popen(launcher, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            try:
                printed, _ = process.communicate()
            except BaseException:
                # the launcher stops the programs it started
                process.terminate()
                raise
        found = json.loads(printed)
        return Run(**found, out=out.read_text(errors="replace"), err=err.read_text(errors="replace"))


def reason(run: Run, limit: float, hidden: Sequence[str] = ()) -> str:
    """Explain in one line, without a path, why a process gave no result."""
    if run.late:
        return f"stopped after {limit:g} s"
    lines = [line.strip() for line in (run.err or run.out).splitlines() if line.strip()]
    words = lines[-1] if lines else f"exit code {run.code}"
    for path in (*hidden, str(ROOT), sys.prefix, tempfile.gettempdir()):
        words = words.replace(path, "")
    words = re.sub(r"(?<![\w.])/(?:[\w.-]+/)+", "", words)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


class Machine:
    """Use of the machine by other programs during a case, if the system reports it."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), self._busy(), self._own()

    def others(self) -> float | None:
        """Return the average number of cores that other programs used since the start, or None if unknown."""
        begun, busy, own = self._start
        now, passed = self._busy(), time.perf_counter() - begun
        if busy is None or now is None or passed <= 0:
            return None
        return max(0.0, (now - busy - (self._own() - own)) / passed)

    @staticmethod
    def _busy() -> float | None:
        try:
            first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
        except OSError:
            return None
        user, nice, system, _idle, _wait, hard, soft, *_ = map(int, first)
        return (user + nice + system + hard + soft) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _own() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)


def interpreter(environment: str) -> str:
    """Return the interpreter of an environment."""
    if environment == ".venv":
        return sys.executable
    found = ROOT / environment / "bin" / "python"
    if not found.exists():
        raise Unavailable(f"no environment {environment}")
    return str(found)


def measured(
    subjects: Sequence[Subject],
    paths: Mapping[str, str],
    *,
    repeats: int,
    features: frozenset[str] = frozenset(),
    note: Callable[[str], None] = lambda _: None,
) -> list[Measurement]:
    """Measure all subjects in turn: one repeat of each, then the next repeat."""
    found: dict[str, list[Measurement]] = {}
    for subject in subjects:
        names = [f"{subject.name} {part}" for part in subject.parts] or [subject.name]
        several = len(subject.parts) > 1
        labels = [f"{subject.label}, {part}" for part in subject.parts] if several else [subject.label]
        found[subject.name] = [Measurement(*both, subject.ours) for both in zip(names, labels, strict=True)]
    for turn in range(repeats):
        for subject in subjects:
            parts = found[subject.name]
            if parts[0].gap is None and (subject.most is None or turn < subject.most):
                _one(subject, parts, paths, features)
                note("x" if parts[0].gap else ".")
    return [one for parts in found.values() for one in parts]


def _one(subject: Subject, parts: Sequence[Measurement], paths: Mapping[str, str], features: frozenset[str]) -> None:
    """Run one repeat and add it to the measurements of the subject's parts."""
    try:
        python = _runs(subject, features)
    except Unavailable as error:
        _gap(parts, str(error), failed=False)
        return
    words = [_filled(word, paths) for word in subject.words]
    run = launched([python, *words], threads=subject.threads, beside=subject.beside, limit=subject.limit)
    if run.code or run.late:
        _gap(
            parts,
            reason(run, subject.limit, tuple(paths.values())),
            failed=subject.ours and not run.late and not subject.refusable,
        )
        return
    timed = json.loads(run.out.splitlines()[-1]) if subject.parts else {}
    for part, one in zip(subject.parts or ("",), parts, strict=True):
        cost = timed[part] if subject.parts else {"cpu": run.cpu, "wall": run.wall}
        one.cpu.append(cost["cpu"])
        one.wall.append(cost["wall"])
        one.memory.append(run.memory)


def _runs(subject: Subject, features: frozenset[str]) -> str:
    """Return the interpreter of a subject, if its requirements are met."""
    for need in subject.needs:
        if need not in features:
            raise Unavailable(f"no {need} here")
    return interpreter(subject.environment)


def _gap(parts: Sequence[Measurement], why: str, *, failed: bool) -> None:
    for one in parts:
        one.gap, one.failed = why, failed
        one.cpu, one.wall, one.memory = [], [], []


def _filled(word: str, paths: Mapping[str, str]) -> str:
    """Replace the names of tables in an argument by their paths. Other braces stay."""
    return re.sub(r"\{(\w+)\}", lambda found: paths.get(found[1], found[0]), word)

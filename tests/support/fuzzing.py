"""Mutated bytes of real files for every reader, in a process of its own: `python -m support.fuzzing COUNT [FIRST]`.

An input is a kind and a number: the same two give the same bytes on every machine. Each ends well or with an error of
the package, in limited time, and quotes no cell; a process that dies leaves behind which input it had.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SECONDS: Final = 20  # of CPU time for one input: others may use the machine
KILLED: Final = 300  # on the clock, for one that waits or does not come back from a library
MANY = 20_400  # inputs of a full run
LONGEST: Final = 5000  # characters of a message
CANARIES: Final = ("918273.5", "SECRETCELL")
TOKENS: Final[dict[str, tuple[bytes, ...]]] = {
    "csv": (b",", b'"', b"\n", b"\r", b"\0", b"\xff", b"nan", b"1e999", b"-0", b"\xef\xbb\xbf", b"9" * 400, b"#", b";",
            b"''", "\u202e".encode(), b"income", b"age", b"north"),
    "parquet": (b"PAR1", b"PARE", b"\0" * 8, b"\xff" * 8, b"\x7f\xff\xff\xff", b"income", b"\x80" * 5),
    "arrow": (b"ARROW1", b"\0" * 8, b"\xff" * 4, b"\x7f\xff\xff\xff", b"income", b"\x80" * 5),
    "json": (b"{", b"}", b"[", b"]", b'"', b"null", b"true", b"NaN", b"1e400", b"-1", b"9" * 400, b"0.0", b'""',
             b"\\ud800", b'"x":', b",", b"\xff", b"[" * 2000),
    "toml": (b"[", b"]", b"{", b"}", b"=", b'"', b"'''", b'"""', b"nan", b"inf", b"1e400", b"[columns]", b"[unit]",
             b"[[columns]]", b"formula = 'x + 1'", b"\n", b"#", b".", b"9" * 5000, b"1979-05-27", b"true", b"\xff",
             b"[" * 2000),
    "ledger": (b"\0" * 16, b"\xff" * 16, b"dataset", b"reserve", b"{}", b"null", b"SQLite format 3\0"),
}  # fmt: skip


class TooSlow(BaseException):
    """Not an error that anybody catches."""


def mutated(chance: random.Random, whole: bytes, tokens: tuple[bytes, ...], other: bytes) -> bytes:
    """The bytes after one to six changes: flip, insert, delete, duplicate, splice, cut, or put in a known word."""
    made = bytearray(whole)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        place = chance.randrange(len(made) + 1)
        length = chance.choice((1, 1, 2, 4, 16, 200))
        match chance.randrange(8):
            case 0 if made:
                made[place % len(made)] ^= 1 << chance.randrange(8)
            case 1:
                made[place:place] = chance.randbytes(length)
            case 2:
                del made[place : place + length]
            case 3:
                made[place:place] = made[place : place + length] * chance.choice((1, 2, 50))
            case 4:
                start = chance.randrange(len(other) + 1)
                made[place : place + length] = other[start : start + length]
            case 5 if chance.random() < 0.3:
                del made[place:]
            case 6:
                made[place : place + length] = chance.choice(tokens)
            case _:
                made[place:place] = chance.choice(tokens)
    return bytes(made)


def edited(chance: random.Random, document: Any) -> Any:
    """A JSON document with one value replaced, so that its digest can be made to fit again."""
    odd = (
        None,
        True,
        -1,
        0,
        2**70,
        1.5,
        "",
        "x",
        "-5",
        "9" * 200,
        [],
        {},
        [1],
        {"x": 1},
        "\u202e",
        1e308,
        "nan",
        10**400,
    )
    places = list(_places(document))
    for _ in range(chance.choice((1, 1, 2, 4))):
        inner, key = chance.choice(places)
        match chance.randrange(4):
            case 0:
                inner[key] = chance.choice(odd)
            case 1:
                other, source = chance.choice(places)
                inner[key] = json.loads(json.dumps(other[source])) if source in _keys(other) else None
            case 2 if isinstance(inner, dict):
                inner[chance.choice(("x", "schema", "mu", "settings", "bounds", "guard"))] = chance.choice(odd)
            case _ if isinstance(inner, dict):
                inner.pop(key, None)
    return document


def _keys(inner: Any) -> Any:
    return inner if isinstance(inner, dict) else range(len(inner))


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    for key in _keys(document):
        yield document, key
        if isinstance(document[key], dict | list):
            yield from _places(document[key])


@dataclass
class Report:
    """What came of a run.

    Attributes
    ----------
    tried, refused
        Inputs by kind, and how many of them ended with an error of the package.
    finds
        Kind, number and what was wrong.
    """

    tried: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    finds: list[str] = field(default_factory=list)


class Readers:
    """Real files and the public functions that read them."""

    def __init__(self, folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        import discreet
        from support.cli_folder import DESIGN, PEOPLE

        self.folder = folder
        self.design = discreet.Design.from_toml(DESIGN)
        rows = [line.split(",") for line in PEOPLE.strip().split("\n")[1:]]
        table = pa.table(
            {
                "income": [float(row[0]) for row in rows],
                "age": [int(row[1]) for row in rows],
                "region": [row[2] for row in rows],
                "remark": [row[3] for row in rows],
            }
        )
        pq.write_table(table, folder / "p.parquet", row_group_size=20)
        with pa.ipc.new_file(folder / "a.arrow", table.schema) as file:
            file.write_table(table, max_chunksize=20)
        (folder / "design.toml").write_text(DESIGN)
        ledger = discreet.Ledger.create(folder / "l.db")
        ledger.declare("people", epsilon=3.0, delta=1e-5)
        made = discreet.release(table, self.design, epsilon=1.0, delta=1e-6, spend=ledger.account("people"))
        persons = {"neighbours": "replace"}
        full = discreet.Design("income", dict(self.design.columns), unit=persons)
        models = ["income ~ age", "age ~ income"]
        robust = discreet.release(
            table, full, epsilon=1.0, delta=1e-6, robust=discreet.RobustErrors(models=models), clip_counts=True
        )
        fitted = discreet.release(
            table, self.design, epsilon=1.0, delta=1e-6, mechanism="gradient", settings={"iterations": 3}
        )
        self.texts = [one.to_json() for one in (made, robust, fitted)]
        long = (
            "radius = 1.5\nintercept = true\n"
            + DESIGN
            + 'missing = {fill = "south"}\n[columns.log]\nformula = "log(age)"\n'
            '[columns."a b"]\ndtype = "bool"\n[unit]\nid = "person"\nmax_rows = 2\n'
        )
        self.seeds: dict[str, list[bytes]] = {
            "csv": [PEOPLE.encode(), PEOPLE.replace("\n", "\r\n").encode()],
            "parquet": [(folder / "p.parquet").read_bytes()],
            "arrow": [(folder / "a.arrow").read_bytes()],
            "json": [text.encode() for text in self.texts],
            "toml": [DESIGN.encode(), long.encode()],
            "ledger": [(folder / "l.db").read_bytes()],
        }
        self.names = {
            "csv": "x.csv",
            "parquet": "x.parquet",
            "arrow": "x.arrow",
            "json": "x.json",
            "toml": "x.toml",
            "ledger": "x.db",
        }

    def content(self, kind: str, number: int) -> bytes:
        """The bytes of an input."""
        chance = random.Random(f"{kind} {number}")
        whole, other = (chance.choice(self.seeds[kind]) for _ in range(2))
        if kind == "json" and chance.random() < 0.6:
            from discreet.errors import ReleaseFileError
            from discreet.releases.fields import digest_of

            document = edited(chance, json.loads(whole))
            try:
                return json.dumps(document | {"digest": digest_of(document)}).encode()
            except ReleaseFileError:
                return json.dumps(document).encode()
        return mutated(chance, whole, TOKENS[kind], other)

    def read(self, kind: str, path: Path, number: int) -> None:
        """Read a file as users do; every eighth time by the command line."""
        import discreet
        from discreet.testing import exact_release

        if number % 8 == 0:
            self._command(kind, path)
        elif kind in ("csv", "parquet", "arrow"):
            discreet.check(path, self.design)
            exact_release(path, self.design)
        elif kind == "json":
            made = discreet.Release.load(path)
            discreet.verify(made)
            fit = discreet.fit(made)
            fit.summary()
            fit.to_dict()
        elif kind == "toml":
            design = discreet.Design.load(path)
            assert discreet.Design.from_toml(design.to_toml()) == design
        else:
            ledger = discreet.Ledger(path)
            ledger.statuses()
            ledger.history()
            ledger.verify()

    def _command(self, kind: str, path: Path) -> None:
        from click.testing import CliRunner

        from discreet.cli.main import program
        from discreet.errors import DiscreetError

        design = str(self.folder / "design.toml")
        words = {
            "json": ["fit", str(path), "--json"],
            "toml": ["plan", "--design", str(path), "--rows", "1000", "--epsilon", "1", "--json"],
            "ledger": ["ledger", "verify", str(path)],
        }.get(kind, ["check", str(path), "--design", design])
        result = CliRunner().invoke(program, words)
        if result.exit_code == 0:
            return
        error = result.stderr
        if result.exit_code not in (2, 4) or "Traceback" in error or "unexpected failure" in error:
            raise AssertionError(f"exit {result.exit_code}: {error[-300:]}")
        raise DiscreetError(error)


@contextmanager
def limited(seconds: int = SECONDS, killed: int = KILLED) -> Iterator[None]:
    """Stop what takes too long; a library that holds the interpreter is killed."""

    def stop(number: int, frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(killed, exit=True)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, before)


def verdict(call: Callable[[], object]) -> tuple[bool, str]:
    """Whether an input was refused in the package's own words, and what is wrong otherwise."""
    from discreet.errors import DiscreetError

    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except DiscreetError as error:
        told = "".join([str(error), repr(error), str(error.__context__ or "")])
        quoted = [canary for canary in CANARIES if canary in told]
        if quoted:
            return True, f"a cell is quoted: {str(error)[:200]}"
        return True, f"{len(str(error))} characters" if len(str(error)) > LONGEST else ""
    except TooSlow:
        return False, f"took more than {SECONDS} s"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return False, f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:200]}"
    return False, ""


def run(count: int, first: int, folder: Path, progress: Path) -> Report:
    """Try `count` inputs of all kinds in turn."""
    readers = Readers(folder)
    report = Report()
    kinds = list(TOKENS)
    for step in range(count):
        kind, number = kinds[step % len(kinds)], first + step // len(kinds)
        progress.write_text(f"{kind} {number}")
        path = folder / readers.names[kind]
        path.write_bytes(readers.content(kind, number))
        refused, wrong = verdict(lambda kind=kind, path=path, number=number: readers.read(kind, path, number))
        path.unlink(missing_ok=True)
        report.tried[kind] = report.tried.get(kind, 0) + 1
        report.refused[kind] = report.refused.get(kind, 0) + refused
        if wrong:
            report.finds.append(f"{kind} {number}: {wrong}")
    return report


def _peak_kilobytes() -> int:
    """Largest memory of this program; `ru_maxrss` also counts that of the process that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM:"))


def main() -> None:
    """Run in this process and print what came of it."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as name:
        os.environ["TMPDIR"] = name
        tempfile.tempdir = None
        report = run(count, first, Path(name), Path(sys.argv[3] if len(sys.argv) > 3 else os.devnull))
    peak = _peak_kilobytes() // 1024
    cpu = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    print(
        json.dumps(
            {"tried": report.tried, "refused": report.refused, "finds": report.finds, "peak_mb": peak, "cpu_s": cpu}
        )
    )


def spawned(count: int, first: int, folder: Path) -> dict[str, Any]:
    """The same in a process of its own, which may die."""
    progress = folder / "at"
    done = subprocess.run(
        [sys.executable, "-m", "support.fuzzing", str(count), str(first), str(progress)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"the process died at input {progress.read_text()}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()

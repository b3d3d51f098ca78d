"""Nothing leaks sideways: markers planted in a table are in no place but the table.

Every source kind, every mechanism, the estimator, the command line, and runs that fail at every named step. What is
searched, and in which spellings, is in `support.markers`.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import pickle
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli.main import program
from discreet.curator.individuals import IndividualCap
from discreet.curator.table import Table
from discreet.errors import DataError, DiscreetError
from discreet.estimator import PrivateLinearRegression
from discreet.ledger.event_log import STEPS
from discreet.mechanisms.registry import HOMES, mechanism_named
from discreet.mechanisms.sampler import ExactSampler
from discreet.releases import Release
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import calling
from support.marked_commands import LEDGER_PLACE, command_line
from support.marked_tables import AT, NUMBERS, SOURCES, arrow, columns, design
from support.markers import (
    DROPPED,
    GRID_BITS,
    LEVEL,
    MARKERS,
    ON_DISK,
    PERSON,
    QUOTED,
    REMARK,
    ROWS,
    SPELLINGS,
    VALUE,
    Places,
    recorded,
    rows_on_disk,
)
from support.torn_tables import FAILING_READERS

# steps that only a guard or private bounds reach
STAGES = ("staging", "staged")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files, empty; rows that wait do so on disk."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


@pytest.fixture
def ledger(tmp_path):
    books = discreet.Ledger.create(tmp_path / "books.db")
    for name, persons in (("rows", False), ("persons", True)):
        unit = design(persons=persons).unit
        books.declare(name, epsilon=8.0, delta=1e-5, rule="basic", unit=unit)
    return books


class Watched:
    """A spend hook that looks at the temporary folder before noise is drawn."""

    def __init__(self, scratch: Path, hook=discreet.privacy.untracked) -> None:
        self.hook, self.scratch, self.seen = hook, scratch, b""
        if hasattr(hook, "advise"):
            self.advise = hook.advise

    def __call__(self, request):
        self.seen += rows_on_disk(self.scratch)
        return self.hook(request)


def check(places: Places, *, error: type[BaseException] | None = None) -> None:
    assert places.found() == []
    if error is None:
        assert places.error is None, places.error
    else:
        assert isinstance(places.error, error), places.error


def bytes_of_the_ledger(places: Places, folder: Path) -> Places:
    for path in folder.glob("books.db*"):
        places.add(LEDGER_PLACE, path.read_bytes())
    return places


def released(data, asked, scratch, *, hook=discreet.privacy.untracked, **options) -> Places:
    watched = Watched(scratch, hook)
    options = {"epsilon": 1.0, "delta": 1e-6, "grid_bits": GRID_BITS, **options}
    compute = ComputeOptions(batch_rows=256, chunk_rows=64, progress=partial(print, "read"))
    places = recorded(lambda: discreet.release(data, asked, spend=watched, compute=compute, **options), scratch)
    places.add(ON_DISK, watched.seen)
    return places


# releases that succeed


# an array of numbers holds no ids that are text
SOURCE_CASES = [
    (source, persons) for source in SOURCES for persons in (False, True) if not persons or source != "array"
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("source", "persons"), SOURCE_CASES)
def test_no_source_shows_a_marker(source, persons, scratch, files, ledger, tmp_path):
    asked = NUMBERS if source == "array" else design(persons=persons)
    hook = ledger.account("persons" if persons else "rows", "request-1")
    places = released(SOURCES[source](files), asked, scratch, hook=hook)
    check(bytes_of_the_ledger(places, tmp_path))
    assert places.contents[ON_DISK].strip() != b"" or not persons, "persons wait on disk, and nothing was looked at"


def mechanism_cases():
    for name in HOMES:
        info = mechanism_named(name).info
        delta = 1e-6 if info.notion == "approximate" else 0.0
        yield pytest.param(name, delta, {}, False, id=name)
        if name != "wishart":
            yield pytest.param(name, delta, {}, True, id=f"{name}, persons")
    yield pytest.param("gaussian", 1e-6, {"robust": True}, False, id="robust")
    yield pytest.param("gaussian", 1e-6, {"robust": True}, True, id="robust, persons")
    yield pytest.param("gaussian", 1e-6, {"clip_counts": True}, False, id="clip counts")
    yield pytest.param("laplace", 0.0, {"clip_counts": True}, True, id="clip counts, laplace, persons")
    yield pytest.param("gaussian", 1e-6, {"guard": True}, False, id="guard")
    yield pytest.param("irls", 1e-6, {}, False, id="irls, gaussian")
    for persons, ending in ((False, ""), (True, ", persons")):
        yield pytest.param(
            "gaussian", 1e-6, {"bounds": "private", "epsilon": 8.0}, persons, id=f"private bounds{ending}"
        )


@pytest.mark.no_cover
@pytest.mark.parametrize(("mechanism", "delta", "options", "persons"), list(mechanism_cases()))
def test_no_mechanism_shows_a_marker(mechanism, delta, options, persons, scratch, ledger, tmp_path):
    hook = ledger.account("persons" if persons else "rows", "request-1")
    settings = {"iterations": 3} if mechanism in ("irls", "gradient", "frank-wolfe") else None
    bounds = options.get("bounds")
    asked, options = design(persons=persons, bounds=bounds), {k: v for k, v in options.items() if k != "bounds"}
    places = released(
        arrow(), asked, scratch,
        hook=hook, mechanism=mechanism, delta=delta, settings=settings, grid_bits=16, **options,
    )  # fmt: skip
    made = places.result
    assert isinstance(made, Release), places.error
    model = discreet.fit(made)
    places.add("fit", f"{model!r} {model.summary()} {model.params}")
    places.add("pickle", pickle.dumps(model))
    places.add("report", discreet.report(made, model).html)
    places.add("report", f"{discreet.verify(made)!r} {discreet.diagnose(made)!r}")
    if bounds is not None:
        # at this epsilon bounds are lost where noise exceeds nine standard deviations
        # a limit that is stated: before bounds are known cells wait on disk as they are, and nowhere else
        assert [one for one in places.found() if not one.endswith(ON_DISK)] == []
        places.contents.pop(ON_DISK)
    check(bytes_of_the_ledger(places, tmp_path))


def test_the_guard_that_stops_shows_no_marker(scratch, ledger, tmp_path):
    table = columns()
    table["region"] = [LEVEL] * (ROWS - 40) + table["region"][-40:]
    places = released(table, design(), scratch, hook=ledger.account("rows"), guard=True)
    check(bytes_of_the_ledger(places, tmp_path), error=discreet.errors.GuardStop)


@pytest.mark.parametrize("container", ["list", "array of objects", "pandas"])
def test_the_estimator_shows_no_marker(container, scratch, ledger, tmp_path):
    import pandas as pd

    table = columns()
    X = [[age, region] for age, region in zip(table["age"], table["region"], strict=True)]
    y = table["income"]
    given = {
        "list": (X, y),
        "array of objects": (np.array(X, dtype=object), np.array(y, dtype=object)),
        "pandas": (pd.DataFrame({"x0": table["age"], "x1": table["region"]}), pd.Series(y)),
    }[container]
    model = PrivateLinearRegression(
        epsilon=1.0, delta=1e-6, bounds={"x0": (18, 90), "x1": ["north", "south"]}, target_bounds=(0, 1_000_000),
        missing="drop", ledger=ledger, dataset="rows", grid_bits=GRID_BITS,
    )  # fmt: skip
    places = recorded(lambda: model.fit(*given), scratch)
    places.add("pickle", pickle.dumps(model))
    places.add("repr", f"{model!r} {vars(model)!r} {model.release_!r} {model.guarantee_!r} {model.fit_!r}")
    places.add("release", model.release_.to_json())
    check(bytes_of_the_ledger(places, tmp_path))


def test_a_failing_fit_of_the_estimator_shows_no_marker(scratch):
    y = [*columns()["income"][:AT], REMARK, *columns()["income"][AT + 1 :]]
    model = PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds={"x0": (18, 90)}, target_bounds=(0, 1e6))
    places = recorded(lambda: model.fit([[age] for age in columns()["age"]], y), scratch)
    places.add("pickle", pickle.dumps(model))
    places.add("repr", f"{model!r} {vars(model)!r}")
    check(places, error=DataError)


# readers that fail


@pytest.mark.parametrize("reader", FAILING_READERS)
@pytest.mark.parametrize("persons", [False, True], ids=["rows", "persons"])
def test_a_reader_that_fails_shows_no_marker(reader, persons, scratch, files, ledger, tmp_path):
    hook = ledger.account("persons" if persons else "rows", "request-1")
    asked = design(missing="error", persons=persons)
    places = released(FAILING_READERS[reader](files), asked, scratch, hook=hook)
    check(bytes_of_the_ledger(places, tmp_path), error=DiscreetError)
    assert ledger.status("rows").requests == ledger.status("persons").requests == 0
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("reader", ["text in CSV", "CSV line too short", "CSV quote not closed", "Parquet cut off"])
def test_a_reader_that_fails_shows_no_marker_on_the_command_line(reader, scratch, files, monkeypatch):
    places = command_line(scratch, files, monkeypatch, FAILING_READERS[reader](files), "error", "--debug")
    check(places)
    assert places.result.exit_code == 2


# what fails later


def failing_sampler(monkeypatch, at_call):
    calls = []
    before = ExactSampler.draw

    def draw(self, sigmas):
        calls.append(1)
        if len(calls) == at_call:
            raise ValueError(QUOTED)
        return before(self, sigmas)

    monkeypatch.setattr(ExactSampler, "draw", draw)


@pytest.mark.parametrize("at_call", [1, 2])
def test_a_sampler_that_fails_shows_no_marker(at_call, scratch, monkeypatch, ledger, tmp_path):
    failing_sampler(monkeypatch, at_call)
    places = released(arrow(), design(persons=True), scratch, hook=ledger.account("persons"), robust=True, grid_bits=16)
    check(bytes_of_the_ledger(places, tmp_path), error=discreet.errors.AfterSpendError)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    "failure", [KeyboardInterrupt, RuntimeError, pytest.param(MemoryError, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("step", STEPS[:-2])
def test_a_run_that_fails_at_any_step_shows_no_marker(step, failure, scratch, ledger, tmp_path):
    def stop(reached):
        if reached == step:
            raise failure

    with calling(stop):
        guard = step in STAGES
        places = released(arrow(), design(persons=True), scratch, hook=ledger.account("persons"), guard=guard)
    check(bytes_of_the_ledger(places, tmp_path), error=BaseException)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("failure", ["OutOfMemoryException", "InterruptException", "IOException"])
@pytest.mark.parametrize("method", ["add", "keep"])
def test_a_database_that_fails_shows_no_marker(method, failure, scratch, monkeypatch, ledger, tmp_path):
    """DuckDB puts rows of a person together; what it says of a failure is its own."""
    import duckdb

    monkeypatch.setattr(IndividualCap, method, lambda *_: raising(getattr(duckdb, failure)(QUOTED)))
    places = released(arrow(), design(persons=True), scratch, hook=ledger.account("persons"))
    interrupt = failure == "InterruptException"
    check(bytes_of_the_ledger(places, tmp_path), error=KeyboardInterrupt if interrupt else DataError)
    assert list(scratch.iterdir()) == []


def test_a_full_disk_for_rows_shows_no_marker(scratch, monkeypatch):
    class Full(io.BytesIO):
        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("discreet.curator.buffered_rows.tempfile.TemporaryFile", lambda **_: Full())
    check(released(arrow(), design(), scratch, mechanism="gradient"), error=DataError)


def test_a_full_disk_for_the_release_shows_no_marker(scratch, files, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    made = discreet.release(arrow(), design(), epsilon=1.0, delta=1e-6)
    monkeypatch.setattr("discreet.files.os.fsync", full)
    places = recorded(lambda: made.save(files / "out.json"), scratch)
    places.add_folder("output folder", files)
    check(places, error=discreet.errors.OutputError)
    assert list(files.iterdir()) == []


# the command line, redirected


@pytest.mark.parametrize("persons", [False, True], ids=["rows", "persons"])
@pytest.mark.parametrize("more", [(), ("--json",), ("--debug", "--robust"), ("--clip-counts",), ("--guard",)])
def test_the_command_line_shows_no_marker(more, persons, scratch, files, monkeypatch):
    places = command_line(scratch, files, monkeypatch, SOURCES["CSV"](files), "drop", *more, persons=persons)
    check(places)
    assert places.result.exit_code == 0, places.result.stderr


def test_fit_and_report_on_the_command_line_show_no_marker(scratch, files, monkeypatch):
    check(command_line(scratch, files, monkeypatch, SOURCES["CSV"](files)))
    places = Places()
    for words in (["fit", "r.json"], ["fit", "r.json", "--json"], ["report", "r.json", "-o", "r.html"]):
        done = CliRunner().invoke(program, words)
        assert done.exit_code == 0, done.stderr
        places.add("fit", done.output)
    places.add("report", (files / "r.html").read_bytes())
    check(places)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError(QUOTED),
        pytest.param(KeyboardInterrupt(QUOTED), marks=pytest.mark.slow),
        pytest.param(OSError(errno.ENOSPC, QUOTED), marks=pytest.mark.slow),
    ],
    ids=["error", "interrupt", "full disk"],
)
def test_the_command_line_that_fails_at_any_step_shows_no_marker(step, failure, scratch, files, monkeypatch):
    words = ("--debug", "--guard") if step in STAGES else ("--debug",)
    places = command_line(
        scratch, files, monkeypatch, SOURCES["CSV"](files), "drop", *words, step=step, failure=failure, persons=True
    )
    check(places)
    assert places.result.exit_code != 0


@pytest.mark.slow
@pytest.mark.parametrize("source", ["CSV", "CSV pattern", "Parquet", "Parquet folder", "Feather", "Arrow file"])
@pytest.mark.parametrize("step", STEPS)
def test_a_real_process_that_fails_at_any_step_shows_no_marker(step, source, scratch, files, tmp_path):
    """Redirected to files, as a scheduler would; the process ends by an error whose text quotes the row."""
    (files / "design.toml").write_text(design(persons=True).to_toml())
    discreet.Ledger.create(files / "books.db").declare("p", epsilon=6.0, delta=1e-5, unit=design(persons=True).unit)
    data, guard = SOURCES[source](files), "--guard" if step in STAGES else "--debug"
    code = (
        "import sys\nfrom discreet.testing.not_private import calling\nfrom discreet.__main__ import run\n"
        f"def stop(reached):\n    if reached == {step!r}: raise ValueError(open('quoted').read())\n"
        f"sys.argv = ['discreet', 'release', {data!r}, '--design', 'design.toml', '--epsilon', '1', '--delta', '1e-6',"
        f"'--ledger', 'books.db', '--dataset', 'p', '-o', 'r.json', '--debug', {guard!r}]\n"
        "with calling(stop): run()\n"
    )
    (files / "quoted").write_text(QUOTED)
    done = subprocess.run([sys.executable, "-c", code], cwd=files, capture_output=True, check=False)
    places = Places()
    places.add("stdout", done.stdout)
    places.add("stderr", done.stderr)
    places.add(LEDGER_PLACE, (files / "books.db").read_bytes())
    places.add_folder("temporary folder afterwards", scratch)
    check(places)
    assert done.returncode != 0


# the search can fail: what leaks is found, in every place and every spelling


LEAKS = {
    "log": lambda monkeypatch: leaking(monkeypatch, lambda: logging.getLogger("discreet").debug(QUOTED)),
    "stdout": lambda monkeypatch: leaking(monkeypatch, lambda: print(QUOTED)),
    "stderr": lambda monkeypatch: leaking(monkeypatch, lambda: print(QUOTED, file=sys.stderr)),
    "warnings": lambda monkeypatch: leaking(monkeypatch, lambda: __import__("warnings").warn(QUOTED, stacklevel=1)),
    "exception": lambda monkeypatch: leaking(monkeypatch, partial(raising, DataError(QUOTED))),
    "chained exception": lambda monkeypatch: leaking(monkeypatch, chaining),
    "printed trace": lambda monkeypatch: leaking(monkeypatch, partial(raising, DataError(QUOTED))),
    "temporary folder afterwards": lambda monkeypatch: leaking(monkeypatch, leaving),
    "release": lambda monkeypatch: monkeypatch.setattr(Release, "to_json", lambda self: QUOTED),
    "repr": lambda monkeypatch: monkeypatch.setattr(Release, "__repr__", lambda self: QUOTED),
    "pickle": lambda monkeypatch: monkeypatch.setattr(Release, "__reduce__", lambda self: (str, (QUOTED,))),
    "summary": lambda monkeypatch: monkeypatch.setattr(Release, "_repr_html_", lambda self: QUOTED),
    ON_DISK: lambda monkeypatch: leaking(monkeypatch, leaving),
}


def leaking(monkeypatch, leak):
    """A mutant of the sums of a table, that does something more."""
    before = Table.sums

    def sums(self, *given):
        leak()
        return before(self, *given)

    monkeypatch.setattr(Table, "sums", sums)


def raising(error):
    raise error


def chaining():
    try:
        raising(ValueError(QUOTED))
    except ValueError:
        raise DataError("the table cannot be read") from None


def leaving():
    Path(os.environ["TMPDIR"], "left").write_text(QUOTED)


@pytest.mark.parametrize("place", LEAKS)
def test_a_leak_is_found_in_every_place(place, scratch, monkeypatch):
    LEAKS[place](monkeypatch)
    found = released(arrow(), design(), scratch).found()
    for marker in MARKERS:
        wanted = [one for one in found if one.startswith(f"{marker} ") and one.endswith(f" in {place}")]
        # numbers of few digits are not searched for among estimates
        assert wanted or (marker == "count" and place == "repr"), (marker, place, found)


def test_a_leak_into_the_ledger_is_found(scratch, ledger, tmp_path, monkeypatch):
    from discreet.release_request import ReleaseRequest

    before = ReleaseRequest.request.fget
    described = property(lambda self: discreet.privacy.SpendRequest(
        *(getattr(before(self), name) for name in ("mechanism", "budget", "unit")), description=QUOTED,
        loss=before(self).loss, specification=before(self).specification,
    ))  # fmt: skip
    monkeypatch.setattr(ReleaseRequest, "request", described)
    places = released(arrow(), design(), scratch, hook=ledger.account("rows"))
    found = bytes_of_the_ledger(places, tmp_path).found()
    assert {one.partition(" as ")[0] for one in found if one.endswith(LEDGER_PLACE)} == set(MARKERS)


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda one: f"{one.marker}, {one.name}")
def test_every_spelling_is_found_and_is_not_in_a_public_text(spelling):
    import re

    places = Places()
    text = re.sub(rb"\(\?[^)]*\)", b"", spelling.pattern.pattern)
    sample = f"{ROWS} rows".encode() if "name" in spelling.name else re.sub(rb"\\(.)", rb"\1", text, flags=re.DOTALL)
    places.add("log", b"before " + sample + b" after")
    assert any(one == f"{spelling.marker} as {spelling.name} in log" for one in places.found())
    places = Places()
    places.add("log", design(persons=True).to_toml())
    assert places.found() == []


def test_the_markers_are_in_the_table():
    table = columns()
    assert table["income"].count(VALUE) == 1
    assert table["region"].count(LEVEL) == DROPPED
    assert table["person"].count(PERSON) == 1
    assert len(table["remark"]) == ROWS


def test_the_page_counts_what_is_tried():
    page = (Path(__file__).parents[2] / "docs" / "guarantee" / "tested.md").read_text()
    counts = {
        "markers": len(MARKERS),
        "spellings of a marker": len(SPELLINGS),
        "sources,": len(SOURCE_CASES),
        "mechanisms and options": len(list(mechanism_cases())),
        "failing readers": 2 * len(FAILING_READERS),
        "steps at which": len(STEPS),
        # and the ledger
        "places where a planted leak is found": len(LEAKS) + 1,
    }
    for words, count in counts.items():
        (line,) = (one for one in page.splitlines() if one.startswith(f"| {words}"))
        assert line.split("|")[-2].strip() == str(count), words

"""The measuring itself: medians, gaps, judgements, the check for worse ratios, and pages that show the stored run."""

from __future__ import annotations

import ast
import doctest
import html
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import __main__ as program
from benchmarks import comparison, measuring, page, plots, results, running
from benchmarks.cases import Case, Figure, job
from benchmarks.catalogue import PROFILES, cases, sizes, tables
from benchmarks.jobs import tables as job_tables
from benchmarks.measuring import Measurement, Spread, Subject, launched, measured, paired

ROOT = Path(__file__).parents[2]
LARGE = 2**27
OWN_PEAK = """
held = bytearray(2**25)
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def quick(name: str, code: str, **more: object) -> Subject:
    return Subject(name, name, ("-I", "-S", "-c", code), **more)


# figures


def test_a_spread_is_the_median_and_the_ends() -> None:
    assert Spread.of([5.0, 1.0, 2.0]) == Spread(2.0, 1.0, 5.0, 3)


def test_ratios_are_those_of_neighbouring_repeats() -> None:
    assert paired([2.0, 9.0], [1.0, 3.0]) == [2.0, 3.0]


def test_examples_of_the_modules_run() -> None:
    found = [doctest.testmod(module) for module in (measuring, page, sizes)]
    assert sum(one.attempted for one in found) >= 5
    assert not sum(one.failed for one in found)


# processes


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_that_of_the_child_whatever_its_parent_holds() -> None:
    held = np.ones(LARGE // 8)
    command = [sys.executable, "-I", "-S", "-c", OWN_PEAK]
    run = launched(command)
    peak = 1024 * int(run.out)
    assert abs(run.memory - peak) < 0.05 * peak
    # negative control: started from here, this process is carried into the child's figure
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert 1024 * usage.ru_maxrss > LARGE > run.memory
    assert held[0] == 1.0


def test_seconds_are_those_of_the_child() -> None:
    code = "import time\nwhile time.process_time() < 0.15: pass\ntime.sleep(0.1)"
    run = launched([sys.executable, "-I", "-S", "-c", code])
    assert run.code == 0
    assert 0.15 <= run.cpu < 0.6
    assert run.wall > run.cpu + 0.05


def test_repeats_are_taken_in_turns_and_some_only_once(tmp_path: Path) -> None:
    code = "open({!r}, 'a').write('{}')"
    file = str(tmp_path / "turns")
    subjects = [quick(name, code.format(file, name)) for name in "ab"]
    subjects.append(quick("c", code.format(file, "c"), most=1))
    found = measured(subjects, {}, repeats=2)
    assert Path(file).read_text() == "abcab"
    assert [len(one.cpu) for one in found] == [2, 2, 1]


def test_parts_that_a_process_times_are_measurements_of_their_own() -> None:
    code = (
        "import json; print('x'); print(json.dumps({'first': {'cpu': 1, 'wall': 2}, 'later': {'cpu': 3, 'wall': 4}}))"
    )
    first, later = measured([quick("p", code, parts=("first", "later"))], {}, repeats=1)
    assert (first.name, first.cpu, first.wall) == ("p first", [1], [2])
    assert (later.name, later.cpu, later.wall) == ("p later", [3], [4])


def test_an_interrupted_run_leaves_no_process_behind(tmp_path: Path) -> None:
    file = tmp_path / "child"
    code = f"import os, time; open({str(file)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    call = f"from benchmarks.measuring import launched; launched([{sys.executable!r}, '-I', '-S', '-c', {code!r}])"
    raised = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))"
    run = subprocess.Popen([sys.executable, "-c", f"{raised}\n{call}"], cwd=ROOT)
    while not (file.exists() and file.read_text()):
        time.sleep(0.01)
    run.terminate()
    assert run.wait() == 9
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


@pytest.mark.parametrize(
    ("subject", "why", "failed"),
    [
        (quick("r", "import no_such_baseline"), "No module named 'no_such_baseline'", False),
        (quick("o", "raise SystemExit('broken')", ours=True), "broken", True),
        (quick("f", "raise SystemExit('too many levels')", ours=True, refusable=True), "too many levels", False),
        (quick("e", "pass", environment=".venv-nowhere"), "no environment .venv-nowhere", False),
        (quick("n", "pass", ours=True, needs=("--workers",)), "no --workers here", False),
        (quick("l", "while True: pass", limit=0.2), "stopped after 0.2 s", False),
        (quick("p", f"open('{ROOT}/no/such')"), "[Errno 2] No such file or directory: '", False),
    ],
    ids=lambda one: one.name if isinstance(one, Subject) else "",
)
def test_what_cannot_run_is_a_gap_with_its_reason(subject: Subject, why: str, failed: bool) -> None:
    (found,) = measured([subject], {}, repeats=2)
    assert why in str(found.gap)
    assert str(ROOT) not in str(found.gap)
    assert (found.cpu, found.failed) == ([], failed)


# judgements


def of(name: str, cpu: list[float], **more: object) -> Measurement:
    return Measurement(name, name, cpu=cpu, wall=cpu, memory=[2**20 * one for one in cpu], **more)


PAIR = {"a": of("a", [2.0, 4.0, 3.0]), "b": of("b", [1.0, 2.0, 1.0])}


@pytest.mark.parametrize(
    ("figure", "others", "full", "met"),
    [
        (Figure("f", "f", "a", "b", limit=2.0), 0.0, True, True),
        (Figure("f", "f", "a", "b", limit=1.9), 0.0, True, False),
        (Figure("f", "f", "a", "b", limit=2.1, least=True), 0.0, True, False),
        (Figure("f", "f", "a", "b", limit=1.9), 0.0, False, None),
        (Figure("f", "f", "a", "b", limit=1.9, busy_limit=2.5), 1.0, True, True),
        (Figure("f", "f", "a", "b", "wall", limit=1.9), 1.0, True, None),
        (Figure("f", "f", "a", "b", "wall", limit=1.9), None, True, None),
        (Figure("f", "f", "a", "b", "wall", limit=1.9), 0.0, True, False),
        (Figure("f", "f", "a", of="memory", limit=3.0), 1.0, True, True),
        (Figure("f", "f", "a", "b"), 0.0, True, None),
    ],
)
def test_a_figure_is_judged_by_what_is_wanted(figure: Figure, others: float | None, full: bool, met: bool) -> None:
    found = results.judged(figure, PAIR, others, full=full)
    assert found.met is met
    assert found.values == ((2.0, 2.0, 3.0) if figure.bottom else (2.0, 4.0, 3.0))


def test_a_figure_of_a_gap_is_a_gap() -> None:
    pair = {**PAIR, "b": Measurement("b", "the baseline", gap="not installed")}
    found = results.judged(Figure("f", "f", "a", "b", limit=1.0), pair, 0.0, full=True)
    assert (found.gap, found.values, found.met) == ("the baseline: not installed", (), None)


# a run, kept, shown and compared


def kept(*values: float, bottom: str | None = "b", least: bool = False, gap: str | None = None) -> dict:
    figure = Figure("f", "ours over theirs", "a", bottom, least=least)
    baseline = Measurement("b", "the baseline", gap=gap) if gap else of("b", [1.0] * len(values))
    case = Case("case", "A case", (), (figure,))
    entry = results.entry(case, [of("a", list(values)), baseline], 0.5, full=False)
    return {"schema": results.SCHEMA, "profile": "quick", "cases": [entry]}


@pytest.mark.parametrize(
    ("new", "stored", "worse"),
    [
        (kept(1.0, 1.1, 1.2), kept(1.0, 1.1, 1.2), False),
        (kept(1.5, 1.6, 1.7), kept(1.0, 1.1, 1.2), True),
        (kept(0.5, 0.6, 0.7), kept(1.0, 1.1, 1.2), False),
        # beyond the stored median, but with a repeat as good as a stored one
        (kept(1.1, 1.6, 1.7), kept(1.0, 1.1, 1.2), False),
        # a little worse
        (kept(1.25, 1.3, 1.35), kept(1.0, 1.1, 1.2), False),
        # of a baseline over ours the larger is the better
        (kept(3.0, 3.1, least=True), kept(5.0, 5.1, least=True), True),
        (kept(8.0, 8.1, least=True), kept(5.0, 5.1, least=True), False),
        # what was measured is no longer there
        (kept(1.0, gap="fails"), kept(1.0), True),
        (kept(1.0), kept(1.0, gap="fails"), False),
        # seconds depend on the machine
        (kept(9.0, bottom=None), kept(1.0, bottom=None), False),
    ],
)
def test_a_worse_ratio_is_found(new: dict, stored: dict, worse: bool) -> None:
    assert bool(comparison.regressions(new, stored)) is worse


def test_runs_of_other_sizes_are_not_compared() -> None:
    with pytest.raises(ValueError, match="expected a run of the profile full, got one of quick"):
        comparison.regressions(kept(1.0), {**kept(1.0), "profile": "full"})


@pytest.mark.parametrize(("values", "code"), [((1.0, 1.1), 0), ((2.0, 2.1), 1)])
def test_the_check_fails_on_a_worse_ratio(values, code, tmp_path, monkeypatch, capsys) -> None:
    results.save(kept(*values), tmp_path / "new.json")
    results.save(kept(1.0, 1.1), tmp_path / "quick.json")
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "check", "--results", str(tmp_path / "new.json")])
    assert program.main() == code
    assert ("was 1.05, is 2.05" in capsys.readouterr().out) is bool(code)


def test_a_failure_of_ours_is_one_of_the_run() -> None:
    run = kept(1.0)
    assert running.failures(run) == []
    run["cases"][0]["measurements"][0] |= {"gap": "broken", "failed": True}
    assert running.failures(run) == ["case, a: broken"]


def test_a_gap_is_said_in_a_run_and_on_a_page() -> None:
    entry = kept(1.0, gap="not installed")["cases"][0]
    assert running.lines(entry) == ["ours over theirs: gap (the baseline: not installed)"]
    assert "| the baseline | gap: not installed | — | — |" in page.cases({"cases": [entry]})


def test_a_run_is_read_as_it_was_kept_and_another_schema_is_refused(tmp_path: Path) -> None:
    run = kept(1.25, 3.5)
    results.save(run, tmp_path / "r.json")
    assert results.load(tmp_path / "r.json") == json.loads(json.dumps(run))
    results.save({**run, "schema": 0}, tmp_path / "r.json")
    with pytest.raises(ValueError, match="expected schema 1, got 0"):
        results.load(tmp_path / "r.json")


# the stored run and its pages

STORED = results.load(results.stored())


@pytest.mark.parametrize("name", page.PAGES)
def test_pages_show_the_stored_run(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert page.filled(text, STORED) == text, "write it with: make bench-page"
    assert page.filled(text, {**STORED, "date": "2001-01-01"}) != text
    assert text.count("% begin ") == text.count("% end ") >= 3


@pytest.mark.parametrize("name", plots.PLOTS)
def test_pictures_are_of_the_stored_run(name: str) -> None:
    drawn = (ROOT / plots.FOLDER / f"bench-{name}.svg").read_text(encoding="utf-8")
    assert html.escape(plots.foot(STORED), quote=False) in drawn, "draw it with: make bench-page"


@pytest.mark.parametrize("file", sorted(results.FOLDER.glob("*.json")), ids=lambda file: file.name)
def test_a_stored_run_names_no_place_of_its_machine(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert [word for word in ("/tmp", "/home", "/root", "/work", "/usr", str(ROOT)) if word in text] == []
    assert results.load(file)["profile"] == file.stem


# the catalogue


@pytest.mark.parametrize("profile", PROFILES)
def test_cases_name_what_is_there(profile: str) -> None:
    every = cases(PROFILES[profile])
    files = tables(PROFILES[profile])
    for names in ([case.name for case in every], [figure.name for case in every for figure in case.figures]):
        assert len(names) == len(set(names))
    for case in every:
        known = {f"{one.name} {part}" for one in case.subjects for part in one.parts}
        known |= {one.name for one in case.subjects if not one.parts}
        assert {name for one in case.figures for name in (one.top, one.bottom) if name} <= known
        assert set(case.tables) <= set(files)
        held = {name for one in case.subjects for word in one.words for name in files if f"{{{name}}}" in word}
        assert held <= set(case.tables)


def test_every_wanted_figure_is_measured_with_a_limit() -> None:
    figures = {one.name: one for case in cases(PROFILES["full"]) for one in case.figures}
    assert set(page.WANTED) - set(page.STRICTER) == {name for name, one in figures.items() if one.limit is not None}
    for name in page.STRICTER:
        before = figures[page.WANTED[page.WANTED.index(name) - 1]]
        assert (figures[name].top, figures[name].of) == (before.top, before.of)
        assert figures[name].bottom == before.bottom.replace("whole", "read")
        assert figures[name].limit is None


def test_every_job_is_a_function_with_these_arguments() -> None:
    every = [one.words for case in cases(PROFILES["full"]) for one in case.subjects]
    every += [job(one.job, path="", **one.given) for one in tables(PROFILES["full"]).values()]
    asked = [words[2:] for words in every if words[1] == "benchmarks.jobs"]
    assert len(asked) > 50
    for name, given in asked:
        module, function = name.split(".")
        tree = ast.parse((ROOT / "benchmarks" / "jobs" / f"{module}.py").read_text())
        (found,) = (one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == function)
        assert set(json.loads(given)) <= {one.arg for one in found.args.args + found.args.kwonlyargs}, name


def test_the_processes_that_measure_load_the_standard_library_alone() -> None:
    for name in ("launcher", "measuring"):
        tree = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text())
        loaded = {one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}
        loaded |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {one.split(".")[0] for one in loaded} <= sys.stdlib_module_names


def test_the_parquet_file_has_dictionaries_for_rounded_columns_alone(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(job_tables, "GROUP", 1000)
    job_tables.parquet(str(tmp_path / "t.parquet"), 2500, 4)
    file = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert [file.row_group(index).num_rows for index in range(file.num_row_groups)] == [1000, 1000, 500]
    first = [file.row_group(0).column(index) for index in range(5)]
    assert {one.compression for one in first} == {"SNAPPY"}
    assert [one.has_dictionary_page for one in first] == [True, False, True, False, False]
    x0, x1 = (pq.read_table(tmp_path / "t.parquet")[name].to_numpy() for name in ("x0", "x1"))
    assert np.array_equal(x0, x0.round(2))
    assert not np.array_equal(x1, x1.round(2))


def test_a_case_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown case nothing; choose from start-up, large"):
        running.chosen(cases(PROFILES["tiny"]), ["nothing"])

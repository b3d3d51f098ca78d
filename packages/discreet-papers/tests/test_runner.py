"""Cells run in any process, are kept, and give the same numbers in every run."""

import threading
from dataclasses import replace
from multiprocessing import active_children

import pytest

from discreet.errors import OutputError, SpecError
from discreet_papers.figure import Run
from discreet_papers.runner import (
    KEPT,
    FailedCellError,
    check_workers,
    output_folder,
    run_cells,
    run_figures,
    seed_of,
)
from support.toy_figure import BROKEN, TOY

QUICK = Run(quick=True)


def test_a_figure_is_run_judged_and_kept(tmp_path):
    seen = []
    (first,) = run_figures([TOY], QUICK, tmp_path, workers=2, progress=lambda *done: seen.append(done))
    assert first.verdict == "reproduced"
    assert len(first.numbers) == 3 * 40
    assert [done for _, done, _ in seen] == [1, 2, 3]
    assert {(name, total) for name, _, total in seen} == {("park-1", 3)}
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / KEPT).rglob("*.json")}
    (again,) = run_figures([TOY], QUICK, tmp_path, workers=1)
    assert again.numbers.equals(first.numbers)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / KEPT).rglob("*.json")}
    assert again.seconds == first.seconds


def test_a_cell_that_was_cut_off_is_run_again(tmp_path):
    (first,) = run_figures([TOY], QUICK, tmp_path, workers=1)
    for path in (tmp_path / KEPT).rglob("*.json"):
        path.write_text("{")
    (again,) = run_figures([TOY], QUICK, tmp_path, workers=1)
    assert again.numbers.equals(first.numbers)


def test_a_full_run_and_other_tables_do_not_use_what_was_kept(tmp_path):
    list(run_figures([TOY], QUICK, tmp_path, workers=1))
    (full,) = run_figures([TOY], Run(), tmp_path, workers=1)
    assert len(full.numbers) == 3 * 400
    (tmp_path / "data").mkdir()
    list(run_figures([TOY], Run(quick=True, data=tmp_path / "data"), tmp_path, workers=1))
    assert len(list((tmp_path / KEPT).rglob("*.json"))) == 9


def test_a_cell_that_fails_is_named_and_finished_ones_are_kept(tmp_path):
    with pytest.raises(FailedCellError, match=r"the cell 'broken' of park-1 failed \(RuntimeError: no such luck\)"):
        list(run_figures([BROKEN], QUICK, tmp_path, workers=1))
    assert len(list((tmp_path / KEPT).rglob("*.json"))) == 3


def test_a_run_that_fails_leaves_no_process_and_no_thread(tmp_path):
    before = set(threading.enumerate()), set(active_children())
    with pytest.raises(FailedCellError):
        list(run_figures([BROKEN], QUICK, tmp_path, workers=2))
    assert set(threading.enumerate()) <= before[0]
    assert set(active_children()) <= before[1]


def test_a_method_of_the_reader_is_drawn_and_refused_where_nothing_is_predicted(tmp_path):
    own = Run(quick=True, method="support.toy_figure:mean_method")
    (result,) = run_figures([TOY], own, tmp_path, workers=1)
    assert set(result.numbers["line"]) == {"Laplace", "your method"}
    expected = "no other method can be drawn on park-1, because these figures are not about predictions"
    with pytest.raises(SpecError, match=expected):
        list(run_figures([replace(TOY, predictions=False)], own, tmp_path))
    with pytest.raises(SpecError, match="cannot import"):
        list(run_figures([TOY], Run(method="no_such_module:make"), tmp_path))


def test_two_figures_share_the_processes_and_no_seed(tmp_path):
    other = replace(TOY, name="notes-mean")
    results = {one.figure.name: one for one in run_figures([TOY, other], QUICK, tmp_path, workers=2)}
    assert set(results) == {"park-1", "notes-mean"}
    assert not results["park-1"].numbers.equals(results["notes-mean"].numbers)
    assert seed_of("park-1", "a") != seed_of("notes-mean", "a")


def test_cells_are_run_and_kept_by_what_they_depend_on(tmp_path):
    cells = list(TOY.cells(QUICK))
    first = {cell: done for _, cell, done in run_cells({"a": cells}, tmp_path, depends="x", workers=1)}
    assert set(first) == {cell.name for cell in cells}
    again = {cell: done for _, cell, done in run_cells({"a": cells}, tmp_path, depends="x", workers=1)}
    assert again == first
    list(run_cells({"a": cells}, tmp_path, depends="y", workers=1))
    assert len(list((tmp_path / KEPT).rglob("*.json"))) == 2 * len(cells)


@pytest.mark.parametrize("workers", [0, -1, True, 1.5, "2"])
def test_a_number_of_processes_that_is_none_is_refused(workers):
    with pytest.raises(SpecError, match="workers: expected a positive integer"):
        check_workers(workers)


def test_the_folder_of_a_run_is_made(tmp_path):
    assert output_folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "c").write_text("")
    with pytest.raises(OutputError, match="cannot create the folder"):
        output_folder(tmp_path / "c")

"""Run figures and errata. Cells run in parallel and are stored on disk, so that an interrupted run can continue."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import discreet
from discreet import __version__
from discreet.errors import DiscreetError, OutputError, SpecError
from discreet.exact.arrays import one_blas_thread
from discreet.files import checked_path, write_bytes
from discreet.wording import LeaveOut
from discreet_papers.figure import Cell, Criterion, Erratum, Figure, Outcome, Row, Run, Verdict, verdict_of
from discreet_papers.figure_catalogue import errata

if TYPE_CHECKING:
    from pandas import DataFrame

KEPT: Final = ".cells"  # folder of finished cells
MASTER_SEED: Final = 12  # all seeds are derived from it; set once, after every criterion was fixed
_PATIENCE: Final = 5.0  # seconds to wait for a process to end


class FailedCellError(DiscreetError):
    """Failure of one cell of a figure. Finished cells are kept, and the same command continues from them."""


@dataclass(frozen=True)
class Result:
    """Result of a figure: a row of numbers per measurement, the outcome of each criterion, and CPU seconds."""

    figure: Figure
    run: Run
    numbers: DataFrame = field(repr=False)
    outcomes: tuple[tuple[Criterion, Outcome], ...]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from all criteria."""
        return verdict_of(self.outcomes)


@dataclass(frozen=True)
class ShownErratum:
    """Result of an erratum."""

    erratum: Erratum
    outcome: Outcome
    seconds: float

    @property
    def verdict(self) -> str:
        """`refuted` if the document's claim does not hold, `holds` if it does."""
        return "holds" if self.outcome.holds else "refuted"


def seed_of(figure: str, cell: str) -> int:
    """Return the seed of a cell, which is the same in every run and different for every cell.

    >>> seed_of("park-1", "n = 1000") == seed_of("park-1", "n = 1000") != seed_of("park-1", "n = 3000")
    True
    """
    return int.from_bytes(hashlib.sha256(f"{MASTER_SEED}/{figure}/{cell}".encode()).digest()[:8])


def check_workers(workers: int | None) -> None:
    """Reject a number of processes that is not a positive integer."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise SpecError(f"workers: expected a positive integer, got {workers!r}")


def output_folder(output: str | os.PathLike[str]) -> Path:
    """Return the output folder of a run, created if necessary."""
    folder = checked_path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot create the folder {str(folder)!r}: {error.strerror}") from None
    return folder


def run_figures(
    figures: Sequence[Figure],
    run: Run,
    folder: Path,
    *,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> Generator[Result, None, None]:
    """Run the cells of all figures in parallel, and yield each result when its last cell is finished.

    Finished cells are stored in `folder`. The same version of the program reuses them on the same tables. `progress` is
    called after each cell with the name of its figure, the number of finished cells and the total.
    """
    if run.method is not None:
        check_method(figures, run.method)
    depends = f"{_tables_digest(run.data)} {_method_digest(run.method)}"
    works = {figure.name: list(figure.cells(run)) for figure in figures}
    total = sum(map(len, works.values()))
    left = {figure.name: {cell.name for cell in works[figure.name]} for figure in figures}
    done_cells: dict[str, dict[str, Done]] = {figure.name: {} for figure in figures}
    by_name = {figure.name: figure for figure in figures}
    # closed explicitly, so that the processes stop too if a run is stopped while a figure is written
    with closing(run_cells(works, folder, depends=depends, workers=workers)) as finished:
        for done, (name, cell, rows) in enumerate(finished, start=1):
            done_cells[name][cell] = rows
            left[name].discard(cell)
            progress(name, done, total)
            if not left[name]:
                yield _result(by_name[name], run, [done_cells[name][work.name] for work in works[name]])


def run_errata() -> Iterator[ShownErratum]:
    """Evaluate the incorrect claims of the documents in order."""
    for erratum in errata():
        began = time.perf_counter()
        with one_blas_thread():
            outcome = erratum.show()
        yield ShownErratum(erratum, outcome, time.perf_counter() - began)


@dataclass(frozen=True)
class Done:
    """Rows of a finished cell, and the seconds that it took."""

    rows: list[Row]
    seconds: float


def _result(figure: Figure, run: Run, cells: Sequence[Done]) -> Result:
    from pandas import DataFrame

    numbers = DataFrame([row for cell in cells for row in cell.rows])
    outcomes = tuple((criterion, criterion.check(numbers)) for criterion in figure.criteria)
    return Result(figure, run, numbers, outcomes, sum(cell.seconds for cell in cells))


def check_method(figures: Sequence[Figure], method: str) -> None:
    """Reject a method that cannot be imported, or figures on which no method can be drawn."""
    from discreet_papers.methods import reader_method

    if refused := [figure.name for figure in figures if not figure.predictions]:
        raise SpecError(
            f"no other method can be drawn on {', '.join(refused)}, because these figures are not about predictions",
            option="with",
            remedy=LeaveOut("with"),
        )
    reader_method(method)


def run_cells(
    works: Mapping[str, Sequence[Cell]], folder: Path, *, depends: str = "", workers: int | None = None
) -> Generator[tuple[str, str, Done], None, None]:
    """Yield every cell with its rows: stored cells first, then the others as they finish.

    `works` maps the name of a figure or comparison to its cells; seeds are derived from both names. `folder` holds the
    finished cells. `depends` describes dependencies of the cells other than the program, their names and arguments. By
    default, `workers` is the number of cores.
    """
    kept = _Kept(folder / KEPT, depends)
    todo: list[tuple[str, Cell]] = []
    for name, cells in works.items():
        for cell in cells:
            if (rows := kept.read(name, cell)) is not None:
                yield name, cell.name, rows
            else:
                todo.append((name, cell))
    if not todo:
        return
    with _pool(min(workers or os.cpu_count() or 1, len(todo))) as pool:
        running: dict[Future[Done], tuple[str, Cell]] = {
            pool.submit(_work, cell, seed_of(name, cell.name)): (name, cell) for name, cell in todo
        }
        while running:
            ended = wait(running, return_when=FIRST_COMPLETED).done
            # store the successful cells before a failure ends the run
            for future in sorted(ended, key=lambda item: item.exception() is not None):
                name, cell = running.pop(future)
                rows = _rows(future, name, cell)
                kept.write(name, cell, rows)
                yield name, cell.name, rows


def _rows(future: Future[Done], name: str, cell: Cell) -> Done:
    try:
        return future.result()
    except DiscreetError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise FailedCellError(
            f"the cell {cell.name!r} of {name} failed ({what}); finished cells are kept, and the same command "
            "continues from them"
        ) from error


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    others, threads = set(active_children()), set(threading.enumerate())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_signals_to_parent)
    try:
        yield pool
    except BaseException:
        # do not wait for running cells, which may take half a minute
        pool.shutdown(wait=False, cancel_futures=True)
        _end(set(active_children()) - others)
        # a pool thread that is still closing its pipes when Python exits would print a traceback
        for thread in set(threading.enumerate()) - threads:
            thread.join(_PATIENCE)
        raise
    pool.shutdown()


def _end(processes: Collection[BaseProcess]) -> None:
    """Stop processes and wait until they have ended."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(_PATIENCE)
        if process.is_alive():
            process.kill()


def _leave_signals_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(cell: Cell, seed: int) -> Done:
    began = time.perf_counter()
    with one_blas_thread():
        rows = cell.work(seed=seed, **cell.arguments)
    return Done(rows, time.perf_counter() - began)


class _Kept:
    """Finished cells on disk, each under a digest of everything that it depends on."""

    def __init__(self, folder: Path, depends: str) -> None:
        self._folder = folder
        self._depends = f"{__version__} {_source_digest()} {depends}"

    def read(self, figure: str, cell: Cell) -> Done | None:
        try:
            stored = json.loads(self._path(figure, cell).read_text(encoding="utf-8"))
            return Done(stored["rows"], stored["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            # missing, or truncated by a crash: the cell runs again
            return None

    def write(self, figure: str, cell: Cell, done: Done) -> None:
        path = self._path(figure, cell)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot create the folder {str(path.parent)!r}: {error.strerror}") from None
        text = json.dumps({"rows": done.rows, "seconds": done.seconds})
        write_bytes(path, text.encode(), force=True)

    def _path(self, figure: str, cell: Cell) -> Path:
        depends = f"{self._depends} {cell.name} {cell.work.__qualname__} {sorted(cell.arguments.items())!r}"
        return self._folder / figure / f"{hashlib.sha256(depends.encode()).hexdigest()[:24]}.json"


def _source_digest() -> str:
    """Digest the sources of this package and of the library, so that any change invalidates stored cells."""
    digest = hashlib.sha256()
    for package in (Path(discreet.__file__).parent, Path(__file__).parent):
        for path in sorted(package.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _method_digest(method: str | None) -> str:
    from discreet_papers.methods import source_digest

    return "None" if method is None else f"{method} {source_digest(method)}"


def _tables_digest(folder: Path | None) -> str:
    if folder is None:
        return ""
    tables = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.iterdir())]
    return hashlib.sha256(repr(tables).encode()).hexdigest()

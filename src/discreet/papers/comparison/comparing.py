"""Methods side by side: the public function behind `discreet compare-methods`."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.errors import SpecError, missing_extra
from discreet.papers.comparison.contenders import BASELINE, REFERENCE, check_methods, default_methods, kind_of
from discreet.papers.comparison.result import MethodComparisonNotPrivate
from discreet.papers.comparison.scores import EPSILONS, QUICK_SPLITS, SPLITS, Protocol, score_method, scored
from discreet.papers.comparison.tables import PublicTable, public_tables
from discreet.papers.figure import Cell, Row
from discreet.papers.methods import Factory, Regressor, source_digest
from discreet.papers.runner import KEPT, check_workers, output_folder, run_cells, seed_of

if TYPE_CHECKING:
    from pandas import DataFrame

NAME: Final = "compare-methods"
_NEEDS: Final = ("matplotlib", "pandas", "sklearn")
Progress = Callable[[str, int, int], None]


def compare_methods(
    data: object = None,
    *,
    target: str | None = None,
    data_is_public: bool = False,
    data_is_simulated: bool = False,
    methods: Sequence[str] | None = None,
    own: Mapping[str, Factory | Regressor] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    delta: float | None = None,
    splits: int | None = None,
    test_share: float = 0.1,
    widen: float = 0.1,
    baseline: str = BASELINE,
    quick: bool = False,
    output: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress = lambda name, done, total: None,
) -> MethodComparisonNotPrivate:
    """Compare methods of private regression on tables that need no protection; NOT PRIVATE.

    The boxes that every method is given are read off the table, and exact errors are printed: both are for public or
    simulated data alone, so the caller has to say that the data are.

    Parameters
    ----------
    data
        Path of a CSV or Parquet file, a data frame, several of them, or a mapping of names to them; a simulated table
        unless given. Text becomes columns of 0 and 1, rows with missing cells are left out.
    target
        Column to predict.
    data_is_public, data_is_simulated
        One of them must be true where data are given.
    methods
        Names: mechanisms of this library (`gaussian`, also with a penalty as `gaussian/ridge`, or `auto`), rivals,
        references, or methods of your own as `module:factory`. Unless given, all that use delta.
    own
        Further methods by name: an object with `fit` and `predict`, which is copied for every fit, or a factory called
        with `epsilon`, `delta`, `bounds` and `target_bounds`. They run in this process and are not kept.
    epsilons, delta
        Budgets; delta is n^-1.1 unless given, n being the number of training rows.
    splits, test_share
        Random splits, the same for all methods: ten (three with `quick`), a tenth of the rows held out.
    widen
        Share of a column's range that its box adds on each side.
    baseline
        Method to which ratios are taken.
    quick
        Three splits.
    output
        Folder for CSV, pictures and a page, and for finished parts, from which the same call goes on.
    workers
        Number of processes; all cores unless given.
    progress
        Called with a name, the number of finished parts and the number of all parts.

    Returns
    -------
    MethodComparisonNotPrivate

    Examples
    --------
    >>> import discreet
    >>> found = discreet.compare_methods(methods=["mean", "gaussian"], epsilons=[1.0], quick=True, workers=1)
    >>> sorted(set(found.numbers["method"]))
    ['adassp-published', 'gaussian', 'mean', 'ols']
    """
    _check_installed()
    if data is not None and data_is_public is not True and data_is_simulated is not True:
        raise SpecError(
            "comparing methods reads bounds off the data and prints exact errors, so it is for public or simulated "
            "data alone; if these are, say data_is_public=True or data_is_simulated=True (--data-is-public, "
            "--data-is-simulated)"
        )
    chosen = [REFERENCE, *(default_methods() if methods is None else methods), baseline]
    wanted = list(dict.fromkeys(chosen))
    check_methods(wanted)
    mine = dict(own or {})
    if taken := sorted(set(mine) & set(wanted)):
        raise SpecError(f"own: expected names that no other method has, got {', '.join(taken)}")
    protocol = Protocol(
        tuple(dict.fromkeys(map(float, epsilons))),
        delta,
        splits if splits is not None else QUICK_SPLITS if quick else SPLITS,
        test_share,
        widen,
    )
    check_workers(workers)
    tables = public_tables(data, target)
    if output is None:
        with tempfile.TemporaryDirectory() as passing:
            numbers = _numbers(tables, wanted, mine, protocol, Path(passing), workers, progress)
        return MethodComparisonNotPrivate(numbers, protocol, baseline, _notes(tables, numbers))
    folder = output_folder(output)
    numbers = _numbers(tables, wanted, mine, protocol, folder, workers, progress)
    return MethodComparisonNotPrivate(numbers, protocol, baseline, _notes(tables, numbers)).write(folder)


def _numbers(
    tables: Sequence[PublicTable],
    wanted: Sequence[str],
    own: Mapping[str, Factory | Regressor],
    protocol: Protocol,
    folder: Path,
    workers: int | None,
    progress: Progress,
) -> DataFrame:
    """All measurements, in the order of tables, methods, epsilons and splits."""
    from pandas import DataFrame

    cells = [
        _cell(table, method, epsilon, protocol, folder)
        for table in tables
        for method in wanted
        for epsilon in protocol.epsilons
    ]
    mine = [(table, name, epsilon) for table in tables for name in own for epsilon in protocol.epsilons]
    total = len(cells) + len(mine)
    found: dict[str, list[Row]] = {}
    with closing(run_cells({NAME: cells}, folder, workers=workers)) as finished:
        for done, (_, cell, result) in enumerate(finished, start=1):
            found[cell] = result.rows
            progress(cell.rpartition(", ")[0], done, total)
    rows = [row for cell in cells for row in found[cell.name]]
    for done, (table, name, epsilon) in enumerate(mine, start=len(cells) + 1):
        rows += score_method(table.name, name, own[name], table.x, table.y, epsilon, protocol, seed_of(NAME, name))
        progress(name, done, total)
    return DataFrame(rows)


def _cell(table: PublicTable, method: str, epsilon: float, protocol: Protocol, folder: Path) -> Cell:
    given = {
        "path": str(table.save(folder / KEPT)),
        "table": table.name,
        "method": method,
        "epsilon": epsilon,
        "delta": protocol.delta,
        "splits": protocol.splits,
        "test_share": protocol.test_share,
        "widen": protocol.widen,
        "digest": source_digest(method) if kind_of(method) == "own" else "",
    }
    # the name holds everything but the path, so that seeds are the same in every folder
    known = repr((table.digest, sorted((key, value) for key, value in given.items() if key != "path")))
    mark = hashlib.sha256(known.encode()).hexdigest()[:8]
    return Cell(f"{table.name}, {method}, epsilon {epsilon:g}, {mark}", scored, given)


def _notes(tables: Sequence[PublicTable], numbers: DataFrame) -> tuple[str, ...]:
    """What was left out of the tables, and which methods refused which of them."""
    notes = [note for table in tables for note in table.notes]
    refused = numbers[numbers["note"] != ""].drop_duplicates(["table", "method", "note"])
    notes += [f"{one.method} refused {one.table}: {one.note}" for one in refused.itertuples()]
    return tuple(notes)


def _check_installed() -> None:
    for name in _NEEDS:
        if find_spec(name) is None:
            raise missing_extra("papers", name, "comparing methods")

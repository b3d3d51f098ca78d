"""Reproduce figures of the source documents: the public functions behind `discreet reproduce`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from discreet.errors import SpecError
from discreet.files import checked_path
from discreet_papers.figure import Run
from discreet_papers.figure_catalogue import DOCUMENTS, NAMES, figure_named, shipped_verdicts
from discreet_papers.runner import (
    Result,
    ShownErratum,
    check_method,
    check_workers,
    output_folder,
    run_errata,
    run_figures,
)
from discreet_papers.writing import verdicts, write_figure, write_verdicts

_NEEDS: Final = ("matplotlib", "pandas", "sklearn", "cvxpy", "statsmodels")


@dataclass(frozen=True)
class Reproduction:
    """Results of a run, and the paths of the written files.

    Attributes
    ----------
    results
        One result per figure, in catalogue order.
    errata
        Results for the errata. Empty unless all figures were run.
    files
        Paths of the written files.
    """

    results: tuple[Result, ...]
    errata: tuple[ShownErratum, ...]
    files: tuple[Path, ...]

    def to_dict(self) -> dict[str, object]:
        """Return all verdicts as values that JSON can store."""
        return {**verdicts(self.results, self.errata), "files": [str(path) for path in self.files]}


def figures() -> tuple[dict[str, object], ...]:
    """Return a description of every figure: name, document, claim, and the verdict and seconds of the shipped run.

    >>> [figure["name"] for figure in figures() if figure["document"] == "park"]
    ['park-1']
    """
    _check_installed()
    shipped = shipped_verdicts()
    descriptions = []
    for name in NAMES:
        figure, verdict = figure_named(name), shipped.get(name, {})
        descriptions.append(
            {
                "name": name,
                "document": figure.document,
                "citation": DOCUMENTS[figure.document].citation,
                "title": figure.title,
                "says": figure.says,
                "verdict": verdict.get("verdict", "not run"),
                "seconds": verdict.get("seconds"),
            }
        )
    return tuple(descriptions)


def reproduce(
    names: str | Sequence[str] | None = None,
    *,
    output: str | os.PathLike[str],
    quick: bool = False,
    data: str | os.PathLike[str] | None = None,
    method: str | None = None,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> Reproduction:
    """Run figures of the source documents again, judge them, and write plots, numbers and pages.

    Parameters
    ----------
    names
        Name of one figure or of several. By default, all figures and the errata.
    output
        Folder for the files and for finished cells. If a run is interrupted, the same call continues it.
    quick
        Run fewer repetitions. Lines, panels, data sets and the range of epsilon stay the same.
    data
        Folder of Parquet tables. By default, only tables of installed packages are used.
    method
        Your method as `module:factory`, drawn on the same axes. `factory(epsilon=, delta=, bounds=, target_bounds=)`
        returns an object with `fit(X, y)` and `predict(X)`.
    workers
        Number of processes. By default, all cores.
    progress
        Called after each cell with the name of its figure, the number of finished cells and the total.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduction = reproduce("notes-response", output=folder, quick=True, workers=1)
    >>> reproduction.results[0].verdict
    'reproduced'
    """
    _check_installed()
    wanted = [figure_named(name) for name in _wanted(names)]
    run = Run(quick=quick, data=_folder(data), method=method)
    check_workers(workers)
    if method is not None:
        check_method(wanted, method)
    folder = output_folder(output)
    results: dict[str, Result] = {}
    written: dict[str, tuple[Path, ...]] = {}
    with closing(run_figures(wanted, run, folder, workers=workers, progress=progress)) as finished:
        for result in finished:
            results[result.figure.name] = result
            written[result.figure.name] = write_figure(result, folder)
    ordered = tuple(results[figure.name] for figure in wanted)
    shown = tuple(run_errata()) if names is None else ()
    last = () if names is not None else (write_verdicts(ordered, shown, folder),)
    paths = tuple(path for figure in wanted for path in written[figure.name])
    return Reproduction(ordered, shown, (*paths, *last))


def _wanted(names: str | Sequence[str] | None) -> Sequence[str]:
    if names is None:
        return NAMES
    return list(dict.fromkeys([names] if isinstance(names, str) else names))


def _folder(data: str | os.PathLike[str] | None) -> Path | None:
    if data is None:
        return None
    folder = checked_path(data)
    if not folder.is_dir():
        raise SpecError(f"data: expected a folder with Parquet files, got {str(folder)!r}")
    return folder


def _check_installed() -> None:
    for name in _NEEDS:
        if find_spec(name) is None:
            raise SpecError(
                f"reproducing a figure needs {name!r}, which is not installed",
                code="missing-dependency",
                remedy="in the root folder of the repository, run: pip install . ./packages/discreet-papers",
            )

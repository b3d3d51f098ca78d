"""Compare methods on public or simulated tables. NOT PRIVATE."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Final

from discreet import __version__
from discreet.errors import OptionError, SpecError
from discreet.files import write_bytes
from discreet.wording import Message, Option, SetOption
from discreet_papers.comparison import method_scores
from discreet_papers.comparison.method_scores import (
    BASELINE,
    CAP,
    EPSILONS,
    QUICK_SPLITS,
    REFERENCE,
    SPLITS,
    Protocol,
    check_methods,
    default_methods,
    kind_of,
    score_method,
    scored,
)
from discreet_papers.comparison.method_tables import PublicTable, public_tables
from discreet_papers.figure import Cell, Row
from discreet_papers.methods import Factory, Regressor, source_digest
from discreet_papers.runner import KEPT, check_workers, output_folder, run_cells, seed_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

# -- result ------------------------------------------------------------------------------------------------------------
# Results of a comparison: numbers, tables, plot and files, all marked NOT PRIVATE.

STEM: Final = "compare-methods-NOT-PRIVATE"
WARNING: Final = "NOT PRIVATE: bounds and errors come from the rows themselves; for public or simulated data only."
_BAND: Final = (0.1, 0.9)
_DOTS: Final = 130
_WIDTH: Final = 120  # characters in a line of Markdown
_PANEL: Final = (6.4, 4.2)  # inches
_MARKS: Final = {"reference": " (no privacy)", "own": " (yours)"}


@dataclass(frozen=True, eq=False)
class MethodComparisonNotPrivate:
    """A comparison of methods on public or simulated tables. NOT PRIVATE: no part of it is a release.

    Attributes
    ----------
    numbers
        A row for each table, method, epsilon and split. `value` is 1 - R2 on the test rows, missing if the method
        failed.
    protocol
        Splits, budgets and bounds of the comparison.
    baseline
        Method that ratios refer to.
    notes
        What was left out, one sentence each.
    files
        Paths of the written files.
    """

    numbers: DataFrame = field(repr=False)
    protocol: Protocol
    baseline: str
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    def medians(self) -> DataFrame:
        """Return the median of 1 - R2 over splits, capped at 10: a row per table and method, a column per epsilon."""
        return method_scores.medians(self.numbers)

    def excess(self) -> DataFrame:
        """Return the median of 1 - R2 minus the median of least squares on the same splits, at least 0.002."""
        return method_scores.excess(self.numbers)

    def ratios(self) -> DataFrame:
        """Return ratios of the excess error to the baseline: geometric means over tables, by epsilon and overall."""
        return method_scores.ratios(self.numbers, self.baseline)

    def label(self, method: str) -> str:
        """Return the display name of a method, with a mark if it has no privacy or is the user's own."""
        kinds = self.numbers.loc[self.numbers["method"] == method, "kind"]
        return method + _MARKS.get(str(kinds.iloc[0]), "")

    def plot(self) -> Picture:
        """Plot a panel for each table, with the median of each method and a band from 10% to 90% of the splits."""
        from discreet.analyst.plots.style import COLOURS
        from discreet_papers.drawing import legend, panels, plain_scales, style

        scores = self.numbers.dropna(subset="value")
        scores = scores.assign(value=scores["value"].clip(upper=CAP))
        titles = list(dict.fromkeys(scores["table"]))
        picture, grid = panels([str(title) for title in titles], across=2, size=_PANEL)
        for axes, title in zip(grid, titles, strict=True):
            inside = scores[scores["table"] == title]
            for position, method in enumerate(dict.fromkeys(scores["method"])):
                grouped = inside[inside["method"] == method].groupby("epsilon")["value"]
                middle = grouped.median()
                axes.plot(middle.index, middle.to_numpy(), label=self.label(str(method)), **style(position))
                low, high = (grouped.quantile(quantile) for quantile in _BAND)
                colour = COLOURS[position % len(COLOURS)]
                axes.fill_between(middle.index, low, high, color=colour, alpha=0.1, linewidth=0)
            plain_scales(axes, self.protocol.epsilons)
            axes.set_xlabel("epsilon")
            axes.set_ylabel("1 - R2 on test rows")
        legend(picture, grid, columns=3 if len(titles) == 1 else 5)
        picture.suptitle("NOT PRIVATE: methods on public or simulated data", fontsize=10)
        return picture

    def by_table(self) -> dict[str, DataFrame]:
        """Return the medians of each table, with a row for each method."""
        medians = self.medians()
        return {str(table): medians.xs(table, level="table") for table in medians.index.unique("table")}

    def cells(self, frame: DataFrame) -> tuple[list[str], list[list[str]]]:
        """Format the headers and rows of one of the tables."""
        columns = (name if isinstance(name, str) else f"epsilon {name:g}" for name in frame.columns)
        headers = ["method", *columns]
        return headers, [[self.label(str(name)), *map(three, row)] for name, *row in frame.itertuples()]

    def to_markdown(self) -> str:
        """Return protocol, ratios and medians as Markdown."""
        lines = ["# Methods side by side, NOT PRIVATE", "", WARNING, "", fill(self._how(), _WIDTH), ""]
        lines += [f"## Ratio of excess error to {self.baseline}", ""]
        lines += ["Geometric mean over tables. The baseline has ratio 1, and smaller is better.", ""]
        lines += _markdown(*self.cells(self.ratios().sort_values("all")))
        for table, inside in self.by_table().items():
            lines += ["", f"## 1 - R2 on {table}, median over splits", "", *_markdown(*self.cells(inside))]
        if self.notes:
            lines += ["", "## Notes", "", *(fill(f"- {note}", _WIDTH, subsequent_indent="  ") for note in self.notes)]
        return "\n".join([*lines, ""])

    def to_dict(self) -> dict[str, object]:
        """Return medians, excess errors and ratios as values that JSON can store."""
        frames = {"medians": self.medians(), "excess": self.excess()}
        values: dict[str, object] = {"not_private": WARNING, "baseline": self.baseline}
        for name, frame in frames.items():
            values[name] = [
                {"table": table, "method": method, "epsilon": float(epsilon), "value": float(value)}
                for (table, method), row in frame.iterrows()
                for epsilon, value in row.items()
                if value == value  # not missing
            ]
        values["ratios"] = [
            {"method": method, "epsilon": column if column == "all" else float(column), "value": float(value)}
            for method, row in self.ratios().iterrows()
            for column, value in row.items()
            if value == value  # not missing
        ]
        return {**values, "notes": list(self.notes), "files": [str(path) for path in self.files]}

    def write(self, folder: Path) -> MethodComparisonNotPrivate:
        """Write CSV, plots and page to a folder, replacing earlier files. Return a copy with their paths."""
        contents = {".csv": self._csv(), **self._pictures(), ".md": self.to_markdown().encode()}
        paths = tuple(folder / f"{STEM}{suffix}" for suffix in contents)
        for path, content in zip(paths, contents.values(), strict=True):
            write_bytes(path, content, force=True)
        return replace(self, files=paths)

    def __str__(self) -> str:
        return self.to_markdown()

    def _how(self) -> str:
        protocol = self.protocol
        delta = "1/n^1.1" if protocol.delta is None else f"{protocol.delta:g}"
        return (
            f"{protocol.splits} splits with {protocol.test_share:.0%} of the rows held out; delta = {delta}; one row "
            f"is added or removed; bounds are the range of each column, widened on each side by {protocol.widen:.0%} "
            "of the range. The noise of baselines has fixed seeds; the noise of the library's mechanisms has none."
        )

    def _csv(self) -> bytes:
        head = f"# {WARNING}\n# discreet {__version__}; {self._how()}\n"
        numbers = str(self.numbers.to_csv(index=False, float_format="%.8g", lineterminator="\n"))
        return (head + numbers).encode()

    def _pictures(self) -> dict[str, bytes]:
        picture = self.plot()
        contents = {}
        for suffix in (".png", ".svg"):
            written = BytesIO()
            picture.savefig(written, format=suffix[1:], dpi=_DOTS)
            contents[suffix] = written.getvalue()
        return contents


def three(value: float) -> str:
    """Format a number with three decimals, or a missing number as `refused`.

    >>> three(0.12345), three(float("nan"))
    ('0.123', 'refused')
    """
    return "refused" if value != value else f"{value:.3f}"


def _markdown(headers: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (headers, ["---", *["---:"] * (len(headers) - 1)], *rows)]


# -- comparing ---------------------------------------------------------------------------------------------------------
# The public function behind `discreet compare-methods`.

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
    """Compare methods of private regression on tables that need no protection. NOT PRIVATE.

    The bounds for every method come from the table, and exact errors are printed. Both are acceptable only for public
    or simulated data, so the caller must declare that the data is public or simulated.

    Parameters
    ----------
    data
        Path of a CSV or Parquet file, a data frame, several of them, or a mapping of names to them. By default, a
        simulated table. Text becomes indicator columns, and rows with missing cells are dropped.
    target
        Column to predict.
    data_is_public, data_is_simulated
        One of them must be true if data is given.
    methods
        Mechanisms of this library (`gaussian`, `auto`, or with a penalty `gaussian/ridge`), baselines and references by
        name, or your methods as `module:factory`. By default, all methods that use delta.
    own
        Your methods by name. A method is an object with `fit` and `predict`, which is copied for every fit, or a
        factory, which is called with `epsilon`, `delta`, `bounds` and `target_bounds`. They run in this process, and
        their results are not cached.
    epsilons, delta
        Budgets. By default, delta is n^-1.1 for n training rows.
    splits, test_share
        Number of random splits, which are the same for all methods, and fraction of rows held out. By default, ten
        splits (three with `quick`) and a tenth of the rows.
    widen
        Fraction of a column's range by which its bounds are widened on each side.
    baseline
        Method that ratios refer to.
    quick
        Use three splits.
    output
        Folder for CSV, plots, a page and finished cells. If a run is interrupted, the same call continues it.
    workers
        Number of processes. By default, all cores.
    progress
        Called after each cell with its name, the number of finished cells and the total.

    Returns
    -------
    MethodComparisonNotPrivate

    Examples
    --------
    >>> import discreet_papers
    >>> comparison = discreet_papers.compare_methods(
    ...     methods=["mean", "gaussian"], epsilons=[1.0], quick=True, workers=1
    ... )
    >>> sorted(set(comparison.numbers["method"]))
    ['adassp-published', 'gaussian', 'mean', 'ols']
    """
    _check_installed()
    if data is not None and data_is_public is not True and data_is_simulated is not True:
        raise OptionError(
            "comparing methods takes bounds from the data and prints exact errors, so the data must be public or "
            "simulated",
            code="data-may-be-private",
            option="data_is_public",
            remedy=Message(
                "if the data is, ", SetOption("data_is_public", True), " or ", Option("data_is_simulated", True)
            ),
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
    """Return all measurements, ordered by table, method, epsilon and split."""
    from pandas import DataFrame

    cells = [
        _cell(table, method, epsilon, protocol, folder)
        for table in tables
        for method in wanted
        for epsilon in protocol.epsilons
    ]
    mine = [(table, name, epsilon) for table in tables for name in own for epsilon in protocol.epsilons]
    total = len(cells) + len(mine)
    finished_rows: dict[str, list[Row]] = {}
    with closing(run_cells({NAME: cells}, folder, workers=workers)) as finished:
        for done, (_, cell, result) in enumerate(finished, start=1):
            finished_rows[cell] = result.rows
            progress(cell.rpartition(", ")[0], done, total)
    rows = [row for cell in cells for row in finished_rows[cell.name]]
    for done, (table, name, epsilon) in enumerate(mine, start=len(cells) + 1):
        rows += score_method(table.name, name, own[name], table.x, table.y, epsilon, protocol, seed_of(NAME, name))
        progress(name, done, total)
    return DataFrame(rows)


def _cell(table: PublicTable, method: str, epsilon: float, protocol: Protocol, folder: Path) -> Cell:
    arguments = {
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
    # the name contains everything except the path, so that seeds do not depend on the folder
    identity = repr((table.digest, sorted((key, value) for key, value in arguments.items() if key != "path")))
    mark = hashlib.sha256(identity.encode()).hexdigest()[:8]
    return Cell(f"{table.name}, {method}, epsilon {epsilon:g}, {mark}", scored, arguments)


def _notes(tables: Sequence[PublicTable], numbers: DataFrame) -> tuple[str, ...]:
    """Describe what was left out of the tables, and which methods failed on which tables."""
    notes = [note for table in tables for note in table.notes]
    refused = numbers[numbers["note"] != ""].drop_duplicates(["table", "method", "note"])
    notes += [f"{row.method} failed on {row.table}: {row.note}" for row in refused.itertuples()]
    return tuple(notes)


def _check_installed() -> None:
    for name in _NEEDS:
        if find_spec(name) is None:
            raise SpecError(
                f"comparing methods needs {name!r}, which is not installed",
                code="missing-dependency",
                remedy="in the root folder of the repository, run: pip install . ./packages/discreet-papers",
            )

"""What a comparison found: numbers, tables, picture and files, all marked NOT PRIVATE."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Final

from discreet import __version__
from discreet.files import write_bytes
from discreet.papers.comparison import scores
from discreet.papers.comparison.scores import CAP, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

STEM: Final = "compare-methods-NOT-PRIVATE"
WARNING: Final = "NOT PRIVATE: boxes and errors come from the rows themselves; for public or simulated data only."
_BAND: Final = (0.1, 0.9)
_DOTS: Final = 130
_WIDTH: Final = 120  # of a line of Markdown
_PANEL: Final = (6.4, 4.2)  # inches
_MARKS: Final = {"reference": " (no privacy)", "own": " (yours)"}


@dataclass(frozen=True, eq=False)
class MethodComparisonNotPrivate:
    """Methods side by side on public or simulated tables; NOT PRIVATE, and no part of it is a release.

    Attributes
    ----------
    numbers
        A row for each table, method, epsilon and split; `value` is 1 - R2 on the test part, missing where the method
        refused.
    protocol
        How the numbers were made.
    baseline
        Method to which ratios are taken.
    notes
        What was left out, a sentence each.
    files
        Files that were written.
    """

    numbers: DataFrame = field(repr=False)
    protocol: Protocol
    baseline: str
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    def medians(self) -> DataFrame:
        """Median of 1 - R2 over splits, capped at 10, by table and method; a column for each epsilon."""
        return scores.medians(self.numbers)

    def excess(self) -> DataFrame:
        """Median minus that of least squares on the same splits, at least 0.002."""
        return scores.excess(self.numbers)

    def ratios(self) -> DataFrame:
        """Geometric mean over tables of the excess relative to the baseline's; the last column is over all epsilons."""
        return scores.ratios(self.numbers, self.baseline)

    def label(self, method: str) -> str:
        """The name of a method as people see it: what has no privacy says so."""
        kinds = self.numbers.loc[self.numbers["method"] == method, "kind"]
        return method + _MARKS.get(str(kinds.iloc[0]), "")

    def plot(self) -> Picture:
        """A panel for each table, a line for each method through its medians, a band from 10% to 90% of the splits."""
        from discreet.analyst.plots.style import COLOURS
        from discreet.papers.drawing import legend, panels, plain_scales, style

        known = self.numbers.dropna(subset="value")
        known = known.assign(value=known["value"].clip(upper=CAP))
        titles = list(dict.fromkeys(known["table"]))
        picture, grid = panels([str(title) for title in titles], across=2, size=_PANEL)
        for axes, title in zip(grid, titles, strict=True):
            inside = known[known["table"] == title]
            for position, method in enumerate(dict.fromkeys(known["method"])):
                grouped = inside[inside["method"] == method].groupby("epsilon")["value"]
                middle = grouped.median()
                axes.plot(middle.index, middle.to_numpy(), label=self.label(str(method)), **style(position))
                low, high = (grouped.quantile(one) for one in _BAND)
                colour = COLOURS[position % len(COLOURS)]
                axes.fill_between(middle.index, low, high, color=colour, alpha=0.1, linewidth=0)
            plain_scales(axes, self.protocol.epsilons)
            axes.set_xlabel("epsilon")
            axes.set_ylabel("1 - R2 on the test part")
        legend(picture, grid, columns=3 if len(titles) == 1 else 5)
        picture.suptitle("NOT PRIVATE: methods on public or simulated data", fontsize=10)
        return picture

    def by_table(self) -> dict[str, DataFrame]:
        """The medians of each table: a row for each method."""
        found = self.medians()
        return {str(table): found.xs(table, level="table") for table in found.index.unique("table")}

    def cells(self, frame: DataFrame) -> tuple[list[str], list[list[str]]]:
        """Headers and rows of a frame of this comparison as text."""
        headers = ["method", *(str(one) if isinstance(one, str) else f"epsilon {one:g}" for one in frame.columns)]
        return headers, [[self.label(str(name)), *map(three, row)] for name, *row in frame.itertuples()]

    def to_markdown(self) -> str:
        """Protocol, ratios and medians as Markdown."""
        lines = ["# Methods side by side, NOT PRIVATE", "", WARNING, "", fill(self._how(), _WIDTH), ""]
        lines += [f"## Ratio of excess error to {self.baseline}", ""]
        lines += ["Geometric mean over tables; 1 is the baseline, smaller is better.", ""]
        lines += _markdown(*self.cells(self.ratios().sort_values("all")))
        for table, inside in self.by_table().items():
            lines += ["", f"## 1 - R2 on {table}, median over splits", "", *_markdown(*self.cells(inside))]
        if self.notes:
            lines += ["", "## Notes", "", *(fill(f"- {note}", _WIDTH, subsequent_indent="  ") for note in self.notes)]
        return "\n".join([*lines, ""])

    def to_dict(self) -> dict[str, object]:
        """Medians, excess and ratios as plain values."""
        frames = {"medians": self.medians(), "excess": self.excess()}
        found: dict[str, object] = {"not_private": WARNING, "baseline": self.baseline}
        for name, frame in frames.items():
            found[name] = [
                {"table": table, "method": method, "epsilon": float(epsilon), "value": float(value)}
                for (table, method), row in frame.iterrows()
                for epsilon, value in row.items()
                if value == value  # not missing
            ]
        found["ratios"] = [
            {"method": method, "epsilon": column if column == "all" else float(column), "value": float(value)}
            for method, row in self.ratios().iterrows()
            for column, value in row.items()
            if value == value  # not missing
        ]
        return {**found, "notes": list(self.notes), "files": [str(path) for path in self.files]}

    def write(self, folder: Path) -> MethodComparisonNotPrivate:
        """Write CSV, pictures and page to a folder, over those of an earlier run."""
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
            f"added or removed; boxes are the range of each column, widened by {protocol.widen:.0%} of it on each side"
            ". Noise of rivals has fixed seeds, that of the library's mechanisms has none."
        )

    def _csv(self) -> bytes:
        head = f"# {WARNING}\n# discreet {__version__}; {self._how()}\n"
        numbers = str(self.numbers.to_csv(index=False, float_format="%.8g", lineterminator="\n"))
        return (head + numbers).encode()

    def _pictures(self) -> dict[str, bytes]:
        picture = self.plot()
        found = {}
        for suffix in (".png", ".svg"):
            written = BytesIO()
            picture.savefig(written, format=suffix[1:], dpi=_DOTS)
            found[suffix] = written.getvalue()
        return found


def three(value: float) -> str:
    """A number with three decimals; a missing one is a refusal.

    >>> three(0.12345), three(float("nan"))
    ('0.123', 'refused')
    """
    return "refused" if value != value else f"{value:.3f}"


def _markdown(headers: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (headers, ["---", *["---:"] * (len(headers) - 1)], *rows)]

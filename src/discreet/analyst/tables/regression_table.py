"""A regression table that can be written as text, Markdown, LaTeX, HTML or CSV, and what a fit offers of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from discreet.analyst.tables.csv import csv_table
from discreet.analyst.tables.grid import Grid
from discreet.analyst.tables.html import html_grid, html_page
from discreet.analyst.tables.latex import latex_table
from discreet.analyst.tables.markdown import markdown_table
from discreet.analyst.tables.one_model import one_model
from discreet.analyst.tables.text import text_table
from discreet.analyst.tables.tidying import glanced, tidied
from discreet.errors import OutputError, SpecError, shown
from discreet.files import checked_path, write_bytes
from discreet.privacy.checks import is_integer
from discreet.releases.reference_law import checked_level

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.tables.records import Records

Format = Literal["text", "md", "tex", "html", "csv"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
SUFFIXES: Final[dict[str, Format]] = {
    ".txt": "text", ".md": "md", ".tex": "tex", ".html": "html", ".htm": "html", ".csv": "csv",
}  # fmt: skip
DIGITS: Final = 4
_MOST_DIGITS: Final = 15
_LABEL: Final = re.compile(r"[A-Za-z0-9:._-]+")


@dataclass(frozen=True, slots=True, repr=False)
class RegressionTable:
    """A table of one or several models; printing gives text, a notebook shows HTML.

    Attributes
    ----------
    grid
        Its cells, as text.
    """

    grid: Grid

    def to_text(self) -> str:
        """Write it as plain text of fixed width."""
        return text_table(self.grid)

    def to_markdown(self) -> str:
        """Write it in Markdown, every name escaped."""
        return markdown_table(self.grid)

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        r"""Write it in LaTeX with the rules of booktabs; the preamble needs \usepackage{booktabs}.

        Parameters
        ----------
        caption
            Instead of the title.
        label
            Name for \ref.
        """
        for name, given in (("caption", caption), ("label", label)):
            if given is not None and not isinstance(given, str):
                raise SpecError(f"{name}: expected text, got {shown(given)}")
        if label is not None and not _LABEL.fullmatch(label):
            raise SpecError(f"label: expected letters, digits and : . _ - such as tab:wages, got {shown(label)}")
        return latex_table(self.grid, caption=caption, label=label)

    def to_html(self) -> str:
        """Write it as a fragment of HTML with its own style."""
        return html_grid(self.grid)

    def to_csv(self) -> str:
        """Write its cells as comma-separated values; a cell that a spreadsheet would run gets a quote in front."""
        return csv_table(self.grid)

    def written(self, kind: Format) -> str:
        """Write it as a file of this kind holds it: HTML as a whole page.

        Parameters
        ----------
        kind
            `text`, `md`, `tex`, `html` or `csv`.
        """
        ways: dict[Format, Callable[[], str]] = {
            "text": self.to_text,
            "md": self.to_markdown,
            "tex": self.to_latex,
            "html": lambda: html_page(self.grid),
            "csv": self.to_csv,
        }
        return ways[kind]().rstrip("\n") + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it to a file whose name ends in .txt, .md, .tex, .html or .csv.

        Parameters
        ----------
        path
            Where to.
        force
            Whether to replace an existing file.
        """
        write_bytes(path, self.written(format_of(path)).encode(), force=force)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def format_of(path: str | Path) -> Format:
    """Give the format that the name of a file asks for.

    >>> format_of("wages.tex"), format_of("wages.htm")
    ('tex', 'html')
    """
    found = SUFFIXES.get(checked_path(path).suffix.lower())
    if found is None:
        raise OutputError(
            f"the output {str(path)!r} does not have the file extension of a table; choose one of {', '.join(SUFFIXES)}"
        )
    return found


def checked_digits(digits: object) -> int:
    """Give a number of significant digits."""
    if not is_integer(digits) or not 1 <= digits <= _MOST_DIGITS:
        raise SpecError(f"digits: expected an integer from 1 to {_MOST_DIGITS}, got {shown(digits)}")
    return int(digits)


class TableMixin:
    """A fit as a table: for papers and pages, and in the columns of R's broom."""

    @property
    def _whole(self) -> Fit:
        return cast("Fit", self)

    def table(self, level: float | None = None, *, alpha: float | None = None, digits: int = DIGITS) -> RegressionTable:
        """Give the coefficients with errors, tests and confidence sets as a table that can be written in any format.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
        digits
            Significant digits.
        """
        return RegressionTable(one_model(self._whole, checked_level(level, alpha), checked_digits(digits)))

    def to_markdown(self, level: float | None = None, *, alpha: float | None = None, digits: int = DIGITS) -> str:
        """Write the table of the fit in Markdown.

        Parameters
        ----------
        level, alpha, digits
            As for `table`.
        """
        return self.table(level, alpha=alpha, digits=digits).to_markdown()

    def to_latex(
        self,
        level: float | None = None,
        *,
        alpha: float | None = None,
        digits: int = DIGITS,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        r"""Write the table of the fit in LaTeX with the rules of booktabs.

        Parameters
        ----------
        level, alpha, digits
            As for `table`.
        caption, label
            Title instead of the table's own, and name for \ref.
        """
        return self.table(level, alpha=alpha, digits=digits).to_latex(caption=caption, label=label)

    def to_html(self, level: float | None = None, *, alpha: float | None = None, digits: int = DIGITS) -> str:
        """Write the table of the fit as a fragment of HTML.

        Parameters
        ----------
        level, alpha, digits
            As for `table`.
        """
        return self.table(level, alpha=alpha, digits=digits).to_html()

    def to_csv(self, level: float | None = None, *, alpha: float | None = None) -> str:
        """Write `tidy` as comma-separated values: numbers with all their digits, empty where there is none.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
        """
        return self.tidy(level, alpha=alpha).to_csv()

    def to_pandas(self, level: float | None = None, *, alpha: float | None = None) -> Any:  # noqa: ANN401
        """Give `tidy` as a data frame of pandas, which must be installed.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
        """
        return self.tidy(level, alpha=alpha).to_pandas()

    def tidy(self, level: float | None = None, *, alpha: float | None = None) -> Records:
        """Give a record for each coefficient, with the names of R's broom: term, estimate, std.error and so on.

        `statistic` and `p.value` are of the score test. `conf.low` and `conf.high` are the ends of the smallest
        interval that holds the confidence set, infinite where it is unbounded; `conf.set` says the set in words, and
        `reason` why it is not an interval.

        Parameters
        ----------
        level, alpha
            As for `conf_int`.
        """
        return tidied(self._whole, checked_level(level, alpha))

    def glance(self) -> Records:
        """Give one record of the model: r.squared, adj.r.squared, sigma, statistic, p.value, df, nobs and the promise.

        `statistic` and `p.value` are of the joint test that every slope is 0.
        """
        return glanced(self._whole)

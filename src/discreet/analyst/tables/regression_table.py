"""Regression tables of one or several models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from discreet.analyst.advice import advice
from discreet.analyst.inference.clipped_scores import clipped_scores_note
from discreet.analyst.inference.contrasts import noise_known_beforehand
from discreet.analyst.notes import (
    PENALISED_INTERVALS,
    PRIVACY_ONLY,
    PRIVACY_PART,
    SCORE_PAGE,
    SELECTION,
    reasons,
    without_sampling,
)
from discreet.analyst.summary import estimates
from discreet.analyst.tables.formats import (
    WEAK,
    Grid,
    Row,
    csv_table,
    errors_cell,
    estimate_cell,
    html_grid,
    html_page,
    latex_table,
    markdown_table,
    model_cell,
    number_cell,
    promise_note,
    ratio_cell,
    rows_cell,
    rows_note,
    set_cell,
    stars_of,
    text_table,
)
from discreet.analyst.tables.tidy import glanced, tidied
from discreet.analyst.values import Interval, NamedValues, beside_set, bounded, unbounded
from discreet.errors import OptionError, OutputError
from discreet.files import checked_path, write_bytes
from discreet.number_text import DASH, p_value, percent
from discreet.privacy.checks import is_integer
from discreet.releases.reference_distribution import NotEstimable, checked_level, known, reason_of

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.tables.tidy import Records

# -- one model ---------------------------------------------------------------------------------------------------------


def one_model(fit: Fit, level: float, digits: int) -> Grid:
    """Lay out one fit with a row for each coefficient."""
    heads, body = _coefficients(fit, level, digits)
    sets, why = fit.conf_int(level), reasons(fit, level)
    rest = ("",) * (len(heads) - 2)
    ends = fit.rsquared_conf_int(level)
    lines = [
        ("Rows", rows_cell(fit)),
        ("R²", ratio_cell(fit.rsquared, ends)),
        ("Adjusted R²", ratio_cell(fit.rsquared_adj, ends)),
        ("Residual sd", number_cell(fit._residual_sd, digits)),
    ]
    notes = [
        f"Estimated by {model_cell(fit)}." if not fit.fitted_inside else None,
        clipped_scores_note(fit),
        *(() if fit.interval_target == "none" else error_notes(fit)),
        WEAK if fit.estimable and any(map(unbounded, sets.values())) else None,
        selection_note(sets, level),
        advice(fit, level),
        *reason_notes(fit, why),
        *missing_statistics(fit, why),
        rows_note(fit),
        promise_note(fit.release),
    ]
    return Grid(
        title_of(fit),
        (heads,),
        tuple(body),
        tuple((*line, *rest) for line in lines),
        tuple(note for note in notes if note is not None),
    )


def title_of(fit: Fit) -> str:
    """Return the title of a table, with a mark if the release is not private."""
    mark = "" if fit.release.private else "NOT PRIVATE: "
    return f"{mark}{fit.target}: linear regression from a release"


def error_notes(fit: Fit) -> list[str]:
    """Return notes on standard errors, p-values and confidence sets."""
    return [
        f"{PRIVACY_ONLY if without_sampling(fit) else 'Standard errors include sampling error and privacy noise.'} "
        f"{PRIVACY_PART}.",
        SCORE_PAGE,
        *([PENALISED_INTERVALS] if fit.penalised else []),
    ]


def selection_note(sets: NamedValues[Interval], level: float) -> str | None:
    """Return a warning about undercoverage if some sets are bounded and others are not."""
    if not (any(map(bounded, sets.values())) and any(map(unbounded, sets.values()))):
        return None
    return SELECTION.format(level=percent(level))


def reason_notes(fit: Fit, why: Mapping[str, str]) -> list[str]:
    """Return one sentence for each reason why coefficients have no interval."""
    grouped = {reason: [name for name, own in why.items() if own == reason] for reason in dict.fromkeys(why.values())}
    return [
        f"No interval: {reason}." if len(names) == len(fit.names) else f"No interval ({', '.join(names)}): {reason}."
        for reason, names in grouped.items()
    ]


def missing_statistics(fit: Fit, why: Mapping[str, str]) -> list[str]:
    """Return notes on why R^2, the residual sd or the row count is missing, stating each reason once."""
    known_reasons, out = list(why.values()), []
    for what, value in (("R²", fit.rsquared), ("residual sd", fit._residual_sd), ("number of rows", fit.nobs)):
        reason = reason_of(value)
        if reason is not None and not any(reason in text for text in known_reasons):
            out.append(f"No {what}: {reason}.")
            known_reasons.append(reason)
    return out


def _coefficients(fit: Fit, level: float, digits: int) -> tuple[Row, list[Row]]:
    values, interval = estimates(fit), f"{percent(level)} interval"
    if noise_known_beforehand(fit.release.noise):
        own = fit.table_conf_int(level)
        body: list[Row] = [
            (
                name,
                estimate_cell(value, own[name], digits),
                number_cell(fit.privacy_sd[name], digits),
                set_cell(own[name], digits),
            )
            for name, value in values.items()
        ]
        return ("", "coef", "privacy sd", f"{interval}, this table"), body
    sets = fit.conf_int(level)
    if fit.interval_target == "none":
        return ("", "coef"), [(name, estimate_cell(value, sets[name], digits)) for name, value in values.items()]
    body = []
    for name, value in values.items():
        share = known(fit.privacy_share[name])
        body.append(
            (
                name,
                estimate_cell(value, sets[name], digits),
                number_cell(beside_set(fit.bse[name], sets[name]), digits),
                number_cell(beside_set(fit.tvalues[name], sets[name]), digits),
                p_value(known(fit.pvalues[name])),
                set_cell(sets[name], digits),
                number_cell(fit.privacy_share[name], digits) if share is None else f"{share:.0%}",
            )
        )
    return ("", "coef", "std err", "t", "p", interval, "privacy"), body


# -- regression table --------------------------------------------------------------------------------------------------
# Regression tables as text, Markdown, LaTeX, HTML or CSV.

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
    """A table of one or several models. Notebooks display it as HTML.

    Attributes
    ----------
    grid
        Cells of the table as text.
    """

    grid: Grid

    def to_text(self) -> str:
        """Return the table as plain text."""
        return text_table(self.grid)

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        return markdown_table(self.grid)

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        r"""Return the table in LaTeX. The preamble needs \usepackage{booktabs}.

        Parameters
        ----------
        caption
            Caption to use instead of the title.
        label
            Label for \ref.
        """
        for name, value in (("caption", caption), ("label", label)):
            if value is not None and not isinstance(value, str):
                raise OptionError(option=name, given=value, allowed="text")
        if label is not None and not _LABEL.fullmatch(label):
            raise OptionError(option="label", given=label, allowed="letters, digits and : . _ -, such as tab:wages,")
        return latex_table(self.grid, caption=caption, label=label)

    def to_html(self) -> str:
        """Return the table as an HTML fragment."""
        return html_grid(self.grid)

    def to_csv(self) -> str:
        """Return the cells as CSV. A cell that a spreadsheet would evaluate is preceded by a quote."""
        return csv_table(self.grid)

    def written(self, kind: Format) -> str:
        """Return the content of a file in this format. HTML is a complete page.

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
        """Save the table to a file ending in .txt, .md, .tex, .html or .csv.

        Parameters
        ----------
        path
            Name of the file.
        force
            Whether to replace an existing file.
        """
        write_bytes(path, self.written(format_of(path)).encode(), force=force)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def format_of(path: str | Path) -> Format:
    """Return the table format for a file name."""
    file_format = SUFFIXES.get(checked_path(path).suffix.lower())
    if file_format is None:
        raise OutputError(f"expected a file name ending in one of {', '.join(SUFFIXES)}, got {str(path)!r}")
    return file_format


def checked_digits(digits: object) -> int:
    """Return the number of significant digits, or raise if it is out of range."""
    if not is_integer(digits) or not 1 <= digits <= _MOST_DIGITS:
        raise OptionError(option="digits", given=digits, allowed=f"an integer from 1 to {_MOST_DIGITS}")
    return int(digits)


class TableMixin:
    """Tables of a fit, and records with the column names of R's broom package."""

    @property
    def _whole(self) -> Fit:
        return cast("Fit", self)

    def table(self, level: float | None = None, *, alpha: float | None = None, digits: int = DIGITS) -> RegressionTable:
        """Return a regression table with standard errors, tests and confidence sets.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        digits
            Significant digits.
        """
        return RegressionTable(one_model(self._whole, checked_level(level, alpha), checked_digits(digits)))

    def to_markdown(self, level: float | None = None, *, alpha: float | None = None, digits: int = DIGITS) -> str:
        """Return the regression table in Markdown.

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
        r"""Return the regression table in LaTeX with booktabs.

        Parameters
        ----------
        level, alpha, digits
            As for `table`.
        caption, label
            Caption to use instead of the title, and label for \ref.
        """
        return self.table(level, alpha=alpha, digits=digits).to_latex(caption=caption, label=label)

    def to_html(self, level: float | None = None, *, alpha: float | None = None, digits: int = DIGITS) -> str:
        """Return the regression table as an HTML fragment.

        Parameters
        ----------
        level, alpha, digits
            As for `table`.
        """
        return self.table(level, alpha=alpha, digits=digits).to_html()

    def to_csv(self, level: float | None = None, *, alpha: float | None = None) -> str:
        """Return `tidy` as CSV with full precision and empty cells for missing numbers.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        return self.tidy(level, alpha=alpha).to_csv()

    def to_pandas(self, level: float | None = None, *, alpha: float | None = None) -> Any:  # noqa: ANN401
        """Return `tidy` as a pandas DataFrame.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        return self.tidy(level, alpha=alpha).to_pandas()

    def tidy(self, level: float | None = None, *, alpha: float | None = None) -> Records:
        """Return one record for each coefficient, with the column names of broom: term, estimate, std.error and so on.

        `statistic` and `p.value` come from the score test. `conf.low` and `conf.high` are the ends of the smallest
        interval that contains the confidence set, and are infinite if it is unbounded. `conf.set` describes the set,
        and `reason` says why it is unbounded.

        Parameters
        ----------
        level, alpha
            Confidence level, as for `conf_int`.
        """
        return tidied(self._whole, checked_level(level, alpha))

    def glance(self) -> Records:
        """Return one record for the model: r.squared, sigma, statistic, p.value, df, nobs, the guarantee and so on.

        `statistic` and `p.value` come from the joint test that every slope is 0.
        """
        return glanced(self._whole)


# -- several models ----------------------------------------------------------------------------------------------------

Below = Literal["errors", "intervals", "pvalues", "none"]
BELOW: Final[tuple[Below, ...]] = get_args(Below)

_UNDER: Final = {
    "errors": "Standard errors in parentheses, including sampling error and privacy noise.",
    "intervals": "Below each estimate: {level} confidence interval.",
    "pvalues": "p-values of the score test in parentheses.",
    "none": "",
}
_PRIVACY_ONLY: Final = (
    "If the residual variance of a model could not be estimated, its standard errors include privacy noise only."
)
_NOISE_ALONE: Final = (
    "Standard deviations of the privacy noise in braces. They include no sampling error, and there are no standard "
    "errors."
)
_ADDS_UP: Final = (
    "The models are from different releases. If these describe the same people, the privacy losses add up."
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a table of several models. See `discreet.table` for the options."""

    names: tuple[str, ...]
    level: float
    below: Below
    stars: tuple[float, ...]
    digits: int
    coefficients: tuple[str, ...]
    labels: Mapping[str, str]
    title: str


def several_models(fits: Sequence[Fit], layout: Layout) -> Grid:
    """Lay out several fits side by side."""
    body: list[Row] = []
    columns = [_column(fit, layout) for fit in fits]
    for name in layout.coefficients:
        label = layout.labels.get(name, name)
        body.append((label, *(column.get(name, ("", ""))[0] for column in columns)))
        if layout.below != "none":
            body.append(("", *(column.get(name, ("", ""))[1] for column in columns)))
    private = all(fit.release.private for fit in fits)
    return Grid(
        layout.title if private else f"NOT PRIVATE: {layout.title}",
        (("", *layout.names), ("Target", *(fit.target for fit in fits))),
        tuple(body),
        _statistics(fits, layout.level),
        tuple(_notes(fits, layout)),
    )


def _column(fit: Fit, layout: Layout) -> dict[str, tuple[str, str]]:
    """Return the estimate and the cell below it for each coefficient."""
    sets = fit.conf_int(layout.level)
    out = {}
    for name, value in estimates(fit).items():
        stars = stars_of(fit.pvalues[name], layout.stars)
        out[name] = estimate_cell(value, sets[name], layout.digits) + stars, _under(fit, name, sets[name], layout)
    return out


def _under(fit: Fit, name: str, ends: Interval, layout: Layout) -> str:
    digits = layout.digits
    if noise_known_beforehand(fit.release.noise):
        return f"{{{number_cell(fit.privacy_sd[name], digits)}}}"
    if isinstance(ends, NotEstimable):
        return ""
    match layout.below:
        case "errors":
            return _in_parentheses(number_cell(beside_set(fit.bse[name], ends), digits))
        case "intervals":
            return set_cell(ends, digits)
        case _:
            return _in_parentheses(p_value(known(fit.pvalues[name])))


def _in_parentheses(cell: str) -> str:
    return cell if cell == DASH else f"({cell})"


def _statistics(fits: Sequence[Fit], level: float) -> tuple[Row, ...]:
    ends = [fit.rsquared_conf_int(level) for fit in fits]
    lines: dict[str, list[str]] = {
        "Rows": [rows_cell(fit) for fit in fits],
        "R²": [ratio_cell(fit.rsquared, interval) for fit, interval in zip(fits, ends, strict=True)],
        "Adjusted R²": [ratio_cell(fit.rsquared_adj, interval) for fit, interval in zip(fits, ends, strict=True)],
        "Estimated by": [model_cell(fit) for fit in fits],
        "Standard errors": [errors_cell(fit) for fit in fits],
    }
    return tuple((what, *cells) for what, cells in lines.items())


def _notes(fits: Sequence[Fit], layout: Layout) -> list[str]:
    noise_alone = [noise_known_beforehand(fit.release.noise) for fit in fits]
    notes = [_UNDER[layout.below].format(level=percent(layout.level))]
    if any(noise_alone) and layout.below != "none":
        notes.append(_NOISE_ALONE)
    if layout.below == "errors" and any(map(without_sampling, fits)):
        notes.append(_PRIVACY_ONLY)
    if layout.stars:
        legend = [f"{'*' * number} p < {threshold:g}" for number, threshold in enumerate(layout.stars, start=1)]
        notes.append(f"{', '.join(legend)}.")
    shown = [fit.conf_int(layout.level) for fit in fits if fit.estimable]
    if any(unbounded(ends) for sets in shown for name, ends in sets.items() if name in layout.coefficients):
        notes.append(WEAK)
    selected = [selection_note(fit.conf_int(layout.level), layout.level) for fit in fits]
    whys = [reasons(fit, layout.level) for fit in fits]
    about = list(zip(fits, whys, strict=True))
    for sentences in (
        [[] if note is None else [note] for note in selected],
        [[PENALISED_INTERVALS] if fit.penalised and fit.interval_target != "none" else [] for fit in fits],
        [[note] if (note := advice(fit, layout.level)) is not None else [] for fit in fits],
        [reason_notes(fit, why) for fit, why in about],
        [missing_statistics(fit, why) for fit, why in about],
        [[note] if (note := clipped_scores_note(fit)) is not None else [] for fit in fits],
        [[note] if (note := rows_note(fit)) is not None else [] for fit in fits],
        [[promise_note(fit.release)] for fit in fits],
    ):
        notes += _by_column(sentences, layout.names)
    if len({fit.release.digest for fit in fits}) > 1:
        notes.append(_ADDS_UP)
    return list(filter(None, notes))


def _by_column(sentences: Sequence[Sequence[str]], names: Sequence[str]) -> list[str]:
    """Return each sentence once, preceded by the names of its columns unless it applies to all."""
    columns: dict[str, list[str]] = {}
    for own, name in zip(sentences, names, strict=True):
        for sentence in own:
            columns.setdefault(sentence, []).append(name)
    return [sentence if len(of) == len(names) else f"{', '.join(of)}: {sentence}" for sentence, of in columns.items()]

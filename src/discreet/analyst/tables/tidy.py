"""Results of a fit as records, like broom in R."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from discreet.analyst.inference.contrasts import noise_known_beforehand
from discreet.analyst.notes import reasons
from discreet.analyst.summary import estimates
from discreet.analyst.tables.formats import Grid, csv_text, html_grid, promise_note, text_table
from discreet.analyst.values import Interval, beside_set, import_optional
from discreet.errors import OptionError
from discreet.number_text import DASH, percent, significant
from discreet.releases.reference_distribution import NotEstimable, known, reason_of

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.fitted import Fit

# -- records -----------------------------------------------------------------------------------------------------------

Cell: TypeAlias = str | float | bool | None


@dataclass(frozen=True, eq=False, repr=False)
class Records(Sequence[Mapping[str, Cell]]):
    """Rows with the same columns. `pandas.DataFrame` and `polars.DataFrame` accept them.

    A number that is not estimable is None. The column `reason` then says why.

    Attributes
    ----------
    title
        Title of the table.
    rows
        One mapping from column names to values for each row.
    notes
        Notes below the table, such as the privacy guarantee.

    Examples
    --------
    >>> records = Records("of y", ({"term": "age", "estimate": 1.5}, {"term": "x", "estimate": None}), ())
    >>> records[0]["estimate"], records.column("term"), records.columns
    (1.5, ['age', 'x'], ('term', 'estimate'))
    >>> records
    of y
    --------------
    term  estimate
    --------------
    age      1.500
    x            –
    --------------
    """

    title: str
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.rows[0])

    def column(self, name: str) -> list[Cell]:
        """Return the values of one column.

        Parameters
        ----------
        name
            One of `columns`.
        """
        if name not in self.columns:
            raise OptionError.unknown_name("column", name, self.columns, option="name")
        return [row[name] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Cell]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Cell]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Cell] | Sequence[Mapping[str, Cell]]:
        return self.rows[index]

    def to_frame(self) -> Table:
        """Return the records as an Arrow table."""
        import pyarrow as pa

        kinds = {"text": pa.string(), "flag": pa.bool_(), "number": pa.float64()}
        return pa.table({name: pa.array(self.column(name), type=kinds[_kind(name)]) for name in self.columns})

    def to_pandas(self) -> Any:  # noqa: ANN401  # pandas is optional
        """Return a pandas DataFrame with the notes in its `attrs`."""
        import_optional("pandas", "to_pandas()")
        frame = self.to_frame().to_pandas()
        frame.attrs["notes"] = list(self.notes)
        return frame

    def to_csv(self) -> str:
        """Return the records as CSV with full precision and empty cells for missing numbers."""
        lines = [[_exact(row[name]) for name in self.columns] for row in self.rows]
        return csv_text([self.columns, *lines])

    def _grid(self) -> Grid:
        # reasons are long, so print them as notes below the table
        names = [name for name in self.columns if name != "reason"]
        body = tuple(tuple(_short(row[name]) for name in names) for row in self.rows)
        reasons = [str(row["reason"]) for row in self.rows if row.get("reason")]
        return Grid(self.title, (tuple(names),), body, (), (*dict.fromkeys(reasons), *self.notes))

    def __repr__(self) -> str:
        return text_table(self._grid())

    def _repr_html_(self) -> str:
        return html_grid(self._grid())


def _kind(name: str) -> str:
    if name in ("term", "conf.set", "reason", "mechanism", "neighbours"):
        return "text"
    return "flag" if name == "private" else "number"


def _exact(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def _short(value: Cell) -> str:
    if value is None:
        return DASH
    if isinstance(value, bool):
        return ("no", "yes")[value]
    if isinstance(value, str):
        return value
    return significant(value, 4) if math.isfinite(value) else ("∞" if value > 0 else "-∞")


# -- tidying -----------------------------------------------------------------------------------------------------------


def tidied(fit: Fit, level: float) -> Records:
    """Return one record for each coefficient."""
    sets, why = fit.conf_int(level), reasons(fit, level)
    own = fit.table_conf_int(level) if noise_known_beforehand(fit.release.noise) else None
    rows: list[dict[str, Cell]] = []
    for name, value in estimates(fit).items():
        low, high = ends_of(sets[name])
        row: dict[str, Cell] = {
            "term": name,
            "estimate": known(value),
            "std.error": known(beside_set(fit.bse[name], sets[name])),
            "statistic": known(fit.score_z[name]),
            "p.value": known(fit.pvalues[name]),
            "conf.low": low,
            "conf.high": high,
            "conf.set": set_words_of(sets[name]),
            "privacy.sd": known(beside_set(fit.privacy_sd[name], sets[name])),
        }
        if own is not None:
            row["table.low"], row["table.high"] = ends_of(own[name])
        rows.append(row | {"private": fit.release.private, "reason": why.get(name)})
    return Records(f"Coefficients of {fit.target}, {percent(level)} sets", tuple(rows), (promise_note(fit.release),))


def set_words_of(ends: Interval) -> str | None:
    """Return `interval` for a bounded set, the description of an unbounded set, or None without a set."""
    if isinstance(ends, NotEstimable):
        return None
    return ends.kind if ends.bounded else str(ends)


def ends_of(ends: Interval) -> tuple[float | None, float | None]:
    """Return the ends of the smallest interval that contains a set, or None if there is no set.

    The complement of an interval (`outside`) has infinite ends.
    """
    if isinstance(ends, NotEstimable):
        return None, None
    return (-math.inf, math.inf) if ends.kind == "outside" else (ends.lower, ends.upper)


def glanced(fit: Fit) -> Records:
    """Return one record for the whole model."""
    guarantee = fit.release.guarantee
    slopes = len(fit.model.slopes)
    statistics = (fit.rsquared, fit._residual_sd, fit.nobs, fit.fvalue if slopes else None)
    row: dict[str, Cell] = {
        "r.squared": known(fit.rsquared),
        "adj.r.squared": known(fit.rsquared_adj),
        "sigma": known(fit._residual_sd),
        "statistic": known(fit.fvalue),
        "p.value": known(fit.f_pvalue),
        "df": float(slopes),
        "logLik": known(fit.llf),
        "AIC": known(fit.aic),
        "BIC": known(fit.bic),
        "df.residual": known(fit.df_resid),
        "nobs": known(fit.nobs),
        "nobs.sd": None if known(fit.nobs) is None else fit.nobs_sd,
        "epsilon": None if guarantee is None else guarantee.epsilon,
        "delta": None if guarantee is None else guarantee.delta,
        "neighbours": None if guarantee is None else guarantee.neighbours,
        "mechanism": fit.release.mechanism,
        "private": fit.release.private,
        "reason": "; ".join(dict.fromkeys(filter(None, map(reason_of, statistics)))) or None,
    }
    return Records(f"Model of {fit.target}", (row,), (promise_note(fit.release),))

"""The table of coefficients: as Arrow columns, as plain values for JSON, and as cells for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.analyst.diagnostics.error_notes import reasons
from discreet.analyst.inference.coefficient_noise import known_before
from discreet.analyst.values.confidence_sets import ConfidenceSet, split_words
from discreet.analyst.values.estimates import (
    ByName,
    Interval,
    Number,
    all_beside,
    beside_set,
    numbers_by_name,
    shown_estimate,
)
from discreet.analyst.values.not_estimable import NotEstimable, known, mapped, reason_of
from discreet.releases.reference_law import DEFAULT_LEVEL

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.inferred import InferenceMixin

HEADERS: Final = ("", "coef", "std err", "t", "p", "[{low:g}", "{high:g}]", "privacy")
NOISE_HEADERS: Final = ("", "coef", "privacy sd", "this table [{low:g}", "{high:g}]")


def table_columns(
    fit: InferenceMixin, level: float = DEFAULT_LEVEL
) -> dict[str, list[str] | list[str | None] | list[float | None]]:
    """Columns of the table by name, with nothing where the release cannot say.

    `low`, `high` and `kind` are those of the confidence sets; an end is infinite where a set has none. There is no
    standard error, nor a part of one, and no t value beside an unbounded set.
    """
    intervals = fit.conf_int(level)
    sets = [known(ends) for ends in intervals.values()]
    return {
        "coefficient": list(fit.names),
        "estimate": _plain(estimates(fit)),
        "std_error": _plain(all_beside(fit.bse, intervals)),
        "t": _plain(all_beside(fit.tvalues, intervals)),
        "score_z": _plain(fit.score_z),
        "p": _plain(fit.pvalues),
        "low": [None if one is None else one.lower for one in sets],
        "high": [None if one is None else one.upper for one in sets],
        "kind": [None if one is None else str(one.kind) for one in sets],
        "sampling_sd": _plain(all_beside(fit.sampling_sd, intervals)),
        "privacy_sd": _plain(all_beside(fit.privacy_sd, intervals)),
        "privacy_share": _plain(fit.privacy_share),
    }


def estimates(fit: InferenceMixin) -> ByName[Number]:
    """Coefficients in original units by name, or why there are none."""
    return numbers_by_name(fit.names, mapped(fit._line, lambda line: line.original))


def arrow_table(fit: InferenceMixin, level: float) -> Table:
    """Give the columns and the reasons as an Arrow table."""
    import pyarrow as pa

    why = reasons(fit, level)
    columns = table_columns(fit, level)
    arrays = {
        name: pa.array(values, type=pa.string() if name in ("coefficient", "kind") else pa.float64())
        for name, values in columns.items()
    }
    return pa.table(arrays | {"reason": pa.array([why.get(name) for name in fit.names], type=pa.string())})


def plain_values(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> dict[str, object]:
    """Give all that is said about errors as values for JSON: null where there is no number, with the reason."""
    about_r2 = fit.rsquared_conf_int(level)
    table, columns = fit.table_conf_int(level), table_columns(fit, level)

    def by_name(column: str) -> dict[str, object]:
        return dict(zip(fit.names, columns[column], strict=True))

    return {
        "interval_level": level,
        "interval_target": fit.interval_target,
        "bse": by_name("std_error"),
        "tvalues": by_name("t"),
        "score_z": by_name("score_z"),
        "pvalues": by_name("p"),
        "conf_int": {name: plain_set(ends) for name, ends in fit.conf_int(level).items()},
        "sampling_sd": by_name("sampling_sd"),
        "privacy_sd": by_name("privacy_sd"),
        "privacy_share": by_name("privacy_share"),
        "table_conf_int": {name: plain_set(ends) for name, ends in table.items()},
        "table_conf_int_reason": next(filter(None, map(reason_of, table.values())), None),
        "reasons": reasons(fit, level),
        "df_resid": known(fit.df_resid),
        "s2": known(fit.s2),
        "s2_reason": reason_of(fit.s2),
        "rsquared": known(fit.rsquared),
        "rsquared_adj": known(fit.rsquared_adj),
        "rsquared_conf_int": plain_set(about_r2),
        "rsquared_reason": reason_of(fit.rsquared) or about_r2.reason,
    }


def headers(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> tuple[str, ...]:
    """Titles of the columns of `cells`: other ones where the noise of the coefficients is all that is known."""
    titles = NOISE_HEADERS if known_before(fit.release.noise) else HEADERS
    return tuple(title.format(low=(1 - level) / 2, high=(1 + level) / 2) for title in titles)


def cells(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> list[tuple[str, ...]]:
    """Rows of the table as text, in the order of `headers`; a coefficient whose set is unbounded is in brackets."""
    if known_before(fit.release.noise):
        return _noise_cells(fit, level)
    sets = fit.conf_int(level)
    return [
        (
            name,
            shown_estimate(value, sets[name]),
            _cell(beside_set(fit.bse[name], sets[name]), ".4g"),
            _cell(beside_set(fit.tvalues[name], sets[name]), ".4g"),
            _cell(fit.pvalues[name], ".3f"),
            *set_cells(sets[name]),
            _cell(fit.privacy_share[name], ".0%"),
        )
        for name, value in estimates(fit).items()
    ]


def _noise_cells(fit: InferenceMixin, level: float) -> list[tuple[str, ...]]:
    sds, sets = fit.privacy_sd, fit.table_conf_int(level)
    return [
        (name, shown_estimate(value, sets[name]), _cell(sds[name], ".4g"), *set_cells(sets[name]))
        for name, value in estimates(fit).items()
    ]


def set_cells(ends: Interval) -> tuple[str, str]:
    """Give a set for the two columns that hold the ends of intervals."""
    if isinstance(ends, NotEstimable):
        return "not", "estimable"
    low, high = f"{ends.lower:.5g}", f"{ends.upper:.5g}"
    return (low, high) if ends.bounded else split_words(ends.kind, low, high)


def _cell(value: Number, digits: str) -> str:
    """Give a number in this form, and a dash where there is no number."""
    return "-" if isinstance(value, NotEstimable) else f"{value:{digits}}"


def plain_set(ends: Interval) -> dict[str, str | float | None] | None:
    """Give kind and ends of a set, or nothing."""
    return ends.to_dict() if isinstance(ends, ConfidenceSet) else None


def _plain(values: ByName[float | NotEstimable]) -> list[float | None]:
    return [known(value) for value in values.values()]

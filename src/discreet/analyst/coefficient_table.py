"""The table of coefficients: as Arrow columns, as plain values for JSON, and as cells for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.analyst.coefficient_noise import known_before
from discreet.analyst.estimates import ByName, NotEstimable
from discreet.analyst.reference_law import DEFAULT_LEVEL

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.inferred import Inferred

HEADERS: Final = ("", "coef", "std err", "t", "P>|t|", "[0.025", "0.975]", "privacy")
NOISE_HEADERS: Final = ("", "coef", "privacy sd", "this table [0.025", "0.975]")


def table_columns(fit: Inferred, level: float = DEFAULT_LEVEL) -> dict[str, list[str] | list[float | None]]:
    """Columns of the table by name, with nothing where the release cannot say, but for `reason`."""
    ends = fit.conf_int(level)
    known = [None if isinstance(pair, NotEstimable) else pair for pair in ends.values()]
    return {
        "coefficient": list(fit.names),
        "estimate": fit.coefficients.tolist(),
        "std_error": _plain(fit.bse),
        "t": _plain(fit.tvalues),
        "p": _plain(fit.pvalues),
        "low": [None if pair is None else pair[0] for pair in known],
        "high": [None if pair is None else pair[1] for pair in known],
        "sampling_sd": _plain(fit.sampling_sd),
        "privacy_sd": _plain(fit.privacy_sd),
        "privacy_share": _plain(fit.privacy_share),
    }


def reasons(fit: Inferred, level: float = DEFAULT_LEVEL) -> dict[str, str]:
    """Why a coefficient has no interval, by name, for those that have none."""
    return {name: pair.reason for name, pair in fit.conf_int(level).items() if isinstance(pair, NotEstimable)}


def arrow_table(fit: Inferred, level: float) -> Table:
    """Give the columns and the reasons as an Arrow table."""
    import pyarrow as pa

    why = reasons(fit, level)
    columns = table_columns(fit, level)
    arrays = {
        name: pa.array(values, type=pa.string() if name == "coefficient" else pa.float64())
        for name, values in columns.items()
    }
    return pa.table(arrays | {"reason": pa.array([why.get(name) for name in fit.names], type=pa.string())})


def plain_values(fit: Inferred) -> dict[str, object]:
    """Give all that is said about errors as values for JSON: null where there is no number, with the reason."""
    ends = fit.conf_int()
    about_r2 = fit.rsquared_conf_int()
    table = fit.table_conf_int()
    return {
        "interval_level": DEFAULT_LEVEL,
        "interval_target": fit.interval_target,
        "bse": dict(zip(fit.names, _plain(fit.bse), strict=True)),
        "tvalues": dict(zip(fit.names, _plain(fit.tvalues), strict=True)),
        "pvalues": dict(zip(fit.names, _plain(fit.pvalues), strict=True)),
        "conf_int": {name: None if isinstance(pair, NotEstimable) else list(pair) for name, pair in ends.items()},
        "sampling_sd": dict(zip(fit.names, _plain(fit.sampling_sd), strict=True)),
        "privacy_sd": dict(zip(fit.names, _plain(fit.privacy_sd), strict=True)),
        "table_conf_int": {
            name: None if isinstance(pair, NotEstimable) else list(pair) for name, pair in table.items()
        },
        "table_conf_int_reason": next(filter(None, map(plain_reason, table.values())), None),
        "reasons": reasons(fit),
        "df_resid": plain_number(fit.df_resid),
        "s2": plain_number(fit.s2),
        "s2_reason": plain_reason(fit.s2),
        "rsquared": plain_number(fit.rsquared),
        "rsquared_adj": plain_number(fit.rsquared_adj),
        "rsquared_conf_int": None if isinstance(about_r2, NotEstimable) else list(about_r2),
        "rsquared_reason": plain_reason(fit.rsquared) or plain_reason(about_r2),
    }


def headers(fit: Inferred) -> tuple[str, ...]:
    """Titles of the columns of `cells`: other ones where the noise of the coefficients is all that is known."""
    return NOISE_HEADERS if known_before(fit.release.noise) else HEADERS


def cells(fit: Inferred) -> list[tuple[str, ...]]:
    """Rows of the table as text, in the order of `headers`; a row that is not estimable says so."""
    if known_before(fit.release.noise):
        return _noise_cells(fit)
    ends = fit.conf_int()
    out: list[tuple[str, ...]] = []
    for name, value in zip(fit.names, fit.coefficients.tolist(), strict=True):
        pair = ends[name]
        if isinstance(pair, NotEstimable):
            out.append((name, f"{value:.6g}", "not", "estimable", "", "", "", ""))
            continue
        sd, t, p, share = fit.bse[name], fit.tvalues[name], fit.pvalues[name], fit.privacy_share[name]
        low, high = pair
        out.append(
            (name, f"{value:.6g}", f"{sd:.4g}", f"{t:.4g}", f"{p:.3f}", f"{low:.5g}", f"{high:.5g}", f"{share:.0%}")
        )
    return out


def _noise_cells(fit: Inferred) -> list[tuple[str, ...]]:
    sds, ends = fit.privacy_sd, fit.table_conf_int()
    out: list[tuple[str, ...]] = []
    for name, value in zip(fit.names, fit.coefficients.tolist(), strict=True):
        pair = ends[name]
        if isinstance(pair, NotEstimable):
            out.append((name, f"{value:.6g}", "not", "estimable", ""))
        else:
            out.append((name, f"{value:.6g}", f"{sds[name]:.4g}", f"{pair[0]:.5g}", f"{pair[1]:.5g}"))
    return out


def _plain(values: ByName[float | NotEstimable]) -> list[float | None]:
    return [plain_number(value) for value in values.values()]


def plain_number(value: float | NotEstimable) -> float | None:
    """Give the number, or nothing."""
    return None if isinstance(value, NotEstimable) else value


def plain_reason(value: object) -> str | None:
    """Say why there is no number; nothing if there is one."""
    return value.reason if isinstance(value, NotEstimable) else None

"""What a planner supposes about a table: rows, R^2, and shares, means, spreads and correlations of its columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from discreet.design.columns import Level
from discreet.design.dates import date_text
from discreet.exact.rounding import nearest
from discreet.privacy.checks import is_number

Pair: TypeAlias = tuple[str, str]


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a stated value is a finite number; true and false are not.

    >>> is_finite(2), is_finite(True), is_finite("2")
    (True, False, False)
    """
    return is_number(value) and math.isfinite(nearest(value))


@dataclass(frozen=True, slots=True)
class ColumnAssumption:
    """What is supposed of one declared column, in original units.

    Attributes
    ----------
    name
        Declared name.
    mean, sd
        Of a number, as it is after clipping to its bounds.
    share
        Of a boolean: share of true.
    shares
        Of levels, in declared order.
    formula
        Of a column that is computed from others, from which its shares, mean and sd follow.
    slopes
        Stated coefficients by released name; none where they follow from R^2.
    stated
        Which of `mean`, `sd`, `share` and `slope` the planner stated; the others are defaults.
    is_date
        Whether its mean is a number of days since 1970-01-01.
    """

    name: str
    mean: float | None = None
    sd: float | None = None
    share: float | None = None
    shares: tuple[tuple[Level, float], ...] | None = None
    formula: str | None = None
    slopes: tuple[tuple[str, float], ...] = ()
    stated: tuple[str, ...] = ()
    is_date: bool = False

    @property
    def computed(self) -> bool:
        """Whether all but its slopes follows from other columns."""
        return self.mean is None and self.share is None and self.shares is None

    def to_dict(self) -> dict[str, object]:
        """Each number with whether it is a default; slopes only where they are stated."""
        out: dict[str, object] = {"formula": self.formula} if self.computed else {}
        shares = None if self.shares is None else {str(level): share for level, share in self.shares}
        found = {"mean": self.mean, "sd": self.sd, "share": self.share if shares is None else shares}
        for key, value in found.items():
            if value is not None:
                out[key] = {"value": value, "default": key not in self.stated}
        if self.slopes:
            out["slope"] = {"value": dict(self.slopes), "default": False}
        return out

    def __str__(self) -> str:
        slopes = "".join(
            f", slope {value:.4g}" if name == self.name else f", slope of {name} {value:.4g}"
            for name, value in self.slopes
        )
        if self.computed:
            return f"computed: {self.formula}{slopes}"
        if self.shares is not None:
            return self._marked("share", ", ".join(f"{level} {share:.4g}" for level, share in self.shares)) + slopes
        if self.share is not None:
            return self._marked("share", f"share true {self.share:.4g}") + slopes
        mean, days = (date_text(self.mean or 0.0), " days") if self.is_date else (f"{self.mean:.6g}", "")
        return f"{self._marked('mean', f'mean {mean}')}, {self._marked('sd', f'sd {self.sd:.6g}{days}')}{slopes}"

    def _marked(self, key: str, text: str) -> str:
        return text if key in self.stated else f"{text} (default)"


@dataclass(frozen=True, slots=True)
class Supposed:
    """Every declared column of the table that is planned for, with the correlations of its numbers and booleans.

    `common` is the correlation of every pair of numeric columns that `pairs` does not list.
    """

    columns: tuple[ColumnAssumption, ...]
    common: float = 0.0
    pairs: tuple[tuple[Pair, float], ...] = ()

    def __getitem__(self, name: str) -> ColumnAssumption:
        return next(column for column in self.columns if column.name == name)

    @property
    def correlated(self) -> bool:
        """Whether any two columns are."""
        return self.common != 0 or any(value != 0 for _, value in self.pairs)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """All that a plan supposes.

    Attributes
    ----------
    rows
        Number of rows that count.
    rsquared
        Share of the target's variance that the model explains.
    supposed
        The columns.
    target
        Name of the target.
    stated
        Which of `rsquared` and `correlation` the planner stated; `slopes` where R^2 follows from stated slopes.
    """

    rows: float
    rsquared: float
    supposed: Supposed
    target: str
    stated: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON, each with whether it is a default."""
        pairs = [{"columns": list(pair), "value": value} for pair, value in self.supposed.pairs]
        return {
            "rows": self.rows,
            "rsquared": {"value": self.rsquared, "default": not {"rsquared", "slopes"} & set(self.stated)},
            "correlation": {
                "value": self.supposed.common,
                "default": "correlation" not in self.stated,
                "pairs": pairs,
            },
            "columns": {column.name: column.to_dict() for column in self.supposed.columns},
        }

    def lines(self) -> list[tuple[str, str]]:
        """What is supposed of what, in words."""
        default = {key: "" if key in self.stated else " (default)" for key in ("rsquared", "correlation")}
        out = [
            (f"{column.name}, the target" if column.name == self.target else column.name, str(column))
            for column in self.supposed.columns
        ]
        origin = " (follows from the slopes)" if "slopes" in self.stated else default["rsquared"]
        out.append(("variance explained", f"{self.rsquared:.4g}{origin}"))
        others = " of other numeric columns" if self.supposed.pairs else " of numeric columns"
        out += [(f"correlation of {a} and {b}", f"{value:g}") for (a, b), value in self.supposed.pairs]
        out.append((f"correlation{others}", f"{self.supposed.common:g}{default['correlation']}"))
        return out

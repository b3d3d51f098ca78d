"""Analysis of variance: each declared column as a whole, given all the others.

A column with several released columns, such as a factor, has several coefficients, L theta = 0 if it says nothing. The
F statistic and the p-value are those of the joint score test (`inference.tests`), which includes the noise of the
release. The sum of squares is by how much the noisy residual sum grows without the column,

    RSS~(without) - RSS~(with) = (L theta~)'(L H L')^{-1} (L theta~),     H the inverse of the Gram,

because least squares under L theta = 0 moves theta~ by H L'(L H L')^{-1} L theta~. With noise it is too large on
average, by tr((L H L')^{-1} L H V H L'), and F is not sum_sq / df over the residual variance; without noise it is, and
the table is that of R's `drop1` and of statsmodels' `anova_lm(typ=3)` with one indicator for each level but the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.values.estimates import Number
from discreet.analyst.values.not_estimable import NotEstimable, known, reason_of, shown_number
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from pyarrow import Table

RESIDUAL: Final = "Residual"


@dataclass(frozen=True, slots=True)
class TermTest:
    """One declared column of a model, tested as a whole.

    Attributes
    ----------
    df
        Number of its coefficients.
    sum_sq
        By how much the noisy residual sum grows without it, in squared units of the target.
    statistic
        F of the joint score test that all its coefficients are 0.
    pvalue
        Of that test; 1 where the release excludes no value.
    """

    df: int
    sum_sq: Number
    statistic: Number
    pvalue: Number


class Anova(Mapping[str, TermTest]):
    """Tests of the declared columns of a model, each given all the others, by name.

    Attributes
    ----------
    df_resid
        Degrees of freedom of the residuals; noisy unless the number of rows is public.
    ssr
        Residual sum of squares in squared units of the target, as it was released.
    """

    __slots__ = ("_tests", "df_resid", "ssr")

    def __init__(self, tests: Mapping[str, TermTest], df_resid: Number, ssr: Number) -> None:
        self._tests = dict(tests)
        self.df_resid = df_resid
        self.ssr = ssr

    def __getitem__(self, name: str) -> TermTest:
        try:
            return self._tests[name]
        except KeyError:
            raise KeyError(str(SpecError.unknown_name("feature", name, self._tests))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._tests)

    def __len__(self) -> int:
        return len(self._tests)

    def to_dict(self) -> dict[str, object]:
        """Everything as plain values for JSON; null, and a reason, where the release cannot say."""
        return {
            "terms": {
                name: {
                    "df": one.df,
                    "sum_sq": known(one.sum_sq),
                    "statistic": known(one.statistic),
                    "pvalue": known(one.pvalue),
                    "reason": _first_reason(one.sum_sq, one.statistic, one.pvalue),
                }
                for name, one in self.items()
            },
            "df_resid": known(self.df_resid),
            "ssr": known(self.ssr),
        }

    def to_frame(self) -> Table:
        """Give the table with statsmodels' column names as an Arrow table, the residuals in its last row."""
        import pyarrow as pa

        tests = list(self.values())
        return pa.table(
            {
                "term": pa.array([*self, RESIDUAL], type=pa.string()),
                "df": pa.array([*(one.df for one in tests), known(self.df_resid)], type=pa.float64()),
                "sum_sq": _column([*(one.sum_sq for one in tests), self.ssr]),
                "F": _column([*(one.statistic for one in tests), None]),
                "PR(>F)": _column([*(one.pvalue for one in tests), None]),
                "reason": pa.array(
                    [
                        *(_first_reason(one.sum_sq, one.statistic, one.pvalue) for one in tests),
                        _first_reason(self.df_resid, self.ssr),
                    ],
                    type=pa.string(),
                ),
            }
        )

    def __repr__(self) -> str:
        rows = [
            (name, str(one.df), *(_shown(value) for value in (one.sum_sq, one.statistic, one.pvalue)))
            for name, one in self.items()
        ]
        last = (RESIDUAL, _shown(self.df_resid), _shown(self.ssr), "", "")
        table = [("term", "df", "sum_sq", "F", "PR(>F)"), *rows, last]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join([f"{row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in table]
        return "\n".join([*lines, "Each term given all the others; F and p include the noise, sum_sq holds it."])


def term_sum(theta: FloatArray, H: FloatArray, L: FloatArray) -> float:
    """Sum of squares of combinations of coefficients; see the head of the module.

    Parameters
    ----------
    theta
        Coefficients of z, shape (k,).
    H
        Inverse of the Gram, shape (k, k).
    L
        Weights of the combinations that are tested, shape (m, k).
    """
    own = L @ theta
    return float(own @ np.linalg.solve(L @ H @ L.T, own))


def _first_reason(*values: Number) -> str | None:
    return next(filter(None, map(reason_of, values)), None)


def _column(values: Sequence[Number | None]) -> object:
    import pyarrow as pa

    return pa.array([None if value is None else known(value) for value in values], type=pa.float64())


def _shown(value: Number) -> str:
    return "not estimable" if isinstance(value, NotEstimable) else shown_number(value, ".5g")

"""Tests and diagnostics of terms: analysis of variance, comparisons of levels, variance inflation, AIC and BIC."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.confidence_sets import MORE, ConfidenceSet, mapped
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.inference.contrasts import (
    Contrasts,
    Simultaneous,
    read_each,
    simultaneous_tails,
    simultaneous_value,
)
from discreet.analyst.inference.tests import Hypotheses
from discreet.analyst.solvers.least_squares import inverse_gram
from discreet.analyst.values import Interval, NamedValues, Number, all_beside, p_without, set_without, shown_estimate
from discreet.design.columns import Categorical, Interaction, Numeric
from discreet.design.design import Design
from discreet.errors import ModelError, shown
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_distribution import NotEstimable, checked_level, known, reason_of, shown_number
from discreet.wording import Call

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.inference.tests import ContrastTest

# -- anova -------------------------------------------------------------------------------------------------------------
# Analysis of variance: each declared column as a whole, given all the others.
#
# A declared column with several coefficients, such as a factor, satisfies L theta = 0 if it has no effect. The F
# statistic and the p-value come from the joint score test (`inference.tests`), which includes the privacy noise. The
# sum of squares is the increase of the noisy residual sum if the column is left out,
#
#     RSS~(without) - RSS~(with) = (L theta~)'(L H L')^{-1} (L theta~),     H the inverse of the Gram,
#
# because least squares under L theta = 0 moves theta~ by H L'(L H L')^{-1} L theta~. Noise makes it too large on
# average, by tr((L H L')^{-1} L H V H L'), so F is not sum_sq / df divided by the residual variance. Without noise it
# is, and the table agrees with R's `drop1` and statsmodels' `anova_lm(typ=3)` with one indicator for each level but the
# first.

RESIDUAL: Final = "Residual"


@dataclass(frozen=True, slots=True)
class TermTest:
    """Test of one declared column of a model as a whole.

    Attributes
    ----------
    df
            Number of coefficients of the column.
    sum_sq
            Increase of the noisy residual sum if the column is left out, in squared units of the target.
    statistic
            F statistic of the joint score test that all coefficients of the column are 0.
    pvalue
            P-value of that test. It is 1 if the release excludes no value.
    """

    df: int
    sum_sq: Number
    statistic: Number
    pvalue: Number


class Anova(Mapping[str, TermTest]):
    """Tests of each declared column of a model given all the others, by column name.

    Attributes
    ----------
    df_resid
            Residual degrees of freedom. They are noisy unless the number of rows is public.
    ssr
            Released residual sum of squares, in squared units of the target.
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
            raise KeyError(str(ModelError.unknown_name("feature", name, self._tests))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._tests)

    def __len__(self) -> int:
        return len(self._tests)

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON, with null and a reason where a number cannot be estimated."""
        return {
            "terms": {
                name: {
                    "df": test.df,
                    "sum_sq": known(test.sum_sq),
                    "statistic": known(test.statistic),
                    "pvalue": known(test.pvalue),
                    "reason": _first_reason(test.sum_sq, test.statistic, test.pvalue),
                }
                for name, test in self.items()
            },
            "df_resid": known(self.df_resid),
            "ssr": known(self.ssr),
        }

    def to_frame(self) -> Table:
        """Return an Arrow table with the column names of statsmodels and the residuals in its last row."""
        import pyarrow as pa

        tests = list(self.values())
        return pa.table(
            {
                "term": pa.array([*self, RESIDUAL], type=pa.string()),
                "df": pa.array([*(test.df for test in tests), known(self.df_resid)], type=pa.float64()),
                "sum_sq": _column([*(test.sum_sq for test in tests), self.ssr]),
                "F": _column([*(test.statistic for test in tests), None]),
                "PR(>F)": _column([*(test.pvalue for test in tests), None]),
                "reason": pa.array(
                    [
                        *(_first_reason(test.sum_sq, test.statistic, test.pvalue) for test in tests),
                        _first_reason(self.df_resid, self.ssr),
                    ],
                    type=pa.string(),
                ),
            }
        )

    def __repr__(self) -> str:
        rows = [
            (name, str(test.df), *(_shown(value) for value in (test.sum_sq, test.statistic, test.pvalue)))
            for name, test in self.items()
        ]
        last = (RESIDUAL, _shown(self.df_resid), _shown(self.ssr), "", "")
        table = [("term", "df", "sum_sq", "F", "PR(>F)"), *rows, last]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join([f"{row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in table]
        return "\n".join(
            [*lines, "Each term is tested given all others. F and p account for privacy noise; sum_sq includes it."]
        )


def term_sum(theta: FloatArray, H: FloatArray, L: FloatArray) -> float:
    """Compute the sum of squares of the combinations L of theta, with H the inverse Gram matrix."""
    own = L @ theta
    return float(own @ np.linalg.solve(L @ H @ L.T, own))


def _first_reason(*values: Number) -> str | None:
    return next(filter(None, map(reason_of, values)), None)


def _column(values: Sequence[Number | None]) -> object:
    import pyarrow as pa

    return pa.array([None if value is None else known(value) for value in values], type=pa.float64())


def _shown(value: Number) -> str:
    return "not estimable" if isinstance(value, NotEstimable) else shown_number(value, ".5g")


# -- inflation ---------------------------------------------------------------------------------------------------------
# Variance inflation: the factor by which collinearity with the other columns increases a variance.
#
# The sampling variance of a slope is s^2 H_jj with H the inverse of the Gram A. If the column were uncorrelated with
# all others it would be s^2 / S_jj, where S_jj is the column's sum of squares around its mean (around 0 without an
# intercept). So
#
#     VIF_j = H_jj S_jj = 1 / (1 - R_j^2),
#
# with R_j^2 from the regression of the column on the others. A is noisy: the factor describes the *released* sums,
# which determine the error of the fit. Noise of standard deviation sigma in the entries moves S_jj by about sigma, so
# the factor says little about the population unless sigma is far below S_jj.


def inflation_factors(equations: NormalEquations) -> FloatArray:
    """Compute the variance inflation factor of each slope, shape (d,). The Gram matrix must be positive definite."""
    A, H = equations.A, inverse_gram(equations, np.zeros(len(equations.A)))
    if equations.intercept:
        A, H = A[1:, 1:] - np.outer(A[0, 1:], A[0, 1:]) / A[0, 0], H[1:, 1:]
    if equations.taken:
        # convert to the columns in original units, each divided by its half-range
        mixture = equations.mixture()
        back = np.linalg.inv(mixture)
        A, H = mixture @ A @ mixture.T, back.T @ H @ back
    out: FloatArray = H.diagonal() * A.diagonal()
    return out


# -- likelihood --------------------------------------------------------------------------------------------------------
# Log-likelihood, AIC and BIC of a line, corrected for the privacy noise.
#
# With n rows, k coefficients and the residual sum RSS a Gaussian line has at its maximum
#
#     llf = -n/2 (log(2 pi RSS / n) + 1),     aic = -2 llf + 2 k,     bic = -2 llf + k log n.
#
# These formulas fail on noisy sums. Least squares follows the noise of the sums as it follows the errors of the rows,
# so the noisy residual sum RSS~ is too small by tr(H V) on average, with H the inverse of the Gram and V the covariance
# of the noise in the score (see `inference.score`). An irrelevant feature therefore lowers RSS~ by (s^2 + v) instead of
# s^2 times a chi-square variable with one degree of freedom. Here s^2 is the residual variance, and v is tr(H V) of the
# larger model minus that of the smaller one. A penalty of 2 or log n for each coefficient is then too small, and as the
# noise grows nearly every feature is selected.
#
# `llf` is therefore the log-likelihood at RSS~ + tr(H V), which estimates the one without noise. It uses the same
# residual sum as the residual variance s^2 = (RSS~ + tr(H V)) / (n - k). `aic` and `bic` penalise each coefficient for
# both sampling error and noise that it follows,
#
#     -2 llf + c (k + r) - r,    r = tr(H V) / s^2,    c = 2 for AIC and log n for BIC.
#
# The term -r removes what the larger residual sum has already added to -2 llf: n log(1 + tr(H V) / RSS~) is close to r.
# So to first order the criterion is -2 llf~ + c (k + r), with llf~ the log-likelihood at RSS~. An irrelevant feature is
# selected if (s^2 + v) chi^2 > c (s^2 + v): as often as by AIC and BIC without noise, in 15.7% of releases for c = 2.
# The number k + r = tr(H Omega) / s^2 is that of Takeuchi's criterion [Takeuchi 1976], with Omega = s^2 A + V the
# covariance of the score. For c = 2 the criterion estimates the expected error for new responses as in
# `solvers.criterion`, there in units of the target and here as a likelihood. Without noise r is 0, and all three
# numbers agree with statsmodels.

NO_SUM: Final = NotEstimable(
    f"the noisy residual sum is not above 0, and the log-likelihood needs its logarithm; {MORE}"
)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Inputs of the Gaussian log-likelihood of a fitted line."""

    residual: float  # RSS~ of the scaled target
    followed: float  # tr(H V), the expected amount by which RSS~ is too small; 0 without noise
    rows: float  # noisy or public; must exceed `coefficients`
    coefficients: int  # including the intercept
    half: float  # one unit of the scaled target in original units

    @property
    def llf(self) -> Number:
        """Maximised log-likelihood at the noise-corrected residual sum."""
        residual = self.residual + self.followed
        if not residual > 0:
            return NO_SUM
        # add logarithms, because a square in original units may overflow
        variance = math.log(2 * math.pi) + math.log(residual) - math.log(self.rows) + 2 * math.log(self.half)
        return -self.rows / 2 * (variance + 1)

    @property
    def noise_coefficients(self) -> float:
        """Number r = tr(H V) / s^2 of irrelevant coefficients that would lower the residual sum as much as noise."""
        return self.followed * (self.rows - self.coefficients) / (self.residual + self.followed)

    def criterion(self, price: float) -> Number:
        """Compute -2 llf + `price` (k + r) - r. The price is 2 for AIC and log n for BIC."""
        return mapped(
            self.llf, lambda llf: -2 * llf + price * self.coefficients + (price - 1) * self.noise_coefficients
        )


# -- pairwise ----------------------------------------------------------------------------------------------------------
# All pairs of levels of a factor, with simultaneous intervals.
#
# The coefficient of a level is the difference from the reference level. The difference between two levels is therefore
# a combination of at most two coefficients, tested by the score like any other (`inference.contrasts`). Simultaneous
# intervals use one critical value for all pairs: Bonferroni's, or the quantile of the largest standardised difference,
# which with equal numbers of rows and no noise is Tukey's.


@dataclass(frozen=True, eq=False)
class PairwiseTest:
    """Differences between all pairs of levels of a factor, keyed like "region[south] - region[north]".

    Attributes
    ----------
    term
            Declared name of the factor.
    simultaneous
            Method for simultaneous intervals and p-values: `bonferroni` or `max-t`.
    effect, sd, score_z
            Estimated differences, their standard errors, and score statistics for a difference of 0.
    pvalue
            Two-sided p-values of separate tests.
    note
            If the factor has interactions in the model, the values of the other columns at which the differences apply.
    pvalue_adjusted
            Two-sided simultaneous p-values: the smallest 1 - level at which the set of `conf_int` excludes 0.
    contrasts, digest
            The differences, or the reason why they cannot be estimated, and the fingerprint of the release.
    """

    term: str
    simultaneous: Simultaneous
    effect: NamedValues[Number]
    sd: NamedValues[Number]
    score_z: NamedValues[Number]
    pvalue: NamedValues[Number]
    pvalue_adjusted: NamedValues[Number]
    contrasts: Contrasts | NotEstimable
    digest: str
    note: str = ""

    def conf_int(self, level: float | None = None, *, alpha: float | None = None) -> NamedValues[Interval]:
        """Return simultaneous confidence sets.

        Parameters
        ----------
        level, alpha
                Confidence level, as for `Fit.conf_int`.
        """
        checked = checked_level(level, alpha)
        return read_each(
            self.contrasts,
            tuple(self.effect),
            lambda about: about.intervals(simultaneous_value(about, checked, self.simultaneous, self.digest)),
            set_without,
        )

    def to_frame(self, level: float | None = None, *, alpha: float | None = None) -> Table:
        """Return an Arrow table with a row for each pair.

        Parameters
        ----------
        level, alpha
                Confidence level, as for `Fit.conf_int`.
        """
        import pyarrow as pa

        ends = self.conf_int(level, alpha=alpha)
        numbers = {
            "effect": self.effect,
            "sd": all_beside(self.sd, ends),
            "score_z": self.score_z,
            "pvalue": self.pvalue,
            "pvalue_adjusted": self.pvalue_adjusted,
        }
        columns = {"pair": pa.array(list(self.effect), type=pa.string())}
        for name, values in numbers.items():
            columns[name] = pa.array([known(value) for value in values.values()], type=pa.float64())
        sets = list(ends.values())
        for name in ("lower", "upper"):
            values_of = [getattr(item, name) if isinstance(item, ConfidenceSet) else None for item in sets]
            columns[name] = pa.array(values_of, type=pa.float64())
        kinds = [item.kind if isinstance(item, ConfidenceSet) else None for item in sets]
        columns["kind"] = pa.array(kinds, type=pa.string())
        rows = zip(*(values.values() for values in numbers.values()), strict=True)
        whys = [next(filter(None, map(reason_of, row)), None) for row in rows]
        return pa.table(columns | {"reason": pa.array(whys, type=pa.string())})

    def __repr__(self) -> str:
        ends = self.conf_int()
        lines = [f"Pairs of levels of {self.term}: difference, simultaneous 95% set ({self.simultaneous}), p-value"]
        for pair, effect in self.effect.items():
            p = shown_number(self.pvalue_adjusted[pair], ".4g")
            lines.append(f"  {pair}: {shown_estimate(effect, ends[pair])}, {ends[pair]}, p = {p}")
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])


def level_pairs(design: Design, term: object, names: Sequence[str], features: Sequence[str]) -> Hypotheses:
    """Return the hypotheses that two levels of a factor have equal coefficients, one for each pair."""
    factors = {name: column for name in features if isinstance(column := design.columns[name], Categorical)}
    factor = factors.get(term) if isinstance(term, str) else None
    if factor is None:
        if term in features:
            raise ModelError(
                f"the column {shown(term)} has no levels to compare",
                code="no-levels",
                option="term",
                given=term,
                allowed=factors,
                remedy=(
                    Call("Fit.t_test", "test its coefficient"),
                    f"name a column with levels: {', '.join(factors) or 'this model has none'}",
                ),
            )
        raise ModelError.unknown_name("factor", term, factors, option="term")
    rows, labels = [], []
    for first, second in combinations(factor.levels, 2):
        upper, lower = f"{term}[{second}]", f"{term}[{first}]"
        rows.append([float(name == upper) - float(name == lower) for name in names])
        labels.append(f"{upper} - {lower}")
    if len(set(labels)) < len(labels):
        raise ModelError(
            f"two pairs of levels of {shown(term)} would have the same label",
            code="ambiguous-levels",
            option="term",
            given=term,
            remedy=Call("Fit.t_test", "give the weights of each pair"),
        )
    return Hypotheses(tuple(labels), np.array(rows), np.zeros(len(rows)))


def where_they_hold(design: Design, term: str, features: Sequence[str]) -> str:
    """Describe the values of other columns at which the differences hold, if the factor has interactions.

    >>> columns = {"y": (0, 1), "age": (20, 80), "g": ["a", "b"], "ag": {"formula": "age:g"}}
    >>> print(where_they_hold(Design("y", columns), "g", ["age", "g", "ag"]))
    The model has the interaction ag (age:g), so the differences hold at age = 0; for another value, use t_test.
    """
    places: dict[str, str] = {}
    for name in features:
        column = design.columns[name]
        if not isinstance(column, Interaction) or term not in dict(column.factors):
            continue
        if column.number is None:
            places |= {
                f"{name} ({column.formula.text})": f"{other} = {factor.reference}"
                for other, factor in column.factors
                if other != term
            }
        else:
            number = design.columns[column.number]
            zero = number.value_text(0.0) if isinstance(number, Numeric) else "false"
            places[f"{name} ({column.formula.text})"] = f"{column.number} = {zero}"
    if not places:
        return ""
    what = "interaction" if len(places) == 1 else "interactions"
    where = " and ".join(dict.fromkeys(places.values()))
    return (
        f"The model has the {what} {', '.join(places)}, so the differences hold at {where}; for another value, use "
        "t_test."
    )


def pairwise_test(term: str, each: ContrastTest, way: Simultaneous, digest: str, note: str = "") -> PairwiseTest:
    """Add simultaneous p-values to the separate tests of all pairs."""
    about = each.contrasts
    adjusted = read_each(
        about, tuple(each.effect), lambda contrasts: simultaneous_tails(contrasts, each.pvalue, way, digest), p_without
    )
    return PairwiseTest(term, way, each.effect, each.sd, each.score_z, each.pvalue, adjusted, about, digest, note)

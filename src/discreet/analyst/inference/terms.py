"""Test whole terms: analysis of variance, pairwise levels, inflation factors, AIC and BIC."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.confidence_sets import ConfidenceSet, mapped
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
from discreet.analyst.values import ByName, Interval, Number, all_beside, p_without, set_without, shown_estimate
from discreet.design.columns import Categorical, Interaction, Numeric
from discreet.design.design import Design
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_law import NotEstimable, checked_level, known, reason_of, shown_number

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.inference.tests import ContrastTest

# -- anova -------------------------------------------------------------------------------------------------------------
# Analysis of variance: each declared column as a whole, given all the others.
#
# A column with several released columns, such as a factor, has several coefficients, L theta = 0 if it says nothing.
# The F statistic and the p-value are those of the joint score test (`inference.tests`), which includes the noise of the
# release. The sum of squares is by how much the noisy residual sum grows without the column,
#
#     RSS~(without) - RSS~(with) = (L theta~)'(L H L')^{-1} (L theta~),     H the inverse of the Gram,
#
# because least squares under L theta = 0 moves theta~ by H L'(L H L')^{-1} L theta~. With noise it is too large on
# average, by tr((L H L')^{-1} L H V H L'), and F is not sum_sq / df over the residual variance; without noise it is,
# and the table is that of R's `drop1` and of statsmodels' `anova_lm(typ=3)` with one indicator for each level but the
# first.

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


# -- inflation ---------------------------------------------------------------------------------------------------------
# Variance inflation: how much larger a variance is because a column can be guessed from the others.
#
# The sampling variance of a slope is s^2 H_jj with H the inverse of the Gram A. If the column were uncorrelated with
# all others it would be s^2 / S_jj, where S_jj is its sum of squares around its mean (around 0 without an intercept),
# so that
#
#     VIF_j = H_jj S_jj = 1 / (1 - R_j^2),
#
# R_j^2 that of the column explained by the other ones. A is noisy: the number describes the *released* sums, on which
# the error of the fit rests. Noise of standard deviation sigma in the entries moves S_jj by about sigma, so where sigma
# is not far below S_jj the factor says little about the population behind the rows.


def inflation_factors(equations: NormalEquations) -> FloatArray:
    """Give a factor of at least 1 for each slope of a model whose Gram is positive definite, shape (d,)."""
    A, H = equations.A, inverse_gram(equations, np.zeros(len(equations.A)))
    if equations.intercept:
        A, H = A[1:, 1:] - np.outer(A[0, 1:], A[0, 1:]) / A[0, 0], H[1:, 1:]
    if equations.taken:
        # of the columns in original units, each in steps of its own
        mixture = equations.mixture()
        back = np.linalg.inv(mixture)
        A, H = mixture @ A @ mixture.T, back.T @ H @ back
    out: FloatArray = H.diagonal() * A.diagonal()
    return out


# -- likelihood --------------------------------------------------------------------------------------------------------
# Log-likelihood, AIC and BIC of a line, corrected for the noise of the release.
#
# With n rows, k coefficients and the residual sum RSS a Gaussian line has at its maximum
#
#     llf = -n/2 (log(2 pi RSS / n) + 1),     aic = -2 llf + 2 k,     bic = -2 llf + k log n.
#
# These formulas fail on noisy sums. The noisy residual sum RSS~ is too small on average: least squares follows the
# noise of the sums as it follows the errors of the rows, the former by tr(H V), with H the inverse of the Gram and V
# the covariance of the noise in the score (see `inference.score`). So a feature that says nothing lowers RSS~ by (s^2 +
# v) times a chi-square variable with one degree of freedom, where s^2 is the residual variance and v = tr(H V) of the
# larger model less that of the smaller one, and not by s^2 times it. A penalty of 2 or log n for each coefficient is
# then too small: as the noise grows nearly every feature is let in.
#
# `llf` is therefore the log-likelihood at RSS~ + tr(H V), which estimates the one without noise. It uses the same
# residual sum as the residual variance s^2 = (RSS~ + tr(H V)) / (n - k). `aic` and `bic` count each coefficient as
# often as it follows noise of either kind,
#
#     -2 llf + c (k + r) - r,    r = tr(H V) / s^2,    c = 2 for AIC and log n for BIC.
#
# The r that is taken off is what the larger residual sum has added to -2 llf already: n log(1 + tr(H V) / RSS~) is
# close to r. So the criterion is -2 llf~ + c (k + r) to first order, with llf~ the log-likelihood at RSS~, and a
# feature that says nothing is let in if (s^2 + v) chi^2 > c (s^2 + v): as often as AIC and BIC let it in without noise,
# in 15.7% of releases for c = 2. The number k + r = tr(H Omega) / s^2 is that of Takeuchi's criterion [Takeuchi 1976],
# with Omega = s^2 A + V the covariance of the score; for c = 2 the criterion is an estimate of the expected error for
# new responses as in `solvers.criterion`, there in units of the target and here as a likelihood. Without noise r is 0,
# and all three are statsmodels' numbers.

NO_SUM: Final = NotEstimable(
    "the residual sum is not above 0, and a likelihood needs its logarithm; where there is noise it outweighs the "
    "residuals: use fewer features, more rows or a larger epsilon"
)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """What the likelihood of a line is computed from.

    Attributes
    ----------
    residual
        RSS~ of the noisy sums, for the scaled target.
    followed
        tr(H V): how far it falls short on average because the line follows the noise; 0 without noise.
    rows
        Number of rows, noisy or public, above `coefficients`.
    coefficients
        How many, the intercept included.
    half
        What one unit of the scaled target is worth.
    """

    residual: float
    followed: float
    rows: float
    coefficients: int
    half: float

    @property
    def llf(self) -> Number:
        """Log-likelihood at its maximum, at the residual sum corrected for what the line follows of the noise."""
        residual = self.residual + self.followed
        if not residual > 0:
            return NO_SUM
        # logarithms are added, because a square in original units may leave double precision
        variance = math.log(2 * math.pi) + math.log(residual) - math.log(self.rows) + 2 * math.log(self.half)
        return -self.rows / 2 * (variance + 1)

    @property
    def noise_coefficients(self) -> float:
        """Number of coefficients' worth of noise that the line follows, r = tr(H V) / s^2; 0 without noise."""
        return self.followed * (self.rows - self.coefficients) / (self.residual + self.followed)

    def criterion(self, price: float) -> Number:
        """-2 llf + price (k + r) - r; the price is 2 for AIC and log n for BIC."""
        return mapped(
            self.llf, lambda llf: -2 * llf + price * self.coefficients + (price - 1) * self.noise_coefficients
        )


# -- pairwise ----------------------------------------------------------------------------------------------------------
# All pairs of levels of a factor, with intervals that hold together.
#
# A level's coefficient is the difference from the reference level, whose own is 0, so the difference of two levels is a
# combination of at most two coefficients, tested by the score like any other (`inference.contrasts`). Intervals that
# hold together take one critical value for all pairs: Bonferroni's, or the quantile of the largest standardised
# difference, which with equal numbers of rows and no noise is Tukey's.


@dataclass(frozen=True, eq=False)
class PairwiseTest:
    """Differences between all levels of a factor; every value is by pair, "region[south] - region[north]".

    Attributes
    ----------
    term
        Declared name of the factor.
    simultaneous
        How the intervals and p-values hold together: `bonferroni` or `max-t`.
    effect, sd, score_z
        Estimates of the differences, their standard errors, and the score statistics that they are 0.
    pvalue
        Two-sided, one by one.
    note
        Where the model has interactions of the factor: at which value of the other column the differences hold.
    pvalue_adjusted
        Two-sided, for all pairs together: the smallest 1 - level at which the interval of `conf_int` excludes 0.
    contrasts, digest
        What the sets are computed from: the differences, or why nothing can be said of them, and the fingerprint of the
        release.
    """

    term: str
    simultaneous: Simultaneous
    effect: ByName[Number]
    sd: ByName[Number]
    score_z: ByName[Number]
    pvalue: ByName[Number]
    pvalue_adjusted: ByName[Number]
    contrasts: Contrasts | NotEstimable
    digest: str
    note: str = ""

    def conf_int(self, level: float | None = None, *, alpha: float | None = None) -> ByName[Interval]:
        """Give confidence sets that all hold together with this probability.

        Parameters
        ----------
        level, alpha
            As for `Fit.conf_int`.
        """
        checked = checked_level(level, alpha)
        return read_each(
            self.contrasts,
            tuple(self.effect),
            lambda about: about.intervals(simultaneous_value(about, checked, self.simultaneous, self.digest)),
            set_without,
        )

    def to_frame(self, level: float | None = None, *, alpha: float | None = None) -> Table:
        """Give everything as an Arrow table, a row for each pair.

        Parameters
        ----------
        level, alpha
            As for `Fit.conf_int`.
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
            found = [getattr(one, name) if isinstance(one, ConfidenceSet) else None for one in sets]
            columns[name] = pa.array(found, type=pa.float64())
        kinds = [one.kind if isinstance(one, ConfidenceSet) else None for one in sets]
        columns["kind"] = pa.array(kinds, type=pa.string())
        rows = zip(*(values.values() for values in numbers.values()), strict=True)
        whys = [next(filter(None, map(reason_of, row)), None) for row in rows]
        return pa.table(columns | {"reason": pa.array(whys, type=pa.string())})

    def __repr__(self) -> str:
        ends = self.conf_int()
        lines = [f"Pairs of levels of {self.term}: difference, 95% set for all together ({self.simultaneous}), p-value"]
        for pair, effect in self.effect.items():
            p = shown_number(self.pvalue_adjusted[pair], ".4g")
            lines.append(f"  {pair}: {shown_estimate(effect, ends[pair])}, {ends[pair]}, p = {p}")
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])


def level_pairs(design: Design, term: object, names: Sequence[str], features: Sequence[str]) -> Hypotheses:
    """Give the hypotheses that two levels of a factor have the same coefficient, one for each pair.

    Parameters
    ----------
    design
        Declarations.
    term
        Declared name of the factor.
    names
        Of the coefficients.
    features
        Declared names of the regressors.
    """
    factors = {name: one for name in features if isinstance(one := design.columns[name], Categorical)}
    column = factors.get(term) if isinstance(term, str) else None
    if column is None:
        if term in features:
            raise SpecError(
                f"{shown(term)} has no levels, so there are no pairs to compare; use t_test, or name a column with "
                f"levels: {', '.join(factors) or 'this model has none'}"
            )
        raise SpecError.unknown_name("factor", term, factors)
    rows, labels = [], []
    for first, second in combinations(column.levels, 2):
        upper, lower = f"{term}[{second}]", f"{term}[{first}]"
        rows.append([float(name == upper) - float(name == lower) for name in names])
        labels.append(f"{upper} - {lower}")
    if len(set(labels)) < len(labels):
        raise SpecError(f"two pairs of levels of {shown(term)} read the same; use t_test with weights instead")
    return Hypotheses(tuple(labels), np.array(rows), np.zeros(len(rows)))


def where_they_hold(design: Design, term: str, features: Sequence[str]) -> str:
    """Say at which value of other columns the differences hold, where interactions make them depend on it.

    >>> columns = {"y": (0, 1), "age": (20, 80), "g": ["a", "b"], "ag": {"formula": "age:g"}}
    >>> print(where_they_hold(Design("y", columns), "g", ["age", "g", "ag"]))
    The model has the interaction ag (age:g), so these are the differences at age = 0; for another value, use t_test.
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
        f"The model has the {what} {', '.join(places)}, so these are the differences at {where}; for another value, "
        "use t_test."
    )


def pairwise_test(term: str, each: ContrastTest, way: Simultaneous, digest: str, note: str = "") -> PairwiseTest:
    """Put the tests of all pairs together.

    Parameters
    ----------
    term
        Declared name of the factor.
    each
        Their tests one by one.
    way
        How they hold together.
    digest
        Fingerprint of the release.
    note
        At which values of other columns they hold.
    """
    about = each.contrasts
    adjusted = read_each(
        about, tuple(each.effect), lambda one: simultaneous_tails(one, each.pvalue, way, digest), p_without
    )
    return PairwiseTest(term, way, each.effect, each.sd, each.score_z, each.pvalue, adjusted, about, digest, note)

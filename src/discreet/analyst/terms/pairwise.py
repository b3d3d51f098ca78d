"""All pairs of levels of a factor, with intervals that hold together.

A level's coefficient is the difference from the reference level, whose own is 0, so the difference of two levels is a
combination of at most two coefficients, tested by the score like any other (`inference.contrasts`). Intervals that hold
together take one critical value for all pairs: Bonferroni's, or the quantile of the largest standardised difference,
which with equal numbers of rows and no noise is Tukey's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.analyst.inference.contrasts import Contrasts, read_each
from discreet.analyst.inference.hypotheses import Hypotheses
from discreet.analyst.inference.simultaneous import Simultaneous, simultaneous_tails, simultaneous_value
from discreet.analyst.values.confidence_sets import ConfidenceSet
from discreet.analyst.values.estimates import (
    ByName,
    Interval,
    Number,
    all_beside,
    p_without,
    set_without,
    shown_estimate,
)
from discreet.analyst.values.not_estimable import NotEstimable, known, reason_of, shown_number
from discreet.design.columns import Categorical, Numeric
from discreet.design.interactions import Interaction
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.releases.reference_law import checked_level

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.inference.tests import ContrastTest


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

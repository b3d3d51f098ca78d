"""Values by coefficient name, some of which the budget cannot give: `NotEstimable` is a value, never NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from discreet.analyst.values.by_name import ByName as ByName
from discreet.analyst.values.confidence_sets import ConfidenceSet, any_value
from discreet.analyst.values.not_estimable import NotEstimable, missing_values, shown_number
from discreet.exact.arrays import FloatArray


class NothingExcluded(NotEstimable):
    """The release was asked for something that it holds, and excludes no value: sets are "any value", p-values 1.

    >>> set_without(NothingExcluded("the sums are not positive definite")), p_without(NothingExcluded("no rows"))
    (any value, 1.0)
    """

    __slots__ = ()


Number: TypeAlias = float | NotEstimable
Interval: TypeAlias = ConfidenceSet | NotEstimable


def set_without(why: NotEstimable) -> Interval:
    """Give the set of a number that is not estimable: any value, or the reason where no set can be asked for."""
    return any_value(why.reason) if isinstance(why, NothingExcluded) else why


def p_without(why: NotEstimable) -> Number:
    """Give the p-value of a number that is not estimable: 1, or the reason where no test can be asked for."""
    return 1.0 if isinstance(why, NothingExcluded) else why


def number_without(why: NotEstimable) -> Number:
    """Give what stands for a number that is not estimable: the reason."""
    return why


def bounded(ends: Interval) -> bool:
    """Whether there is a set and it is an interval."""
    return isinstance(ends, ConfidenceSet) and ends.bounded


def unbounded(ends: Interval) -> bool:
    """Whether there is a set and it is no interval, so that the estimate says little."""
    return isinstance(ends, ConfidenceSet) and not ends.bounded


def beside_set(value: Number, ends: Interval) -> Number:
    """Give a standard error or t value, or why there is none: beside an unbounded set it means nothing.

    >>> beside_set(1.5, ConfidenceSet("interval", 0.0, 2.0)), beside_set(1.5, any_value("too much noise"))
    (1.5, not estimable: too much noise)
    """
    return NotEstimable(ends.reason or "") if isinstance(ends, ConfidenceSet) and not ends.bounded else value


def all_beside(values: ByName[Number], sets: ByName[Interval]) -> ByName[Number]:
    """Give standard errors or t values by name, and a reason for those whose set is unbounded."""
    return ByName(tuple(values), [beside_set(values[name], sets[name]) for name in values])


def shown_estimate(value: Number, ends: Interval) -> str:
    """Give an estimate to six digits, or in brackets and to two where the release does not bound it.

    >>> shown_estimate(1234.567, ConfidenceSet("interval", 0.0, 2e3)), shown_estimate(1234.567, any_value("noise"))
    ('1234.57', '[1200]')
    """
    return shown_value(value, weak=unbounded(ends))


def shown_value(value: Number, *, weak: bool) -> str:
    """Give a number to six digits, or in brackets and to two where it is weak."""
    return f"[{rough(value)}]" if weak and not isinstance(value, NotEstimable) else shown_number(value, ".6g")


def rough(value: float) -> str:
    """Give a number to two digits.

    >>> rough(-1234.5), rough(0.0678)
    ('-1200', '0.068')
    """
    return f"{float(f'{value:.2g}'):g}"


def numbers_by_name(names: Sequence[str], values: FloatArray | NotEstimable) -> ByName[Number]:
    """Give each name its number, or each the reason why there are none."""
    if isinstance(values, NotEstimable):
        return ByName[Number].alike(names, values)
    return ByName(names, values.tolist())


def first_missing(values: ByName[Number]) -> NotEstimable | None:
    """Say of which name there is no number and why; nothing where every number is there."""
    return next((NotEstimable(f"{name}: {why.reason}") for name, why in missing_values(values).items()), None)

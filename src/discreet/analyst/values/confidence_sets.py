"""What a release leaves possible for a number: an interval, the outside of one, a half line or any value.

A test that is inverted for a noisy ratio may reject only the values of a gap, or none at all. Such sets are given as
they are: to keep only the bounded ones would select lucky draws of the noise, and those cover too little.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Real
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from discreet.analyst.values.not_estimable import NotEstimableError
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray

SetKind = Literal["interval", "outside", "everything", "above", "below"]
KINDS: Final[tuple[SetKind, ...]] = get_args(SetKind)
KindArray: TypeAlias = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True, repr=False)
class ConfidenceSet:
    """The values of a number that a test at some level does not reject.

    Attributes
    ----------
    kind
        `interval`: from `lower` to `upper`; `outside`: all but what lies between them; `above`: from `lower` on;
        `below`: up to `upper`; `everything`: any value.
    lower, upper
        Ends of the interval, or of the gap for `outside`; infinite where there is none.
    reason
        Why the set is not an interval; none if it is one.

    Examples
    --------
    >>> low, high = ConfidenceSet("interval", -2.1, -0.3)
    >>> low, high
    (-2.1, -0.3)
    >>> gap = ConfidenceSet("outside", -2.1, -0.3)
    >>> gap, gap.bounded, gap.contains(-1.0), gap.contains(0.0)
    (not between -2.1 and -0.3, False, False, True)
    >>> ConfidenceSet("everything").to_dict()
    {'kind': 'everything', 'lower': None, 'upper': None}
    """

    kind: SetKind
    lower: float = -math.inf
    upper: float = math.inf
    reason: str | None = field(default=None, compare=False)

    @property
    def bounded(self) -> bool:
        """Whether it is an interval with two ends."""
        return self.kind == "interval"

    def contains(self, value: float) -> bool:
        """Whether a value is in the set; its ends are.

        Parameters
        ----------
        value
            In the units of the set.
        """
        if not isinstance(value, Real) or isinstance(value, bool):
            raise SpecError(f"value: expected a number, got {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        if math.isnan(number):
            return False
        if self.kind == "outside":
            return number <= self.lower or number >= self.upper
        return self.lower <= number <= self.upper

    def to_dict(self) -> dict[str, str | float | None]:
        """Give kind and ends as plain values for JSON; null for an end that is infinite."""
        ends = (end if math.isfinite(end) else None for end in (self.lower, self.upper))
        return dict(zip(("kind", "lower", "upper"), (self.kind, *ends), strict=True))

    def __iter__(self) -> Iterator[float]:
        if not self.bounded:
            raise NotEstimableError(
                f"the set is unbounded ({self}), so it cannot be unpacked into two ends; read kind, lower and upper, "
                "or call contains(value)"
            )
        return iter((self.lower, self.upper))

    def __getitem__(self, index: int) -> float:
        return tuple(self)[index]

    def __repr__(self) -> str:
        return set_words(self.kind, f"{self.lower:.6g}", f"{self.upper:.6g}")


def set_words(kind: SetKind, lower: str, upper: str) -> str:
    """Say a set whose ends are these texts.

    >>> set_words("above", "1.2", ""), set_words("below", "", "1.2"), set_words("everything", "", "")
    ('at least 1.2', 'at most 1.2', 'any value')
    """
    return " ".join(filter(None, split_words(kind, lower, upper)))


def split_words(kind: SetKind, lower: str, upper: str) -> tuple[str, str]:
    """Say a set in two parts, for the two columns that a table has for the ends of an interval.

    >>> split_words("outside", "-2.1", "-0.3")
    ('not between -2.1', 'and -0.3')
    """
    match kind:
        case "interval":
            return f"{lower} to", upper
        case "outside":
            return f"not between {lower}", f"and {upper}"
        case "above":
            return "at least", lower
        case "below":
            return "at most", upper
        case "everything":
            return "any", "value"


def any_value(reason: str) -> ConfidenceSet:
    """Give the set that excludes nothing, and say why.

    >>> any_value("the noise outweighs the signal")
    any value
    """
    return ConfidenceSet("everything", reason=reason)


@dataclass(frozen=True, eq=False)
class SetArray:
    """Sets of m numbers.

    Attributes
    ----------
    kind, lower, upper
        As for `ConfidenceSet`, shape (m,).
    """

    kind: KindArray
    lower: FloatArray
    upper: FloatArray

    def moved(self, centre: FloatArray, scale: FloatArray | float) -> SetArray:
        """Give the sets of centre + scale u for the sets of u; scale is positive.

        Where an end leaves double precision nothing is excluded.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            lower, upper = centre + scale * self.lower, centre + scale * self.upper
        has_lower, has_upper = (
            ~np.isin(self.kind, ("everything", "below")),
            ~np.isin(self.kind, ("everything", "above")),
        )
        lost = (has_lower & ~np.isfinite(lower)) | (has_upper & ~np.isfinite(upper))
        return SetArray(
            np.where(lost, "everything", self.kind),
            np.where(has_lower & ~lost, lower, -np.inf),
            np.where(has_upper & ~lost, upper, np.inf),
        )

    def at(self, index: int, reason: str) -> ConfidenceSet:
        """Give one of the sets; with the reason if it is no interval."""
        kind = next(known for known in KINDS if known == self.kind[index])
        return ConfidenceSet(
            kind, float(self.lower[index]), float(self.upper[index]), None if kind == "interval" else reason
        )


def quadratic_sets(lead: FloatArray, middle: FloatArray, rest: FloatArray) -> SetArray:
    """Solve lead u^2 - 2 middle u - rest <= 0 for u, one by one; rest is not below 0, so that u = 0 solves it.

    With lead > 0 the solution is an interval. With lead < 0 it is the outside of one, or any value where the quadratic
    has no two roots; with lead = 0 a half line, or any value where middle is 0 too.

    >>> quadratic_sets(np.array([1.0, -1.0, -1.0, 0.0]), np.array([0.0, -2.0, 1.0, 0.5]), np.full(4, 1.0)).kind.tolist()
    ['interval', 'outside', 'everything', 'above']
    """
    square = middle**2 + lead * rest
    two = (lead > 0) | ((lead < 0) & (square > 0))
    root = np.sqrt(np.where(two, square, 0.0))
    # the sum of two numbers of one sign; the other root follows from the product of both, which keeps its digits
    far = middle + np.where(middle < 0, -root, root)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first, second = far / lead, np.where(far == 0, 0.0, -rest / far)
        only = -rest / (2 * middle)
    line = (lead == 0) & (middle != 0)
    kind = np.full(lead.shape, "everything", dtype="<U10")
    kind[two] = np.where(lead[two] > 0, "interval", "outside")
    kind[line] = np.where(middle[line] > 0, "above", "below")
    lower = np.where(two, np.minimum(first, second), np.where(kind == "above", only, -np.inf))
    upper = np.where(two, np.maximum(first, second), np.where(kind == "below", only, np.inf))
    return SetArray(kind, lower, upper)

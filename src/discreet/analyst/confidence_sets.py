"""Define confidence sets: an interval, a half-line, the outside of an interval, or any value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError, SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_law import NotEstimable

# -- not estimable -----------------------------------------------------------------------------------------------------
# What a release cannot give: as a value and as an error.

Known = TypeVar("Known")
Result = TypeVar("Result")
REMEDY: Final = "bayes"  # the penalty that predicts best, also where least squares has no minimum


class NotEstimableError(DiscreetError):
    """The released sums do not determine the coefficients that were asked for."""

    @classmethod
    def at_strength(cls, ridge: float | None) -> NotEstimableError:
        """Build the error for sums of products, with or without a ridge, that are not positive definite."""
        cause = (
            "the noise outweighs the signal in some direction at this budget, or a column is a combination of others"
        )
        others = "use fewer features, more rows or a larger epsilon"
        if ridge is None:
            return cls(
                "not estimable: the released sums of products are not positive definite, so least squares has no "
                f'minimum; {cause}. For predictions use the penalty "{REMEDY}" (--penalty {REMEDY}); for '
                f"coefficients {others}"
            )
        return cls(
            f"not estimable: with the ridge {ridge:g} the released sums of products are still not positive definite; "
            f'{cause}. Use the penalty "ridge" with a larger strength (--penalty ridge), or {others}'
        )


def mapped(value: Known | NotEstimable, change: Callable[[Known], Result]) -> Result | NotEstimable:
    """Give what follows from a value, or the same reason where there is none.

    >>> mapped(0.5, lambda share: 100 * share), mapped(NotEstimable("too much noise"), lambda share: 100 * share)
    (50.0, not estimable: too much noise)
    """
    return value if isinstance(value, NotEstimable) else change(value)


def known_values(values: Mapping[str, Known | NotEstimable]) -> dict[str, Known]:
    """Give the values that there are, by name.

    >>> known_values({"age": 0.5, "height": NotEstimable("too much noise")})
    {'age': 0.5}
    """
    return {name: value for name, value in values.items() if not isinstance(value, NotEstimable)}


def missing_values(values: Mapping[str, object]) -> dict[str, NotEstimable]:
    """Give the reasons for the values that there are not, by name.

    >>> missing_values({"age": 0.5, "height": NotEstimable("too much noise")})
    {'height': not estimable: too much noise}
    """
    return {name: value for name, value in values.items() if isinstance(value, NotEstimable)}


# -- confidence sets ---------------------------------------------------------------------------------------------------
# What a release leaves possible for a number: an interval, the outside of one, a half line or any value.
#
# A test that is inverted for a noisy ratio may reject only the values of a gap, or none at all. Such sets are given as
# they are: to keep only the bounded ones would select lucky draws of the noise, and those cover too little.

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


# -- digits ------------------------------------------------------------------------------------------------------------
# Numbers to the digits that their errors leave them: three of the error, and the same decimals for a whole row.

_OF_ERROR: Final = 3  # digits of an error that are shown
_MOST_DECIMALS: Final = 9
_LARGE: Final = 1e9
_DOUBLE: Final = 15  # digits that every double has


def decimals_for(error: float) -> int:
    """Decimals that show three digits of an error; negative where not even its integer digits all count.

    >>> decimals_for(0.0123), decimals_for(286.7), decimals_for(4.8e6)
    (4, 0, -4)
    """
    return _OF_ERROR - 1 - math.floor(math.log10(error))


def fixed(value: float, decimals: int) -> str:
    """Give a number to these decimals, with thousands apart; with an exponent where it would be too long.

    >>> fixed(11_615.62, 0), fixed(906.2512, 2), fixed(-0.0001, 2), fixed(1.23456e-12, 14), fixed(2.345678e12, -9)
    ('11,616', '906.25', '0.00', '1.23e-12', '2.346e12')
    """
    if value and (abs(value) >= _LARGE or decimals > _MOST_DECIMALS):
        digits = math.floor(math.log10(abs(value))) + 1 + decimals
        return short_exponent(f"{value:.{min(max(digits, 1), _DOUBLE)}g}")
    text = f"{value:,.{max(decimals, 0)}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def short_exponent(text: str) -> str:
    """Write an exponent as people do.

    >>> short_exponent("1e-06"), short_exponent("1.5e+12")
    ('1e-6', '1.5e12')
    """
    return re.sub(r"e\+?(-?)0*(?=\d)", r"e\1", text)


def axis_number(value: float) -> str:
    """Give the number of a place on an axis.

    >>> axis_number(0.30000000000000004), axis_number(1_000_000.0), axis_number(2e-7), axis_number(-0.0)
    ('0.3', '1,000,000', '2e-7', '0')
    """
    if value == 0:
        return "0"
    large = not 1e-4 <= abs(value) < _LARGE
    return short_exponent(f"{value:.6g}" if large else f"{value:,.10g}")

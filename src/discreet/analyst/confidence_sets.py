"""Confidence sets: an interval, a half-line, the complement of an interval, or the whole line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError, OptionError
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_distribution import NotEstimable
from discreet.wording import Message, SetOption

# -- not estimable -----------------------------------------------------------------------------------------------------
# Numbers that are not estimable, as values and as an error.

Known = TypeVar("Known")
Result = TypeVar("Result")
# general advice where no numbers are known; analyst/advice.py gives numbers
MORE: Final = "use fewer features, more rows or a larger epsilon"
REMEDY: Final = "bayes"  # the penalty that predicts best, even if least squares has no minimum


class NotEstimableError(DiscreetError):
    """Error raised if a number cannot be estimated from the release, with the reason."""

    code = "not-estimable"

    def __init__(self, problem: str, reason: str = "") -> None:
        self.reason = reason or problem
        super().__init__(problem)

    @classmethod
    def because(cls, reason: str) -> NotEstimableError:
        """Build the error from the reason that a `NotEstimable` holds."""
        return cls(Message("not estimable: ", reason), reason)

    @classmethod
    def at_strength(cls, ridge: float | None) -> NotEstimableError:
        """Build the error for sums of products that are not positive definite, even after adding a given `ridge`."""
        cause = (
            "the noise outweighs the signal in some direction at this budget, or a column is a combination of others"
        )
        if ridge is None:
            return cls.because(
                Message(
                    "the released sums of products are not positive definite, so least squares has no minimum; "
                    f"{cause}. For predictions, ",
                    SetOption("penalty", REMEDY),
                    f"; for coefficients, {MORE}",
                )
            )
        return cls.because(
            Message(
                f"with the ridge {ridge:g} the released sums of products are still not positive definite; {cause}. To "
                "estimate the coefficients, ",
                SetOption("penalty", "ridge"),
                f" with a larger strength, or {MORE}",
            )
        )


def mapped(value: Known | NotEstimable, change: Callable[[Known], Result]) -> Result | NotEstimable:
    """Apply a function to a value, or return the reason if the value is not estimable."""
    return value if isinstance(value, NotEstimable) else change(value)


def known_values(values: Mapping[str, Known | NotEstimable]) -> dict[str, Known]:
    """Return the estimable values by name."""
    return {name: value for name, value in values.items() if not isinstance(value, NotEstimable)}


def missing_values(values: Mapping[str, object]) -> dict[str, NotEstimable]:
    """Return the values that are not estimable, by name."""
    return {name: value for name, value in values.items() if isinstance(value, NotEstimable)}


# -- confidence sets ---------------------------------------------------------------------------------------------------
# Inverting a test for a noisy ratio may give an interval, its complement, a half-line or the whole line. Unbounded sets
# are reported unchanged. Reporting only bounded sets would select lucky noise draws, which cover too little.

SetKind = Literal["interval", "outside", "everything", "above", "below"]
KINDS: Final[tuple[SetKind, ...]] = get_args(SetKind)
KindArray: TypeAlias = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True, repr=False)
class ConfidenceSet:
    """Set of all values that a test at a given level does not reject.

    Attributes
    ----------
    kind
        `interval`: from `lower` to `upper`. `outside`: all values except those between `lower` and `upper`. `above`:
        `lower` or more. `below`: `upper` or less. `everything`: any value.
    lower, upper
        Ends of the interval, or of the gap for `outside`. An end that does not exist is infinite.
    reason
        Why the set is unbounded, or None for an interval.

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
        """Whether the set is an interval."""
        return self.kind == "interval"

    def contains(self, value: float) -> bool:
        """Return whether the set contains a value. The set includes its ends.

        Parameters
        ----------
        value
            A number in the units of the set.
        """
        if not isinstance(value, Real) or isinstance(value, bool):
            raise OptionError(option="value", given=value, allowed="a number")
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
        """Return kind and ends as plain values for JSON, with null for an infinite end."""
        ends = (end if math.isfinite(end) else None for end in (self.lower, self.upper))
        return dict(zip(("kind", "lower", "upper"), (self.kind, *ends), strict=True))

    def __iter__(self) -> Iterator[float]:
        if not self.bounded:
            raise NotEstimableError(
                f"cannot unpack a confidence set that is unbounded ({self}) into two ends; use its attributes kind, "
                "lower and upper, or call contains(value)"
            )
        return iter((self.lower, self.upper))

    def __getitem__(self, index: int) -> float:
        return tuple(self)[index]

    def __repr__(self) -> str:
        return set_words(self.kind, f"{self.lower:.6g}", f"{self.upper:.6g}")


def set_words(kind: SetKind, lower: str, upper: str) -> str:
    """Describe a set whose ends are already formatted as text.

    >>> set_words("above", "1.2", ""), set_words("below", "", "1.2"), set_words("everything", "", "")
    ('at least 1.2', 'at most 1.2', 'any value')
    """
    return " ".join(filter(None, split_words(kind, lower, upper)))


def split_words(kind: SetKind, lower: str, upper: str) -> tuple[str, str]:
    """Describe a set in two parts, for the columns of lower and upper ends in a table.

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
    """Return the whole line as a confidence set, with the reason."""
    return ConfidenceSet("everything", reason=reason)


@dataclass(frozen=True, eq=False)
class SetArray:
    """Confidence sets of m numbers, as arrays of shape (m,)."""

    kind: KindArray
    lower: FloatArray
    upper: FloatArray

    def moved(self, centre: FloatArray, scale: FloatArray | float) -> SetArray:
        """Return the sets of `centre` + `scale` * u, where these are the sets of u and `scale` is positive.

        A set with an end that overflows becomes `everything`.
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
        """Return the set at an index, with the reason if it is unbounded."""
        kind = next(name for name in KINDS if name == self.kind[index])
        return ConfidenceSet(
            kind, float(self.lower[index]), float(self.upper[index]), None if kind == "interval" else reason
        )


def quadratic_sets(lead: FloatArray, middle: FloatArray, rest: FloatArray) -> SetArray:
    """Solve `lead` u^2 - 2 `middle` u - `rest` <= 0 elementwise. `rest` is at least 0, so that u = 0 is a solution.

    With lead > 0 the solution is an interval. With lead < 0 it is the complement of an interval, or the whole line if
    the quadratic has fewer than two roots. With lead = 0 it is a half-line, or the whole line if middle is also 0.

    >>> quadratic_sets(np.array([1.0, -1.0, -1.0, 0.0]), np.array([0.0, -2.0, 1.0, 0.5]), np.full(4, 1.0)).kind.tolist()
    ['interval', 'outside', 'everything', 'above']
    """
    square = middle**2 + lead * rest
    two = (lead > 0) | ((lead < 0) & (square > 0))
    root = np.sqrt(np.where(two, square, 0.0))
    # adding numbers of equal sign avoids cancellation; the other root follows from the product of the roots
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

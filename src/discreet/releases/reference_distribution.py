"""Reference distributions for tests and intervals, and a placeholder for statistics that are not estimable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeVar

from discreet.accounting.noise_distribution import NoiseFamily
from discreet.errors import OptionError, shown
from discreet.privacy.checks import is_number
from discreet.wording import SetOption

# -- not estimable -----------------------------------------------------------------------------------------------------

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True, repr=False)
class NotEstimable:
    """Replacement for a number that cannot be estimated. It holds the reason, and its truth value is false.

    >>> NotEstimable("the noise is too large")
    not estimable: the noise is too large
    >>> bool(NotEstimable("the noise is too large"))
    False
    """

    reason: str

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"not estimable: {self.reason}"


def known(value: Known | NotEstimable) -> Known | None:
    """Return the value, or None if it is not estimable.

    >>> known(0.5), known(NotEstimable("the noise is too large"))
    (0.5, None)
    """
    return None if isinstance(value, NotEstimable) else value


def reason_of(value: object) -> str | None:
    """Return the reason why a value is not estimable, or None if it is estimable.

    >>> reason_of(0.5), reason_of(NotEstimable("the noise is too large"))
    (None, 'the noise is too large')
    """
    return value.reason if isinstance(value, NotEstimable) else None


def shown_number(value: float | NotEstimable, digits: str) -> str:
    """Format a number, or say that it is not estimable.

    >>> shown_number(0.12345, ".2g"), shown_number(NotEstimable("too much noise"), ".2g")
    ('0.12', 'not estimable')
    """
    return "not estimable" if isinstance(value, NotEstimable) else f"{value:{digits}}"


# -- reference distribution --------------------------------------------------------------------------------------------
# The reference distribution of standardised errors, and the confidence level.

Family = Literal["gaussian", "laplace"]
DEFAULT_LEVEL: Final = 0.95


def family_of(noise: NoiseFamily) -> Family:
    """Return the reference distribution of errors for a noise family.

    Pure-DP noise has tails as heavy as those of the Laplace distribution, because one term may dominate an error. The
    entries of K-norm noise are dependent but uncorrelated, so variances are correct, and at the usual levels no linear
    combination has heavier tails. Wishart noise has many degrees of freedom and is nearly Gaussian.

    >>> family_of("k-norm"), family_of("wishart")
    ('laplace', 'gaussian')
    """
    return "laplace" if noise in ("discrete-laplace", "k-norm") else "gaussian"


def checked_level(level: object = None, alpha: object = None) -> float:
    """Return the confidence level from `level` or from `alpha`, which is 1 minus the level. The default is 0.95.

    A level below 0.5 raises an error, because it is probably an alpha as in other libraries.

    >>> checked_level(0.9), checked_level(alpha=0.1), checked_level()
    (0.9, 0.9, 0.95)
    >>> checked_level(0.05)
    Traceback (most recent call last):
        ...
    discreet.errors.OptionError: expected a number from 0.5 to below 1 for level, got 0.05; pass level=0.95, or pass \
alpha=0.05
    """
    if level is not None and alpha is not None:
        raise OptionError(
            f"expected either level or alpha, got both level={shown(level)} and alpha={shown(alpha)}",
            option="level",
            given=level,
            remedy=_spellings(level),
        )
    if alpha is not None:
        if not (is_number(alpha) and 0 < alpha <= 0.5 and _less(alpha) < 1):
            raise OptionError(
                option="alpha",
                given=alpha,
                allowed="a number above 0 and at most 0.5",
                remedy=_spellings(alpha),
            )
        return _less(alpha)
    if level is None:
        return DEFAULT_LEVEL
    if not (is_number(level) and 0.5 <= level < 1):
        raise OptionError(
            option="level",
            given=level,
            allowed="a number from 0.5 to below 1",
            remedy=_spellings(level),
        )
    return float(level)


def _less(value: float) -> float:
    """Return 1 minus a number in decimal arithmetic. In binary, 1 - 0.32 is not 0.68."""
    return float(1 - Decimal(repr(float(value))))


def _spellings(value: object) -> tuple[SetOption, SetOption]:
    """Return advice to pass the level that was probably meant, as `level` or as `alpha`."""
    level = max(float(value), _less(value)) if is_number(value) and 0 < value < 1 else DEFAULT_LEVEL
    return SetOption("level", level), SetOption("alpha", _less(level))


def critical_value(level: float, family: Family, df: float) -> float:
    """Return the half-width of an interval of this level, in standard errors.

    Gaussian noise and Gaussian errors give Student's t with the residual degrees of freedom. In a pure-DP release one
    Laplace term may dominate. The quantile of the Laplace distribution with the same variance, -log(1 - level) /
    sqrt(2), is then used if it is larger.

    >>> round(critical_value(0.95, "gaussian", 1e6), 3), round(critical_value(0.95, "laplace", 1e6), 3)
    (1.96, 2.118)
    """
    from scipy.special import stdtrit

    # use the lower tail, because upper-tail probabilities near 1 are rounded
    student = -float(stdtrit(df, (1 - level) / 2))
    if family == "gaussian":
        return student
    return max(student, -math.log1p(-level) / math.sqrt(2))


def tail_probability(statistic: float, family: Family, df: float) -> float:
    """Return the two-sided tail probability of a standardised error, consistent with `critical_value`.

    >>> round(tail_probability(-1.96, "gaussian", 1e6), 3), round(tail_probability(2.118, "laplace", 1e6), 3)
    (0.05, 0.05)
    """
    from scipy.special import stdtr

    far = abs(statistic)
    student = 2 * float(stdtr(df, -far))
    if family == "gaussian":
        return student
    return max(student, math.exp(-math.sqrt(2) * far))

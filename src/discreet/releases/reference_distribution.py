"""Define reference distributions for tests, and the value for what is not estimable."""

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
# The value of a statistic that is not estimable.

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True, repr=False)
class NotEstimable:
    """Value in place of a number that cannot be estimated. It is false, and has the reason.

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
    """Return the value, or None where it is not estimable.

    >>> known(0.5), known(NotEstimable("the noise is too large"))
    (0.5, None)
    """
    return None if isinstance(value, NotEstimable) else value


def reason_of(value: object) -> str | None:
    """Return why there is no value, or None if there is one.

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


# -- reference distribution
# ----------------------------------------------------------------------------------------------------- The reference
# distribution of standardised errors, and the confidence level.

Family = Literal["gaussian", "laplace"]
DEFAULT_LEVEL: Final = 0.95


def family_of(noise: NoiseFamily) -> Family:
    """Return the reference distribution of errors for a family of noise.

    Pure-epsilon noise has tails up to those of the Laplace distribution: one term may dominate an error. The entries of
    K-norm noise are dependent but uncorrelated, so variances are correct, and no combination of them has a heavier tail
    at the usual levels. Wishart noise with its many degrees of freedom is nearly Gaussian.

    >>> family_of("k-norm"), family_of("wishart")
    ('laplace', 'gaussian')
    """
    return "laplace" if noise in ("discrete-laplace", "k-norm") else "gaussian"


def checked_level(level: object = None, alpha: object = None) -> float:
    """Return the confidence level given by `level`, or by `alpha`, which is 1 minus the level.

    A level below 0.5 is rejected: it is most likely an alpha, as in other libraries.

    Parameters
    ----------
    level
        At least 0.5 and below 1. The default is 0.95.
    alpha
        Above 0 and at most 0.5.

    Examples
    --------
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
            f"got both level={shown(level)} and alpha={shown(alpha)}, expected one of them",
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
    """Return 1 minus a number in decimal arithmetic: in binary 1 - 0.32 is not 0.68."""
    return float(1 - Decimal(repr(float(value))))


def _spellings(value: object) -> tuple[SetOption, SetOption]:
    """Return the two ways to ask for the level that was probably meant."""
    level = max(float(value), _less(value)) if is_number(value) and 0 < value < 1 else DEFAULT_LEVEL
    return SetOption("level", level), SetOption("alpha", _less(level))


def critical_value(level: float, family: Family, df: float) -> float:
    """Return the half-width of an interval of this level, in standard errors.

    Gaussian noise and Gaussian errors give Student's t with the residual degrees of freedom. In a pure-epsilon release
    one Laplace term may dominate. The quantile of the Laplace distribution of the same variance, -log(1 - level) /
    sqrt(2), is then used where it is larger.

    Parameters
    ----------
    level
        Between 0 and 1.
    family
        Family of the noise in the release.
    df
        Degrees of freedom, above 0.

    Examples
    --------
    >>> round(critical_value(0.95, "gaussian", 1e6), 3), round(critical_value(0.95, "laplace", 1e6), 3)
    (1.96, 2.118)
    """
    from scipy.special import stdtrit

    # the lower tail is accurate where the upper one would round to 1
    student = -float(stdtrit(df, (1 - level) / 2))
    if family == "gaussian":
        return student
    return max(student, -math.log1p(-level) / math.sqrt(2))


def tail_probability(statistic: float, family: Family, df: float) -> float:
    """Return the two-sided tail probability of a standardised error, under the distribution of `critical_value`.

    >>> round(tail_probability(-1.96, "gaussian", 1e6), 3), round(tail_probability(2.118, "laplace", 1e6), 3)
    (0.05, 0.05)
    """
    from scipy.special import stdtr

    far = abs(statistic)
    student = 2 * float(stdtr(df, -far))
    if family == "gaussian":
        return student
    return max(student, math.exp(-math.sqrt(2) * far))

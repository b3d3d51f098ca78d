"""Define reference distributions for tests, and the value for what is not estimable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeVar

from discreet.accounting.noise_distribution import NoiseFamily
from discreet.errors import SpecError, shown
from discreet.privacy.checks import is_number

# -- not estimable -----------------------------------------------------------------------------------------------------
# What a release cannot give, as a value.

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True, repr=False)
class NotEstimable:
    """What is returned instead of a number that the release cannot give; it is false, and says why.

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
    """Give the value, or nothing where the release cannot give it.

    >>> known(0.5), known(NotEstimable("the noise is too large"))
    (0.5, None)
    """
    return None if isinstance(value, NotEstimable) else value


def reason_of(value: object) -> str | None:
    """Say why there is no value; nothing if there is one.

    >>> reason_of(0.5), reason_of(NotEstimable("the noise is too large"))
    (None, 'the noise is too large')
    """
    return value.reason if isinstance(value, NotEstimable) else None


def shown_number(value: float | NotEstimable, digits: str) -> str:
    """Give a number in this form, or say that it is not estimable.

    >>> shown_number(0.12345, ".2g"), shown_number(NotEstimable("too much noise"), ".2g")
    ('0.12', 'not estimable')
    """
    return "not estimable" if isinstance(value, NotEstimable) else f"{value:{digits}}"


# -- reference law -----------------------------------------------------------------------------------------------------
# The law that a standardised error is held against, and the level that is asked for: how far is far.

Family = Literal["gaussian", "laplace"]
DEFAULT_LEVEL: Final = 0.95


def family_of(noise: NoiseFamily) -> Family:
    """The law that errors are held against for a family of noise.

    Pure-epsilon noise has tails up to those of Laplace's law: one term may dominate an error. The entries of K-norm
    noise depend on each other, but they are uncorrelated, so that variances are right, and no combination of them has
    a heavier tail at the usual levels. Wishart noise with its many degrees of freedom is nearly Gaussian.

    >>> family_of("k-norm"), family_of("wishart")
    ('laplace', 'gaussian')
    """
    return "laplace" if noise in ("discrete-laplace", "k-norm") else "gaussian"


def checked_level(level: object = None, alpha: object = None) -> float:
    """Give the confidence level that is meant by `level`, or by `alpha`, which is 1 minus the level.

    A level below 0.5 is refused: it is most likely an alpha, as other libraries ask for.

    Parameters
    ----------
    level
        At least 0.5 and below 1; 0.95 without either.
    alpha
        Above 0 and at most 0.5.

    Examples
    --------
    >>> checked_level(0.9), checked_level(alpha=0.1), checked_level()
    (0.9, 0.9, 0.95)
    >>> checked_level(0.05)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    discreet.errors.SpecError: level is 0.05; expected at least 0.5 and below 1: write level=0.95 or alpha=0.05 (...)
    """
    if level is not None and alpha is not None:
        raise SpecError(
            f"got both level={shown(level)} and alpha={shown(alpha)}, expected one of them: {_spellings(level)}"
        )
    if alpha is not None:
        if not (is_number(alpha) and 0 < alpha <= 0.5 and _less(alpha) < 1):
            raise SpecError(f"alpha is {shown(alpha)}; expected above 0 and at most 0.5: {_spellings(alpha)}")
        return _less(alpha)
    if level is None:
        return DEFAULT_LEVEL
    if not (is_number(level) and 0.5 <= level < 1):
        raise SpecError(f"level is {shown(level)}; expected at least 0.5 and below 1: {_spellings(level)}")
    return float(level)


def _less(value: float) -> float:
    """1 minus a number as it is written in decimals: in binary 1 - 0.32 is not 0.68."""
    return float(1 - Decimal(repr(float(value))))


def _spellings(value: object) -> str:
    """The two ways to ask for the level that was probably meant."""
    ends = sorted((value, _less(value))) if is_number(value) and 0 < value < 1 else (0.05, 0.95)
    return f"write level={ends[1]:g} or alpha={ends[0]:g} (--level {ends[1]:g})"


def critical_value(level: float, family: Family, df: float) -> float:
    """How many standard errors an interval of this level reaches to either side.

    Gaussian noise and Gaussian errors give Student's t with the degrees of freedom of the residuals. A pure-epsilon
    release may have one Laplace term that dominates; then the quantile of the Laplace law of the same variance,
    -log(1 - level) / sqrt(2), is used where it is the larger.

    Parameters
    ----------
    level
        Between 0 and 1.
    family
        Law of the noise in the release.
    df
        Degrees of freedom, above 0.

    Examples
    --------
    >>> round(critical_value(0.95, "gaussian", 1e6), 3), round(critical_value(0.95, "laplace", 1e6), 3)
    (1.96, 2.118)
    """
    from scipy.special import stdtrit

    # the lower tail keeps its digits where the upper end would round to 1
    student = -float(stdtrit(df, (1 - level) / 2))
    if family == "gaussian":
        return student
    return max(student, -math.log1p(-level) / math.sqrt(2))


def tail_probability(statistic: float, family: Family, df: float) -> float:
    """Probability of a standardised error at least this large on either side, under the law of `critical_value`.

    >>> round(tail_probability(-1.96, "gaussian", 1e6), 3), round(tail_probability(2.118, "laplace", 1e6), 3)
    (0.05, 0.05)
    """
    from scipy.special import stdtr

    far = abs(statistic)
    student = 2 * float(stdtr(df, -far))
    if family == "gaussian":
        return student
    return max(student, math.exp(-math.sqrt(2) * far))

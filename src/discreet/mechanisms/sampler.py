"""Draw exact discrete noise, with OpenDP and the operating system. No other module draws random numbers for noise."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final, Protocol

from discreet.errors import SpecError

# -- sampler -----------------------------------------------------------------------------------------------------------
# Exact discrete variates on the integers, from OpenDP.

# first version of OpenDP with an unbiased sampler: https://github.com/opendp/opendp/issues/2638
OLDEST_OPENDP: Final = (0, 14, 2)
# up to this scale, the sampler's 64-bit result saturates with probability below exp(-2000)
MAX_SIGMA: Final = 2**57
_LARGEST: Final = 2**63 - 1


class Sampler(Protocol):
    """Source of independent variates on the integers."""

    @property
    def private(self) -> bool:
        """Whether the sampler is exact and uses the random generator of the operating system."""
        ...

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Draw an integer for each sigma, with P(z) proportional to exp(-z^2 / (2 sigma^2)), or 0 if sigma is 0."""
        ...

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Draw an integer for each scale, with P(z) proportional to exp(-|z| / scale), or 0 if the scale is 0."""
        ...

    def bits(self, how_many: int) -> int:
        """Draw a uniform integer from 0 to 2**how_many - 1."""
        ...


class ExactSampler:
    """Exact sampler of OpenDP (Canonne, Kamath & Steinke 2020, Algorithm 3). It cannot be seeded.

    The constructor rejects OpenDP versions with a biased sampler.
    """

    private = True

    def __init__(self) -> None:
        check_opendp()

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Draw discrete Gaussian variates, with one OpenDP call for each distinct sigma."""
        return _grouped(sigmas, _gaussian)

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Draw discrete Laplace variates, which may exceed 64 bits, with one OpenDP call for each distinct scale."""
        return _grouped(scales, _laplace)

    def bits(self, how_many: int) -> int:
        """Draw uniform bits from the operating system."""
        return secrets.randbits(how_many)


def _grouped(scales: Sequence[int], variates: Callable[[int, int], list[int]]) -> list[int]:
    drawn = [0] * len(scales)
    indices: dict[int, list[int]] = {}
    for index, scale in enumerate(scales):
        if scale:
            indices.setdefault(scale, []).append(index)
    if not all(0 < scale <= MAX_SIGMA for scale in indices):
        raise ValueError("every noise scale must be an integer from 0 to 2^57")
    for scale, where in indices.items():
        for index, value in zip(where, variates(scale, len(where)), strict=True):
            drawn[index] = value
    return drawn


def _gaussian(sigma: int, how_many: int) -> list[int]:
    domains, measurements, metrics = _opendp()
    # drawn for input 0 and added later in unbounded integers, so that no 64-bit sum can saturate
    noise = measurements.make_gaussian(
        domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T="f64"), scale=_as_double(sigma)
    )
    return [int(value) for value in noise([0] * how_many)]


def _laplace(scale: int, how_many: int) -> list[int]:
    return laplace_variates(_as_double(scale), how_many)


def laplace_variates(scale: float, how_many: int) -> list[int]:
    """Draw independent discrete Laplace variates, with P(z) proportional to exp(-|z| / scale).

    Variates may exceed 64 bits.
    """
    return [_unlimited(value, scale) for value in _saturating_laplace(scale, how_many)]


def _unlimited(value: int, scale: float) -> int:
    """Return a variate, after adding the missing part if the sampler cut it off at 64 bits.

    If the absolute value of a discrete Laplace variate reaches the largest 64-bit number, the excess has a geometric
    distribution. A discrete Laplace variate that is nonnegative has the same distribution.
    """
    if -_LARGEST < value < _LARGEST:
        return value
    rest = -1
    while rest < 0:
        (rest,) = laplace_variates(scale, 1)
    return _LARGEST + rest if value > 0 else -_LARGEST - rest


def _saturating_laplace(scale: float, how_many: int) -> list[int]:
    domains, measurements, metrics = _opendp()
    noise = measurements.make_laplace(
        domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64"), scale=scale
    )
    return [int(value) for value in noise([0] * how_many)]


def _as_double(sigma: int) -> float:
    exact = float(sigma)
    if int(exact) != sigma:
        raise ValueError("a noise scale must fit into 53 bits; round it up with rounded_up first")
    return exact


def rounded_up(sigma: int) -> int:
    """Return the smallest integer that is at least `sigma` and that a double represents exactly.

    >>> rounded_up(5), rounded_up(2**53 + 1)
    (5, 9007199254740994)
    """
    excess = max(0, sigma.bit_length() - 53)
    return -(-sigma >> excess) << excess


def _opendp() -> tuple[Any, Any, Any]:
    """Import the required submodules of OpenDP only, because its prelude imports far more."""
    check_opendp()
    import opendp.domains
    import opendp.measurements
    import opendp.metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    return opendp.domains, opendp.measurements, opendp.metrics


@cache
def check_opendp() -> None:
    """Reject an OpenDP version that has a biased sampler or was never released."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("opendp")
    except PackageNotFoundError:
        installed = "none"
    numbers = installed.partition("+")[0].partition(".post")[0].split(".")
    if not all(number.isdecimal() for number in numbers) or tuple(map(int, numbers)) < OLDEST_OPENDP:
        oldest = ".".join(map(str, OLDEST_OPENDP))
        raise SpecError(
            f"expected a released version of opendp, {oldest} or newer, because older versions draw biased noise; got "
            f"{installed}; install one with: pip install 'opendp>={oldest}'"
        )


# -- coins -------------------------------------------------------------------------------------------------------------
# Exact Bernoulli variates from the operating system, with probability p or exp(-x) for any fraction p or x.


def below(limit: int) -> int:
    """Draw a uniform integer from 0 to `limit` - 1."""
    return secrets.randbelow(limit)


def bernoulli(chance: Fraction) -> bool:
    """Return True with probability `chance`, which is a fraction from 0 to 1."""
    return below(chance.denominator) < chance.numerator  # [P:coin]


def bernoulli_exp(exponent: Fraction, *, coin: Callable[[Fraction], bool] = bernoulli) -> bool:
    """Return True with probability exp(-exponent), where `exponent` is a nonnegative fraction.

    This is Algorithm 1 of Canonne, Kamath & Steinke (2020). Tests replace `coin` to enumerate all outcomes.
    """
    whole, rest = divmod(exponent, 1)
    for _ in range(whole):
        if not _exp_of_at_most_one(Fraction(1), coin):
            return False
    return _exp_of_at_most_one(rest, coin)  # [P:exponential-coin]


def _exp_of_at_most_one(exponent: Fraction, coin: Callable[[Fraction], bool]) -> bool:
    turn = 1
    while coin(exponent / turn):
        turn += 1
    return turn % 2 == 1

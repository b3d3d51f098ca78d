"""Draw continuous variates and round them exactly, as if they were computed with real numbers.

Proof: refinement.proof.md. A uniform variate is a binary expansion of which finitely many digits are known, and
computations return intervals that contain the exact result. If the known digits do not decide a rounding or a
comparison, more digits are drawn for every expansion and the computation is repeated. The outcome is therefore a
function of the ideal uniform variates only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeVar

from discreet.mechanisms.sampler import Sampler

Outcome = TypeVar("Outcome")

# uniform variates drawn from the sampler at once
_BATCH: Final = 64
# uniform variates whose product is taken before a logarithm; the product loses about thirty bits
_FACTORS: Final = 16


class UndecidedError(ArithmeticError):
    """Error for a comparison or rounding that the known digits do not decide. `refined` then draws more digits."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval from low / 2**bits to high / 2**bits, with operations whose results contain all exact results.

    >>> half = Interval.of(Fraction(1, 2), 64)
    >>> (half * 5).nearest(), (half / Interval.of(3, 64) * 10).nearest()
    (3, 2)
    """

    low: int
    high: int
    bits: int

    @classmethod
    def of(cls, value: Fraction | int, bits: int) -> Interval:
        """Return the smallest interval that contains `value`."""
        scaled = value * 2**bits
        return cls(math.floor(scaled), math.ceil(scaled), bits)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high, self.bits)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low, self.bits)

    def __mul__(self, other: Interval | int) -> Interval:
        bits = self.bits
        if isinstance(other, int):
            ends = (self.low * other, self.high * other)
            return Interval(min(ends), max(ends), bits)
        if self.low >= 0 and other.low >= 0:
            return Interval(self.low * other.low >> bits, -(-self.high * other.high >> bits), bits)
        products = (self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high)
        return Interval(min(products) >> bits, -(-max(products) >> bits), bits)  # [P:outward-products]

    def __truediv__(self, other: Interval) -> Interval:
        """Return the quotient, where `other` must be positive."""
        if other.low <= 0:
            raise UndecidedError("more digits are needed to decide whether a divisor is above 0")
        low = (self.low << self.bits) // (other.high if self.low >= 0 else other.low)
        high = -((-self.high << self.bits) // (other.low if self.high >= 0 else other.high))
        return Interval(low, high, self.bits)

    def sqrt(self) -> Interval:
        """Return the square root of the interval, which must be nonnegative."""
        if self.low < 0:
            raise UndecidedError("more digits are needed to decide whether the argument of a root is nonnegative")
        return Interval(math.isqrt(self.low << self.bits), math.isqrt(self.high << self.bits) + 1, self.bits)

    def log(self) -> Interval:
        """Return the natural logarithm of the interval, which must be positive."""
        if self.low <= 0:
            raise UndecidedError("more digits are needed to decide whether the argument of a logarithm is above 0")
        low, high = _log_bounds(self.low, self.bits)
        # log(high) <= log(low) + (high - low) / low
        return Interval(low, high + -((self.low - self.high << self.bits) // self.low), self.bits)

    def below(self, other: Interval) -> bool:
        """Return whether all numbers of the interval are below all numbers of `other`."""
        if self.high < other.low:
            return True
        if self.low >= other.high:
            return False
        raise UndecidedError("more digits are needed to decide which of two numbers is smaller")

    def nearest(self) -> int:
        """Return the integer that is nearest to all numbers of the interval."""
        half = 1 << self.bits - 1
        low, high = (self.low + half) >> self.bits, (self.high + half) >> self.bits
        if low != high:
            raise UndecidedError("more digits are needed to decide a rounding")
        return low  # [P:settled-rounding]


class Uniforms:
    """Sequence of independent uniform variates in (0, 1), of which `bits` binary digits are known."""

    def __init__(self, sampler: Sampler, bits: int) -> None:
        # a multiple of 8, so that one draw can be split by bytes
        self.bits = -(-bits // 8) * 8
        self._sampler = sampler
        self._known: list[int] = []
        self._index = 0

    def one(self) -> Interval:
        """Return the next variate of the sequence."""
        digits = self._digits()
        return Interval(digits, digits + 1, self.bits)

    def exactly(self, value: Fraction | int) -> Interval:
        """Return `value` as an interval at the current precision."""
        return Interval.of(value, self.bits)

    def normals(self, how_many: int) -> list[Interval]:
        """Draw independent standard normal variates by the polar method (Marsaglia & Bray 1964)."""
        drawn: list[Interval] = []
        while len(drawn) < how_many:
            drawn += self._two_normals()
        return drawn[:how_many]

    def gamma(self, shape: int) -> Interval:
        """Draw a Gamma variate of integer shape and scale 1, as minus the log of a product of uniform variates."""
        total = self.exactly(0)
        for done in range(0, shape, _FACTORS):
            low = high = 1 << self.bits
            for _ in range(min(_FACTORS, shape - done)):
                digits = self._digits()
                low = low * digits >> self.bits
                high = (high * (digits + 1) >> self.bits) + 1
            total -= Interval(low, high, self.bits).log()  # [P:gamma-variate]
        return total

    def chi_square(self, degrees: int) -> Interval:
        """Draw a chi-square variate with integer degrees of freedom."""
        total = self.gamma(degrees // 2) * 2
        if degrees % 2:
            (normal,) = self.normals(1)
            total += normal * normal
        return total

    def restart(self) -> None:
        """Return to the start of the sequence, so that the same variates are returned again."""
        self._index = 0

    def refine(self) -> None:
        """Double the number of known digits of every variate drawn so far."""
        more = self._pieces(len(self._known))
        # [P:digits-appended]
        self._known = [digits << self.bits | piece for digits, piece in zip(self._known, more, strict=True)]
        self.bits *= 2

    def _two_normals(self) -> tuple[Interval, Interval]:
        while True:
            x = self.one() * 2 - self.exactly(1)
            y = self.one() * 2 - self.exactly(1)
            square = x * x + y * y
            if square.below(self.exactly(1)):
                factor = (square.log() * -2 / square).sqrt()
                return x * factor, y * factor  # [P:polar-normals]

    def _digits(self) -> int:
        if self._index == len(self._known):
            self._known += self._pieces(_BATCH)
        self._index += 1
        return self._known[self._index - 1]

    def _pieces(self, how_many: int) -> list[int]:
        size = self.bits // 8
        drawn = self._sampler.bits(how_many * self.bits).to_bytes(how_many * size)
        return [int.from_bytes(drawn[start : start + size]) for start in range(0, how_many * size, size)]


def refined(sampler: Sampler, compute: Callable[[Uniforms], Outcome], *, bits: int = 160) -> Outcome:
    """Return the exact result of a computation with ideal uniform variates.

    `compute` must take variates in order, compute with intervals, and decide its outcome only by `nearest` and `below`.
    It must not depend on anything else, because it may run several times. `bits` is the initial number of binary
    digits. A larger number makes a second run less likely and does not change the outcome.

    >>> from discreet.mechanisms.sampler import ExactSampler
    >>> refined(ExactSampler(), lambda uniforms: (uniforms.one() * 6 - uniforms.exactly(3)).nearest()) in range(-3, 4)
    True
    """
    uniforms = Uniforms(sampler, bits)
    while True:
        uniforms.restart()
        try:
            return compute(uniforms)  # [P:refined-outcome]
        except UndecidedError:
            uniforms.refine()


def _log_bounds(number: int, bits: int) -> tuple[int, int]:
    """Return integer bounds on 2**bits * log(number / 2**bits)."""
    guard = 4 * bits.bit_length()
    q = bits + guard
    error = 2 * q + 8
    # number / 2**bits = m * 2**power with m in [1/2, 1), and log m = -2 atanh((1 - m) / (1 + m))
    length = number.bit_length()
    power, top = length - bits, 1 << length
    series = _atanh(top - number, top + number, q)
    two = 2 * _atanh_third(q)
    shift = (power * two, power * (two + 2 * error))
    low = min(shift) - 2 * (series + error)
    high = max(shift) - 2 * series
    return low >> guard, -(-high >> guard)  # [P:log-bounds]


@lru_cache(maxsize=64)
def _atanh_third(q: int) -> int:
    return _atanh(1, 3, q)


def _atanh(numerator: int, denominator: int, q: int) -> int:
    """Return 2**q * atanh(numerator / denominator), rounded down with an error of at most 2q + 8.

    The fraction must lie between 0 and 1/2.
    """
    power = (numerator << q) // denominator
    square = power * power >> q
    total, odd = 0, 1
    while power:
        total += power // odd
        power = power * square >> q
        odd += 2
    return total  # [P:atanh-series]

"""Draw exactly rounded continuous variates, as if computed in real arithmetic.

Uniform variates are binary expansions of which finitely many digits are known. A computation encloses its results in
intervals. Where the known digits do not decide a rounding or a comparison, all expansions get more digits and the
computation runs again. So the outcome is a function of the ideal uniform variates only, whatever the arithmetic. Proof:
refinement.proof.md.
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
# uniform variates multiplied before a logarithm is taken: their product keeps all but some thirty bits
_FACTORS: Final = 16


class UndecidedError(ArithmeticError):
    """Question that the known digits do not decide; `refined` then adds digits."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers from low / 2**bits to high / 2**bits. Every operation encloses the exact results.

    >>> half = Interval.of(Fraction(1, 2), 64)
    >>> (half * 5).nearest(), (half / Interval.of(3, 64) * 10).nearest()
    (3, 2)
    """

    low: int
    high: int
    bits: int

    @classmethod
    def of(cls, value: Fraction | int, bits: int) -> Interval:
        """Return the narrowest interval that holds a number."""
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
        """Return the quotient by a number above 0."""
        if other.low <= 0:
            raise UndecidedError("a divisor is not known to be above 0")
        low = (self.low << self.bits) // (other.high if self.low >= 0 else other.low)
        high = -((-self.high << self.bits) // (other.low if self.high >= 0 else other.high))
        return Interval(low, high, self.bits)

    def sqrt(self) -> Interval:
        """Return the square root of a nonnegative number."""
        if self.low < 0:
            raise UndecidedError("a number under a root is not known to be positive")
        return Interval(math.isqrt(self.low << self.bits), math.isqrt(self.high << self.bits) + 1, self.bits)

    def log(self) -> Interval:
        """Return the natural logarithm of a number above 0."""
        if self.low <= 0:
            raise UndecidedError("a number under a logarithm is not known to be above 0")
        low, high = _log_bounds(self.low, self.bits)
        # log(high) <= log(low) + (high - low) / low
        return Interval(low, high + -((self.low - self.high << self.bits) // self.low), self.bits)

    def below(self, other: Interval) -> bool:
        """Return whether the number is below another."""
        if self.high < other.low:
            return True
        if self.low >= other.high:
            return False
        raise UndecidedError("two numbers are not known to differ")

    def nearest(self) -> int:
        """Return the nearest integer."""
        half = 1 << self.bits - 1
        low, high = (self.low + half) >> self.bits, (self.high + half) >> self.bits
        if low != high:
            raise UndecidedError("a rounding is not settled")
        return low  # [P:settled-rounding]


class Uniforms:
    """Sequence of independent uniform variates in (0, 1), known to `bits` binary digits."""

    def __init__(self, sampler: Sampler, bits: int) -> None:
        # whole bytes, so that one draw is cut into many variates
        self.bits = -(-bits // 8) * 8
        self._sampler = sampler
        self._known: list[int] = []
        self._index = 0

    def one(self) -> Interval:
        """Return the next variate."""
        digits = self._digits()
        return Interval(digits, digits + 1, self.bits)

    def exactly(self, value: Fraction | int) -> Interval:
        """Return a known number at the present precision."""
        return Interval.of(value, self.bits)

    def normals(self, how_many: int) -> list[Interval]:
        """Return independent standard normal variates, by the polar method (Marsaglia & Bray 1964)."""
        drawn: list[Interval] = []
        while len(drawn) < how_many:
            drawn += self._two_normals()
        return drawn[:how_many]

    def gamma(self, shape: int) -> Interval:
        """Return a Gamma variate of integer shape and scale 1: minus the log of a product of uniform variates."""
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
        """Return a chi-square variate with integer degrees of freedom."""
        total = self.gamma(degrees // 2) * 2
        if degrees % 2:
            (normal,) = self.normals(1)
            total += normal * normal
        return total

    def restart(self) -> None:
        """Restart the sequence with the same variates."""
        self._index = 0

    def refine(self) -> None:
        """Double the number of digits of every variate drawn so far."""
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
    """Return the exact result of a computation over ideal uniform variates.

    `compute` takes variates in order, computes with intervals, and decides its outcome by `nearest` and `below` only.
    It may run several times, so it must depend on the variates only. `bits` are the binary digits to start with. More
    make a second run rarer and change no outcome.

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
    """Return bounds of 2**bits * log(number / 2**bits) as integers."""
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
    """Return 2**q * atanh of a fraction from 0 to 1/2, at most 2q + 8 too low and never too high."""
    power = (numerator << q) // denominator
    square = power * power >> q
    total, odd = 0, 1
    while power:
        total += power // odd
        power = power * square >> q
        odd += 2
    return total  # [P:atanh-series]

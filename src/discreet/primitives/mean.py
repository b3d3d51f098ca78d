"""Estimate a private mean, by several methods, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import SpecError, shown
from discreet.exact.rounding import EIGHTY_DIGITS, down
from discreet.mechanisms.sampler import below, bernoulli_exp
from discreet.primitives.arguments import (
    checked_level,
    checked_name,
    checked_promise,
    data_floats,
    either_spelling,
    one_line,
    promised,
    public_length,
    spent,
)
from discreet.primitives.grid_noise import gaussian_bound, laplace_bound, laplace_noise, scale_in_steps
from discreet.privacy.checks import within
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked

# -- absolute error ----------------------------------------------------------------------------------------------------
# The exponential mechanism with absolute error on a range, drawn exactly on the integers of the range.

_MARGIN: Final = Decimal("1e-70")


def absolute_error_rate(epsilon: float) -> float:
    """The most by which a neighbour may change the exponent: log((1 + e^epsilon) / 2), rounded down.

    The general theorem allows epsilon / 2. On a range only the ends change the normaliser, which costs less than half.

    >>> round(absolute_error_rate(1.0), 4), round(absolute_error_rate(8.0), 4)
    (0.6201, 7.3072)
    """
    with localcontext(EIGHTY_DIGITS):
        return down(((1 + Decimal(epsilon).exp()) / 2).ln() - _MARGIN)  # [P:absolute-error-rate]


def absolute_error_draw(total: int, furthest: int, scale: float) -> int:
    """A draw from P(t) proportional to exp(-|total - t| / scale) over the integers t from -furthest to furthest.

    Parameters
    ----------
    total : int
        From -furthest to furthest.
    furthest : int
        At least 1.
    scale : float
        Above 0.

    >>> -50 <= absolute_error_draw(50, 50, 10.0) <= 50
    True
    """
    if 2 * furthest <= scale:
        # nearly flat: at least one proposal in three is accepted
        t = below(2 * furthest + 1) - furthest
        while not bernoulli_exp(abs(total - t) / Fraction(scale)):  # [P:absolute-error-flat]
            t = below(2 * furthest + 1) - furthest
        return t
    t = total + laplace_noise(scale, 1)[0]
    while abs(t) > furthest:  # [P:absolute-error-law]
        t = total + laplace_noise(scale, 1)[0]
    return t


# -- squared error -----------------------------------------------------------------------------------------------------
# The exponential mechanism with squared error on [0, 1], drawn exactly on a fine grid.


def grid_size(n: int, epsilon: float) -> int:
    """Number of steps into which [0, 1] is cut: a power of two, at least 2^20, fine against the spread of the law.

    >>> grid_size(1000, 1.0) == 2**20
    True
    """
    spread = int((n * epsilon) ** 0.5)
    return 1 << max(20, spread.bit_length() + 10)


def squared_error_draw(mean: Fraction, n: int, epsilon: float, cells: int | None = None) -> Fraction:
    """A draw from P(t) proportional to exp(-(n epsilon / 2) (mean - t)^2) over t = 0, 1/cells, ..., 1.

    The expected number of proposals is about sqrt(n epsilon / 6), or twice that at the ends.

    >>> 0 <= squared_error_draw(Fraction(1, 2), 100, 1.0) <= 1
    True
    """
    steps = grid_size(n, epsilon) if cells is None else cells
    rate = n * Fraction(epsilon) / 2
    t = Fraction(below(steps + 1), steps)
    while not bernoulli_exp(rate * (mean - t) ** 2):  # [P:squared-error-law]
        t = Fraction(below(steps + 1), steps)
    return t


# -- quotient ----------------------------------------------------------------------------------------------------------
# The interval of a quotient: which means agree with a noisy sum and a noisy count.

# what the rounding of doubles could take off a probability
_ROUNDING: Final = 1 + 2**-40
# each round gives a valid interval, a little shorter than the one before
_ROUNDS: Final = 50
_LEAST_WEIGHT: Final = 1e-9
# how near a bound is to the best one, as a part of itself
_CLOSE: Final = 1e-6


def quotient_interval(
    centre: float, size: int, unit: int, scales: tuple[float, float], level: float
) -> tuple[float, float]:
    """Interval inside [-1, 1] for the mean of n numbers in [-1, 1], at `level` over the noise.

    Let the sum, in whole steps of 1/`unit`, and the count have discrete Laplace noise S and C of these two scales. For
    the true mean m, (noisy sum) - m unit (noisy count) = S - m unit C: its law is known, and n is not in it. So m
    lies within q(|m|) / (size unit) of the noisy quotient with probability `level`, q the quantile of |S - m unit C|.
    Since q grows with |m|, an end e above 0 that is known to hold gives a closer one, centre + q(e) / (size unit); and
    where that falls below 0, means between it and the centre fit the less the farther they are from the centre.

    Parameters
    ----------
    centre : float
        The noisy quotient moved into [-1, 1], which brings it nearer to every m.
    size : int
        The noisy count, at least 1.
    unit : int
        Steps in 1.
    scales : tuple of float
        Of the sum, in steps, and of the count.
    level : float

    Examples
    --------
    >>> low, high = quotient_interval(0.0, 1000, 2**30, (1.5 * 2**30, 4.0), 0.95)
    >>> round(low, 4), round(high, 4)
    (-0.0045, 0.0045)
    """
    return -_upper(-centre, size, unit, scales, level), _upper(centre, size, unit, scales, level)


def _upper(centre: float, size: int, unit: int, scales: tuple[float, float], level: float) -> float:
    end = 1.0
    for _ in range(_ROUNDS):
        closer = min(1.0, centre + difference_bound(end * unit, *scales, level) / unit / size)  # [P:upper-end]
        if closer <= 0:
            return _upper_below_zero(centre, size, unit, scales, level)
        if closer >= end - _CLOSE * (end - centre):
            break
        end = closer
    return end


def _upper_below_zero(centre: float, size: int, unit: int, scales: tuple[float, float], level: float) -> float:
    low, high = centre, 0.0
    mean = (low + high) / 2
    # where doubles are too coarse for the digits asked for, their last one ends it
    while high - low > _CLOSE * (high - centre) and low < mean < high:
        # [P:border-bisection]
        if difference_tail(max(0.5, (mean - centre) * size * unit), -mean * unit, *scales) > 1 - level:
            low = mean
        else:
            high = mean
        mean = (low + high) / 2
    return high


def difference_bound(weight: float, sum_scale: float, count_scale: float, level: float) -> float:
    """A t, the least one to six digits, with P(|S - weight C| > t) <= 1 - level, and so for every smaller weight.

    >>> round(difference_bound(1e-9, 1e6, 4.0, 0.95) / 1e6, 4)
    2.9957
    """
    low, high = 0.5, 1 + sum_scale + weight * count_scale
    while difference_tail(high, weight, sum_scale, count_scale) > 1 - level:
        low, high = high, 2 * high
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        if difference_tail(middle, weight, sum_scale, count_scale) > 1 - level:
            low = middle
        else:
            high = middle
    return high


def difference_tail(t: float, weight: float, sum_scale: float, count_scale: float) -> float:
    """An upper bound of P(|S - weight C| >= t) for discrete Laplace S and C, t at least 1/2; exact for whole t, weight.

    It is 2 sum over k of P(C = k) g(t - weight k), where g is P(S >= x) made continuous between integers from
    above: r^x / (1 + r) for x > 0 and 1 - r^(1 - x) / (1 + r) otherwise, r = exp(-1/sum_scale).

    >>> round(difference_tail(3e6, 1.0, 1e6, 4.0), 4), round(math.exp(-3), 4)
    (0.0498, 0.0498)
    """
    weight = max(weight, _LEAST_WEIGHT)
    up, down = weight / sum_scale, 1 / count_scale
    # g(t - weight k) is a power for k up to the last one whose t - weight k is above 0
    last = max(0, math.ceil(t / weight) - 1)
    negative = math.exp(-t / sum_scale - up - down) / -math.expm1(-up - down)
    largest = math.exp(-t / sum_scale) if up <= down else math.exp(-(t - weight * last) / sum_scale - last * down)
    inner = largest * _powers(abs(up - down), last + 1)
    beyond = math.exp(-(last + 1) * down) / -math.expm1(-down)
    less = math.exp(-(weight * (last + 1) - t + 1) / sum_scale - (last + 1) * down) / -math.expm1(-up - down)
    half = 1 / (1 + math.exp(-1 / sum_scale))
    at_zero = math.tanh(down / 2)
    return 2 * at_zero * (half * (negative + inner) + beyond - half * less) * _ROUNDING  # [P:difference-tail]


def _powers(rate: float, how_many: int) -> float:
    """1 + exp(-rate) + ... over `how_many` terms."""
    return math.expm1(-rate * how_many) / math.expm1(-rate) if rate else float(how_many)


# -- mean --------------------------------------------------------------------------------------------------------------
# A private mean of bounded numbers, with an interval for the mean of the clipped numbers.

# a number is rounded to a multiple of 2^-30 of half its range
UNIT: Final = 2**30
# numbers that are summed in 64 bits at a time: 2^20 of at most 2^30 steps
_PART: Final = 2**20
_METHODS: Final = ("laplace", "absolute-error", "squared-error")


@dataclass(frozen=True, slots=True, repr=False)
class PrivateMean:
    """A private mean.

    Attributes
    ----------
    value : float or None
        Inside the bounds; None where the noisy number of entries is below 1, so that there is nothing to divide by.
    interval : tuple of float
        Holds the mean of the clipped numbers with probability of at least `level` over the noise.
    level : float
    size : int
        Number of entries: the public one under replace, the noisy one under add-remove.
    method : str
    guarantee : Guarantee
    """

    value: float | None
    interval: tuple[float, float]
    level: float
    size: int
    method: str
    guarantee: Guarantee

    def __repr__(self) -> str:
        low, high = self.interval
        law = f"{self.level:g} interval {low:.6g} to {high:.6g}"
        return one_line("PrivateMean", (self.value,), law, self.guarantee)


@dataclass(frozen=True, slots=True)
class _Range:
    """Bounds as middle and half width; rounded numbers are whole steps from -UNIT to UNIT."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return self.low / 2 + self.high / 2

    @property
    def half(self) -> float:
        return self.high / 2 - self.low / 2

    def total(self, numbers: npt.NDArray[np.float64]) -> int:
        """Exact sum of the numbers, each clipped, centred and rounded by itself."""
        total = 0
        for start in range(0, len(numbers), _PART):
            inside = np.clip(numbers[start : start + _PART], self.low, self.high)
            steps = np.clip(np.rint((inside - self.middle) * (UNIT / self.half)), -UNIT, UNIT)  # [P:mean-steps]
            total += int(steps.astype(np.int64).sum())
        return total

    def number(self, scaled: float) -> float:
        """The number at a scaled place, moved into the bounds."""
        return float(min(self.high, max(self.low, self.middle + self.half * _inside(scaled))))


def _inside(scaled: float) -> float:
    """The nearest place in [-1, 1]; it is nearer to every mean, so an interval around it holds what it held before."""
    return min(1.0, max(-1.0, scaled))


def private_mean(
    values: Sequence[Any] | npt.NDArray[Any],
    bounds: tuple[float, float],
    epsilon: float,
    *,
    neighbours: str = "add-remove",
    neighbors: str | None = None,
    method: str = "laplace",
    count_share: float | None = None,
    level: float = 0.95,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> PrivateMean:
    """Release the mean of numbers that are clipped to public bounds.

    Under replace the number of entries n is public and the mean gets Laplace noise of scale (high - low) / (n epsilon).
    Under add-remove n is not public: the centred sum and the count are released together under one epsilon, and the
    quotient is the answer. Noise of scale 1 / (n epsilon) on the mean would there reveal n, and with it who is in.

    Parameters
    ----------
    values : sequence of numbers
        Finite. Under add-remove they may be none at all.
    bounds : tuple of two floats
        Public; numbers outside are moved to them.
    epsilon : float
        Up to 1e6, and not so small that the noise is beyond a 64-bit sampler.
    neighbours : {"add-remove", "replace"}
        What is hidden: whether somebody is in, or what one says.
    neighbors : {"add-remove", "replace"}, optional
        The same in American spelling, instead of `neighbours`.
    method : {"laplace", "absolute-error", "squared-error"}
        The other two are the exponential mechanism inside the bounds, scaled to [0, 1]; replace only, for teaching.
        "absolute-error" draws t with density proportional to exp(-n s abs(mean - t)), s = log((1 + e^epsilon) / 2),
        which is between epsilon / 2 and epsilon: more noise than "laplace", never outside the bounds. "squared-error"
        has density exp(-(n epsilon / 2) (mean - t)^2), and far more noise.
    count_share : float, optional
        Under add-remove: the part of epsilon for the count, from 0.01 to 0.99; by default 0.25.
    level : float
        Of the interval.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Asked before noise is drawn, such as `Ledger.account` of a data set with a request id; nobody counts without it.

    Returns
    -------
    PrivateMean

    Examples
    --------
    >>> mean = private_mean([2.0] * 5000, bounds=(0, 10), epsilon=1.0, neighbours="replace")
    >>> round(mean.value, 1), mean.size
    (2.0, 5000)
    """
    relation, promise = checked_promise(either_spelling(neighbours, neighbors), epsilon, 0.0, allow_weak_privacy)
    span = _range(bounds)
    if relation == "replace" and count_share is not None:
        raise SpecError("got count_share with neighbours = 'replace', where the count is public; leave it out")
    share = within("count_share", 0.25 if count_share is None else count_share, 0.01, 0.99, advice="for instance 0.25")
    level = checked_level(level)
    checked_name("method", method, _METHODS)
    if relation == "add-remove":
        if method != "laplace":
            raise SpecError(f"method {method!r} needs a public number of entries; pass neighbours='replace'")
        scales = _quotient_scales(promise, share)
        numbers = data_floats("values", values)
        with spent(spend, "private_mean", Loss.pure(promise), relation, scales=scales, bounds=(span.low, span.high)):
            value, interval, size = _quotient(numbers, span, scales, level)
    else:
        size = public_length("values", values)
        total = span.total(data_floats("values", values))
        scale = _scale(method, promise)
        law = {"laplace": _shifted, "absolute-error": _confined, "squared-error": _drawn}[method]
        named = {"method": method, "scale": scale, "bounds": (span.low, span.high), "size": size}
        with spent(spend, "private_mean", Loss.pure(promise), relation, **named):
            value, interval = law(total, size, span, scale, level)
    public = ("the number of entries is public",) if relation == "replace" else ()
    guarantee = promised(promise, 0.0, relation, "each person has one entry", "the bounds are public", *public)
    return PrivateMean(value, interval, level, size, method, guarantee)


def _range(bounds: tuple[float, float]) -> _Range:
    pair: Any = bounds
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise SpecError(f"bounds = {shown(bounds)}; give two numbers, low and high")
    low, high = (within("bound", end, -1e250, 1e250, advice="give finite public bounds") for end in pair)
    if not high / 2 - low / 2 >= 1e-250:
        raise SpecError(f"bounds = {shown(bounds)}; the second must be above the first")
    return _Range(low, high)


def _scale(method: str, epsilon: float) -> float:
    """The scale of the noise in steps; for `squared-error` epsilon itself, which is all that its law needs."""
    if method == "laplace":
        return scale_in_steps(2 * UNIT / Fraction(epsilon))  # [P:mean-scale]
    if method == "absolute-error":
        return scale_in_steps(2 * UNIT / Fraction(absolute_error_rate(epsilon)))  # [P:absolute-error-scale]
    return epsilon


def _shifted(total: int, size: int, span: _Range, scale: float, level: float) -> tuple[float, tuple[float, float]]:
    noisy = total + laplace_noise(scale, 1)[0]
    centre = _inside(noisy / (size * UNIT))
    # half a step for the rounding of each number
    sensitivity = (laplace_bound(scale, 1, level) / size + 0.5) / UNIT
    return span.number(centre), (span.number(centre - sensitivity), span.number(centre + sensitivity))


def _quotient_scales(epsilon: float, share: float) -> tuple[float, float]:
    """The scales of the noise in the sum, in steps, and in the count."""
    for_count = Fraction(share) * Fraction(epsilon)
    return scale_in_steps(UNIT / (Fraction(epsilon) - for_count)), scale_in_steps(1 / for_count)  # [P:sum-and-count]


def _quotient(
    numbers: npt.NDArray[np.float64], span: _Range, scales: tuple[float, float], level: float
) -> tuple[float | None, tuple[float, float], int]:
    scale, count_scale = scales
    total = span.total(numbers) + laplace_noise(scale, 1)[0]
    size = len(numbers) + laplace_noise(count_scale, 1)[0]  # [P:hidden-count]
    if size < 1:
        return None, (span.low, span.high), size
    centre = _inside(total / (size * UNIT))
    low, high = quotient_interval(centre, size, UNIT, (scale, count_scale), level)
    # half a step for the rounding of each number
    return span.number(centre), (span.number(low - 0.5 / UNIT), span.number(high + 0.5 / UNIT)), size


def _confined(total: int, size: int, span: _Range, scale: float, level: float) -> tuple[float, tuple[float, float]]:
    centre = absolute_error_draw(total, size * UNIT, scale) / (size * UNIT)
    # a deviation that is confined to a range around 0 is stochastically below one that is not
    sensitivity = (laplace_bound(scale, 1, level) / size + 0.5) / UNIT
    return span.number(centre), (span.number(centre - sensitivity), span.number(centre + sensitivity))


def _drawn(total: int, size: int, span: _Range, epsilon: float, level: float) -> tuple[float, tuple[float, float]]:
    position = Fraction(total + size * UNIT, 2 * size * UNIT)  # [P:mean-index]
    drawn = 2 * float(squared_error_draw(position, size, epsilon)) - 1
    # the size of a truncated deviation is stochastically below that of the normal one
    sensitivity = 2 * (gaussian_bound((size * epsilon) ** -0.5, 1, level) + 1 / grid_size(size, epsilon)) + 0.5 / UNIT
    return span.number(drawn), (span.number(drawn - sensitivity), span.number(drawn + sensitivity))

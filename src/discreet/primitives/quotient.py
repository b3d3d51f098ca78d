"""The interval of a quotient: which means agree with a noisy sum and a noisy count."""

from __future__ import annotations

import math
from typing import Final

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

"""Estimate a mean privately by one of several methods, with a confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import OptionError, UnsupportedError
from discreet.exact.rounding import EIGHTY_DIGITS, down
from discreet.mechanisms.sampler import below, bernoulli_exp
from discreet.primitives.arguments import (
    checked_level,
    checked_name,
    checked_privacy,
    data_floats,
    guarantee_for,
    public_length,
    resolve_spelling,
    result_repr,
)
from discreet.primitives.grid_noise import gaussian_bound, laplace_bound, laplace_noise, scale_in_steps
from discreet.primitives.spending import spent
from discreet.privacy.checks import within
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked
from discreet.wording import LeaveOut, SetOption

# -- absolute error ----------------------------------------------------------------------------------------------------
# The exponential mechanism with absolute error, sampled exactly on the integers of a range.

_MARGIN: Final = Decimal("1e-70")


def absolute_error_rate(epsilon: float) -> float:
    """Return log((1 + e^epsilon) / 2), rounded down.

    This is the largest change in the exponent of the density that a neighbouring table may cause. The general theorem
    allows only epsilon / 2. On a bounded range more is allowed, because the normalising constant changes less.

    >>> round(absolute_error_rate(1.0), 4), round(absolute_error_rate(8.0), 4)
    (0.6201, 7.3072)
    """
    with localcontext(EIGHTY_DIGITS):
        return down(((1 + Decimal(epsilon).exp()) / 2).ln() - _MARGIN)  # [P:absolute-error-rate]


def absolute_error_draw(total: int, furthest: int, scale: float) -> int:
    """Draw t with P(t) proportional to exp(-|total - t| / scale) on the integers from -furthest to furthest.

    `total` lies in that range, `furthest` is at least 1, and `scale` is positive.

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
    while abs(t) > furthest:  # [P:absolute-error-distribution]
        t = total + laplace_noise(scale, 1)[0]
    return t


# -- squared error -----------------------------------------------------------------------------------------------------
# The exponential mechanism with squared error on [0, 1], sampled exactly on a fine grid.


def grid_size(n: int, epsilon: float) -> int:
    """Return the number of grid steps on [0, 1].

    It is a power of two, at least 2^20, such that a step is small compared with the spread of the distribution.

    >>> grid_size(1000, 1.0) == 2**20
    True
    """
    spread = int((n * epsilon) ** 0.5)
    return 1 << max(20, spread.bit_length() + 10)


def squared_error_draw(mean: Fraction, n: int, epsilon: float, cells: int | None = None) -> Fraction:
    """Draw t with P(t) proportional to exp(-(n epsilon / 2) (mean - t)^2) on t = 0, 1/cells, ..., 1.

    The expected number of proposals is about sqrt(n epsilon / 6), or twice that at the ends.

    >>> 0 <= squared_error_draw(Fraction(1, 2), 100, 1.0) <= 1
    True
    """
    steps = grid_size(n, epsilon) if cells is None else cells
    rate = n * Fraction(epsilon) / 2
    t = Fraction(below(steps + 1), steps)
    while not bernoulli_exp(rate * (mean - t) ** 2):  # [P:squared-error-distribution]
        t = Fraction(below(steps + 1), steps)
    return t


# -- quotient ----------------------------------------------------------------------------------------------------------
# Confidence interval of a quotient: the means that are consistent with a noisy sum and a noisy count.

# covers the rounding error of a probability in doubles
_ROUNDING: Final = 1 + 2**-40
# every round gives a valid interval, slightly shorter than the one before
_ROUNDS: Final = 50
_LEAST_WEIGHT: Final = 1e-9
# relative tolerance of a bound
_CLOSE: Final = 1e-6


def quotient_interval(
    centre: float, size: int, unit: int, scales: tuple[float, float], level: float
) -> tuple[float, float]:
    """Compute a confidence interval for the mean of n numbers in [-1, 1] from a noisy sum and a noisy count.

    The interval lies inside [-1, 1] and has coverage `level` over the noise. The sum, in whole steps of 1/`unit`, and
    the count have discrete Laplace noise S and C with these two scales. For the true mean m, (noisy sum) - m unit
    (noisy count) = S - m unit C, whose distribution does not depend on n. So m lies within q(|m|) / (size unit) of the
    noisy quotient with probability `level`, where q is the quantile of |S - m unit C|. Since q grows with |m|, a valid
    end point e above 0 gives the closer valid end point centre + q(e) / (size unit). If this point is below 0, the end
    point is found by bisection between the centre and 0.

    `centre` is the noisy quotient clipped to [-1, 1], which moves it closer to every possible m. `size` is the noisy
    count, which must be at least 1.

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
    # also stop at the last digit of a double
    while high - low > _CLOSE * (high - centre) and low < mean < high:
        # [P:border-bisection]
        if difference_tail(max(0.5, (mean - centre) * size * unit), -mean * unit, *scales) > 1 - level:
            low = mean
        else:
            high = mean
        mean = (low + high) / 2
    return high


def difference_bound(weight: float, sum_scale: float, count_scale: float, level: float) -> float:
    """Return the smallest t, to six digits, with P(|S - weight C| > t) <= 1 - level.

    S and C are discrete Laplace variates. The bound also holds for all smaller weights.

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
    """Return an upper bound on P(|S - weight C| >= t) for discrete Laplace S and C and for t of at least 1/2.

    The bound is exact for integer t and weight. It equals 2 * sum over k of P(C = k) g(t - weight k), where g(x) is an
    upper bound on P(S >= x) that is exact at integers. With r = exp(-1/sum_scale), g(x) is r^x / (1 + r) for x > 0, and
    1 - r^(1 - x) / (1 + r) otherwise.

    >>> round(difference_tail(3e6, 1.0, 1e6, 4.0), 4), round(math.exp(-3), 4)
    (0.0498, 0.0498)
    """
    weight = max(weight, _LEAST_WEIGHT)
    up, down = weight / sum_scale, 1 / count_scale
    # g(t - weight k) is a power up to the last k with t - weight k above 0
    last = max(0, math.ceil(t / weight) - 1)
    negative = math.exp(-t / sum_scale - up - down) / -math.expm1(-up - down)
    largest = math.exp(-t / sum_scale) if up <= down else math.exp(-(t - weight * last) / sum_scale - last * down)
    inner = largest * _powers(abs(up - down), last + 1)
    beyond = math.exp(-(last + 1) * down) / -math.expm1(-down)
    less = math.exp(-(weight * (last + 1) - t + 1) / sum_scale - (last + 1) * down) / -math.expm1(-up - down)
    half = 1 / (1 + math.exp(-1 / sum_scale))
    at_zero = math.tanh(down / 2)
    return 2 * at_zero * (half * (negative + inner) + beyond - half * less) * _ROUNDING  # [P:difference-tail]


def _powers(rate: float, count: int) -> float:
    """Return the sum of the first `count` terms of 1 + exp(-rate) + exp(-2 rate) + ..."""
    return math.expm1(-rate * count) / math.expm1(-rate) if rate else float(count)


# -- mean --------------------------------------------------------------------------------------------------------------
# Private mean of bounded numbers, with an interval for the mean of the clipped numbers.

# numbers are rounded to multiples of 2^-30 of half their range
UNIT: Final = 2**30
# number of entries summed at a time, so that the sum of entries of at most 2^30 steps fits into 64 bits
_CHUNK: Final = 2**20


@dataclass(frozen=True, slots=True, repr=False)
class PrivateMean:
    """Private mean with a confidence interval.

    Attributes
    ----------
    value : float or None
        Estimated mean, which lies inside the bounds. None if the noisy number of entries is below 1.
    interval : tuple of float
        Confidence interval, which contains the mean of the clipped numbers with probability at least `level` over the
        noise.
    level : float
        Confidence level of the interval.
    size : int
        Number of entries, which is public under replace and noisy under add-remove.
    method : str
        Method by which the value was drawn.
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
        noise = f"{self.level:g} interval {low:.6g} to {high:.6g}"
        return result_repr("PrivateMean", (self.value,), noise, self.guarantee)


@dataclass(frozen=True, slots=True)
class _Range:
    """Public bounds of the numbers. Scaled numbers are whole steps from -UNIT to UNIT."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return self.low / 2 + self.high / 2

    @property
    def half(self) -> float:
        return self.high / 2 - self.low / 2

    def total(self, numbers: npt.NDArray[np.float64]) -> int:
        """Return the exact sum of the numbers, each of which is first clipped, centred and rounded to whole steps."""
        total = 0
        for start in range(0, len(numbers), _CHUNK):
            inside = np.clip(numbers[start : start + _CHUNK], self.low, self.high)
            steps = np.clip(np.rint((inside - self.middle) * (UNIT / self.half)), -UNIT, UNIT)  # [P:mean-steps]
            total += int(steps.astype(np.int64).sum())
        return total

    def number(self, scaled: float) -> float:
        """Convert a scaled value in [-1, 1] to the original scale. Other values are first clipped to [-1, 1]."""
        return float(min(self.high, max(self.low, self.middle + self.half * _inside(scaled))))


def _inside(scaled: float) -> float:
    """Clip to [-1, 1], which moves the value closer to every possible mean, so that intervals remain valid."""
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
    """Release the mean of numbers clipped to public bounds.

    Under replace the number of entries n is public, and the mean gets Laplace noise of scale (high - low) / (n
    epsilon). Under add-remove n is private. The centred sum and the count are then released together under one epsilon,
    and their quotient is returned. Noise of scale 1 / (n epsilon) on the mean would reveal n, and thereby who is
    included.

    Parameters
    ----------
    values : sequence of numbers
        Finite numbers. Under add-remove the sequence may be empty.
    bounds : tuple of two floats
        Public bounds to which the numbers are clipped.
    epsilon : float
        At most 1e6, and large enough for the noise to fit a 64-bit sampler.
    neighbours : {"add-remove", "replace"}
        What the guarantee protects: whether a person is included (add-remove), or which number the person has
        (replace).
    neighbors : {"add-remove", "replace"}, optional
        American spelling of `neighbours`.
    method : {"laplace", "absolute-error", "squared-error"}
        The last two are exponential mechanisms inside the bounds, scaled to [0, 1]. They need replace and are meant for
        teaching. "absolute-error" draws t with density proportional to exp(-n s abs(mean - t)), where
        s = log((1 + e^epsilon) / 2) lies between epsilon / 2 and epsilon. It adds more noise than "laplace" but never
        leaves the bounds. "squared-error" has density proportional to exp(-(n epsilon / 2) (mean - t)^2) and adds far
        more noise.
    count_share : float, optional
        Under add-remove, the share of epsilon for the count, from 0.01 to 0.99. The default is 0.25.
    level : float
        Confidence level of the interval.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Called before noise is drawn, such as `Ledger.account` for a data set. If omitted, the spend is not recorded.

    Returns
    -------
    PrivateMean

    Examples
    --------
    >>> mean = private_mean([2.0] * 5000, bounds=(0, 10), epsilon=1.0, neighbours="replace")
    >>> round(mean.value, 1), mean.size
    (2.0, 5000)
    """
    relation, epsilon = checked_privacy(resolve_spelling(neighbours, neighbors), epsilon, 0.0, allow_weak_privacy)
    span = _checked_bounds(bounds)
    if relation == "replace" and count_share is not None:
        raise UnsupportedError(
            "count_share needs neighbours = 'add-remove', because the count is public under 'replace'",
            code="conflicting-options",
            option="count_share",
            given=count_share,
            remedy=LeaveOut("count_share"),
        )
    share = within(
        "count_share", 0.25 if count_share is None else count_share, 0.01, 0.99, advice="choose for example 0.25"
    )
    level = checked_level(level)
    checked_name("method", method, tuple(_DRAWS))
    if relation == "add-remove":
        if method != "laplace":
            raise UnsupportedError(
                f"method {method!r} needs neighbours = 'replace', got 'add-remove'",
                code="private-count",
                option="method",
                given=method,
                remedy=SetOption("neighbours", "replace"),
            )
        scales = _quotient_scales(epsilon, share)
        numbers = data_floats("values", values)
        with spent(spend, "private_mean", Loss.pure(epsilon), relation, scales=scales, bounds=(span.low, span.high)):
            value, interval, size = _quotient_mean(numbers, span, scales, level)
    else:
        size = public_length("values", values)
        total = span.total(data_floats("values", values))
        scale = _scale(method, epsilon)
        draw = _DRAWS[method]
        parameters = {"method": method, "scale": scale, "bounds": (span.low, span.high), "size": size}
        with spent(spend, "private_mean", Loss.pure(epsilon), relation, **parameters):
            value, interval = draw(total, size, span, scale, level)
    public_size = ("the number of entries is public",) if relation == "replace" else ()
    guarantee = guarantee_for(
        epsilon, 0.0, relation, "each person has one entry", "the bounds are public", *public_size
    )
    return PrivateMean(value, interval, level, size, method, guarantee)


def _checked_bounds(bounds: tuple[float, float]) -> _Range:
    pair: Any = bounds
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise OptionError(option="bounds", given=bounds, allowed="two numbers, low and high")
    low, high = (within("bound", end, -1e250, 1e250, advice="pass finite public bounds") for end in pair)
    if not high / 2 - low / 2 >= 1e-250:
        raise OptionError(option="bounds", given=bounds, allowed="the lower bound first and a higher one second")
    return _Range(low, high)


def _scale(method: str, epsilon: float) -> float:
    """Return the parameter of the noise distribution of a method.

    It is the noise scale in steps, except for "squared-error", whose only parameter is epsilon.
    """
    if method == "laplace":
        return scale_in_steps(2 * UNIT / Fraction(epsilon))  # [P:mean-scale]
    if method == "absolute-error":
        return scale_in_steps(2 * UNIT / Fraction(absolute_error_rate(epsilon)))  # [P:absolute-error-scale]
    return epsilon


def _laplace_mean(total: int, size: int, span: _Range, scale: float, level: float) -> tuple[float, tuple[float, float]]:
    noisy = total + laplace_noise(scale, 1)[0]
    centre = _inside(noisy / (size * UNIT))
    # half a step covers the rounding of each number
    margin = (laplace_bound(scale, 1, level) / size + 0.5) / UNIT
    return span.number(centre), (span.number(centre - margin), span.number(centre + margin))


def _quotient_scales(epsilon: float, share: float) -> tuple[float, float]:
    """Return the noise scale of the sum, in steps, and the noise scale of the count."""
    for_count = Fraction(share) * Fraction(epsilon)
    return scale_in_steps(UNIT / (Fraction(epsilon) - for_count)), scale_in_steps(1 / for_count)  # [P:sum-and-count]


def _quotient_mean(
    numbers: npt.NDArray[np.float64], span: _Range, scales: tuple[float, float], level: float
) -> tuple[float | None, tuple[float, float], int]:
    scale, count_scale = scales
    total = span.total(numbers) + laplace_noise(scale, 1)[0]
    size = len(numbers) + laplace_noise(count_scale, 1)[0]  # [P:hidden-count]
    if size < 1:
        return None, (span.low, span.high), size
    centre = _inside(total / (size * UNIT))
    low, high = quotient_interval(centre, size, UNIT, (scale, count_scale), level)
    # half a step covers the rounding of each number
    return span.number(centre), (span.number(low - 0.5 / UNIT), span.number(high + 0.5 / UNIT)), size


def _absolute_error_mean(
    total: int, size: int, span: _Range, scale: float, level: float
) -> tuple[float, tuple[float, float]]:
    centre = absolute_error_draw(total, size * UNIT, scale) / (size * UNIT)
    # truncation to a range around 0 makes the deviation stochastically smaller
    margin = (laplace_bound(scale, 1, level) / size + 0.5) / UNIT
    return span.number(centre), (span.number(centre - margin), span.number(centre + margin))


def _squared_error_mean(
    total: int, size: int, span: _Range, epsilon: float, level: float
) -> tuple[float, tuple[float, float]]:
    position = Fraction(total + size * UNIT, 2 * size * UNIT)  # [P:mean-index]
    drawn = 2 * float(squared_error_draw(position, size, epsilon)) - 1
    # truncation makes the deviation stochastically smaller than a normal one
    margin = 2 * (gaussian_bound((size * epsilon) ** -0.5, 1, level) + 1 / grid_size(size, epsilon)) + 0.5 / UNIT
    return span.number(drawn), (span.number(drawn - margin), span.number(drawn + margin))


_DRAWS: Final = {
    "laplace": _laplace_mean,
    "absolute-error": _absolute_error_mean,
    "squared-error": _squared_error_mean,
}

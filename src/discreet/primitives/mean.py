"""A private mean of bounded numbers, with an interval for the mean of the clipped numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import SpecError, shown
from discreet.primitives.absolute_error import absolute_error_draw, absolute_error_rate
from discreet.primitives.arguments import (
    checked_level,
    checked_name,
    checked_promise,
    data_floats,
    either_spelling,
    promised,
    public_length,
)
from discreet.primitives.error_law import gaussian_bound, laplace_bound
from discreet.primitives.lattice import laplace_noise, scale_in_steps
from discreet.primitives.quotient import quotient_interval
from discreet.primitives.results import one_line
from discreet.primitives.spending import spent
from discreet.primitives.squared_error import grid_size, squared_error_draw
from discreet.privacy.checks import within
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.loss import Loss
from discreet.privacy.spend import SpendHook, untracked

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

"""Choose events and certify lower bounds on epsilon from draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv, ndtri

from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray, IntArray
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.checks import is_number, positive, probability_below_one
from discreet.privacy.gaussian_dp import epsilon_from
from discreet.privacy.guarantee import Guarantee

# -- claims ------------------------------------------------------------------------------------------------------------
# What is claimed of a mechanism, and can be refuted.


@dataclass(frozen=True, slots=True)
class Claim:
    """A privacy claim.

    Parameters
    ----------
    epsilon, delta
        The claim by itself.
    mu
        The Gaussian curve that is claimed too, if one is.
    gap
        With `mu`: how far, in total variation, outputs may be from those of a mu-Gaussian mechanism.

    Examples
    --------
    >>> Claim(1.0, 1e-6).mu is None
    True
    """

    epsilon: float
    delta: float = 0.0
    mu: float | None = None
    gap: float = 0.0

    def __post_init__(self) -> None:
        advice = "give the epsilon and the delta that the method states"
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon, advice=advice))
        object.__setattr__(self, "delta", probability_below_one("delta", self.delta, advice=advice))
        if self.mu is not None:
            object.__setattr__(self, "mu", positive("mu", self.mu, advice=advice))
        object.__setattr__(self, "gap", probability_below_one("gap", self.gap, advice=advice))

    @classmethod
    def of(cls, claimed: Claim | PrivacyBudget | Guarantee | float) -> Claim:
        """A claim from a budget, from the guarantee of a release, or from epsilon alone.

        >>> Claim.of(PrivacyBudget(1.0, 1e-6)).delta, Claim.of(0.5).epsilon
        (1e-06, 0.5)
        """
        if isinstance(claimed, Claim):
            return claimed
        if isinstance(claimed, PrivacyBudget):
            return cls(*as_pair(claimed))
        if isinstance(claimed, Guarantee):
            return cls(claimed.epsilon, claimed.delta, claimed.mu, claimed.mu_gap or 0.0)
        if is_number(claimed):
            return cls(float(claimed))
        raise SpecError(
            f"claimed: expected a PrivacyBudget, a Guarantee, a Claim or epsilon, got {shown(claimed)}; "
            "for instance discreet.PrivacyBudget(1.0, 1e-6)"
        )


# -- confidence --------------------------------------------------------------------------------------------------------
# What counts of an event say for certain: Clopper-Pearson limits, and the epsilon or mu that they rule out.
#
# An event E has probability p on one table and q on its neighbour. (epsilon, delta)-DP demands p <= e^epsilon q + delta
# and 1 - q <= e^epsilon (1 - p) + delta; mu-Gaussian DP demands Phi^-1(p) - Phi^-1(q) <= mu. Each left side rises in p
# and falls in q, so a lower limit of p and an upper limit of q, each wrong with probability alpha/2, give lower bounds
# of epsilon and of mu that are all wrong together with probability at most alpha.


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the probability of one event, or of many, on two tables.

    Attributes
    ----------
    low
        Lower limit on the table on which the event is likelier.
    high
        Upper limit on its neighbour.
    """

    low: FloatArray
    high: FloatArray

    def epsilon(self, delta: float) -> FloatArray:
        """Lower bound of epsilon at this delta; 0 where nothing is ruled out."""
        with np.errstate(divide="ignore", invalid="ignore"):
            direct = np.log(np.maximum(self.low - delta, 0) / self.high)
            opposite = np.log(np.maximum(1 - self.high - delta, 0) / (1 - self.low))
        return _above_zero(np.fmax(direct, opposite))

    def mu(self, gap: float) -> FloatArray:
        """Lower bound of mu, where outputs may be this far in total variation from Gaussian ones."""
        low, high = np.clip(self.low - gap, 0, 1), np.clip(self.high + gap, 0, 1)
        with np.errstate(invalid="ignore"):
            return _above_zero(ndtri(low) - ndtri(high))

    def of(self, claim: Claim) -> tuple[FloatArray, FloatArray]:
        """Lower bounds of epsilon at the claim's delta, and of mu at its gap."""
        return self.epsilon(claim.delta), self.mu(claim.gap)


def limits(hits: npt.ArrayLike, draws: int, other_hits: npt.ArrayLike, other_draws: int, alpha: float) -> Limits:
    """Clopper-Pearson limits that are both right with probability of at least 1 - alpha.

    >>> found = limits(50, 100, 0, 100, 0.01)
    >>> round(float(found.low), 3), round(float(found.high), 3), round(float(found.epsilon(0.0)), 2)
    (0.369, 0.052, 1.97)
    """
    return Limits(lower_limit(hits, draws, alpha / 2), upper_limit(other_hits, other_draws, alpha / 2))


def lower_limit(hits: npt.ArrayLike, draws: int, alpha: float) -> FloatArray:
    """A lower limit of a probability, too high with probability of at most alpha."""
    counted: IntArray = np.asarray(hits)
    return np.where(counted > 0, betaincinv(np.maximum(counted, 1), draws - counted + 1, alpha), 0.0)


def upper_limit(hits: npt.ArrayLike, draws: int, alpha: float) -> FloatArray:
    """An upper limit of a probability, too low with probability of at most alpha."""
    counted: IntArray = np.asarray(hits)
    return np.where(counted < draws, betainccinv(counted + 1, np.maximum(draws - counted, 1), alpha), 1.0)


def _above_zero(bound: FloatArray) -> FloatArray:
    return np.asarray(np.where(np.isfinite(bound), np.maximum(bound, 0.0), 0.0))


# -- scores ------------------------------------------------------------------------------------------------------------
# Scores that tell two tables apart, learned from half of the draws: likelihood ratios of simple shapes.

Score: TypeAlias = Callable[[FloatArray], FloatArray]

# in units of the upper quartile of the distance from the median
_FARTHEST: Final = 20.0


def learned_scores(one: FloatArray, other: FloatArray) -> dict[str, Score]:
    """Scores that are larger where the first table is likelier; none if all numbers are constant or not finite.

    Parameters
    ----------
    one, other
        Draws for the two tables, one in each row.
    """
    # a quarter of them, exactly: differences of the largest doubles would have no end
    both = np.concatenate([one, other]) / 4
    finite = np.where(np.isfinite(both).all(axis=0), both, 0.0)
    spread = np.ptp(finite, axis=0)
    varying = np.flatnonzero(spread > 0)
    if len(varying) == 0:
        return {}
    centre = np.median(both[:, varying], axis=0)
    scale = np.quantile(np.abs(both[:, varying] - centre), 0.75, axis=0)
    # more than half of the draws may be one value
    scale = np.where(scale > 0, scale, spread[varying])

    def standard(draws: FloatArray) -> FloatArray:
        """Numbers that vary, in units of their spread; far ones are drawn in, so that none decides by itself."""
        known: FloatArray = np.nan_to_num(draws[:, varying], nan=0.0) / 4
        return np.asarray(np.clip((known - centre) / scale, -_FARTHEST, _FARTHEST))

    a, b = standard(one), standard(other)
    learned = {"linear": _linear(a, b), "laplace": _laplace(a, b), "quadratic": _quadratic(a, b)}
    return {name: _composed(score, standard) for name, score in learned.items()}


def _composed(score: Score, before: Score) -> Score:
    return lambda draws: score(before(draws))


def _linear(one: FloatArray, other: FloatArray) -> Score:
    """The likelihood ratio of two normal laws with one covariance."""
    covariance = _covariance(np.concatenate([one - one.mean(axis=0), other - other.mean(axis=0)]))
    direction = np.linalg.solve(covariance, one.mean(axis=0) - other.mean(axis=0))
    return lambda draws: np.asarray(draws @ direction)


def _laplace(one: FloatArray, other: FloatArray) -> Score:
    """The likelihood ratio of independent Laplace laws."""
    here, there = np.median(one, axis=0), np.median(other, axis=0)
    scale = (np.abs(one - here).mean(axis=0) + np.abs(other - there).mean(axis=0)) / 2
    # 0 where each table has one value of its own
    scale = np.where(scale > 0, scale, 1.0)
    return lambda draws: ((np.abs(draws - there) - np.abs(draws - here)) / scale).sum(axis=1)


def _quadratic(one: FloatArray, other: FloatArray) -> Score:
    """The likelihood ratio of two normal laws, each with its own covariance."""

    def log_density(sample: FloatArray) -> Score:
        mean, covariance = sample.mean(axis=0), _covariance(sample - sample.mean(axis=0))
        inverse, size = np.linalg.inv(covariance), float(np.linalg.slogdet(covariance)[1])
        return lambda draws: -((((draws - mean) @ inverse) * (draws - mean)).sum(axis=1) + size) / 2

    here, there = log_density(one), log_density(other)
    return lambda draws: here(draws) - there(draws)


def _covariance(centred: FloatArray) -> FloatArray:
    """The covariance, with a little added so that it can be inverted where numbers repeat each other."""
    found: FloatArray = centred.T @ centred / len(centred)
    return found + np.eye(len(found)) * (1e-9 * float(np.trace(found)) / len(found) + 1e-12)


# -- events ------------------------------------------------------------------------------------------------------------
# Events that one table makes likelier than its neighbour, chosen on one half of the draws to be judged on the other.
#
# Kinds: thresholds of learned scores (likelihood ratios), values that only one table has reached (support), exact
# values that repeat, and the place of the lowest bit that is set (the grid of floating-point noise).

Truths: TypeAlias = npt.NDArray[np.bool_]
Happens: TypeAlias = Callable[[FloatArray], Truths]

_THRESHOLDS: Final = 300
# a value is taken if it is more than so many times as frequent on one table
_RATIOS: Final = np.geomspace(1.0, 1e4, 25)
_NO_BIT: Final = 5000.0
_LOWEST: Final = -1.7e308


@dataclass(frozen=True, slots=True)
class Event:
    """Something that may happen to an output.

    Attributes
    ----------
    kind
        How it was found.
    swapped
        Whether it is likelier on the second table.
    happens
        From draws, one in each row, to whether it happened.
    """

    kind: str
    swapped: bool
    happens: Happens


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An event with what the training half lets one hope for."""

    event: Event
    epsilon: float
    mu: float


def chosen_events(one: FloatArray, other: FloatArray, claim: Claim, alpha: float) -> list[Event]:
    """The most promising events of each kind, from the draws for training.

    Parameters
    ----------
    one, other
        Draws for the two tables, one in each row.
    claim
        What will be tried; without `mu` no event is chosen for its sake.
    alpha
        The level at which an event will be judged, nearly: it decides how rare an event may be.
    """
    kinds: dict[str, list[_Candidate]] = {}
    for candidate in _Training(one, other, claim, alpha).candidates():
        kinds.setdefault(candidate.event.kind, []).append(candidate)
    chosen: list[Event] = []
    for found in kinds.values():
        wanted = [max(found, key=lambda one: one.epsilon)]
        if claim.mu is not None:
            wanted.append(max(found, key=lambda one: one.mu))
        chosen += [one.event for one in dict.fromkeys(wanted) if max(one.epsilon, one.mu) > 0]
    return chosen


class _Training:
    """The half of the draws on which events are chosen."""

    def __init__(self, one: FloatArray, other: FloatArray, claim: Claim, alpha: float) -> None:
        self._sides = one, other
        self._claim = claim
        self._alpha = alpha

    def candidates(self) -> Iterator[_Candidate]:
        """The best events of every feature of the outputs."""
        for name, score in learned_scores(*self._sides).items():
            pooled = np.concatenate([score(side) for side in self._sides])
            yield from self._beyond(name, score, np.quantile(pooled, np.linspace(0, 1, _THRESHOLDS)))
        for index in range(self._sides[0].shape[1]):
            number = partial(_number, index=index)
            values = [number(side) for side in self._sides]
            # where one table has been and its neighbour has not
            ends = [end for side in values for end in (side.min(), side.max())]
            yield from self._beyond("support", number, np.array(ends))
            yield from self._among("exact value", number)
            yield from self._among("low-order bits", partial(_lowest_bit, index=index))
        yield from self._among("exact value", _whole)

    def _beyond(self, kind: str, feature: Score, cuts: FloatArray) -> Iterator[_Candidate]:
        """A feature above a threshold, or at or below it."""
        thresholds = np.unique(cuts)
        ordered = [np.sort(feature(side)) for side in self._sides]
        below = [np.searchsorted(side, thresholds, side="right") for side in ordered]
        above = [len(side) - count for side, count in zip(ordered, below, strict=True)]
        strictly = [np.searchsorted(side, thresholds, side="left") for side in ordered]
        for counts, compare in ((above, np.greater), (below, np.less_equal), (strictly, np.less)):
            yield from self._best(kind, counts, [partial(_compared, feature, compare, cut) for cut in thresholds])

    def _among(self, kind: str, feature: Score) -> Iterator[_Candidate]:
        """A feature with one of the values that are so many times more frequent on one table."""
        values = [feature(side) for side in self._sides]
        known, codes = np.unique(np.concatenate(values), return_inverse=True)
        counts = [np.bincount(part, minlength=len(known)) for part in np.split(codes, [len(values[0])])]
        repeated = np.flatnonzero(counts[0] + counts[1] > 1)
        if len(repeated) == 0:
            return
        for mine, theirs in (counts, counts[::-1]):
            ratio = (mine[repeated] + 1) / (theirs[repeated] + 1)
            sets = [known[repeated[ratio > least]] for least in _RATIOS]
            hits = [[int(side[repeated[ratio > least]].sum()) for least in _RATIOS] for side in counts]
            yield from self._best(kind, [np.array(side) for side in hits], [partial(_in_set, feature, s) for s in sets])

    def _best(self, kind: str, hits: Sequence[IntArray], events: Sequence[Happens]) -> Iterator[_Candidate]:
        """Of several events the one that promises most for epsilon, and the one that does for mu."""
        draws = [len(side) for side in self._sides]
        for swapped in (False, True):
            first, second = (1, 0) if swapped else (0, 1)
            found = limits(hits[first], draws[first], hits[second], draws[second], self._alpha)
            epsilon, mu = found.of(self._claim)
            for index in sorted({int(np.argmax(epsilon)), int(np.argmax(mu))}):
                yield _Candidate(Event(kind, swapped, events[index]), float(epsilon[index]), float(mu[index]))


def _number(draws: FloatArray, index: int) -> FloatArray:
    """One number of every output; what is no number counts as the lowest."""
    return np.nan_to_num(draws[:, index], nan=-np.inf, posinf=np.inf, neginf=_LOWEST)


def _whole(draws: FloatArray) -> FloatArray:
    """A number for each output as a whole, the same for the same bits."""
    weights = np.random.default_rng(0).integers(1, 2**63, draws.shape[1], dtype=np.uint64) | np.uint64(1)
    mixed = (np.ascontiguousarray(draws).view(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
    return np.asarray(mixed >> np.uint64(11), dtype=np.float64)


def _lowest_bit(draws: FloatArray, index: int) -> FloatArray:
    """The exponent of the lowest bit that is set; more than any for 0 and what is not a number, and again for -0."""
    values = draws[:, index]
    fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    mantissa = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    lowest = np.log2(np.maximum(mantissa & -mantissa, 1).astype(np.float64)) + exponent - 53
    none = np.where(np.signbit(values) & (values == 0), _NO_BIT + 1, _NO_BIT)
    return np.where(mantissa == 0, none, lowest)


def _compared(feature: Score, compare: Callable[..., Truths], cut: float, draws: FloatArray) -> Truths:
    return compare(feature(draws), cut)


def _in_set(feature: Score, values: FloatArray, draws: FloatArray) -> Truths:
    return np.isin(feature(draws), values)


# -- judging -----------------------------------------------------------------------------------------------------------
# The verdict on two sets of draws: events are chosen on the first half of each, and judged on the second half.

# the smallest number of draws for which a half chooses and a half judges
FEWEST_DRAWS: Final = 20
# kinds of events times what they are chosen for: how many are judged at most
_MOST_EVENTS: Final = 12
# below it a mu-Gaussian mechanism has an epsilon of 0 at any delta that is used
_LEAST_MU: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Witness:
    """An event, and how often it happened in the draws that judge.

    Attributes
    ----------
    kind
        How the event was found.
    hits, draws
        On the table on which it is likelier.
    other_hits, other_draws
        On its neighbour.
    """

    kind: str
    hits: int
    draws: int
    other_hits: int
    other_draws: int

    def sentence(self) -> str:
        """The counts in words.

        >>> Witness("linear", 60, 100, 1, 100).sentence()
        'linear: 60 of 100 draws against 1 of 100'
        """
        return f"{self.kind}: {self.hits:,} of {self.draws:,} draws against {self.other_hits:,} of {self.other_draws:,}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What draws certify, at a stated confidence.

    Attributes
    ----------
    claim
        What was tried.
    epsilon
        Every method with these outputs has at least this epsilon at the claim's delta.
    mu
        No mu-Gaussian mechanism with a smaller mu has these outputs; none if no curve was claimed.
    witness
        The event that gives `epsilon`; none if no event parts the tables.
    mu_witness
        The event that gives `mu`.
    """

    claim: Claim
    epsilon: float
    mu: float | None
    witness: Witness | None
    mu_witness: Witness | None

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, up to the stated probability of a false alarm."""
        false_curve = self.mu is not None and self.claim.mu is not None and self.mu > self.claim.mu
        return self.epsilon > self.claim.epsilon or false_curve

    @property
    def certified(self) -> float:
        """Epsilon at the claim's delta: of the events, or of the Gaussian curve through the bound on mu if larger.

        The second is a statement about epsilon only if outputs have Gaussian shape, as a claim of mu says.

        >>> Judgement(Claim(1.0, 1e-6, 0.2367), 0.1, 0.2, None, None).certified > 0.7
        True
        """
        if self.mu is None or self.claim.delta == 0 or self.mu < _LEAST_MU:
            return self.epsilon
        return max(self.epsilon, epsilon_from(self.mu, self.claim.delta))


def judged(one: FloatArray, other: FloatArray, claim: Claim, alpha: float) -> Judgement:
    """Lower bounds of epsilon and mu that are all right with probability of at least 1 - alpha.

    Parameters
    ----------
    one, other
        Independent draws for two neighbouring tables, one in each row, with the same numbers in each.
    claim
        What is tried.
    alpha
        Probability of a false alarm on a method that keeps the claim.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> noise = np.rint(rng.laplace(0.0, 2**20, (2, 4000, 1)))
    >>> found = judged(noise[0] + 2**20, noise[1], Claim(1.0), 0.01)
    >>> 0.7 < found.epsilon < 1, found.refuted
    (True, False)
    >>> judged(noise[0] + 2**20, noise[1], Claim(0.5), 0.01).refuted
    True
    """
    if min(len(one), len(other)) < FEWEST_DRAWS or one.shape[1] != other.shape[1]:
        raise SpecError(
            f"expected at least {FEWEST_DRAWS} draws of equally many numbers, got {len(one)} of {one.shape[1]} and "
            f"{len(other)} of {other.shape[1]}"
        )
    halves = [(side[: len(side) // 2], side[len(side) // 2 :]) for side in (one, other)]
    # the number of events is known from the first half alone, so the division of alpha is fixed before the second
    events = chosen_events(halves[0][0], halves[1][0], claim, alpha / _MOST_EVENTS)
    epsilon, mu, witness, mu_witness = 0.0, 0.0, None, None
    for event in events:
        sides = [half[1] for half in (halves[::-1] if event.swapped else halves)]
        hits = [int(event.happens(side).sum()) for side in sides]
        counted = Witness(event.kind, hits[0], len(sides[0]), hits[1], len(sides[1]))
        found = limits(hits[0], len(sides[0]), hits[1], len(sides[1]), alpha / len(events))
        bounds = [float(bound) for bound in found.of(claim)]
        if bounds[0] > epsilon:
            epsilon, witness = bounds[0], counted
        if bounds[1] > mu:
            mu, mu_witness = bounds[1], counted
    claimed = claim.mu is not None
    return Judgement(claim, epsilon, mu if claimed else None, witness, mu_witness if claimed else None)

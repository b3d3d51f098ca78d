"""Choose events and certify lower bounds on epsilon from draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv, ndtri

from discreet.errors import OptionError
from discreet.exact.arrays import FloatArray, IntArray
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.checks import is_number, positive, probability_below_one
from discreet.privacy.gaussian_dp import epsilon_from
from discreet.privacy.guarantee import Guarantee

# -- claims ------------------------------------------------------------------------------------------------------------
# Claims that an audit can refute.


@dataclass(frozen=True, slots=True)
class Claim:
    """Privacy claim that an audit tries to refute.

    Parameters
    ----------
    epsilon, delta : float
        The claimed guarantee.
    mu : float, optional
        The claimed Gaussian trade-off curve.
    gap : float
        Largest total variation distance between the outputs and those of a mu-Gaussian mechanism. Used with `mu`.

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
        advice = "give the epsilon and delta that the method claims"
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon, advice=advice))
        object.__setattr__(self, "delta", probability_below_one("delta", self.delta, advice=advice))
        if self.mu is not None:
            object.__setattr__(self, "mu", positive("mu", self.mu, advice=advice))
        object.__setattr__(self, "gap", probability_below_one("gap", self.gap, advice=advice))

    @classmethod
    def of(cls, claimed: Claim | PrivacyBudget | Guarantee | float) -> Claim:
        """Build a claim from a budget, from the guarantee of a release, or from epsilon alone.

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
        raise OptionError(
            option="claimed",
            given=claimed,
            allowed="a PrivacyBudget, a Guarantee, a Claim or an epsilon",
            remedy="give for example discreet.PrivacyBudget(1.0, 1e-6)",
        )


# -- confidence --------------------------------------------------------------------------------------------------------
# Certified bounds from event counts: Clopper-Pearson limits, and the epsilon or mu that they rule out.
#
# An event E has probability p on one table and q on its neighbour. (epsilon, delta)-DP implies p <= e^epsilon q + delta
# and 1 - q <= e^epsilon (1 - p) + delta. mu-Gaussian DP implies Phi^-1(p) - Phi^-1(q) <= mu. Each bound increases in p
# and decreases in q. So a lower limit of p and an upper limit of q, each wrong with probability alpha/2, give lower
# bounds on epsilon and mu that hold jointly with probability of at least 1 - alpha.


@dataclass(frozen=True, slots=True)
class Limits:
    """Confidence limits of event probabilities.

    `low` are lower limits for the table under which the event is likelier, and `high` are upper limits for the other.
    """

    low: FloatArray
    high: FloatArray

    def epsilon(self, delta: float) -> FloatArray:
        """Return lower bounds on epsilon at `delta`, or 0 where no epsilon is ruled out."""
        with np.errstate(divide="ignore", invalid="ignore"):
            direct = np.log(np.maximum(self.low - delta, 0) / self.high)
            opposite = np.log(np.maximum(1 - self.high - delta, 0) / (1 - self.low))
        return _above_zero(np.fmax(direct, opposite))

    def mu(self, gap: float) -> FloatArray:
        """Return lower bounds on mu for outputs within total variation distance `gap` of a Gaussian mechanism."""
        low, high = np.clip(self.low - gap, 0, 1), np.clip(self.high + gap, 0, 1)
        with np.errstate(invalid="ignore"):
            return _above_zero(ndtri(low) - ndtri(high))

    def of(self, claim: Claim) -> tuple[FloatArray, FloatArray]:
        """Return lower bounds on epsilon at the delta of the claim, and on mu at its gap."""
        return self.epsilon(claim.delta), self.mu(claim.gap)


def limits(hits: npt.ArrayLike, draws: int, other_hits: npt.ArrayLike, other_draws: int, alpha: float) -> Limits:
    """Return Clopper-Pearson limits that hold jointly with probability at least 1 - alpha."""
    return Limits(lower_limit(hits, draws, alpha / 2), upper_limit(other_hits, other_draws, alpha / 2))


def lower_limit(hits: npt.ArrayLike, draws: int, alpha: float) -> FloatArray:
    """Return a lower confidence limit of a probability. It is too high with probability at most `alpha`."""
    counts: IntArray = np.asarray(hits)
    return np.where(counts > 0, betaincinv(np.maximum(counts, 1), draws - counts + 1, alpha), 0.0)


def upper_limit(hits: npt.ArrayLike, draws: int, alpha: float) -> FloatArray:
    """Return an upper confidence limit of a probability. It is too low with probability at most `alpha`."""
    counts: IntArray = np.asarray(hits)
    return np.where(counts < draws, betainccinv(counts + 1, np.maximum(draws - counts, 1), alpha), 1.0)


def _above_zero(bound: FloatArray) -> FloatArray:
    return np.asarray(np.where(np.isfinite(bound), np.maximum(bound, 0.0), 0.0))


# -- scores ------------------------------------------------------------------------------------------------------------
# Scores that distinguish two tables, learned from half of the draws: likelihood ratios of simple distribution families.

Score: TypeAlias = Callable[[FloatArray], FloatArray]

# standardised values are clipped here; the unit is the upper quartile of the distance from the median
_FARTHEST: Final = 20.0


def learned_scores(first: FloatArray, second: FloatArray) -> dict[str, Score]:
    """Learn scores that tend to be larger for draws from the first table.

    Return no scores if no finite number varies.
    """
    # divide by 4 exactly, so that differences of the largest doubles do not overflow
    both = np.concatenate([first, second]) / 4
    finite = np.where(np.isfinite(both).all(axis=0), both, 0.0)
    spread = np.ptp(finite, axis=0)
    varying = np.flatnonzero(spread > 0)
    if len(varying) == 0:
        return {}
    centre = np.median(both[:, varying], axis=0)
    scale = np.quantile(np.abs(both[:, varying] - centre), 0.75, axis=0)
    # the quartile is 0 if most draws are equal
    scale = np.where(scale > 0, scale, spread[varying])

    def standard(draws: FloatArray) -> FloatArray:
        """Standardise the numbers that vary, and clip outliers so that none dominates."""
        numbers: FloatArray = np.nan_to_num(draws[:, varying], nan=0.0) / 4
        return np.asarray(np.clip((numbers - centre) / scale, -_FARTHEST, _FARTHEST))

    a, b = standard(first), standard(second)
    learned = {"linear": _linear(a, b), "laplace": _laplace(a, b), "quadratic": _quadratic(a, b)}
    return {name: _composed(score, standard) for name, score in learned.items()}


def _composed(score: Score, transform: Score) -> Score:
    return lambda draws: score(transform(draws))


def _linear(first: FloatArray, second: FloatArray) -> Score:
    """Learn the likelihood ratio of two normal distributions with a common covariance."""
    covariance = _covariance(np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)]))
    direction = np.linalg.solve(covariance, first.mean(axis=0) - second.mean(axis=0))
    return lambda draws: np.asarray(draws @ direction)


def _laplace(first: FloatArray, second: FloatArray) -> Score:
    """Learn the likelihood ratio of independent Laplace distributions with different medians."""
    here, there = np.median(first, axis=0), np.median(second, axis=0)
    scale = (np.abs(first - here).mean(axis=0) + np.abs(second - there).mean(axis=0)) / 2
    # the scale is 0 if each table always gives the same value
    scale = np.where(scale > 0, scale, 1.0)
    return lambda draws: ((np.abs(draws - there) - np.abs(draws - here)) / scale).sum(axis=1)


def _quadratic(first: FloatArray, second: FloatArray) -> Score:
    """Learn the likelihood ratio of two normal distributions with different covariances."""

    def log_density(sample: FloatArray) -> Score:
        mean, covariance = sample.mean(axis=0), _covariance(sample - sample.mean(axis=0))
        inverse, size = np.linalg.inv(covariance), float(np.linalg.slogdet(covariance)[1])
        return lambda draws: -((((draws - mean) @ inverse) * (draws - mean)).sum(axis=1) + size) / 2

    here, there = log_density(first), log_density(second)
    return lambda draws: here(draws) - there(draws)


def _covariance(centred: FloatArray) -> FloatArray:
    """Compute a covariance matrix, slightly regularised so that collinear numbers do not make it singular."""
    covariance: FloatArray = centred.T @ centred / len(centred)
    return covariance + np.eye(len(covariance)) * (1e-9 * float(np.trace(covariance)) / len(covariance) + 1e-12)


# -- events ------------------------------------------------------------------------------------------------------------
# Events that are likelier for one table than for its neighbour. They are chosen on one half of the draws and judged on
# the other half.
#
# Kinds: thresholds of learned scores (likelihood ratios), values that only one table reached (support), exact values
# that repeat, and the position of the lowest set bit (the grid of floating-point noise).

Truths: TypeAlias = npt.NDArray[np.bool_]
Happens: TypeAlias = Callable[[FloatArray], Truths]

_THRESHOLDS: Final = 300
# frequency-ratio thresholds: a value joins the event if its frequency ratio between the tables exceeds the threshold
_RATIOS: Final = np.geomspace(1.0, 1e4, 25)
_NO_BIT: Final = 5000.0
_LOWEST: Final = -1.7e308


@dataclass(frozen=True, slots=True)
class Event:
    """Event that an output may belong to. `swapped` means that it is likelier under the second table."""

    kind: str
    swapped: bool
    happens: Happens


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Event with the lower bounds on epsilon and mu that the training draws suggest."""

    event: Event
    epsilon: float
    mu: float


def chosen_events(first: FloatArray, second: FloatArray, claim: Claim, alpha: float) -> list[Event]:
    """Choose the most promising events of each kind from the training draws.

    Events for mu are chosen only if the claim has a mu. `alpha` is approximately the level at which an event will be
    judged. It limits how rare an event may be.
    """
    kinds: dict[str, list[_Candidate]] = {}
    for candidate in _Training(first, second, claim, alpha).candidates():
        kinds.setdefault(candidate.event.kind, []).append(candidate)
    chosen: list[Event] = []
    for candidates in kinds.values():
        best = [max(candidates, key=attrgetter("epsilon"))]
        if claim.mu is not None:
            best.append(max(candidates, key=attrgetter("mu")))
        chosen += [candidate.event for candidate in dict.fromkeys(best) if max(candidate.epsilon, candidate.mu) > 0]
    return chosen


class _Training:
    """Half of the draws, on which events are chosen."""

    def __init__(self, first: FloatArray, second: FloatArray, claim: Claim, alpha: float) -> None:
        self._sides = first, second
        self._claim = claim
        self._alpha = alpha

    def candidates(self) -> Iterator[_Candidate]:
        """Yield the best events for every score and for every number in the outputs."""
        for name, score in learned_scores(*self._sides).items():
            pooled = np.concatenate([score(side) for side in self._sides])
            yield from self._beyond(name, score, np.quantile(pooled, np.linspace(0, 1, _THRESHOLDS)))
        for index in range(self._sides[0].shape[1]):
            number = partial(_number, index=index)
            values = [number(side) for side in self._sides]
            # thresholds at the extremes: values that only one table reached
            ends = [end for side in values for end in (side.min(), side.max())]
            yield from self._beyond("support", number, np.array(ends))
            yield from self._among("exact value", number)
            yield from self._among("low-order bits", partial(_lowest_bit, index=index))
        yield from self._among("exact value", _whole)

    def _beyond(self, kind: str, feature: Score, cuts: FloatArray) -> Iterator[_Candidate]:
        """Yield the best events of the form that a feature is above, at most, or below a threshold."""
        thresholds = np.unique(cuts)
        ordered = [np.sort(feature(side)) for side in self._sides]
        below = [np.searchsorted(side, thresholds, side="right") for side in ordered]
        above = [len(side) - count for side, count in zip(ordered, below, strict=True)]
        strictly = [np.searchsorted(side, thresholds, side="left") for side in ordered]
        for counts, compare in ((above, np.greater), (below, np.less_equal), (strictly, np.less)):
            yield from self._best(kind, counts, [partial(_compared, feature, compare, cut) for cut in thresholds])

    def _among(self, kind: str, feature: Score) -> Iterator[_Candidate]:
        """Yield the best events of the form that a feature takes a value that is more frequent under one table."""
        values = [feature(side) for side in self._sides]
        distinct, codes = np.unique(np.concatenate(values), return_inverse=True)
        counts = [np.bincount(side_codes, minlength=len(distinct)) for side_codes in np.split(codes, [len(values[0])])]
        repeated = np.flatnonzero(counts[0] + counts[1] > 1)
        if len(repeated) == 0:
            return
        for mine, theirs in (counts, counts[::-1]):
            ratio = (mine[repeated] + 1) / (theirs[repeated] + 1)
            sets = [distinct[repeated[ratio > threshold]] for threshold in _RATIOS]
            hits = [[int(side[repeated[ratio > threshold]].sum()) for threshold in _RATIOS] for side in counts]
            yield from self._best(kind, [np.array(side) for side in hits], [partial(_in_set, feature, s) for s in sets])

    def _best(self, kind: str, hits: Sequence[IntArray], events: Sequence[Happens]) -> Iterator[_Candidate]:
        """Yield the events with the largest bounds on epsilon and on mu."""
        draws = [len(side) for side in self._sides]
        for swapped in (False, True):
            first, second = (1, 0) if swapped else (0, 1)
            bounds = limits(hits[first], draws[first], hits[second], draws[second], self._alpha)
            epsilon, mu = bounds.of(self._claim)
            for index in sorted({int(np.argmax(epsilon)), int(np.argmax(mu))}):
                yield _Candidate(Event(kind, swapped, events[index]), float(epsilon[index]), float(mu[index]))


def _number(draws: FloatArray, index: int) -> FloatArray:
    """Return one number of every output, with NaN replaced by minus infinity."""
    return np.nan_to_num(draws[:, index], nan=-np.inf, posinf=np.inf, neginf=_LOWEST)


def _whole(draws: FloatArray) -> FloatArray:
    """Hash the bits of each output to a number, so that equal outputs get equal numbers."""
    weights = np.random.default_rng(0).integers(1, 2**63, draws.shape[1], dtype=np.uint64) | np.uint64(1)
    mixed = (np.ascontiguousarray(draws).view(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
    return np.asarray(mixed >> np.uint64(11), dtype=np.float64)


def _lowest_bit(draws: FloatArray, index: int) -> FloatArray:
    """Return the exponent of the lowest set bit of one number in every output.

    Zero, NaN and infinity have no set bit and get a code above all exponents. -0 gets another such code.
    """
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
# Judgement of two sets of draws: events are chosen on the first half of each set and judged on the second.

# smallest number of draws that can be split into a training half and a judging half
FEWEST_DRAWS: Final = 20
# largest possible number of judged events: kinds of events times two purposes, epsilon and mu
_MOST_EVENTS: Final = 12
# below this mu, epsilon is 0 at any practical delta
_LEAST_MU: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Witness:
    """Counts of an event in the judging draws, for the table under which it is likelier and for the other."""

    kind: str
    hits: int
    draws: int
    other_hits: int
    other_draws: int

    def sentence(self) -> str:
        """Return the counts as text.

        >>> Witness("linear", 60, 100, 1, 100).sentence()
        'linear: 60 of 100 draws against 1 of 100'
        """
        return f"{self.kind}: {self.hits:,} of {self.draws:,} draws against {self.other_hits:,} of {self.other_draws:,}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Lower bounds that the draws certify at a stated confidence.

    Attributes
    ----------
    claim
        The tested claim.
    epsilon
        Lower bound on epsilon at the claim's delta.
    mu
        Lower bound on mu, or None if the claim has no mu.
    witness
        The event that certifies `epsilon`, or None if no event does.
    mu_witness
        The event that certifies `mu`, or None.
    """

    claim: Claim
    epsilon: float
    mu: float | None
    witness: Witness | None
    mu_witness: Witness | None

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted, up to the stated probability of a false alarm."""
        false_curve = self.mu is not None and self.claim.mu is not None and self.mu > self.claim.mu
        return self.epsilon > self.claim.epsilon or false_curve

    @property
    def certified(self) -> float:
        """Certified lower bound on epsilon at the delta of the claim.

        It is the larger of the bound from events and the epsilon that follows from `mu`. The latter is valid only if
        outputs are Gaussian, as a claim with a mu states.

        >>> Judgement(Claim(1.0, 1e-6, 0.2367), 0.1, 0.2, None, None).certified > 0.7
        True
        """
        if self.mu is None or self.claim.delta == 0 or self.mu < _LEAST_MU:
            return self.epsilon
        return max(self.epsilon, epsilon_from(self.mu, self.claim.delta))


def judged(first: FloatArray, second: FloatArray, claim: Claim, alpha: float) -> Judgement:
    """Certify lower bounds on epsilon and mu that hold jointly with probability at least 1 - alpha.

    `first` and `second` are independent draws for two neighbouring tables, one output per row.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> noise = np.rint(rng.laplace(0.0, 2**20, (2, 4000, 1)))
    >>> judgement = judged(noise[0] + 2**20, noise[1], Claim(1.0), 0.01)
    >>> 0.7 < judgement.epsilon < 1, judgement.refuted
    (True, False)
    >>> judged(noise[0] + 2**20, noise[1], Claim(0.5), 0.01).refuted
    True
    """
    if min(len(first), len(second)) < FEWEST_DRAWS or first.shape[1] != second.shape[1]:
        raise OptionError(
            f"expected at least {FEWEST_DRAWS} draws of equally many numbers for each table, got {len(first)} draws of "
            f"{first.shape[1]} numbers and {len(second)} draws of {second.shape[1]}",
            code="too-few-draws",
            option="draws",
        )
    halves = [(side[: len(side) // 2], side[len(side) // 2 :]) for side in (first, second)]
    # the number of events depends only on the first half, so the split of alpha is fixed before the second is used
    events = chosen_events(halves[0][0], halves[1][0], claim, alpha / _MOST_EVENTS)
    epsilon, mu, witness, mu_witness = 0.0, 0.0, None, None
    for event in events:
        sides = [half[1] for half in (halves[::-1] if event.swapped else halves)]
        hits = [int(event.happens(side).sum()) for side in sides]
        counts = Witness(event.kind, hits[0], len(sides[0]), hits[1], len(sides[1]))
        event_limits = limits(hits[0], len(sides[0]), hits[1], len(sides[1]), alpha / len(events))
        bounds = [float(bound) for bound in event_limits.of(claim)]
        if bounds[0] > epsilon:
            epsilon, witness = bounds[0], counts
        if bounds[1] > mu:
            mu, mu_witness = bounds[1], counts
    has_curve = claim.mu is not None
    return Judgement(claim, epsilon, mu if has_curve else None, witness, mu_witness if has_curve else None)

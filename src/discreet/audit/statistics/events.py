"""Events that one table makes likelier than its neighbour, chosen on one half of the draws to be judged on the other.

Kinds: thresholds of learned scores (likelihood ratios), values that only one table has reached (support), exact values
that repeat, and the place of the lowest bit that is set (the grid of floating-point noise).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.confidence import limits
from discreet.audit.statistics.scores import Score, learned_scores
from discreet.exact.arrays import FloatArray, IntArray

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

"""Mechanisms as subjects of an audit: sums computed once, then draws with the production sampler and calibration."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from discreet.audit.pairs.catalogue import worst_pairs
from discreet.audit.pairs.pair import NeighbourPair
from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.laws import Check, agreement_check
from discreet.audit.subjects.exact_losses import exact_loss
from discreet.audit.subjects.noise import noise_checks
from discreet.audit.subjects.pooled import PooledSampler
from discreet.audit.subjects.rows import MadeUpRows
from discreet.audit.subjects.subject import ExactLoss
from discreet.design.domain import DEFAULT_GRID_BITS
from discreet.design.model import Design
from discreet.errors import PrivacyNotice
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.interface.promise import with_curve
from discreet.mechanisms.interface.protocol import NoisyMoments, Published
from discreet.mechanisms.registry import HOMES, mechanism_named
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.releases import Release
from discreet.workflow import Question, release, run_passes

# through the whole public path: so many draws of each table, or fewer where one takes more CPU time than this
WHOLE_DRAWS: Final = 200
WHOLE_DRAWS_SLOW: Final = 50
SLOW_SECONDS: Final = 0.02
# runs whose exact loss is computed, where one question depends on the answer before
RUNS: Final = 20
# draws after which the cost of one is known
_TIMED: Final = 10


@dataclass(frozen=True)
class MechanismEntry:
    """A mechanism with public settings.

    Attributes
    ----------
    name
        Name of the entry.
    mechanism
        Name of the mechanism.
    delta
        Of its claim.
    settings
        Public settings; those that make a draw cheap leave the code that runs the same.
    part
        Draws are divided by it: what takes many passes and has no settings gets fewer, and its exact loss says more.
    """

    name: str
    mechanism: str
    delta: float
    settings: Mapping[str, object] = field(default_factory=dict)
    part: int = 1


class MechanismSubject:
    """A mechanism at one budget, on its worst pair.

    Parameters
    ----------
    entry
        Which mechanism, with its settings.
    epsilon
        Of the claim.
    design
        Of the made-up tables.
    pair
        The pair to draw for; unless given, the one of largest exact loss.
    whole
        Whether every draw goes through `discreet.release`, and not those of a test alone.

    Examples
    --------
    >>> entry = MechanismEntry("laplace", "laplace", 0.0)
    >>> subject = MechanismSubject(entry, 1.0, Design("y", {"y": (-1, 1), "x": (-1, 1)}))
    >>> subject.pair, subject.draws(0, 5).shape
    ('second corner row', (5, 6))
    """

    def __init__(
        self,
        entry: MechanismEntry,
        epsilon: float,
        design: Design,
        pair: NeighbourPair | None = None,
        *,
        whole: bool = False,
    ) -> None:
        self._whole = whole
        self.name = entry.name
        self._entry = entry
        self._epsilon = epsilon
        self._design = design
        self._asked = Question.checked(
            design,
            PrivacyBudget(epsilon, entry.delta),
            entry.mechanism,
            entry.settings,
            moments="plain",
            residual_bound=None,
            clip_counts=False,
            grid_bits=DEFAULT_GRID_BITS,
        )
        guarantee = Guarantee.promised(design.unit, self._asked.budget)
        self.claim = Claim.of(with_curve(guarantee, self._asked.law))
        self._sampler = PooledSampler()
        self._pairs = worst_pairs(entry.mechanism, design) if pair is None else (pair,)

    @property
    def pair(self) -> str:
        """Name of the pair that draws are made for."""
        return self._worst.name

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Outputs of the mechanism on rows that were read once, or of the whole public path."""
        if self._whole:
            return np.array([self._released(side) for _ in range(how_many)])
        rows = self._sides(self._worst)[side]
        first = None
        outputs = []
        for _ in range(how_many):
            passes = self._asked.mechanism.passes(self._asked.context(self._sampler))
            wanted = next(passes)
            # the first question depends on nothing
            first = rows.sums(wanted) if first is None else first
            outputs.append(published_numbers(run_passes(passes, first, rows.reader())))
        return np.array(outputs)

    def exact(self) -> tuple[ExactLoss, ...]:
        """Losses of all pairs."""
        return tuple(loss for loss in self._losses if loss is not None)

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """The law of the noise, and whether the whole public path gives outputs of the same law."""
        found = noise_checks(self._asked, self._sides(self._worst), drawn, alpha / 2)
        if self._whole:
            return found
        whole = [
            agreement_check(f"whole path, {which}", self.whole_path(side), drawn[side], alpha / 4)
            for side, which in enumerate(("table", "neighbour"))
        ]
        return *found, *whole

    def whole_path(self, side: int) -> FloatArray:
        """Outputs of `discreet.release` on the table itself, for the test of agreement."""
        outputs: list[list[float]] = []
        wanted, start = WHOLE_DRAWS, time.process_time()
        while len(outputs) < wanted:
            outputs.append(self._released(side))
            if len(outputs) == _TIMED and time.process_time() - start > _TIMED * SLOW_SECONDS:
                wanted = WHOLE_DRAWS_SLOW
        return np.array(outputs)

    def _released(self, side: int) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyNotice)
            made = release(
                (self._worst.table, self._worst.neighbour)[side],
                self._design,
                epsilon=self._epsilon,
                delta=self._asked.budget.delta,
                mechanism=self._entry.mechanism,
                settings=self._entry.settings,
            )
        return release_numbers(made)

    @cached_property
    def _losses(self) -> tuple[ExactLoss | None, ...]:
        return tuple(self._loss(pair) for pair in self._pairs)

    def _loss(self, pair: NeighbourPair) -> ExactLoss | None:
        """The largest loss of some runs, where runs differ."""
        runs = RUNS if self._asked.rereads else 1
        found = [exact_loss(pair.name, self._asked, self.claim, self._sides(pair), self._sampler) for _ in range(runs)]
        return max((loss for loss in found if loss is not None), key=lambda loss: loss.value, default=None)

    @cached_property
    def _worst(self) -> NeighbourPair:
        """The pair of largest exact loss, or the first one where no exact loss is known."""
        values = [0.0 if loss is None else loss.value for loss in self._losses]
        return self._pairs[values.index(max(values))]

    def _sides(self, pair: NeighbourPair) -> tuple[MadeUpRows, MadeUpRows]:
        found = self._kept.get(id(pair))
        if found is None:
            one, other = (MadeUpRows(table, self._design, self._asked.domain) for table in (pair.table, pair.neighbour))
            found = self._kept[id(pair)] = one, other
        return found

    @cached_property
    def _kept(self) -> dict[int, tuple[MadeUpRows, MadeUpRows]]:
        return {}


def published_numbers(published: Published) -> list[float]:
    """Everything that a mechanism publishes, as numbers."""
    if isinstance(published, NoisyMoments):
        released = [total for total in published.totals if total is not None]
        return [float(value) for value in (*released, *published.scalars.values(), *published.clipped)]
    return [*published.values, *(value for step in published.trace for value in step)]


def release_numbers(made: Release) -> list[float]:
    """The same numbers, from a release."""
    if made.coefficients is not None:
        return published_numbers(made.coefficients)
    return published_numbers(NoisyMoments(made.totals, made.scalars, tuple(made.clipped.values())))


def mechanism_entries() -> dict[str, MechanismEntry]:
    """Every registered mechanism by name, and more kinds of noise where one has several.

    >>> mechanism_entries()["gradient"].settings
    {'iterations': 3}
    """
    entries = {}
    for name in HOMES:
        delta = _DELTA if mechanism_named(name).info.notion == "approximate" else 0.0
        entries[name] = MechanismEntry(name, name, delta, _SETTINGS.get(name, {}), _PARTS.get(name, 1))
    for name, mechanism, settings in _VARIANTS:
        entries[name] = MechanismEntry(name, mechanism, _DELTA, settings)
    return entries


_DELTA: Final = 1e-6
_SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "wishart": {"degrees": 200},
    "dpme": {"bins": 2},
    "frank-wolfe": {"iterations": 3},
    "irls": {"iterations": 3},
    "gradient": {"iterations": 3},
}
_PARTS: Final[Mapping[str, int]] = {"refined": 4}
_VARIANTS: Final = (
    ("dpme gaussian", "dpme", {"bins": 2, "noise": "gaussian"}),
    ("irls gaussian", "irls", {"iterations": 3}),
)

"""Mechanisms as subjects of an audit: sums computed once, then draws with the production sampler and calibration."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Final

from discreet.audit.pairs.catalogue import worst_pairs
from discreet.audit.pairs.pair import NeighbourPair
from discreet.audit.pairs.situations import reading_situations, relation_designs
from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.laws import Check, agreement_check
from discreet.audit.subjects.entries import MechanismEntry
from discreet.audit.subjects.exact_losses import exact_loss
from discreet.audit.subjects.lockstep import lockstep_checks
from discreet.audit.subjects.noise import noise_checks, sampler_checks
from discreet.audit.subjects.pooled import PooledSampler
from discreet.audit.subjects.public_path import PublicPath
from discreet.audit.subjects.rows import MadeUpRows
from discreet.audit.subjects.runs import one_run, padded
from discreet.audit.subjects.subject import ExactLoss
from discreet.curator.sums.protocol import Sums, Totals
from discreet.design.domain import DEFAULT_GRID_BITS
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.interface.promise import with_curve
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.workflow import Question

# through the whole public path: so many draws of each table, or fewer where one takes more CPU time than this
WHOLE_DRAWS: Final = 200
WHOLE_DRAWS_SLOW: Final = 50
SLOW_SECONDS: Final = 0.02
# runs whose exact loss is computed, where one question depends on the answer before; fewer for pairs of other designs
RUNS: Final = 20
OTHER_RUNS: Final = 3
# entries for which the quick audit computes the loss of every pair, also of those on which reading may fail
READ_EVERY_WAY: Final = ("gaussian", "laplace")
# draws after which the cost of one is known
_TIMED: Final = 10


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
    runs
        Whose exact loss is computed, where one question depends on the answer before.

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
        runs: int = RUNS,
    ) -> None:
        self._whole = whole
        self._runs = runs
        self.name = entry.name
        self._entry = entry
        self._epsilon = epsilon
        design = entry.of(design)
        self._design = design
        self._asked = Question.checked(
            design,
            PrivacyBudget(epsilon, entry.delta),
            entry.mechanism,
            entry.settings,
            moments=entry.moments,
            residual_bound=None,
            robust_models=entry.robust_models(design),
            clip_counts=entry.clip_counts,
            grid_bits=DEFAULT_GRID_BITS,
            guard=entry.guard,
            scaling=entry.scaling,
        )
        guarantee = Guarantee.promised(design.unit, self._asked.budget)
        self.claim = Claim.of(with_curve(guarantee, self._asked.law))
        self._sampler = PooledSampler()
        self._path = PublicPath(entry, self._asked)
        worst = partial(worst_pairs, entry.mechanism, design, clip_counts=entry.clip_counts)
        self._given = pair is not None
        self._pairs = worst() if pair is None else (pair,)

    @property
    def pair(self) -> str:
        """Name of the pair that draws are made for."""
        return self._worst.name

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Outputs of the mechanism on rows that were read once, or of the whole public path."""
        if self._whole:
            return padded([self._released(side) for _ in range(how_many)])
        rows = _FirstOnce(self._sides(self._worst)[side])
        return padded([one_run(self._asked, self._sampler, rows.reader()) for _ in range(how_many)])

    def exact(self) -> tuple[ExactLoss, ...]:
        """Losses of the pair that was given, or of all pairs, also of other designs."""
        return self.own_losses() if self._given else (*self.own_losses(), *self._other_losses())

    def own_losses(self) -> tuple[ExactLoss, ...]:
        """Losses of all pairs of its design."""
        return tuple(loss for loss in self._losses if loss is not None)

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """The law of the noise, tables in lockstep, and whether the whole public path gives outputs of the same law."""
        found = noise_checks(self._asked, self._sides(self._worst), drawn, alpha / 2)
        if self._whole:
            return *found, self._rest()
        sampled = sampler_checks(self._asked, self._sampler, alpha / 4)
        in_step = lockstep_checks(self._asked, self._sides(self._worst)[0], self._sampler)
        whole = [
            agreement_check(f"whole path, {which}", self.whole_path(side), drawn[side], alpha / 8)
            for side, which in enumerate(("table", "neighbour"))
        ]
        return *found, *sampled, *in_step, *whole, self._rest()

    def whole_path(self, side: int) -> FloatArray:
        """Outputs of the public path on the table itself, for the test of agreement."""
        outputs: list[list[float]] = []
        wanted, start = WHOLE_DRAWS, time.process_time()
        while len(outputs) < wanted:
            outputs.append(self._released(side))
            if len(outputs) == _TIMED and time.process_time() - start > _TIMED * SLOW_SECONDS:
                wanted = WHOLE_DRAWS_SLOW
        return padded(outputs)

    def _released(self, side: int) -> list[float]:
        return self._path.numbers((self._worst.table, self._worst.neighbour)[side])

    def _rest(self) -> Check:
        """Beside its noisy numbers every release says the same, whichever table it is of."""
        return Check("rest of the release", float(len(self._path.rests) - 1), 0.0)

    def _other_losses(self) -> Iterator[ExactLoss]:
        """Losses of the worst pairs under other relations and inside a ball, and of those on which reading may fail."""
        of_entry = partial(MechanismSubject, self._entry, self._epsilon, runs=OTHER_RUNS)
        for kind, design in relation_designs().items():
            if self._entry.of(design) != self._design and self._entry.serves(design):
                yield from (replace(loss, pair=f"{kind}: {loss.pair}") for loss in of_entry(design).own_losses())
        if self._entry.name in READ_EVERY_WAY:
            for found in reading_situations():
                yield from of_entry(found.design, found.pair).own_losses()

    @cached_property
    def _losses(self) -> tuple[ExactLoss | None, ...]:
        return tuple(self._loss(pair) for pair in self._pairs)

    def _loss(self, pair: NeighbourPair) -> ExactLoss | None:
        """The largest loss of some runs, where runs differ."""
        runs = self._runs if self._asked.rereads else 1
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
            one, other = (
                MadeUpRows(table, self._design, self._asked.domain, clip_counts=self._entry.clip_counts)
                for table in (pair.table, pair.neighbour)
            )
            found = self._kept[id(pair)] = one, other
        return found

    @cached_property
    def _kept(self) -> dict[int, tuple[MadeUpRows, MadeUpRows]]:
        return {}


class _FirstOnce:
    """Sums over rows, of which the first of every run, which depends on nothing, is computed once."""

    def __init__(self, rows: MadeUpRows) -> None:
        self._rows = rows
        self._first: Totals | None = None

    def reader(self) -> Callable[[Sums], Totals]:
        """What answers the questions of one run."""
        waiting, later = [True], self._rows.reader()

        def read(wanted: Sums) -> Totals:
            if not waiting:
                return later(wanted)
            waiting.clear()
            if self._first is None:
                self._first = self._rows.sums(wanted)
            return self._first

        return read

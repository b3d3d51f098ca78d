"""List the mechanisms to audit, with their settings, and audit them through the public path."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Final, Literal

from discreet.audit.exact_losses import exact_loss
from discreet.audit.judging import Claim
from discreet.audit.lockstep import lockstep_checks
from discreet.audit.noise_tests import Check, agreement_check
from discreet.audit.pairs import NeighbourPair, Table, worst_pairs
from discreet.audit.runs import (
    ExactLoss,
    MadeUpRows,
    PooledSampler,
    noise_checks,
    one_run,
    padded,
    release_numbers,
    rest_of_release,
    sampler_checks,
)
from discreet.audit.situations import reading_situations, relation_designs
from discreet.curator.sums.gram import Sums, Totals
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.design.domain import DEFAULT_GRID_BITS, formula_name
from discreet.errors import GuardStop, PrivacyNotice
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.protocol import with_curve
from discreet.mechanisms.registry import HOMES, mechanism_named
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendReceipt, SpendRequest, untracked
from discreet.releases.release import Release
from discreet.workflow import Question, release

# -- entries -----------------------------------------------------------------------------------------------------------
# Which mechanisms are audited, with which public settings and extra parts.


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
    moments, clip_counts, guard
        As in `discreet.release`: further parts that are published beside the moments.
    further
        Whether models beside the full one have sums over residuals too.
    scaling
        As in `discreet.release`.
    weights
        Whether rows have weights, in a column beside those of the design.
    estimator
        Whether the whole path is that of `discreet.PrivateLinearRegression`.
    most_draws
        For each table, where a draw takes milliseconds.
    """

    name: str
    mechanism: str
    delta: float
    settings: Mapping[str, object] = field(default_factory=dict)
    moments: Literal["plain", "robust"] = "plain"
    further: bool = False
    clip_counts: bool = False
    guard: bool = False
    scaling: Literal["declared", "private"] = "declared"
    weights: bool = False
    estimator: bool = False
    most_draws: int = 10_000

    def of(self, design: Design) -> Design:
        """The design that is audited: with weights where the entry has them.

        >>> mechanism_entries()["gaussian weights"].of(Design("y", {"y": (0, 1), "x": (0, 1)})).weights
        'weight'
        """
        if not self.weights or design.weights is not None:
            return design
        columns = {**design.columns, _WEIGHT: Numeric(_WEIGHTS)}
        return Design(design.target, columns, design.intercept, design.radius, design.unit, weights=_WEIGHT)

    def robust_models(self, design: Design) -> list[str] | None:
        """Models beside the full one: without features, and with the first of several.

        >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "b": bool})
        >>> mechanism_entries()["gaussian robust models"].robust_models(design)
        ['y ~ 1', 'y ~ x']
        """
        if not self.further:
            return None
        first, *others = design.regressors
        target = formula_name(design.target)
        return [f"{target} ~ 1", *([f"{target} ~ {formula_name(first)}"] if others else [])]

    def serves(self, design: Design) -> bool:
        """Whether the entry takes a design of this shape: a ball, or columns that are all booleans.

        >>> mechanism_entries()["dpme"].serves(Design("y", {"y": (0, 1), "x": (0, 1)}, radius=0.5))
        False
        """
        if design.radius is not None and mechanism_named(self.mechanism).info.domain == "box":
            return False
        if self.scaling == "private" and (design.radius is not None or not design.intercept):
            return False
        if self.estimator and not (design.radius is None and isinstance(design.columns[design.target], Numeric)):
            return False
        return bool(design.clippable) or not self.clip_counts


def mechanism_entries() -> dict[str, MechanismEntry]:
    """Every registered mechanism by name, then other noise and further parts; the estimator where it is installed.

    >>> mechanism_entries()["gradient"].settings, mechanism_entries()["gaussian robust"].moments
    ({'iterations': 3}, 'robust')
    """
    entries = []
    for name in HOMES:
        delta = _DELTA if mechanism_named(name).info.notion == "approximate" else 0.0
        draws = _MOST_DRAWS.get(name, MechanismEntry.most_draws)
        entries.append(MechanismEntry(name, name, delta, _SETTINGS.get(name, {}), most_draws=draws))
    entries += _VARIANTS
    if find_spec("sklearn") is not None:
        entries.append(_ESTIMATOR)
    return {entry.name: entry for entry in entries}


_DELTA: Final = 1e-6
_WEIGHT: Final = "weight"
_WEIGHTS: Final = (0.0, 3.0)
_SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "wishart": {"degrees": 200},
    "dpme": {"bins": 2},
    "frank-wolfe": {"iterations": 3},
    "irls": {"iterations": 3},
    "gradient": {"iterations": 3},
}
# many passes, which no setting makes fewer
_MOST_DRAWS: Final[Mapping[str, int]] = {"refined": 500, "objective": 6000, "frank-wolfe": 6000}
_BY_MOMENTS: Final = {"iterations": 3, "form": "moment"}
_VARIANTS: Final = (
    MechanismEntry("dpme gaussian", "dpme", _DELTA, {"bins": 2, "noise": "gaussian"}),
    MechanismEntry("irls gaussian", "irls", _DELTA, {"iterations": 3}, most_draws=5000),
    MechanismEntry("irls moment", "irls", _DELTA, _BY_MOMENTS, most_draws=2000),
    MechanismEntry(
        "irls wishart", "irls", _DELTA, {**_BY_MOMENTS, "iterations": 1, "noise": "wishart"}, most_draws=500
    ),
    MechanismEntry("gaussian robust", "gaussian", _DELTA, moments="robust", most_draws=2000),
    MechanismEntry("gaussian robust models", "gaussian", _DELTA, moments="robust", further=True, most_draws=200),
    MechanismEntry("gaussian clip counts", "gaussian", _DELTA, clip_counts=True, most_draws=5000),
    MechanismEntry("laplace clip counts", "laplace", 0.0, clip_counts=True, most_draws=5000),
    MechanismEntry("gaussian guard", "gaussian", _DELTA, guard=True, most_draws=5000),
    MechanismEntry("gaussian scaled", "gaussian", _DELTA, scaling="private", most_draws=500),
    MechanismEntry("laplace guard", "laplace", 0.0, guard=True, most_draws=5000),
    MechanismEntry("gaussian weights", "gaussian", _DELTA, weights=True, most_draws=2000),
)
_ESTIMATOR: Final = MechanismEntry("gaussian estimator", "gaussian", _DELTA, estimator=True, most_draws=2000)


# -- public path -------------------------------------------------------------------------------------------------------
# The whole public path from a table to what is published: `discreet.release`, or the estimator.


class PublicPath:
    """One release after another of made-up tables.

    Parameters
    ----------
    entry
        Which mechanism, with its settings and parts.
    asked
        The same as a question.

    Attributes
    ----------
    rests
        What releases say beside their noisy numbers: one text, if it is the same in all of them.
    """

    def __init__(self, entry: MechanismEntry, asked: Question) -> None:
        self._entry = entry
        self._asked = asked
        self.rests: set[str] = set()

    def numbers(self, table: Table) -> list[float]:
        """All numbers of a new release; the counts of the guard alone where it stopped one."""
        books = StoppedBooks()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyNotice)
                made = self._estimated(table) if self._entry.estimator else self._released(table, books)
        except GuardStop:
            return [count * self._asked.law.unit for count in books.counts]
        self.rests.add(rest_of_release(made))
        return release_numbers(made)

    def _released(self, table: Table, books: StoppedBooks) -> Release:
        entry, budget = self._entry, self._asked.budget
        return release(
            table,
            self._asked.design,
            epsilon=budget.epsilon,
            delta=budget.delta,
            mechanism=entry.mechanism,
            settings=entry.settings,
            moments=entry.moments,
            robust_models=entry.robust_models(self._asked.design),
            clip_counts=entry.clip_counts,
            guard=entry.guard,
            scaling=entry.scaling,
            spend=books if entry.guard else untracked,
        )

    def _estimated(self, table: Table) -> Release:
        # needs an extra of its own
        from discreet.estimator.regression import PrivateLinearRegression

        design, budget = self._asked.design, self._asked.budget
        given = design.columns[design.target].to_dict()
        model = PrivateLinearRegression(
            epsilon=budget.epsilon,
            delta=budget.delta,
            mechanism=self._entry.mechanism,
            # what is audited is the release, not the model read from it
            penalty="none",
            bounds={f"x{index}": design.columns[name] for index, name in enumerate(design.regressors)},
            target_bounds=given["bounds"],
            missing=given.get("missing", "error"),
            neighbours=design.unit.neighbours,
        )
        rows = zip(*(table[name] for name in design.regressors), strict=True)
        made: Release = model.fit([list(row) for row in rows], list(table[design.target])).release_
        return made


class StoppedBooks:
    """A spend hook that records nothing but the counts with which a guard stopped a release."""

    def __init__(self) -> None:
        self.counts: tuple[float, float] = (0.0, 0.0)

    def advise(self, request: SpendRequest) -> None:
        """Every request may be made."""

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """A receipt that can be stopped."""
        return SpendReceipt("untracked", stage=lambda _, draw: draw(), stop=self._stop)

    def _stop(self, record: str, loss: Loss) -> str:
        found = json.loads(record)
        self.counts = found["fitting"], found["other"]
        return record


# -- mechanisms --------------------------------------------------------------------------------------------------------
# Mechanisms as subjects of an audit: sums computed once, then draws with the production sampler and calibration.

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

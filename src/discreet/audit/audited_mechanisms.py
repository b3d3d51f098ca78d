"""List the mechanisms to audit with their settings, and audit them through the public functions."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Final

from discreet.audit.exact_losses import exact_loss
from discreet.audit.judging import Claim
from discreet.audit.lockstep import lockstep_checks
from discreet.audit.noise_tests import Check, agreement_check
from discreet.audit.pairs import NeighbourPair, Table, worst_pairs
from discreet.audit.runs import (
    ExactLoss,
    PooledSampler,
    SyntheticRows,
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
from discreet.design.domain import formula_name
from discreet.errors import GuardStop, PrivacyNotice
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.protocol import with_curve
from discreet.mechanisms.registry import HOMES, mechanism_named
from discreet.options import ReleaseOptions, RobustErrors
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendReceipt, SpendRequest, untracked
from discreet.release_request import ReleaseRequest
from discreet.releases.release import Release
from discreet.workflow import release

# -- entries -----------------------------------------------------------------------------------------------------------
# Audited mechanisms, with their public settings and options.


@dataclass(frozen=True)
class MechanismEntry:
    """Mechanism to audit, with its public settings.

    The `settings` make draws cheap; the same code runs under any settings. `robust`, `clip_counts` and `guard` are
    options of `discreet.release`. With `further`, residual sums are also released for additional models. With
    `weights`, an extra column holds row weights. With `estimator`, releases are made by
    `discreet.PrivateLinearRegression`. `most_draws` limits the number of draws for each table.
    """

    name: str
    mechanism: str
    delta: float
    settings: Mapping[str, object] = field(default_factory=dict)
    robust: bool = False
    further: bool = False
    clip_counts: bool = False
    guard: bool = False
    weights: bool = False
    estimator: bool = False
    most_draws: int = 10_000

    def of(self, design: Design) -> Design:
        """Return the design to audit, with an added weight column if the entry uses weights."""
        if not self.weights or design.weights is not None:
            return design
        columns = {**design.columns, _WEIGHT: Numeric(_WEIGHTS)}
        return Design(design.target, columns, design.intercept, design.radius, design.unit, weights=_WEIGHT)

    def options(self, design: Design) -> ReleaseOptions:
        """Return the release options. The additional models have no regressor, or the first of several.

        >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "b": bool})
        >>> mechanism_entries()["gaussian robust models"].options(design).robust.models
        ('y ~ 1', 'y ~ x')
        """
        first, *others = design.regressors
        target = formula_name(design.target)
        models = [f"{target} ~ 1", *([f"{target} ~ {formula_name(first)}"] if others else [])]
        return ReleaseOptions(
            mechanism=self.mechanism,
            settings=self.settings,
            robust=RobustErrors(models=models) if self.further else self.robust,
            clip_counts=self.clip_counts,
            guard=self.guard,
        )

    def serves(self, design: Design) -> bool:
        """Return whether the mechanism and its options support the design.

        >>> mechanism_entries()["dpme"].serves(Design("y", {"y": (0, 1), "x": (0, 1)}, radius=0.5))
        False
        """
        if design.radius is not None and mechanism_named(self.mechanism).info.domain == "box":
            return False
        if self.mechanism == "staged" and self.robust and design.unit.max_rows > 1:
            return False
        if self.estimator and not (design.radius is None and isinstance(design.columns[design.target], Numeric)):
            return False
        return bool(design.clippable) or not self.clip_counts


def mechanism_entries() -> dict[str, MechanismEntry]:
    """Return entries for all mechanisms and their variants, and for the estimator if scikit-learn is installed.

    >>> mechanism_entries()["gradient"].settings, mechanism_entries()["gaussian robust"].robust
    ({'iterations': 3}, True)
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
# these mechanisms need many passes under every setting
_MOST_DRAWS: Final[Mapping[str, int]] = {"refined": 500, "staged": 1000, "objective": 6000, "frank-wolfe": 6000}
_BY_MOMENTS: Final = {"iterations": 3, "form": "moment"}
_VARIANTS: Final = (
    MechanismEntry("dpme gaussian", "dpme", _DELTA, {"bins": 2, "noise": "gaussian"}),
    MechanismEntry("irls gaussian", "irls", _DELTA, {"iterations": 3}, most_draws=5000),
    MechanismEntry("irls moment", "irls", _DELTA, _BY_MOMENTS, most_draws=2000),
    MechanismEntry(
        "irls wishart", "irls", _DELTA, {**_BY_MOMENTS, "iterations": 1, "noise": "wishart"}, most_draws=500
    ),
    MechanismEntry("gaussian robust", "gaussian", _DELTA, robust=True, most_draws=2000),
    MechanismEntry("gaussian robust models", "gaussian", _DELTA, robust=True, further=True, most_draws=200),
    MechanismEntry("staged robust", "staged", _DELTA, robust=True, most_draws=1000),
    MechanismEntry("gaussian clip counts", "gaussian", _DELTA, clip_counts=True, most_draws=5000),
    MechanismEntry("laplace clip counts", "laplace", 0.0, clip_counts=True, most_draws=5000),
    MechanismEntry("gaussian guard", "gaussian", _DELTA, guard=True, most_draws=5000),
    MechanismEntry("laplace guard", "laplace", 0.0, guard=True, most_draws=5000),
    MechanismEntry("gaussian weights", "gaussian", _DELTA, weights=True, most_draws=2000),
)
_ESTIMATOR: Final = MechanismEntry("gaussian estimator", "gaussian", _DELTA, estimator=True, most_draws=2000)


# -- public path -------------------------------------------------------------------------------------------------------
# The whole public path from a table to a release: `discreet.release`, or the estimator.


class PublicPath:
    """Releases made by the public functions, exactly as a user makes them.

    `rests` collects the text of each release without its noisy numbers.
    """

    def __init__(self, entry: MechanismEntry, request: ReleaseRequest) -> None:
        self._entry = entry
        self._request = request
        self.rests: set[str] = set()

    def numbers(self, table: Table) -> list[float]:
        """Make a release and return its numbers. If the guard stopped it, return only the counts of the guard."""
        hook = GuardStopHook()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyNotice)
                released = self._estimated(table) if self._entry.estimator else self._released(table, hook)
        except GuardStop:
            return [count * self._request.distribution.unit for count in hook.counts]
        self.rests.add(rest_of_release(released))
        return release_numbers(released)

    def _released(self, table: Table, hook: GuardStopHook) -> Release:
        entry, budget = self._entry, self._request.budget
        return release(
            table,
            self._request.design,
            epsilon=budget.epsilon,
            delta=budget.delta,
            **self._request.options.keywords(),
            spend=hook if entry.guard else untracked,
        )

    def _estimated(self, table: Table) -> Release:
        # the estimator needs the extra `sklearn`
        from discreet.estimator.regression import PrivateLinearRegression

        design, budget = self._request.design, self._request.budget
        target = design.columns[design.target].to_dict()
        model = PrivateLinearRegression(
            epsilon=budget.epsilon,
            delta=budget.delta,
            mechanism=self._entry.mechanism,
            # the audit is of the release, not of the model fitted from it
            penalty="none",
            bounds={f"x{index}": design.columns[name] for index, name in enumerate(design.regressors)},
            target_bounds=target["bounds"],
            missing=target.get("missing", "error"),
            neighbours=design.unit.neighbours,
        )
        rows = zip(*(table[name] for name in design.regressors), strict=True)
        released: Release = model.fit([list(row) for row in rows], list(table[design.target])).release_
        return released


class GuardStopHook:
    """Spend hook that records nothing except the counts with which a guard stopped a release."""

    def __init__(self) -> None:
        self.counts: tuple[float, float] = (0.0, 0.0)

    def advise(self, request: SpendRequest) -> None:
        """Accept every request."""

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Return a receipt that lets a guard stop the release."""
        return SpendReceipt("untracked", stage=lambda _, draw: draw(), stop=self._stop)

    def _stop(self, record: str, loss: Loss) -> str:
        counts = json.loads(record)
        self.counts = counts["fitting"], counts["other"]
        return record


# -- mechanisms --------------------------------------------------------------------------------------------------------
# Audited mechanisms. Exact sums are computed once. Draws use the production sampler and calibration.

# draws per table through the whole public path, and a smaller number if a draw takes more CPU seconds than SLOW_SECONDS
WHOLE_DRAWS: Final = 200
WHOLE_DRAWS_SLOW: Final = 50
SLOW_SECONDS: Final = 0.02
# for adaptive mechanisms: runs whose exact loss is computed, and a smaller number for pairs of other designs
RUNS: Final = 20
OTHER_RUNS: Final = 3
# entries for which the quick audit also computes the losses of pairs that test reading
READ_EVERY_WAY: Final = ("gaussian", "laplace")
# number of draws after which the time per draw is measured
_TIMED: Final = 10


class MechanismSubject:
    """Mechanism at one budget, audited on one pair of neighbouring tables.

    Without a `pair`, the pair with the largest exact loss is used. With `whole`, every draw is a call of
    `discreet.release`. Otherwise draws use sums that are computed once, and are compared with some calls of
    `discreet.release`. For adaptive mechanisms, the exact loss is computed for `runs` runs.

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
        self._request = ReleaseRequest.checked(design, PrivacyBudget(epsilon, entry.delta), entry.options(design))
        guarantee = Guarantee.promised(design.unit, self._request.budget)
        self.claim = Claim.of(with_curve(guarantee, self._request.distribution))
        self._sampler = PooledSampler()
        self._path = PublicPath(entry, self._request)
        worst = partial(worst_pairs, entry.mechanism, design, clip_counts=entry.clip_counts)
        self._given = pair is not None
        self._pairs = worst() if pair is None else (pair,)

    @property
    def pair(self) -> str:
        """Name of the pair of tables for which outputs are drawn."""
        return self._worst.name

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Draw outputs, from sums computed once or, with `whole`, through the public functions."""
        if self._whole:
            return padded([self._released(side) for _ in range(how_many)])
        rows = _FirstOnce(self._sides(self._worst)[side])
        return padded([one_run(self._request, self._sampler, rows.reader()) for _ in range(how_many)])

    def exact(self) -> tuple[ExactLoss, ...]:
        """Return the losses of the given pair. If none was given, return those of all worst pairs under all designs."""
        return self.own_losses() if self._given else (*self.own_losses(), *self._other_losses())

    def own_losses(self) -> tuple[ExactLoss, ...]:
        """Return the known losses of all pairs for this design."""
        return tuple(loss for loss in self._losses if loss is not None)

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """Test the noise, run two tables in lockstep, and compare the draws with those of the public functions."""
        noise = noise_checks(self._request, self._sides(self._worst), drawn, alpha / 2)
        if self._whole:
            return *noise, self._rest()
        draws = sampler_checks(self._request, self._sampler, alpha / 4)
        lockstep = lockstep_checks(self._request, self._sides(self._worst)[0], self._sampler)
        whole = [
            agreement_check(f"whole path, {which}", self.whole_path(side), drawn[side], alpha / 8)
            for side, which in enumerate(("table", "neighbour"))
        ]
        return *noise, *draws, *lockstep, *whole, self._rest()

    def whole_path(self, side: int) -> FloatArray:
        """Draw outputs through the public functions, to compare them with the other draws."""
        outputs: list[list[float]] = []
        limit, start = WHOLE_DRAWS, time.process_time()
        while len(outputs) < limit:
            outputs.append(self._released(side))
            if len(outputs) == _TIMED and time.process_time() - start > _TIMED * SLOW_SECONDS:
                limit = WHOLE_DRAWS_SLOW
        return padded(outputs)

    def _released(self, side: int) -> list[float]:
        return self._path.numbers((self._worst.table, self._worst.neighbour)[side])

    def _rest(self) -> Check:
        """Check that all releases are equal except for their noisy numbers."""
        return Check("rest of the release", float(len(self._path.rests) - 1), 0.0)

    def _other_losses(self) -> Iterator[ExactLoss]:
        """Yield the losses under other designs: other neighbouring relations, a radius, and pairs that test reading."""
        of_entry = partial(MechanismSubject, self._entry, self._epsilon, runs=OTHER_RUNS)
        for kind, design in relation_designs().items():
            if self._entry.of(design) != self._design and self._entry.serves(design):
                yield from (replace(loss, pair=f"{kind}: {loss.pair}") for loss in of_entry(design).own_losses())
        if self._entry.name in READ_EVERY_WAY:
            for situation in reading_situations():
                yield from of_entry(situation.design, situation.pair).own_losses()

    @cached_property
    def _losses(self) -> tuple[ExactLoss | None, ...]:
        return tuple(self._loss(pair) for pair in self._pairs)

    def _loss(self, pair: NeighbourPair) -> ExactLoss | None:
        """Return the largest loss over several runs, or the loss of a single run if all runs have the same loss."""
        runs = self._runs if self._request.rereads else 1
        losses = [
            exact_loss(pair.name, self._request, self.claim, self._sides(pair), self._sampler) for _ in range(runs)
        ]
        return max((loss for loss in losses if loss is not None), key=lambda loss: loss.value, default=None)

    @cached_property
    def _worst(self) -> NeighbourPair:
        """The pair with the largest exact loss, or the first pair if no loss is known."""
        values = [0.0 if loss is None else loss.value for loss in self._losses]
        return self._pairs[values.index(max(values))]

    def _sides(self, pair: NeighbourPair) -> tuple[SyntheticRows, SyntheticRows]:
        sides = self._cached_sides.get(id(pair))
        if sides is None:
            first, second = (
                SyntheticRows(table, self._design, self._request.domain, clip_counts=self._entry.clip_counts)
                for table in (pair.table, pair.neighbour)
            )
            sides = self._cached_sides[id(pair)] = first, second
        return sides

    @cached_property
    def _cached_sides(self) -> dict[int, tuple[SyntheticRows, SyntheticRows]]:
        return {}


class _FirstOnce:
    """Reader of sums that computes the first sums only once, because they are the same in every run."""

    def __init__(self, rows: SyntheticRows) -> None:
        self._rows = rows
        self._first: Totals | None = None

    def reader(self) -> Callable[[Sums], Totals]:
        """Return the function that computes the sums for one run."""
        at_start, later = [True], self._rows.reader()

        def read(sums: Sums) -> Totals:
            if not at_start:
                return later(sums)
            at_start.clear()
            if self._first is None:
                self._first = self._rows.sums(sums)
            return self._first

        return read

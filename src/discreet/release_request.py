"""Define the request for a release: design, budget and options, checked from public numbers only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from itertools import chain

from discreet import __version__
from discreet.accounting.noise_distribution import (
    DISCOVERY,
    GUARD,
    RESIDUAL_BLOCKS,
    NoiseDistribution,
    Settings,
)
from discreet.accounting.privacy_maps import loss_of, stopped_loss
from discreet.curator.sums.gram import Totals
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.design.model_columns import scaled_residual_bound
from discreet.errors import PrivacyNotice, SpecError
from discreet.mechanisms.guard import (
    GuardCounts,
    committed_counts,
    discovered,
    discovered_distribution,
    guard_counts,
    guarded_distribution,
    part_of,
    stops,
)
from discreet.mechanisms.protocol import (
    Mechanism,
    NoisyMoments,
    Published,
    RunContext,
    clipped_by_name,
    with_curve,
    with_origin,
)
from discreet.mechanisms.registry import chosen_mechanism
from discreet.mechanisms.sampler import Sampler
from discreet.options import DEFAULT_OPTIONS, ReleaseOptions
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import UNTRACKED, Loss, SpendReceipt, SpendRequest
from discreet.releases.fields import DiscoveryPart, GuardPart, found_bounds
from discreet.releases.release import Release
from discreet.tables.frames import Origin


def check_design(design: object) -> None:
    """Raise an error unless the object is a design."""
    if not isinstance(design, Design):
        raise SpecError(f"expected a Design, got {type(design).__name__}; use Design(...) or Design.load(path)")


def checked_budget(epsilon: float, delta: float, options: ReleaseOptions, *, stacklevel: int = 3) -> PrivacyBudget:
    """Check a budget and warn if its privacy protection is weak."""
    budget = PrivacyBudget(epsilon, delta)
    for notice in check_strength(budget, options.allow_weak_privacy):
        warnings.warn(notice, PrivacyNotice, stacklevel=stacklevel)
    return budget


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A request for a release, checked from public numbers only, before the table is opened.

    The delta of `budget` is 0 if the noise satisfies pure DP. `distribution` includes the noise of preliminary counts.
    `residual_bound` is in scaled units of the target.
    """

    design: Design
    budget: PrivacyBudget
    options: ReleaseOptions
    domain: RowDomain
    mechanism: Mechanism
    settings: Settings
    distribution: NoiseDistribution
    residual_bound: float | None = None

    @classmethod
    def checked(
        cls, design: Design, budget: PrivacyBudget, options: ReleaseOptions = DEFAULT_OPTIONS, *, quiet: bool = False
    ) -> ReleaseRequest:
        """Build a checked request. `quiet` suppresses the notice about an unused delta."""
        domain = RowDomain.of(design, options.grid_bits)
        errors = options.robust_errors
        bound = None if errors is None else scaled_residual_bound(design, errors)
        mechanism, settings, distribution = chosen_mechanism(design, budget, options)
        if distribution.calibration == "pure":
            if budget.delta > 0 and not quiet:
                warnings.warn(
                    f"the mechanism {mechanism.name!r} does not use delta = {budget.delta:g} with these settings, so "
                    "the release guarantees delta = 0; leave delta out, or choose a mechanism that uses it",
                    PrivacyNotice,
                    stacklevel=4,
                )
            # the guarantee holds with delta = 0
            budget = PrivacyBudget(budget.epsilon)

        def distribution_for(part: PrivacyBudget) -> NoiseDistribution:
            return mechanism.noise_model(design, domain, part, settings)

        def searched_distribution(part: PrivacyBudget) -> NoiseDistribution:
            return (
                discovered_distribution(design, domain, part, distribution_for)
                if design.searched
                else distribution_for(part)
            )

        if options.guard or design.searched:
            distribution = (
                guarded_distribution(design, domain, budget, searched_distribution)
                if options.guard
                else searched_distribution(budget)
            )
        return cls(design, budget, options, domain, mechanism, settings, distribution, bound)

    @property
    def robust(self) -> bool:
        """Whether sums over residuals are released in a pass after those of the mechanism."""
        return RESIDUAL_BLOCKS[0] in self.distribution.sigma

    @property
    def rereads(self) -> bool:
        """Whether the table is summed more than once."""
        return self.robust or self.mechanism.info.rereads(self.settings)

    @property
    def request(self) -> SpendRequest:
        """The spend request for a ledger."""
        return SpendRequest(
            mechanism=self.mechanism.name,
            budget=self.budget,
            unit=self.design.unit,
            description=f"{self.mechanism.kind} of {self.design.target}",
            loss=self.loss,
            specification=self.specification,
        )

    @property
    def loss(self) -> Loss:
        """Privacy loss in every privacy measure, from the noise, with the epsilon and delta of the guarantee."""
        epsilon, delta = self.budget.epsilon, self.budget.delta
        loss = loss_of(self.mechanism.name, self.design, self.distribution, self.settings, epsilon, delta)
        return replace(loss, epsilon=epsilon, delta=delta, failure=min(loss.failure, delta))

    def guarded(self, first: Totals, receipt: SpendReceipt, sampler: Sampler) -> GuardCounts:
        """Return the guard's noisy counts that the ledger committed for this request."""
        return GuardCounts(
            *committed_counts(
                receipt,
                GUARD,
                2,
                lambda: astuple(guard_counts(first.counts.fitting, self.distribution, sampler)),
                lambda counts: stops(GuardCounts(*counts), self.distribution),
            )
        )

    def searched(self, first: Totals, receipt: SpendReceipt, sampler: Sampler) -> DiscoveryPart:
        """Return the noisy counts of the bounds search that the ledger committed, or new counts without a ledger."""

        def draw() -> list[int]:
            part = discovered(first, self.design, self.distribution, sampler)
            return [*chain.from_iterable(part.cells.values()), part.rows]

        def stops_release(counts: Sequence[int]) -> bool:
            return bool(self.not_found(part_of(counts, self.design, self.distribution)))

        return part_of(
            committed_counts(receipt, DISCOVERY, len(first.values), draw, stops_release), self.design, self.distribution
        )

    def stopped(self, *, found_nothing: bool = False) -> Loss:
        """Return the loss of a release that is stopped by its guard or, with `found_nothing`, by its bounds search."""
        return stopped_loss(
            self.design, self.distribution, self.budget.epsilon, self.budget.delta, found_nothing=found_nothing
        )

    def not_found(self, part: DiscoveryPart) -> list[str]:
        """Return the columns whose bounds cannot be found from the noisy counts."""
        found = found_bounds(part, self.design, self.distribution.family)
        return [name for name, ends in found.items() if ends is None]

    def resolved(self, part: DiscoveryPart | None) -> ReleaseRequest:
        """Return the request with the private bounds filled in. The noise does not depend on them."""
        if part is None:
            return self
        found = found_bounds(part, self.design, self.distribution.family)
        return replace(self, design=self.design.with_found({name: ends for name, ends in found.items() if ends}))

    @property
    def specification(self) -> dict[str, object]:
        """All public inputs that determine the published result, equal for equivalent requests."""
        options = self.options.keywords()
        # it does not change the published result
        del options["allow_weak_privacy"]
        return {
            "design": self.design.to_dict() | {"order": list(self.design.columns)},
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "mechanism_version": self.mechanism.version,
            "noise": self.distribution.to_dict(),
            "options": options
            | {
                "mechanism": self.mechanism.name,
                "settings": dict(self.settings),
                # the noise depends on the columns of additional models, not on how the models are written
                "robust": {"residual_bound": self.residual_bound} if self.options.robust_errors else None,
            },
        }

    def context(self, sampler: Sampler) -> RunContext:
        """Build the context in which the mechanism runs."""
        return RunContext(self.design, self.domain, self.distribution.without_before(), self.settings, sampler)

    def release(
        self,
        published: Published,
        first: Totals,
        anchor: str,
        origin: Origin | None,
        counts: GuardCounts | None = None,
        discovery: DiscoveryPart | None = None,
    ) -> Release:
        """Build the release. From the exact sums it takes only the number of units, if that is public."""
        unit, tracked = self.design.unit, anchor != UNTRACKED
        noisy = published if isinstance(published, NoisyMoments) else None
        return Release(
            design=self.design,
            guarantee=with_curve(
                with_origin(Guarantee.promised(unit, self.budget, tracked=tracked), origin), self.distribution
            ),
            mechanism=self.mechanism.name,
            mechanism_version=self.mechanism.version,
            noise=self.distribution.without_before(),
            guard=None if counts is None else GuardPart(self.distribution.sigma[GUARD], counts.fitting, counts.other),
            discovery=discovery,
            totals=() if noisy is None else noisy.totals,
            units_public=first.counts.units if unit.neighbours == "replace" else None,
            anchor=anchor,
            made_by=f"discreet {__version__}",
            coefficients=None if isinstance(published, NoisyMoments) else published,
            scalars={} if noisy is None else noisy.scalars,
            settings=self.settings,
            numerics=self.mechanism.info.numerics,
            clipped=clipped_by_name(self.design, published),
            staged=None if noisy is None else noisy.staged,
        )

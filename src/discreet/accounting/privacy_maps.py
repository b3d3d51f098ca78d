"""Look up the queries of a release by its mechanism, and compute the privacy loss of its noise."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_loss import Stated
from discreet.accounting.settings import MECHANISMS
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.privacy.spend import Loss

if TYPE_CHECKING:
    from discreet.accounting.queries import Account, Query

PrivacyMap: TypeAlias = "Callable[[Stated], Account]"
# version of every mechanism; release files of other versions are rejected
VERSION: Final = "1"


def map_of(mechanism: str) -> PrivacyMap:
    """Return the function that accounts for a mechanism. Only its own module is imported."""
    if mechanism not in MECHANISMS:
        raise SpecError.unknown_name("mechanism", mechanism, sorted(MECHANISMS))
    module, function = MECHANISMS[mechanism].queries
    return cast("PrivacyMap", getattr(import_module(f"discreet.accounting.{module}"), function))


def account_of(mechanism: str, stated: Stated) -> Account:
    """Return the account of a mechanism for the noise stated in a release."""
    if stated.design.weights is not None and mechanism != "gaussian":
        raise SpecError(
            f"a design with weights needs the mechanism 'gaussian', got {mechanism!r}"
        )  # [P:weights-served]
    return map_of(mechanism)(stated)


def queries_of(mechanism: str, design: Design, distribution: NoiseDistribution, settings: Settings) -> list[Query]:
    """List all queries of a release, preliminary counts first.

    >>> from discreet.planning import noise_distribution_for
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> distribution = noise_distribution_for(design, 1.0, 1e-6, clip_counts=True)
    >>> [dict(query.blocks) for query in queries_of("gaussian", design, distribution, {})][1]
    {'clipped': 2}
    """
    from discreet.accounting.preliminary_counts import preliminary_queries

    stated = Stated(
        design, RowDomain.of(design, distribution.grid_bits), distribution.without_before(), settings, 1.0, 1e-6
    )
    return [*preliminary_queries(design, distribution), *account_of(mechanism, stated).queries]


def loss_of(
    mechanism: str, design: Design, distribution: NoiseDistribution, settings: Settings, epsilon: float, delta: float
) -> Loss:
    """Compute the privacy loss of a noise distribution. Reject a distribution that the mechanism cannot produce.

    `distribution` holds all released blocks. `epsilon` and `delta` are the stated guarantee. If the loss is not pure,
    it is computed at this epsilon; `delta` matters only for mechanisms that divide it. The loss may be larger or
    smaller than the guarantee.

    >>> from discreet.planning import noise_distribution_for
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> distribution = noise_distribution_for(design, 1.0, 1e-6, mechanism="gaussian")
    >>> loss = loss_of("gaussian", design, distribution, {}, 1.0, 1e-6)
    >>> 0.99e-6 < loss.delta <= 1e-6, round(loss.mu, 4)
    (True, 0.2367)
    """
    from discreet.accounting.preliminary_counts import preliminary_queries, with_counts

    domain = RowDomain.of(design, distribution.grid_bits)
    loss = account_of(mechanism, Stated(design, domain, distribution.without_before(), settings, epsilon, delta)).loss()
    for counts in reversed(preliminary_queries(design, distribution)):
        loss = with_counts(Stated(design, domain, distribution, settings, epsilon, delta), counts, loss)
    return loss


def published_steps(mechanism: str, distribution: NoiseDistribution, settings: Settings) -> int:
    """Return the number of accounted steps that a release of coefficients publishes, or 0 if there are none.

    The arguments must have passed `loss_of`.
    """
    if mechanism not in ("gradient", "irls", "frank-wolfe"):
        return 0
    if mechanism == "irls":
        from discreet.accounting.privacy_loss import iteration_count

        return iteration_count(settings, pure=distribution.family == "discrete-laplace")
    return int(settings["iterations"])


def stopped_loss(
    design: Design, distribution: NoiseDistribution, epsilon: float, delta: float, *, found_nothing: bool = False
) -> Loss:
    """Compute the privacy loss of a release that was stopped by its preliminary counts.

    With `found_nothing`, the search for private bounds stopped the release, after it had passed any guard. Otherwise
    the guard stopped it. The loss is that of the counts released until then. The other arguments are those of
    `loss_of`.
    """
    from discreet.accounting.preliminary_counts import both_losses, counts_loss, preliminary_queries

    stated = Stated(design, RowDomain.of(design, distribution.grid_bits), distribution, {}, epsilon, delta)
    losses = [counts_loss(stated, counts) for counts in preliminary_queries(design, distribution)]
    return both_losses(stated, *losses) if found_nothing and len(losses) == 2 else losses[0]

"""Find the queries of a release by its mechanism, and compute the privacy loss of its noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_loss import Stated
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.privacy.spend import Loss

if TYPE_CHECKING:
    from discreet.accounting.queries import Account, Query

PrivacyMap: TypeAlias = "Callable[[Stated], Account]"
# module of this package and function with the queries of each mechanism
MAPS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({
    "gaussian": ("moment_queries", "gaussian"),
    "laplace": ("moment_queries", "laplace"),
    "k-norm": ("moment_queries", "k_norm"),
    "wishart": ("iterations", "wishart"),
    "functional": ("moment_queries", "functional"),
    "ssp": ("moment_queries", "ssp"),
    "adassp": ("moment_queries", "adassp"),
    "dpme": ("fitted_models", "dpme"),
    "frank-wolfe": ("iterations", "frank_wolfe"),
    "irls": ("iterations", "irls"),
    "gradient": ("iterations", "gradient"),
    "output": ("fitted_models", "output"),
    "objective": ("fitted_models", "objective"),
    "refined": ("scaling", "refined"),
    "staged": ("staged_queries", "staged"),
})  # fmt: skip

# version of every mechanism; a release file of another version is refused
VERSION: Final = "1"

# mechanisms that publish moments; the others publish coefficients
MOMENTS: Final = frozenset(("gaussian", "laplace", "k-norm", "wishart", "functional", "ssp", "adassp", "staged"))


def map_of(mechanism: str) -> PrivacyMap:
    """Return the function that lists the queries of a mechanism, without importing those of others.

    >>> map_of("laplace").__name__
    'laplace'
    """
    if mechanism not in MAPS:
        raise SpecError.unknown_name("mechanism", mechanism, sorted(MAPS))
    module, function = MAPS[mechanism]
    return cast("PrivacyMap", getattr(import_module(f"discreet.accounting.{module}"), function))


def account_of(mechanism: str, stated: Stated) -> Account:
    """Return the queries of a mechanism with the noise that a release states for them."""
    if stated.design.weights is not None and mechanism != "gaussian":
        raise SpecError(
            f"the mechanism {mechanism!r} contradicts the weights of the design: only 'gaussian' is for rows with "
            "weights"
        )  # [P:weights-served]
    return map_of(mechanism)(stated)


def queries_of(mechanism: str, design: Design, distribution: NoiseDistribution, settings: Settings) -> list[Query]:
    """List everything to which a release adds noise, preliminary counts first.

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
    """Compute the privacy loss of a noise distribution. Reject one that the mechanism cannot produce.

    `distribution` has all released blocks. `epsilon` and `delta` are the guarantee: a loss that is not pure is given at
    this epsilon, and `delta` matters only where an account divides it. Epsilon and delta of the result are those of the
    noise, and may be above or below the guarantee.

    >>> from discreet.planning import noise_distribution_for
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> distribution = noise_distribution_for(design, 1.0, 1e-6)
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
    """Return the number of steps in a release of coefficients, each of which was charged.

    `loss_of` has checked the arguments.

    >>> published_steps("gradient", NoiseDistribution(16, {"score": 100}, "gaussian"), {"iterations": 7})
    7
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
    """Compute the loss of a release that was stopped by its preliminary counts: that of these counts alone.

    With `found_nothing` bounds were not found, after the guard, if there is one, did not stop the release. Otherwise
    the guard stopped it. The other arguments are those of `loss_of`.
    """
    from discreet.accounting.preliminary_counts import both_losses, counts_loss, preliminary_queries

    stated = Stated(design, RowDomain.of(design, distribution.grid_bits), distribution, {}, epsilon, delta)
    losses = [counts_loss(stated, counts) for counts in preliminary_queries(design, distribution)]
    return both_losses(stated, *losses) if found_nothing and len(losses) == 2 else losses[0]

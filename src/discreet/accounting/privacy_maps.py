"""Every mechanism and version with its map from the law of the noise to its loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from discreet.accounting.noise_distribution import DISCOVERY, GUARD, NoiseLaw, Settings
from discreet.accounting.privacy_loss import Stated
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError, shown
from discreet.privacy.spend import Loss

if TYPE_CHECKING:
    from discreet.accounting.preliminary_counts import CountsBefore

LossMap: TypeAlias = Callable[[Stated], Loss]
# where each map is defined: module of this package, and function
MAPS: Final[Mapping[tuple[str, str], tuple[str, str]]] = MappingProxyType({
    ("gaussian", "1"): ("moments", "all_moments"),
    ("gaussian", "2"): ("moments", "moments_but_zeros"),
    ("gaussian", "3"): ("moments", "indicators_once"),
    ("gaussian", "parts-1"): ("noise_shares", "moments_in_shares"),
    ("gaussian", "scaled-1"): ("scaling", "scaled_moments"),
    ("gaussian", "weighted-1"): ("scaling", "weighted_moments"),
    ("gaussian", "weighted-2"): ("scaling", "weighted_indicators_once"),
    ("laplace", "1"): ("moments", "all_pure_moments"),
    ("k-norm", "1"): ("moments", "k_norm"),
    ("wishart", "1"): ("iterations", "all_moments"),
    ("functional", "1"): ("moments", "monomials"),
    ("ssp", "1"): ("moments", "one_model"),
    ("adassp", "1"): ("moments", "with_eigenvalue"),
    ("dpme", "1"): ("fitted_models", "histogram"),
    ("frank-wolfe", "1"): ("iterations", "frank_wolfe"),
    ("irls", "2"): ("iterations", "irls"),
    ("gradient", "2"): ("iterations", "gradient"),
    ("output", "1"): ("fitted_models", "perturbed_output"),
    ("objective", "2"): ("fitted_models", "perturbed_objective"),
    ("refined", "1"): ("scaling", "refined"),
})  # fmt: skip


# mechanisms that publish moments; the others publish coefficients
MOMENTS: Final = frozenset(("gaussian", "laplace", "k-norm", "wishart", "functional", "ssp", "adassp"))

# versions of `gaussian` that scale rows privately
SCALED: Final = frozenset(("scaled-1",))
# versions of `gaussian` for designs with weights, which no other version serves
WEIGHTED: Final = frozenset(("weighted-1", "weighted-2"))


def map_of(mechanism: str, version: str) -> LossMap:
    """The map of a mechanism's version; no other is loaded.

    >>> map_of("laplace", "1").__name__
    'all_pure_moments'
    """
    home = MAPS.get((mechanism, version))
    if home is None:
        known = sorted(one for name, one in MAPS if name == mechanism)
        if not known:
            raise SpecError.unknown_name("mechanism", mechanism, sorted({name for name, _ in MAPS}))
        raise SpecError(
            f"the mechanism {mechanism!r} has the version {shown(version)}, of which this version of discreet cannot "
            f"compute the privacy loss; it knows {' and '.join(known)}"
        )
    module, function = home
    return cast("LossMap", getattr(import_module(f"discreet.accounting.{module}"), function))


def loss_of(
    mechanism: str, version: str, design: Design, law: NoiseLaw, settings: Settings, epsilon: float, delta: float
) -> Loss:
    """What noise costs, forwards from its scales; refuses noise that the mechanism cannot have.

    Parameters
    ----------
    mechanism, version
        Which map.
    design, law, settings
        Public quantities; the law has all blocks that are released.
    epsilon, delta
        What is promised. A loss that is not stated by epsilon alone is given at this epsilon; `delta` matters only
        where an accountant divides it.

    Returns
    -------
    Loss
        Its epsilon and delta are what the noise gives, which may be more or less than what is promised.

    Examples
    --------
    >>> from discreet.planning import noise_law_for
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> law = noise_law_for(design, 1.0, 1e-6)
    >>> loss = loss_of("gaussian", "2", design, law, {}, 1.0, 1e-6)
    >>> 0.99e-6 < loss.delta <= 1e-6, round(loss.mu, 4)
    (True, 0.2367)
    """
    found = map_of(mechanism, version)
    if (version in WEIGHTED) != (design.weights is not None):
        raise SpecError(
            f"the version {shown(version)} of the mechanism {mechanism!r} contradicts the weights of the design: only "
            f"the versions {' and '.join(sorted(WEIGHTED))} of 'gaussian' are for rows with weights"
        )  # [P:weights-served]
    domain = RowDomain.of(design, law.grid_bits)
    loss = found(Stated(design, domain, law.without_before(), settings, epsilon, delta))
    for counts in reversed(_blocks(design, law)):
        from discreet.accounting.preliminary_counts import with_before

        loss = with_before(Stated(design, domain, law, settings, epsilon, delta), counts, loss)
    return loss


def _blocks(design: Design, law: NoiseLaw) -> list[CountsBefore]:
    """What is released before the mechanism, in order."""
    is_there = DISCOVERY in law.sigma
    if (is_there and not design.ranges) or (design.searched and not is_there):
        raise SpecError("the noise of a discovery of bounds and the columns of the design contradict each other")
    blocks: list[CountsBefore] = []
    if GUARD in law.sigma:
        from discreet.accounting.preliminary_counts import guard_block

        blocks.append(guard_block(design))
    if is_there:
        from discreet.accounting.preliminary_counts import discovery_block

        blocks.append(discovery_block(design))
    return blocks


def published_steps(mechanism: str, law: NoiseLaw, settings: Settings) -> int:
    """How many steps a release of coefficients shows on its way: each was charged, so it shows no other number.

    `loss_of` has checked what is given.

    >>> published_steps("gradient", NoiseLaw(16, {"score": 100}, "gaussian"), {"iterations": 7})
    7
    """
    if mechanism not in ("gradient", "irls", "frank-wolfe"):
        return 0
    if mechanism == "irls":
        from discreet.accounting.privacy_loss import iteration_count

        return iteration_count(settings, pure=law.family == "discrete-laplace")
    return int(settings["iterations"])


def stopped_loss(design: Design, law: NoiseLaw, epsilon: float, delta: float, *, found_nothing: bool = False) -> Loss:
    """What a release costs that noisy counts have stopped: those counts and nothing else.

    Parameters
    ----------
    design, law, epsilon, delta
        As in `loss_of`.
    found_nothing
        Whether bounds were not found, after a guard, if there is one, let the release go on; otherwise the guard has
        stopped it.
    """
    from discreet.accounting.preliminary_counts import before_loss, both_losses

    stated = Stated(design, RowDomain.of(design, law.grid_bits), law, {}, epsilon, delta)
    losses = [before_loss(stated, counts) for counts in _blocks(design, law)]
    return both_losses(stated, *losses) if found_nothing and len(losses) == 2 else losses[0]

"""Every mechanism and version with its map from the law of the noise to its loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.losses.composition import iteration_count
from discreet.losses.law import GUARD, NoiseLaw, Settings
from discreet.losses.maps import fitted, gaussian, iterative, pure, refined, scaled, wishart
from discreet.losses.maps.guard import guard_loss, with_guard
from discreet.losses.maps.stated import Stated
from discreet.privacy.loss import Loss

LossMap: TypeAlias = Callable[[Stated], Loss]
MAPS: Final[Mapping[tuple[str, str], LossMap]] = MappingProxyType({
    ("gaussian", "1"): gaussian.all_moments,
    ("gaussian", "scaled-1"): scaled.scaled_moments,
    ("laplace", "1"): pure.all_moments,
    ("k-norm", "1"): pure.k_norm,
    ("wishart", "1"): wishart.all_moments,
    ("functional", "1"): pure.monomials,
    ("ssp", "1"): gaussian.one_model,
    ("adassp", "1"): gaussian.with_eigenvalue,
    ("dpme", "1"): fitted.histogram,
    ("frank-wolfe", "1"): iterative.frank_wolfe,
    ("irls", "2"): iterative.irls,
    ("gradient", "2"): iterative.gradient,
    ("output", "1"): fitted.perturbed_output,
    ("objective", "2"): fitted.perturbed_objective,
    ("refined", "1"): refined.refined,
})  # fmt: skip


# mechanisms that publish moments; the others publish coefficients
MOMENTS: Final = frozenset(("gaussian", "laplace", "k-norm", "wishart", "functional", "ssp", "adassp"))

# versions of `gaussian` that scale rows privately
SCALED: Final = frozenset(("scaled-1",))


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
    >>> loss = loss_of("gaussian", "1", design, law, {}, 1.0, 1e-6)
    >>> 0.99e-6 < loss.delta <= 1e-6, round(loss.mu, 4)
    (True, 0.2367)
    """
    found = MAPS.get((mechanism, version))
    if found is None:
        known = sorted(one for name, one in MAPS if name == mechanism)
        if not known:
            raise SpecError.unknown_name("mechanism", mechanism, sorted({name for name, _ in MAPS}))
        raise SpecError(
            f"the mechanism {mechanism!r} has the version {shown(version)}, of which this version of discreet cannot "
            f"compute the privacy loss; it knows {' and '.join(known)}"
        )
    domain = RowDomain.of(design, law.grid_bits)
    loss = found(Stated(design, domain, law.without_guard(), settings, epsilon, delta))
    return with_guard(Stated(design, domain, law, settings, epsilon, delta), loss) if GUARD in law.sigma else loss


def published_steps(mechanism: str, law: NoiseLaw, settings: Settings) -> int:
    """How many steps a release of coefficients shows on its way: each was charged, so it shows no other number.

    `loss_of` has checked what is given.

    >>> published_steps("gradient", NoiseLaw(16, {"score": 100}, "gaussian"), {"iterations": 7})
    7
    """
    if mechanism not in ("gradient", "irls", "frank-wolfe"):
        return 0
    if mechanism == "irls":
        return iteration_count(settings, pure=law.family == "discrete-laplace")
    return int(settings["iterations"])


def stopped_loss(design: Design, law: NoiseLaw, epsilon: float, delta: float) -> Loss:
    """What a release costs that its guard has stopped: the two noisy counts and nothing else."""
    return guard_loss(Stated(design, RowDomain.of(design, law.grid_bits), law, {}, epsilon, delta))

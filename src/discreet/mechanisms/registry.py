"""Every mechanism by name, loaded when it is asked for. One that is not here does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from discreet.errors import SpecError
from discreet.mechanisms.interface.protocol import Mechanism

# where each mechanism is defined: module of this room, and class
HOMES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({
    "gaussian": ("moments.gaussian", "GaussianMoments"),
    "laplace": ("moments.laplace", "LaplaceMoments"),
    "k-norm": ("moments.k_norm", "KNormMoments"),
    "wishart": ("moments.wishart", "WishartMoments"),
    "functional": ("moments.functional", "FunctionalMechanism"),
    "ssp": ("moments.ssp", "SufficientStatistics"),
    "adassp": ("moments.adassp", "AdaptiveSufficientStatistics"),
    "dpme": ("coefficients.dpme", "PerturbedHistogram"),
    "frank-wolfe": ("coefficients.frank_wolfe", "PrivateFrankWolfe"),
    "irls": ("coefficients.irls", "PrivateIRLS"),
    "gradient": ("coefficients.gradient", "NoisyGradientDescent"),
    "output": ("coefficients.output", "OutputPerturbation"),
    "objective": ("coefficients.objective", "ObjectivePerturbation"),
    "refined": ("coefficients.refined", "RefinedRegression"),
})  # fmt: skip

# methods that people may ask for by name, with why they are left out and what to take
NOT_OFFERED: Final[Mapping[str, str]] = MappingProxyType({
    "posterior": "the mechanism 'posterior' is not offered: no way is known to draw from the posterior inside its ball "
    "exactly and in reasonable time, and without the ball the draw is noisier than 'objective'; use 'objective' with "
    "loss = squared, or 'gaussian'",
})  # fmt: skip


def mechanism_named(name: str) -> Mechanism:
    """The mechanism of that name; no other is loaded.

    >>> mechanism_named("gaussian").kind
    'moments'
    """
    if isinstance(name, str) and name.casefold() in NOT_OFFERED:
        raise SpecError(NOT_OFFERED[name.casefold()])
    if not isinstance(name, str) or name not in HOMES:
        raise SpecError.unknown_name("mechanism", name, ("auto", *HOMES))
    module, defined = HOMES[name]
    return cast("Mechanism", getattr(import_module(f"discreet.mechanisms.{module}"), defined)())


def mechanisms() -> Mapping[str, Mechanism]:
    """All mechanisms of this version, by name."""
    return {name: mechanism_named(name) for name in HOMES}

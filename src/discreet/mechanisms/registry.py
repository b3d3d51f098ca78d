"""Every mechanism by name: what it is, what it costs, where it is weakest. One that is not here does not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from discreet.curator.moments import Moments
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.mechanisms.noise import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.releases import NoiseLaw

Table: TypeAlias = Mapping[str, Sequence[object]]


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two tables one unit apart, in declared values, on which a mechanism comes close to its claim."""

    name: str
    table: Table
    neighbour: Table


class Mechanism(Protocol):
    """Privacy loss as a function of public quantities, and the randomised map."""

    @property
    def name(self) -> str:
        """Name on the command line and in the release."""
        ...

    @property
    def version(self) -> str:
        """Raised whenever the map or its noise changes."""
        ...

    @property
    def kind(self) -> Literal["moments", "coefficients"]:
        """What it publishes."""
        ...

    @property
    def domain(self) -> Literal["box or ball"]:
        """Which declared sets of rows its sensitivity covers."""
        ...

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, *, robust: bool = False
    ) -> NoiseLaw:
        """The law of its noise, from public quantities alone; `robust`: with a part for robust standard errors."""
        ...

    def guarantee(self, design: Design, budget: PrivacyBudget) -> Guarantee:
        """The promise it keeps."""
        ...

    def worst_pairs(self, design: Design) -> tuple[NeighbourPair, ...]:
        """Neighbouring tables for audits and tightness tests."""
        ...

    def randomise(self, moments: Moments, law: NoiseLaw, sampler: Sampler) -> tuple[int, ...]:
        """Noisy totals."""
        ...

    def randomise_residuals(self, moments: Moments, law: NoiseLaw, sampler: Sampler) -> tuple[int, ...]:
        """Noisy totals of the Gram of residual rows."""
        ...


def mechanism_named(name: str) -> Mechanism:
    """The mechanism of that name.

    >>> mechanism_named("gaussian").kind
    'moments'
    """
    known = mechanisms()
    if name not in known:
        raise SpecError.unknown_name("mechanism", str(name), known)
    return known[name]


def mechanisms() -> Mapping[str, Mechanism]:
    """All mechanisms of this version, by name."""
    from discreet.mechanisms.gaussian import GaussianMoments

    return {mechanism.name: mechanism for mechanism in (GaussianMoments(),)}

"""What is claimed of a mechanism, and can be refuted."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import SpecError, shown
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.checks import is_number, positive, probability_below_one
from discreet.privacy.guarantee import Guarantee


@dataclass(frozen=True, slots=True)
class Claim:
    """A privacy claim.

    Parameters
    ----------
    epsilon, delta
        The claim by itself.
    mu
        The Gaussian curve that is claimed too, if one is.
    gap
        With `mu`: how far, in total variation, outputs may be from those of a mu-Gaussian mechanism.

    Examples
    --------
    >>> Claim(1.0, 1e-6).mu is None
    True
    """

    epsilon: float
    delta: float = 0.0
    mu: float | None = None
    gap: float = 0.0

    def __post_init__(self) -> None:
        advice = "give the epsilon and the delta that the method states"
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon, advice=advice))
        object.__setattr__(self, "delta", probability_below_one("delta", self.delta, advice=advice))
        if self.mu is not None:
            object.__setattr__(self, "mu", positive("mu", self.mu, advice=advice))
        object.__setattr__(self, "gap", probability_below_one("gap", self.gap, advice=advice))

    @classmethod
    def of(cls, claimed: Claim | PrivacyBudget | Guarantee | float) -> Claim:
        """A claim from a budget, from the guarantee of a release, or from epsilon alone.

        >>> Claim.of(PrivacyBudget(1.0, 1e-6)).delta, Claim.of(0.5).epsilon
        (1e-06, 0.5)
        """
        if isinstance(claimed, Claim):
            return claimed
        if isinstance(claimed, PrivacyBudget):
            return cls(*as_pair(claimed))
        if isinstance(claimed, Guarantee):
            return cls(claimed.epsilon, claimed.delta, claimed.mu, claimed.mu_gap or 0.0)
        if is_number(claimed):
            return cls(float(claimed))
        raise SpecError(
            f"claimed: expected a PrivacyBudget, a Guarantee, a Claim or epsilon, got {shown(claimed)}; "
            "for instance discreet.PrivacyBudget(1.0, 1e-6)"
        )

"""The joint Gaussian release with its noise in shares, one for each part of the table. Proof: shares.proof.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import GridTooFineError
from discreet.losses.law import SHARES
from discreet.losses.shares import HONEST, PERSON_PARTS, check_share, share_steps
from discreet.mechanisms.moments.gaussian import GaussianMoments
from discreet.mechanisms.sampling.sampler import MAX_SIGMA, rounded_up
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import NoiseLaw, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianShares(GaussianMoments):
    """Adds to the exact moments of each part a share of the noise, calibrated so that the honest shares suffice.

    Attributes
    ----------
    shares
        How many parts add one; 1 where one noise is added to the pooled moments.
    honest
        How many of them nobody takes away.
    parts_per_person
        In how many parts one person may be.
    """

    shares: int
    honest: int
    parts_per_person: int

    version: ClassVar[str] = "parts-1"

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of one share, and how many there are: design and budget in, no data."""
        # zero arguments would need the class before it has slots
        whole = GaussianMoments.noise_model(self, design, domain, budget, settings)
        sigma = {block: self._share(block, steps) for block, steps in whole.sigma.items()}
        terms = {SHARES: self.shares, HONEST: self.honest, PERSON_PARTS: self.parts_per_person}
        return replace(whole, sigma=sigma, parameters=terms)

    def _share(self, block: str, steps: int) -> int:
        share = share_steps(steps, self.honest, self.parts_per_person)
        if share > MAX_SIGMA:
            raise GridTooFineError(
                f"a share of the noise of block '{block}' has {share:.3g} steps, too many for the 64-bit sampler"
            )
        check_share(block, share)
        return rounded_up(share)  # [P:share-rounded-up]

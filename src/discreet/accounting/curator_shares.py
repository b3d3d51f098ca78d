"""Account for noise that several curators draw independently and add up. Proof: curator_shares.proof.md."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from discreet.accounting.noise_distribution import SHARES, NoiseDistribution
from discreet.errors import SpecError
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import FEWEST_PARTS, MOST_PARTS

# parameters of the noise distribution other than the number of shares
HONEST: Final = "honest"
PERSON_PARTS: Final = "parts_per_person"
PARAMETERS: Final = (SHARES, HONEST, PERSON_PARTS)
# smallest scale of a share, in steps, at which a sum of shares is as private as one discrete Gaussian variate
LEAST_SHARE: Final = 16


def share_steps(sigma: int, honest: int, parts_per_person: int) -> int:
    """Return the smallest scale per share with which `honest` shares sum to a scale of `parts_per_person * sigma`.

    >>> share_steps(1000, 2, 1), share_steps(1000, 4, 2), share_steps(0, 2, 1)
    (708, 1000, 0)
    """
    wanted = -(-((parts_per_person * sigma) ** 2) // honest)
    root = math.isqrt(wanted)
    return root if root * root == wanted else root + 1  # [P:share-scale]


def counted_distribution(distribution: NoiseDistribution) -> NoiseDistribution:
    """Return a distribution of single variates that protects no better than the sum of the honest shares.

    Every scale is divided by the number of parts that a person may be in, so that the sensitivities of one part apply.

    >>> shares = {"shares": 3, "honest": 2, "parts_per_person": 1}
    >>> distribution = NoiseDistribution(8, {"count": 708}, "gaussian", parameters=shares)
    >>> counted_distribution(distribution).sigma["count"]
    1001
    """
    honest, most = distribution.parameters[HONEST], distribution.parameters[PERSON_PARTS]
    counted = {block: math.isqrt(honest * sigma * sigma // most**2) for block, sigma in distribution.sigma.items()}
    rest = {name: value for name, value in distribution.parameters.items() if name not in PARAMETERS}
    return replace(distribution, sigma=counted, parameters=rest)  # [P:counted-shares]


def check_share(block: str, sigma: int) -> None:
    """Reject a noise share whose scale is too small for a sum of shares to act as one discrete Gaussian variate."""
    if 0 < sigma < LEAST_SHARE:
        raise SpecError(
            f"expected a scale of at least {LEAST_SHARE} grid steps for each share of the noise on {block!r}, got "
            f"{sigma}; raise grid_bits or lower epsilon"
        )  # [P:least-share]


def check_terms(distribution: NoiseDistribution, unit: PrivacyUnit) -> None:
    """Reject numbers of shares and parts for which the noise of the honest curators is not proved to be sufficient."""
    shares, honest, most = (distribution.parameters[name] for name in PARAMETERS)
    whole = shares == 1
    if not (whole or FEWEST_PARTS <= shares <= MOST_PARTS):
        raise SpecError(f"the parameter {SHARES!r}: expected 1 or {FEWEST_PARTS} to {MOST_PARTS}, got {shares}")
    if not 1 <= honest <= (1 if whole else shares - 1):  # [P:own-share-apart]
        raise SpecError(f"the parameter {HONEST!r}: expected 1 to {1 if whole else shares - 1}, got {honest}")
    if not 1 <= most <= (MOST_PARTS if whole else shares):
        raise SpecError(f"the parameter {PERSON_PARTS!r}: expected 1 to {MOST_PARTS if whole else shares}, got {most}")
    if most > 1 and unit.neighbours == "replace":
        raise SpecError(f'neighbours = "replace" needs parts_per_person = 1, got parts_per_person = {most}')
    for block, sigma in distribution.sigma.items():
        check_share(block, sigma)

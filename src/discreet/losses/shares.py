"""Noise that is the sum of independent shares, and the part of it that a guarantee relies on.

Proof: noise_shares.proof.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from discreet.errors import SpecError
from discreet.losses.law import SHARES, NoiseLaw

# parameters of the law beside the number of shares
HONEST: Final = "honest"
PERSON_PARTS: Final = "parts_per_person"
PARAMETERS: Final = (SHARES, HONEST, PERSON_PARTS)
# steps of a share, from which on the sum of shares is as good as one discrete Gaussian variate
LEAST_SHARE: Final = 16


def share_steps(sigma: int, honest: int, parts_per_person: int) -> int:
    """The least scale of a share with which `honest` shares have `parts_per_person` times a standard deviation.

    >>> share_steps(1000, 2, 1), share_steps(1000, 4, 2), share_steps(0, 2, 1)
    (708, 1000, 0)
    """
    wanted = -(-((parts_per_person * sigma) ** 2) // honest)
    root = math.isqrt(wanted)
    return root if root * root == wanted else root + 1  # [P:share-scale]


def counted_law(law: NoiseLaw) -> NoiseLaw:
    """The law of one variate that protects no more than the counted shares do, for a person who is in one part.

    >>> law = NoiseLaw(8, {"count": 708}, "gaussian", parameters={"shares": 3, "honest": 2, "parts_per_person": 1})
    >>> counted_law(law).sigma["count"]
    1001
    """
    honest, most = law.parameters[HONEST], law.parameters[PERSON_PARTS]
    counted = {block: math.isqrt(honest * sigma * sigma // most**2) for block, sigma in law.sigma.items()}
    rest = {name: value for name, value in law.parameters.items() if name not in PARAMETERS}
    return replace(law, sigma=counted, parameters=rest)  # [P:counted-shares]


def check_share(block: str, sigma: int) -> None:
    """Refuse a share of so few steps that the sum of shares is not one discrete Gaussian variate for all purposes."""
    if 0 < sigma < LEAST_SHARE:
        raise SpecError(
            f"the share of the noise of block {block!r} has {sigma} steps of the grid; expected at least "
            f"{LEAST_SHARE}; raise grid_bits or lower epsilon"
        )  # [P:least-share]

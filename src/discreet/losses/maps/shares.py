"""Map of `gaussian` where every part of a table has its share of the noise. Proof: maps.proof.md."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import SpecError
from discreet.losses.law import SHARES
from discreet.losses.maps.gaussian import JOINT, indicators_once
from discreet.losses.maps.stated import Stated
from discreet.losses.shares import HONEST, PARAMETERS, PERSON_PARTS, check_share, counted_law
from discreet.privacy.curators import FEWEST_PARTS, MOST_PARTS
from discreet.privacy.loss import Loss


def moments_in_shares(stated: Stated) -> Loss:
    """Every moment but zeros and copies, at the noise that the honest parts have together."""
    law, design = stated.law, stated.design
    stated.check(
        "discrete-gaussian", JOINT, stated.moments_blocks(), PARAMETERS,
        factors=design.factors, indicators=design.indicators,
    )  # fmt: skip
    shares, honest, most = (law.parameters[name] for name in PARAMETERS)
    whole = shares == 1
    if not (whole or FEWEST_PARTS <= shares <= MOST_PARTS):
        raise SpecError(f"the parameter {SHARES!r}: expected 1 or {FEWEST_PARTS} to {MOST_PARTS}, got {shares}")
    if not 1 <= honest <= (1 if whole else shares - 1):  # [P:own-share-apart]
        raise SpecError(f"the parameter {HONEST!r}: expected 1 to one less than the {shares} shares, got {honest}")
    if not 1 <= most <= (MOST_PARTS if whole else shares):
        raise SpecError(f"the parameter {PERSON_PARTS!r}: expected 1 to the number of parts, got {most}")
    if most > 1 and stated.design.unit.neighbours == "replace":
        raise SpecError("a person in several parts is not proved for replace neighbours; expected parts_per_person = 1")
    for block, sigma in law.sigma.items():
        check_share(block, sigma)
    return indicators_once(replace(stated, law=counted_law(law)))  # [P:forward-shares]

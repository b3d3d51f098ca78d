"""The promise that every mechanism makes in the same words: budget, unit, and the conditions it stands on."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from discreet.tables.frames import Origin
from discreet.design.model import Design
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import lattice_curve
from discreet.privacy.zcdp import rho_from
from discreet.releases import NoiseLaw

_CONDITIONS: Final = (
    "bounds, levels, rules and settings were chosen without looking at the data",
    "no other release is made from the same table (the losses of several add up)",
)


def promise(design: Design, budget: PrivacyBudget, *further: str) -> Guarantee:
    """The promise in the currency of the budget, with the conditions it stands on and `further` ones of a mechanism."""
    one_row = design.unit.id is None
    who = "each person stands in at most one row" if one_row else f"each person has one value of {design.unit.id!r}"
    public = f"the number of {'rows' if one_row else 'persons'} in the table is public"
    conditions = (who, *_CONDITIONS, *((public,) if design.unit.neighbours == "replace" else ()), *further)
    return Guarantee(epsilon=budget.epsilon, delta=budget.delta, unit=design.unit, conditions=conditions)


def with_origin(guarantee: Guarantee, origin: Origin | None) -> Guarantee:
    """The same promise, with one more condition where the rows may be the result of a query.

    What is hidden is a row of that result. It is a person only if the query keeps persons apart.
    """
    if origin is None:
        return guarantee
    read = "the result of the query" if origin == "query" else "the stream, perhaps the result of a query,"
    person = guarantee.unit.id
    apart = (
        "each row stands for one person, each person has at most one row, and whether that row is there and what it "
        "holds depends on that person alone"
        if person is None
        else f"each row stands for the one person whose {person!r} it holds, and whether it is there and what it holds "
        "depends on that person alone"
    )
    condition = (
        f"in {read} from which the table was read {apart} (a join, a window, an aggregate, a limit, a sample or a "
        "subquery may break this)"
    )
    return replace(guarantee, conditions=(*guarantee.conditions, condition))


def with_curve(guarantee: Guarantee, law: NoiseLaw) -> Guarantee:
    """The promise with what its noise is proved to keep beyond (epsilon, delta), if anything.

    Pure noise keeps no more than its definition; for other accounts nothing but (epsilon, delta) is proved.
    """
    if law.family != "discrete-gaussian":
        return guarantee
    if law.calibration == "gaussian":
        mu, gap = lattice_curve(guarantee.epsilon, guarantee.delta)
        return replace(guarantee, mu=mu, mu_gap=gap)
    if law.calibration == "discrete-zcdp":
        return replace(guarantee, rho=rho_from(guarantee.epsilon, guarantee.delta))
    return guarantee

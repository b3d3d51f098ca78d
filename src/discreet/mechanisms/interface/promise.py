"""The promise that every mechanism makes in the same words: budget, unit, and the conditions it holds under."""

from __future__ import annotations

from dataclasses import replace

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import lattice_curve
from discreet.privacy.zcdp import rho_from
from discreet.releases import NoiseLaw
from discreet.tables.frames import Origin


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

"""The promise that every mechanism makes in the same words: budget, unit, and the conditions it holds under."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from discreet.privacy.conditions import sentence_of
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import lattice_curve
from discreet.privacy.zcdp import rho_from
from discreet.releases import NoiseLaw
from discreet.tables.frames import Origin

_CODES: Final[dict[Origin, str]] = {
    "query": "query-rows",
    "stream": "stream-rows",
    "quoted": "quoted-cells",
    "spark": "spark-rows",
}


def with_origin(guarantee: Guarantee, origin: Origin | None) -> Guarantee:
    """The same promise, with one more condition where the rows may be the result of a query, or rest on quotes.

    What is hidden is a row of that result. It is a person only if the query keeps persons apart. In a file whose cells
    may hold line breaks, one wrong quote of one person could make another person's row a part of a cell. A plan of
    Spark is a query too, and parts of it may be evaluated again, where an executor is lost: rows must be the same then.
    """
    if origin is None:
        return guarantee
    condition = sentence_of(_CODES[origin], guarantee.unit)
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

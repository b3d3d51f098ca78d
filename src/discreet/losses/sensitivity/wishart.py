"""How far one row shifts the noise of a Wishart matrix. Proof: wishart.proof.md."""

from __future__ import annotations

from fractions import Fraction

from discreet.design.domain import RowDomain


def row_shift(domain: RowDomain, constant: int, regressor: int, target: int) -> Fraction:
    """Largest squared length of a row (1, x, y) whose columns are divided by their scales, given in grid steps.

    >>> row_shift(RowDomain(2, 0, 0, None, False, 8), 256, 256, 512)
    Fraction(13, 4)
    """
    unit2 = domain.unit**2
    return (
        Fraction(unit2, constant**2) + Fraction(domain.norm2_bound, regressor**2) + Fraction(unit2, target**2)
    )  # [P:row-shift]

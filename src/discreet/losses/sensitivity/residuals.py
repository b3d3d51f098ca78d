"""How far one unit moves the sums over residuals. Proof: residual_sums.proof.md."""

from __future__ import annotations

from typing import Final

from discreet.design.domain import RowDomain, norm2
from discreet.privacy.unit import Neighbours

# covers the rounding of some double operations, each relative 2**-53
_ROUNDING: Final = 1 + 2**-44


def residual_sensitivity(domain: RowDomain, neighbours: Neighbours) -> float:
    """Largest Frobenius norm of a change of the sum of v v' between neighbouring tables, in scaled units, rounded up.

    A person enters as one row, whatever the number of rows that count.

    >>> residual_sensitivity(RowDomain(2, 0, 0, None, False, 16), "add-remove")
    3.0000000000001705
    """
    row_norm = 1.0 + norm2(domain)
    return row_norm * (1.0 if neighbours == "add-remove" else 2**0.5) * _ROUNDING  # [P:residual-sensitivity]


def ratio_sensitivity() -> float:
    """Largest change of the sum of q^2 between neighbouring tables under both relations, in scaled units, rounded up.

    >>> ratio_sensitivity() >= 1.0
    True
    """
    return 1.0 * _ROUNDING  # [P:ratio-sensitivity]

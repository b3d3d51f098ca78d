"""Exact joint loss of worst rows."""

from __future__ import annotations

from fractions import Fraction


def exact_mu2(domain, distribution) -> Fraction:
    """Exact joint loss of an added corner row under the noise that is really drawn."""
    unit4 = domain.unit**4
    r2 = Fraction(domain.norm2_bound, domain.unit**2)
    gram = min(distribution.sigma["gram_diagonal"] ** 2, 2 * distribution.sigma["gram_off_diagonal"] ** 2)
    change2 = {"count": 1, "sum_x": r2, "sum_y": 1, "cross": r2, "target_square": 1}
    loss = sum(Fraction(unit4) * value / distribution.sigma[block] ** 2 for block, value in change2.items())
    return loss + Fraction(unit4) * r2**2 / gram

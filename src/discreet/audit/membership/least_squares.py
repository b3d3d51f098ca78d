"""Coefficients without noise, NOT PRIVATE: from how many digits on they show whether a row is in the table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from discreet.audit.membership.targets import Target
from discreet.curator.sums.protocol import Totals
from discreet.errors import SpecError
from discreet.exact.linear import exact_solution
from discreet.exact.triangle import symmetric_integers
from discreet.workflow import Question

# a double has no more
MOST_DIGITS: Final = 15


def telling_digits(target: Target, asked: Question) -> int | None:
    """Significant digits from which on exact least squares differs with and without the row, NOT PRIVATE.

    None where all the digits of a double agree, so that nothing shows.
    """
    here, there = (_coefficients(target.totals(asked, with_row=one), asked) for one in (True, False))
    return next((digits for digits in range(1, MOST_DIGITS + 1) if _shown(here, digits) != _shown(there, digits)), None)


def _coefficients(totals: Totals, asked: Question) -> tuple[Fraction, ...]:
    """Ordinary least squares of the target on all other columns, in scaled units, solved in exact arithmetic."""
    size = len(asked.design.released)
    gram = symmetric_integers(totals.values, size)
    found = exact_solution(gram[:-1, :-1], gram[:-1, -1])
    if found is None:
        raise SpecError("the columns of this table are collinear, so that it has no least squares; choose another")
    return found


def _shown(coefficients: Sequence[Fraction], digits: int) -> list[str]:
    return [f"{float(one):.{digits - 1}e}" for one in coefficients]

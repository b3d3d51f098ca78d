"""The Mills ratio against mpmath: the digits that the margins of the room are built on."""

from __future__ import annotations

from decimal import Decimal, localcontext

import mpmath
import pytest

from discreet.exact.rounding import EIGHTY_DIGITS, mills

# what mills.py claims for |x| < 6, and for the rest
CLAIM_SERIES = mpmath.mpf("1e-64")
CLAIM_FRACTION = mpmath.mpf("1e-74")


@pytest.mark.parametrize(
    "x", [-1000.0, -40.0, -6.0, -5.999, -2.5, -0.7, -1e-9, 0.0, 1e-12, 0.3, 1.0, 3.0, 5.999, 6.0, 6.5, 12.0, 38.0, 1e4]
)
def test_relative_error_is_within_the_claim(x):
    with localcontext(EIGHTY_DIGITS):
        found = str(mills(Decimal(x)))
    # erfc of a large argument times its own exponential: the digits of the product are those of the factors
    with mpmath.workdps(150):
        exact = mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(mpmath.mpf(x) ** 2 / 2) * mpmath.erfc(x / mpmath.sqrt(2))
        error = abs(mpmath.mpf(found) / exact - 1)
    assert error < (CLAIM_SERIES if abs(x) < 6 else CLAIM_FRACTION)


@pytest.mark.parametrize("x", [1e8, 1e15, 1e22])
def test_far_tail_follows_the_asymptotic_series(x):
    with localcontext(EIGHTY_DIGITS):
        found = str(mills(Decimal(x)))
    with mpmath.workdps(150):
        y = mpmath.mpf(x)
        exact = sum((-1) ** k * mpmath.fac2(2 * k - 1) / y ** (2 * k + 1) for k in range(8))
        assert abs(mpmath.mpf(found) / exact - 1) < CLAIM_FRACTION

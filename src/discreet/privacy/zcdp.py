"""Zero-concentrated DP and its best conversion to (epsilon, delta), rounded to the private side.

rho-zCDP gives, for every order a > 1, delta(eps) <= exp((a-1)(a rho - eps)) (1 - 1/a)^a / (a-1)
[Canonne, Kamath & Steinke 2020, Proposition 12, with the Renyi divergence a rho of zCDP]. With b = a - 1 > 0,
ln delta = b ((b+1) rho - eps) + b ln b - (b+1) ln(b+1).

Every b gives a true bound, so floats may look for the best b and long decimals then evaluate the bound there: a poor
b costs accuracy (of second order only), never privacy. The same bound solved for eps or for rho is again true for
every b. Eighty digits leave each evaluation with an absolute error below 1e-33 (the largest term is eps^2/(4 rho) <=
1e45), and each result is moved by 1e-30 to the private side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

from discreet.exact.normal import EIGHTY_DIGITS
from discreet.exact.rounding import down, up
from discreet.privacy.checks import within
from discreet.privacy.gaussian import DELTA_HIGHEST, DELTA_LOWEST, EPSILON_HIGHEST, EPSILON_LOWEST

RHO_LOWEST, RHO_HIGHEST = 1e-25, 1e10

_PROFILE_EPSILON_HIGHEST = 2e10
_MARGIN = Decimal("1e-30")
_SLACK = Decimal("1e-24")
_LOG_LOWEST, _LOG_HIGHEST = -700.0, 700.0
# halves 1400 to below the spacing of floats near 700
_HALVINGS = 64


def delta_from_rho(epsilon: float, rho: float) -> float:
    """Smallest delta that the optimal conversion of rho-zCDP gives at epsilon, rounded up.

    At most 1, above 0, never below the exact bound.

    `epsilon` is from 0 to 2e10, `rho` from 1e-25 to 1e10.

    >>> round(delta_from_rho(1.0, 1 / (2 * 4.530877**2)), 11)
    1e-06
    """
    epsilon = within("epsilon", epsilon, 0.0, _PROFILE_EPSILON_HIGHEST, advice=_EPSILON_ADVICE)
    rho = _rho(rho)
    # derivative of the bound in b, increasing in b
    b = _increasing_root(lambda b: (2 * b + 1) * rho - epsilon - math.log1p(1 / b))
    with localcontext(EIGHTY_DIGITS):
        log_delta = b * ((b + 1) * Decimal(rho) - Decimal(epsilon)) + _entropy(b) + _MARGIN
        delta = log_delta.exp()
    return min(1.0, max(up(delta), math.ulp(0.0)))


def epsilon_from_rho(rho: float, delta: float) -> float:
    """Smallest epsilon that the optimal conversion of rho-zCDP gives at delta, rounded up.

    At least 0, never below the exact bound.

    `rho` is from 1e-25 to 1e10, `delta` from 1e-300 to 0.5.

    >>> round(epsilon_from_rho(0.1, 1e-6), 4)
    2.1419
    """
    rho, delta = _rho(rho), _delta(delta)
    log_inverse = -math.log(delta)
    # the bound solved for epsilon has derivative rho - (ln(1/delta) - ln(1+b))/b^2
    b = _increasing_root(lambda b: rho * b * b + math.log1p(b) - log_inverse)
    with localcontext(EIGHTY_DIGITS):
        epsilon = (b + 1) * Decimal(rho) + (_entropy(b) - Decimal(delta).ln()) / b + _MARGIN
    return max(0.0, up(epsilon))


def rho_from(epsilon: float, delta: float) -> float:
    """Largest rho whose optimal conversion is (epsilon, delta)-DP, rounded down.

    Never above the exact root.

    `epsilon` is from 1e-9 to 1e9, `delta` from 1e-300 to 0.5.

    >>> round(rho_from(1.0, 1e-6), 6)
    0.024356
    """
    epsilon = within("epsilon", epsilon, EPSILON_LOWEST, EPSILON_HIGHEST, advice=_EPSILON_ADVICE)
    delta = _delta(delta)
    log_inverse = -math.log(delta)
    # the two conditions above with rho eliminated; every summand is increasing in b
    b = _increasing_root(lambda b: b * b * (epsilon + math.log1p(1 / b)) / (2 * b + 1) + math.log1p(b) - log_inverse)
    with localcontext(EIGHTY_DIGITS):
        rho = (Decimal(epsilon) + (Decimal(delta).ln() - _entropy(b)) / b) / (b + 1)
        return down(rho * (1 - _SLACK))


_EPSILON_ADVICE = "choose an epsilon between 0.1 and 8"


def _entropy(b: Decimal) -> Decimal:
    """Part of the bound that knows neither rho nor epsilon: b ln b - (b+1) ln(b+1)."""
    return b * b.ln() - (b + 1) * (b + 1).ln()


def _increasing_root(function: Callable[[float], float]) -> Decimal:
    """Where an increasing function of b > 0 changes sign, by halving in ln b; the nearer end if it does not."""
    low, high = _LOG_LOWEST, _LOG_HIGHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if function(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return Decimal(math.exp(low))


def _rho(rho: float) -> float:
    return within("rho", rho, RHO_LOWEST, RHO_HIGHEST, advice="rho of a Gaussian mechanism is mu^2/2")


def _delta(delta: float) -> float:
    advice = "zCDP needs delta > 0; choose a delta well below one over the number of rows, such as 1e-6"
    return within("delta", delta, DELTA_LOWEST, DELTA_HIGHEST, advice=advice)

"""How one definition of privacy is read as another: the rules of the literature, with their ranges."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import SpecError, shown
from discreet.exact.rounding import up
from discreet.privacy import gaussian, zcdp
from discreet.privacy.checks import positive, within

_ADVICE = "see the function's documentation for its range"
# e^100 is a guarantee of nothing, and far from the largest float
_EXPONENT_HIGHEST = 100.0


def pure_to_zcdp(epsilon: float) -> float:
    """Give rho of an epsilon-DP mechanism: epsilon^2/2, rounded up, for epsilon above 0.

    Bun & Steinke 2016, Proposition 1.4.

    >>> pure_to_zcdp(1.0)
    0.5
    """
    return up(Fraction(positive("epsilon", epsilon, advice=_ADVICE)) ** 2 / 2)


def zcdp_to_approximate_simple(rho: float, delta: float) -> float:
    """Epsilon at delta by the simple rule rho + 2 sqrt(rho ln(1/delta)).

    Bun & Steinke 2016, Proposition 1.3; never below `zcdp_to_approximate`.

    `rho` is above 0, `delta` from 1e-300 to 0.5.

    >>> round(zcdp_to_approximate_simple(0.1, 1e-6), 4)
    2.4508
    """
    rho = positive("rho", rho, advice=_ADVICE)
    return rho + 2 * math.sqrt(rho * -math.log(_delta(delta)))


def zcdp_to_approximate(rho: float, delta: float) -> float:
    """Epsilon at delta by the best known conversion, rounded up; the same as `zcdp.epsilon_from_rho`.

    Canonne, Kamath & Steinke 2020.

    `rho` is from 1e-25 to 1e10, `delta` from 1e-300 to 0.5.

    >>> round(zcdp_to_approximate(0.1, 1e-6), 4)
    2.1419
    """
    return zcdp.epsilon_from_rho(rho, delta)


def rdp_to_approximate(alpha: float, rdp_epsilon: float, delta: float) -> float:
    """Epsilon at delta of an (alpha, rdp_epsilon)-Renyi-DP mechanism.

    rdp_epsilon + ln((alpha-1)/alpha) - (ln delta + ln alpha)/(alpha-1)   [Canonne, Kamath & Steinke 2020,
    Proposition 12], or 0 if that is negative.

    Parameters
    ----------
    alpha : float
        Order, above 1.
    rdp_epsilon : float
        Renyi divergence of that order, above 0.
    delta : float
        From 1e-300 to 0.5.

    Examples
    --------
    >>> round(rdp_to_approximate(12.0, gaussian_rdp(12.0, 0.4472135955), 1e-6), 4)
    2.143
    """
    alpha, rdp_epsilon = _order(alpha), positive("rdp_epsilon", rdp_epsilon, advice=_ADVICE)
    spread = (math.log(_delta(delta)) + math.log(alpha)) / (alpha - 1)
    return max(0.0, rdp_epsilon + math.log1p(-1 / alpha) - spread)


def gaussian_rdp(alpha: float, mu: float) -> float:
    """Renyi divergence of order alpha of a mu-Gaussian mechanism: alpha mu^2/2.

    Mironov 2017, Proposition 7.

    Parameters
    ----------
    alpha : float
        Order, above 1.
    mu : float
        L2 sensitivity / sigma, above 0.

    Examples
    --------
    >>> gaussian_rdp(2.0, 1.0)
    1.0
    """
    mu = positive("mu", mu, advice=_ADVICE)
    return _order(alpha) * mu * mu / 2


def pure_to_cdp(epsilon: float) -> tuple[float, float]:
    """Mean-concentrated DP of an epsilon-DP mechanism: (epsilon (e^epsilon - 1)/2, epsilon).

    Dwork & Rothblum 2016, Theorem 3.5. Loose: `pure_to_zcdp` says more.

    Parameters
    ----------
    epsilon : float
        Above 0, at most 100.

    Examples
    --------
    >>> mean, spread = pure_to_cdp(1.0)
    >>> round(mean, 4), spread
    (0.8591, 1.0)
    """
    epsilon = within("epsilon", epsilon, math.ulp(0.0), _EXPONENT_HIGHEST, advice=_ADVICE)
    return epsilon * math.expm1(epsilon) / 2, epsilon


def zcdp_to_cdp(rho: float) -> tuple[float, float]:
    """Mean-concentrated DP of a rho-zCDP mechanism: (rho, sqrt(2 rho)), for rho above 0.

    Bun & Steinke 2016, section 4.

    >>> zcdp_to_cdp(0.5)
    (0.5, 1.0)
    """
    rho = positive("rho", rho, advice=_ADVICE)
    return rho, math.sqrt(2 * rho)


def _delta(delta: float) -> float:
    return within("delta", delta, gaussian.DELTA_LOWEST, gaussian.DELTA_HIGHEST, advice="choose a delta such as 1e-6")


def _order(alpha: float) -> float:
    if not positive("alpha", alpha, advice="choose an order above 1") > 1:
        raise SpecError(f"alpha = {shown(alpha)}; a Renyi order must be above 1; choose 2 or more")
    return float(alpha)

"""Privacy profile of Gaussian noise, and conversions between privacy measures.

Every result is rounded towards less privacy. Proof: gaussian_profile.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from discreet.errors import OptionError, shown
from discreet.exact.rounding import EIGHTY_DIGITS, SQRT_TWO_PI, down, mills, root_up, up
from discreet.privacy.checks import positive, within

# -- gaussian ----------------------------------------------------------------------------------------------------------
# The exact privacy profile of the Gaussian mechanism and its inverses, rounded conservatively.
#
# delta(eps; mu) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2) [Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022,
# Corollary 2.13], mu = L2 sensitivity / sigma. With u = eps/mu - mu/2, v = u + mu and the Mills ratio M, e^eps phi(v) =
# phi(u), so **ln delta = ln(M(u) - M(v)) - u^2/2 - ln sqrt(2 pi)**, which never underflows.
#
# Margin. The hazard rate 1/M exceeds (3x + sqrt(x^2 + 8))/4 for x >= 0 [Sampford 1953], hence -(ln M)' = 1/M - x is at
# least 1/(x + 2) there and, M being log-convex, at least 1/2 for x < 0. So M(u) - M(v) loses at most the factor
# M(u)/(M(u) - M(v)) <= 1 + (max(u, 0) + 3)/min(mu, 1). In the allowed range ``|u| <= 1e22``: for u >= 6 the factor is
# below 1e35 and `mills` is right to 1e-74; for u < 6 it is below 1e14 and `mills` is right to 1e-64; u^2/2 <= 5e43
# keeps 79 digits. Together ln delta is wrong by less than 1e-34; every result is moved by `_MARGIN` = 1e-30 to the
# private side.
#
# Newton's steps stay on the private side. M(x) is the integral of exp(-x t) exp(-t^2/2) over t > 0, hence completely
# monotone and log-convex. (a) d ln delta/d ln mu = mu/(M(u) - M(v)) = 1/(mean of -M' over [u, v]). The interval has
# centre eps/mu and length mu; a larger mu moves it down and widens it, and -M' is decreasing and convex, so the mean
# grows. Thus ln delta is increasing and concave in ln mu, its tangents lie above it, and Newton started at or below the
# root never passes it. (b) d ln delta/d eps = -1/(M(u)/M(v) - 1), and M(u)/M(u + mu) falls in u by log-convexity. Thus
# ln delta is decreasing and concave in eps, and Newton started at or above the root never falls below it. What rounding
# adds to a root is below 1e-34 divided by the slope, and the slacks cover it: delta <= 1/2 keeps u above -0.7 (at fixed
# u delta is least at eps = 0, where it is 1 - 2 Phi(u)), so the slope in ln mu is at least 1/2.8 and the one in eps at
# least 1/(5 max(v, 1)).

EPSILON_LOWEST, EPSILON_HIGHEST = 1e-9, 1e9
DELTA_LOWEST, DELTA_HIGHEST = 1e-300, 0.5
MU_LOWEST, MU_HIGHEST = 1e-12, 1e5

# wide enough for every epsilon that `epsilon_from` can return
_PROFILE_EPSILON_HIGHEST = 1e10
_MARGIN = Decimal("1e-30")
_SLACK = Decimal("1e-24")
_ABSOLUTE_SLACK = Decimal("1e-28")
# Newton doubles its digits: a last step of 1e-14 leaves an error near 1e-28
_LAST_STEP = Decimal("1e-14")
_LEAST_FLOAT = math.ulp(0.0)


def log_delta_from(epsilon: float, mu: float) -> float:
    """Return the logarithm of the smallest delta of a mu-Gaussian mechanism at `epsilon`, rounded up.

    The result is never below the true value, and at most one unit in the last place above it. `epsilon` and `mu` have
    the same ranges as in `delta_from`.

    >>> round(log_delta_from(1000.0, 1.0), 6)
    -499514.859452
    """
    log_delta = _log_profile(_epsilon(epsilon), _mu(mu))
    return min(0.0, up(log_delta))


def delta_from(epsilon: float, mu: float) -> float:
    """Return the smallest delta for which a mu-Gaussian mechanism is (epsilon, delta)-DP, rounded up.

    The result is never below the true value, and is above 0 even if the true value underflows. Balle & Wang 2018,
    Theorem 8.

    Parameters
    ----------
    epsilon : float
        From 0 to 1e10.
    mu : float
        L2 sensitivity divided by the standard deviation of the noise, from 1e-12 to 1e5.

    Examples
    --------
    >>> delta_from(0.0, 1.0)
    0.38292492254802624
    >>> round(delta_from(1.0, 1 / 4.224679), 11)
    1e-06
    """
    log_delta = _log_profile(_epsilon(epsilon), _mu(mu))
    with localcontext(EIGHTY_DIGITS):
        delta = log_delta.exp()
    return min(1.0, max(up(delta), _LEAST_FLOAT))


def epsilon_from(mu: float, delta: float) -> float:
    """Return the smallest epsilon for which a mu-Gaussian mechanism is (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
        L2 sensitivity divided by the standard deviation of the noise, from 1e-12 to 1e5.
    delta : float
        From 1e-300 to 0.5.

    Returns
    -------
    float
        Never below the true value, and 0.0 if the mechanism is (0, delta)-DP.

    Examples
    --------
    >>> round(epsilon_from(1.0, 1e-6), 9)
    4.886554117
    >>> epsilon_from(1e-6, 1e-6)
    0.0
    """
    exact_mu, exact_delta = _mu(mu), _delta(delta)
    if _log_profile(Decimal(0), exact_mu) <= _log(exact_delta):
        return 0.0
    with localcontext(EIGHTY_DIGITS):
        log_target = exact_delta.ln()
        # delta < Phi(-u) <= exp(-u^2/2)/2 for u >= 0 puts this start at or above the root
        root = exact_mu * exact_mu / 2 + exact_mu * (-2 * (2 * exact_delta).ln()).sqrt()
        step = root
        while step > _LAST_STEP * root + _ABSOLUTE_SLACK:
            above, below, log_delta = _profile(root, exact_mu)
            step = (log_target - log_delta) * (above - below) / below
            root -= step
        return up(root * (1 + _SLACK) + _ABSOLUTE_SLACK)


def mu_from(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian mechanism is (epsilon, delta)-DP, rounded down.

    Noise with standard deviation sensitivity / mu then satisfies the guarantee. The result is never above the true
    value, and at most one unit in the last place below it.

    `epsilon` must be from 1e-9 to 1e9, and `delta` from 1e-300 to 0.5.

    >>> round(1 / mu_from(1.0, 1e-6), 4)
    4.2247
    """
    advice = "choose an epsilon between 0.1 and 8"
    return _mu_from(Decimal(within("epsilon", epsilon, EPSILON_LOWEST, EPSILON_HIGHEST, advice=advice)), _delta(delta))


# cached because a release computes mu of the same budget several times
@lru_cache(maxsize=256)
def _mu_from(epsilon: Decimal, delta: Decimal) -> float:
    with localcontext(EIGHTY_DIGITS):
        log_target = delta.ln()
        # a closed form that always satisfies the guarantee [Vinterbo 2020]: a start at or below the root
        spread = -(4 * delta * (1 - delta)).ln()
        root = epsilon * Decimal(2).sqrt() / (spread.sqrt() + (spread + epsilon).sqrt())
        step = Decimal(1)
        while step > _LAST_STEP:
            above, below, log_delta = _profile(epsilon, root)
            step = (log_target - log_delta) * (above - below) / root
            root *= step.exp()
        return down(root * (1 - _SLACK))


def compose_mu(*mus: float) -> float:
    """Return mu of the composition of Gaussian mechanisms on the same data, rounded up.

    The mechanisms may be chosen adaptively. The result sqrt(mu_1^2 + ... + mu_k^2) is exact [Dong, Roth & Su 2022,
    Corollary 3.3].

    Parameters
    ----------
    *mus : float
        One mu for each mechanism, finite and above 0.

    Returns
    -------
    float
        Smallest float at or above the exact root.

    Examples
    --------
    >>> compose_mu(3.0, 4.0)
    5.0
    """
    if not mus:
        raise OptionError(
            "compose_mu() needs at least one mu, got none", option="mus", remedy="pass the mu of each mechanism"
        )
    advice = "pass sensitivity / sigma of each mechanism"
    return root_up(sum((Fraction(positive("mu", mu, advice=advice)) ** 2 for mu in mus), Fraction(0)))


def _profile(epsilon: Decimal, mu: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """Return M(u), M(v) and ln delta. The caller must set an eighty-digit context."""
    u = (2 * epsilon - mu * mu) / (2 * mu)
    above, below = mills(u), mills(u + mu)
    return above, below, (above - below).ln() - u * u / 2 - SQRT_TWO_PI.ln()


def _log_profile(epsilon: Decimal, mu: Decimal) -> Decimal:
    """Return an upper bound on ln delta, which includes the margin."""
    with localcontext(EIGHTY_DIGITS):
        return _profile(epsilon, mu)[2] + _MARGIN


def _log(value: Decimal) -> Decimal:
    return EIGHTY_DIGITS.ln(value)


def _epsilon(epsilon: float) -> Decimal:
    advice = "choose an epsilon between 0.1 and 8"
    return Decimal(within("epsilon", epsilon, 0.0, _PROFILE_EPSILON_HIGHEST, advice=advice))


def _delta(delta: float) -> Decimal:
    advice = "a Gaussian mechanism needs delta > 0; choose a delta well below one over the number of rows, such as 1e-6"
    return Decimal(within("delta", delta, DELTA_LOWEST, DELTA_HIGHEST, advice=advice))


def _mu(mu: float) -> Decimal:
    advice = "mu is the L2 sensitivity divided by the standard deviation of the noise"
    return Decimal(within("mu", mu, MU_LOWEST, MU_HIGHEST, advice=advice))


# -- zcdp --------------------------------------------------------------------------------------------------------------
# Zero-concentrated DP and its best conversion to (epsilon, delta), rounded conservatively.
#
# rho-zCDP gives, for every order a > 1, delta(eps) <= exp((a-1)(a rho - eps)) (1 - 1/a)^a / (a-1) [Canonne, Kamath &
# Steinke 2020, Proposition 12, with the Renyi divergence a rho of zCDP]. With b = a - 1 > 0, ln delta = b ((b+1) rho -
# eps) + b ln b - (b+1) ln(b+1).
#
# Every b gives a valid bound, so b is found with floats and the bound is evaluated at that b with long decimals: a poor
# b costs accuracy (of second order only), never privacy. The same bound solved for eps or for rho is also valid for
# every b. With eighty digits each evaluation has an absolute error below 1e-33 (the largest term is eps^2/(4 rho) <=
# 1e45), and each result is moved by 1e-30 in the conservative direction.

RHO_LOWEST, RHO_HIGHEST = 1e-25, 1e10

_ZCDP_EPSILON_HIGHEST = 2e10
_LOG_LOWEST, _LOG_HIGHEST = -700.0, 700.0
# enough to halve 1400 to below the spacing of floats near 700
_HALVINGS = 64


def delta_from_rho(epsilon: float, rho: float) -> float:
    """Return the smallest delta that the optimal conversion of rho-zCDP gives at `epsilon`, rounded up.

    The result is above 0, at most 1, and never below the exact bound. `epsilon` must be from 0 to 2e10, and `rho` from
    1e-25 to 1e10.

    >>> round(delta_from_rho(1.0, 1 / (2 * 4.530877**2)), 11)
    1e-06
    """
    epsilon = within("epsilon", epsilon, 0.0, _ZCDP_EPSILON_HIGHEST, advice=_EPSILON_ADVICE)
    rho = _rho(rho)
    # derivative of the bound in b, increasing in b
    b = _increasing_root(lambda b: (2 * b + 1) * rho - epsilon - math.log1p(1 / b))
    with localcontext(EIGHTY_DIGITS):
        log_delta = b * ((b + 1) * Decimal(rho) - Decimal(epsilon)) + _entropy(b) + _MARGIN
        delta = log_delta.exp()
    return min(1.0, max(up(delta), math.ulp(0.0)))


def epsilon_from_rho(rho: float, delta: float) -> float:
    """Return the smallest epsilon that the optimal conversion of rho-zCDP gives at `delta`, rounded up.

    The result is at least 0 and never below the exact bound. `rho` must be from 1e-25 to 1e10, and `delta` from 1e-300
    to 0.5.

    >>> round(epsilon_from_rho(0.1, 1e-6), 4)
    2.1419
    """
    rho, delta = _rho(rho), _zcdp_delta(delta)
    log_inverse = -math.log(delta)
    # the bound solved for epsilon has derivative rho - (ln(1/delta) - ln(1+b))/b^2
    b = _increasing_root(lambda b: rho * b * b + math.log1p(b) - log_inverse)
    with localcontext(EIGHTY_DIGITS):
        epsilon = (b + 1) * Decimal(rho) + (_entropy(b) - Decimal(delta).ln()) / b + _MARGIN
    return max(0.0, up(epsilon))


def rho_from(epsilon: float, delta: float) -> float:
    """Return the largest rho for which the optimal conversion of rho-zCDP gives (epsilon, delta)-DP, rounded down.

    The result is never above the exact root. `epsilon` must be from 1e-9 to 1e9, and `delta` from 1e-300 to 0.5.

    >>> round(rho_from(1.0, 1e-6), 6)
    0.024356
    """
    epsilon = within("epsilon", epsilon, EPSILON_LOWEST, EPSILON_HIGHEST, advice=_EPSILON_ADVICE)
    delta = _zcdp_delta(delta)
    log_inverse = -math.log(delta)
    # the two conditions above with rho eliminated; every summand is increasing in b
    b = _increasing_root(lambda b: b * b * (epsilon + math.log1p(1 / b)) / (2 * b + 1) + math.log1p(b) - log_inverse)
    with localcontext(EIGHTY_DIGITS):
        rho = (Decimal(epsilon) + (Decimal(delta).ln() - _entropy(b)) / b) / (b + 1)
        return down(rho * (1 - _SLACK))


_EPSILON_ADVICE = "choose an epsilon between 0.1 and 8"


def _entropy(b: Decimal) -> Decimal:
    """Return the terms of the bound without rho and epsilon: b ln b - (b+1) ln(b+1)."""
    return b * b.ln() - (b + 1) * (b + 1).ln()


def _increasing_root(function: Callable[[float], float]) -> Decimal:
    """Return the b > 0 at which an increasing function changes sign, by bisection in ln b."""
    low, high = _LOG_LOWEST, _LOG_HIGHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if function(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return Decimal(math.exp(low))


def _rho(rho: float) -> float:
    return within("rho", rho, RHO_LOWEST, RHO_HIGHEST, advice="a mu-Gaussian mechanism has rho = mu^2/2")


def _zcdp_delta(delta: float) -> float:
    advice = "zCDP needs delta > 0; choose a delta well below one over the number of rows, such as 1e-6"
    return within("delta", delta, DELTA_LOWEST, DELTA_HIGHEST, advice=advice)


# -- conversions -------------------------------------------------------------------------------------------------------
# Conversions between privacy definitions from the literature, with their ranges.

_ADVICE = "see the function's documentation for the allowed range"
# a larger epsilon is meaningless, and its exponential might overflow
_EXPONENT_HIGHEST = 100.0


def pure_to_zcdp(epsilon: float) -> float:
    """Return rho of an epsilon-DP mechanism: epsilon^2/2, rounded up. `epsilon` must be above 0.

    Bun & Steinke 2016, Proposition 1.4.

    >>> pure_to_zcdp(1.0)
    0.5
    """
    return up(Fraction(positive("epsilon", epsilon, advice=_ADVICE)) ** 2 / 2)


def zcdp_to_approximate_simple(rho: float, delta: float) -> float:
    """Return the epsilon that rho-zCDP implies at `delta`, by the simple rule rho + 2 sqrt(rho ln(1/delta)).

    Bun & Steinke 2016, Proposition 1.3. The result is never below that of `zcdp_to_approximate`. `rho` must be above 0,
    and `delta` from 1e-300 to 0.5.

    >>> round(zcdp_to_approximate_simple(0.1, 1e-6), 4)
    2.4508
    """
    rho = positive("rho", rho, advice=_ADVICE)
    return rho + 2 * math.sqrt(rho * -math.log(_converted_delta(delta)))


def zcdp_to_approximate(rho: float, delta: float) -> float:
    """Return the epsilon that rho-zCDP implies at `delta`, by the best known conversion and rounded up.

    This is `epsilon_from_rho` under its textbook name. Canonne, Kamath & Steinke 2020. `rho` must be from 1e-25 to
    1e10, and `delta` from 1e-300 to 0.5.

    >>> round(zcdp_to_approximate(0.1, 1e-6), 4)
    2.1419
    """
    return epsilon_from_rho(rho, delta)


def rdp_to_approximate(alpha: float, rdp_epsilon: float, delta: float) -> float:
    """Return the epsilon that (alpha, rdp_epsilon)-Renyi-DP implies at `delta`.

    It is rdp_epsilon + ln((alpha-1)/alpha) - (ln delta + ln alpha)/(alpha-1), or 0 if that is negative [Canonne, Kamath
    & Steinke 2020, Proposition 12].

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
    spread = (math.log(_converted_delta(delta)) + math.log(alpha)) / (alpha - 1)
    return max(0.0, rdp_epsilon + math.log1p(-1 / alpha) - spread)


def gaussian_rdp(alpha: float, mu: float) -> float:
    """Return the Renyi divergence of order alpha of a mu-Gaussian mechanism: alpha mu^2/2.

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
    """Return the mean-concentrated DP parameters of an epsilon-DP mechanism: (epsilon (e^epsilon - 1)/2, epsilon).

    Dwork & Rothblum 2016, Theorem 3.5. `pure_to_zcdp` is tighter.

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
    """Return the mean-concentrated DP parameters of a rho-zCDP mechanism: (rho, sqrt(2 rho)). `rho` must be above 0.

    Bun & Steinke 2016, section 4.

    >>> zcdp_to_cdp(0.5)
    (0.5, 1.0)
    """
    rho = positive("rho", rho, advice=_ADVICE)
    return rho, math.sqrt(2 * rho)


def _converted_delta(delta: float) -> float:
    return within("delta", delta, DELTA_LOWEST, DELTA_HIGHEST, advice="choose a delta such as 1e-6")


def _order(alpha: float) -> float:
    if not positive("alpha", alpha, advice="choose an order above 1") > 1:
        raise OptionError(
            f"alpha: expected a Renyi order above 1, got {shown(alpha)}",
            option="alpha",
            given=alpha,
            allowed="a number above 1",
            remedy="choose 2 or more",
        )
    return float(alpha)

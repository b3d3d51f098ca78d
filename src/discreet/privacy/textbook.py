"""The formulas that papers and courses use, by the names they are known under, with their ranges.

The rules that turn one definition of privacy into another are in `conversions`.
All of it is here to be compared with, to reproduce published figures and to check proofs. For calibration use
`gaussian` and `zcdp`: those are exact or optimal and rounded to the private side; the closed forms here are plain
floats, except where they call these two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

from discreet.errors import SpecError, shown
from discreet.exact.rounding import up
from discreet.privacy import gaussian
from discreet.privacy.checks import is_integer, listed, positive, probability_below_one, within

_ADVICE = "see the function's documentation for its range"
_CLASSICAL_EPSILON_HIGHEST = 1.0
# e^100 is a guarantee of nothing, and far from the largest float
_EXPONENT_HIGHEST = 100.0


def classical_gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Noise of the classical Gaussian mechanism: sensitivity sqrt(2 ln(1.25/delta)) / epsilon.

    Dwork & Roth 2014, Theorem A.1, proved for epsilon < 1 only.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity, above 0.
    epsilon : float
        Above 0 and below 1; beyond, the proof does not hold and from about 8.4 on neither does the claim.
    delta : float
        From 1e-300 to 0.5.

    Examples
    --------
    >>> round(classical_gaussian_sigma(1.0, 0.5, 1e-6), 3)
    10.598
    """
    sensitivity, epsilon, delta = _triple(sensitivity, epsilon, delta)
    if epsilon >= _CLASSICAL_EPSILON_HIGHEST:
        raise SpecError(
            f"epsilon = {epsilon:g}; the classical Gaussian mechanism is proved below 1 only; "
            "use analytic_gaussian_sigma, which is exact for every epsilon"
        )
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def analytic_gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Smallest Gaussian noise that is (epsilon, delta)-DP: sensitivity / mu, rounded up.

    Balle & Wang 2018, Theorem 8 and Algorithm 1.

    Parameters
    ----------
    sensitivity, epsilon, delta : float
        L2 sensitivity, above 0; from 1e-9 to 1e9; from 1e-300 to 0.5.

    Examples
    --------
    >>> round(analytic_gaussian_sigma(1.0, 1.0, 1e-6), 4)
    4.2247
    """
    sensitivity, epsilon, delta = _triple(sensitivity, epsilon, delta)
    return up(Fraction(sensitivity) / Fraction(gaussian.mu_from(epsilon, delta)))


def zhao_gaussian_sigma(
    sensitivity: float, epsilon: float, delta: float, *, form: Literal["erfc", "logarithm"] = "erfc"
) -> float:
    """Noise by closed forms of a Gaussian mechanism at any epsilon.

    sigma = sensitivity (a + sqrt(a^2 + epsilon)) / (epsilon sqrt 2) is exact for the a that solves
    erfc(a) - e^epsilon erfc(sqrt(a^2 + epsilon)) = 2 delta, and a larger a only adds noise. After Zhao et al. 2019,
    "Reviewing and Improving the Gaussian Mechanism for Differential Privacy", section 5, two bounds of a from above:

    - "erfc": b = erfc^-1(2 delta) drops the second term, so it is above the root; putting it back where it is smallest,
      a = erfc^-1(2 delta + e^epsilon erfc(sqrt(b^2 + epsilon))) is above every root that is not negative, and
      max(a, 0) is above every root. At most 1.67 times the exact noise for epsilon >= 0.1 and delta <= 1e-3.
    - "logarithm": a = sqrt(ln(2 / (sqrt(16 delta + 1) - 1))). At most 1.92 times the exact noise there.

    Neither is sharp where epsilon is small against delta: the factor then grows like 1/sqrt(epsilon) and beyond.

    Parameters
    ----------
    sensitivity, epsilon, delta : float
        As for `analytic_gaussian_sigma`.
    form : {"erfc", "logarithm"}
        Which bound; the first is the sharper one.

    Examples
    --------
    >>> round(zhao_gaussian_sigma(1.0, 1.0, 1e-6), 3)
    4.721
    >>> round(zhao_gaussian_sigma(1.0, 1.0, 1e-6, form="logarithm"), 3)
    5.084
    """
    from scipy.special import erfcinv, erfcx  # imported here: the rest of the room works without scipy

    sensitivity, epsilon, delta = _triple(sensitivity, epsilon, delta)
    if form == "logarithm":
        # (sqrt(16 delta + 1) + 1)/(8 delta) is the same number without the cancellation for small delta
        a = math.sqrt(math.log((math.sqrt(16 * delta + 1) + 1) / (8 * delta)))
    elif form == "erfc":
        b = float(erfcinv(2 * delta))
        target = 2 * delta + math.exp(-b * b) * float(erfcx(math.sqrt(b * b + epsilon)))
        a = float(erfcinv(min(target, 1.0)))
    else:
        raise SpecError.unknown_name("form", form, ("erfc", "logarithm"))
    return sensitivity * (a + math.sqrt(a * a + epsilon)) / (epsilon * math.sqrt(2))


def basic_composition(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Sum of the epsilons and of the deltas, rounded up; holds for adaptive pieces.

    Dwork & Roth 2014, Theorem 3.16.

    Parameters
    ----------
    pairs : iterable of (epsilon, delta)
        One per piece.

    Examples
    --------
    >>> basic_composition([(0.5, 0.0), (0.25, 1e-6)])
    (0.75, 1e-06)
    """
    epsilons, deltas = Fraction(0), Fraction(0)
    given = listed(pairs)
    if given is None:
        raise SpecError(f"pairs: expected a list of (epsilon, delta), got {type(pairs).__name__}")
    for pair in given:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise SpecError(f"pairs: expected (epsilon, delta) in each, got {type(pair).__name__}")
        epsilon, delta = pair
        epsilons += Fraction(positive("epsilon", epsilon, advice=_ADVICE))
        deltas += Fraction(probability_below_one("delta", delta, advice=_ADVICE))
    return up(epsilons), min(1.0, up(deltas))


def advanced_composition(epsilon: float, delta: float, k: int, delta_slack: float) -> tuple[float, float]:
    """Epsilon and delta of k pieces that are each (epsilon, delta)-DP.

    (epsilon sqrt(2 k ln(1/delta_slack)) + k epsilon (e^epsilon - 1), k delta + delta_slack)
    [Dwork, Rothblum & Vadhan 2010, Theorem III.3]. For many pieces and large epsilon, basic composition is smaller.

    Parameters
    ----------
    epsilon : float
        Above 0, at most 100.
    delta : float
        At least 0 and below 1.
    k : int
        Number of pieces, at least 1.
    delta_slack : float
        From 1e-300 to 0.5.

    Examples
    --------
    >>> epsilon, delta = advanced_composition(0.1, 0.0, 100, 1e-6)
    >>> round(epsilon, 4), delta
    (6.3082, 1e-06)
    """
    epsilon = within("epsilon", epsilon, math.ulp(0.0), _EXPONENT_HIGHEST, advice=_ADVICE)
    delta = probability_below_one("delta", delta, advice=_ADVICE)
    slack = _delta(delta_slack, name="delta_slack")
    count: object = k
    if not is_integer(count) or count < 1:
        raise SpecError(f"k is {shown(count)}; expected the number of pieces, an integer of at least 1")
    total = epsilon * math.sqrt(2 * k * -math.log(slack)) + k * epsilon * math.expm1(epsilon)
    return total, min(1.0, k * delta + slack)


def _triple(sensitivity: float, epsilon: float, delta: float) -> tuple[float, float, float]:
    return (
        positive("sensitivity", sensitivity, advice="give the L2 sensitivity of the released vector"),
        within("epsilon", epsilon, gaussian.EPSILON_LOWEST, gaussian.EPSILON_HIGHEST, advice=_ADVICE),
        _delta(delta),
    )


def _delta(delta: float, name: str = "delta") -> float:
    return within(name, delta, gaussian.DELTA_LOWEST, gaussian.DELTA_HIGHEST, advice="choose a delta such as 1e-6")

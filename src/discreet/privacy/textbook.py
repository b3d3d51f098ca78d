"""Implement textbook calibrations and composition theorems under their usual names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.errors import MissingDependencyError, OptionError, shown
from discreet.exact.rounding import up
from discreet.privacy import gaussian_dp
from discreet.privacy.checks import is_integer, listed, positive, probability_below_one, within

# -- textbook ----------------------------------------------------------------------------------------------------------
# Formulas of papers and textbooks under their usual names, with their ranges.
#
# They serve to compare, to reproduce published figures and to check proofs. For calibration use `gaussian_dp`, whose
# results are exact or optimal and rounded conservatively. The closed forms here are plain floats, except where they
# call `gaussian_dp`.

_ADVICE = "see the function's documentation for its range"
_CLASSICAL_EPSILON_HIGHEST = 1.0
# e^100 guarantees nothing, and is far below the largest float
_EXPONENT_HIGHEST = 100.0


def classical_gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Return sigma of the classical Gaussian mechanism: sensitivity sqrt(2 ln(1.25/delta)) / epsilon.

    Dwork & Roth 2014, Theorem A.1, proved for epsilon < 1 only.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity, above 0.
    epsilon : float
        Above 0 and below 1. The proof does not hold above, and from about 8.4 the claim is false.
    delta : float
        From 1e-300 to 0.5.

    Examples
    --------
    >>> round(classical_gaussian_sigma(1.0, 0.5, 1e-6), 3)
    10.598
    """
    sensitivity, epsilon, delta = _triple(sensitivity, epsilon, delta)
    if epsilon >= _CLASSICAL_EPSILON_HIGHEST:
        raise OptionError(
            f"epsilon = {epsilon:g}; the classical Gaussian mechanism is proved below 1 only",
            option="epsilon",
            given=epsilon,
            allowed="a number above 0 and below 1",
            remedy="use analytic_gaussian_sigma, which is exact for every epsilon",
        )
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def analytic_gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Return the smallest sigma of Gaussian noise that is (epsilon, delta)-DP: sensitivity / mu, rounded up.

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
    return up(Fraction(sensitivity) / Fraction(gaussian_dp.mu_from(epsilon, delta)))


def zhao_gaussian_sigma(
    sensitivity: float, epsilon: float, delta: float, *, form: Literal["erfc", "logarithm"] = "erfc"
) -> float:
    """Return sigma of a Gaussian mechanism by a closed form for any epsilon.

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
        The bound to use. The first is tighter.

    Examples
    --------
    >>> round(zhao_gaussian_sigma(1.0, 1.0, 1e-6), 3)
    4.721
    >>> round(zhao_gaussian_sigma(1.0, 1.0, 1e-6, form="logarithm"), 3)
    5.084
    """
    from scipy.special import erfcinv, erfcx  # imported here: the rest of the package works without scipy

    sensitivity, epsilon, delta = _triple(sensitivity, epsilon, delta)
    if form == "logarithm":
        # (sqrt(16 delta + 1) + 1)/(8 delta) is the same number without the cancellation for small delta
        a = math.sqrt(math.log((math.sqrt(16 * delta + 1) + 1) / (8 * delta)))
    elif form == "erfc":
        b = float(erfcinv(2 * delta))
        target = 2 * delta + math.exp(-b * b) * float(erfcx(math.sqrt(b * b + epsilon)))
        a = float(erfcinv(min(target, 1.0)))
    else:
        raise OptionError.unknown_name("form", form, ("erfc", "logarithm"), option="form")
    return sensitivity * (a + math.sqrt(a * a + epsilon)) / (epsilon * math.sqrt(2))


def basic_composition(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the sums of the epsilons and of the deltas, rounded up. Holds for adaptive pieces.

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
        raise OptionError(
            f"pairs: expected a list of (epsilon, delta), got {type(pairs).__name__}",
            option="pairs",
            allowed="a list of (epsilon, delta)",
        )
    for pair in given:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise OptionError(
                f"pairs: expected (epsilon, delta) in each, got {type(pair).__name__}",
                option="pairs",
                allowed="a list of (epsilon, delta)",
            )
        epsilon, delta = pair
        epsilons += Fraction(positive("epsilon", epsilon, advice=_ADVICE))
        deltas += Fraction(probability_below_one("delta", delta, advice=_ADVICE))
    return up(epsilons), min(1.0, up(deltas))


def advanced_composition(epsilon: float, delta: float, k: int, delta_slack: float) -> tuple[float, float]:
    """Return epsilon and delta of k pieces that are each (epsilon, delta)-DP.

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
        raise OptionError(
            f"k is {shown(count)}; expected the number of pieces, an integer of at least 1",
            option="k",
            given=count,
            allowed="an integer of at least 1",
        )
    total = epsilon * math.sqrt(2 * k * -math.log(slack)) + k * epsilon * math.expm1(epsilon)
    return total, min(1.0, k * delta + slack)


def _triple(sensitivity: float, epsilon: float, delta: float) -> tuple[float, float, float]:
    return (
        positive("sensitivity", sensitivity, advice="give the L2 sensitivity of the released vector"),
        within("epsilon", epsilon, gaussian_dp.EPSILON_LOWEST, gaussian_dp.EPSILON_HIGHEST, advice=_ADVICE),
        _delta(delta),
    )


def _delta(delta: float, name: str = "delta") -> float:
    return within(
        name, delta, gaussian_dp.DELTA_LOWEST, gaussian_dp.DELTA_HIGHEST, advice="choose a delta such as 1e-6"
    )


# -- composition -------------------------------------------------------------------------------------------------------
# Privacy loss of several pieces that are fixed in advance.
#
# Gaussian pieces compose exactly; with zCDP pieces everything is added up as zCDP; pure pieces add their epsilons; and
# a mixture of Gaussian and pure pieces uses privacy-loss distributions. Where several bounds are valid the smallest is
# returned.

# dp_accounting convolves in double precision: over its grid that can lose about 1e-12 of probability, so results are
# charged ten times that, and below a delta of 1e-9 the distributions are not used
_PLD_LOSS = 1e-11
_PLD_LEAST_DELTA = 1e-9
_PLD_POINTS = 100_000
# it also computes e^epsilon of a pure epsilon; above this a float overflows, and only the other bounds are used
_PLD_GREATEST_PURE = 500.0


@dataclass(frozen=True, slots=True)
class GaussianPiece:
    """A Gaussian mechanism with parameter mu = L2 sensitivity / sigma.

    >>> GaussianPiece(0.5).mu
    0.5
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive("mu", self.mu, advice="give sensitivity / sigma"))


@dataclass(frozen=True, slots=True)
class ZcdpPiece:
    """Any rho-zCDP mechanism.

    >>> ZcdpPiece(0.1).rho
    0.1
    """

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive("rho", self.rho, advice="rho of a Gaussian mechanism is mu^2/2"))


@dataclass(frozen=True, slots=True)
class PurePiece:
    """Any epsilon-DP mechanism, without further assumptions.

    >>> PurePiece(1.0).epsilon
    1.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        advice = "leave out a piece that costs nothing"
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon, advice=advice))


Piece = GaussianPiece | ZcdpPiece | PurePiece


@dataclass(frozen=True, slots=True)
class _Total:
    """Totals by kind of piece; 0 where a kind is absent."""

    mu: float
    rho: float
    rho_without_pure: float
    pure: float
    pure_pieces: tuple[float, ...]
    has_zcdp: bool


def compose(pieces: Sequence[Piece], *, delta: float | None = None, epsilon: float | None = None) -> float:
    """Return epsilon at a delta, or delta at an epsilon, of all pieces together, rounded up.

    Only for pieces that are fixed in advance: the number of pieces and their parameters may not depend on the output of
    an earlier piece (the queries inside a piece may). Adaptively chosen parameters need an odometer or filter [Rogers,
    Roth, Ullman & Vadhan 2016].

    Parameters
    ----------
    pieces : sequence of GaussianPiece, ZcdpPiece, PurePiece
        At least one.
    delta : float, optional
        Return epsilon at this delta. 0 is allowed when every piece is pure.
    epsilon : float, optional
        Return delta at this epsilon. Pass exactly one of the two.

    Returns
    -------
    float
        The value that was not passed.

    Examples
    --------
    >>> compose([PurePiece(0.5), PurePiece(0.25)], delta=0.0)
    0.75
    >>> round(compose([GaussianPiece(0.6), GaussianPiece(0.8)], delta=1e-6), 4)
    4.8866
    """
    total = _add_up(pieces)
    if delta is not None and epsilon is None:
        return _epsilon_at(total, probability_below_one("delta", delta, advice="for instance 1e-6"))
    if epsilon is not None and delta is None:
        return _delta_at(total, positive("epsilon", epsilon, advice="give the epsilon you want to promise"))
    raise OptionError(
        f"compose() got delta = {shown(delta)} and epsilon = {shown(epsilon)}",
        option="delta",
        allowed="delta or epsilon, not both",
        remedy="give exactly one; the other is returned",
    )


def _add_up(pieces: Sequence[Piece]) -> _Total:
    given = listed(pieces)
    if given is None:
        raise OptionError(
            f"compose(): expected a list of pieces, got {type(pieces).__name__}",
            option="pieces",
            allowed="a list of pieces",
        )
    pieces = given
    if not pieces:
        raise OptionError(
            "compose() got no pieces; it needs at least one", option="pieces", remedy="name what was released"
        )
    for piece in pieces:
        if not isinstance(piece, Piece):
            raise OptionError(
                f"{shown(piece)} is not a piece; allowed: GaussianPiece, ZcdpPiece, PurePiece",
                option="pieces",
                given=piece,
                allowed=("GaussianPiece", "ZcdpPiece", "PurePiece"),
                remedy="wrap it in one",
            )
    mus = [piece.mu for piece in pieces if isinstance(piece, GaussianPiece)]
    rhos = [Fraction(piece.rho) for piece in pieces if isinstance(piece, ZcdpPiece)]
    epsilons = sorted(piece.epsilon for piece in pieces if isinstance(piece, PurePiece))
    concentrated = sum((Fraction(mu) ** 2 / 2 for mu in mus), sum(rhos, Fraction(0)))
    # epsilon-DP is epsilon^2/2-zCDP [Bun & Steinke 2016, Proposition 1.4]
    from_pure = sum((Fraction(epsilon) ** 2 / 2 for epsilon in epsilons), Fraction(0))
    return _Total(
        mu=gaussian_dp.compose_mu(*mus) if mus else 0.0,
        # a larger rho is a weaker claim, so the smallest convertible rho may replace smaller ones
        rho=max(up(concentrated + from_pure), gaussian_dp.RHO_LOWEST),
        rho_without_pure=max(up(concentrated), gaussian_dp.RHO_LOWEST),
        pure=up(sum(map(Fraction, epsilons), Fraction(0))),
        pure_pieces=tuple(epsilons),
        has_zcdp=bool(rhos),
    )


def _epsilon_at(total: _Total, delta: float) -> float:
    only_pure = not (total.mu or total.has_zcdp)
    if only_pure and delta == 0:
        return total.pure
    if not (total.pure or total.has_zcdp):
        return gaussian_dp.epsilon_from(total.mu, delta)
    candidates = [_zcdp_epsilon(total.rho, delta)]
    if only_pure:
        candidates.append(total.pure)
    elif total.has_zcdp:
        # basic composition of the pure part with the rest; without a pure part this is the first candidate again
        candidates.append(_sum_up(total.pure, _zcdp_epsilon(total.rho_without_pure, delta)))
    else:
        candidates.append(_sum_up(total.pure, gaussian_dp.epsilon_from(total.mu, delta)))
        if delta >= _PLD_LEAST_DELTA and total.pure <= _PLD_GREATEST_PURE:
            candidates.append(float(_privacy_loss(total).get_epsilon_for_delta(delta - _PLD_LOSS)))
    return min(candidates)


def _delta_at(total: _Total, epsilon: float) -> float:
    only_pure = not (total.mu or total.has_zcdp)
    if only_pure and epsilon >= total.pure:
        return 0.0
    if not (total.pure or total.has_zcdp):
        return gaussian_dp.delta_from(epsilon, total.mu)
    candidates = [_zcdp_delta(epsilon, total.rho)]
    # rounded down, so that pure + rest is not above epsilon
    rest = math.nextafter(epsilon - total.pure, -math.inf) if total.pure else epsilon
    if total.has_zcdp and rest >= 0:
        candidates.append(_zcdp_delta(rest, total.rho_without_pure))
    if total.mu and not total.has_zcdp:
        if rest >= 0:
            candidates.append(gaussian_dp.delta_from(rest, total.mu))
        if total.pure <= _PLD_GREATEST_PURE:
            candidates.append(float(_privacy_loss(total).get_delta_for_epsilon(epsilon)) + _PLD_LOSS)
    return min(candidates)


def _sum_up(first: float, second: float) -> float:
    return up(Fraction(first) + Fraction(second))


def _zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the zCDP bound, or infinity where rho is above the convertible range."""
    return gaussian_dp.epsilon_from_rho(rho, delta) if rho <= gaussian_dp.RHO_HIGHEST else math.inf


def _zcdp_delta(epsilon: float, rho: float) -> float:
    return gaussian_dp.delta_from_rho(epsilon, rho) if rho <= gaussian_dp.RHO_HIGHEST else 1.0


def _privacy_loss(total: _Total) -> Any:  # noqa: ANN401 - the library has no types
    """Return a pessimistic privacy-loss distribution of a Gaussian and worst-case pure pieces."""
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise MissingDependencyError("accounting", "dp_accounting") from error
    # losses of the Gaussian lie within mu^2/2 +- 10 mu up to 1e-23 of probability
    grid = (total.mu**2 + 20 * total.mu + 2 * total.pure) / _PLD_POINTS
    loss = privacy_loss_distribution.from_gaussian_mechanism(
        1 / total.mu, pessimistic_estimate=True, value_discretization_interval=grid
    )
    for epsilon, count in Counter(total.pure_pieces).items():
        pure = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=grid
        )
        loss = loss.compose(pure.self_compose(count))
    return loss

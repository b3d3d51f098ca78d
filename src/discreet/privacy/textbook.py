"""Textbook calibrations and composition theorems under their usual names."""

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
# Published formulas, for comparisons, reproductions and checks of proofs. They are evaluated in plain floats, except
# where they call `gaussian_dp`. For calibration use `gaussian_dp`, which is exact or optimal and rounds conservatively.

_ADVICE = "see the function's documentation for the allowed range"
_CLASSICAL_EPSILON_HIGHEST = 1.0
# a larger epsilon is meaningless, and its exponential might overflow
_EXPONENT_HIGHEST = 100.0


def classical_gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Return sigma of the classical Gaussian mechanism: sensitivity sqrt(2 ln(1.25/delta)) / epsilon.

    Dwork & Roth 2014, Theorem A.1, proved for epsilon < 1 only.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity, above 0.
    epsilon : float
        Above 0 and below 1. The theorem is not proved for larger epsilon, and false above about 8.4.
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
            f"the classical Gaussian mechanism needs epsilon below 1, got {epsilon:g}",
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
    sensitivity : float
        L2 sensitivity, above 0.
    epsilon : float
        From 1e-9 to 1e9.
    delta : float
        From 1e-300 to 0.5.

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

    sigma = sensitivity (a + sqrt(a^2 + epsilon)) / (epsilon sqrt 2) is exact for the a that solves erfc(a) - e^epsilon
    erfc(sqrt(a^2 + epsilon)) = 2 delta. A larger a only adds noise. Zhao et al. 2019, "Reviewing and Improving the
    Gaussian Mechanism for Differential Privacy", section 5, give two upper bounds on a:

    - "erfc": without the second term, the solution b = erfc^-1(2 delta) is above the root. With the second term at its
      smallest, a = erfc^-1(2 delta + e^epsilon erfc(sqrt(b^2 + epsilon))) is above every nonnegative root, and max(a,
      0) is above every root. The noise is at most 1.67 times the exact noise for epsilon >= 0.1 and delta <= 1e-3.
    - "logarithm": a = sqrt(ln(2 / (sqrt(16 delta + 1) - 1))). The noise is at most 1.92 times the exact noise there.

    Neither bound is sharp if epsilon is small relative to delta: the factor then grows like 1/sqrt(epsilon) or faster.

    Parameters
    ----------
    sensitivity, epsilon, delta : float
        As for `analytic_gaussian_sigma`.
    form : {"erfc", "logarithm"}
        Bound to use. The first is tighter.

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
    """Return the sum of the epsilons and the sum of the deltas, rounded up.

    Mechanisms may be chosen adaptively. Dwork & Roth 2014, Theorem 3.16.

    Parameters
    ----------
    pairs : iterable of (epsilon, delta)
        One pair for each mechanism.

    Examples
    --------
    >>> basic_composition([(0.5, 0.0), (0.25, 1e-6)])
    (0.75, 1e-06)
    """
    epsilons, deltas = Fraction(0), Fraction(0)
    entries = listed(pairs)
    if entries is None:
        raise OptionError(
            f"pairs: expected a list of (epsilon, delta), got {type(pairs).__name__}",
            option="pairs",
            allowed="a list of (epsilon, delta)",
        )
    for pair in entries:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise OptionError(
                f"pairs: expected every entry to be a pair (epsilon, delta), got {type(pair).__name__}",
                option="pairs",
                allowed="a list of (epsilon, delta)",
            )
        epsilon, delta = pair
        epsilons += Fraction(positive("epsilon", epsilon, advice=_ADVICE))
        deltas += Fraction(probability_below_one("delta", delta, advice=_ADVICE))
    return up(epsilons), min(1.0, up(deltas))


def advanced_composition(epsilon: float, delta: float, k: int, delta_slack: float) -> tuple[float, float]:
    """Return epsilon and delta of the composition of k mechanisms that are each (epsilon, delta)-DP.

    (epsilon sqrt(2 k ln(1/delta_slack)) + k epsilon (e^epsilon - 1), k delta + delta_slack)
    [Dwork, Rothblum & Vadhan 2010, Theorem III.3]. If k epsilon is large, basic composition gives a smaller epsilon.

    Parameters
    ----------
    epsilon : float
        Above 0, at most 100.
    delta : float
        At least 0 and below 1.
    k : int
        Number of mechanisms, at least 1.
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
            f"k: expected an integer of at least 1, the number of mechanisms, got {shown(count)}",
            option="k",
            given=count,
            allowed="an integer of at least 1",
        )
    total = epsilon * math.sqrt(2 * k * -math.log(slack)) + k * epsilon * math.expm1(epsilon)
    return total, min(1.0, k * delta + slack)


def _triple(sensitivity: float, epsilon: float, delta: float) -> tuple[float, float, float]:
    return (
        positive("sensitivity", sensitivity, advice="pass the L2 sensitivity of the released vector"),
        within("epsilon", epsilon, gaussian_dp.EPSILON_LOWEST, gaussian_dp.EPSILON_HIGHEST, advice=_ADVICE),
        _delta(delta),
    )


def _delta(delta: float, name: str = "delta") -> float:
    return within(
        name, delta, gaussian_dp.DELTA_LOWEST, gaussian_dp.DELTA_HIGHEST, advice="choose a delta such as 1e-6"
    )


# -- composition -------------------------------------------------------------------------------------------------------
# Composition of mechanisms ("pieces") that are fixed in advance.
#
# Gaussian pieces compose exactly, and pure pieces add their epsilons. If there are zCDP pieces, all pieces are added up
# as zCDP. A mixture of Gaussian and pure pieces uses privacy-loss distributions. If several bounds are valid, the
# smallest is returned.

# dp_accounting convolves in double precision, which can lose a probability of about 1e-12. Ten times as much is added
# to delta, and privacy-loss distributions are not used below a delta of 1e-9.
_PLD_LOSS = 1e-11
_PLD_LEAST_DELTA = 1e-9
_PLD_POINTS = 100_000
# largest total epsilon of pure pieces for privacy-loss distributions, because e^epsilon must not overflow
_PLD_GREATEST_PURE = 500.0


@dataclass(frozen=True, slots=True)
class GaussianPiece:
    """Gaussian mechanism with parameter mu = L2 sensitivity / sigma.

    >>> GaussianPiece(0.5).mu
    0.5
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive("mu", self.mu, advice="pass sensitivity / sigma"))


@dataclass(frozen=True, slots=True)
class ZcdpPiece:
    """Any rho-zCDP mechanism.

    >>> ZcdpPiece(0.1).rho
    0.1
    """

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive("rho", self.rho, advice="a mu-Gaussian mechanism has rho = mu^2/2"))


@dataclass(frozen=True, slots=True)
class PurePiece:
    """Any epsilon-DP mechanism, without further assumptions.

    >>> PurePiece(1.0).epsilon
    1.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        advice = "leave out a piece with epsilon = 0"
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon, advice=advice))


Piece = GaussianPiece | ZcdpPiece | PurePiece


@dataclass(frozen=True, slots=True)
class _Total:
    """Totals of the pieces of each kind, 0 for a kind that is absent."""

    mu: float
    rho: float
    rho_without_pure: float
    pure: float
    pure_pieces: tuple[float, ...]
    has_zcdp: bool


def compose(pieces: Sequence[Piece], *, delta: float | None = None, epsilon: float | None = None) -> float:
    """Return the epsilon of all pieces together at a given delta, or their delta at a given epsilon, rounded up.

    The pieces must be fixed in advance: neither their number nor their parameters may depend on the output of an
    earlier piece. The queries inside a piece may depend on it. Adaptively chosen parameters need an odometer or filter
    [Rogers, Roth, Ullman & Vadhan 2016].

    Parameters
    ----------
    pieces : sequence of GaussianPiece, ZcdpPiece, PurePiece
        At least one.
    delta : float, optional
        Return epsilon at this delta, which may be 0 if every piece is pure.
    epsilon : float, optional
        Return delta at this epsilon. Pass exactly one of `delta` and `epsilon`.

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
        return _delta_at(total, positive("epsilon", epsilon, advice="pass the epsilon that you want to guarantee"))
    raise OptionError(
        f"compose() needs exactly one of delta and epsilon, got delta = {shown(delta)} and epsilon = {shown(epsilon)}",
        option="delta",
        allowed="delta or epsilon, not both",
        remedy="pass one of them; the other is returned",
    )


def _add_up(pieces: Sequence[Piece]) -> _Total:
    entries = listed(pieces)
    if entries is None:
        raise OptionError(
            f"compose(): expected a list of pieces, got {type(pieces).__name__}",
            option="pieces",
            allowed="a list of pieces",
        )
    pieces = entries
    if not pieces:
        raise OptionError(
            "compose() needs at least one piece, got none", option="pieces", remedy="pass a piece for each mechanism"
        )
    for piece in pieces:
        if not isinstance(piece, Piece):
            raise OptionError(
                f"pieces: expected a GaussianPiece, ZcdpPiece or PurePiece, got {shown(piece)}",
                option="pieces",
                given=piece,
                allowed=("GaussianPiece", "ZcdpPiece", "PurePiece"),
                remedy="write, for instance, PurePiece(0.5)",
            )
    mus = [piece.mu for piece in pieces if isinstance(piece, GaussianPiece)]
    rhos = [Fraction(piece.rho) for piece in pieces if isinstance(piece, ZcdpPiece)]
    epsilons = sorted(piece.epsilon for piece in pieces if isinstance(piece, PurePiece))
    concentrated = sum((Fraction(mu) ** 2 / 2 for mu in mus), sum(rhos, Fraction(0)))
    # epsilon-DP is epsilon^2/2-zCDP [Bun & Steinke 2016, Proposition 1.4]
    from_pure = sum((Fraction(epsilon) ** 2 / 2 for epsilon in epsilons), Fraction(0))
    return _Total(
        mu=gaussian_dp.compose_mu(*mus) if mus else 0.0,
        # a larger rho is a weaker claim, so a rho below the convertible range may be raised to its lower end
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
        # basic composition of the pure pieces with the others
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
    """Return the zCDP bound, or infinity if rho is above the convertible range."""
    return gaussian_dp.epsilon_from_rho(rho, delta) if rho <= gaussian_dp.RHO_HIGHEST else math.inf


def _zcdp_delta(epsilon: float, rho: float) -> float:
    return gaussian_dp.delta_from_rho(epsilon, rho) if rho <= gaussian_dp.RHO_HIGHEST else 1.0


def _privacy_loss(total: _Total) -> Any:  # noqa: ANN401 - the library has no types
    """Return a pessimistic privacy-loss distribution of a Gaussian and worst-case pure pieces."""
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise MissingDependencyError("accounting", "dp_accounting") from error
    # the loss of the Gaussian lies within mu^2/2 +- 10 mu except with probability 1e-23
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

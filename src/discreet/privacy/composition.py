"""What several pieces cost together, when all of them are fixed beforehand.

Gaussian pieces compose exactly; with zCDP pieces everything is added up as zCDP; pure pieces add their epsilons; and a
mixture of Gaussian and pure pieces goes through privacy-loss distributions. Where more than one bound is true the
smaller one is given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import SpecError, missing_extra, shown
from discreet.exact.rounding import up
from discreet.privacy import gaussian, zcdp
from discreet.privacy.checks import listed, positive, probability_below_one

# dp_accounting convolves in double precision: over its grid that can lose about 1e-12 of probability, so results are
# charged ten times that, and below a delta of 1e-9 the distributions are not asked
_PLD_LOSS = 1e-11
_PLD_LEAST_DELTA = 1e-9
_PLD_POINTS = 100_000
# it also raises e to the power of a pure epsilon; beyond this a float overflows, and the other bounds are used alone
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
    """Any epsilon-DP mechanism; nothing more is assumed of it.

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
    """The pieces added up within each kind; 0 where a kind is absent."""

    mu: float
    rho: float
    rho_without_pure: float
    pure: float
    pure_pieces: tuple[float, ...]
    has_zcdp: bool


def compose(pieces: Sequence[Piece], *, delta: float | None = None, epsilon: float | None = None) -> float:
    """Epsilon at a delta, or delta at an epsilon, of all pieces together, rounded up.

    Only for pieces that are fixed beforehand: which pieces there are and their parameters may not depend on what an
    earlier piece returned (the queries inside a piece may). For parameters chosen as one goes, an odometer or filter
    is needed [Rogers, Roth, Ullman & Vadhan 2016].

    Parameters
    ----------
    pieces : sequence of GaussianPiece, ZcdpPiece, PurePiece
        At least one.
    delta : float, optional
        Ask for epsilon at this delta; 0 is allowed when every piece is pure.
    epsilon : float, optional
        Ask for delta at this epsilon. Give exactly one of the two.

    Returns
    -------
    float
        The figure that was not given.

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
    raise SpecError(
        f"compose() got delta = {shown(delta)} and epsilon = {shown(epsilon)}; give exactly one; the other is returned"
    )


def _add_up(pieces: Sequence[Piece]) -> _Total:
    given = listed(pieces)
    if given is None:
        raise SpecError(f"compose(): expected a list of pieces, got {type(pieces).__name__}")
    pieces = given
    if not pieces:
        raise SpecError("compose() got no pieces; it needs at least one; name what was released")
    for piece in pieces:
        if not isinstance(piece, Piece):
            raise SpecError(
                f"{shown(piece)} is not a piece; allowed: GaussianPiece, ZcdpPiece, PurePiece; wrap it in one"
            )
    mus = [piece.mu for piece in pieces if isinstance(piece, GaussianPiece)]
    rhos = [Fraction(piece.rho) for piece in pieces if isinstance(piece, ZcdpPiece)]
    epsilons = sorted(piece.epsilon for piece in pieces if isinstance(piece, PurePiece))
    concentrated = sum((Fraction(mu) ** 2 / 2 for mu in mus), sum(rhos, Fraction(0)))
    # epsilon-DP is epsilon^2/2-zCDP [Bun & Steinke 2016, Proposition 1.4]
    from_pure = sum((Fraction(epsilon) ** 2 / 2 for epsilon in epsilons), Fraction(0))
    return _Total(
        mu=gaussian.compose_mu(*mus) if mus else 0.0,
        # a larger rho is a weaker claim, so the least convertible one may replace anything below it
        rho=max(up(concentrated + from_pure), zcdp.RHO_LOWEST),
        rho_without_pure=max(up(concentrated), zcdp.RHO_LOWEST),
        pure=up(sum(map(Fraction, epsilons), Fraction(0))),
        pure_pieces=tuple(epsilons),
        has_zcdp=bool(rhos),
    )


def _epsilon_at(total: _Total, delta: float) -> float:
    only_pure = not (total.mu or total.has_zcdp)
    if only_pure and delta == 0:
        return total.pure
    if not (total.pure or total.has_zcdp):
        return gaussian.epsilon_from(total.mu, delta)
    candidates = [_zcdp_epsilon(total.rho, delta)]
    if only_pure:
        candidates.append(total.pure)
    elif total.has_zcdp:
        # basic composition of the pure part with the rest; without a pure part this is the first candidate again
        candidates.append(_sum_up(total.pure, _zcdp_epsilon(total.rho_without_pure, delta)))
    else:
        candidates.append(_sum_up(total.pure, gaussian.epsilon_from(total.mu, delta)))
        if delta >= _PLD_LEAST_DELTA and total.pure <= _PLD_GREATEST_PURE:
            candidates.append(float(_privacy_loss(total).get_epsilon_for_delta(delta - _PLD_LOSS)))
    return min(candidates)


def _delta_at(total: _Total, epsilon: float) -> float:
    only_pure = not (total.mu or total.has_zcdp)
    if only_pure and epsilon >= total.pure:
        return 0.0
    if not (total.pure or total.has_zcdp):
        return gaussian.delta_from(epsilon, total.mu)
    candidates = [_zcdp_delta(epsilon, total.rho)]
    # rounded down, so that pure + rest is not above epsilon
    rest = math.nextafter(epsilon - total.pure, -math.inf) if total.pure else epsilon
    if total.has_zcdp and rest >= 0:
        candidates.append(_zcdp_delta(rest, total.rho_without_pure))
    if total.mu and not total.has_zcdp:
        if rest >= 0:
            candidates.append(gaussian.delta_from(rest, total.mu))
        if total.pure <= _PLD_GREATEST_PURE:
            candidates.append(float(_privacy_loss(total).get_delta_for_epsilon(epsilon)) + _PLD_LOSS)
    return min(candidates)


def _sum_up(first: float, second: float) -> float:
    return up(Fraction(first) + Fraction(second))


def _zcdp_epsilon(rho: float, delta: float) -> float:
    """Give the zCDP bound, or none at all where rho is beyond what is converted."""
    return zcdp.epsilon_from_rho(rho, delta) if rho <= zcdp.RHO_HIGHEST else math.inf


def _zcdp_delta(epsilon: float, rho: float) -> float:
    return zcdp.delta_from_rho(epsilon, rho) if rho <= zcdp.RHO_HIGHEST else 1.0


def _privacy_loss(total: _Total) -> Any:  # noqa: ANN401 - the library has no types
    """Pessimistic privacy-loss distribution of a Gaussian with pure pieces at their worst (randomised response)."""
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise missing_extra("accounting", "dp_accounting") from error
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

"""What one request costs a person, in every currency that a filter adds up.

A pure mechanism is read as a Gaussian one by the trade-off between the two kinds of error: that of epsilon-DP is
piecewise linear through (0, 1), (a, a) and (1, 0) with a = 1/(1 + e^epsilon), and the convex curve of mu-Gaussian DP
with mu = 2 Phi^-1(1 - a) goes through the same three points, hence never above it. So epsilon-DP implies
mu-Gaussian DP [Dong, Roth & Su 2022, Definition 2.6 and Proposition 2.5].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final

from discreet.errors import SpecError
from discreet.exact.normal import EIGHTY_DIGITS, SQRT_TWO_PI, mills
from discreet.exact.rounding import root_up, up
from discreet.privacy.checks import positive, probability_below_one

_ADVICE: Final = "take it from the mechanism's own noise"
# far below the spacing of doubles, far above the error of mills
_STEP: Final = Decimal("1e-20")
_NEAR: Final = Decimal("1e-9")
_LEAST_TAIL: Final = 1e-300
# beyond it mu = 2 sqrt(2 epsilon) is used, which is larger
_EPSILON_EXACT: Final = 1000.0
# below it the tangent at 0, which lies above, is as good as the curve
_EPSILON_TINY: Final = 1e-12
_LARGEST_FLOAT: Final = math.nextafter(math.inf, 0.0)


@dataclass(frozen=True, slots=True)
class Loss:
    """What one request costs, stated in each currency; every figure is an upper bound.

    Outside an event of probability `failure` the request is `mu`-Gaussian DP up to a total variation of `tau`, and
    `rho`-zCDP. By itself it is (`epsilon`, `delta`)-DP. Use the constructors `gaussian`, `pure`, `approximate` and
    `together`.

    Attributes
    ----------
    epsilon, delta
        The request by itself.
    mu
        Gaussian parameter of all its parts together.
    rho
        Their zero-concentrated loss.
    tau
        Total variation, for any table, between what is published and what a mu-Gaussian mechanism would publish: what
        discrete instead of continuous noise amounts to.
    failure
        Part of delta that `mu` and `rho` do not cover.

    Examples
    --------
    >>> Loss.pure(1.0).rho
    0.5
    """

    epsilon: float
    delta: float
    mu: float
    rho: float
    tau: float = 0.0
    failure: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "mu", "rho"):
            object.__setattr__(self, name, positive(name, getattr(self, name), advice=_ADVICE))
        for name in ("delta", "tau", "failure"):
            object.__setattr__(self, name, probability_below_one(name, getattr(self, name), advice=_ADVICE))

    @property
    def is_pure(self) -> bool:
        """Whether epsilon alone is promised.

        >>> Loss.pure(1.0).is_pure, Loss.approximate(1.0, 1e-6).is_pure
        (True, False)
        """
        return self.delta == 0

    @classmethod
    def gaussian(cls, epsilon: float, delta: float, *, mu: float, tau: float) -> Loss:
        """A discrete Gaussian request: its own promise, the mu of all its noise, and the step to the lattice.

        The discrete law keeps mu^2/2-zCDP without a gap [Canonne, Kamath & Steinke 2020].

        >>> Loss.gaussian(1.0, 1e-6, mu=0.5, tau=1e-12).rho
        0.125
        """
        return cls(
            epsilon, delta, mu, min(up(Fraction(positive("mu", mu, advice=_ADVICE)) ** 2 / 2), _LARGEST_FLOAT), tau
        )

    @classmethod
    def pure(cls, epsilon: float) -> Loss:
        """An epsilon-DP request of which nothing more is known.

        >>> round(Loss.pure(1.0).mu, 6)
        1.232035
        """
        return cls.approximate(epsilon, 0.0)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Loss:
        """An (epsilon, delta)-DP request of which nothing more is known.

        Up to an event of probability delta it is epsilon-DP [Kairouz, Oh & Viswanath 2015, Theorem 3.3].

        >>> Loss.approximate(1.0, 1e-6).failure
        1e-06
        """
        epsilon = positive("epsilon", epsilon, advice=_ADVICE)
        # no budget is as large as the largest float, so what is beyond it stays refused
        rho = min(up(Fraction(epsilon) ** 2 / 2), _LARGEST_FLOAT)
        return cls(epsilon, delta, pure_mu(epsilon), rho, 0.0, delta)

    @classmethod
    def together(cls, epsilon: float, delta: float, parts: Sequence[Loss]) -> Loss:
        """Parts of one request that is (epsilon, delta)-DP by itself; later parts may depend on earlier ones.

        >>> Loss.together(2.0, 0.0, [Loss.pure(1.0), Loss.pure(1.0)]).rho
        1.0
        """
        if not parts:
            raise SpecError("expected at least one part of a loss, got none")
        return cls(
            epsilon,
            delta,
            root_up(sum((Fraction(part.mu) ** 2 for part in parts), Fraction(0))),
            up(sum((Fraction(part.rho) for part in parts), Fraction(0))),
            up(sum((Fraction(part.tau) for part in parts), Fraction(0))),
            up(sum((Fraction(part.failure) for part in parts), Fraction(0))),
        )


@lru_cache(maxsize=256)
def pure_mu(epsilon: float) -> float:
    """Smallest mu for which every epsilon-DP mechanism is mu-Gaussian DP, rounded up: 2 Phi^-1(e^eps / (1 + e^eps)).

    Beyond 1000 the larger 2 sqrt(2 epsilon) is given.

    >>> round(pure_mu(0.1), 6)
    0.125309
    """
    with localcontext(EIGHTY_DIGITS):
        exact = Decimal(positive("epsilon", epsilon, advice="choose an epsilon between 0.1 and 8"))
        if epsilon < _EPSILON_TINY:
            # Phi^-1(e^eps / (1 + e^eps)) is concave for eps > 0 with slope sqrt(2 pi)/4 at 0
            return up(SQRT_TWO_PI / 2 * exact * (1 + _STEP))
        if epsilon > _EPSILON_EXACT:
            # 1 - Phi(x) <= exp(-x^2/2) / 2 is below 1/(1 + e^eps) at x = sqrt(2 eps)
            return up(2 * (2 * exact).sqrt() * (1 + _STEP))
        tail = 1 / (1 + exact.exp())

        def above(x: Decimal) -> bool:
            """Whether 1 - Phi(x) = M(x) phi(x), which falls in x, is above the tail."""
            return mills(x) * (-x * x / 2).exp() / SQRT_TWO_PI > tail

        low, high = Decimal(0), (2 * exact).sqrt() + 1
        # doubles say where to look; what they say is checked
        guess = Decimal(-NormalDist().inv_cdf(max(float(tail), _LEAST_TAIL)))
        if guess > 0 and above(guess * (1 - _NEAR)) and not above(guess * (1 + _NEAR)):
            low, high = guess * (1 - _NEAR), guess * (1 + _NEAR)
        while high - low > _STEP * high:
            middle = (low + high) / 2
            if above(middle):
                low = middle
            else:
                high = middle
        return up(2 * high * (1 + _STEP))

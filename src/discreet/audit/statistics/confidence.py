"""What counts of an event say for certain: Clopper-Pearson limits, and the epsilon or mu that they rule out.

An event E has probability p on one table and q on its neighbour. (epsilon, delta)-DP demands p <= e^epsilon q + delta
and 1 - q <= e^epsilon (1 - p) + delta; mu-Gaussian DP demands Phi^-1(p) - Phi^-1(q) <= mu. Each left side rises in p
and falls in q, so a lower limit of p and an upper limit of q, each wrong with probability alpha/2, give lower bounds
of epsilon and of mu that are all wrong together with probability at most alpha.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv, ndtri

from discreet.audit.statistics.claims import Claim
from discreet.exact.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the probability of one event, or of many, on two tables.

    Attributes
    ----------
    low
        Lower limit on the table on which the event is likelier.
    high
        Upper limit on its neighbour.
    """

    low: FloatArray
    high: FloatArray

    def epsilon(self, delta: float) -> FloatArray:
        """Lower bound of epsilon at this delta; 0 where nothing is ruled out."""
        with np.errstate(divide="ignore", invalid="ignore"):
            direct = np.log(np.maximum(self.low - delta, 0) / self.high)
            opposite = np.log(np.maximum(1 - self.high - delta, 0) / (1 - self.low))
        return _above_zero(np.fmax(direct, opposite))

    def mu(self, gap: float) -> FloatArray:
        """Lower bound of mu, where outputs may be this far in total variation from Gaussian ones."""
        low, high = np.clip(self.low - gap, 0, 1), np.clip(self.high + gap, 0, 1)
        with np.errstate(invalid="ignore"):
            return _above_zero(ndtri(low) - ndtri(high))

    def of(self, claim: Claim) -> tuple[FloatArray, FloatArray]:
        """Lower bounds of epsilon at the claim's delta, and of mu at its gap."""
        return self.epsilon(claim.delta), self.mu(claim.gap)


def limits(hits: npt.ArrayLike, draws: int, other_hits: npt.ArrayLike, other_draws: int, alpha: float) -> Limits:
    """Clopper-Pearson limits that are both right with probability of at least 1 - alpha.

    >>> found = limits(50, 100, 0, 100, 0.01)
    >>> round(float(found.low), 3), round(float(found.high), 3), round(float(found.epsilon(0.0)), 2)
    (0.369, 0.052, 1.97)
    """
    return Limits(lower_limit(hits, draws, alpha / 2), upper_limit(other_hits, other_draws, alpha / 2))


def lower_limit(hits: npt.ArrayLike, draws: int, alpha: float) -> FloatArray:
    """A lower limit of a probability, too high with probability of at most alpha."""
    counted: IntArray = np.asarray(hits)
    return np.where(counted > 0, betaincinv(np.maximum(counted, 1), draws - counted + 1, alpha), 0.0)


def upper_limit(hits: npt.ArrayLike, draws: int, alpha: float) -> FloatArray:
    """An upper limit of a probability, too low with probability of at most alpha."""
    counted: IntArray = np.asarray(hits)
    return np.where(counted < draws, betainccinv(counted + 1, np.maximum(draws - counted, 1), alpha), 1.0)


def _above_zero(bound: FloatArray) -> FloatArray:
    return np.asarray(np.where(np.isfinite(bound), np.maximum(bound, 0.0), 0.0))

"""Losses that grow like a power beyond a threshold: bounded scores, and their weights. Proof: irls.proof.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.exact.elementary import exp, log

# residuals count at most this much: a prediction inside the target's bounds leaves no larger one
LARGEST_RESIDUAL: Final = 2.0


@dataclass(frozen=True, slots=True)
class RobustLoss:
    """A convex loss: squared up to a threshold, like a power of the residual beyond it, linear beyond a residual of 2.

    With c = threshold its score is `psi(r) = r` up to c and `psi(r) = c sign(r) (min(|r|, 2) / c)^(power - 1)` beyond.
    It never falls and its slope is at most 1. With power 1 it is Huber's.

    Attributes
    ----------
    power
        From 1 to 2.
    threshold
        In scaled units of the target, above 0 and at most 2.

    Examples
    --------
    >>> huber = RobustLoss(1.0, 0.5)
    >>> huber.bound, huber.score(np.array([-2.0, 0.25])).tolist()
    (0.5, [-1.0, 0.5])
    """

    power: float
    threshold: float

    @property
    def bound(self) -> float:
        """Largest size of psi."""
        return float(self.threshold * (LARGEST_RESIDUAL / self.threshold) ** (self.power - 1.0))

    def score(self, residual: FloatArray) -> FloatArray:
        """Give psi / bound, each a function of its own residual with the same bits wherever it is."""
        ratio = residual / self.threshold
        if self.power == 1.0:
            return np.clip(ratio, -1.0, 1.0)
        beyond = np.copysign(self._tail(np.abs(ratio)), ratio)
        return np.where(np.abs(ratio) < 1.0, ratio, beyond) / (self.bound / self.threshold)

    def root(self, residual: FloatArray) -> FloatArray:
        """Square root of the weight psi(r) / r, a number in [0, 1], under the same condition."""
        ratio = np.maximum(np.abs(residual) / self.threshold, 1.0)
        return np.sqrt(self._tail(ratio) / ratio)  # [P:root-bits]

    def _tail(self, ratio: FloatArray) -> FloatArray:
        """|psi| / c from |r| / c, for those that are at least 1."""
        if self.power == 1.0:
            return np.ones_like(ratio)
        clipped = np.clip(ratio, 1.0, LARGEST_RESIDUAL / self.threshold)
        return exp((self.power - 1.0) * log(clipped))  # [P:tail-bits]

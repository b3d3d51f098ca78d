"""The note's simulated tables: normal regressors, a linear target, both divided by their largest norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.exact.arrays import FloatArray

COLUMNS: Final = 10
VARIANCE: Final = 0.01
TEST_SHARE: Final = 0.1


@dataclass(frozen=True)
class Simulated:
    """Training and test rows inside the unit ball, with targets of at most 1 in size.

    Attributes
    ----------
    variance
        Of the target given the regressors, in the units of the divided target.
    """

    x: FloatArray
    y: FloatArray
    test_x: FloatArray
    test_y: FloatArray
    variance: float

    def log_likelihood(self, predicted: FloatArray) -> float:
        """Mean normal log density of the test targets around predictions, at the true variance."""
        square = float(np.mean((self.test_y - predicted) ** 2))
        return -0.5 * float(np.log(2 * np.pi * self.variance)) - square / (2 * self.variance)


def simulated(rows: int, rng: np.random.Generator, *, columns: int = COLUMNS) -> Simulated:
    """Training rows and a tenth as many test rows; the largest norms are taken over both, as scales of the data.

    NOT PRIVATE by itself: the divisors come from the rows. The note's guarantee takes the unit ball as declared.

    >>> table = simulated(100, np.random.default_rng(1))
    >>> table.x.shape, table.test_x.shape, float(max(abs(table.y).max(), abs(table.test_y).max()))
    ((100, 10), (10, 10), 1.0)
    """
    tests = max(1, round(rows * TEST_SHARE))
    x = rng.standard_normal((rows + tests, columns))
    x /= np.sqrt(np.einsum("ij,ij->i", x, x).max())
    y = x @ rng.standard_normal(columns) + np.sqrt(VARIANCE) * rng.standard_normal(rows + tests)
    largest = float(np.abs(y).max())
    y /= largest
    return Simulated(x[:rows], y[:rows], x[rows:], y[rows:], VARIANCE / largest**2)

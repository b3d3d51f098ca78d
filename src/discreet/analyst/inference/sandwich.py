r"""The middle of the robust sandwich, M~ = sum r^2 z z' + E with E of known law, and how much of it is believed.

The sampling variance of a combination is m = a'M a, and there are two estimates of it. a'M~a is unbiased, its noise has
the known variance tau^2 = Var(a'E a), and it may be negative. The form of the nearest positive semidefinite matrix is
steadier, and too large on average where noise prevails: in simulations its median was up to 10 times m. Their mean x is
taken, and held against p = s^2 a'A a, the variance that errors of one variance give, whose noise is far smaller:

    x < p:      x + tau, but not beyond p;
    x > 10 p:   x - 2 tau, but not below 10 p.

So where noise hides m it counts as something between 1 and 10 times p; as noise vanishes it is a'M a, whatever p is. Up
and down differ because too small a variance costs more coverage than one that is too large wins. The numbers 1/2, 1,
10, 1 and 2 are constants, chosen once on simulated tables with equal and unequal variances; no data enters them.

Nothing is taken off between p and 10 p. Where variances are equal, sets then cover up to 97.7% (n = 1,000, epsilon 5).
To take off tau / 4 there, or to put 3 or 5 in the place of 10, would bring that to 97.2 to 97.5%, but an income whose
errors vary with it (401ksubs, n = 10,000, epsilon 5) would be covered in 89 to 91% instead of 93%.

A joint test looks for the direction that speaks most against the hypotheses, so one that noise makes look certain would
be found too often. It takes M~ with its eigenvalues in units of the plain middle moved by the same rule, but up by 3/2
standard deviations of their noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

import numpy as np

from discreet.exact.arrays import FloatArray

_PLAUSIBLE: Final = 10.0  # times the variance of equal variances: what lies above is believed less its noise
_DOWN: Final = 2.0  # standard deviations of the noise
_UP: Final = 1.0
_JOINT_UP: Final = 1.5


@dataclass(frozen=True, eq=False)
class Middle:
    """The released middle of the sandwich, k coefficients.

    Attributes
    ----------
    released
        M~, shape (k, k).
    variance
        Variances of the independent entries of its noise, shape (k, k).
    plain
        The middle for errors of one variance, s^2 A; 0 where the noise left no residual variance, shape (k, k).
    """

    released: FloatArray
    variance: FloatArray
    plain: FloatArray

    @cached_property
    def definite(self) -> FloatArray:
        """The nearest matrix that is not below 0 in any direction, shape (k, k)."""
        values, vectors = np.linalg.eigh(self.released)
        return cast("FloatArray", (vectors * np.maximum(values, 0.0)) @ vectors.T)

    @cached_property
    def _root(self) -> FloatArray | None:
        """Of the plain middle; none where there is nothing to measure by."""
        try:
            return cast("FloatArray", np.linalg.cholesky(self.plain))
        except np.linalg.LinAlgError:
            return None

    def along(self, rows: FloatArray) -> FloatArray:
        """Sampling variance of the score along each row, shape (m,), from rows of shape (m, k)."""
        definite = _forms(rows, self.definite)
        if self._root is None:
            return definite
        mean = (_forms(rows, self.released) + definite) / 2
        return _believed(mean, self.noise(rows), _forms(rows, self.plain), _UP)

    def joint(self) -> FloatArray:
        """The middle for tests of several hypotheses, shape (k, k)."""
        root = self._root
        if root is None:
            return self.definite
        inverse = np.linalg.inv(root)
        values, vectors = np.linalg.eigh(inverse @ self.released @ inverse.T)
        moved = _believed(values, self.noise(vectors.T @ inverse), np.ones_like(values), _JOINT_UP)
        sides = root @ vectors
        return cast("FloatArray", (sides * moved) @ sides.T)

    def noise(self, rows: FloatArray) -> FloatArray:
        """Standard deviation of a'E a for each row a, shape (m,): entries off the diagonal are there twice."""
        squares = rows**2
        variance = ((2 * squares @ self.variance - squares * self.variance.diagonal()) * squares).sum(axis=1)
        return cast("FloatArray", np.sqrt(np.maximum(variance, 0.0)))


def _believed(values: FloatArray, noise: FloatArray, plain: FloatArray, up: float) -> FloatArray:
    """What is taken for values with this noise; see the head of the module.

    >>> ones = np.ones(5)
    >>> _believed(np.array([-5.0, -1.0, 4.0, 11.0, 14.0]), 1.5 * ones, ones, 1.0).tolist()
    [0.0, 0.5, 4.0, 10.0, 11.0]
    """
    raised = np.clip(values + up * noise, 0.0, plain)
    lowered = np.maximum(values - _DOWN * noise, _PLAUSIBLE * plain)
    return np.where(values < plain, raised, np.where(values > _PLAUSIBLE * plain, lowered, values))


def _forms(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    return cast("FloatArray", ((rows @ matrix) * rows).sum(axis=1))

"""AdaSSP as published in Wang's code, on rows of a declared box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.papers.kalaja.algorithms import Sums, adassp_coded
from discreet.papers.rivals.rows import BoxedRegressor

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray


class PublishedAdaSSP(BoxedRegressor):
    """AdaSSP with the constants of its code, which spend less than they claim (Wang 2018).

    >>> import numpy as np
    >>> x = np.linspace(0, 1, 2_000)[:, None]
    >>> given = {"epsilon": 5.0, "delta": 1e-6, "bounds": [(0.0, 1.0)], "target_bounds": (0.0, 2.0)}
    >>> PublishedAdaSSP(**given, seed=1).fit(x, 2 * x[:, 0]).predict(np.array([[0.5]])).round(1).tolist()
    [1.0]
    """

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One draw."""
        found: FloatArray = adassp_coded(Sums.of(a, v), np.array([self.epsilon]), self.delta, rng)[0]
        return found

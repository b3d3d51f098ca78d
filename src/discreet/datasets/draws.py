"""Random columns for simulated tables, each made from uniform numbers alone.

NumPy promises the raw stream of a seed, not what its laws make of it [Kern 2018, NEP 19]; uniform numbers stay closest
to that stream. And a bell that ends leaves no value outside bounds that follow from the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.datasets.bundled import plain_table
from discreet.datasets.dataset import Dataset
from discreet.design.columns import Categorical
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import is_integer

CodeArray: TypeAlias = npt.NDArray[np.intp]


class Draws:
    """Columns of `rows` random cells, from a seed; asking in the same order gives the same columns.

    >>> bool(np.all(Draws(rows=5, seed=1).bell(0, 1) == Draws(rows=5, seed=1).bell(0, 1)))
    True
    """

    def __init__(self, rows: int, seed: int) -> None:
        for name, value, least in (("rows", rows, 1), ("seed", seed, 0)):
            if not is_integer(value) or value < least:
                raise SpecError(f"{name} {shown(value)} is not allowed; choose an integer of at least {least}")
        self._rows = rows
        self._rng = np.random.default_rng(seed)

    def uniform(self) -> FloatArray:
        """Numbers from 0 up to, but not including, 1."""
        return self._rng.random(self._rows)

    def bell(self, mean: float, sd: float) -> FloatArray:
        """Bell-shaped numbers within three standard deviations: the scaled sum of three uniform numbers."""
        total = self.uniform() + self.uniform() + self.uniform()
        # the sum of three has mean 3/2 and variance 3/12
        return mean + 2 * sd * (total - 1.5)

    def share(self, probability: float) -> npt.NDArray[np.bool_]:
        """True with a probability."""
        return self.uniform() < probability

    def codes(self, shares: Sequence[float]) -> CodeArray:
        """Positions 0, 1, ... with the given shares, which sum to 1."""
        # the last share takes what rounding leaves
        return np.searchsorted(np.cumsum(shares)[:-1], self.uniform(), side="right")


def linear(coefficients: Mapping[str, float], columns: Mapping[str, npt.ArrayLike]) -> FloatArray:
    """The intercept plus every coefficient times the column of its name.

    >>> linear({"Intercept": 1.0, "x": 2.0, "g[b]": -1.0}, {"x": [0, 1], "g[b]": [True, False]}).tolist()
    [0.0, 3.0]
    """
    slopes = {name: value for name, value in coefficients.items() if name != "Intercept"}
    terms = [value * np.asarray(columns[name], dtype=np.float64) for name, value in slopes.items()]
    total: FloatArray = np.sum(terms, axis=0)
    return total + coefficients["Intercept"]


def simulated(
    draw: Draws,
    design: Design,
    columns: Mapping[str, npt.ArrayLike],
    levels: Mapping[str, npt.NDArray[np.str_]],
    coefficients: Mapping[str, float],
    sd: float,
    **about: Any,  # noqa: ANN401  # name, title, reasons and note of the data set
) -> Dataset:
    """A data set whose target is linear in numbers and levels, plus bell-shaped noise that is drawn last.

    >>> draw, design = Draws(rows=4, seed=1), Design("y", {"y": (0, 9), "x": (0, 1)})
    >>> about = {"name": "made", "title": "y on x", "reasons": {}, "note": "made up"}
    >>> simulated(draw, design, {"x": draw.uniform()}, {}, {"Intercept": 3.0, "x": 2.0}, 0.5, **about).table.num_rows
    4
    """
    # by declaration: a small table may lack a level
    declared = {name: column.levels for name, column in design.columns.items() if isinstance(column, Categorical)}
    indicators = {f"{name}[{level}]": cells == level for name, cells in levels.items() for level in declared[name]}
    target = linear(coefficients, {**columns, **indicators}) + draw.bell(0, sd)
    table = plain_table({**columns, **levels, design.target: target}, design)
    return Dataset(data=table, design=design, simulated=True, coefficients=coefficients, **about)

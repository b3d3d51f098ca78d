"""Simulate columns from uniform random numbers, and tables from a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.analyst.planning.assumptions import Assume, Assumptions, ColumnAssumption, read_assumptions
from discreet.datasets.tables import Dataset, plain_table, wrong_design
from discreet.design.columns import Base, Boolean, Categorical, Numeric
from discreet.design.design import Design
from discreet.errors import OptionError
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import is_integer

if TYPE_CHECKING:
    from pyarrow import Array, Table

# -- draws -------------------------------------------------------------------------------------------------------------
# Random columns for simulated tables, computed from uniform numbers only.
#
# NumPy guarantees the raw random stream of a seed, but not the variates of its distributions [Kern 2018, NEP 19].
# Uniform numbers are closest to that stream. A truncated bell shape keeps all values inside the model's bounds.

CodeArray: TypeAlias = npt.NDArray[np.intp]


class Draws:
    """Generator of random columns with `rows` cells. The same seed and the same calls give the same columns."""

    def __init__(self, rows: int, seed: int) -> None:
        for name, value, least in (("rows", rows, 1), ("seed", seed, 0)):
            if not is_integer(value) or value < least:
                raise OptionError(option=name, given=value, allowed=f"an integer of at least {least}")
        self._rows = rows
        self._rng = np.random.default_rng(seed)

    def uniform(self) -> FloatArray:
        """Draw numbers uniformly from [0, 1)."""
        return self._rng.random(self._rows)

    def bell(self, mean: float, sd: float) -> FloatArray:
        """Draw approximately normal numbers within three standard deviations, from sums of three uniform numbers."""
        total = self.uniform() + self.uniform() + self.uniform()
        # a sum of three uniform numbers has mean 3/2 and variance 3/12
        return mean + 2 * sd * (total - 1.5)

    def share(self, probability: float) -> npt.NDArray[np.bool_]:
        """Draw booleans that are true with the given probability."""
        return self.uniform() < probability

    def codes(self, shares: Sequence[float]) -> CodeArray:
        """Draw the integers 0, 1, ... with the given probabilities, which must sum to 1."""
        # the last code takes the rounding error of the sum
        return np.searchsorted(np.cumsum(shares)[:-1], self.uniform(), side="right")


def linear(coefficients: Mapping[str, float], columns: Mapping[str, npt.ArrayLike]) -> FloatArray:
    """Return the linear predictor: the intercept plus the sum of each coefficient times its column.

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
    """Simulate a target that is linear in numeric columns and factor levels.

    Approximately normal noise is added to the target. It is drawn after all columns.

    >>> draw, design = Draws(rows=4, seed=1), Design("y", {"y": (0, 9), "x": (0, 1)})
    >>> about = {"name": "example", "title": "y on x", "reasons": {}, "note": "synthetic"}
    >>> simulated(draw, design, {"x": draw.uniform()}, {}, {"Intercept": 3.0, "x": 2.0}, 0.5, **about).table.num_rows
    4
    """
    # use the declared levels, because a small table may not contain all of them
    declared = {name: column.levels for name, column in design.columns.items() if isinstance(column, Categorical)}
    indicators = {f"{name}[{level}]": cells == level for name, cells in levels.items() for level in declared[name]}
    target = linear(coefficients, {**columns, **indicators}) + draw.bell(0, sd)
    table = plain_table({**columns, **levels, design.target: target}, design)
    return Dataset(data=table, design=design, simulated=True, coefficients=coefficients, **about)


# -- from design -------------------------------------------------------------------------------------------------------
# Synthetic rows for a design, within the declared bounds and with the properties that a plan assumes.

_MAX_ROWS: Final = 1_000_000
# numbers with private bounds are drawn from this interval, intersected with the declared range
_DEFAULT_RANGE: Final = (-100.0, 100.0)
_MARK: Final = {"discreet": "SIMULATED rows, not of real people"}


def simulated_rows(
    design: Design,
    rows: int = 1000,
    *,
    seed: int = 0,
    rsquared: float | None = None,
    spread: float | None = None,
    target_spread: float | None = None,
    assume: Assume | None = None,
) -> Table:
    """Simulate rows for a design, so that every step can be tried before the real table is opened.

    Numbers lie within their declared bounds, all levels are declared, and no cell is missing. The target is linear in
    the other columns, plus noise. If the target has a formula, it is computed from its columns. No real data is used.

    Parameters
    ----------
    design : Design
        The declarations. Numbers with private bounds are drawn between -100 and 100 and within their declared range.
    rows : int
        Number of rows, at most a million.
    seed : int
        Random seed. The same seed gives the same rows with the same version of NumPy.
    rsquared, spread, target_spread, assume
        Assumptions about the table, as for `discreet.plan`. Slopes and correlations are not used.

    Returns
    -------
    pyarrow.Table
        The columns that a release reads, including the id column if the design has one.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5), "g": ["a", "b"]})
    >>> table = discreet.datasets.simulated_rows(design, 50)
    >>> table.column_names, table.num_rows
    (['y', 'x', 'g'], 50)
    >>> discreet.check(table, design).rows_fit
    50
    """
    if not isinstance(design, Design):
        raise wrong_design(design)
    for name, value, least, most in (("rows", rows, 1, _MAX_ROWS), ("seed", seed, 0, 2**63)):
        if not is_integer(value) or not least <= value <= most:
            raise OptionError(option=name, given=value, allowed=f"an integer from {least} to {most}")
    import pyarrow as pa

    bounded = design.with_found({name: _default_range(design.ranges[name]) for name in design.searched})
    assumptions = read_assumptions(
        bounded, rows, rsquared=rsquared, spread=spread, target_spread=target_spread, assume=assume, correlation=None
    )
    draw = _Rows(bounded, assumptions, rows, seed)
    arrays = {name: draw.array(name, column) for name, column in bounded.table_columns.items()}
    if design.unit.id is not None:
        arrays[design.unit.id] = pa.array(draw.persons(design.unit.max_rows))
    return pa.table(arrays).replace_schema_metadata(_MARK)


def _default_range(declared: tuple[float, float]) -> tuple[float, float]:
    low, high = max(declared[0], _DEFAULT_RANGE[0]), min(declared[1], _DEFAULT_RANGE[1])
    return (low, high) if low < high else declared


class _Rows:
    """Simulation of a table, column by column. The target is computed from the columns drawn before it."""

    def __init__(self, design: Design, assumptions: Assumptions, rows: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._design, self._assumptions, self._rows = design, assumptions, rows
        self._scores: list[FloatArray] = []
        self._drawn = {
            name: self._values(name, column) for name, column in design.table_columns.items() if name != design.target
        }
        if design.target in design.table_columns:
            self._drawn[design.target] = self._target(design.table_columns[design.target])

    def array(self, name: str, column: Base) -> Array:
        """Convert a simulated column to the Arrow type that it would have in a real table."""
        import pyarrow as pa

        values = self._drawn[name]
        if isinstance(column, Categorical):
            return pa.array([column.levels[int(code)] for code in values])
        if isinstance(column, Boolean):
            return pa.array(values > 0.5)
        if isinstance(column, Numeric) and column.is_date:
            return pa.array(np.round(values).astype(np.int32)).cast(pa.date32())
        return pa.array(values)

    def persons(self, most: int) -> Any:  # noqa: ANN401  # an array of integers
        """Draw ids with between one and `most` rows for every individual."""
        counts = self._rng.integers(1, most + 1, self._rows)
        return np.repeat(np.arange(self._rows), counts)[: self._rows]

    def _values(self, name: str, column: Base) -> FloatArray:
        """Draw the values of a column, and store its contribution to the target.

        Booleans are drawn as 0 and 1, and levels as their codes. Weights do not contribute to the target.
        """
        assumption = self._assumptions.supposed[name]
        if isinstance(column, Categorical):
            # the last level takes the rounding error of the sum
            ends = np.cumsum([share for _, share in assumption.shares or ()])[:-1]
            codes = np.searchsorted(ends, self._rng.random(self._rows), side="right").astype(np.float64)
            self._store_score(codes)
            return codes
        if isinstance(column, Boolean):
            cells = (self._rng.random(self._rows) < (assumption.share or 0.0)).astype(np.float64)
            self._store_score(cells)
            return cells
        numbers = self._numbers(column, assumption)
        if name != self._design.weights:
            self._store_score(numbers)
        return numbers

    def _store_score(self, values: FloatArray) -> None:
        if values.std() > 0:
            self._scores.append((values - values.mean()) / values.std())

    def _numbers(self, column: Numeric, assumption: ColumnAssumption) -> FloatArray:
        """Draw from a beta distribution, stretched to the bounds, with the assumed mean and standard deviation."""
        low, high = column.bounds
        width = high - low
        mean, variance = ((assumption.mean or 0.0) - low) / width, ((assumption.sd or 0.0) / width) ** 2
        if variance == 0:
            return np.full(self._rows, low + width * mean)
        weight = mean * (1 - mean) / variance - 1
        if weight < 1e-3:
            # with the largest possible spread, all values are at the bounds
            return np.where(self._rng.random(self._rows) < mean, high, low)
        return np.clip(low + width * self._rng.beta(mean * weight, (1 - mean) * weight, self._rows), low, high)

    def _target(self, column: Base) -> FloatArray:
        assumption = self._assumptions.supposed[self._design.target]
        total = np.sum(self._scores, axis=0) if self._scores else np.zeros(self._rows)
        explained = total / total.std() if np.std(total) > 0 else np.zeros(self._rows)
        noise = self._rng.random((12, self._rows)).sum(axis=0) - 6
        share = self._assumptions.rsquared
        score = share**0.5 * explained + (1 - share) ** 0.5 * noise
        if isinstance(column, Numeric):
            clipped: FloatArray = np.clip((assumption.mean or 0.0) + (assumption.sd or 0.0) * score, *column.bounds)
            return clipped
        above: FloatArray = (score > np.quantile(score, 1 - (assumption.share or 0.0))).astype(np.float64)
        return above

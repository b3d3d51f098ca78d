"""Simulate columns from uniform numbers, and tables from a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.analyst.planning.assumptions import Assume, Assumptions, ColumnAssumption, read_assumptions
from discreet.datasets.tables import Dataset, plain_table
from discreet.design.columns import Base, Boolean, Categorical, Numeric
from discreet.design.design import Design
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import is_integer

if TYPE_CHECKING:
    from pyarrow import Array, Table

# -- draws -------------------------------------------------------------------------------------------------------------
# Random columns for simulated tables, each made from uniform numbers alone.
#
# NumPy promises the raw stream of a seed, not what its laws make of it [Kern 2018, NEP 19]; uniform numbers stay
# closest to that stream. And a bell that ends leaves no value outside bounds that follow from the model.

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


# -- from design -------------------------------------------------------------------------------------------------------
# Simulated rows for a design: nobody's, within the declared bounds, with the properties that a plan supposes.

_MOST_ROWS: Final = 1_000_000
# where bounds are private, numbers are drawn in here, as far as the declared range allows it
_USUAL: Final = (-100.0, 100.0)
_MARK: Final = {"discreet": "SIMULATED rows: nobody's"}


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
    """Rows that a computer draws for a design, to try everything on before the real table is opened.

    Numbers stay within their declared bounds, levels are declared ones, and no cell is missing. The target is linear in
    the other columns, with noise; a target with a formula follows from its columns. Nothing comes from data.

    Parameters
    ----------
    design
        The declarations. Where bounds are private, numbers lie from -100 to 100, as far as the range allows it.
    rows
        How many, at most a million.
    seed
        The same seed gives the same rows with one version of NumPy.
    rsquared, spread, target_spread, assume
        As for `discreet.plan`: what is supposed of the table; slopes and correlations are not used.

    Returns
    -------
    pyarrow.Table
        The columns that a release reads, with the id of the unit if there is one.

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
        raise SpecError(f"expected a Design, got {type(design).__name__}; use Design(...) or Design.load(path)")
    for name, value, least, most in (("rows", rows, 1, _MOST_ROWS), ("seed", seed, 0, 2**63)):
        if not is_integer(value) or not least <= value <= most:
            raise SpecError(f"{name} {shown(value)} is not allowed; choose an integer from {least} to {most}")
    import pyarrow as pa

    known = design.with_found({name: _usual(design.ranges[name]) for name in design.searched})
    supposed = read_assumptions(
        known, rows, rsquared=rsquared, spread=spread, target_spread=target_spread, assume=assume, correlation=None
    )
    draw = _Rows(known, supposed, rows, seed)
    arrays = {name: draw.array(name, column) for name, column in known.table_columns.items()}
    if design.unit.id is not None:
        arrays[design.unit.id] = pa.array(draw.persons(design.unit.max_rows))
    return pa.table(arrays).replace_schema_metadata(_MARK)


def _usual(within: tuple[float, float]) -> tuple[float, float]:
    low, high = max(within[0], _USUAL[0]), min(within[1], _USUAL[1])
    return (low, high) if low < high else within


class _Rows:
    """Draws columns one after another; the target from what was drawn before it."""

    def __init__(self, design: Design, supposed: Assumptions, rows: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._design, self._supposed, self._rows = design, supposed, rows
        self._scores: list[FloatArray] = []
        self._drawn = {
            name: self._values(name, one) for name, one in design.table_columns.items() if name != design.target
        }
        if design.target in design.table_columns:
            self._drawn[design.target] = self._target(design.table_columns[design.target])

    def array(self, name: str, column: Base) -> Array:
        """A column as a table has it."""
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
        """Ids of persons who have from one to so many rows."""
        counts = self._rng.integers(1, most + 1, self._rows)
        return np.repeat(np.arange(self._rows), counts)[: self._rows]

    def _values(self, name: str, column: Base) -> FloatArray:
        """Numbers, true as 1, or codes of levels; what they add to the target is kept."""
        one = self._supposed.supposed[name]
        if isinstance(column, Categorical):
            # the last share takes what rounding leaves
            ends = np.cumsum([share for _, share in one.shares or ()])[:-1]
            codes = np.searchsorted(ends, self._rng.random(self._rows), side="right").astype(np.float64)
            self._keep(codes)
            return codes
        if isinstance(column, Boolean):
            cells = (self._rng.random(self._rows) < (one.share or 0.0)).astype(np.float64)
            self._keep(cells)
            return cells
        numbers = self._numbers(column, one)
        if name != self._design.weights:
            self._keep(numbers)
        return numbers

    def _keep(self, values: FloatArray) -> None:
        if values.std() > 0:
            self._scores.append((values - values.mean()) / values.std())

    def _numbers(self, column: Numeric, one: ColumnAssumption) -> FloatArray:
        """A beta law on the bounds with the supposed mean and spread."""
        low, high = column.bounds
        width = high - low
        mean, variance = ((one.mean or 0.0) - low) / width, ((one.sd or 0.0) / width) ** 2
        if variance == 0:
            return np.full(self._rows, low + width * mean)
        weight = mean * (1 - mean) / variance - 1
        if weight < 1e-3:
            # as far apart as bounds allow: at their ends
            return np.where(self._rng.random(self._rows) < mean, high, low)
        return np.clip(low + width * self._rng.beta(mean * weight, (1 - mean) * weight, self._rows), low, high)

    def _target(self, column: Base) -> FloatArray:
        one = self._supposed.supposed[self._design.target]
        total = np.sum(self._scores, axis=0) if self._scores else np.zeros(self._rows)
        explained = total / total.std() if np.std(total) > 0 else np.zeros(self._rows)
        noise = self._rng.random((12, self._rows)).sum(axis=0) - 6
        share = self._supposed.rsquared
        score = share**0.5 * explained + (1 - share) ** 0.5 * noise
        if isinstance(column, Numeric):
            clipped: FloatArray = np.clip((one.mean or 0.0) + (one.sd or 0.0) * score, *column.bounds)
            return clipped
        above: FloatArray = (score > np.quantile(score, 1 - (one.share or 0.0))).astype(np.float64)
        return above

"""A square table of numbers by coefficient name and coefficient name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.analyst.values.estimates import ByName, Number
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from pyarrow import Table


class NamedMatrix:
    """A read-only square matrix whose rows and columns have names; `np.asarray` gives the numbers.

    Attributes
    ----------
    names
        Of the rows, and of the columns.

    Examples
    --------
    >>> covariance = NamedMatrix(["Intercept", "age"], np.array([[4.0, -0.5], [-0.5, 0.25]]))
    >>> covariance["age", "Intercept"], covariance["age"]["age"], covariance[1, 1]
    (-0.5, 0.25, 0.25)
    >>> covariance
               Intercept   age
    Intercept          4  -0.5
    age             -0.5  0.25
    """

    __slots__ = ("_values", "names")

    def __init__(self, names: Sequence[str], values: FloatArray) -> None:
        self.names = tuple(names)
        self._values = np.array(values, dtype=np.float64)
        self._values.flags.writeable = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        return self._values.shape

    def diagonal(self) -> FloatArray:
        """Give the diagonal, shape (k,): of a covariance the variances."""
        return self._values.diagonal()

    def to_frame(self) -> Table:
        """Give the matrix as an Arrow table, with the names of the rows in its first column."""
        import pyarrow as pa

        columns = {name: self._values[:, index] for index, name in enumerate(self.names)}
        return pa.table({"name": pa.array(self.names, type=pa.string()), **columns})

    @overload
    def __getitem__(self, key: str) -> ByName[Number]: ...
    @overload
    def __getitem__(self, key: tuple[str | int, str | int]) -> float: ...
    def __getitem__(self, key: str | tuple[str | int, str | int]) -> ByName[Number] | float:
        if isinstance(key, str):
            return ByName(self.names, self._values[self._place(key)].tolist())
        if not isinstance(key, tuple) or len(key) != 2:
            raise SpecError(f"expected a name or a pair of names, such as ['age', 'age'], got {shown(key)}")
        row, column = key
        return float(self._values[self._place(row), self._place(column)])

    def _place(self, key: object) -> int:
        if isinstance(key, str) and key in self.names:
            return self.names.index(key)
        size = len(self.names)
        if isinstance(key, int | np.integer) and not isinstance(key, bool) and -size <= key < size:
            return int(key)
        raise KeyError(str(SpecError.unknown_name("coefficient", key, self.names)))

    def __len__(self) -> int:
        return len(self.names)

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> FloatArray:
        return np.array(self._values, dtype=dtype)

    def __repr__(self) -> str:
        shown_rows = [[f"{value:.6g}" for value in row] for row in self._values.tolist()]
        table = [["", *self.names], *([name, *row] for name, row in zip(self.names, shown_rows, strict=True))]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join("  ".join([f"{row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]) for row in table)

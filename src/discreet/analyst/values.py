"""Named values, named matrices, and placeholders for values that are not estimable."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np

from discreet.analyst.confidence_sets import ConfidenceSet, NotEstimableError, any_value, missing_values
from discreet.errors import ModelError
from discreet.exact.arrays import FloatArray
from discreet.number_text import rough
from discreet.releases.reference_distribution import NotEstimable, shown_number
from discreet.text import html_table
from discreet.wording import Message

if TYPE_CHECKING:
    from pyarrow import Table

# -- named values ------------------------------------------------------------------------------------------------------

Value = TypeVar("Value", bound=float | ConfidenceSet | NotEstimable)
Plain: TypeAlias = float | dict[str, str | float | None] | None


class NamedValues(Mapping[str, Value]):
    """A read-only mapping from coefficient names to numbers or confidence sets, in the order of the coefficients.

    A value that cannot be estimated is a `NotEstimable` with a reason, never NaN. Convert to another type for
    arithmetic and comparisons: `np.asarray` and `to_numpy` need every number to be estimable, and `to_pandas` and
    `to_polars` have a missing value for each number that is not.

    >>> values = NamedValues(["Intercept", "age", "height"], [0.25, -1.0, NotEstimable("too much noise")])
    >>> values
    Intercept  0.25
    age        -1
    height     not estimable: too much noise
    >>> values["age"], values.to_dict()
    (-1.0, {'Intercept': 0.25, 'age': -1.0, 'height': None})
    >>> values.to_pandas() < 0
    name
    Intercept    False
    age           True
    height       False
    dtype: bool
    """

    __slots__ = ("_values",)

    def __init__(self, names: Sequence[str], values: Sequence[Value]) -> None:
        self._values = dict(zip(names, values, strict=True))

    @classmethod
    def constant(cls, names: Sequence[str], value: Value) -> NamedValues[Value]:
        """Map every name to the same value."""
        return NamedValues(names, [value] * len(names))

    def __getitem__(self, name: str) -> Value:
        try:
            return self._values[name]
        except (KeyError, TypeError):
            raise KeyError(str(ModelError.unknown_name("coefficient", name, self._values))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def to_dict(self) -> dict[str, Plain]:
        """Return plain values for JSON by name. A value that is not estimable is None."""
        return {name: _plain(value) for name, value in self._values.items()}

    def to_numpy(self) -> FloatArray:
        """Return the numbers as an array, with a row of two ends for each confidence set."""
        return self.__array__()

    def to_pandas(self) -> Any:  # noqa: ANN401  # pandas is optional
        """Return a Series of the numbers, or a DataFrame with the kind and the ends of the confidence sets."""
        import_optional("pandas", "to_pandas()")
        frame = self._to_arrow().to_pandas().set_index("name")
        return frame["value"].rename(None) if list(frame.columns) == ["value"] else frame

    def to_polars(self) -> Any:  # noqa: ANN401  # polars is optional
        """Return a DataFrame with the names and the numbers, or with the kind and the ends of the confidence sets."""
        return import_optional("polars", "to_polars()").from_arrow(self._to_arrow())

    def _to_arrow(self) -> Table:
        import pyarrow as pa

        names = pa.array(list(self), type=pa.string())
        if not any(isinstance(value, ConfidenceSet) for value in self.values()):
            return pa.table({"name": names, "value": pa.array(list(self.to_dict().values()), type=pa.float64())})
        sets = [value if isinstance(value, ConfidenceSet) else None for value in self.values()]
        ends = {
            "lower": pa.array([None if item is None else item.lower for item in sets], type=pa.float64()),
            "upper": pa.array([None if item is None else item.upper for item in sets], type=pa.float64()),
        }
        return pa.table(
            {"name": names, "kind": pa.array([item and item.kind for item in sets], type=pa.string()), **ends}
        )

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> FloatArray:
        for name, reason in missing_values(self).items():
            raise NotEstimableError(f"{name}: {reason}")
        values = self._values.values()
        return np.array([tuple(item) if isinstance(item, ConfidenceSet) else item for item in values], dtype=dtype)

    def _cells(self) -> list[str]:
        return [f"{value:.6g}" if isinstance(value, int | float) else str(value) for value in self.values()]

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {cell}" for name, cell in zip(self, self._cells(), strict=True))

    def _repr_html_(self) -> str:
        return html_table("", ["", ""], list(zip(self, self._cells(), strict=True)), [])


def _plain(value: float | ConfidenceSet | NotEstimable) -> Plain:
    if isinstance(value, NotEstimable):
        return None
    return value.to_dict() if isinstance(value, ConfidenceSet) else value


def import_optional(library: str, caller: str) -> ModuleType:
    """Import an optional data frame library."""
    try:
        return import_module(library)
    except ImportError:
        raise ModelError(
            f"{caller} needs {library!r}, which is not installed",
            code="missing-dependency",
            remedy=f"install it with: pip install {library}",
        ) from None


# -- estimates ---------------------------------------------------------------------------------------------------------


class NothingExcluded(NotEstimable):
    """A number that the release does not bound. Its confidence set is the whole line and its p-value is 1."""

    __slots__ = ()


Number: TypeAlias = float | NotEstimable
Interval: TypeAlias = ConfidenceSet | NotEstimable


def set_without(why: NotEstimable) -> Interval:
    """Return the confidence set of a number that is not estimable, which is the whole line if no value is excluded."""
    return any_value(why.reason) if isinstance(why, NothingExcluded) else why


def p_without(why: NotEstimable) -> Number:
    """Return the p-value of a number that is not estimable, which is 1 if no value is excluded."""
    return 1.0 if isinstance(why, NothingExcluded) else why


def number_without(why: NotEstimable) -> Number:
    """Return the reason unchanged, for statistics without a conservative value."""
    return why


def bounded(ends: Interval) -> bool:
    """Return whether the set is an interval."""
    return isinstance(ends, ConfidenceSet) and ends.bounded


def unbounded(ends: Interval) -> bool:
    """Return whether there is a confidence set and it is unbounded. The estimate is then unreliable."""
    return isinstance(ends, ConfidenceSet) and not ends.bounded


def beside_set(value: Number, ends: Interval) -> Number:
    """Return a standard error or t value, or the reason why it is not reported if the confidence set is unbounded."""
    return NotEstimable(ends.reason or "") if isinstance(ends, ConfidenceSet) and not ends.bounded else value


def all_beside(values: NamedValues[Number], sets: NamedValues[Interval]) -> NamedValues[Number]:
    """Return standard errors or t values by name, or the reason for each that has an unbounded confidence set."""
    return NamedValues(tuple(values), [beside_set(values[name], sets[name]) for name in values])


def shown_estimate(value: Number, ends: Interval) -> str:
    """Format an estimate to six digits, or to two in brackets if its confidence set is unbounded.

    >>> shown_estimate(1234.567, ConfidenceSet("interval", 0.0, 2e3)), shown_estimate(1234.567, any_value("noise"))
    ('1234.57', '[1200]')
    """
    return shown_value(value, weak=unbounded(ends))


def shown_value(value: Number, *, weak: bool) -> str:
    """Format a number to six digits, or to two in brackets if it is `weak`."""
    return f"[{rough(value)}]" if weak and not isinstance(value, NotEstimable) else shown_number(value, ".6g")


def numbers_by_name(names: Sequence[str], values: FloatArray | NotEstimable) -> NamedValues[Number]:
    """Return the numbers by name, or the same reason for every name."""
    if isinstance(values, NotEstimable):
        return NamedValues[Number].constant(names, values)
    return NamedValues(names, values.tolist())


def first_missing(values: NamedValues[Number]) -> NotEstimable | None:
    """Return the reason why the first missing number is not estimable, with its name, or None if none is missing."""
    return next((NotEstimable(Message(f"{name}: ", why.reason)) for name, why in missing_values(values).items()), None)


# -- parameters --------------------------------------------------------------------------------------------------------


class Parameters(NamedValues[Number]):
    """Coefficients by name. Those in `weak` have unbounded confidence sets and are printed in brackets to two digits.

    >>> Parameters(["Intercept", "age", "height"], [1.5, -0.25, 3.14159], weak=["height"])
    Intercept    1.5
    age        -0.25
    height     [3.1]
    """

    __slots__ = ("_weak",)

    def __init__(self, names: Sequence[str], values: Sequence[Number], weak: Collection[str] = ()) -> None:
        super().__init__(names, values)
        self._weak = frozenset(weak)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return one aligned line for each coefficient."""
        numbers = self._cells()
        wide = max(map(len, self), default=0)
        digits = max(map(len, numbers), default=0)
        return [f"{name:<{wide}}  {number:>{digits}}" for name, number in zip(self, numbers, strict=True)]

    def _cells(self) -> list[str]:
        return [shown_value(value, weak=name in self._weak) for name, value in self.items()]


# -- named matrix ------------------------------------------------------------------------------------------------------


class NamedMatrix:
    """A read-only square matrix with named rows and columns. `np.asarray` gives the numbers.

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
        """Number of rows and of columns."""
        return self._values.shape

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (k,). For a covariance matrix these are the variances."""
        return self._values.diagonal()

    def to_frame(self) -> Table:
        """Return the matrix as an Arrow table with the row names in its first column."""
        import pyarrow as pa

        columns = {name: self._values[:, index] for index, name in enumerate(self.names)}
        return pa.table({"name": pa.array(self.names, type=pa.string()), **columns})

    @overload
    def __getitem__(self, key: str) -> NamedValues[Number]: ...
    @overload
    def __getitem__(self, key: tuple[str | int, str | int]) -> float: ...
    def __getitem__(self, key: str | tuple[str | int, str | int]) -> NamedValues[Number] | float:
        if isinstance(key, str):
            return NamedValues(self.names, self._values[self._index(key)].tolist())
        if not isinstance(key, tuple) or len(key) != 2:
            raise ModelError(option="key", given=key, allowed="a name or a pair of names, such as ['age', 'age'],")
        row, column = key
        return float(self._values[self._index(row), self._index(column)])

    def _index(self, key: object) -> int:
        if isinstance(key, str) and key in self.names:
            return self.names.index(key)
        size = len(self.names)
        if isinstance(key, int | np.integer) and not isinstance(key, bool) and -size <= key < size:
            return int(key)
        raise KeyError(str(ModelError.unknown_name("coefficient", key, self.names)))

    def __len__(self) -> int:
        return len(self.names)

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> FloatArray:
        return np.array(self._values, dtype=dtype)

    def __repr__(self) -> str:
        cells = [[f"{value:.6g}" for value in row] for row in self._values.tolist()]
        table = [["", *self.names], *([name, *row] for name, row in zip(self.names, cells, strict=True))]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join("  ".join([f"{row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]) for row in table)

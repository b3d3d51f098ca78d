"""Define read-only mappings and matrices of named values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast, overload

import numpy as np

from discreet.analyst.confidence_sets import ConfidenceSet, NotEstimableError, any_value, missing_values
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_law import NotEstimable, shown_number

if TYPE_CHECKING:
    from pyarrow import Table

# -- by name -----------------------------------------------------------------------------------------------------------
# Values by name that compare, index and add up like a Series of pandas, without needing pandas.
#
# A name whose value is not estimable stays not estimable in arithmetic, with its reason; every comparison with it is
# False, that with `!=` too, so that no claim about a number that is not known ever holds.

Value = TypeVar("Value", bound=float | ConfidenceSet | NotEstimable)
# what stands beside values by name: one number for all, one for each by position, or one for each by name
Operand: TypeAlias = float | Sequence[float] | FloatArray | Mapping[str, float | NotEstimable]
Plain: TypeAlias = float | dict[str, str | float | None] | None

_BY_ZERO: Final = NotEstimable("a division by 0")
_TOO_LARGE: Final = NotEstimable("the result leaves double precision")
_NOT_REAL: Final = NotEstimable("the result is no real number")


class ByName(Mapping[str, Value]):
    """A read-only, ordered table of name to value; `np.asarray` gives the numbers if every one is estimable.

    A comparison with a number, an array or other values by name gives `Flags`, which choose among values as an index;
    `==` with a mapping asks, as for every mapping, whether both are the same, and `eq` compares name by name.

    >>> values = ByName(["Intercept", "age", "height"], [0.25, -1.0, NotEstimable("too much noise")])
    >>> values
    Intercept  0.25
    age        -1
    height     not estimable: too much noise
    >>> values[values < 0]
    age  -1
    >>> values.iloc[0], values.loc["age"], (2 * values + 1).to_dict()
    (0.25, -1.0, {'Intercept': 1.5, 'age': -1.0, 'height': None})
    """

    __slots__ = ("_values",)

    def __init__(self, names: Sequence[str], values: Sequence[Value]) -> None:
        self._values = dict(zip(names, values, strict=True))

    @classmethod
    def alike(cls, names: Sequence[str], value: Value) -> ByName[Value]:
        """Give every name the same value."""
        return ByName(names, [value] * len(names))

    @overload
    def __getitem__(self, name: str) -> Value: ...
    @overload
    def __getitem__(self, name: Flags | list[str]) -> ByName[Value]: ...
    def __getitem__(self, name: str | Flags | list[str]) -> Value | ByName[Value]:
        if isinstance(name, Flags):
            if set(name) != set(self):
                raise SpecError(f"the index has the names {shown(list(name))}, expected {shown(list(self))}")
            return self._chosen([one for one in self if name[one]])
        if isinstance(name, list):
            return self._chosen(name)
        try:
            return self._values[name]
        except (KeyError, TypeError):
            raise KeyError(str(SpecError.unknown_name("coefficient", name, self._values))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def loc(self) -> ByLabel[Value]:
        """Values by name, list of names, comparison, or a slice of names with both ends, as in pandas."""
        return ByLabel(self)

    @property
    def iloc(self) -> ByPlace[Value]:
        """Values by place from 0, list of places, or slice of places."""
        return ByPlace(self)

    def to_dict(self) -> dict[str, Plain]:
        """Give plain values for JSON by name: null where a value is not estimable."""
        return {name: _plain(value) for name, value in self._values.items()}

    def _chosen(self, names: Sequence[str]) -> ByName[Value]:
        return self._like(names, [self[name] for name in names])

    def _like(self, names: Sequence[str], values: Sequence[Value]) -> ByName[Value]:
        """The same kind of table with other values."""
        return ByName(names, values)

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> FloatArray:
        for name, why in missing_values(self).items():
            raise NotEstimableError(f"{name}: {why}")
        values = self._values.values()
        return np.array([tuple(one) if isinstance(one, ConfidenceSet) else one for one in values], dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:  # noqa: ANN401
        # a number or array of NumPy on the left of an operator; everything else works on plain arrays
        if ufunc in _OPERATORS and method == "__call__" and len(inputs) == 2 and not options:
            operate, compares = _OPERATORS[ufunc]
            first, second = inputs
            if isinstance(first, ByName):
                return first._compared(second, operate) if compares else first._combined(second, operate)
            turned = _turned(operate)
            return second._compared(first, turned) if compares else second._combined(first, turned)
        plain = [np.asarray(one) if isinstance(one, ByName) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def _beside(self, other: object) -> list[object] | None:
        """Give one value of an operand for each name; nothing where it is no operand."""
        if isinstance(other, Real | NotEstimable) and not isinstance(other, bool):
            return [other.item() if isinstance(other, np.generic) else other] * len(self)
        if isinstance(other, Mapping):
            if set(other) != set(self):
                raise SpecError(f"the names differ: got {shown(list(other))}, expected {shown(list(self))}")
            return [other[name] for name in self]
        if isinstance(other, np.ndarray | list | tuple):
            values = np.asarray(other)
            if values.ndim == 0:
                return [values.item()] * len(self)
            if values.shape != (len(self),):
                raise SpecError(f"expected one number or {len(self)} of them, got an array of shape {values.shape}")
            return list(values.tolist())
        return None

    def _compared(self, other: object, operate: Callable[[Any, Any], Any]) -> Flags:
        beside = self._beside(other)
        if beside is None:
            return cast("Flags", NotImplemented)
        return Flags(list(self), [_holds(one, two, operate) for one, two in zip(self.values(), beside, strict=True)])

    def _combined(self, other: object, operate: Callable[[Any, Any], Any]) -> ByName[Any]:
        beside = self._beside(other)
        if beside is None:
            return cast("ByName[Any]", NotImplemented)
        pairs = zip(self.values(), beside, strict=True)
        return self._like(list(self), [cast("Value", _result(one, two, operate)) for one, two in pairs])

    def eq(self, other: Operand) -> Flags:
        """Which values equal a number, or the value of the same name.

        Parameters
        ----------
        other
            A number, an array with one for each name, or values by name.
        """
        return _checked(self._compared(other, operator.eq), other)

    def ne(self, other: Operand) -> Flags:
        """Which values differ from a number, or from the value of the same name; False where one is not estimable.

        Parameters
        ----------
        other
            As for `eq`.
        """
        return _checked(self._compared(other, operator.ne), other)

    def __eq__(self, other: object) -> Any:  # noqa: ANN401  # a comparison, or whether two mappings are the same
        return super().__eq__(other) if isinstance(other, Mapping) else self._compared(other, operator.eq)

    def __ne__(self, other: object) -> Any:  # noqa: ANN401
        return not super().__eq__(other) if isinstance(other, Mapping) else self._compared(other, operator.ne)

    __hash__ = None  # type: ignore[assignment]  # as for every mapping

    def __lt__(self, other: Operand) -> Flags:
        return self._compared(other, operator.lt)

    def __le__(self, other: Operand) -> Flags:
        return self._compared(other, operator.le)

    def __gt__(self, other: Operand) -> Flags:
        return self._compared(other, operator.gt)

    def __ge__(self, other: Operand) -> Flags:
        return self._compared(other, operator.ge)

    def __add__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, operator.add)

    def __sub__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, operator.sub)

    def __mul__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, operator.mul)

    def __truediv__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, operator.truediv)

    def __pow__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, operator.pow)

    def __radd__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, operator.add)

    def __rsub__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, _turned(operator.sub))

    def __rmul__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, operator.mul)

    def __rtruediv__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, _turned(operator.truediv))

    def __rpow__(self, other: Operand) -> ByName[Any]:
        return self._combined(other, _turned(operator.pow))

    def __neg__(self) -> ByName[Any]:
        return self._combined(-1.0, operator.mul)

    def __abs__(self) -> ByName[Any]:
        return self._combined(0.0, lambda one, _: abs(one))

    def __repr__(self) -> str:
        wide = max(map(len, self._values), default=0)
        return "\n".join(f"{name:<{wide}}  {_shown(value)}" for name, value in self._values.items())


class Flags(ByName[bool]):
    """What a comparison gives: True or False by name; `&`, `|` and `~` combine them.

    >>> low, high = ByName(["a", "b"], [0.01, 0.2]) < 0.05, ByName(["a", "b"], [0.01, 0.2]) > 0.1
    >>> low.any(), low.all(), (low | high).all(), list((~low).true_names)
    (True, False, True, ['b'])
    """

    __slots__ = ()

    @property
    def true_names(self) -> tuple[str, ...]:
        """Names for which it holds."""
        return tuple(name for name, holds in self.items() if holds)

    def any(self) -> bool:
        """Whether it holds for a name."""
        return any(self.values())

    def all(self) -> bool:
        """Whether it holds for every name."""
        return all(self.values())

    def __and__(self, other: Mapping[str, bool]) -> Flags:
        return _checked(self._compared(other, operator.and_), other)

    def __or__(self, other: Mapping[str, bool]) -> Flags:
        return _checked(self._compared(other, operator.or_), other)

    def __invert__(self) -> Flags:
        return Flags(list(self), [not holds for holds in self.values()])

    def __bool__(self) -> bool:
        raise SpecError("a comparison of several values is neither True nor False; call its any() or all()")

    def _like(self, names: Sequence[str], values: Sequence[bool]) -> ByName[bool]:
        return Flags(names, values) if all(isinstance(one, bool) for one in values) else ByName(names, values)


class ByLabel(Generic[Value]):
    """What `loc` of values by name is: values by name."""

    __slots__ = ("_table",)

    def __init__(self, table: ByName[Value]) -> None:
        self._table = table

    @overload
    def __getitem__(self, key: str) -> Value: ...
    @overload
    def __getitem__(self, key: Flags | list[str] | slice) -> ByName[Value]: ...
    def __getitem__(self, key: str | Flags | list[str] | slice) -> Value | ByName[Value]:
        if not isinstance(key, slice):
            return self._table[key]
        names = list(self._table)
        for end in (key.start, key.stop):
            if end is not None:
                self._table[end]  # an unknown name is refused in its words
        first = 0 if key.start is None else names.index(key.start)
        last = len(names) if key.stop is None else names.index(key.stop) + 1
        return self._table._chosen(names[first : last : key.step])


class ByPlace(Generic[Value]):
    """What `iloc` of values by name is: values by place."""

    __slots__ = ("_table",)

    def __init__(self, table: ByName[Value]) -> None:
        self._table = table

    @overload
    def __getitem__(self, key: int) -> Value: ...
    @overload
    def __getitem__(self, key: slice | list[int]) -> ByName[Value]: ...
    def __getitem__(self, key: int | slice | list[int]) -> Value | ByName[Value]:
        names = list(self._table)
        if isinstance(key, slice):
            return self._table._chosen(names[key])
        if isinstance(key, list):
            return self._table._chosen([names[operator.index(place)] for place in key])
        return self._table[names[operator.index(key)]]


def _turned(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda one, two: operate(two, one)


_OPERATORS: Final[dict[object, tuple[Callable[[Any, Any], Any], bool]]] = {
    np.add: (operator.add, False),
    np.subtract: (operator.sub, False),
    np.multiply: (operator.mul, False),
    np.true_divide: (operator.truediv, False),
    np.power: (operator.pow, False),
    np.less: (operator.lt, True),
    np.less_equal: (operator.le, True),
    np.greater: (operator.gt, True),
    np.greater_equal: (operator.ge, True),
    np.equal: (operator.eq, True),
    np.not_equal: (operator.ne, True),
}


def _holds(one: object, two: object, operate: Callable[[Any, Any], Any]) -> bool:
    """Whether a comparison holds; it never does where one side is not estimable."""
    if isinstance(one, NotEstimable) or isinstance(two, NotEstimable):
        return False
    _refuse_sets(one, two)
    return bool(operate(one, two))


def _result(one: object, two: object, operate: Callable[[Any, Any], Any]) -> float | NotEstimable:
    """What an operation gives, or why there is no number."""
    for side in (one, two):
        if isinstance(side, NotEstimable):
            return side
    _refuse_sets(one, two)
    try:
        value = operate(one, two)
    except ZeroDivisionError:
        return _BY_ZERO
    except OverflowError:
        return _TOO_LARGE
    if isinstance(value, complex):
        return _NOT_REAL
    return float(value) if math.isfinite(value) else _TOO_LARGE


def _refuse_sets(*sides: object) -> None:
    if any(isinstance(side, ConfidenceSet) for side in sides):
        raise SpecError(
            "confidence sets neither compare nor add up; read the ends of each, or ask whether it contains a value: "
            "{name: one.contains(0) for name, one in fit.conf_int().items()}"
        )


def _checked(found: Flags, other: object) -> Flags:
    """Give a comparison, or refuse what values do not compare with."""
    if found is NotImplemented:
        raise SpecError(f"expected a number, an array or values by name, got {shown(other)}")
    return found


def _plain(value: float | ConfidenceSet | NotEstimable) -> Plain:
    if isinstance(value, NotEstimable):
        return None
    return value.to_dict() if isinstance(value, ConfidenceSet) else value


def _shown(value: float | ConfidenceSet | NotEstimable) -> str:
    if isinstance(value, bool):
        return str(value)
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


# -- estimates ---------------------------------------------------------------------------------------------------------
# Values by coefficient name, some of which the budget cannot give: `NotEstimable` is a value, never NaN.


class NothingExcluded(NotEstimable):
    """The release was asked for something that it holds, and excludes no value: sets are "any value", p-values 1.

    >>> set_without(NothingExcluded("the sums are not positive definite")), p_without(NothingExcluded("no rows"))
    (any value, 1.0)
    """

    __slots__ = ()


Number: TypeAlias = float | NotEstimable
Interval: TypeAlias = ConfidenceSet | NotEstimable


def set_without(why: NotEstimable) -> Interval:
    """Give the set of a number that is not estimable: any value, or the reason where no set can be asked for."""
    return any_value(why.reason) if isinstance(why, NothingExcluded) else why


def p_without(why: NotEstimable) -> Number:
    """Give the p-value of a number that is not estimable: 1, or the reason where no test can be asked for."""
    return 1.0 if isinstance(why, NothingExcluded) else why


def number_without(why: NotEstimable) -> Number:
    """Give what stands for a number that is not estimable: the reason."""
    return why


def bounded(ends: Interval) -> bool:
    """Whether there is a set and it is an interval."""
    return isinstance(ends, ConfidenceSet) and ends.bounded


def unbounded(ends: Interval) -> bool:
    """Whether there is a set and it is no interval, so that the estimate says little."""
    return isinstance(ends, ConfidenceSet) and not ends.bounded


def beside_set(value: Number, ends: Interval) -> Number:
    """Give a standard error or t value, or why there is none: beside an unbounded set it means nothing.

    >>> beside_set(1.5, ConfidenceSet("interval", 0.0, 2.0)), beside_set(1.5, any_value("too much noise"))
    (1.5, not estimable: too much noise)
    """
    return NotEstimable(ends.reason or "") if isinstance(ends, ConfidenceSet) and not ends.bounded else value


def all_beside(values: ByName[Number], sets: ByName[Interval]) -> ByName[Number]:
    """Give standard errors or t values by name, and a reason for those whose set is unbounded."""
    return ByName(tuple(values), [beside_set(values[name], sets[name]) for name in values])


def shown_estimate(value: Number, ends: Interval) -> str:
    """Give an estimate to six digits, or in brackets and to two where the release does not bound it.

    >>> shown_estimate(1234.567, ConfidenceSet("interval", 0.0, 2e3)), shown_estimate(1234.567, any_value("noise"))
    ('1234.57', '[1200]')
    """
    return shown_value(value, weak=unbounded(ends))


def shown_value(value: Number, *, weak: bool) -> str:
    """Give a number to six digits, or in brackets and to two where it is weak."""
    return f"[{rough(value)}]" if weak and not isinstance(value, NotEstimable) else shown_number(value, ".6g")


def rough(value: float) -> str:
    """Give a number to two digits.

    >>> rough(-1234.5), rough(0.0678)
    ('-1200', '0.068')
    """
    return f"{float(f'{value:.2g}'):g}"


def numbers_by_name(names: Sequence[str], values: FloatArray | NotEstimable) -> ByName[Number]:
    """Give each name its number, or each the reason why there are none."""
    if isinstance(values, NotEstimable):
        return ByName[Number].alike(names, values)
    return ByName(names, values.tolist())


def first_missing(values: ByName[Number]) -> NotEstimable | None:
    """Say of which name there is no number and why; nothing where every number is there."""
    return next((NotEstimable(f"{name}: {why.reason}") for name, why in missing_values(values).items()), None)


# -- parameters --------------------------------------------------------------------------------------------------------
# Coefficients by name.


class Parameters(ByName[Number]):
    """A read-only, ordered table of coefficient name to value; `np.asarray` gives the values.

    Names that are `weak` have numbers that the release does not bound; they are shown in brackets, to two digits.

    >>> Parameters(["Intercept", "age", "height"], [1.5, -0.25, 3.14159], weak=["height"])
    Intercept    1.5
    age        -0.25
    height     [3.1]
    """

    __slots__ = ("_weak",)

    def __init__(self, names: Sequence[str], values: Sequence[Number], weak: Collection[str] = ()) -> None:
        super().__init__(names, values)
        self._weak = frozenset(weak)

    def _like(self, names: Sequence[str], values: Sequence[Number]) -> Parameters:
        return Parameters(names, values, self._weak)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """One aligned line for each coefficient, to six digits."""
        numbers = [self._shown(name, value) for name, value in self.items()]
        wide = max(map(len, self), default=0)
        digits = max(map(len, numbers), default=0)
        return [f"{name:<{wide}}  {number:>{digits}}" for name, number in zip(self, numbers, strict=True)]

    def _shown(self, name: str, value: Number) -> str:
        return shown_value(value, weak=name in self._weak)


# -- named matrix ------------------------------------------------------------------------------------------------------
# A square table of numbers by coefficient name and coefficient name.


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

"""Check arguments of primitives, report the spend, and format results."""

from __future__ import annotations

import json
import math
import secrets
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence, Set, Sized
from contextlib import contextmanager
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args

import numpy as np
import numpy.typing as npt

from discreet.errors import AfterSpendError, DataError, LedgerError, PrivacyNotice, SpecError, shown
from discreet.exact.rounding import up
from discreet.privacy.budget import Neighbours, PrivacyBudget, PrivacyUnit, check_strength
from discreet.privacy.checks import positive, within
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, SpendReceipt, SpendRequest

# -- arguments ---------------------------------------------------------------------------------------------------------
# What callers may give: public numbers are refused by value, data are refused without a word about their values.

# one number or several, of whatever library
Values: TypeAlias = Real | float | np.number[Any] | np.bool_ | Sequence[Any] | npt.NDArray[Any]
EPSILON_LOWEST: Final = 1e-9
EPSILON_HIGHEST: Final = 1e6
_ALONE: Final = "no other release is made from the same data (privacy losses add up)"


def checked_epsilon(epsilon: object) -> float:
    """An epsilon from 1e-9 to 1e6.

    >>> checked_epsilon(1)
    1.0
    """
    advice = "choose an epsilon between 0.1 and 8; a release above 20 needs allow_weak_privacy=True"
    return within("epsilon", epsilon, EPSILON_LOWEST, EPSILON_HIGHEST, advice=advice)


def checked_promise(
    neighbours: object, epsilon: object, delta: float, allow_weak_privacy: object
) -> tuple[Neighbours, float]:
    """The relation and the epsilon of a promise that is strong enough.

    To be called by the function that a user calls, so that a notice names the user's line.

    >>> checked_promise("replace", 1, 0.0, allow_weak_privacy=False)
    ('replace', 1.0)
    """
    relation = checked_neighbours(neighbours)
    promise = checked_epsilon(epsilon)
    checked_strength(promise, delta, allow_weak_privacy, callers=2)
    return relation, promise


def checked_strength(epsilon: float, delta: float, allow_weak_privacy: object, *, callers: int = 1) -> None:
    """Refuse a promise that hides next to nothing unless it is meant; give notice of one that hides little.

    A notice names the user's line, which is `callers` functions above this one.

    >>> checked_strength(1.0, 0.0, allow_weak_privacy=False)
    """
    for notice in check_strength(PrivacyBudget(epsilon, delta), checked_flag("allow_weak_privacy", allow_weak_privacy)):
        warnings.warn(notice, PrivacyNotice, stacklevel=2 + callers)


def checked_flag(name: str, value: object) -> bool:
    """True or False, and nothing that only counts as one of them.

    >>> checked_flag("monotone", False)
    False
    """
    if not isinstance(value, bool | np.bool_):
        raise SpecError(f"{name} = {shown(value)}; allowed: True or False")
    return bool(value)


def checked_level(level: object) -> float:
    """A level of confidence from 0.5 to 1 - 1e-9.

    >>> checked_level(0.95)
    0.95
    """
    number = _double(level)
    if not 0.5 <= number <= 1 - 1e-9:
        raise SpecError(
            f"level = {shown(level)}; allowed: at least 0.5 and below 1, at most 1 - 1e-9; for instance 0.95"
        )
    return number


def checked_name(what: str, name: object, allowed: tuple[str, ...]) -> str:
    """One of the allowed names.

    >>> checked_name("method", "laplace", ("laplace", "squared-error"))
    'laplace'
    """
    if not isinstance(name, str) or name not in allowed:
        raise SpecError.unknown_name(what, name, allowed)
    return name


def either_spelling(neighbours: object, neighbors: object) -> object:
    """The relation by whichever spelling it was given; both only where they agree.

    >>> either_spelling("add-remove", "replace"), either_spelling("replace", None)
    ('replace', 'replace')
    """
    if neighbors is None:
        return neighbours
    if isinstance(neighbors, str) and neighbours not in ("add-remove", neighbors):
        raise SpecError(
            f"got neighbours = {shown(neighbours)} and neighbors = {shown(neighbors)}, two spellings of one thing; "
            "give one of them"
        )
    return neighbors


def one_or_many(values: Values) -> Sequence[Any] | npt.NDArray[Any]:
    """A single number, true or false as a list of one; whatever else was given as it is.

    >>> one_or_many(4.5), one_or_many([4, 5])
    ([4.5], [4, 5])
    """
    # by its type, as an object may answer anything when it is asked for its class
    if issubclass(type(values), Real | np.number | np.bool_):
        return [values]
    return cast("Sequence[Any]", values)


def checked_neighbours(neighbours: object) -> Neighbours:
    """One of the two relations.

    >>> checked_neighbours("replace")
    'replace'
    """
    return cast("Neighbours", checked_name("neighbours", neighbours, get_args(Neighbours)))


def public_fraction(name: str, value: object, *, zero: bool = False) -> Fraction:
    """A public number above 0 as an exact fraction; 0 too where `zero` says so.

    >>> public_fraction("sensitivity", 0.5)
    Fraction(1, 2)
    """
    advice = "give a finite number that is fixed without looking at the data"
    if zero:
        within(name, value, 0.0, sys.float_info.max, advice=advice)
    else:
        positive(name, value, advice=advice)
    return exact_number(value)


def public_count(name: str, value: object, highest: int | None = None) -> int:
    """A public integer of at least 1.

    >>> public_count("sensitivity", 3)
    3
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if number >= 1 and (highest is None or number <= highest):
            return number
    end = "" if highest is None else f" and at most {highest}"
    raise SpecError(f"{name} = {shown(value)}; expected an integer of at least 1{end}, fixed without the data")


def data_fractions(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[Fraction]:
    """Data as exact fractions.

    >>> data_fractions("values", [0.5, 2])
    [Fraction(1, 2), Fraction(2, 1)]
    """
    _refuse_other_shapes(name, values)
    try:
        return [exact_number(value) for value in values]
    except KeyboardInterrupt:
        raise
    except BaseException:  # an entry may be an object of somebody's own making, which may raise anything
        problem = DataError(f"{name} holds a value that is not a finite number; give numbers only")
    raise problem


def data_integers(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> list[int]:
    """Data as integers.

    >>> data_integers("counts", [3, 0])
    [3, 0]
    """
    _refuse_other_shapes(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return cast("list[int]", values.tolist())
    if not all(is_integer(value) and not issubclass(type(value), bool) for value in values):
        raise DataError(f"{name} holds a value that is not an integer; give integers only")
    # by the number itself, whatever a class of somebody's own makes of it
    return [int.__int__(value) if issubclass(type(value), int) else int(value) for value in values]


def data_floats(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Data as finite doubles.

    >>> data_floats("values", [1, 2.5])
    array([1. , 2.5])
    """
    _refuse_other_shapes(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        # a long double beyond the doubles becomes infinite, and is refused below
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float64)
    else:
        numbers = np.array([_double(value) for value in values], dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} holds a value that is not a finite number; fill or drop such entries by a public rule")
    return numbers


def public_length(name: str, values: object) -> int:
    """How many entries there are, at least 1, where that number is public.

    >>> public_length("counts", [4, 5])
    2
    """
    _refuse_other_shapes(name, values)
    how_many = len(cast("Sized", values))
    if how_many < 1:
        raise SpecError(f"{name} is empty; give at least one entry")
    return how_many


def is_list(values: object) -> bool:
    """Whether the entries come in an order, each as often as it is there.

    >>> is_list([1, 1]), is_list({1, 1}), is_list("11")
    (True, False, False)
    """
    unordered = isinstance(values, str | bytes | bytearray | Mapping | Set)
    return isinstance(values, Sized) and not unordered and getattr(values, "ndim", 1) > 0


def is_integer(value: object) -> bool:
    """Whether an entry is an integer, true or false by its type; a duration of NumPy counts as one there.

    >>> is_integer(1), is_integer(1.0), is_integer(np.timedelta64(1, "s"))
    (True, False, False)
    """
    # by its type, as an object may answer anything when it is asked for its class
    kind = type(value)
    return issubclass(kind, int | np.integer) and not issubclass(kind, np.timedelta64)


def promised(epsilon: float, delta: float, neighbours: Neighbours, *conditions: str) -> Guarantee:
    """The guarantee in the words that every release uses.

    >>> promised(1.0, 0.0, "replace").epsilon
    1.0
    """
    return Guarantee(epsilon, delta, PrivacyUnit(neighbours=neighbours), (*conditions, _ALONE))


def exact_number(value: object) -> Fraction:
    """A number as the fraction that it is; what is no finite number raises an error of Python's own.

    >>> exact_number(0.25)
    Fraction(1, 4)
    """
    if isinstance(value, bool | np.bool_ | np.timedelta64):
        raise TypeError
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    # every bit of a number counts: a wider float rounded to a double could move by more than it changed
    if isinstance(value, float | np.floating):
        return Fraction(*value.as_integer_ratio())
    raise TypeError


def _refuse_other_shapes(name: str, values: object) -> None:
    if not is_list(values):
        raise DataError(f"{name} is not a list; give a list or a one-dimensional array")
    if getattr(values, "ndim", 1) != 1:
        raise DataError(f"{name} has more than one dimension; give a list or a one-dimensional array")
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array, whose masked entries would be counted; fill or drop them by a public rule"
        )


def _double(value: object) -> float:
    """The nearest double; what is no number, or beyond the doubles, becomes NaN."""
    try:
        kind = type(value)
        is_number = issubclass(kind, Real) and not issubclass(kind, np.timedelta64)
        return float(cast("Real", value)) if is_number else math.nan
    except KeyboardInterrupt:
        raise
    except BaseException:  # as above
        return math.nan


# -- results -----------------------------------------------------------------------------------------------------------
# What every result of a primitive has: its one value where there is one, and a text of one line.

Value = TypeVar("Value")
_SHOWN: Final = 4


def only_value(values: Sequence[Value], name: str = "values") -> Value:
    """The value of a result that has one; one with several is refused with the name of what holds them.

    >>> only_value((3.5,))
    3.5
    """
    if len(values) != 1:
        raise SpecError(f"value: the result has {len(values)} values and not one; read .{name}")
    return values[0]


def one_line(kind: str, values: Sequence[object], law: str, guarantee: Guarantee) -> str:
    """A result in one line: the first values, the noise they have, and the promise.

    >>> from discreet.primitives.arguments import promised
    >>> one_line("NoisyIntegers", (12, 7, 9, 4, 1), "scale 2", promised(0.5, 0.0, "add-remove"))
    '<NoisyIntegers 12, 7, 9, 4, ... (5 values), scale 2: epsilon=0.5, add-remove>'
    """
    text = ", ".join(short_number(value) for value in values[:_SHOWN])
    more = f", ... ({len(values)} values)" if len(values) > _SHOWN else ""
    delta = f", delta={guarantee.delta:g}" if guarantee.delta else ""
    return f"<{kind} {text}{more}, {law}: epsilon={guarantee.epsilon:g}{delta}, {guarantee.neighbours}>"


def short_number(value: object) -> str:
    """A number to six digits; anything else as a message would repeat it.

    >>> short_number(3.14159265), short_number(12345678), short_number("a")
    ('3.14159', '12345678', "'a'")
    """
    return f"{value:.6g}" if type(value) is float else shown(value)


# -- spending ----------------------------------------------------------------------------------------------------------
# What a primitive spends: asked for before noise is drawn, and recorded as answered before the result is handed on.
#
# A ledger keeps no results of primitives. A request that was cut off is answered at no further cost; one that was
# answered is refused, because what it was given is not there to be given again. Of twins that draw at the same time the
# one whose mark is recorded is answered.

_BELOW_ONE: Final = math.nextafter(1.0, 0.0)


@contextmanager
def spent(spend: SpendHook, name: str, loss: Loss, neighbours: Neighbours, **public: object) -> Iterator[None]:
    """Ask for the spend of what is drawn in the block; `public` is what decides its law.

    >>> from discreet.privacy.spend import untracked
    >>> with spent(untracked, "laplace", Loss.pure(1.0), "replace", scale=2.0):
    ...     drawn = "noise"
    """
    if not callable(spend):
        raise SpecError(f"spend: expected a function that returns a SpendReceipt, got {type(spend).__name__}")
    budget, unit = PrivacyBudget(loss.epsilon, loss.delta), PrivacyUnit(neighbours=neighbours)
    specification = {key: str(value) for key, value in public.items()}
    receipt = spend(SpendRequest(f"primitives.{name}", budget, unit, f"primitive {name}", loss, specification))
    if not isinstance(receipt, SpendReceipt) or not receipt.anchor:
        raise LedgerError("the spend hook gave no SpendReceipt with an anchor; no noise was drawn")
    if receipt.stored is not None:
        raise SpecError(
            f"request {receipt.request_id!r} was answered before, and results of primitives are not kept; give another "
            "request id, or new_release=True"
        )
    yield
    # known to this draw alone: a twin that reads back another mark has an answer that was not paid for
    mark = json.dumps({"drawn": secrets.token_hex(16)})
    if receipt.commit is not None and receipt.commit(mark) != mark:  # [P:spent-once]
        raise AfterSpendError(
            f"request {receipt.request_id!r} was answered meanwhile, in another thread or process, and is not answered "
            "again"
        )


def lattice_loss(sensitivity: Fraction, width: int, sigma: int, epsilon: float, delta: float) -> Loss:
    """The loss of discrete Gaussian noise of `sigma` steps on `width` integers that move by `sensitivity` together.

    The total variation to rounded continuous noise is at most 1/(16 sigma^2) an entry, for sigma of at least 1.

    >>> lattice_loss(Fraction(2), 1, 4, 1.0, 1e-6).mu
    0.5
    """
    tau = min(up(Fraction(width, 16 * sigma**2)), _BELOW_ONE)
    return Loss.gaussian(epsilon, delta, mu=up(sensitivity / sigma), tau=tau)

"""What every result of a primitive has: its one value where there is one, and a text of one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from discreet.errors import SpecError, shown
from discreet.privacy.guarantee import Guarantee

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

r"""The way from scaled columns back to original units: one linear map, exact for every model.

A number is $x = h s + c$ with $s$ its scaled value, $h$ half the width of its bounds and $c$ their middle. A column of
an interaction of that number with a category is $s 1[g]$ for a level $g$, so in original units

$$x\,1[g] = h\,(s\,1[g]) + c\,1[g].$$

Besides its own scaled column it needs the indicator of its level, which is a released column, or for the reference
level $1[r] = 1 - \sum_{g \ne r} 1[g]$. In a model that has the category too, both sides span the same space: the
coefficient of $x 1[g]$ is that of $s 1[g]$ over $h$, and what is left, $-c$ times it, goes to the coefficient of
$1[g]$, or for the reference level to the intercept, and $c$ times it to the coefficients of all indicators.
Without an intercept the scaled column of the reference level is moved by the constant $c/h$ like that of a number, and
since $1 - 1[r]$ is the sum of the other indicators, the same map holds. A model that has the interaction without the
category is another model in scaled units than in original ones, so it is refused, unless $c$ is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.design.columns import Column, Interaction, Numeric
from discreet.design.design import Design
from discreet.errors import SpecError


@dataclass(frozen=True, slots=True)
class Scales:
    """Column j in original units is half_j times its scaled value, plus mid_j, plus what it takes of other columns.

    Attributes
    ----------
    half, mid
        By column.
    taken
        Of an interaction: column j, column i, and how often column i in original units is part of column j.
    """

    half: tuple[float, ...]
    mid: tuple[float, ...]
    taken: tuple[tuple[int, int, float], ...]


def released_columns(design: Design, names: Sequence[str]) -> list[Column]:
    """The declared column of each released one, for declared names in this order."""
    return [design.parts[name] for name in names for _ in design.parts[name].released(name)]


def signed_columns(design: Design, names: Sequence[str]) -> list[bool]:
    """Whether the scaled values of each released column lie in [-1, 1], and not in [0, 1].

    >>> columns = {"y": (0, 1), "age": (20, 80), "g": ["a", "b"], "ag": {"formula": "age:g"}}
    >>> signed_columns(Design("y", columns), ["age", "g", "ag"])
    [True, False, True]
    """
    return [
        isinstance(column, Numeric) or (isinstance(column, Interaction) and column.signed)
        for column in released_columns(design, names)
    ]


def scales_of(design: Design, names: Sequence[str]) -> Scales:
    """Scales of the released columns of declared names, in this order.

    >>> columns = {"y": (0, 1), "age": (20, 80), "g": ["a", "b"], "ag": {"formula": "age:g"}}
    >>> scales_of(Design("y", columns), ["age", "g", "ag"])
    Scales(half=(30.0, 1.0, 30.0), mid=(50.0, 0.0, 0.0), taken=((2, 1, 50.0),))
    """
    half: list[float] = []
    mid: list[float] = []
    taken: list[tuple[int, int, float]] = []
    first: dict[str, int] = {}
    start = 0
    for name in names:
        first[name] = start
        start += len(design.parts[name].released(name))
    for name in names:
        column = design.parts[name]
        for offset in range(len(column.released(name))):
            half.append(column.half if isinstance(column, Numeric | Interaction) else 1.0)
            mid.append(column.mid if isinstance(column, Numeric) else 0.0)
            if isinstance(column, Interaction) and column.mid:
                category, levels = column.factors[0]
                _check_category(name, column, category, first)
                (code,) = column.codes[offset]
                indicators = range(first[category], first[category] + len(levels.indicator_codes))
                index = first[name] + offset
                if code in levels.indicator_codes:
                    taken.append((index, indicators[levels.indicator_codes.index(code)], column.mid))
                else:
                    mid[-1] = column.mid
                    taken += [(index, indicator, -column.mid) for indicator in indicators]
    return Scales(tuple(half), tuple(mid), tuple(taken))


def _check_category(name: str, column: Interaction, category: str, known: dict[str, int]) -> None:
    if category not in known:
        raise SpecError(
            f"the model has {name!r} ({column.formula.text}) without {category!r}; the scaled columns of {name!r} hold "
            f"{column.number} less the middle of its bounds, which only a model with {category!r} can "
            f"put back; add {category!r} to the model, or declare bounds of {column.number!r} that are symmetric "
            "around 0 before the next release"
        )

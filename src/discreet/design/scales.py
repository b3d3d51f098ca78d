r"""Map scaled columns back to original units by a linear map that is exact for every model.

A number is $x = h s + c$, where $s$ is its scaled value, $h$ half the width of its bounds and $c$ their middle. A
column of an interaction of that number with a category is $s 1[g]$ for a level $g$, so in original units

$$x\,1[g] = h\,(s\,1[g]) + c\,1[g].$$

The map thus needs the indicator of the level. This indicator is a released column, except that of the reference level,
which is $1[r] = 1 - \sum_{g \ne r} 1[g]$. In a model that also contains the category, the scaled and the original
columns span the same space. Write $b$ for the coefficient of $s 1[g]$ divided by $h$. Then $b$ is the coefficient of $x
1[g]$, and $-c b$ is added to the coefficient of $1[g]$. For the reference level, $-c b$ is added to the intercept
instead, and $c b$ to the coefficients of all indicators. Without an intercept, the scaled column of the reference level
is shifted by the constant $c/h$, as the column of a number is. The map is the same, because $1 - 1[r]$ is the sum of
the other indicators. A model with the interaction but without the category differs between scaled and original units,
so it is rejected unless $c$ is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.design.columns import Column, Interaction, Numeric
from discreet.design.design import Design
from discreet.errors import ModelError


@dataclass(frozen=True, slots=True)
class Scales:
    """Linear map from scaled columns to original units.

    In original units, column j is `half[j]` times scaled column j, plus `mid[j]`, plus m times column i for every (j,
    i, m) in `taken`. Only interactions have entries in `taken`.
    """

    half: tuple[float, ...]
    mid: tuple[float, ...]
    taken: tuple[tuple[int, int, float], ...]


def released_columns(design: Design, names: Sequence[str]) -> list[Column]:
    """Return, for each released column of the named columns, the declared column that it belongs to."""
    return [design.parts[name] for name in names for _ in design.parts[name].released(name)]


def signed_columns(design: Design, names: Sequence[str]) -> list[bool]:
    """Return whether each released column is scaled to [-1, 1] rather than to [0, 1]."""
    return [
        isinstance(column, Numeric) or (isinstance(column, Interaction) and column.signed)
        for column in released_columns(design, names)
    ]


def scales_of(design: Design, names: Sequence[str]) -> Scales:
    """Return the linear map for the released columns of the named columns.

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


def _check_category(name: str, column: Interaction, category: str, features: dict[str, int]) -> None:
    if category not in features:
        raise ModelError(
            f"a model with the interaction {name!r} ({column.formula.text}) must include {category!r}, because scaling "
            f"subtracts the middle of the bounds of {column.number!r} and only a model with {category!r} can undo this",
            code="interaction-without-category",
            remedy=(
                f"add {category!r} to the model",
                f"declare bounds of {column.number!r} that are symmetric around 0 for the next release",
            ),
        )

"""Neighbouring tables on which ridge coefficients inside a ball move farthest: rows hold them, one row is changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from discreet.audit.pairs.pair import NeighbourPair
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.model import Design

# part along the coefficients of the rows that hold them there; smaller ones take more rows and stiffen less
_ASIDE: Final = 1 / 16


def steered_pairs(design: Design, strength: float, bound: float) -> tuple[NeighbourPair, ...]:
    """A corner row added, or exchanged for its reflection, where its residual is largest; none if nothing fits.

    Added: the coefficients are as long as the bound allows and point along the row. Exchanged: they are held at right
    angles to the change. In both cases the rest of the table hardly resists the change.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> [pair.name for pair in steered_pairs(design, 100.0, 1.0)]
    ['corner row against the fit']
    """
    if not isinstance(design.columns[design.target], Numeric):
        return ()
    numbers, others = _regressors(design)
    replaced = design.unit.neighbours == "replace"
    fitting = [
        held
        for flipped in (range(1, len(numbers) + 1) if replaced else (0,))
        for taking_part in sorted({0, len(others)})
        if (held := _Held.of(design, len(numbers), flipped, taking_part)) is not None
    ]
    if not fitting:
        return ()
    held = max(fitting, key=lambda one: one.moved(bound))
    rest = _table(design, held, held.rows(strength, bound))
    corner = _Rows(1, 1.0, range(held.others), -1.0)
    added = _joined(rest, _table(design, held, [corner], 1.0))
    if not replaced:
        return (NeighbourPair("corner row against the fit", added, rest),)
    reflected = _joined(rest, _table(design, held, [corner], -1.0))
    return (NeighbourPair("corner row for its reflection beside the fit", added, reflected),)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Equal rows: how many, scaled value of the numbers that take part, which others are on, scaled target."""

    times: int
    number: float
    on: range
    target: float


@dataclass(frozen=True, slots=True)
class _Held:
    """The direction (1, ..., 1) over some columns, along which the coefficients are held.

    Attributes
    ----------
    constant
        1 with an intercept, otherwise 0.
    numbers, others
        How many numeric and how many other columns take part.
    flipped
        How many numeric columns an exchange reflects; they take no part.
    corner
        Scaled value of a number in a corner row: 1, or less inside a small ball.
    """

    constant: int
    numbers: int
    others: int
    flipped: int
    corner: float

    @classmethod
    def of(cls, design: Design, numbers: int, flipped: int, others: int) -> _Held | None:
        """The direction, if rows inside the bounds can hold coefficients along it."""
        constant, left = int(design.intercept), numbers - flipped
        corner = 1.0
        if design.radius is not None and design.radius**2 < numbers + others:
            corner = design.radius / math.sqrt(max(numbers, 1))
        held = cls(constant, left, others, flipped, corner)
        if left == 0:
            return held if constant and numbers and not others else None
        # rows at right angles to the direction must be inside box and ball
        needed = constant + (1 if others else 0)
        return held if left * corner**2 >= needed and not (others and corner < 1) else None

    @property
    def norm(self) -> float:
        """Length of a corner row in the columns that take part."""
        return math.sqrt(self.constant + self.numbers * self.corner**2 + self.others)

    def moved(self, bound: float) -> float:
        """How far the coefficients move, times the strength."""
        across = 2 * self.corner * math.sqrt(self.flipped) if self.flipped else self.norm
        return across * (1 + self.norm * bound)

    def rows(self, strength: float, bound: float) -> list[_Rows]:
        """Rows whose ridge coefficients have length `bound`, or nearly, along the direction.

        The direction is the sum of `share` times each kind of row; with residuals that add up to
        strength * length * share in each kind the gradient vanishes. Of all rows only one kind has a part `along` the
        direction, so that nearly nothing stiffens it.
        """
        if self.numbers == 0:
            length, parts = bound * (1 - _ASIDE), [(1.0, 0.0, range(0), 1.0)]
        else:
            length, width, along = bound, self.corner * self.numbers, _ASIDE * (1 + self.constant)
            parts = [(1 / along, (along * self.norm - self.constant) / width, range(0), along)]
            if self.constant:
                parts.append(((1 - self.others) / self.norm - 1 / along, -1 / width, range(0), 0.0))
            for index in range(self.others):
                parts.append((1 / self.norm, -(1 + self.constant) / width, range(index, index + 1), 0.0))
        rows = []
        for share, number, on, part in parts:
            pull = strength * length * share
            times = math.ceil(abs(pull) / (1 - length * part))
            rows.append(_Rows(times, number, on, length * part + pull / times))
        return rows


def _regressors(design: Design) -> tuple[list[str], list[str]]:
    """Names of the numeric and of the other columns of the table, without the target."""
    names = [name for name in design.table_columns if name != design.target]
    numbers = [name for name in names if isinstance(design.columns[name], Numeric)]
    return numbers, [name for name in names if name not in numbers]


def _table(design: Design, held: _Held, kinds: list[_Rows], flipped: float = 0.0) -> dict[str, list[object]]:
    numbers, others = _regressors(design)
    table: dict[str, list[object]] = {}
    for name, column in design.table_columns.items():
        cells: list[object] = []
        for rows in kinds:
            if name == design.target:
                scaled = rows.target
            elif name in numbers:
                scaled = rows.number if numbers.index(name) < held.numbers else flipped
            else:
                scaled = float(others.index(name) in rows.on)
            cells += [_cell(column, scaled)] * rows.times
        table[name] = cells
    return table


def _cell(column: Base, scaled: float) -> object:
    if isinstance(column, Numeric):
        return column.mid + column.half * scaled
    if isinstance(column, Boolean):
        return bool(scaled)
    return column.levels[column.indicator_codes[0]] if scaled else column.reference


def _joined(one: dict[str, list[object]], other: dict[str, list[object]]) -> dict[str, list[object]]:
    return {name: [*cells, *other[name]] for name, cells in one.items()}

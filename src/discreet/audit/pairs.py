"""Construct the worst neighbouring pairs of tables for every mechanism."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from discreet.accounting.settings import BALL_SETTINGS
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.design import Design
from discreet.mechanisms.registry import mechanism_named

# -- pair --------------------------------------------------------------------------------------------------------------
# Two tables one unit apart.

Table: TypeAlias = Mapping[str, Sequence[object]]


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two tables one unit apart, in declared values, on which a mechanism comes close to its claim."""

    name: str
    table: Table
    neighbour: Table


# -- corners -----------------------------------------------------------------------------------------------------------
# Neighbouring tables on which sums of products move farthest: corner rows, added, exchanged or dropped.

_OPPOSED: Final = (4, 16)


def corner_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Corner rows: one added beside its twin, or replaced by rows that flip signs, levels and target.

    Where a rule drops rows, a row is also replaced by one that is dropped: the table that counts loses a row.

    >>> declared = {name: {"dtype": "bool", "missing": "drop"} for name in ("y", "b")}
    >>> corner_pairs(Design("y", declared, unit={"neighbours": "replace"}))[-1].neighbour
    {'y': [None], 'b': [True]}
    """
    corner = _corner(design, flipped=frozenset())
    if design.unit.neighbours == "add-remove":
        twice = {name: [*values, *values] for name, values in corner.items()}
        return (NeighbourPair("second corner row", twice, corner),)
    names = list(design.table_columns)
    numeric = [name for name in names if isinstance(design.columns[name], Numeric) and name != design.target]
    others = [name for name in names if name not in (*numeric, design.target)]
    pairs: list[NeighbourPair] = []
    for flips in range(len(numeric) + 1):
        for with_others, with_target in itertools.product((False, True), repeat=2):
            flipped = {
                *numeric[:flips],
                *(others if with_others else ()),
                *((design.target,) if with_target else ()),
            }
            label = f"replace {', '.join(name for name in names if name in flipped)}"
            if flipped and label not in [pair.name for pair in pairs]:
                pairs.append(NeighbourPair(label, corner, _corner(design, flipped=frozenset(flipped))))
    dropping = [name for name, column in design.table_columns.items() if column.missing == "drop"]
    if dropping:
        pairs.append(NeighbourPair("replace by a row that is dropped", corner, {**corner, dropping[0]: [None]}))
    return tuple(pairs)


def clipped_pairs(design: Design, pairs: tuple[NeighbourPair, ...]) -> tuple[NeighbourPair, ...]:
    """The same pairs of upper corners, with every number of the first row above its bounds and none of the neighbour.

    Clipping takes it back to the corner, so the sums change as before, and every count of clipped rows by one.

    >>> design = Design("y", {"y": (-1, 1), "b": (0, 10)})
    >>> [(pair.table, pair.neighbour) for pair in clipped_pairs(design, corner_pairs(design))]
    [({'y': [2.0, 1.0], 'b': [15.0, 10.0]}, {'y': [1.0], 'b': [10.0]})]
    """
    columns = design.table_columns.items()
    above = {name: column.bounds[1] + column.half for name, column in columns if isinstance(column, Numeric)}
    return tuple(
        NeighbourPair(
            f"{pair.name}, clipped",
            {name: [above.get(name, values[0]), *values[1:]] for name, values in pair.table.items()},
            pair.neighbour,
        )
        for pair in pairs
    )


def across_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """A corner row added beside a row at right angles to it, which says nothing of the direction of the corner.

    None without an intercept or numbers, or where rows are exchanged.

    >>> design = Design("y", {"y": (-1, 1), "a": (-1, 1), "b": (0, 10)})
    >>> [pair.table for pair in across_pairs(design)]
    [{'y': [0.0, 1.0], 'a': [-0.5, 1.0], 'b': [2.5, 10.0]}]
    """
    columns = design.table_columns
    numbers = [name for name, column in columns.items() if isinstance(column, Numeric) and name != design.target]
    target = columns[design.target]
    if design.unit.neighbours != "add-remove" or not (design.intercept and numbers and isinstance(target, Numeric)):
        return ()
    across = {name: _extreme(column, flipped=True) for name, column in columns.items()}
    for name, column in columns.items():
        if isinstance(column, Numeric):
            across[name] = column.mid - (column.half / len(numbers) if name in numbers else 0.0)
    beside: dict[str, list[object]] = {name: [value] for name, value in across.items()}
    corner = _corner(design, flipped=frozenset())
    added = {name: [*values, *corner[name]] for name, values in beside.items()}
    return (NeighbourPair("corner row beside one at right angles", added, beside),)


def opposed_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """A corner row added beside rows that are like it but for the opposite target, and pull coefficients away from it.

    Where noise brings the coefficients back to the corner row, it changes both the loss and its curvature most. How
    many rows that takes depends on the noise, so there are several pairs. None where rows are exchanged.

    >>> design = Design("y", {"y": (-1, 1), "b": (0, 10)})
    >>> [pair.table["y"].count(-1) for pair in opposed_pairs(design)]
    [4, 16]
    """
    if design.unit.neighbours != "add-remove":
        return ()
    corner, opposite = (_corner(design, flipped=frozenset(flipped)) for flipped in ((), (design.target,)))
    pairs = []
    for rows in _OPPOSED:
        rest = {name: values * rows for name, values in opposite.items()}
        added = {name: [*values, *corner[name]] for name, values in rest.items()}
        pairs.append(NeighbourPair(f"corner row beside {rows} of the opposite target", added, rest))
    return tuple(pairs)


def _corner(design: Design, *, flipped: frozenset[str]) -> dict[str, list[object]]:
    return {name: [_extreme(column, flipped=name in flipped)] for name, column in design.table_columns.items()}


def _extreme(column: Base, *, flipped: bool) -> object:
    if isinstance(column, Numeric):
        return column.bounds[0] if flipped else column.bounds[1]
    if isinstance(column, Boolean):
        return not flipped
    codes = column.indicator_codes
    if not flipped:
        return column.levels[codes[0]]
    return column.levels[codes[1]] if len(codes) > 1 else column.reference


# -- part way ----------------------------------------------------------------------------------------------------------
# Neighbouring tables on which sums of products move farthest where rows go part of the way between corners.

# how far a row moves to the opposite corner in the pairs for audits
_WAYS: Final = (0.0, 0.25, 0.375, 0.5, 0.75, 1.0)


def l1_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Neighbouring tables on which the L1 change of sums of products is largest.

    Under `replace` the diagonal of the moments moves only if a row leaves its corner part of the way.
    """
    corners = corner_pairs(design)
    if design.unit.neighbours == "add-remove":
        return corners
    corner = corners[0].table
    part_way = [
        NeighbourPair(
            f"replace {x:.0%} of the way, target {y:.0%}",
            corner,
            {
                name: [_moved(column, y if name == design.target else x, corner[name][0])]
                for name, column in design.table_columns.items()
            },
        )
        for x, y in itertools.product(_WAYS, _WAYS)
        if x or y
    ]
    # booleans and levels go all of the way or none, so that many of the rows are the same
    pairs = list(corners)
    for pair in part_way:
        if pair.neighbour not in [one.neighbour for one in pairs]:
            pairs.append(pair)
    return tuple(pairs)


def middle_target_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Corner rows, and each exchange that flips the target also with the target in the middle of its bounds.

    Opposite targets have the same square. A target in the middle moves the sum of squares farthest.

    >>> design = Design("y", {"y": (-1, 1), "b": (0, 10)}, unit={"neighbours": "replace"})
    >>> [pair.name for pair in middle_target_pairs(design)]
    ['replace y', 'replace b', 'replace y, b', 'replace y, target in the middle', 'replace y, b, target in the middle']
    """
    corners, target = corner_pairs(design), design.columns[design.target]
    if design.unit.neighbours == "add-remove" or not isinstance(target, Numeric):
        return corners
    flipped = [pair for pair in corners if pair.neighbour[design.target] == [target.bounds[0]]]
    return (
        *corners,
        *(
            NeighbourPair(
                f"{pair.name}, target in the middle", pair.table, {**pair.neighbour, design.target: [target.mid]}
            )
            for pair in flipped
        ),
    )


def _moved(column: Base, way: float, corner: object) -> object:
    if isinstance(column, Numeric):
        low, high = column.bounds
        return high - way * (high - low)
    if isinstance(column, Boolean):
        return way < 0.5
    return corner if way == 0 else next(level for level in reversed(column.levels) if level != corner)


# -- right angles ------------------------------------------------------------------------------------------------------
# Neighbouring tables on which the smallest eigenvalue moves farthest: one row alone in its direction.


def right_angle_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Pairs on which the eigenvalue moves as far as it can; for designs of numbers in their box."""
    numbers = {name: design.columns[name] for name in design.regressors}
    if design.radius is not None or not all(isinstance(column, Numeric) for column in numbers.values()):
        return ()
    if set(design.table_columns) != {*numbers, design.target}:
        return ()
    constant = design.needs_sums
    names = list(numbers)
    first = {} if constant else {names[0]: 1}
    # rows w with c.w = 0 for the corner row c, often enough that the direction of c is left to one row
    orthogonal = [first | {name: -1} for name in (names if constant else names[1:])]
    if not orthogonal:
        return ()
    others = _table(design, [row for row in orthogonal for _ in range(4 * (len(names) + constant))])
    corner, turned = ({**dict.fromkeys(names, 1), design.target: 1}, {**orthogonal[0], design.target: -1})
    if design.unit.neighbours == "add-remove":
        rows = [("corner row", _table(design, [corner]), _table(design, []))]
    else:
        rows = [("corner row turned", _table(design, [corner]), _table(design, [turned]))]
        rows += [(pair.name, pair.table, pair.neighbour) for pair in corner_pairs(design)]
    return tuple(
        NeighbourPair(f"{name} at right angles to the rest", _joined(others, one), _joined(others, other))
        for name, one, other in rows
    )


def _joined(one: Table, other: Table) -> dict[str, list[object]]:
    return {name: [*values, *other[name]] for name, values in one.items()}


def _table(design: Design, rows: Sequence[dict[str, int]]) -> Table:
    """Declared values of scaled rows of -1, 0 and 1; a boolean target is true at 1."""
    table: dict[str, list[object]] = {}
    for name, column in design.table_columns.items():
        scaled = [row.get(name, 0) for row in rows]
        if isinstance(column, Numeric):
            low, high = column.bounds
            values = {-1: low, 0: column.mid, 1: high}
            table[name] = [values[value] for value in scaled]
        else:
            table[name] = [value == 1 for value in scaled]
    return table


# -- steered -----------------------------------------------------------------------------------------------------------
# Neighbouring tables on which ridge coefficients inside a ball move farthest: rows hold them, one row is changed.

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
    rest = _adaptive_table(design, held, held.rows(strength, bound))
    corner = _Rows(1, 1.0, range(held.others), -1.0)
    added = _adaptive_joined(rest, _adaptive_table(design, held, [corner], 1.0))
    if not replaced:
        return (NeighbourPair("corner row against the fit", added, rest),)
    reflected = _adaptive_joined(rest, _adaptive_table(design, held, [corner], -1.0))
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


def _adaptive_table(design: Design, held: _Held, kinds: list[_Rows], flipped: float = 0.0) -> dict[str, list[object]]:
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


def _adaptive_joined(one: dict[str, list[object]], other: dict[str, list[object]]) -> dict[str, list[object]]:
    return {name: [*cells, *other[name]] for name, cells in one.items()}


# -- catalogue ---------------------------------------------------------------------------------------------------------
# For every mechanism the neighbouring tables on which it comes closest to its claim.

Pairs: TypeAlias = tuple[NeighbourPair, ...]


def worst_pairs(mechanism: str, design: Design, *, clip_counts: bool = False) -> Pairs:
    """Neighbouring tables for audits and tightness tests of the mechanism of that name.

    >>> [pair.name for pair in worst_pairs("gaussian", Design("y", {"y": (-1, 1), "b": (0, 10)}))]
    ['second corner row']
    """
    pairs = _PAIRS[mechanism](design)
    return clipped_pairs(design, pairs) if clip_counts else pairs


def _eigenvalue_pairs(design: Design) -> Pairs:
    """Those of moments, and a corner row beside rows at right angles to it, which leave the eigenvalue to that row."""
    return (*middle_target_pairs(design), *right_angle_pairs(design))


def _output_pairs(design: Design) -> Pairs:
    """Corner rows; and a corner row beside rows that hold the coefficients where its residual is largest."""
    strength = float(mechanism_named("output").info.settings["strength"].default)
    return (*corner_pairs(design), *steered_pairs(design, strength, _ball("bound")))


def _objective_pairs(design: Design) -> Pairs:
    """Corner rows, beside a row at right angles, beside opposite ones, or beside rows that steer the squared loss."""
    steered = steered_pairs(design, _ball("strength"), _ball("bound"))
    return (*across_pairs(design), *corner_pairs(design), *opposed_pairs(design), *steered)


def _ball(setting: str) -> float:
    return float(BALL_SETTINGS[setting].default)


# corner rows have the longest scores and gradients at coefficients 0, and any row added or moved to another cell
# is the worst for a histogram
_PAIRS: Final[Mapping[str, Callable[[Design], Pairs]]] = MappingProxyType({
    "gaussian": middle_target_pairs,
    "laplace": l1_pairs,
    "k-norm": middle_target_pairs,
    "wishart": corner_pairs,
    "functional": l1_pairs,
    "ssp": middle_target_pairs,
    "adassp": _eigenvalue_pairs,
    "dpme": corner_pairs,
    "frank-wolfe": corner_pairs,
    # corner rows, worst for Gaussian and Wishart noise, and rows part of the way between them, worst for Laplace
    "irls": l1_pairs,
    "gradient": corner_pairs,
    "output": _output_pairs,
    "objective": _objective_pairs,
    "refined": corner_pairs,
})  # fmt: skip

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
# Neighbouring tables.

Table: TypeAlias = Mapping[str, Sequence[object]]


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two neighbouring tables, in the units in which the columns are declared.

    Attributes
    ----------
    name : str
        Name of the pair.
    table, neighbour : mapping of str to sequence
        Columns of the two tables.
    """

    name: str
    table: Table
    neighbour: Table


# -- corners -----------------------------------------------------------------------------------------------------------
# Pairs with the largest change of the sums of products: a corner row is added, replaced or dropped.

_OPPOSED: Final = (4, 16)


def corner_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Return pairs in which a corner row is added to an equal one, or is replaced by other corner rows.

    In the other rows, signs, levels or the target are flipped. If a missing cell drops the row, the corner row is also
    replaced by such a row, which removes it from the sums.

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
    """Move every number in the first row of each table above its bounds, and leave the neighbour unchanged.

    Clipping moves the row back to the corner. The sums therefore change as before, and the number of clipped rows in
    every column changes by one.

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


def orthogonal_row_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Return a pair in which a corner row is added to a table with one row that is orthogonal to it.

    Return no pair if there is no intercept, if there are no numeric columns, or if rows are replaced.

    >>> design = Design("y", {"y": (-1, 1), "a": (-1, 1), "b": (0, 10)})
    >>> [pair.table for pair in orthogonal_row_pairs(design)]
    [{'y': [0.0, 1.0], 'a': [-0.5, 1.0], 'b': [2.5, 10.0]}]
    """
    columns = design.table_columns
    numbers = [name for name, column in columns.items() if isinstance(column, Numeric) and name != design.target]
    target = columns[design.target]
    if design.unit.neighbours != "add-remove" or not (design.intercept and numbers and isinstance(target, Numeric)):
        return ()
    orthogonal = {name: _extreme(column, flipped=True) for name, column in columns.items()}
    for name, column in columns.items():
        if isinstance(column, Numeric):
            orthogonal[name] = column.mid - (column.half / len(numbers) if name in numbers else 0.0)
    rest: dict[str, list[object]] = {name: [value] for name, value in orthogonal.items()}
    corner = _corner(design, flipped=frozenset())
    added = {name: [*values, *corner[name]] for name, values in rest.items()}
    return (NeighbourPair("corner row with an orthogonal row", added, rest),)


def opposed_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Return pairs in which a corner row is added to equal rows with the opposite target.

    The opposite rows pull the coefficients away from the corner row. If noise moves the coefficients back, the corner
    row has the largest effect on the loss and its curvature. The number of opposite rows for which this happens depends
    on the noise, so several numbers are tried. Return no pairs if rows are replaced.

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
        pairs.append(NeighbourPair(f"corner row with {rows} of the opposite target", added, rest))
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
# Pairs with the largest change of the sums of products, for rows between corners.

# fractions of the way towards the opposite corner that a row moves
_WAYS: Final = (0.0, 0.25, 0.375, 0.5, 0.75, 1.0)


def l1_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Construct neighbouring tables with the largest L1 change of the sums of products.

    If rows are replaced, the diagonal of the moments changes only if a row moves part of the way to the opposite
    corner.
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
    # booleans and levels move all the way or not at all, so many of these rows are equal
    pairs = list(corners)
    for pair in part_way:
        if pair.neighbour not in [earlier.neighbour for earlier in pairs]:
            pairs.append(pair)
    return tuple(pairs)


def middle_target_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Return the corner pairs. For each pair that flips the target, also return one that moves it to the middle.

    Opposite targets have the same square, so a target in the middle changes the sum of squares most.

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


# -- orthogonal pairs --------------------------------------------------------------------------------------------------
# Pairs with the largest change of the smallest eigenvalue: only one row points in the direction of its eigenvector.


def orthogonal_pairs(design: Design) -> tuple[NeighbourPair, ...]:
    """Construct pairs with the largest change of the smallest eigenvalue, for numeric designs without a radius."""
    numbers = {name: design.columns[name] for name in design.regressors}
    if design.radius is not None or not all(isinstance(column, Numeric) for column in numbers.values()):
        return ()
    if set(design.table_columns) != {*numbers, design.target}:
        return ()
    constant = design.needs_sums
    names = list(numbers)
    first = {} if constant else {names[0]: 1}
    # rows w with c.w = 0 for the corner row c, repeated so that only one row determines the direction of c
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
        NeighbourPair(f"{name} orthogonal to the rest", _joined(others, first_rows), _joined(others, second_rows))
        for name, first_rows, second_rows in rows
    )


def _joined(first: Table, second: Table) -> dict[str, list[object]]:
    return {name: [*values, *second[name]] for name, values in first.items()}


def _table(design: Design, rows: Sequence[dict[str, int]]) -> Table:
    """Convert scaled rows of -1, 0 and 1 to declared values. A boolean is true where the scaled value is 1."""
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


# -- adaptive pairs ----------------------------------------------------------------------------------------------------
# Pairs with the largest change of ridge coefficients inside a ball: most rows fix coefficients, and one row changes.

# how far the rows that fix the coefficients point along them; smaller values need more rows and add less curvature
_ASIDE: Final = 1 / 16


def adaptive_pairs(design: Design, strength: float, bound: float) -> tuple[NeighbourPair, ...]:
    """Return a pair that adds a corner row, or replaces it by its reflection, where its residual is largest.

    If the row is added, the coefficients before the addition are parallel to it and as long as `bound` allows. If it is
    replaced, they are orthogonal to the change. In both cases the other rows hardly hold the coefficients in place.
    Return no pair if there is no such table.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> [pair.name for pair in adaptive_pairs(design, 100.0, 1.0)]
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
    held = max(fitting, key=lambda direction: direction.moved(bound))
    rest = _adaptive_table(design, held, held.rows(strength, bound))
    corner = _Rows(1, 1.0, range(held.others), -1.0)
    added = _joined(rest, _adaptive_table(design, held, [corner], 1.0))
    if not replaced:
        return (NeighbourPair("corner row against the fit", added, rest),)
    reflected = _joined(rest, _adaptive_table(design, held, [corner], -1.0))
    return (NeighbourPair("corner row for its reflection next to the fit", added, reflected),)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Several equal rows.

    There are `times` of them. `number` is the scaled value of each participating numeric column, `on` are the other
    columns that are not 0, and `target` is the scaled target.
    """

    times: int
    number: float
    on: range
    target: float


@dataclass(frozen=True, slots=True)
class _Held:
    """Direction (1, ..., 1) over some columns, along which the rows fix the coefficients.

    `constant` is 1 with an intercept and 0 without. `numbers` and `others` count the participating numeric and other
    columns. `flipped` counts the numeric columns that a replacement reflects; they do not participate. `corner` is the
    scaled value of a number in a corner row: 1, or less inside a small ball.
    """

    constant: int
    numbers: int
    others: int
    flipped: int
    corner: float

    @classmethod
    def of(cls, design: Design, numbers: int, flipped: int, others: int) -> _Held | None:
        """Return the direction, or None if no rows inside the bounds can fix the coefficients along it."""
        constant, left = int(design.intercept), numbers - flipped
        corner = 1.0
        if design.radius is not None and design.radius**2 < numbers + others:
            corner = design.radius / math.sqrt(max(numbers, 1))
        held = cls(constant, left, others, flipped, corner)
        if left == 0:
            return held if constant and numbers and not others else None
        # rows orthogonal to the direction must be inside the box and the ball
        needed = constant + (1 if others else 0)
        return held if left * corner**2 >= needed and not (others and corner < 1) else None

    @property
    def norm(self) -> float:
        """Length of a corner row, restricted to the participating columns."""
        return math.sqrt(self.constant + self.numbers * self.corner**2 + self.others)

    def moved(self, bound: float) -> float:
        """Return how far a corner row moves the coefficients, multiplied by the penalty strength."""
        across = 2 * self.corner * math.sqrt(self.flipped) if self.flipped else self.norm
        return across * (1 + self.norm * bound)

    def rows(self, strength: float, bound: float) -> list[_Rows]:
        """Return rows whose ridge coefficients are parallel to the direction and of about the length `bound`.

        The direction is a combination of the kinds of rows with coefficients `share`. The gradient vanishes if the
        residuals of each kind add up to strength * length * share. Only one kind of row has a component `along` the
        direction, so the rows add almost no curvature in that direction.
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
    """Return the names of the numeric regressors and of the other regressors."""
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


# -- catalogue ---------------------------------------------------------------------------------------------------------
# For every mechanism, the pairs for which its loss comes closest to its claim.

Pairs: TypeAlias = tuple[NeighbourPair, ...]


def worst_pairs(mechanism: str, design: Design, *, clip_counts: bool = False) -> Pairs:
    """Return neighbouring tables for which the loss of a mechanism comes closest to its claim.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    design : Design
        Design of the tables.
    clip_counts : bool
        Whether numbers of clipped rows are also released.

    Returns
    -------
    tuple of NeighbourPair

    Examples
    --------
    >>> [pair.name for pair in worst_pairs("gaussian", Design("y", {"y": (-1, 1), "b": (0, 10)}))]
    ['second corner row']
    """
    pairs = _PAIRS.get(mechanism, corner_pairs)(design)
    return clipped_pairs(design, pairs) if clip_counts else pairs


def _eigenvalue_pairs(design: Design) -> Pairs:
    """Return the worst pairs for moments, and pairs in which one row determines the smallest eigenvalue."""
    return (*middle_target_pairs(design), *orthogonal_pairs(design))


def _output_pairs(design: Design) -> Pairs:
    """Return corner pairs, and pairs in which a corner row has the largest possible residual."""
    strength = float(mechanism_named("output").info.settings["strength"].default)
    return (*corner_pairs(design), *adaptive_pairs(design, strength, _ball("bound")))


def _objective_pairs(design: Design) -> Pairs:
    """Return pairs that add a corner row to orthogonal, equal or opposite rows, or where its residual is largest."""
    adaptive = adaptive_pairs(design, _ball("strength"), _ball("bound"))
    return (*orthogonal_row_pairs(design), *corner_pairs(design), *opposed_pairs(design), *adaptive)


def _ball(setting: str) -> float:
    return float(BALL_SETTINGS[setting].default)


# at zero coefficients, corner rows have the longest scores and gradients; for a histogram, all rows that are added or
# moved to another cell are equally bad
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
    # corner rows are worst for Gaussian and Wishart noise, rows between corners for Laplace noise
    "irls": l1_pairs,
    "gradient": corner_pairs,
    "output": _output_pairs,
    "objective": _objective_pairs,
    "refined": corner_pairs,
    "staged": corner_pairs,
})  # fmt: skip

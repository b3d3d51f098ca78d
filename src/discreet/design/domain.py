"""Describe the public geometry of a scaled row, on which every sensitivity depends."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from discreet.design.columns import Boolean, Column, Interaction, Numeric, SplineBasis, checked_bounds
from discreet.design.design import Design
from discreet.errors import SpecError, shown
from discreet.privacy.checks import is_integer

# -- domain ------------------------------------------------------------------------------------------------------------
# Public geometry of one scaled row: everything a sensitivity may depend on.

DEFAULT_GRID_BITS = 16
MIN_GRID_BITS = 8
MAX_GRID_BITS = 26
MAX_MEGABYTES = 4096
# a weight is a multiple of two to minus this times the largest one
WEIGHT_BITS = 14
# products of three integers then stay exact in doubles for chunks of useful size
MAX_WEIGHTED_GRID_BITS = 16
# six arrays of doubles
_BYTES_PER_PRODUCT = 6 * 8


@dataclass(frozen=True, slots=True)
class RowDomain:
    """The set that every encoded row (1, x, y) lies in, whatever the table holds.

    One scaled unit is `unit = 2**grid_bits` steps of the integer grid.

    Attributes
    ----------
    numeric, boolean, blocks
        How many regressors lie in [-1, 1], how many lie in [0, 1] (booleans and one-hot blocks of a single indicator),
        and how many blocks have two or more columns that are not negative and whose squares sum to at most 1: one-hot
        indicators, or basis functions of a spline. An interaction without a number counts like a category.
    radius
        Declared ball for x, or none.
    target_nonnegative
        Whether y lies in [0, 1] rather than [-1, 1].
    grid_bits
        Steps of the grid per scaled unit, as a power of two.
    signed_blocks
        How many blocks have two or more columns in [-1, 1] of which at most one is not 0: interactions of a category
        and a number. One with a single column counts as a number.
    weight_bits
        Of a design with weights: a row has an integer weight of at most `2**weight_bits` steps behind its target.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "b": bool, "g": ["a", "b", "c"]})
    >>> domain = RowDomain.of(design, grid_bits=16)
    >>> domain.norm2_bound == 3 * 2**32
    True
    """

    numeric: int
    boolean: int
    blocks: int
    radius: float | None
    target_nonnegative: bool
    grid_bits: int
    signed_blocks: int = 0
    weight_bits: int = 0

    @classmethod
    def of(cls, design: Design, grid_bits: int = DEFAULT_GRID_BITS) -> RowDomain:
        """The domain that a design declares."""
        if not is_integer(grid_bits) or not MIN_GRID_BITS <= grid_bits <= MAX_GRID_BITS:
            raise SpecError(
                f"grid_bits {shown(grid_bits)} is not allowed; "
                f"choose an integer from {MIN_GRID_BITS} to {MAX_GRID_BITS}"
            )
        if design.weights is not None and grid_bits > MAX_WEIGHTED_GRID_BITS:
            raise SpecError(
                f"grid_bits {grid_bits} is not allowed with weights, which take {WEIGHT_BITS} bits of their own; "
                f"choose an integer from {MIN_GRID_BITS} to {MAX_WEIGHTED_GRID_BITS}"
            )
        _check_size(len(design.released))
        kinds = Counter(kind_of(design.columns[name]) for name in design.regressors)
        domain = cls(
            numeric=kinds["numeric"],
            boolean=kinds["boolean"],
            blocks=kinds["block"],
            signed_blocks=kinds["signed block"],
            radius=design.radius,
            target_nonnegative=isinstance(design.columns[design.target], Boolean),
            grid_bits=grid_bits,
            weight_bits=0 if design.weights is None else WEIGHT_BITS,
        )
        # squared norms of rows are summed in 64-bit integers
        if not domain.box_norm2 < 2**62:
            raise SpecError(f"{len(design.regressors)} columns do not fit grid_bits = {grid_bits}; lower grid_bits")
        return domain

    @property
    def unit(self) -> int:
        """Grid steps in one scaled unit."""
        return 1 << self.grid_bits

    @property
    def product_unit(self) -> int:
        """Steps in one scaled unit of a product of two columns, times the weight of the row if there is one.

        >>> RowDomain(1, 0, 0, None, False, 8).product_unit == 4**8
        True
        """
        return 1 << 2 * self.grid_bits + self.weight_bits

    @property
    def weight_unit(self) -> int:
        """Steps of the largest weight; 1 without weights."""
        return 1 << self.weight_bits

    @property
    def box_norm2(self) -> int:
        """Largest squared norm of x in the box, in squared grid steps; a block counts once."""
        return (self.numeric + self.boolean + self.blocks + self.signed_blocks) * self.unit**2

    @property
    def ball_norm2(self) -> int | None:
        """Largest squared norm of x that the declared ball allows, in squared grid steps."""
        if self.radius is None:
            return None
        return math.floor(Fraction(self.radius) ** 2 * self.unit**2)

    @property
    def shrinks(self) -> bool:
        """Whether the declared ball cuts into the box, so that some rows are shrunk."""
        ball = self.ball_norm2
        return ball is not None and ball < self.box_norm2

    @property
    def norm2_bound(self) -> int:
        """Largest squared norm of x after clipping, in squared grid steps."""
        ball = self.ball_norm2
        return self.box_norm2 if ball is None else min(ball, self.box_norm2)


def kind_of(column: Column) -> Literal["numeric", "boolean", "block", "signed block"]:
    """What a declared column is in the geometry of a row: what its released columns can be, by themselves and together.

    >>> from discreet.design.columns import Categorical
    >>> kind_of(Categorical(("a", "b"))), kind_of(Categorical(("a", "b", "c")))
    ('boolean', 'block')
    """
    if isinstance(column, Numeric):
        return "numeric"
    if isinstance(column, SplineBasis):
        return "block"
    single = isinstance(column, Boolean) or len(column.released("")) == 1
    if isinstance(column, Interaction) and column.signed:
        return "numeric" if single else "signed block"  # [P:signed-block]
    return "boolean" if single else "block"


def norm2(domain: RowDomain) -> float:
    """Largest squared norm of x in scaled units, rounded up.

    >>> norm2(RowDomain(2, 1, 1, None, False, 16))
    4.0
    """
    exact = Fraction(domain.norm2_bound, domain.unit**2)
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def _check_size(released: int) -> None:
    if not released * released * _BYTES_PER_PRODUCT <= MAX_MEGABYTES << 20:
        megabytes = released * released * _BYTES_PER_PRODUCT / 2**20
        most = math.isqrt((MAX_MEGABYTES << 20) // _BYTES_PER_PRODUCT)
        raise SpecError(
            f"{released} released columns need about {megabytes:.0f} MB for their products; allowed: "
            f"{MAX_MEGABYTES} MB, {most} columns; declare fewer columns or levels"
        )


# -- submodels ---------------------------------------------------------------------------------------------------------
# Models that are declared before a release, as released columns: their names, and the domain of their rows.

# a name that a formula takes without back quotes
_PLAIN: Final = re.compile(r"[^\W\d]\w*(\[[^\[\]`]*\])?")


def full_columns(design: Design) -> tuple[int, ...]:
    """Columns of the full model of a design.

    >>> full_columns(Design("y", {"y": (0, 1), "x": (0, 1), "b": bool}))
    (1, 2, 3)
    """
    return tuple(range(1, len(design.released)))


def model_names(design: Design, columns: Sequence[int]) -> tuple[str, tuple[str, ...]]:
    """Target and features of a model by name; a category with all its indicators has its declared name.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
    >>> model_names(design, (1, 2, 3, 4)), model_names(design, (3, 1))
    (('y', ('x', 'g')), ('x', ('g[c]',)))
    """
    *features, target = columns
    names: list[str] = []
    for name, span in _spans(design).items():
        inside = [at for at in span if at in features]
        names += [name] if len(inside) == len(span) else [design.released[at] for at in inside]
    return design.released[target], tuple(names)


def model_text(design: Design, columns: Sequence[int]) -> str:
    """A model as a formula.

    >>> model_text(Design("y", {"y": (0, 1), "x": (0, 1), "net pay": (0, 1)}), (1, 2, 3))
    'y ~ x + `net pay`'
    """
    target, features = model_names(design, columns)
    return f"{formula_name(target)} ~ {' + '.join(map(formula_name, features)) or '1'}"


def formula_name(name: str) -> str:
    """Give a declared name, or that of an indicator, as a formula has it: in back quotes where it is no plain word.

    >>> formula_name("age"), formula_name("region[south]"), formula_name("years of school")
    ('age', 'region[south]', '`years of school`')
    """
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def is_model(design: Design, columns: Sequence[object]) -> bool:
    """Whether these are the columns of a model that can be declared beside the full one, read from a file or not.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
    >>> [is_model(design, columns) for columns in [(1, 4), (4,), (1, 2, 3, 4), (2, 1, 4), (1, 3), (1, 1), ("y",), ()]]
    [True, True, False, False, False, False, False, False]
    """
    whole = [column for column in columns if is_integer(column)]
    if not whole or len(whole) < len(columns):
        return False
    *features, target = whole
    spans = {span[0]: design.columns[name] for name, span in _spans(design).items()}
    known = isinstance(spans.get(target), Numeric | Boolean) and set(features) <= set(range(1, len(design.released)))
    ordered = features == sorted(set(features)) and target not in features
    if not known or not ordered or tuple(whole) == full_columns(design):
        return False
    # of blocks that are no categories there is the whole or nothing
    return set(model_names(design, whole)[1]) <= set(design.parts)


def model_domain(design: Design, domain: RowDomain, columns: Sequence[int]) -> RowDomain:
    """The domain of the rows of one model: its features as x, its target as y.

    A part of a block counts as the whole block. The declared ball is one for all regressors of the design together, so
    any of them are inside it; where the target of the design is a feature, the box alone counts.

    Parameters
    ----------
    design
        What was declared.
    domain
        That of the design, with its grid and the bits of its weights.
    columns
        Those of the model.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "b": bool, "g": ["a", "b", "c"]})
    >>> model_domain(design, RowDomain.of(design), (1, 4, 5)).norm2_bound == 2 * 2**32
    True
    """
    *features, target = columns
    used = [name for name, span in _spans(design).items() if not set(features).isdisjoint(span)]
    kinds = Counter(kind_of(design.columns[name]) for name in used)  # [P:model-domain]
    return replace(
        domain,
        numeric=kinds["numeric"],
        boolean=kinds["boolean"],
        blocks=kinds["block"],
        signed_blocks=kinds["signed block"],
        radius=None if design.target in used else domain.radius,  # [P:model-ball]
        target_nonnegative=isinstance(design.columns[design.released[target]], Boolean),
    )


def _spans(design: Design) -> Mapping[str, range]:
    """Positions of the released columns of every regressor, and of the target last."""
    found, next_one = {}, 1
    for name in (*design.regressors, design.target):
        first, next_one = next_one, next_one + len(design.columns[name].released(name))
        found[name] = range(first, next_one)
    return found


# -- dyadic ------------------------------------------------------------------------------------------------------------
# Dyadic cells of a public range: where bounds are looked for that nobody declared.

# powers of two on each side of the origin that end a cell inside the range
_POWERS: Final = 40


@lru_cache(maxsize=256)
def cell_edges(low: float, high: float) -> tuple[float, ...]:
    """Ends of the cells of a range, in order: its own ends, an origin, and the origin plus and minus powers of two.

    The origin is the point of the range that is nearest to 0. The powers are the 40 largest that are smaller than the
    distance to the farther end. One is left out where a cell beside it would be too narrow to be bounds by itself, so
    any run of cells makes bounds that a column can have.

    Parameters
    ----------
    low, high
        The range.

    Examples
    --------
    >>> edges = cell_edges(-(2.0**20), 2.0**20)
    >>> len(edges), edges[40:44]
    (83, (-9.5367431640625e-07, 0.0, 9.5367431640625e-07, 1.9073486328125e-06))
    >>> cell_edges(1000.0, 1010.0)[-4:]
    (1002.0, 1004.0, 1008.0, 1010.0)
    """
    origin = min(max(0.0, low), high)
    farther = max(high - origin, origin - low)
    top = math.frexp(farther)[1]
    if math.ldexp(1.0, top - 1) == farther:
        top -= 1
    powers = [math.ldexp(1.0, top - place) for place in range(1, _POWERS + 1)]
    wanted = sorted({origin, *(origin + power for power in powers), *(origin - power for power in powers)})
    edges = [low]
    for edge in wanted:
        if low < edge < high and _is_wide(edges[-1], edge) and _is_wide(edge, high):
            edges.append(edge)
    return *edges, high


def _is_wide(low: float, high: float) -> bool:
    with suppress(SpecError):
        return checked_bounds((low, high)) == (low, high)
    return False

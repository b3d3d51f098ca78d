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
from discreet.errors import OptionError, SpecError, UnsupportedError
from discreet.options import DEFAULT_GRID_BITS, MIN_GRID_BITS, check_grid_bits
from discreet.privacy.checks import is_integer

# -- domain ------------------------------------------------------------------------------------------------------------
# The public geometry of a scaled row: everything that a sensitivity may depend on.

MAX_MEGABYTES = 4096
# weights are multiples of 2**-WEIGHT_BITS times the largest weight
WEIGHT_BITS = 14
# keeps products of three integers exact in doubles for chunks of useful size
MAX_WEIGHTED_GRID_BITS = 16
# six arrays of doubles
_BYTES_PER_PRODUCT = 6 * 8


@dataclass(frozen=True, slots=True)
class RowDomain:
    """The set that contains every encoded row (1, x, y), whatever the table holds.

    One scaled unit is `unit = 2**grid_bits` steps of the integer grid.

    Attributes
    ----------
    numeric, boolean, blocks
        Number of regressors in [-1, 1], of regressors in [0, 1] (booleans and one-hot blocks of a single indicator),
        and of blocks of two or more nonnegative columns whose squares sum to at most 1: one-hot
        indicators, or basis functions of a spline. An interaction without a number is treated like a category.
    radius
        Radius of the declared ball for x, or None.
    target_nonnegative
        Whether y lies in [0, 1] rather than [-1, 1].
    grid_bits
        Binary logarithm of the grid steps per scaled unit.
    signed_blocks
        Number of blocks of two or more columns in [-1, 1] of which at most one is nonzero: interactions of a category
        and a number. Such a block with a single column is treated as a number.
    weight_bits
        In a design with weights, a row has an integer weight of at most `2**weight_bits` after its target.

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
        """Return the domain that a design declares."""
        check_grid_bits(grid_bits)
        if design.weights is not None and grid_bits > MAX_WEIGHTED_GRID_BITS:
            raise OptionError(
                f"grid_bits {grid_bits} is too large for a design with weights, which use {WEIGHT_BITS} bits; "
                f"choose an integer from {MIN_GRID_BITS} to {MAX_WEIGHTED_GRID_BITS}",
                code="grid-bits-with-weights",
                option="grid_bits",
                given=grid_bits,
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
            raise UnsupportedError(
                f"{len(design.regressors)} columns do not fit grid_bits = {grid_bits}",
                code="too-many-columns-for-grid",
                option="grid_bits",
                remedy="lower grid_bits",
            )
        return domain

    @property
    def unit(self) -> int:
        """Grid steps in one scaled unit."""
        return 1 << self.grid_bits

    @property
    def product_unit(self) -> int:
        """Grid steps in one scaled unit of a product of two columns, including the weight of the row.

        >>> RowDomain(1, 0, 0, None, False, 8).product_unit == 4**8
        True
        """
        return 1 << 2 * self.grid_bits + self.weight_bits

    @property
    def weight_unit(self) -> int:
        """Grid steps of the largest weight, or 1 without weights."""
        return 1 << self.weight_bits

    @property
    def box_norm2(self) -> int:
        """Largest squared norm of x in the box, in squared grid steps. A block contributes once."""
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
    """Return the kind of a declared column in the geometry of a row.

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
    """Return the largest squared norm of x in scaled units, rounded up.

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
        raise UnsupportedError(
            f"{released} released columns need about {megabytes:.0f} MB for their products; at most "
            f"{MAX_MEGABYTES} MB, or {most} columns, are allowed",
            code="too-many-columns",
            remedy="declare fewer columns or levels",
        )


# -- submodels ---------------------------------------------------------------------------------------------------------
# Models declared before a release, given by indices of released columns.

# names that formulas accept without back quotes
_PLAIN: Final = re.compile(r"[^\W\d]\w*(\[[^\[\]`]*\])?")


def full_columns(design: Design) -> tuple[int, ...]:
    """Return the indices of the columns of the full model.

    >>> full_columns(Design("y", {"y": (0, 1), "x": (0, 1), "b": bool}))
    (1, 2, 3)
    """
    return tuple(range(1, len(design.released)))


def model_names(design: Design, columns: Sequence[int]) -> tuple[str, tuple[str, ...]]:
    """Return the names of the target and features. A category with all its indicators has its declared name.

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
    """Return a model as a formula.

    >>> model_text(Design("y", {"y": (0, 1), "x": (0, 1), "net pay": (0, 1)}), (1, 2, 3))
    'y ~ x + `net pay`'
    """
    target, features = model_names(design, columns)
    return f"{formula_name(target)} ~ {' + '.join(map(formula_name, features)) or '1'}"


def formula_name(name: str) -> str:
    """Return a name as written in a formula: in back quotes unless it is a plain word.

    >>> formula_name("age"), formula_name("region[south]"), formula_name("years of school")
    ('age', 'region[south]', '`years of school`')
    """
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def is_model(design: Design, columns: Sequence[object]) -> bool:
    """Return whether columns form a model that can be declared in addition to the full model.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
    >>> [is_model(design, columns) for columns in [(1, 4), (4,), (1, 2, 3, 4), (2, 1, 4), (1, 3), (1, 1), ("y",), ()]]
    [True, True, False, False, False, False, False, False]
    """
    whole = [column for column in columns if is_integer(column)]
    if not whole or len(whole) < len(columns):
        return False
    *features, target = whole
    spans = {span[0]: design.columns[name] for name, span in _spans(design).items()}
    in_design = isinstance(spans.get(target), Numeric | Boolean) and set(features) <= set(
        range(1, len(design.released))
    )
    ordered = features == sorted(set(features)) and target not in features
    if not in_design or not ordered or tuple(whole) == full_columns(design):
        return False
    # blocks other than categories are used whole or not at all
    return set(model_names(design, whole)[1]) <= set(design.parts)


def model_domain(design: Design, domain: RowDomain, columns: Sequence[int]) -> RowDomain:
    """Return the domain of the rows of a model, with its features as x and its target as y.

    A part of a block is treated as the whole block. The declared ball holds all regressors of the design together, so
    it holds any subset of them. If the target of the design is a feature, only the box applies.

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
    """Return the indices of the released columns of every regressor, and of the target last."""
    spans, stop = {}, 1
    for name in (*design.regressors, design.target):
        first, stop = stop, stop + len(design.columns[name].released(name))
        spans[name] = range(first, stop)
    return spans


# -- dyadic ------------------------------------------------------------------------------------------------------------
# Dyadic cells of a public range, from which private bounds are chosen.

# number of powers of two on each side of the origin
_POWERS: Final = 40


@lru_cache(maxsize=256)
def cell_edges(low: float, high: float) -> tuple[float, ...]:
    """Return the edges of the cells of a range: its ends, an origin, and the origin plus and minus powers of two.

    The origin is the point of the range nearest to 0. The powers are the 40 largest below the distance to the farther
    end. An edge is left out if a cell next to it would be too narrow for bounds, so any run of cells has valid bounds.

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
    powers = [math.ldexp(1.0, top - index) for index in range(1, _POWERS + 1)]
    candidates = sorted({origin, *(origin + power for power in powers), *(origin - power for power in powers)})
    edges = [low]
    for edge in candidates:
        if low < edge < high and _is_wide(edges[-1], edge) and _is_wide(edge, high):
            edges.append(edge)
    return *edges, high


def _is_wide(low: float, high: float) -> bool:
    with suppress(SpecError):
        return checked_bounds((low, high)) == (low, high)
    return False

"""Public geometry of one scaled row: everything a sensitivity may depend on."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.design.columns import Boolean, Column, Numeric, SplineBasis
from discreet.design.interactions import Interaction
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.privacy.checks import is_integer

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

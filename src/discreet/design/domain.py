"""Describe the set of possible scaled rows, which is public. Sensitivities depend on nothing else."""

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
MAX_MEGABYTES = 4096
# weights are multiples of 2**-WEIGHT_BITS times the largest weight
WEIGHT_BITS = 14
# with more grid bits, sums of products of three integers would be exact in doubles only for very small chunks
MAX_WEIGHTED_GRID_BITS = 16
# memory for each product of two columns: six arrays of doubles
_BYTES_PER_PRODUCT = 6 * 8


@dataclass(frozen=True, slots=True)
class RowDomain:
    """Set of all possible encoded rows (1, x, y), regardless of what the table holds.

    One scaled unit equals `2**grid_bits` steps of the integer grid.

    Attributes
    ----------
    numeric
        Number of regressors with range [-1, 1] that are not in a block.
    boolean
        Number of regressors with range [0, 1] that are not in a block: booleans, and categories or interactions with a
        single indicator.
    blocks
        Number of blocks of two or more nonnegative columns whose squares sum to at most 1 in a row: indicators of a
        category or of an interaction without a number, and basis functions of a spline.
    radius
        Declared bound on the norm of x, or None.
    target_nonnegative
        Whether y lies in [0, 1] rather than [-1, 1].
    grid_bits
        Binary logarithm of the number of grid steps per scaled unit.
    signed_blocks
        Number of blocks of two or more columns with range [-1, 1] of which at most one is nonzero in a row. These are
        interactions of a category and a number. An interaction with a single column is counted in `numeric`.
    weight_bits
        In a design with weights, the last entry of an encoded row is an integer weight of at most `2**weight_bits`.

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
        """Return the domain of the encoded rows of a design."""
        check_grid_bits(grid_bits)
        if design.weights is not None and grid_bits > MAX_WEIGHTED_GRID_BITS:
            raise OptionError(
                f"a design with weights requires grid_bits from {MIN_GRID_BITS} to {MAX_WEIGHTED_GRID_BITS}, "
                f"got {grid_bits}",
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
                f"a design with {len(design.regressors)} columns is too wide for grid_bits = {grid_bits}",
                code="too-many-columns-for-grid",
                option="grid_bits",
                remedy="lower grid_bits",
            )
        return domain

    @property
    def unit(self) -> int:
        """Number of grid steps in one scaled unit."""
        return 1 << self.grid_bits

    @property
    def product_unit(self) -> int:
        """Number of grid steps in one scaled unit of a product of two columns and the row weight."""
        return 1 << 2 * self.grid_bits + self.weight_bits

    @property
    def weight_unit(self) -> int:
        """Number of grid steps in the largest weight, or 1 if there are no weights."""
        return 1 << self.weight_bits

    @property
    def box_norm2(self) -> int:
        """Largest squared norm of x that the bounds allow, in squared grid steps.

        The columns of a block together add at most one squared unit.
        """
        return (self.numeric + self.boolean + self.blocks + self.signed_blocks) * self.unit**2

    @property
    def ball_norm2(self) -> int | None:
        """Largest squared norm of x that the declared radius allows, in squared grid steps, or None."""
        if self.radius is None:
            return None
        return math.floor(Fraction(self.radius) ** 2 * self.unit**2)

    @property
    def shrinks(self) -> bool:
        """Whether some rows inside the bounds lie outside the declared ball, so that they are shrunk."""
        ball = self.ball_norm2
        return ball is not None and ball < self.box_norm2

    @property
    def norm2_bound(self) -> int:
        """Largest squared norm of x after clipping and shrinking, in squared grid steps."""
        ball = self.ball_norm2
        return self.box_norm2 if ball is None else min(ball, self.box_norm2)


def kind_of(column: Column) -> Literal["numeric", "boolean", "block", "signed block"]:
    """Return how the released columns of a declared column are counted in a `RowDomain`.

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
    """Return the largest squared norm of x in scaled units, rounded up."""
    exact = Fraction(domain.norm2_bound, domain.unit**2)
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def _check_size(released: int) -> None:
    if not released * released * _BYTES_PER_PRODUCT <= MAX_MEGABYTES << 20:
        megabytes = released * released * _BYTES_PER_PRODUCT / 2**20
        most = math.isqrt((MAX_MEGABYTES << 20) // _BYTES_PER_PRODUCT)
        raise UnsupportedError(
            f"the products of {released} released columns need about {megabytes:.0f} MB; the limit is "
            f"{MAX_MEGABYTES} MB, or {most} columns",
            code="too-many-columns",
            remedy="declare fewer columns or levels",
        )


# -- submodels ---------------------------------------------------------------------------------------------------------
# A model is a sequence of indices of released columns, with the target last.

# names that formulas accept without back quotes
_PLAIN: Final = re.compile(r"[^\W\d]\w*(\[[^\[\]`]*\])?")


def full_columns(design: Design) -> tuple[int, ...]:
    """Return the column indices of the full model, which has all regressors of the design."""
    return tuple(range(1, len(design.released)))


def model_names(design: Design, columns: Sequence[int]) -> tuple[str, tuple[str, ...]]:
    """Return the names of the target and the features. All indicators of a category together are named by the category.

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
    """Write a model as a formula.

    >>> model_text(Design("y", {"y": (0, 1), "x": (0, 1), "net pay": (0, 1)}), (1, 2, 3))
    'y ~ x + `net pay`'
    """
    target, features = model_names(design, columns)
    return f"{formula_name(target)} ~ {' + '.join(map(formula_name, features)) or '1'}"


def formula_name(name: str) -> str:
    """Return a column name as it is written in a formula, with back quotes unless it is a plain word."""
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def is_model(design: Design, columns: Sequence[object]) -> bool:
    """Return whether column indices form a model that can be declared in addition to the full model.

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
    # a model contains all or none of the columns of a spline or interaction
    return set(model_names(design, whole)[1]) <= set(design.parts)


def model_domain(design: Design, domain: RowDomain, columns: Sequence[int]) -> RowDomain:
    """Return the set of possible rows of a model, whose features are x and whose target is y.

    A block is included as a whole even if the model uses only some of its columns. The declared radius bounds the norm
    of all regressors of the design, and hence of any subset. If the target of the design is a feature, only the bounds
    apply.

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
    """Return the indices of the released columns of each regressor, and last of the target."""
    spans, stop = {}, 1
    for name in (*design.regressors, design.target):
        first, stop = stop, stop + len(design.columns[name].released(name))
        spans[name] = range(first, stop)
    return spans


# -- dyadic ------------------------------------------------------------------------------------------------------------
# A public range is divided into dyadic cells, and private bounds are chosen among the edges of these cells.

# number of powers of two on each side of the origin
_POWERS: Final = 40


@lru_cache(maxsize=256)
def cell_edges(low: float, high: float) -> tuple[float, ...]:
    """Return the edges of the cells into which a public range is divided.

    The edges are the ends of the range, an origin, and the origin plus and minus powers of two. The origin is the point
    of the range nearest to 0. The powers are the 40 largest that are below the distance from the origin to the farther
    end. An edge is left out if a cell next to it would be too narrow for valid bounds, so that the ends of any
    consecutive cells are valid bounds.

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

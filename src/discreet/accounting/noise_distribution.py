"""Describe the noise distribution of a release, as it is published, and read it from a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypeVar, cast

import numpy as np

from discreet.design.design import Design
from discreet.design.domain import is_model
from discreet.errors import ReleaseFileError
from discreet.exact.arrays import FloatArray
from discreet.exact.linear import pairs, position, symmetric
from discreet.options import MAX_GRID_BITS, MIN_GRID_BITS
from discreet.privacy.checks import is_integer

# -- distribution
# --------------------------------------------------------------------------------------------------------------- The
# noise distribution of a release, as it is published.

# public settings of a mechanism by name
Settings: TypeAlias = Mapping[str, bool | int | float | str]

Block = Literal[
    "count", "sum_x", "gram_diagonal", "gram_off_diagonal", "sum_y", "cross", "target_square",
    "residual_diagonal", "residual_off_diagonal", "residual_ratio", "clipped", "guard", "discovery",
]  # fmt: skip
BLOCKS: Final[tuple[Block, ...]] = (
    "count", "sum_x", "gram_diagonal", "gram_off_diagonal", "sum_y", "cross", "target_square",
)  # fmt: skip
RESIDUAL_BLOCKS: Final[tuple[Block, Block]] = ("residual_diagonal", "residual_off_diagonal")
RATIO_BLOCK: Final[Block] = "residual_ratio"
# released columns of one model: those of its features from left to right, and that of its target last
Columns: TypeAlias = tuple[int, ...]
# numbers of clipped rows by numeric column
CLIPPED: Final[Block] = "clipped"
# numbers of rows that fit and of rows that do not, released first
GUARD: Final[Block] = "guard"
GUARD_COUNTS: Final = 2
# numbers of rows by dyadic cell, for private bounds, and of all rows
DISCOVERY: Final[Block] = "discovery"
# preliminary counts, in order of release
BEFORE: Final[tuple[Block, ...]] = (GUARD, DISCOVERY)
DIAGONAL_BLOCKS: Final = ("count", "gram_diagonal", "target_square")
# number of rows, released with sums of weighted rows
ROWS: Final = "rows"
# counts in the search for the radius in private scaling
RADIUS: Final = "radius"
# bits of the weights of rows, a parameter of the distribution
WEIGHT_STEPS: Final = "weight_bits"
# number of independent shares that add up to the noise of every number, a parameter of the distribution
SHARES: Final = "shares"

_Entry = TypeVar("_Entry")

NoiseFamily = Literal["discrete-gaussian", "discrete-laplace", "k-norm", "wishart"]
FAMILIES: Final = ("discrete-gaussian", "discrete-laplace", "k-norm", "wishart")
Calibration = Literal["gaussian", "discrete-zcdp", "pure", "chi-square", "composed", "bound", "none"]
CALIBRATIONS: Final = ("gaussian", "discrete-zcdp", "pure", "chi-square", "composed", "bound", "none")
# calibrations of Gaussian noise that is charged jointly
JOINT: Final[tuple[Calibration, ...]] = ("gaussian", "discrete-zcdp")


@dataclass(frozen=True)
class NoiseDistribution:
    """Noise on the product grid, with one scale for each block of moments or other statistic.

    Attributes
    ----------
    grid_bits
        A scaled value has `2**grid_bits` steps, a product `4**grid_bits`, and a product of weighted rows
        `2**weight_bits` times as many.
    sigma
        Scale of each released block in steps of the product grid, as integers. 0 only for a public count, or where
        the noise is switched off. A block that is absent is not released.
        `coefficients` alone: all noise was added to the published coefficients, after everything else.
    calibration
        `gaussian`: exact Gaussian accounting with the lattice gap paid in delta; `discrete-zcdp`: the discrete
        distribution's own concentrated privacy; `pure`: epsilon alone; `chi-square`: the exact loss of Wishart noise;
        `composed`: several pieces through an accountant; `bound`: a proved upper bound on delta; `none`: not private.
    family
        `discrete-gaussian`: independent entries, the scale is the standard deviation. `discrete-laplace`: independent,
        `P(z)` proportional to `exp(-abs(z) / scale)`. `k-norm`: entries scale * z, z with density proportional to
        `exp(-norm(z))` in `parameters["dimension"]` dimensions, rounded. `wishart`: entries scale * W with
        `parameters["degrees"]` degrees of freedom, less their mean, rounded.
    parameters
        Other parameters of the family, as integers. With weights, `weight_bits`, by which the grid is finer. With
        `shares`, every entry is the sum of this number of independent variates of the stated scale.
    factors
        First and last column of every factor whose indicators have no noise on their products with each other, which
        are 0 in every row. Empty where they have noise like other products.
    indicators
        First and last released column of every declared column of indicators, whose sum of squares and sum are one
        number with one variate, of the scale of the sums. Empty where they have separate noise.
    models
        Columns of every additional model with a residual Gram matrix. The scales of model k, counted from 1, are in
        the blocks `model_blocks(k)`.
    """

    grid_bits: int
    sigma: Mapping[str, int]
    calibration: Calibration
    family: NoiseFamily = "discrete-gaussian"
    parameters: Mapping[str, int] = field(default_factory=dict)
    factors: tuple[tuple[int, int], ...] = ()
    indicators: tuple[tuple[int, int], ...] = ()
    models: tuple[Columns, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", MappingProxyType(dict(self.sigma)))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __reduce__(self) -> tuple[object, ...]:
        # read-only mappings do not travel by themselves
        plain = self.grid_bits, dict(self.sigma), self.calibration, self.family, dict(self.parameters)
        return NoiseDistribution, (*plain, self.factors, self.indicators, self.models)

    def with_before(self, block: str, sigma: int) -> NoiseDistribution:
        """Return the joint noise of a mechanism and of preliminary counts."""
        return replace(self, sigma={**self.sigma, block: sigma})

    def without_before(self) -> NoiseDistribution:
        """Return the noise of the mechanism without preliminary counts."""
        rest = {block: sigma for block, sigma in self.sigma.items() if block not in BEFORE}
        return self if len(rest) == len(self.sigma) else replace(self, sigma=rest)

    def to_dict(self) -> dict[str, object]:
        """Return the distribution as plain values for JSON, integers as decimal text."""
        runs = {"factors": self.factors, "indicators": self.indicators, "models": self.models}
        return {name: [list(one) for one in columns] for name, columns in runs.items() if columns} | {
            "family": self.family,
            "calibration": self.calibration,
            "grid_bits": self.grid_bits,
            "sigma": {block: str(sigma) for block, sigma in self.sigma.items()},
            "parameters": {name: str(value) for name, value in self.parameters.items()},
        }

    @property
    def unit(self) -> int:
        """Number of noise steps in one scaled unit, which is that of the product grid."""
        return 1 << 2 * self.grid_bits + self.parameters.get(WEIGHT_STEPS, 0)

    def steps(self, size: int) -> list[int]:
        """Return the scale of every entry of the upper triangle for `size` columns, 0 without separate noise."""
        scales = {block: self.sigma.get(block, 0) for block in BLOCKS}
        steps = [scales[block] for block in entry_blocks(size)]
        for start, end in self.zero_runs(size):
            steps[start:end] = [0] * (end - start)
        for square in self.copies(size):
            steps[square] = 0
        return steps

    @property
    def indicator_columns(self) -> list[int]:
        """Columns whose sum of squares is their sum.

        >>> NoiseDistribution(8, {}, "none", indicators=((1, 1), (3, 4))).indicator_columns
        [1, 3, 4]
        """
        return [column for first, last in self.indicators for column in range(first, last + 1)]

    def copies(self, size: int) -> dict[int, int]:
        """Return the positions in the triangle of squares of indicators, and of the sums that they copy.

        >>> NoiseDistribution(8, {}, "none", indicators=((1, 2),)).copies(4)
        {4: 1, 7: 2}
        """
        return {position(j, j, size): position(0, j, size) for j in self.indicator_columns}

    def with_copies(self, upper: Sequence[_Entry], size: int) -> list[_Entry]:
        """Return an upper triangle with the squares of indicators copied from their sums.

        >>> NoiseDistribution(8, {}, "none", indicators=((1, 1),)).with_copies("nsyqcv", 3)
        ['n', 's', 'y', 's', 'c', 'v']
        """
        out = list(upper)
        for square, total in self.copies(size).items():
            out[square] = upper[total]
        return out

    def zero_runs(self, size: int) -> list[tuple[int, int]]:
        """Return the runs of products of two indicators of one factor in the triangle, as first and end.

        They are 0 and have no noise.

        >>> NoiseDistribution(8, {}, "none", factors=((1, 3),)).zero_runs(5)
        [(6, 8), (10, 11)]
        """
        return [
            (position(i, i + 1, size), position(i, last, size) + 1)
            for first, last in self.factors
            for i in range(first, last)
        ]

    def without_zeros(self, upper: Sequence[_Entry], size: int) -> list[_Entry]:
        """Return the entries of an upper triangle that are not products of two indicators of one factor.

        >>> NoiseDistribution(8, {}, "none", factors=((1, 2),)).without_zeros("abcdef", 3)
        ['a', 'b', 'c', 'd', 'f']
        """
        kept: list[_Entry] = []
        behind = 0
        for start, end in self.zero_runs(size):
            kept += upper[behind:start]
            behind = end
        return [*kept, *upper[behind:]]

    def with_zeros(self, kept: Sequence[_Entry], size: int, zero: _Entry) -> list[_Entry]:
        """Rebuild the full upper triangle by inserting zeros for the omitted products.

        >>> NoiseDistribution(8, {}, "none", factors=((1, 2),)).with_zeros([7, 7, 7, 7, 7], 3, 0)
        [7, 7, 7, 7, 0, 7]
        """
        upper: list[_Entry] = []
        behind = 0
        for start, end in self.zero_runs(size):
            taken = start - len(upper)
            upper += kept[behind : behind + taken]
            upper += [zero] * (end - start)
            behind += taken
        return [*upper, *kept[behind:]]

    def residual_sizes(self, size: int) -> list[int]:
        """Return the number of columns (1, features) of each residual Gram matrix, the full model first.

        >>> NoiseDistribution(8, {}, "none", models=((1, 4), (2, 3, 4))).residual_sizes(5)
        [4, 2, 3]
        """
        return [size - 1, *(len(columns) for columns in self.models)]

    def residual_steps(self, size: int) -> list[int]:
        """Return the noise scale of each number released in the residual pass.

        >>> sigma = {"residual_diagonal": 9, "residual_off_diagonal": 7, "residual_ratio": 2}
        >>> NoiseDistribution(8, sigma, "none").residual_steps(3)
        [9, 7, 9, 2]
        """
        steps = []
        for number, columns in enumerate(self.residual_sizes(size)):
            diagonal, off = (self.sigma[block] for block in model_blocks(number))
            steps += [diagonal if i == j else off for i, j in pairs(columns)]
        return [*steps, *([self.sigma[RATIO_BLOCK]] if RATIO_BLOCK in self.sigma else [])]

    @property
    def zeros(self) -> int:
        """Return the number of entries of the upper triangle that are 0 and have no noise."""
        return structural_zeros(self.factors)

    def sd(self, block: str) -> float:
        """Return the standard deviation of the noise of a block in scaled units, NaN if it is not released."""
        if block not in self.sigma:
            return math.nan
        return float(self.sigma[block] / self.unit) * self._factor(block)

    def entry_sd(self, size: int) -> FloatArray:
        """Return the standard deviation of every entry in scaled units, shape (size, size), NaN if not released."""
        by_block = {block: self.sd(block) for block in BLOCKS}
        out = symmetric([by_block[block] for block in entry_blocks(size)], size)
        for first, last in self.factors:
            inside = out[first : last + 1, first : last + 1]
            inside[~np.eye(len(inside), dtype=np.bool_)] = 0.0
        columns = self.indicator_columns
        out[columns, columns] = by_block["sum_x"]
        return out

    def _factor(self, block: str) -> float:
        if self.family == "discrete-laplace" or (block in BEFORE and self.family != "discrete-gaussian"):
            return math.sqrt(2)
        if self.family == "k-norm":
            return math.sqrt(self.parameters["dimension"] + 1)
        if self.family == "wishart":
            return math.sqrt(self.parameters["degrees"] * (2 if block in DIAGONAL_BLOCKS else 1))
        return math.sqrt(self.parameters.get(SHARES, 1))


def is_privately_scaled(distribution: NoiseDistribution) -> bool:
    """Return whether the moments are those of privately scaled rows, whose radius was searched."""
    return RADIUS in distribution.sigma and "sum_y" in distribution.sigma


def model_blocks(number: int) -> tuple[str, str]:
    """Return the blocks of the residual Gram matrix of a model: 0 for the full one, else its number in `models`.

    >>> model_blocks(0), model_blocks(2)
    (('residual_diagonal', 'residual_off_diagonal'), ('residual_diagonal_2', 'residual_off_diagonal_2'))
    """
    diagonal, off = RESIDUAL_BLOCKS
    return (f"{diagonal}_{number}", f"{off}_{number}") if number else (diagonal, off)


def structural_zeros(factors: Iterable[tuple[int, int]]) -> int:
    """Return the number of products of two indicators of one factor, from the first and last columns.

    >>> structural_zeros([(2, 4), (6, 7)])
    4
    """
    return sum((last - first + 1) * (last - first) // 2 for first, last in factors)


def entry_blocks(size: int) -> list[Block]:
    """Return the blocks of the entries of the upper triangle, row by row.

    >>> entry_blocks(3)
    ['count', 'sum_x', 'sum_y', 'gram_diagonal', 'cross', 'target_square']
    """
    sums: list[Block] = ["sum_x"]
    products: list[Block] = ["gram_off_diagonal"]
    blocks: list[Block] = ["count", *sums * (size - 2), "sum_y"]
    for others in range(size - 3, -1, -1):
        blocks += ["gram_diagonal", *products * others, "cross"]
    return [*blocks, "target_square"]


def block_of(i: int, j: int, size: int) -> Block:
    """Return the block of the entry (i, j), i <= j, of the moments of (1, x, y).

    >>> block_of(0, 0, 4), block_of(1, 2, 4), block_of(1, 3, 4)
    ('count', 'gram_off_diagonal', 'cross')
    """
    last = size - 1
    if j == last:
        return "sum_y" if i == 0 else "target_square" if i == last else "cross"
    if i == 0:
        return "count" if j == 0 else "sum_x"
    return "gram_diagonal" if i == j else "gram_off_diagonal"


# -- fields ------------------------------------------------------------------------------------------------------------
# Single values of a release file, checked for their type.


def table_of(value: object, name: str) -> Mapping[str, object]:
    """Return a table, or raise an error that names the field."""
    if not isinstance(value, dict):
        raise ReleaseFileError(f"the field {name!r} is not a table")
    return value


def text_of(value: object, name: str) -> str:
    """Return text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ReleaseFileError(f"the field {name!r} is not text")
    return value


def integers_of(table: Mapping[str, object], name: str) -> dict[str, int]:
    """Return integers by name."""
    return {key: integer_of(value, f"{name}.{key}") for key, value in table.items()}


def integer_of(value: object, name: str) -> int:
    """Return an integer that is written as decimal text.

    >>> integer_of("-12", "totals")
    -12
    """
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 100):
        raise ReleaseFileError(f"the field {name!r} must hold integers as decimal text")
    return int(cast("str", value))


# -- distribution reading
# ------------------------------------------------------------------------------------------------------- From the field
# `noise` of a release file to the noise distribution. Anything inconsistent is rejected.

_NEEDED: Final[Mapping[str, set[str]]] = {"k-norm": {"dimension"}, "wishart": {"degrees"}}


def distribution_of(table: Mapping[str, object], design: Design) -> NoiseDistribution:
    """Return the noise distribution in a file for a design."""
    bits, calibration, family = table.get("grid_bits"), table.get("calibration"), table.get("family")
    if family not in FAMILIES or calibration not in CALIBRATIONS:
        raise ReleaseFileError("the noise distribution in the file is unknown to this version")
    if not is_integer(bits) or not MIN_GRID_BITS <= bits <= MAX_GRID_BITS:
        raise ReleaseFileError("noise.grid_bits is out of range")
    sigma = integers_of(table_of(table.get("sigma"), "noise.sigma"), "noise.sigma")
    if any(value < 0 for value in sigma.values()):
        raise ReleaseFileError("noise.sigma must be positive")
    parameters = integers_of(table_of(table.get("parameters", {}), "noise.parameters"), "noise.parameters")
    if not _NEEDED.get(family, set()) <= set(parameters) or any(value < 1 for value in parameters.values()):
        raise ReleaseFileError(f"noise.parameters are not those of the family {family!r}")
    if WEIGHT_STEPS in parameters and design.weights is None:
        raise ReleaseFileError(f"noise.parameters has {WEIGHT_STEPS}, but the design has no weights")
    factors = _factors(table["factors"], design) if "factors" in table else ()
    indicators = _indicators(table["indicators"], design) if "indicators" in table else ()
    models = _models(table["models"], design) if "models" in table else ()
    return NoiseDistribution(bits, sigma, calibration, family, parameters, factors, indicators, models)


def _factors(stated: object, design: Design) -> tuple[tuple[int, int], ...]:
    """Return the factors whose products have no noise, which are all those of the design."""
    if not design.factors or stated != [list(columns) for columns in design.factors]:
        raise ReleaseFileError("noise.factors are not the first and last columns of the factors of the design")
    return design.factors


def _indicators(stated: object, design: Design) -> tuple[tuple[int, int], ...]:
    """Return the indicators whose sum and square are one number, which are all those of the design."""
    if not design.indicators or stated != [list(columns) for columns in design.indicators]:
        raise ReleaseFileError("noise.indicators are not the first and last columns of the indicators of the design")
    return design.indicators


def _models(stated: object, design: Design) -> tuple[tuple[int, ...], ...]:
    """Return the columns of additional models with sums over residuals."""
    listed = stated if isinstance(stated, list) else []
    models = tuple(
        dict.fromkeys(tuple(columns) for columns in listed if isinstance(columns, list) and is_model(design, columns))
    )
    if not models or len(models) < len(listed):
        raise ReleaseFileError("noise.models must list the columns of each additional model once")
    return models

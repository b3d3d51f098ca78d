"""Describe the published noise distribution of a release, and read it from a file."""

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

# -- distribution ------------------------------------------------------------------------------------------------------
# The noise distribution of a release, as it is published.

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
# released columns of one model: features from left to right, target last
Columns: TypeAlias = tuple[int, ...]
# number of clipped rows of each numeric column
CLIPPED: Final[Block] = "clipped"
# numbers of rows that fit the design and of other rows, for the guard
GUARD: Final[Block] = "guard"
GUARD_COUNTS: Final = 2
# numbers of rows in each dyadic cell and in total, for private bounds
DISCOVERY: Final[Block] = "discovery"
# preliminary counts, in order of release
BEFORE: Final[tuple[Block, ...]] = (GUARD, DISCOVERY)
DIAGONAL_BLOCKS: Final = ("count", "gram_diagonal", "target_square")
# number of rows, which is released in addition to the sum of weights
ROWS: Final = "rows"
# parameter: number of bits of row weights
WEIGHT_STEPS: Final = "weight_bits"
# parameter: number of independent noise shares that are added to every entry
SHARES: Final = "shares"

_Entry = TypeVar("_Entry")

NoiseFamily = Literal["discrete-gaussian", "discrete-laplace", "k-norm", "wishart"]
FAMILIES: Final = ("discrete-gaussian", "discrete-laplace", "k-norm", "wishart")
Calibration = Literal["gaussian", "discrete-zcdp", "pure", "chi-square", "composed", "bound", "none"]
CALIBRATIONS: Final = ("gaussian", "discrete-zcdp", "pure", "chi-square", "composed", "bound", "none")
# calibrations of Gaussian noise that account for all entries jointly
JOINT: Final[tuple[Calibration, ...]] = ("gaussian", "discrete-zcdp")


@dataclass(frozen=True)
class NoiseDistribution:
    """Noise on the product grid, with one scale for each block of released numbers.

    Attributes
    ----------
    grid_bits
        One scaled unit is `2**grid_bits` grid steps and `4**grid_bits` product-grid steps. With weights, it is
        `2**weight_bits` times as many product-grid steps.
    sigma
        Integer scale of each released block, in product-grid steps. It is 0 only for a public count or if the noise is
        switched off. Absent blocks are not released. `coefficients` alone means that noise was added only to the
        published coefficients.
    calibration
        `gaussian`: exact Gaussian accounting, with the cost of the lattice in delta. `discrete-zcdp`: zCDP of the
        discrete Gaussian. `pure`: epsilon alone. `chi-square`: exact loss of Wishart noise. `composed`: a composition
        rule over several releases. `bound`: a proved upper bound on delta. `none`: not private.
    family
        `discrete-gaussian`: independent entries, with the scale as standard deviation. `discrete-laplace`: independent
        entries, `P(z)` proportional to `exp(-abs(z) / scale)`. `k-norm`: entries scale * z, rounded, where z has
        density proportional to `exp(-norm(z))` in `parameters["dimension"]` dimensions. `wishart`: entries scale * W
        minus their mean, rounded, where W has `parameters["degrees"]` degrees of freedom.
    parameters
        Other integer parameters of the family. `weight_bits` is present in a design with weights. With `shares`, every
        entry gets the sum of that many independent variates of the stated scale.
    factors
        First and last column of every factor. Products of two indicators of the same factor are 0 in every row and get
        no noise. Empty if these products get noise like all others.
    indicators
        First and last released column of every indicator block. The published sum of squares of an indicator is a copy
        of its noisy sum. Empty if sums and squares get separate noise.
    models
        Columns of every additional model with a residual Gram matrix. `model_blocks(k)` names the blocks of model k,
        starting at 1.
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
        # mapping proxies cannot be pickled
        plain = self.grid_bits, dict(self.sigma), self.calibration, self.family, dict(self.parameters)
        return NoiseDistribution, (*plain, self.factors, self.indicators, self.models)

    def with_before(self, block: str, sigma: int) -> NoiseDistribution:
        """Return a copy that also has the noise scale of a block of preliminary counts."""
        return replace(self, sigma={**self.sigma, block: sigma})

    def without_before(self) -> NoiseDistribution:
        """Return a copy without the noise scales of preliminary counts."""
        rest = {block: sigma for block, sigma in self.sigma.items() if block not in BEFORE}
        return self if len(rest) == len(self.sigma) else replace(self, sigma=rest)

    def to_dict(self) -> dict[str, object]:
        """Return the distribution as plain values for JSON, with integers as decimal text."""
        runs = {"factors": self.factors, "indicators": self.indicators, "models": self.models}
        return {name: [list(run) for run in columns] for name, columns in runs.items() if columns} | {
            "family": self.family,
            "calibration": self.calibration,
            "grid_bits": self.grid_bits,
            "sigma": {block: str(sigma) for block, sigma in self.sigma.items()},
            "parameters": {name: str(value) for name, value in self.parameters.items()},
        }

    @property
    def unit(self) -> int:
        """Number of product-grid steps in one scaled unit."""
        return 1 << 2 * self.grid_bits + self.parameters.get(WEIGHT_STEPS, 0)

    def steps(self, size: int) -> list[int]:
        """Return the noise scale of every entry of the upper triangle, or 0 if an entry has no noise of its own."""
        scales = {block: self.sigma.get(block, 0) for block in BLOCKS}
        steps = [scales[block] for block in entry_blocks(size)]
        for start, end in self.zero_runs(size):
            steps[start:end] = [0] * (end - start)
        for square in self.copies(size):
            steps[square] = 0
        return steps

    @property
    def indicator_columns(self) -> list[int]:
        """Indices of the indicator columns, whose sum of squares equals their sum."""
        return [column for first, last in self.indicators for column in range(first, last + 1)]

    def copies(self, size: int) -> dict[int, int]:
        """Map the position of each indicator's square in the upper triangle to the position of its sum.

        >>> NoiseDistribution(8, {}, "none", indicators=((1, 2),)).copies(4)
        {4: 1, 7: 2}
        """
        return {position(j, j, size): position(0, j, size) for j in self.indicator_columns}

    def with_copies(self, upper: Sequence[_Entry], size: int) -> list[_Entry]:
        """Return an upper triangle in which the square of every indicator is replaced by its sum.

        >>> NoiseDistribution(8, {}, "none", indicators=((1, 1),)).with_copies("nsyqcv", 3)
        ['n', 's', 'y', 's', 'c', 'v']
        """
        out = list(upper)
        for square, total in self.copies(size).items():
            out[square] = upper[total]
        return out

    def zero_runs(self, size: int) -> list[tuple[int, int]]:
        """Return the (start, end) ranges of the upper triangle that hold products between indicators of one factor.

        >>> NoiseDistribution(8, {}, "none", factors=((1, 3),)).zero_runs(5)
        [(6, 8), (10, 11)]
        """
        return [
            (position(i, i + 1, size), position(i, last, size) + 1)
            for first, last in self.factors
            for i in range(first, last)
        ]

    def without_zeros(self, upper: Sequence[_Entry], size: int) -> list[_Entry]:
        """Return an upper triangle without the products between indicators of one factor.

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
        """Return the full upper triangle, with zeros in place of the products that `without_zeros` removed.

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
        """Return the number of columns, including the constant, of each residual Gram matrix, the full model first."""
        return [size - 1, *(len(columns) for columns in self.models)]

    def residual_steps(self, size: int) -> list[int]:
        """Return the noise scale of every number that is released in the pass over residuals."""
        steps = []
        for number, columns in enumerate(self.residual_sizes(size)):
            diagonal, off = (self.sigma[block] for block in model_blocks(number))
            steps += [diagonal if i == j else off for i, j in pairs(columns)]
        return [*steps, *([self.sigma[RATIO_BLOCK]] if RATIO_BLOCK in self.sigma else [])]

    @property
    def zeros(self) -> int:
        """Number of entries of the upper triangle that are 0 in every row and have no noise."""
        return structural_zeros(self.factors)

    def sd(self, block: str) -> float:
        """Return the noise standard deviation of a block in scaled units, or NaN if the block is not released."""
        if block not in self.sigma:
            return math.nan
        return float(self.sigma[block] / self.unit) * self._factor(block)

    def entry_sd(self, size: int) -> FloatArray:
        """Return the matrix of noise standard deviations in scaled units. Entries that are not released are NaN."""
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


def model_blocks(number: int) -> tuple[str, str]:
    """Return the names of the two blocks of a model's residual Gram matrix. The full model has number 0.

    >>> model_blocks(0), model_blocks(2)
    (('residual_diagonal', 'residual_off_diagonal'), ('residual_diagonal_2', 'residual_off_diagonal_2'))
    """
    diagonal, off = RESIDUAL_BLOCKS
    return (f"{diagonal}_{number}", f"{off}_{number}") if number else (diagonal, off)


def structural_zeros(factors: Iterable[tuple[int, int]]) -> int:
    """Count the products between indicators of the same factor, given the (first, last) columns of each factor.

    >>> structural_zeros([(2, 4), (6, 7)])
    4
    """
    return sum((last - first + 1) * (last - first) // 2 for first, last in factors)


def entry_blocks(size: int) -> list[Block]:
    """Return the block to which each entry of the upper triangle belongs, row by row.

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
    """Return the block to which entry (i, j) of the moments of (1, x, y) belongs, where i <= j."""
    last = size - 1
    if j == last:
        return "sum_y" if i == 0 else "target_square" if i == last else "cross"
    if i == 0:
        return "count" if j == 0 else "sum_x"
    return "gram_diagonal" if i == j else "gram_off_diagonal"


# -- fields ------------------------------------------------------------------------------------------------------------
# Type checks of single values in a release file.


def table_of(value: object, name: str) -> Mapping[str, object]:
    """Return the value of a field if it is a table. Otherwise raise an error that names the field."""
    if not isinstance(value, dict):
        raise ReleaseFileError(f"the field {name!r} must be a table")
    return value


def text_of(value: object, name: str) -> str:
    """Return the value of a field if it is nonempty text. Otherwise raise an error that names the field."""
    if not isinstance(value, str) or not value:
        raise ReleaseFileError(f"the field {name!r} must be nonempty text")
    return value


def integers_of(table: Mapping[str, object], name: str) -> dict[str, int]:
    """Parse a table of integers that are written as decimal text."""
    return {key: integer_of(value, f"{name}.{key}") for key, value in table.items()}


def integer_of(value: object, name: str) -> int:
    """Parse an integer that is written as decimal text, or raise an error that names the field."""
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 100):
        raise ReleaseFileError(f"the field {name!r} must hold integers as decimal text")
    return int(cast("str", value))


# -- distribution reading ----------------------------------------------------------------------------------------------
# Read the field `noise` of a release file, and reject anything inconsistent.

_NEEDED: Final[Mapping[str, set[str]]] = {"k-norm": {"dimension"}, "wishart": {"degrees"}}


def distribution_of(table: Mapping[str, object], design: Design) -> NoiseDistribution:
    """Read and check the noise distribution in a release file."""
    bits, calibration, family = table.get("grid_bits"), table.get("calibration"), table.get("family")
    if family not in FAMILIES or calibration not in CALIBRATIONS:
        raise ReleaseFileError("noise.family or noise.calibration is unknown to this version of discreet")
    if not is_integer(bits) or not MIN_GRID_BITS <= bits <= MAX_GRID_BITS:
        raise ReleaseFileError(f"noise.grid_bits must be an integer from {MIN_GRID_BITS} to {MAX_GRID_BITS}")
    sigma = integers_of(table_of(table.get("sigma"), "noise.sigma"), "noise.sigma")
    if any(value < 0 for value in sigma.values()):
        raise ReleaseFileError("noise.sigma must not contain negative numbers")
    parameters = integers_of(table_of(table.get("parameters", {}), "noise.parameters"), "noise.parameters")
    if not _NEEDED.get(family, set()) <= set(parameters) or any(value < 1 for value in parameters.values()):
        raise ReleaseFileError(f"noise.parameters must hold positive parameters of the family {family!r}")
    if WEIGHT_STEPS in parameters and design.weights is None:
        raise ReleaseFileError(f"noise.parameters must not have {WEIGHT_STEPS}, because the design has no weights")
    factors = _factors(table["factors"], design) if "factors" in table else ()
    indicators = _indicators(table["indicators"], design) if "indicators" in table else ()
    models = _models(table["models"], design) if "models" in table else ()
    return NoiseDistribution(bits, sigma, calibration, family, parameters, factors, indicators, models)


def _factors(stated: object, design: Design) -> tuple[tuple[int, int], ...]:
    """Check that the stated factors are those of the design, and return them."""
    if not design.factors or stated != [list(columns) for columns in design.factors]:
        raise ReleaseFileError("noise.factors must hold the first and last column of each factor of the design")
    return design.factors


def _indicators(stated: object, design: Design) -> tuple[tuple[int, int], ...]:
    """Check that the stated indicators are those of the design, and return them."""
    if not design.indicators or stated != [list(columns) for columns in design.indicators]:
        raise ReleaseFileError("noise.indicators must hold the first and last column of each indicator block")
    return design.indicators


def _models(stated: object, design: Design) -> tuple[tuple[int, ...], ...]:
    """Check the stated columns of additional models, and return them."""
    listed = stated if isinstance(stated, list) else []
    models = tuple(
        dict.fromkeys(tuple(columns) for columns in listed if isinstance(columns, list) and is_model(design, columns))
    )
    if not models or len(models) < len(listed):
        raise ReleaseFileError("noise.models must list the columns of each additional model once")
    return models

"""Define queries, which are exact sums released with noise, and compute the privacy loss of a list of queries.

The list of queries is the only definition of what a release contains. Calibration, file verification, the report and
the audit all take block names, numbers of entries and sensitivities from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

from discreet.accounting.moments import CLOSE, OFF_WEIGHT, Blocks, l1_sensitivity, weighted_loss
from discreet.accounting.noise_distribution import BLOCKS, ROWS, structural_zeros
from discreet.accounting.privacy_loss import Stated, gaussian_delta
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.exact.linear import entry_count
from discreet.exact.rounding import root_up, up
from discreet.privacy.spend import Loss

# largest delta that a loss may state
NOTHING_KEPT: Final = 1 - 2**-20

# noise scale of each block, in scaled units
BlockScales: TypeAlias = Mapping[str, Fraction]


class Query(Protocol):
    """Exact sums over the table, released with independent noise on every entry."""

    @property
    def blocks(self) -> Mapping[str, int]:
        """Number of noisy entries by block, over all releases of the query."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """Description of each block, for readers of a report."""
        ...

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Return mu^2 for the worst neighbouring tables, given the standard deviations of the Gaussian noise."""
        ...

    def pure_loss(self, scales: BlockScales) -> Fraction:
        """Return epsilon for the worst neighbouring tables, given the scales of the Laplace noise."""
        ...


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """Vector of sums that share one noise scale.

    Attributes
    ----------
    block
        Name of the block.
    entries
        Number of entries in one release.
    sensitivity, l1_sensitivity
        L2 and L1 norms of the largest change between neighbouring tables, in scaled units.
    times
        Number of releases.
    label
        Description for readers. The default is the name of the block.
    margin
        Factor that covers the rounding of the sensitivity.
    """

    block: str
    entries: int
    sensitivity: float
    l1_sensitivity: float | None = None
    times: int = 1
    label: str = ""
    margin: float = 1.0

    @property
    def blocks(self) -> dict[str, int]:
        """Number of noisy entries by block."""
        return {self.block: self.entries * self.times}

    @property
    def labels(self) -> dict[str, str]:
        """Description of the block."""
        return {self.block: self.label or self.block.replace("_", " ")}

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Return mu^2, to which every release contributes (sensitivity / scale)^2."""
        return self.times * (Fraction(self.sensitivity) * Fraction(self.margin) / scales[self.block]) ** 2

    def pure_loss(self, scales: BlockScales) -> Fraction:
        """Return epsilon, to which every release contributes its L1 sensitivity divided by the scale."""
        return self.times * Fraction(self.laplace_sensitivity) / scales[self.block]

    @property
    def laplace_sensitivity(self) -> float:
        """L1 sensitivity, for Laplace noise."""
        if self.l1_sensitivity is None:
            raise SpecError(f"Laplace noise on {self.block!r} is not supported: its L1 sensitivity is not defined")
        return self.l1_sensitivity


def rows_query(design: Design) -> VectorQuery:
    """Return the query for the number of rows in a design with weights."""
    return VectorQuery(ROWS, 1, float(design.unit.max_rows), label="number of rows")


@dataclass(frozen=True, slots=True)
class GramQuery:
    """Upper triangle of a symmetric matrix of sums, with separate noise scales on and off the diagonal.

    Attributes
    ----------
    diagonal, off
        Names of the two blocks.
    columns
        Size of the matrix.
    sensitivity
        Frobenius norm of the largest change between neighbouring tables, in scaled units.
    l1_sensitivity
        L1 norm of the largest change of the upper triangle, with weight `OFF_WEIGHT` off the diagonal.
    times
        Number of releases.
    label
        Descriptions of the diagonal and of the off-diagonal entries.
    """

    diagonal: str
    off: str
    columns: int
    sensitivity: float
    l1_sensitivity: float | None = None
    times: int = 1
    label: tuple[str, str] = ("", "")

    @property
    def blocks(self) -> dict[str, int]:
        """Number of noisy entries by block."""
        above = entry_count(self.columns) - self.columns
        return {self.diagonal: self.times * self.columns, self.off: self.times * above}

    @property
    def labels(self) -> dict[str, str]:
        """Description of the entries by block."""
        return {
            block: text or block.replace("_", " ")
            for block, text in zip((self.diagonal, self.off), self.label, strict=True)
        }

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Return mu^2. Each release contributes the squared sensitivity times the larger weight of the two blocks."""
        weight = gram_weight(scales[self.diagonal], scales[self.off], columns=self.columns)
        return self.times * weight * Fraction(self.sensitivity) ** 2

    def pure_loss(self, scales: BlockScales) -> Fraction:
        """Return epsilon. Each release contributes the L1 sensitivity times the larger weight of the two blocks."""
        weight = max(1 / scales[self.diagonal], 1 / (Fraction(OFF_WEIGHT) * scales[self.off]))
        return self.times * Fraction(self.laplace_sensitivity) * weight

    @property
    def laplace_sensitivity(self) -> float:
        """L1 sensitivity, for Laplace noise."""
        if self.l1_sensitivity is None:
            raise SpecError(f"Laplace noise on {self.diagonal!r} is not supported: its L1 sensitivity is not defined")
        return self.l1_sensitivity


def gram_weight(diagonal: Fraction, off: Fraction, *, columns: int) -> Fraction:
    """Return the factor of the squared Frobenius norm in mu^2, which is the larger of the factors of the two blocks."""
    heavy = 1 / diagonal**2
    return max(heavy, 1 / (2 * off**2)) if columns > 1 else heavy  # [P:forward-gram]


@dataclass(frozen=True, slots=True)
class MomentsQuery:
    """Moments of (1, x, y) with up to seven noise scales, one per block, that are calibrated jointly.

    Attributes
    ----------
    design, domain
        Declarations of the curator, and the set of possible rows.
    sums, target_square
        Whether the sums of x and y are released, and whether the sum of squared targets is.
    exact_entries
        Whether products that are 0 in every row get no noise, and squares of indicators are published as copies of
        their sums.
    """

    design: Design
    domain: RowDomain
    sums: bool = True
    target_square: bool = True
    exact_entries: bool = False

    @property
    def factors(self) -> tuple[tuple[int, int], ...]:
        """First and last column of every factor. Products of two of its indicators get no noise."""
        return self.design.factors if self.exact_entries else ()

    @property
    def indicators(self) -> tuple[tuple[int, int], ...]:
        """First and last column of every indicator block. Its squares are copies of its sums."""
        return self.design.indicators if self.exact_entries else ()

    @property
    def columns(self) -> int:
        """Number of released columns of x."""
        return len(self.design.released) - 2

    @property
    def copies(self) -> int:
        """Number of squares that are copies of sums."""
        return sum(last - first + 1 for first, last in self.indicators)

    @property
    def zeros(self) -> int:
        """Number of products that are 0 in every row."""
        return structural_zeros(self.factors)

    @property
    def blocks(self) -> dict[str, int]:
        """Number of noisy entries by block. A public count is included, with scale 0."""
        x = self.columns
        entries = {
            "count": 1, "sum_x": x, "gram_diagonal": x - self.copies,
            "gram_off_diagonal": entry_count(x) - x - self.zeros, "sum_y": 1, "cross": x, "target_square": 1,
        }  # fmt: skip
        left_out = {*(() if self.sums else ("sum_x", "sum_y")), *(() if self.target_square else ("target_square",))}
        return {block: entries[block] for block in BLOCKS if block not in left_out}

    @property
    def labels(self) -> dict[str, str]:
        """Description of the entries by block."""
        weighted = self.design.weights is not None
        copied = self.copies
        labels = dict(_WEIGHTED_LABELS if weighted else _LABELS)
        if copied:
            labels["sum_x"] += ", of indicators also their squares"
            labels["gram_diagonal"] += " that are not indicators"
        if copied == self.columns:
            # every square is a copy of a sum, so the block has no entries
            labels["gram_diagonal"] = ""
        return {block: labels[block] for block in self.blocks}

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Return mu^2, the largest squared change of all blocks together, relative to their scales."""
        weight = {block: up(1 / scale**2) if scale else 0.0 for block, scale in scales.items() if block in BLOCKS}
        weights = Blocks(
            count=weight["count"],
            sum_x=weight.get("sum_x", 0.0),
            gram=up(gram_weight(scales["gram_diagonal"], scales["gram_off_diagonal"], columns=self.columns)),
            sum_y=weight.get("sum_y", 0.0),
            cross=weight["cross"],
            target_square=weight.get("target_square", 0.0),
        )
        loss = weighted_loss(
            self.domain,
            self.design.unit.neighbours,
            weights,
            count_public=self.design.count_public,
            rows_per_unit=self.design.unit.max_rows,
            close=CLOSE,
            copied=len(self.indicators),
        )
        return Fraction(loss)  # [P:forward-moments]

    def pure_loss(self, scales: BlockScales) -> Fraction:
        """Return epsilon, the largest L1 change of all blocks together, relative to their scales."""
        weights = {block: 1 / scale for block, scale in scales.items() if block in self.blocks and scale}
        return Fraction(l1_sensitivity(self.design, self.domain, weights))  # [P:forward-l1]


_LABELS: Final[Mapping[str, str]] = {
    "count": "number of rows",
    "sum_x": "sums of regressors",
    "gram_diagonal": "squares of regressors",
    "gram_off_diagonal": "products of regressors",
    "sum_y": "sum of the target",
    "cross": "regressors times target",
    "target_square": "square of the target",
}
_WEIGHTED_LABELS: Final[Mapping[str, str]] = {
    "count": "sum of weights",
    "sum_x": "weighted sums of regressors",
    "gram_diagonal": "weighted squares of regressors",
    "gram_off_diagonal": "weighted products of regressors",
    "sum_y": "weighted sum of the target",
    "cross": "weighted regressors times target",
    "target_square": "weighted square of the target",
}


@dataclass(frozen=True, slots=True)
class SeparateQuery:
    """Entries whose privacy loss is bounded jointly for all blocks, by the account of the mechanism."""

    blocks: Mapping[str, int]

    @property
    def labels(self) -> dict[str, str]:
        """Description of the entries by block."""
        return {block: block.replace("_", " ") for block in self.blocks}

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Raise an error, because this loss cannot be computed from mu^2."""
        raise SpecError(f"the loss of {', '.join(self.blocks)} must be computed jointly, by the mechanism's account")

    def pure_loss(self, scales: BlockScales) -> Fraction:
        """Raise an error, because this loss cannot be computed block by block."""
        raise SpecError(f"the loss of {', '.join(self.blocks)} must be computed jointly, by the mechanism's account")


# -- lists of queries --------------------------------------------------------------------------------------------------


def blocks_of(queries: Iterable[Query]) -> dict[str, int]:
    """Return the number of noisy entries by block for a list of queries.

    >>> blocks_of([VectorQuery("count", 1, 1.0), VectorQuery("score", 3, 1.0, times=2)])
    {'count': 1, 'score': 6}
    """
    return {block: entries for query in queries for block, entries in query.blocks.items()}


def variates(queries: Iterable[Query], sigma: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return (number of noise variates, scale in product-grid steps) for each block that has noise."""
    return [(entries, sigma[block]) for block, entries in blocks_of(queries).items() if sigma[block]]


@dataclass(frozen=True, slots=True)
class Account:
    """Queries of a release together with the noise that it states.

    With independent noise, the loss is a sum over the queries. Mechanisms with other noise override `loss`.
    """

    stated: Stated
    queries: Sequence[Query]

    def loss(self) -> Loss:
        """Compute the privacy loss of the noise."""
        stated, scales = self.stated, self.stated.scales
        if stated.distribution.family == "discrete-laplace":
            return Loss.pure(up(sum((query.pure_loss(scales) for query in self.queries), Fraction(0))))
        square = sum((query.squared_loss(scales) for query in self.queries), Fraction(0))
        if stated.distribution.family == "k-norm":
            return Loss.pure(root_up(square))  # [P:forward-norm]
        return gaussian_loss(stated, square, variates(self.queries, stated.distribution.sigma))


def gaussian_loss(stated: Stated, square: Fraction, drawn: Iterable[tuple[int, int]]) -> Loss:
    """Compute the loss of independent discrete Gaussian noise from mu^2 and from (number of variates, scale) pairs."""
    mu = root_up(square)
    tau = up(sum((Fraction(many, 16 * sigma * sigma) for many, sigma in drawn if sigma), Fraction(0)))
    delta = min(gaussian_delta(stated.epsilon, mu, tau), NOTHING_KEPT)  # [P:forward-gaussian]
    return Loss.gaussian(stated.epsilon, delta, mu=mu, tau=min(tau, NOTHING_KEPT))

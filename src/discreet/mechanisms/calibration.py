"""Calibrate the noise of queries to a budget: moments jointly, other queries by shares, preliminary counts first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

from discreet.accounting.moments import GAP, Blocks, block_maxima, weighted_loss
from discreet.accounting.noise_distribution import (
    BLOCKS,
    DISCOVERY,
    GUARD,
    Calibration,
    Columns,
    NoiseDistribution,
    structural_zeros,
)
from discreet.accounting.privacy_loss import split
from discreet.accounting.queries import GramQuery, MomentsQuery, VectorQuery, variates
from discreet.design.domain import RowDomain
from discreet.errors import GridTooFineError, UnsupportedError
from discreet.mechanisms.sampler import MAX_SIGMA, rounded_up
from discreet.privacy.budget import Neighbours, PrivacyBudget, as_pair
from discreet.privacy.gaussian_dp import delta_from, mu_from, rho_from
from discreet.privacy.lattice import LATTICE_SHARE, ROUNDING, approximate, concentrated_mu, gaussian_mu, lattice_gap
from discreet.wording import LeaveOut, SetOption

# -- blocks ------------------------------------------------------------------------------------------------------------
# From a budget to the noise of every block: one exact calibration of the joint release.

# shares of mu^2: within 1.19-1.27 of the least coefficient variance for d = 1, 5, 20; an equal split is 2.1-2.5
DEFAULT_SHARES: Final = Blocks(count=0.03, sum_x=0.12, gram=0.35, sum_y=0.10, cross=0.35, target_square=0.05)
# minimum share of a block, whatever the costs
_LEAST_SHARE: Final = 0.02
# largest factor of a weight, and the ratio to which it is found
_LARGEST_FACTOR: Final = 64.0
_FACTOR_STEP: Final = 1.01
# share of mu^2 for the sums of robust standard errors, and the part of it for the interval of R^2
ROBUST_SHARE: Final = 0.3
RATIO_SHARE: Final = 0.03
# additional share where additional models have such sums
FURTHER_SHARE: Final = 0.1

# first and last released column of some declared columns
Runs: TypeAlias = tuple[tuple[int, int], ...]


# a query and its share of mu^2
Share: TypeAlias = tuple[VectorQuery | GramQuery, float]


def block_sigmas(
    domain: RowDomain,
    neighbours: Neighbours,
    mu: float,
    shares: Blocks = DEFAULT_SHARES,
    *,
    count_public: bool = False,
    rows_per_unit: int = 1,
    indicators: Runs = (),
) -> Blocks:
    """Return the noise of each block in scaled units for a joint mu-Gaussian-private release.

    Inside X'X the figure is for the diagonal. Off the diagonal it is smaller by sqrt(2) (svec). A block with share 0 is
    not released: its noise is infinite. Squares of `indicators` are not released in addition to their sums.

    >>> domain = RowDomain(1, 0, 0, None, False, 16)
    >>> round(block_sigmas(domain, "add-remove", 1.0, Blocks(0, 0, 0.5, 0, 0.5, 0)).gram, 9)
    1.414213562
    """
    maxima = block_maxima(domain, neighbours)
    names = [block.name for block in fields(Blocks)]
    share = {name: getattr(shares, name) for name in names}
    total = sum(share.values())
    weights = Blocks(**{name: share[name] / total / getattr(maxima, name) ** 2 for name in names})
    if neighbours == "replace":
        weights = with_free_target_square(domain, weights, count_public=count_public, copied=len(indicators))
    loss = weighted_loss(  # [P:joint-scale]
        domain,
        neighbours,
        weights,
        count_public=count_public,
        rows_per_unit=rows_per_unit,
        copied=len(indicators),
    )
    scale = math.sqrt(loss) / mu
    return Blocks(**{
        name: scale / math.sqrt(getattr(weights, name)) if share[name] else math.inf for name in names
    })  # fmt: skip


@lru_cache(maxsize=64)
def with_free_target_square(domain: RowDomain, weights: Blocks, *, count_public: bool, copied: int = 0) -> Blocks:
    """Raise the weight of the sum of squared targets under `replace` as far as the joint loss allows.

    The pair of rows that moves the other blocks farthest has opposite targets of the same size, so that their squares
    cancel. The sum of squared targets then has less noise, and no other block has more.

    >>> weights = Blocks(0.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    >>> raised = with_free_target_square(RowDomain(2, 0, 0, None, False, 16), weights, count_public=True)
    >>> round(raised.target_square, 1)
    4.4
    """

    def loss(factor: float) -> float:
        raised = replace(weights, target_square=factor * weights.target_square)
        return weighted_loss(domain, "replace", raised, count_public=count_public, copied=copied)

    factor = largest_free_factor(loss, 1 + GAP) if weights.target_square else 1.0
    return replace(weights, target_square=factor * weights.target_square)  # [P:free-target-square]


def largest_free_factor(loss: Callable[[float], float], within: float = 1.0) -> float:
    """Return the largest factor of a weight, to 1% and up to 64, with a loss of at most `within` times that at 1.

    >>> round(largest_free_factor(lambda factor: max(5.0, 2 * factor)), 1)
    2.5
    """
    allowed = loss(1.0) * within
    low, high = 1.0, _LARGEST_FACTOR
    while high / low > _FACTOR_STEP:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if loss(middle) <= allowed else (low, middle)
    return low


def block_shares(domain: RowDomain, neighbours: Neighbours, columns: int, zeros: int = 0, copies: int = 0) -> Blocks:
    """Return the shares of mu^2 that minimise the variance in the normal equations, with a minimum share.

    They may also be shares of a squared norm. Every entry has the same distribution up to its scale, so the total
    variance is a sum over blocks of cost * sensitivity^2 / share. It is least at shares proportional to sensitivity *
    sqrt(cost), with the sensitivity of the block. The costs assume scaled slopes of length 1 and an intercept of 1/2,
    and all equations have equal weight. `zeros` products off the diagonal have no noise, and `copies` on it have that
    of a sum.

    >>> shares = block_shares(RowDomain(20, 0, 0, None, False, 16), "add-remove", 20)
    >>> round(shares.gram, 2), round(shares.cross, 2), round(shares.count, 2)
    (0.66, 0.2, 0.02)
    """
    d = float(columns)
    gram = (d + 1) / 2 - (zeros + copies) / d
    costs = Blocks(count=0.25, sum_x=d / 4 + 1 + copies / d, gram=gram, sum_y=1.0, cross=d, target_square=0.25)
    sensitivity = block_maxima(domain, neighbours)
    best = {
        block.name: getattr(sensitivity, block.name) * math.sqrt(getattr(costs, block.name)) for block in fields(Blocks)
    }
    total = math.fsum(best.values())
    return Blocks(**{name: max(_LEAST_SHARE, share / total) for name, share in best.items()})


def shares_by_design(
    domain: RowDomain,
    neighbours: Neighbours,
    columns: int,
    *,
    count_public: bool,
    factors: Runs = (),
    indicators: Runs = (),
) -> Blocks:
    """Return the shares of mu^2 for a design: `block_shares` or fixed ones, whichever give slopes less noise.

    `columns` is the number of released columns of regressors. A public count is exact and takes no share. Products
    between columns of one factor have no noise, and squares of `indicators` are released as their sums.

    >>> one, many = (
    ...     shares_by_design(RowDomain(d, 0, 0, None, False, 16), "add-remove", d, count_public=False) for d in (1, 20)
    ... )
    >>> one == DEFAULT_SHARES, round(many.gram, 2)
    (True, 0.66)
    """
    zeros, copies = structural_zeros(factors), sum(last - first + 1 for first, last in indicators)
    both = (DEFAULT_SHARES, block_shares(domain, neighbours, columns, zeros, copies))
    charged = [replace(shares, count=0.0) if count_public else shares for shares in both]

    def noise(shares: Blocks) -> float:
        sigmas = block_sigmas(domain, neighbours, 1.0, shares, count_public=count_public, indicators=indicators)
        return slope_variance(sigmas, columns, zeros, copies)

    return min(charged, key=noise)


def slope_variance(sigmas: Blocks, columns: int, zeros: int = 0, copies: int = 0) -> float:
    """Return the mean noise variance in the normal equations of slopes of length 1, with an intercept of 1/2.

    >>> slope_variance(Blocks(1.0, 1.0, 1.0, 1.0, 1.0, 1.0), 1)
    2.25
    """
    gram = (columns + 1) / (2 * columns) - (zeros + copies) / columns**2
    return sigmas.cross**2 + gram * sigmas.gram**2 + (1 / 4 + copies / columns**2) * sigmas.sum_x**2


def noise_distribution(
    moments: MomentsQuery,
    budget: PrivacyBudget,
    shares: Blocks = DEFAULT_SHARES,
    others: Sequence[Share] = (),
    *,
    share: float = 1.0,
    margin: float = 1.0,
    parameters: Mapping[str, int] = MappingProxyType({}),
    models: tuple[Columns, ...] = (),
) -> NoiseDistribution:
    """Calibrate Gaussian noise on moments and on other queries to a budget, from public quantities only.

    Parameters
    ----------
    moments
        A public count is exact. A block with share 0 is not released.
    budget
        Budget of all queries together.
    shares
        Share of each block in the part of mu^2 for the moments.
    others
        Other queries with their shares of mu^2.
    share
        Share of mu^2 for the moments.
    margin
        Factor of the scales of other queries with one block, which covers the rounding of their sensitivities.
    parameters, models
        Fields of the noise distribution.
    """
    domain, queries = moments.domain, [moments, *(query for query, _ in others)]

    def distribution(mu: float, calibration: Calibration) -> NoiseDistribution:
        steps = moment_steps(moments, mu * math.sqrt(share), shares)
        for query, part in others:
            steps |= other_steps(query, mu * math.sqrt(part), domain, margin)
        return NoiseDistribution(
            domain.grid_bits,
            steps,
            calibration,
            parameters=parameters,
            factors=moments.factors,
            indicators=moments.indicators,
            models=models,
        )

    mu, rule = gaussian_mu(budget, lambda mu: variates(queries, distribution(mu, "gaussian").sigma))
    return distribution(mu, rule)


def moment_steps(moments: MomentsQuery, mu: float, shares: Blocks) -> dict[str, int]:
    """Return the scales of the moments in steps of the product grid, for a mu-Gaussian-private release."""
    design, public = moments.design, moments.design.count_public
    sigmas = block_sigmas(
        moments.domain,
        design.unit.neighbours,
        mu,
        replace(shares, count=0.0) if public else shares,
        count_public=public,
        rows_per_unit=design.unit.max_rows,
        indicators=moments.indicators,
    )
    return _steps(sigmas, moments.domain, count_public=public)


def other_steps(query: VectorQuery | GramQuery, mu: float, domain: RowDomain, margin: float = 1.0) -> dict[str, int]:
    """Return the scales of a query that is released once, in steps, for a mu-Gaussian-private release."""
    if isinstance(query, VectorQuery):
        return {query.block: in_steps(query.block, query.sensitivity * margin / mu, domain)}
    sigma = query.sensitivity / mu
    scaled = {query.diagonal: sigma, query.off: sigma / math.sqrt(2)}
    return {block: in_steps(block, scale, domain) for block, scale in scaled.items()}


def _steps(sigmas: Blocks, domain: RowDomain, *, count_public: bool) -> dict[str, int]:
    scaled = by_block(sigmas)
    steps: dict[str, int] = {}
    for block in BLOCKS:
        if block == "count" and count_public:
            steps[block] = 0
        elif scaled[block] < math.inf:
            steps[block] = in_steps(block, scaled[block], domain)
    return steps


def by_block(scales: Blocks) -> dict[str, float]:
    """Return the scales of entries by block. An entry off the diagonal of the Gram matrix occurs in it twice.

    >>> round(by_block(Blocks(1.0, 1.0, 1.0, 1.0, 1.0, 1.0))["gram_off_diagonal"], 4)
    0.7071
    """
    return {
        "count": scales.count, "sum_x": scales.sum_x, "gram_diagonal": scales.gram,
        "gram_off_diagonal": scales.gram / math.sqrt(2), "sum_y": scales.sum_y, "cross": scales.cross,
        "target_square": scales.target_square,
    }  # fmt: skip


def in_steps(block: str, scaled: float, domain: RowDomain) -> int:
    """Return a standard deviation in steps of the product grid, rounded up to a value that the sampler accepts."""
    sigma = scaled * domain.product_unit * ROUNDING
    if not sigma <= MAX_SIGMA:
        raise GridTooFineError(
            f"the noise of block '{block}' has a standard deviation of {scaled:.3g} scaled units, too much "
            f"for the 64-bit sampler at grid_bits = {domain.grid_bits}"
        )
    return rounded_up(math.ceil(sigma))  # [P:steps-rounded-up]


def residual_shares(queries: Sequence[GramQuery]) -> list[Share]:
    """Return the residual Gram matrices of models, the full one first, with their shares of mu^2.

    Together they have `ROBUST_SHARE` without `RATIO_SHARE`, and `FURTHER_SHARE` more where there are several. The
    variances of their noise are sensitivity^2 / share, whose sum is least at shares proportional to the sensitivities.

    >>> full, one = (GramQuery("d", "o", 2, sensitivity) for sensitivity in (4.0, 2.0))
    >>> [[round(share, 4) for _, share in residual_shares(queries)] for queries in ([full], [full, one])]
    [[0.27], [0.2467, 0.1233]]
    """
    whole = ROBUST_SHARE - RATIO_SHARE + (FURTHER_SHARE if len(queries) > 1 else 0.0)
    total = math.fsum(query.sensitivity for query in queries)
    return [(query, whole * (query.sensitivity / total)) for query in queries]  # [P:gram-shares]


# -- before ------------------------------------------------------------------------------------------------------------
# Preliminary counts and the mechanism after them, under one budget.
#
# The noisy counts decide whether and how the release continues. Proof: before.proof.md.

# what asks for each block, and how to do without
_WORDS: Final[Mapping[str, tuple[str, str | LeaveOut]]] = {
    GUARD: ("a guard", LeaveOut("guard")),
    DISCOVERY: ("private bounds", "declare all bounds"),
}


def preceded_distribution(
    counts: VectorQuery,
    share: Fraction,
    domain: RowDomain,
    budget: PrivacyBudget,
    distribution_for: Callable[[PrivacyBudget], NoiseDistribution],
) -> NoiseDistribution:
    """Return the joint noise of preliminary counts and of a mechanism, which together satisfy the budget.

    `share` is that of the counts in mu^2, or in epsilon for noise without delta. `distribution_for` gives the noise of
    the mechanism at a budget, perhaps with other counts before it. The counts have Gaussian noise where the mechanism
    has, and Laplace noise elsewhere.
    """
    epsilon, delta = as_pair(budget)
    whole = distribution_for(budget)
    if whole.family == "wishart" or whole.calibration == "bound":
        what, otherwise = _WORDS[counts.block]
        name = "'wishart'" if whole.family == "wishart" else "this mechanism"
        raise UnsupportedError(
            f"{what} cannot be combined with {name}, whose privacy loss cannot be split",
            code="loss-cannot-be-split",
            option="mechanism",
            remedy=(otherwise, SetOption("mechanism", "gaussian")),
        )
    shared = _Shared(counts, float(share), domain, epsilon, delta, distribution_for)
    if whole.family != "discrete-gaussian":
        return shared.pure()
    return shared.composed() if whole.calibration == "composed" else shared.joint()


@dataclass(frozen=True, slots=True)
class _Shared:
    """Budget of preliminary counts and a mechanism."""

    counts: VectorQuery
    share: float
    domain: RowDomain
    epsilon: float
    delta: float
    distribution_for: Callable[[PrivacyBudget], NoiseDistribution]

    def pure(self) -> NoiseDistribution:
        """Split epsilon, which adds up whatever delta the mechanism uses."""
        part = self.share * self.epsilon
        distribution = self.distribution_for(
            PrivacyBudget((self.epsilon - part) / ROUNDING, self.delta)
        )  # [P:before-epsilon]
        return self._with(distribution, self.counts.laplace_sensitivity / part)

    def composed(self) -> NoiseDistribution:
        """Use basic composition with a mechanism that is calibrated by its own rule."""
        epsilon, delta, share = self.epsilon, self.delta, self.share
        rest = (1 - share) / ROUNDING
        distribution = self.distribution_for(PrivacyBudget(epsilon * rest, delta * rest))
        mu = mu_from(share * epsilon, share * delta * (1 - LATTICE_SHARE) / ROUNDING)  # [P:before-composed]
        made = self._with(distribution, self.counts.sensitivity / mu)
        self._check_gap(made, share * epsilon, share * delta)
        return made

    def joint(self) -> NoiseDistribution:
        """Split mu^2, or rho where the mechanism uses zero-concentrated accounting."""
        epsilon, delta, share = self.epsilon, self.delta, self.share
        whole = mu_from(epsilon, delta * (1 - LATTICE_SHARE) / ROUNDING)
        rest = delta_from(epsilon, whole * math.sqrt(1 - share) / ROUNDING)  # [P:before-rest]
        distribution = self.distribution_for(PrivacyBudget(epsilon, rest))
        if distribution.calibration == "gaussian":
            mu = whole * math.sqrt(share)  # [P:before-mu]
            made = self._with(distribution, self.counts.sensitivity / mu)
            self._check_gap(made, epsilon, delta - rest)
            return made
        rho = (rho_from(epsilon, delta) - rho_from(epsilon, rest)) / ROUNDING  # [P:before-rho]
        return self._with(distribution, self.counts.sensitivity / math.sqrt(2 * rho))

    def _with(self, distribution: NoiseDistribution, scale: float) -> NoiseDistribution:
        block = self.counts.block
        return distribution.with_before(block, in_steps(block, scale, self.domain))

    def _check_gap(self, distribution: NoiseDistribution, epsilon: float, delta: float) -> None:
        """Reject a lattice so coarse that discrete noise uses up the delta remaining for the counts."""
        gap = lattice_gap(epsilon, [(self.counts.entries, distribution.sigma[self.counts.block])])
        allowed = LATTICE_SHARE * delta
        if gap > allowed:  # [P:before-gap]
            what, otherwise = _WORDS[self.counts.block]
            raise UnsupportedError(
                f"the lattice of grid_bits = {self.domain.grid_bits} is too coarse for {what} at this epsilon and "
                "delta",
                code="lattice-too-coarse",
                option="grid_bits",
                remedy=("raise grid_bits", "lower epsilon", otherwise),
            )


# -- several queries ---------------------------------------------------------------------------------------------------
# From a budget to the noise of a sequence of Gaussian queries.
#
# Queries may be chosen adaptively: Gaussian mechanisms compose exactly in any order, and the cost of discrete noise in
# gaussian.proof.md is summed over all variates. Other composition rules are offered for comparison. Proof:
# irls.proof.md.

# rules for all releases jointly, which take advantage of queries that cannot reach their maxima at once
JOINT_RULES: Final = ("exact", "zcdp", "cdp")


def queries_distribution(
    domain: RowDomain, budget: PrivacyBudget, shares: Sequence[Share], rule: str = "exact"
) -> NoiseDistribution:
    """Calibrate the noise of queries to a budget by one of `accounting.settings.RULES`.

    `exact`, and `zcdp` also called `cdp`, split mu^2 or rho in proportion to the shares of the queries: mu^2 is the sum
    over queries of times * (sensitivity / sigma)^2. `basic` and `advanced` give each release the same epsilon and
    delta, and the least Gaussian noise for them.

    >>> domain = RowDomain(1, 0, 0, None, False, 16)
    >>> shares = [(VectorQuery("score", 2, 1.0, times=20), 1.0)]
    >>> from discreet.accounting.settings import RULES
    >>> [round(queries_distribution(domain, PrivacyBudget(1.0, 1e-6), shares, rule).sd("score"), 1) for rule in RULES]
    [18.9, 20.3, 20.3, 105.2, 82.6]
    """
    total = math.fsum(share for _, share in shares)
    if rule == "exact":

        def joint(mu: float) -> list[float]:
            return [spread_scale(query, share, mu, total) for query, share in shares]

        mu, calibration = gaussian_mu(budget, lambda mu: _variates(domain, shares, joint(mu)))
        return _distribution(domain, shares, joint(mu), calibration)  # [P:exact-composition]
    if rule in ("zcdp", "cdp"):
        mu = concentrated_mu(*approximate(budget))  # [P:zcdp-composition]
        mus = [mu * math.sqrt(share / (query.times * total)) for query, share in shares]
        return _distribution(domain, shares, _scales(shares, mus), "discrete-zcdp")
    releases = sum(query.times for query, _ in shares)

    def one_release(epsilon: float, delta: float) -> tuple[float, float]:
        return split(rule, epsilon, delta, releases)

    def alike(mu: float) -> list[float]:
        return _scales(shares, [mu] * len(shares))

    # [P:split-gap-paid] [P:split-own-zcdp]
    mu, _ = gaussian_mu(budget, lambda mu: _variates(domain, shares, alike(mu)), one_release)
    return _distribution(domain, shares, alike(mu), "composed")


def spread_scale(query: VectorQuery | GramQuery, share: float, mu: float, total: float = 1.0) -> float:
    """Return the standard deviation, in scaled units, at which all releases of a query use their share of mu^2."""
    return query.sensitivity * ROUNDING * math.sqrt(query.times * total / share) / mu


def _scales(shares: Sequence[Share], mus: Sequence[float]) -> list[float]:
    """Return the standard deviations at which one release of each query uses its mu."""
    return [query.sensitivity * ROUNDING / mu for (query, _), mu in zip(shares, mus, strict=True)]


def _distribution(
    domain: RowDomain, shares: Sequence[Share], scales: Sequence[float], calibration: Calibration
) -> NoiseDistribution:
    """Return the noise in steps. Off the diagonal of a Gram matrix the scale is smaller by sqrt(2)."""
    steps: dict[str, int] = {}
    for (query, _), scale in zip(shares, scales, strict=True):
        if isinstance(query, VectorQuery):
            steps[query.block] = in_steps(query.block, scale, domain)
        else:
            steps |= triangle_steps(query, in_steps(query.diagonal, scale, domain))
    return NoiseDistribution(domain.grid_bits, steps, calibration)


def triangle_steps(query: GramQuery, diagonal: int) -> dict[str, int]:
    """Return the scales on and off the diagonal of a Gram matrix from that of its diagonal.

    >>> triangle_steps(GramQuery("d", "o", 2, 1.0), 1000)
    {'d': 1000, 'o': 708}
    """
    off = rounded_up(math.isqrt((diagonal**2 + 1) // 2 - 1) + 1)  # [P:off-diagonal]
    return {query.diagonal: diagonal, query.off: off}


def _variates(domain: RowDomain, shares: Sequence[Share], scales: Sequence[float]) -> list[tuple[int, int]]:
    """Return numbers of variates with their scales. Two entries off the diagonal have the weight of one on it."""
    return [
        (
            query.times * (query.entries if isinstance(query, VectorQuery) else query.columns**2),
            in_steps(next(iter(query.blocks)), scale, domain),
        )
        for (query, _), scale in zip(shares, scales, strict=True)
    ]

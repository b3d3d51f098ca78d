"""Calibrate noise to a budget, for the moments, other queries and any preliminary counts."""

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
# Noise scale of every block of moments, from one exact calibration of their joint release.

# shares of mu^2: 1.19 to 1.27 times the least coefficient variance for d = 1, 5, 20; an equal split has 2.1 to 2.5
DEFAULT_SHARES: Final = Blocks(count=0.03, sum_x=0.12, gram=0.35, sum_y=0.10, cross=0.35, target_square=0.05)
# minimum share of a block, whatever the costs
_LEAST_SHARE: Final = 0.02
# largest factor by which a weight is raised, and the relative accuracy of that factor
_LARGEST_FACTOR: Final = 64.0
_FACTOR_STEP: Final = 1.01
# share of mu^2 for the sums behind robust standard errors, and the part of that share for the R^2 interval
ROBUST_SHARE: Final = 0.3
RATIO_SHARE: Final = 0.03
# extra share if additional models have robust standard errors
FURTHER_SHARE: Final = 0.1

# (first, last) released column of each of several declared columns
Runs: TypeAlias = tuple[tuple[int, int], ...]


# query with its share of mu^2
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
    """Return the noise scale of each block, in scaled units, for a joint release that satisfies mu-Gaussian DP.

    The scale for X'X is that of its diagonal; off-diagonal entries get 1/sqrt(2) of this scale (svec norm). A block
    with share 0 is not released and gets an infinite scale. The squares of `indicators` equal their sums and are not
    released separately.

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

    The pair of rows that changes the other blocks most has opposite targets of equal size, so that the sum of squared
    targets does not change. This sum can therefore get less noise without more noise for other blocks.

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
    """Return the largest factor of a weight whose loss is at most `within` times the loss at factor 1.

    The factor is found within 1% and is at most 64.

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
    """Return the shares of mu^2 that minimise the variance of the noise in the normal equations.

    No share is below a minimum. The total variance is a sum over blocks of cost * sensitivity^2 / share, which is
    smallest for shares proportional to sensitivity * sqrt(cost). The costs assume scaled slopes of norm 1, an intercept
    of 1/2, and equations of equal weight. `zeros` is the number of off-diagonal Gram entries without noise, and
    `copies` the number of diagonal entries that copy a sum and its noise.

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
    """Return `block_shares` or `DEFAULT_SHARES`, whichever gives the slopes less noise in this design.

    `columns` is the number of released regressor columns. A public row count is exact and gets no share. Products
    between columns of the same factor have no noise, and the squares of `indicators` equal their sums.

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
    """Return the mean noise variance of the normal equations, for slopes of norm 1 and an intercept of 1/2.

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
    """Calibrate Gaussian noise on moments and other queries jointly to a budget, from public quantities only.

    Parameters
    ----------
    moments
        Query for the moments. A block with share 0 is not released.
    shares
        Relative shares of the blocks of the moments in the mu^2 for the moments.
    others
        Other queries and their shares of mu^2.
    share
        Share of mu^2 for the moments.
    margin
        Factor by which the scales of single-block queries are raised to cover the rounding of their sensitivities.
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
    """Return the noise scale of each block of moments, in product-grid steps, for mu-Gaussian DP."""
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
    """Return the noise scales, in steps of the grid of products, at which one release of a query is mu-Gaussian DP."""
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
    """Return the noise scale of the entries of each block. Off-diagonal Gram entries get 1/sqrt(2) of the Gram scale.

    >>> round(by_block(Blocks(1.0, 1.0, 1.0, 1.0, 1.0, 1.0))["gram_off_diagonal"], 4)
    0.7071
    """
    return {
        "count": scales.count, "sum_x": scales.sum_x, "gram_diagonal": scales.gram,
        "gram_off_diagonal": scales.gram / math.sqrt(2), "sum_y": scales.sum_y, "cross": scales.cross,
        "target_square": scales.target_square,
    }  # fmt: skip


def in_steps(block: str, scaled: float, domain: RowDomain) -> int:
    """Convert a standard deviation to product-grid steps, rounded up to an integer that the sampler accepts."""
    sigma = scaled * domain.product_unit * ROUNDING
    if not sigma <= MAX_SIGMA:
        raise GridTooFineError(
            f"the noise on '{block}' needs a standard deviation of {scaled:.3g} scaled units, which the 64-bit sampler "
            f"cannot draw at grid_bits = {domain.grid_bits}"
        )
    return rounded_up(math.ceil(sigma))  # [P:steps-rounded-up]


def residual_shares(queries: Sequence[GramQuery]) -> list[Share]:
    """Return the query for the residual Gram matrix of each model, with its share of mu^2.

    Together the queries get `ROBUST_SHARE - RATIO_SHARE`, plus `FURTHER_SHARE` if there are several models. Noise
    variances are sensitivity^2 / share, and their sum is smallest for shares proportional to the sensitivities.

    >>> full, small = (GramQuery("d", "o", 2, sensitivity) for sensitivity in (4.0, 2.0))
    >>> [[round(share, 4) for _, share in residual_shares(queries)] for queries in ([full], [full, small])]
    [[0.27], [0.2467, 0.1233]]
    """
    whole = ROBUST_SHARE - RATIO_SHARE + (FURTHER_SHARE if len(queries) > 1 else 0.0)
    total = math.fsum(query.sensitivity for query in queries)
    return [(query, whole * (query.sensitivity / total)) for query in queries]  # [P:gram-shares]


# -- before ------------------------------------------------------------------------------------------------------------
# One budget for preliminary counts and for the mechanism that runs after them.
#
# The noisy counts decide whether the release continues, and with which bounds. Proof: before.proof.md.

# by block of counts: the feature that needs them, and how to avoid it
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
    """Calibrate preliminary counts and the mechanism that runs after them to a joint budget.

    `share` is the share of the counts in mu^2, or in epsilon under pure DP. `distribution_for` returns the noise of the
    mechanism for a budget, which may include other preliminary counts. The counts get Gaussian noise if the mechanism
    has Gaussian noise, and Laplace noise otherwise.
    """
    epsilon, delta = as_pair(budget)
    whole = distribution_for(budget)
    if whole.family == "wishart" or whole.calibration == "bound":
        what, otherwise = _WORDS[counts.block]
        name = "'wishart'" if whole.family == "wishart" else "this mechanism"
        raise UnsupportedError(
            f"{what} cannot be combined with {name}, because the privacy loss of {name} cannot be divided",
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
    """Joint calibration of preliminary counts and a mechanism to one budget."""

    counts: VectorQuery
    share: float
    domain: RowDomain
    epsilon: float
    delta: float
    distribution_for: Callable[[PrivacyBudget], NoiseDistribution]

    def pure(self) -> NoiseDistribution:
        """Divide epsilon between the counts and the mechanism. The two add up whatever the delta of the mechanism."""
        part = self.share * self.epsilon
        distribution = self.distribution_for(
            PrivacyBudget((self.epsilon - part) / ROUNDING, self.delta)
        )  # [P:before-epsilon]
        return self._with(distribution, self.counts.laplace_sensitivity / part)

    def composed(self) -> NoiseDistribution:
        """Divide epsilon and delta by basic composition, for a mechanism that is calibrated by a composition rule."""
        epsilon, delta, share = self.epsilon, self.delta, self.share
        rest = (1 - share) / ROUNDING
        distribution = self.distribution_for(PrivacyBudget(epsilon * rest, delta * rest))
        mu = mu_from(share * epsilon, share * delta * (1 - LATTICE_SHARE) / ROUNDING)  # [P:before-composed]
        combined = self._with(distribution, self.counts.sensitivity / mu)
        self._check_gap(combined, share * epsilon, share * delta)
        return combined

    def joint(self) -> NoiseDistribution:
        """Divide mu^2 between the counts and the mechanism, or rho if the mechanism is calibrated by zCDP."""
        epsilon, delta, share = self.epsilon, self.delta, self.share
        whole = mu_from(epsilon, delta * (1 - LATTICE_SHARE) / ROUNDING)
        rest = delta_from(epsilon, whole * math.sqrt(1 - share) / ROUNDING)  # [P:before-rest]
        distribution = self.distribution_for(PrivacyBudget(epsilon, rest))
        if distribution.calibration == "gaussian":
            mu = whole * math.sqrt(share)  # [P:before-mu]
            combined = self._with(distribution, self.counts.sensitivity / mu)
            self._check_gap(combined, epsilon, delta - rest)
            return combined
        rho = (rho_from(epsilon, delta) - rho_from(epsilon, rest)) / ROUNDING  # [P:before-rho]
        return self._with(distribution, self.counts.sensitivity / math.sqrt(2 * rho))

    def _with(self, distribution: NoiseDistribution, scale: float) -> NoiseDistribution:
        block = self.counts.block
        return distribution.with_before(block, in_steps(block, scale, self.domain))

    def _check_gap(self, distribution: NoiseDistribution, epsilon: float, delta: float) -> None:
        """Reject a lattice on which the cost of discrete noise exceeds the part of delta for the counts."""
        gap = lattice_gap(epsilon, [(self.counts.entries, distribution.sigma[self.counts.block])])
        allowed = LATTICE_SHARE * delta
        if gap > allowed:  # [P:before-gap]
            what, otherwise = _WORDS[self.counts.block]
            raise UnsupportedError(
                f"grid_bits = {self.domain.grid_bits} is too coarse for {what} at this epsilon and delta",
                code="lattice-too-coarse",
                option="grid_bits",
                remedy=("raise grid_bits", "lower epsilon", otherwise),
            )


# -- several queries ---------------------------------------------------------------------------------------------------
# Noise scales of a sequence of Gaussian queries under one budget.
#
# Queries may be chosen adaptively: Gaussian mechanisms compose exactly in any order, and lattice.proof.md bounds the
# cost of discrete noise, which adds up over all variates. Other composition rules are offered for comparison. Proof:
# pieces.proof.md.

# rules that account for all queries jointly, so they benefit if no pair of tables attains every sensitivity at once
JOINT_RULES: Final = ("exact", "zcdp", "cdp")


def queries_distribution(
    domain: RowDomain, budget: PrivacyBudget, shares: Sequence[Share], rule: str = "exact"
) -> NoiseDistribution:
    """Calibrate the noise of queries to a budget by one of the composition rules.

    The rules are those in `accounting.settings.RULES`. `exact` divides mu^2, the sum over queries of times *
    (sensitivity / sigma)^2, in proportion to the shares. `zcdp` and its alias `cdp` divide rho in the same way. `basic`
    and `advanced` give every release the same epsilon and delta, and the smallest Gaussian noise that satisfies them.

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
    """Return the standard deviation at which all releases of a query together use `share` of mu^2, in scaled units."""
    return query.sensitivity * ROUNDING * math.sqrt(query.times * total / share) / mu


def _scales(shares: Sequence[Share], mus: Sequence[float]) -> list[float]:
    """Return the standard deviation at which each query uses its mu in every release."""
    return [query.sensitivity * ROUNDING / mu for (query, _), mu in zip(shares, mus, strict=True)]


def _distribution(
    domain: RowDomain, shares: Sequence[Share], scales: Sequence[float], calibration: Calibration
) -> NoiseDistribution:
    """Convert standard deviations to a noise distribution in product-grid steps.

    Off-diagonal Gram entries get 1/sqrt(2) of the diagonal scale.
    """
    steps: dict[str, int] = {}
    for (query, _), scale in zip(shares, scales, strict=True):
        if isinstance(query, VectorQuery):
            steps[query.block] = in_steps(query.block, scale, domain)
        else:
            steps |= triangle_steps(query, in_steps(query.diagonal, scale, domain))
    return NoiseDistribution(domain.grid_bits, steps, calibration)


def triangle_steps(query: GramQuery, diagonal: int) -> dict[str, int]:
    """Return the noise scales of diagonal and of off-diagonal Gram entries, given the diagonal scale.

    >>> triangle_steps(GramQuery("d", "o", 2, 1.0), 1000)
    {'d': 1000, 'o': 708}
    """
    off = rounded_up(math.isqrt((diagonal**2 + 1) // 2 - 1) + 1)  # [P:off-diagonal]
    return {query.diagonal: diagonal, query.off: off}


def _variates(domain: RowDomain, shares: Sequence[Share], scales: Sequence[float]) -> list[tuple[int, int]]:
    """Return (number of variates, scale) for each query.

    Two off-diagonal entries cost as much as one diagonal entry, so a Gram matrix with k columns counts as k^2 variates.
    """
    return [
        (
            query.times * (query.entries if isinstance(query, VectorQuery) else query.columns**2),
            in_steps(next(iter(query.blocks)), scale, domain),
        )
        for (query, _), scale in zip(shares, scales, strict=True)
    ]

"""Calibrate the noise of blocks of statistics and of preliminary counts to one budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

from discreet.accounting.moments import (
    GAP,
    Blocks,
    block_maxima,
    ratio_sensitivity,
    residual_sensitivity,
    weighted_loss,
)
from discreet.accounting.noise_distribution import (
    BLOCKS,
    DISCOVERY,
    GUARD,
    RATIO_BLOCK,
    Calibration,
    Columns,
    NoiseLaw,
    model_blocks,
    structural_zeros,
)
from discreet.accounting.preliminary_counts import CountsBefore
from discreet.accounting.privacy_loss import split
from discreet.design.domain import RowDomain
from discreet.errors import GridTooFineError, SpecError
from discreet.mechanisms.sampler import MAX_SIGMA, rounded_up
from discreet.privacy.budget import Neighbours, PrivacyBudget, as_pair
from discreet.privacy.gaussian_dp import delta_from, mu_from, rho_from
from discreet.privacy.lattice import LATTICE_SHARE, ROUNDING, approximate, concentrated_mu, gaussian_mu, lattice_gap

# -- blocks ------------------------------------------------------------------------------------------------------------
# From a budget to the noise of every block: one exact calibration for the whole joint release.

# shares of mu^2: within 1.19-1.27 of the least coefficient variance for d = 1, 5, 20; an equal split is 2.1-2.5
DEFAULT_SHARES: Final = Blocks(count=0.03, sum_x=0.12, gram=0.35, sum_y=0.10, cross=0.35, target_square=0.05)
# no block gets less, whatever the costs say
_LEAST_SHARE: Final = 0.02
# how far a weight is raised at most, and to what ratio that is found out
_LARGEST_FACTOR: Final = 64.0
_FACTOR_STEP: Final = 1.01
# share of mu^2 that robust standard errors take for their own sums, and the part of it for the interval of R^2
ROBUST_SHARE: Final = 0.3
RATIO_SHARE: Final = 0.03
# what they take more where further models have such sums too
FURTHER_SHARE: Final = 0.1

# first and last column of each of some declared columns
Runs: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ExtraStatistic:
    """One more statistic that is released beside the moments, under the same calibration.

    Its name is that in the law of the noise and among the scalars of the release.

    Attributes
    ----------
    sensitivity
        Its largest change between neighbouring tables, as a Euclidean length, in scaled units of a product.
    share
        Of mu^2, above 0 and below 1; the moments get the rest.
    entries
        How many numbers it has.
    """

    name: str
    sensitivity: float
    share: float
    entries: int = 1


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
    """Noise of each block in scaled units for a joint release that is mu-Gaussian-private.

    Inside X'X the figure is for the diagonal; off the diagonal it is smaller by sqrt(2) (svec). A block with share 0 is
    not released: its noise is infinite. Squares of `indicators` are not released beside their sums.

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
    """Raise the weight of the sum of squared targets under `replace` as far as the joint loss stays the same.

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
    """Largest factor of a weight, to 1% and up to 64, at which a loss is at most `within` times that at 1.

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
    """Shares of mu^2, or of a squared norm, that bring the least variance to the normal equations, with a floor.

    Every entry has the same law up to its scale, so the total is a sum over blocks of cost * sensitivity^2 / share, and
    is least at shares proportional to sensitivity * sqrt(cost), the sensitivity of the block. The costs take scaled
    slopes of length 1 and an intercept of 1/2; each of the equations counts alike. `zeros` products off the diagonal
    have no noise, `copies` on it that of a sum.

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
    """Shares of mu^2 for a design: those of `block_shares` or the fixed ones, whichever leave the slopes less noise.

    Parameters
    ----------
    columns
        How many columns of regressors are released.
    count_public
        Whether the count is exact, and so takes no share.
    factors
        Between whose columns products have no noise.
    indicators
        Whose squares are released as their sums.

    Examples
    --------
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
    """Mean variance that noise brings to the normal equations of slopes of length 1, with an intercept of 1/2.

    >>> slope_variance(Blocks(1.0, 1.0, 1.0, 1.0, 1.0, 1.0), 1)
    2.25
    """
    gram = (columns + 1) / (2 * columns) - (zeros + copies) / columns**2
    return sigmas.cross**2 + gram * sigmas.gram**2 + (1 / 4 + copies / columns**2) * sigmas.sum_x**2


def noise_law(
    domain: RowDomain,
    neighbours: Neighbours,
    size: int,
    budget: PrivacyBudget,
    *,
    count_public: bool,
    rows_per_unit: int = 1,
    robust: bool = False,
    models: Mapping[Columns, RowDomain] = MappingProxyType({}),
    shares: Blocks = DEFAULT_SHARES,
    beside: ExtraStatistic | None = None,
    factors: Runs = (),
    indicators: Runs = (),
) -> NoiseLaw:
    """The law of the noise for a budget, from public quantities alone.

    The count is left exact only where the number of rows that count is public. A block with share 0 is not released:
    it has no noise, costs nothing and is absent from the law. With `robust` a share of mu^2 goes to sums over residuals
    (residuals.proof.md), those of further `models`, by columns and with the domain of their rows, among them; with
    `beside` a share goes to one more statistic; the moments get the rest. Products of two indicators of one of
    `factors` have no noise, squares of `indicators` that of their sums.
    """
    domains = [domain, *models.values()]
    residuals = ROBUST_SHARE + (FURTHER_SHARE if models else 0.0) if robust else 0.0
    spent_elsewhere = residuals + (0.0 if beside is None else beside.share)

    def law(mu: float, calibration: Calibration) -> NoiseLaw:
        charged = replace(shares, count=0.0) if count_public else shares
        part = mu * math.sqrt(1 - spent_elsewhere)
        sigmas = block_sigmas(
            domain,
            neighbours,
            part,
            charged,
            count_public=count_public,
            rows_per_unit=rows_per_unit,
            indicators=indicators,
        )
        steps = _steps(sigmas, domain, count_public=count_public)
        if robust:
            steps |= residual_steps(domains, neighbours, mu)
            steps[RATIO_BLOCK] = in_steps(RATIO_BLOCK, ratio_sensitivity() / (mu * math.sqrt(RATIO_SHARE)), domain)
        if beside is not None:
            steps[beside.name] = in_steps(beside.name, beside.sensitivity / (mu * math.sqrt(beside.share)), domain)
        of = tuple(models)
        return NoiseLaw(domain.grid_bits, steps, calibration, factors=factors, indicators=indicators, models=of)

    mu, rule = gaussian_mu(budget, lambda mu: variates(law(mu, "gaussian"), size, beside))
    return law(mu, rule)


def variates(law: NoiseLaw, size: int, beside: ExtraStatistic | None = None) -> list[tuple[int, int]]:
    """How many variates of a law have which standard deviation, for moments of `size` columns (1, x, y)."""
    x = size - 2
    entries = {
        "sum_x": x, "gram_diagonal": x - len(law.indicator_columns),
        "gram_off_diagonal": x * (x - 1) // 2 - law.zeros, "cross": x,
    } | law.residual_entries(size)  # fmt: skip
    if beside is not None:
        entries[beside.name] = beside.entries
    return [(entries.get(block, 1), sigma) for block, sigma in law.sigma.items() if sigma]


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
    """Scales of the entries by the blocks of a law; an entry off the diagonal of the Gram stands in it twice.

    >>> round(by_block(Blocks(1.0, 1.0, 1.0, 1.0, 1.0, 1.0))["gram_off_diagonal"], 4)
    0.7071
    """
    return {
        "count": scales.count, "sum_x": scales.sum_x, "gram_diagonal": scales.gram,
        "gram_off_diagonal": scales.gram / math.sqrt(2), "sum_y": scales.sum_y, "cross": scales.cross,
        "target_square": scales.target_square,
    }  # fmt: skip


def in_steps(block: str, scaled: float, domain: RowDomain) -> int:
    """A standard deviation in steps of the product grid, rounded up to what the sampler takes."""
    sigma = scaled * domain.product_unit * ROUNDING
    if not sigma <= MAX_SIGMA:
        raise GridTooFineError(
            f"the noise of block '{block}' has a standard deviation of {scaled:.3g} scaled units, too much "
            f"for the 64-bit sampler at grid_bits = {domain.grid_bits}"
        )
    return rounded_up(math.ceil(sigma))  # [P:steps-rounded-up]


def gram_shares(domains: Sequence[RowDomain], neighbours: Neighbours) -> list[float]:
    """Shares of mu^2 of the residual Grams of models, given the domain of the rows of each, the full model first.

    Together they have `ROBUST_SHARE` without `RATIO_SHARE`, and `FURTHER_SHARE` more where there are several. The
    variances of their noise are sensitivity^2 / share, whose sum is least at shares in proportion to sensitivities.

    >>> full, one = RowDomain(3, 0, 0, None, False, 16), RowDomain(1, 0, 0, None, False, 16)
    >>> [[round(share, 4) for share in gram_shares(domains, "replace")] for domains in ([full], [full, one])]
    [[0.27], [0.2467, 0.1233]]
    """
    whole = ROBUST_SHARE - RATIO_SHARE + (FURTHER_SHARE if len(domains) > 1 else 0.0)
    sensitivities = [residual_sensitivity(domain, neighbours) for domain in domains]
    total = math.fsum(sensitivities)
    return [whole * (one / total) for one in sensitivities]  # [P:gram-shares]


def residual_steps(domains: Sequence[RowDomain], neighbours: Neighbours, mu: float) -> dict[str, int]:
    """Noise of the residual Grams of models, each with its share of a release that is mu-Gaussian-private.

    >>> domain = RowDomain(1, 0, 0, None, False, 8)
    >>> sorted(residual_steps([domain, domain], "replace", 1.0))
    ['residual_diagonal', 'residual_diagonal_1', 'residual_off_diagonal', 'residual_off_diagonal_1']
    """
    steps: dict[str, int] = {}
    for number, (domain, share) in enumerate(zip(domains, gram_shares(domains, neighbours), strict=True)):
        sigma = residual_sensitivity(domain, neighbours) / (mu * math.sqrt(share))
        for block, scaled in zip(model_blocks(number), (sigma, sigma / math.sqrt(2)), strict=True):
            steps[block] = in_steps(block, scaled, domain)
    return steps


# -- before ------------------------------------------------------------------------------------------------------------
# Counts that are released before a mechanism runs, and its noise: one budget for both.
#
# What the counts say decides how the release goes on, or that it does not. Proof: before.proof.md.

# what asks for each block, and how to do without
_WORDS: Final = {GUARD: ("a guard", "leave --guard out"), DISCOVERY: ("private bounds", "declare all bounds")}


def preceded_law(
    counts: CountsBefore,
    share: Fraction,
    domain: RowDomain,
    budget: PrivacyBudget,
    law_for: Callable[[PrivacyBudget], NoiseLaw],
) -> NoiseLaw:
    """The law of a mechanism and of counts before it, which together keep the budget.

    Parameters
    ----------
    counts
        What is released first.
    share
        Of mu^2 for it, or of epsilon for noise without delta.
    domain
        The grid.
    budget
        For the counts and the mechanism together.
    law_for
        From a budget to the law of the mechanism, perhaps with other counts before it.

    Returns
    -------
    NoiseLaw
        With the block of the counts, whose noise is Gaussian where that of the mechanism is, and Laplace elsewhere.
    """
    epsilon, delta = as_pair(budget)
    whole = law_for(budget)
    if whole.family == "wishart" or whole.calibration == "bound":
        what, otherwise = _WORDS[counts.block]
        name = "'wishart'" if whole.family == "wishart" else "this mechanism"
        raise SpecError(
            f"{what} cannot be combined with {name}, whose privacy loss cannot be split; {otherwise}, or use 'gaussian'"
        )
    shared = _Shared(counts, float(share), domain, epsilon, delta, law_for)
    if whole.family != "discrete-gaussian":
        return shared.pure()
    return shared.composed() if whole.calibration == "composed" else shared.joint()


@dataclass(frozen=True, slots=True)
class _Shared:
    """A budget that counts and a mechanism share."""

    counts: CountsBefore
    share: float
    domain: RowDomain
    epsilon: float
    delta: float
    law_for: Callable[[PrivacyBudget], NoiseLaw]

    def pure(self) -> NoiseLaw:
        """Epsilons add up, whatever delta the mechanism uses."""
        part = self.share * self.epsilon
        law = self.law_for(PrivacyBudget((self.epsilon - part) / ROUNDING, self.delta))  # [P:before-epsilon]
        return self._with(law, self.counts.l1_sensitivity / part)

    def composed(self) -> NoiseLaw:
        """Basic composition with a mechanism that is calibrated by a rule of its own."""
        epsilon, delta, share = self.epsilon, self.delta, self.share
        rest = (1 - share) / ROUNDING
        law = self.law_for(PrivacyBudget(epsilon * rest, delta * rest))
        mu = mu_from(share * epsilon, share * delta * (1 - LATTICE_SHARE) / ROUNDING)  # [P:before-composed]
        made = self._with(law, self.counts.sensitivity / mu)
        self._check_gap(made, share * epsilon, share * delta)
        return made

    def joint(self) -> NoiseLaw:
        """A share of mu^2, or of rho where the mechanism is calibrated by zero-concentrated accounting."""
        epsilon, delta, share = self.epsilon, self.delta, self.share
        whole = mu_from(epsilon, delta * (1 - LATTICE_SHARE) / ROUNDING)
        rest = delta_from(epsilon, whole * math.sqrt(1 - share) / ROUNDING)  # [P:before-rest]
        law = self.law_for(PrivacyBudget(epsilon, rest))
        if law.calibration == "gaussian":
            mu = whole * math.sqrt(share)  # [P:before-mu]
            made = self._with(law, self.counts.sensitivity / mu)
            self._check_gap(made, epsilon, delta - rest)
            return made
        rho = (rho_from(epsilon, delta) - rho_from(epsilon, rest)) / ROUNDING  # [P:before-rho]
        return self._with(law, self.counts.sensitivity / math.sqrt(2 * rho))

    def _with(self, law: NoiseLaw, scale: float) -> NoiseLaw:
        block = self.counts.block
        return law.with_before(block, in_steps(block, scale, self.domain))

    def _check_gap(self, law: NoiseLaw, epsilon: float, delta: float) -> None:
        """Refuse a lattice whose step costs more than its share of the part of delta that is left for the counts."""
        gap = lattice_gap(epsilon, [(self.counts.numbers, law.sigma[self.counts.block])])
        allowed = LATTICE_SHARE * delta
        if gap > allowed:  # [P:before-gap]
            what, otherwise = _WORDS[self.counts.block]
            raise SpecError(
                f"the lattice of grid_bits = {self.domain.grid_bits} is too coarse for {what} at this epsilon and "
                f"delta; raise grid_bits, lower epsilon, or {otherwise}"
            )


# -- pieces ------------------------------------------------------------------------------------------------------------
# From a budget to the noise of several Gaussian statistics that are released one after another.
#
# Statistics may be chosen in the light of earlier ones: Gaussian mechanisms compose exactly whatever the order, and the
# step from the continuous to the lattice law costs what gaussian.proof.md shows, summed over all variates. Other rules
# of composition are there to be compared with. Proof: irls.proof.md.

# advanced composition is below basic only from some dozens of releases on; cdp is what Park & Welling call zcdp
# those that look at all releases together, so that statistics which cannot reach their maxima at once gain by it
JOINT_RULES: Final = ("exact", "zcdp", "cdp")


@dataclass(frozen=True, slots=True)
class Piece:
    """One statistic among those released: `times` times, and each release of it takes `entries` variates.

    Its sensitivity is the largest Euclidean change between neighbouring tables, in scaled units, and its share is that
    of mu^2 for all times together.
    """

    sensitivity: float
    share: float
    entries: int
    times: int = 1


Pieces = Mapping[str, Piece]


def pieces_law(domain: RowDomain, budget: PrivacyBudget, pieces: Pieces, rule: str = "exact") -> NoiseLaw:
    """The noise of every piece for a budget, calibrated by one of `losses.settings.RULES`; all of them keep the budget.

    `exact`, and `zcdp` also called `cdp`, split mu^2 or rho by the shares of the pieces, taken in proportion: mu^2 is
    the sum over pieces of times * (sensitivity / sigma)^2. `basic` and `advanced` give every single release the same
    epsilon and delta, and the least Gaussian noise for them.

    >>> domain = RowDomain(1, 0, 0, None, False, 16)
    >>> pieces = {"score": Piece(1.0, 1.0, 2, times=20)}
    >>> from discreet.accounting.settings import RULES
    >>> [round(pieces_law(domain, PrivacyBudget(1.0, 1e-6), pieces, rule).sd("score"), 1) for rule in RULES]
    [18.9, 20.3, 20.3, 105.2, 82.6]
    """
    if rule == "exact":
        return _exact_law(domain, budget, pieces)  # [P:exact-composition]
    if rule in ("zcdp", "cdp"):
        mu = concentrated_mu(*approximate(budget))  # [P:zcdp-composition]
        total = _total_share(pieces)
        mus = {name: mu * math.sqrt(piece.share / (piece.times * total)) for name, piece in pieces.items()}
        return _law_of_mus(domain, pieces, mus, "discrete-zcdp")
    releases = sum(piece.times for piece in pieces.values())

    def law(mu: float) -> NoiseLaw:
        return _law_of_mus(domain, pieces, dict.fromkeys(pieces, mu), "composed")

    def one_release(epsilon: float, delta: float) -> tuple[float, float]:
        return split(rule, epsilon, delta, releases)

    # [P:split-gap-paid] [P:split-own-zcdp]
    mu, _ = gaussian_mu(budget, lambda mu: _variates(law(mu), pieces), one_release)
    return law(mu)


def _exact_law(domain: RowDomain, budget: PrivacyBudget, pieces: Pieces) -> NoiseLaw:
    """Noise under which all releases together have one mu, each piece its share of mu^2."""
    total = _total_share(pieces)

    def law(mu: float, calibration: Calibration) -> NoiseLaw:
        scaled = {
            name: piece.sensitivity * ROUNDING * math.sqrt(piece.times * total / piece.share) / mu
            for name, piece in pieces.items()
        }
        return _law(domain, scaled, calibration)

    mu, calibration = gaussian_mu(budget, lambda mu: _variates(law(mu, "gaussian"), pieces))
    return law(mu, calibration)


def _law_of_mus(domain: RowDomain, pieces: Pieces, mus: Mapping[str, float], calibration: Calibration) -> NoiseLaw:
    """Noise under which one release of each piece has its own mu."""
    scaled = {name: piece.sensitivity * ROUNDING / mus[name] for name, piece in pieces.items()}
    return _law(domain, scaled, calibration)


def _law(domain: RowDomain, scaled: Mapping[str, float], calibration: Calibration) -> NoiseLaw:
    steps = {name: in_steps(name, sigma, domain) for name, sigma in scaled.items()}
    return NoiseLaw(domain.grid_bits, steps, calibration)


def _total_share(pieces: Pieces) -> float:
    return math.fsum(piece.share for piece in pieces.values())


def _variates(law: NoiseLaw, pieces: Pieces) -> list[tuple[int, int]]:
    """How many variates of all releases have which standard deviation."""
    return [(piece.entries * piece.times, law.sigma[name]) for name, piece in pieces.items()]

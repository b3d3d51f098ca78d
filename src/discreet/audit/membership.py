"""Attack membership in a public table, with and without noise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.audit.auditing import CONFIDENCE, DRAWS
from discreet.audit.judging import FEWEST_DRAWS, Claim
from discreet.audit.membership_result import NOT_PRIVATE, Attack, MembershipResult, certain, measured, thresholds
from discreet.audit.pairs import corner_pairs
from discreet.audit.runs import PooledSampler, SyntheticRows
from discreet.curator.sums.gram import ExactGram, Totals, chunk_rows
from discreet.datasets.tables import Dataset, census2000
from discreet.errors import OptionError, UnsupportedError
from discreet.exact.arrays import FloatArray, one_blas_thread
from discreet.exact.linear import exact_solution, symmetric_integers
from discreet.exact.linear import pairs as places
from discreet.exact.rounding import root_up
from discreet.mechanisms.protocol import run_passes, with_curve
from discreet.mechanisms.sampler import Sampler
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.checks import is_integer, is_number
from discreet.privacy.guarantee import Guarantee
from discreet.release_request import ReleaseRequest
from discreet.tables.source import ComputeOptions

if TYPE_CHECKING:
    from discreet.mechanisms.protocol import NoisyMoments

# -- targets -----------------------------------------------------------------------------------------------------------
# Rows that an attacker asks about, and the two tables to distinguish.


@dataclass(frozen=True)
class Target:
    """A row (1, x, y) on the grid and all others. The attacker knows both and asks whether it is included."""

    name: str
    row: FloatArray
    others: FloatArray

    def totals(self, request: ReleaseRequest, *, with_row: bool) -> Totals:
        """Return the exact sums of products of the table with or without the row."""
        size, bits = len(request.design.released), request.domain.grid_bits
        gram, step = ExactGram(size, bits), chunk_rows(ComputeOptions().chunk_rows, size, bits)
        for start in range(0, self.others.shape[1], step):
            gram.add(self.others[:, start : start + step])
        if with_row:
            gram.add(self.row)
        return Totals(gram.totals(), gram.unit, self.others.shape[1] + with_row)


def targets(dataset: Dataset, request: ReleaseRequest) -> tuple[Target, Target]:
    """Return the worst row inside the declared bounds, added to the table, and a typical row, removed from it.

    The worst row moves the noisy sums farthest. The typical row has the median effect.
    """
    rows = SyntheticRows(dataset.table, request.design, request.domain).grid
    (corner,) = corner_pairs(request.design)
    worst = SyntheticRows(corner.neighbour, request.design, request.domain).grid
    order = np.argsort(reach(rows, request.distribution, request.domain.unit), kind="stable")
    typical = int(order[rows.shape[1] // 2])
    return (
        Target("worst row", worst, rows),
        Target("typical row", rows[:, [typical]], np.delete(rows, typical, axis=1)),
    )


def reach(rows: FloatArray, distribution: NoiseDistribution, unit: int) -> FloatArray:
    """Return how far each row moves the sums of products, in standard deviations of their noise (its mu)."""
    scaled = rows / unit
    entry_sd = distribution.entry_sd(len(rows))
    # copies of other sums, and entries without noise, reveal nothing more
    entry_sd[distribution.indicator_columns, distribution.indicator_columns] = 0.0
    squares = np.zeros(rows.shape[1])
    for i, j in places(len(rows)):
        if entry_sd[i, j] > 0:
            squares += (scaled[i] * scaled[j] / entry_sd[i, j]) ** 2
    distances: FloatArray = np.sqrt(squares)
    return distances


# -- likelihood --------------------------------------------------------------------------------------------------------
# The likelihood ratio of a publication, between the table with a row and the table without it.
#
# Noise on every entry is a discrete Gaussian variate, P(z) proportional to exp(-z^2 / (2 sigma^2)) on the integers. The
# row moves the exact sums by an integer vector v, so both tables have the same support and the normalising constants
# cancel. The log likelihood ratio at an output o is
#
#     sum over entries of (o - s) v / sigma^2 - v^2 / (2 sigma^2),   s the sums without the row,
#
# which holds for the lattice distribution itself, not for an approximation. By Neyman and Pearson no test has a higher
# power at the same false-alarm rate.


@dataclass(frozen=True)
class LikelihoodRatio:
    """The test for one row under one noise distribution.

    Attributes
    ----------
    without
        Sums without the row, in steps of the noise.
    change
        Contribution of the row to the sums.
    sigma
        Noise scales. 0 marks a copy of another number, which is ignored.
    """

    without: tuple[int, ...]
    change: tuple[int, ...]
    sigma: tuple[int, ...]

    @classmethod
    def of(cls, target: Target, request: ReleaseRequest) -> LikelihoodRatio:
        """Build the test that knows the row, all others, and the noise distribution."""
        with_row, without_row = (
            target.totals(request, with_row=included).on_grid(request.distribution.unit) for included in (True, False)
        )
        change = tuple(a - b for a, b in zip(with_row, without_row, strict=True))
        size = len(request.design.released)
        # an entry without noise must not change; a scale of one step would reveal any change
        sigma = [step or 1 for step in request.distribution.steps(size)]
        # a copy of a noisy sum carries no more information than that sum
        for square in request.distribution.copies(size):
            sigma[square] = 0
        return cls(without_row, change, tuple(sigma))

    @property
    def mu(self) -> float:
        """Distance of the two tables in noise standard deviations, from exact integers, rounded up."""
        squares = (Fraction(v, s) ** 2 for v, s in zip(self.change, self.sigma, strict=True) if s)
        return root_up(sum(squares, Fraction(0)))

    def scores(self, published: Sequence[Sequence[int]]) -> FloatArray:
        """Return the log likelihood ratios of many outputs, one per row."""
        # differences of exact integers fit doubles, which the sums themselves need not
        noise = np.array(
            [[a - b for a, b in zip(output, self.without, strict=True)] for output in published], dtype=float
        )
        sigma = np.array([scale or np.inf for scale in self.sigma], dtype=float)
        shift = np.array(self.change, dtype=float) / sigma
        scores: FloatArray = (noise / sigma) @ shift - shift @ shift / 2
        return scores


def drawn_releases(request: ReleaseRequest, totals: Totals, sampler: Sampler, draws: int) -> list[tuple[int, ...]]:
    """Draw noisy sums as production publishes them, from exact sums computed once."""
    published = []
    for _ in range(draws):
        passes = request.mechanism.passes(request.context(sampler))
        next(passes)
        # the mechanism requests sums of products once
        moments = cast("NoisyMoments", run_passes(passes, totals, lambda _: totals))
        published.append(tuple(total for total in moments.totals if total is not None))
    return published


# -- least squares -----------------------------------------------------------------------------------------------------
# Coefficients without noise, NOT PRIVATE: how many digits reveal whether a row is in the table.

# significant digits of a double
MOST_DIGITS: Final = 15


def telling_digits(target: Target, request: ReleaseRequest) -> int | None:
    """Return the number of significant digits at which exact least squares reveals the row, NOT PRIVATE.

    Return None if all digits of a double agree.
    """
    with_row, without_row = (
        _coefficients(target.totals(request, with_row=included), request) for included in (True, False)
    )
    return next(
        (
            digits
            for digits in range(1, MOST_DIGITS + 1)
            if _formatted(with_row, digits) != _formatted(without_row, digits)
        ),
        None,
    )


def _coefficients(totals: Totals, request: ReleaseRequest) -> tuple[Fraction, ...]:
    """Solve least squares of the target on all other columns exactly, in scaled units."""
    size = len(request.design.released)
    gram = symmetric_integers(totals.values, size)
    coefficients = exact_solution(gram[:-1, :-1], gram[:-1, -1])
    if coefficients is None:
        raise UnsupportedError(
            "the columns of the table are collinear, so least squares has no unique solution",
            code="collinear-table",
            option="dataset",
            remedy="choose another table",
        )
    return coefficients


def _formatted(coefficients: Sequence[Fraction], digits: int) -> list[str]:
    return [f"{float(coefficient):.{digits - 1}e}" for coefficient in coefficients]


# -- attacking ---------------------------------------------------------------------------------------------------------
# Membership attacks on a public table, without noise and at several budgets.

EPSILONS: Final = (0.5, 1.0, 4.0)
DELTA: Final = 1e-6
_MECHANISM: Final = "gaussian"


def membership_attack(
    dataset: Dataset | None = None,
    *,
    epsilons: Sequence[float] = EPSILONS,
    delta: float = DELTA,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    progress: Callable[[str, int, int], None] | None = None,
) -> MembershipResult:
    """Try to determine whether a row is in a public table, from exact least squares and from releases.

    The attacker knows all other rows, the row itself and the noise distribution, and uses the exact likelihood ratio of
    the publication. No attacker does better.

    Parameters
    ----------
    dataset : Dataset, optional
        A public table in memory with its design, as from `discreet.datasets.load`. By default the census sample of the
        demo, or a simulated table of the same shape if it is not installed.
    epsilons : sequence of float
        Epsilon of each release.
    delta : float
        Delta of the releases.
    draws : int
        Releases per table. The sums are computed once, and the noise comes from the production sampler.
    confidence : float
        Probability that releases which satisfy their guarantee pass, over all of them together.
    progress : callable, optional
        Called with the name of a finished part, the number of finished parts, and the number of all parts.

    Returns
    -------
    MembershipResult
        With `passed`, `summary()`, and the errors of the attacker for each attack. Results without noise are marked NOT
        PRIVATE.

    Examples
    --------
    >>> from discreet.datasets import load
    >>> table = load("simulated-census", rows=500)
    >>> result = membership_attack(table, epsilons=[1.0], draws=500, confidence=1 - 1e-9)
    >>> result.passed, [attack.published for attack in result.attacks][::2]
    (True, ['least squares, NOT PRIVATE', 'gaussian, epsilon 1'])
    >>> [attack.roc.area for attack in result.attacks][:2]
    [1.0, 1.0]
    """
    if dataset is not None and not isinstance(dataset, Dataset):
        raise OptionError(option="dataset", given=dataset, allowed="a Dataset, as discreet.datasets.load returns")
    if not is_integer(draws) or draws < FEWEST_DRAWS:
        raise OptionError(option="draws", given=draws, allowed=f"an integer of at least {FEWEST_DRAWS}")
    if not is_number(confidence) or not 0.5 <= confidence < 1:
        raise OptionError(option="confidence", given=confidence, allowed="a number of at least 0.5 and below 1")
    chosen = census2000() if dataset is None else dataset
    request = [attack_question(chosen, PrivacyBudget(epsilon, delta)) for epsilon in epsilons]
    if not request:
        raise OptionError("expected at least one epsilon, got none", option="epsilons")
    start = time.process_time()
    with one_blas_thread():
        attacks = list(_attacks(chosen, request, draws, 1 - confidence, progress))
    name = f"{chosen.name}, simulated" if chosen.simulated else chosen.name
    return MembershipResult(tuple(attacks), name, confidence, time.process_time() - start)


def _attacks(
    dataset: Dataset,
    request: Sequence[ReleaseRequest],
    draws: int,
    alpha: float,
    progress: Callable[[str, int, int], None] | None,
) -> Iterator[Attack]:
    worst, typical = targets(dataset, request[0])
    for target in (worst, typical):
        digits = telling_digits(target, request[0])
        yield Attack(NOT_PRIVATE, target.name, None, None, digits, certain(known=digits is not None), 0)
    for done, question in enumerate(request):
        yield from _releases(question, worst, typical, draws, alpha / (2 * len(request)))
        if progress is not None:
            progress(f"epsilon {question.budget.epsilon:g}", done + 1, len(request))


def _releases(request: ReleaseRequest, worst: Target, typical: Target, draws: int, alpha: float) -> Iterator[Attack]:
    """Attack both rows at one budget. The table is without the worst row and with the typical one."""
    sampler = PooledSampler()
    totals = [
        worst.totals(request, with_row=True),
        worst.totals(request, with_row=False),
        typical.totals(request, with_row=False),
    ]
    more, table, fewer = (drawn_releases(request, sums, sampler, draws) for sums in totals)
    claim = Claim.of(with_curve(Guarantee.promised(request.design.unit, request.budget), request.distribution))
    for target, with_row, without_row in ((worst, more, table), (typical, table, fewer)):
        ratio = LikelihoodRatio.of(target, request)
        roc = measured(ratio.scores(with_row), ratio.scores(without_row), thresholds(ratio.mu), alpha)
        yield Attack(f"{_MECHANISM}, epsilon {claim.epsilon:g}", target.name, claim, ratio.mu, None, roc, draws)


def attack_question(dataset: Dataset, budget: PrivacyBudget) -> ReleaseRequest:
    """Return the attacked request: all moments with Gaussian noise, as in production."""
    if dataset.design.weights is not None:
        raise UnsupportedError(
            "a membership attack does not support weights",
            code="weights-not-supported",
            option="dataset",
            remedy="leave weights out of the design",
        )
    return ReleaseRequest.checked(dataset.design, budget, ReleaseOptions(mechanism=_MECHANISM))

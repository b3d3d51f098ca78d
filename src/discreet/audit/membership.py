"""Measure how well an attacker infers from a publication who is in a table, with and without noise."""

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
from discreet.curator.sums.row_counts import RowCounts
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
# Rows whose membership is attacked, and the two tables that the attacker must distinguish.


@dataclass(frozen=True)
class Target:
    """Row (1, x, y) whose membership is attacked, and all other rows, in grid steps.

    The attacker knows all of these rows, but not whether `row` is in the table.
    """

    name: str
    row: FloatArray
    others: FloatArray

    def totals(self, request: ReleaseRequest, *, with_row: bool) -> Totals:
        """Return the exact sums of products over all other rows, and over the attacked row if `with_row` is true."""
        size, bits = len(request.design.released), request.domain.grid_bits
        gram, step = ExactGram(size, bits), chunk_rows(ComputeOptions().chunk_rows, size, bits)
        for start in range(0, self.others.shape[1], step):
            gram.add(self.others[:, start : start + step])
        if with_row:
            gram.add(self.row)
        return Totals(gram.totals(), gram.unit, RowCounts(self.others.shape[1] + with_row))


def targets(dataset: Dataset, request: ReleaseRequest) -> tuple[Target, Target]:
    """Return the two rows to attack: the worst row inside the declared bounds, and a typical row of the table.

    The worst row changes the sums most and is added to the table. The typical row has the median effect on the sums and
    is removed from the table.
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
    """Return the mu of each row, which is its effect on the sums of products in noise standard deviations."""
    scaled = rows / unit
    entry_sd = distribution.entry_sd(len(rows))
    # copies of other sums, and entries without noise, reveal nothing in addition
    entry_sd[distribution.indicator_columns, distribution.indicator_columns] = 0.0
    squares = np.zeros(rows.shape[1])
    for i, j in places(len(rows)):
        if entry_sd[i, j] > 0:
            squares += (scaled[i] * scaled[j] / entry_sd[i, j]) ** 2
    distances: FloatArray = np.sqrt(squares)
    return distances


# -- likelihood --------------------------------------------------------------------------------------------------------
# The likelihood ratio of a publication: the table with the row against the table without it.
#
# The noise on every entry is a discrete Gaussian variate, P(z) proportional to exp(-z^2 / (2 sigma^2)) on the integers.
# The row moves the exact sums by an integer vector v, so both tables have the same support, and the normalising
# constants cancel. Let s be the sums without the row. The log likelihood ratio at an output o is
#
#     sum over entries of (o - s) v / sigma^2 - v^2 / (2 sigma^2).
#
# This is exact for the lattice distribution, not an approximation. By the Neyman-Pearson lemma no test has higher
# power at the same false-alarm rate.


@dataclass(frozen=True)
class LikelihoodRatio:
    """Likelihood-ratio test for the membership of one row under a known noise distribution.

    `without` holds the sums without the row in noise steps, and `change` what the row adds to them. `sigma` holds the
    noise scales. A scale of 0 marks a number that is ignored because it is a copy of another.
    """

    without: tuple[int, ...]
    change: tuple[int, ...]
    sigma: tuple[int, ...]

    @classmethod
    def of(cls, target: Target, request: ReleaseRequest) -> LikelihoodRatio:
        """Build the test for an attacker who knows the row, all other rows and the noise distribution."""
        with_row, without_row = (
            target.totals(request, with_row=included).on_grid(request.distribution.unit) for included in (True, False)
        )
        change = tuple(a - b for a, b in zip(with_row, without_row, strict=True))
        size = len(request.design.released)
        # an entry without noise must not change; with a scale of one step, any change is certain to be detected
        sigma = [step or 1 for step in request.distribution.steps(size)]
        # a copy of a noisy sum adds no information
        for square in request.distribution.copies(size):
            sigma[square] = 0
        return cls(without_row, change, tuple(sigma))

    @property
    def mu(self) -> float:
        """Distance between the sums with and without the row in noise standard deviations, rounded up."""
        squares = (Fraction(v, s) ** 2 for v, s in zip(self.change, self.sigma, strict=True) if s)
        return root_up(sum(squares, Fraction(0)))

    def scores(self, published: Sequence[Sequence[int]]) -> FloatArray:
        """Return the log likelihood ratio of each output."""
        # differences of exact integers fit in doubles, but the sums themselves may not
        noise = np.array(
            [[a - b for a, b in zip(output, self.without, strict=True)] for output in published], dtype=float
        )
        sigma = np.array([scale or np.inf for scale in self.sigma], dtype=float)
        shift = np.array(self.change, dtype=float) / sigma
        scores: FloatArray = (noise / sigma) @ shift - shift @ shift / 2
        return scores


def drawn_releases(request: ReleaseRequest, totals: Totals, sampler: Sampler, draws: int) -> list[tuple[int, ...]]:
    """Draw noisy sums as a release does, from exact sums that are computed once."""
    published = []
    for _ in range(draws):
        passes = request.mechanism.passes(request.context(sampler))
        next(passes)
        # the mechanism requests only one pass of sums
        moments = cast("NoisyMoments", run_passes(passes, totals, lambda _: totals))
        published.append(tuple(total for total in moments.totals if total is not None))
    return published


# -- least squares -----------------------------------------------------------------------------------------------------
# Coefficients without noise, NOT PRIVATE: how many digits reveal whether a row is in the table.

# significant digits of a double
MOST_DIGITS: Final = 15


def telling_digits(target: Target, request: ReleaseRequest) -> int | None:
    """Return how many significant digits of the exact coefficients reveal the row, or None if none do. NOT PRIVATE."""
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
    """Compute exactly, in scaled units, the least-squares coefficients of the target on all other columns."""
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

    The attacker knows the row, all other rows and the noise distribution, and uses the exact likelihood ratio of the
    publication. No attacker can do better.

    Parameters
    ----------
    dataset : Dataset, optional
        A public table in memory with its design, as returned by `discreet.datasets.load`. The default is the census
        sample of the demo, or a simulated table of the same shape if that sample is not installed.
    epsilons : sequence of float
        Epsilon of each release.
    delta : float
        Delta of the releases.
    draws : int
        Number of releases of each table. The sums are computed once, and the noise comes from the sampler that real
        releases use.
    confidence : float
        Probability that all attacks pass, if every release satisfies its guarantee.
    progress : callable, optional
        Called after each epsilon with its name, the number of finished epsilons, and the total number of epsilons.

    Returns
    -------
    MembershipResult
        Has `passed`, `summary()` and the error rates of each attack. Results without noise are marked NOT PRIVATE.

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
        raise OptionError(option="dataset", given=dataset, allowed="a Dataset, for example from discreet.datasets.load")
    if not is_integer(draws) or draws < FEWEST_DRAWS:
        raise OptionError(option="draws", given=draws, allowed=f"an integer of at least {FEWEST_DRAWS}")
    if not is_number(confidence) or not 0.5 <= confidence < 1:
        raise OptionError(option="confidence", given=confidence, allowed="a number of at least 0.5 and below 1")
    chosen = census2000() if dataset is None else dataset
    requests = [attack_question(chosen, PrivacyBudget(epsilon, delta)) for epsilon in epsilons]
    if not requests:
        raise OptionError("expected at least one epsilon, got none", option="epsilons")
    start = time.process_time()
    with one_blas_thread():
        attacks = list(_attacks(chosen, requests, draws, 1 - confidence, progress))
    name = f"{chosen.name}, simulated" if chosen.simulated else chosen.name
    return MembershipResult(tuple(attacks), name, confidence, time.process_time() - start)


def _attacks(
    dataset: Dataset,
    requests: Sequence[ReleaseRequest],
    draws: int,
    alpha: float,
    progress: Callable[[str, int, int], None] | None,
) -> Iterator[Attack]:
    worst, typical = targets(dataset, requests[0])
    for target in (worst, typical):
        digits = telling_digits(target, requests[0])
        yield Attack(NOT_PRIVATE, target.name, None, None, digits, certain(known=digits is not None), 0)
    for done, request in enumerate(requests):
        yield from _releases(request, worst, typical, draws, alpha / (2 * len(requests)))
        if progress is not None:
            progress(f"epsilon {request.budget.epsilon:g}", done + 1, len(requests))


def _releases(request: ReleaseRequest, worst: Target, typical: Target, draws: int, alpha: float) -> Iterator[Attack]:
    """Attack both rows at one budget. The table contains the typical row but not the worst one."""
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
    """Return the release request to attack, which is for all moments with Gaussian noise."""
    if dataset.design.weights is not None:
        raise UnsupportedError(
            "a membership attack does not support weights",
            code="weights-not-supported",
            option="dataset",
            remedy="leave weights out of the design",
        )
    return ReleaseRequest.checked(dataset.design, budget, ReleaseOptions(mechanism=_MECHANISM))

"""Attack membership in a public table, with and without noise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from discreet.accounting.noise_distribution import NoiseLaw
from discreet.audit.auditing import CONFIDENCE, DRAWS
from discreet.audit.judging import FEWEST_DRAWS, Claim
from discreet.audit.membership_result import NOT_PRIVATE, Attack, MembershipResult, certain, measured, thresholds
from discreet.audit.pairs import corner_pairs
from discreet.audit.runs import MadeUpRows, PooledSampler
from discreet.curator.sums.gram import ExactGram, Totals, chunk_rows
from discreet.datasets.tables import Dataset, census2000
from discreet.design.domain import DEFAULT_GRID_BITS
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray, one_blas_thread
from discreet.exact.linear import exact_solution, symmetric_integers
from discreet.exact.linear import pairs as places
from discreet.exact.rounding import root_up
from discreet.mechanisms.protocol import run_passes, with_curve
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.checks import is_integer, is_number
from discreet.privacy.guarantee import Guarantee
from discreet.tables.source import ComputeOptions
from discreet.workflow import Question

if TYPE_CHECKING:
    from discreet.mechanisms.protocol import NoisyMoments

# -- targets -----------------------------------------------------------------------------------------------------------
# Rows that an attacker asks about, and the two tables between which the attack decides.


@dataclass(frozen=True)
class Target:
    """A row, and all others: the attacker knows both, and asks whether the row was in the table.

    Attributes
    ----------
    name
        For people.
    row
        The row (1, x, y) on the grid, one column.
    others
        All other rows, one in each column.
    """

    name: str
    row: FloatArray
    others: FloatArray

    def totals(self, asked: Question, *, with_row: bool) -> Totals:
        """Exact sums of products of the table with the row, or without it."""
        size, bits = len(asked.design.released), asked.domain.grid_bits
        gram, step = ExactGram(size, bits), chunk_rows(ComputeOptions().chunk_rows, size, bits)
        for start in range(0, self.others.shape[1], step):
            gram.add(self.others[:, start : start + step])
        if with_row:
            gram.add(self.row)
        return Totals(gram.totals(), gram.unit, self.others.shape[1] + with_row)


def targets(dataset: Dataset, asked: Question) -> tuple[Target, Target]:
    """The worst row inside the declared bounds, added to the table; and a typical row of it, taken away.

    The worst row moves the noisy sums farthest. The typical one does so more than half of the rows do, and less than
    the other half.
    """
    rows = MadeUpRows(dataset.table, asked.design, asked.domain).grid
    (corner,) = corner_pairs(asked.design)
    worst = MadeUpRows(corner.neighbour, asked.design, asked.domain).grid
    order = np.argsort(reach(rows, asked.law, asked.domain.unit), kind="stable")
    typical = int(order[rows.shape[1] // 2])
    return (
        Target("worst row", worst, rows),
        Target("typical row", rows[:, [typical]], np.delete(rows, typical, axis=1)),
    )


def reach(rows: FloatArray, law: NoiseLaw, unit: int) -> FloatArray:
    """How far each row moves the sums of products, in standard deviations of their noise: its own mu."""
    scaled = rows / unit
    entry_sd = law.entry_sd(len(rows))
    # what is a copy of another sum, or has no noise, is no more to see
    entry_sd[law.indicator_columns, law.indicator_columns] = 0.0
    squares = np.zeros(rows.shape[1])
    for i, j in places(len(rows)):
        if entry_sd[i, j] > 0:
            squares += (scaled[i] * scaled[j] / entry_sd[i, j]) ** 2
    found: FloatArray = np.sqrt(squares)
    return found


# -- likelihood --------------------------------------------------------------------------------------------------------
# The likelihood ratio of what is published, between the table with a row and the table without it.
#
# Noise on every entry is a discrete Gaussian variate, P(z) proportional to exp(-z^2 / (2 sigma^2)) on the integers. The
# row moves the exact sums by an integer vector v, so both tables reach the same outputs and the normalising constants
# cancel: the logarithm of the ratio at an output o is
#
#     sum over entries of (o - s) v / sigma^2 - v^2 / (2 sigma^2),   s the sums without the row,
#
# for the lattice law itself and not for an approximation of it. By Neyman and Pearson no test finds the row more often
# at the same rate of false alarms.


@dataclass(frozen=True)
class LikelihoodRatio:
    """The test of one row under one law of noise.

    Attributes
    ----------
    without
        Sums without the row, in steps of the noise.
    change
        What the row adds to them.
    sigma
        Scales of the noise; 0 for a copy of another number, which is left out.
    """

    without: tuple[int, ...]
    change: tuple[int, ...]
    sigma: tuple[int, ...]

    @classmethod
    def of(cls, target: Target, asked: Question) -> LikelihoodRatio:
        """The test that knows the row, all others, and the law of the noise."""
        here, there = (target.totals(asked, with_row=one).on_grid(asked.law.unit) for one in (True, False))
        change = tuple(a - b for a, b in zip(here, there, strict=True))
        size = len(asked.design.released)
        # an entry without noise may tell nothing: at a scale of one step it would tell all
        sigma = [step or 1 for step in asked.law.steps(size)]
        # a copy of a noisy sum tells no more than that sum does
        for square in asked.law.copies(size):
            sigma[square] = 0
        return cls(there, change, tuple(sigma))

    @property
    def mu(self) -> float:
        """Distance of the two tables in standard deviations of the noise, from exact integers, rounded up."""
        squares = (Fraction(v, s) ** 2 for v, s in zip(self.change, self.sigma, strict=True) if s)
        return root_up(sum(squares, Fraction(0)))

    def scores(self, published: Sequence[Sequence[int]]) -> FloatArray:
        """Logarithms of the ratio for many outputs, one in each row."""
        # differences of exact integers are small enough for doubles, the sums themselves need not be
        noise = np.array([[a - b for a, b in zip(one, self.without, strict=True)] for one in published], dtype=float)
        sigma = np.array([scale or np.inf for scale in self.sigma], dtype=float)
        moved = np.array(self.change, dtype=float) / sigma
        found: FloatArray = (noise / sigma) @ moved - moved @ moved / 2
        return found


def drawn_releases(asked: Question, totals: Totals, sampler: Sampler, draws: int) -> list[tuple[int, ...]]:
    """Noisy sums as production publishes them, from exact sums that were computed once."""
    published = []
    for _ in range(draws):
        passes = asked.mechanism.passes(asked.context(sampler))
        next(passes)
        # the mechanism asks for sums of products, once
        made = cast("NoisyMoments", run_passes(passes, totals, lambda _: totals))
        published.append(tuple(total for total in made.totals if total is not None))
    return published


# -- least squares -----------------------------------------------------------------------------------------------------
# Coefficients without noise, NOT PRIVATE: from how many digits on they show whether a row is in the table.

# a double has no more
MOST_DIGITS: Final = 15


def telling_digits(target: Target, asked: Question) -> int | None:
    """Significant digits from which on exact least squares differs with and without the row, NOT PRIVATE.

    None where all the digits of a double agree, so that nothing shows.
    """
    here, there = (_coefficients(target.totals(asked, with_row=one), asked) for one in (True, False))
    return next((digits for digits in range(1, MOST_DIGITS + 1) if _shown(here, digits) != _shown(there, digits)), None)


def _coefficients(totals: Totals, asked: Question) -> tuple[Fraction, ...]:
    """Ordinary least squares of the target on all other columns, in scaled units, solved in exact arithmetic."""
    size = len(asked.design.released)
    gram = symmetric_integers(totals.values, size)
    found = exact_solution(gram[:-1, :-1], gram[:-1, -1])
    if found is None:
        raise SpecError("the columns of this table are collinear, so that it has no least squares; choose another")
    return found


def _shown(coefficients: Sequence[Fraction], digits: int) -> list[str]:
    return [f"{float(one):.{digits - 1}e}" for one in coefficients]


# -- attacking ---------------------------------------------------------------------------------------------------------
# The public function: attacks on membership in a public table, without noise and at several budgets.

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
    """Try to find out whether a row is in a public table, from least squares without noise and from releases.

    The attacker knows all other rows, the row itself and the law of the noise, and decides by the exact likelihood
    ratio of what is published. No attacker does better.

    Parameters
    ----------
    dataset
        A public table in memory with its design: numbers of `discreet.datasets`. The census sample of the demo unless
        given; where that is not installed, a simulated table of the same shape.
    epsilons, delta
        Budgets of the releases.
    draws
        Releases of each table. The sums are computed once; noise comes from the production sampler.
    confidence
        Probability that releases which keep their promise pass, all of them together.
    progress
        Called with the name of a part that ended, how many have, and how many there are.

    Returns
    -------
    MembershipResult
        With `passed`, `summary()`, and for each attack the errors of the attacker. Results without noise are marked
        NOT PRIVATE.

    Examples
    --------
    >>> from discreet.datasets import load
    >>> table = load("simulated-census", rows=500)
    >>> found = membership_attack(table, epsilons=[1.0], draws=500, confidence=1 - 1e-9)
    >>> found.passed, [attack.published for attack in found.attacks][::2]
    (True, ['least squares, NOT PRIVATE', 'gaussian, epsilon 1'])
    >>> [attack.roc.area for attack in found.attacks][:2]
    [1.0, 1.0]
    """
    if dataset is not None and not isinstance(dataset, Dataset):
        raise SpecError(f"dataset: expected a Dataset such as discreet.datasets.load gives, got {shown(dataset)}")
    if not is_integer(draws) or draws < FEWEST_DRAWS:
        raise SpecError(f"draws: expected an integer of at least {FEWEST_DRAWS}, got {shown(draws)}")
    if not is_number(confidence) or not 0.5 <= confidence < 1:
        raise SpecError(f"confidence: expected a number from 0.5 to below 1, got {shown(confidence)}")
    chosen = census2000() if dataset is None else dataset
    asked = [attack_question(chosen, PrivacyBudget(epsilon, delta)) for epsilon in epsilons]
    if not asked:
        raise SpecError("epsilons: expected at least one, got none")
    start = time.process_time()
    with one_blas_thread():
        attacks = list(_attacks(chosen, asked, draws, 1 - confidence, progress))
    name = f"{chosen.name}, simulated" if chosen.simulated else chosen.name
    return MembershipResult(tuple(attacks), name, confidence, time.process_time() - start)


def _attacks(
    dataset: Dataset,
    asked: Sequence[Question],
    draws: int,
    alpha: float,
    progress: Callable[[str, int, int], None] | None,
) -> Iterator[Attack]:
    worst, typical = targets(dataset, asked[0])
    for target in (worst, typical):
        digits = telling_digits(target, asked[0])
        yield Attack(NOT_PRIVATE, target.name, None, None, digits, certain(known=digits is not None), 0)
    for done, question in enumerate(asked):
        yield from _releases(question, worst, typical, draws, alpha / (2 * len(asked)))
        if progress is not None:
            progress(f"epsilon {question.budget.epsilon:g}", done + 1, len(asked))


def _releases(asked: Question, worst: Target, typical: Target, draws: int, alpha: float) -> Iterator[Attack]:
    """Both rows at one budget; the table is that without the worst row, and that with the typical one."""
    sampler = PooledSampler()
    totals = [
        worst.totals(asked, with_row=True),
        worst.totals(asked, with_row=False),
        typical.totals(asked, with_row=False),
    ]
    more, table, fewer = (drawn_releases(asked, one, sampler, draws) for one in totals)
    claim = Claim.of(with_curve(Guarantee.promised(asked.design.unit, asked.budget), asked.law))
    for target, here, there in ((worst, more, table), (typical, table, fewer)):
        ratio = LikelihoodRatio.of(target, asked)
        roc = measured(ratio.scores(here), ratio.scores(there), thresholds(ratio.mu), alpha)
        yield Attack(f"{_MECHANISM}, epsilon {claim.epsilon:g}", target.name, claim, ratio.mu, None, roc, draws)


def attack_question(dataset: Dataset, budget: PrivacyBudget) -> Question:
    """The release that is attacked: all moments with Gaussian noise, as production asks for it."""
    if dataset.design.weights is not None:
        raise SpecError("a membership attack is of rows without weights; leave weights out of the design")
    return Question.checked(
        dataset.design,
        budget,
        _MECHANISM,
        None,
        moments="plain",
        residual_bound=None,
        clip_counts=False,
        grid_bits=DEFAULT_GRID_BITS,
    )

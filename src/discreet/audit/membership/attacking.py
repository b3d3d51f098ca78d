"""The public function: attacks on membership in a public table, without noise and at several budgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from discreet.audit.auditing import CONFIDENCE, DRAWS
from discreet.audit.membership.least_squares import telling_digits
from discreet.audit.membership.likelihood import LikelihoodRatio, drawn_releases
from discreet.audit.membership.result import NOT_PRIVATE, Attack, MembershipResult
from discreet.audit.membership.roc import certain, measured, thresholds
from discreet.audit.membership.targets import Target, targets
from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.judging import FEWEST_DRAWS
from discreet.audit.subjects.pooled import PooledSampler
from discreet.datasets.census import census2000
from discreet.datasets.dataset import Dataset
from discreet.design.domain import DEFAULT_GRID_BITS
from discreet.errors import SpecError, shown
from discreet.exact.blas_threads import one_blas_thread
from discreet.mechanisms.interface.promise import with_curve
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.checks import is_integer, is_number
from discreet.privacy.guarantee import Guarantee
from discreet.workflow import Question

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

"""A guard before a release: noisy counts of rows that fit and of rows that do not, and the rule by which they stop it.

A release of a table in which hardly any row fits its design spends the budget on nothing. A refusal by exact counts
would itself say something about the table, so the counts are released with noise, for a share of the budget, and
whether the release goes on is a function of what was released. Proof: guard.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.losses.law import GUARD, NoiseLaw
from discreet.losses.sensitivity.before.guard import guard_block
from discreet.mechanisms.calibration.before import preceded_law
from discreet.mechanisms.noisy_counts import noisy_counts
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget

# of mu^2, or of epsilon for noise without delta
GUARD_SHARE: Final = Fraction(1, 100)
# How far, in noise scales, the rows that do not fit must exceed those that do: where both are equal the noise alone
# exceeds it with probability below 1/100. Gaussian: 2.33 standard deviations of a difference. Laplace: the difference
# of two variates of scale b exceeds x with probability (1 + x/(2b)) exp(-x/b) / 2.
GAUSSIAN_FACTOR: Final = 2.33 * math.sqrt(2)
LAPLACE_FACTOR: Final = 5.2


@dataclass(frozen=True, slots=True)
class GuardCounts:
    """Noisy numbers of rows that fit and of rows that do not, in steps of the product grid."""

    fitting: int
    other: int


def guarded_law(
    design: Design, domain: RowDomain, budget: PrivacyBudget, law_for: Callable[[PrivacyBudget], NoiseLaw]
) -> NoiseLaw:
    """The law of what follows and of the guard before it, which together keep the budget; see `preceded_law`."""
    return preceded_law(guard_block(design), GUARD_SHARE, domain, budget, law_for)


def guard_counts(fitting: tuple[int, int], law: NoiseLaw, sampler: Sampler) -> GuardCounts:
    """The exact counts in steps of the product grid plus one independent variate each, in unlimited integers."""
    # [P:guard-noise]
    return GuardCounts(*noisy_counts(fitting, GUARD, law, sampler))


def stops(counts: GuardCounts, law: NoiseLaw) -> bool:
    """Whether so many more rows do not fit than do that the release must not go on.

    >>> law = NoiseLaw(16, {"guard": 100}, "gaussian")
    >>> stops(GuardCounts(0, 329), law), stops(GuardCounts(0, 330), law)
    (False, True)
    """
    factor = GAUSSIAN_FACTOR if law.family == "discrete-gaussian" else LAPLACE_FACTOR
    return counts.other - counts.fitting > factor * law.sigma[GUARD]  # [P:guard-rule]

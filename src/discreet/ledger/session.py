"""What the fits of one process cost together: kept in memory, added up as the rule `gdp` of a ledger adds.

All fits under one data set's name and one unit are taken to be on the same rows. Folds of a cross-validation overlap,
so that is an upper bound. Other processes are not seen: a ledger counts for all of them.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from discreet.exact.rounding import root_up, up
from discreet.ledger.filter import CURVE_SHARE
from discreet.privacy.gaussian import DELTA_HIGHEST, MU_HIGHEST, MU_LOWEST, epsilon_from
from discreet.privacy.guarantee import Together
from discreet.privacy.lattice import ROUNDING, distance_cost
from discreet.privacy.loss import Loss
from discreet.privacy.unit import PrivacyUnit

_LARGEST_DELTA: Final = 1 - 2**-20


class SessionAccount:
    """The losses of a process by data set and unit; threads may share it.

    >>> account = SessionAccount()
    >>> [account.add("survey", PrivacyUnit(), Loss.pure(0.5)).epsilon for _ in range(3)]
    [0.5, 1.0, 1.5]
    """

    def __init__(self) -> None:
        self._losses: dict[tuple[str | None, PrivacyUnit], list[Loss]] = {}
        self._lock = threading.Lock()

    def total(self, dataset: str | None, unit: PrivacyUnit) -> Together | None:
        """What all fits so far cost; none if there are none."""
        with self._lock:
            losses = self._losses.get((dataset, unit))
            return None if not losses else together(losses)

    def with_one_more(self, dataset: str | None, unit: PrivacyUnit, loss: Loss) -> Together:
        """What all fits so far and one more would cost; nothing is recorded."""
        with self._lock:
            return together([*self._losses.get((dataset, unit), ()), loss])

    def add(self, dataset: str | None, unit: PrivacyUnit, loss: Loss) -> Together:
        """Record one more fit; give what all of them cost."""
        with self._lock:
            losses = self._losses.setdefault((dataset, unit), [])
            losses.append(loss)
            return together(losses)


def together(losses: Sequence[Loss]) -> Together:
    """What fits cost together: the sum of epsilons if all are pure, and else epsilon at the largest delta among them.

    As under the rule `gdp`, 99.9% of that delta pay for the curve of the summed mu^2 and the rest for what the curve
    does not cover; where the rest is not enough, a larger delta is stated.

    >>> eleven = together([Loss.gaussian(1.0, 1e-6, mu=0.2367, tau=1e-20)] * 11)
    >>> eleven.fits, round(eleven.epsilon, 2), eleven.delta
    (11, 3.72, 1e-06)
    """
    fits = len(losses)
    if all(loss.is_pure for loss in losses):
        return Together(fits, up(sum((Fraction(loss.epsilon) for loss in losses), Fraction(0))), 0.0)
    if fits == 1:
        return Together(1, losses[0].epsilon, losses[0].delta)
    mu = root_up(sum((Fraction(loss.mu) ** 2 for loss in losses), Fraction(0)))
    tau, failure = (float(sum(getattr(loss, name) for loss in losses)) for name in ("tau", "failure"))
    delta = max(loss.delta for loss in losses)
    curve = CURVE_SHARE * min(delta, DELTA_HIGHEST)
    if mu > MU_HIGHEST or tau + failure >= _LARGEST_DELTA:
        # nothing is kept
        return Together(fits, up(sum((Fraction(loss.epsilon) for loss in losses), Fraction(0))), _LARGEST_DELTA)
    epsilon = epsilon_from(max(mu, MU_LOWEST), curve)
    rest = (failure + distance_cost(epsilon, tau)) * ROUNDING
    return Together(fits, epsilon, min(max(delta, curve + rest), _LARGEST_DELTA))


def is_worker() -> bool:
    """Whether this process was started by another Python process to share its work, as joblib's workers are."""
    return multiprocessing.parent_process() is not None


# of this process; an estimator that names no data set shares the account without a name
SESSION: Final = SessionAccount()

"""The errors of a test that was run many times: false alarms, rows found, and limits that hold for all thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from discreet.audit.membership.curves import own_power
from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.confidence import lower_limit, upper_limit
from discreet.exact.arrays import FloatArray

_SMALL: Final = np.geomspace(1e-3, 0.4, 12)
# rates of false alarms that thresholds are made for, before anything is drawn
RATES: Final = np.concatenate([_SMALL, [0.5], 1 - _SMALL[::-1]])
_SIDES: Final = 4


@dataclass(frozen=True)
class Roc:
    """What a test did on draws for a table with the row, and for one without.

    Attributes
    ----------
    false_alarms, found
        Shares of the draws in which the test said that the row is there, at each threshold: without it, and with it.
    false_alarms_low, false_alarms_high, found_low, found_high
        Clopper-Pearson limits, right for all thresholds together at the stated probability.
    area
        Below the curve: the share of pairs of draws that the test puts in the right order.
    found_at_one_percent
        Share found at the threshold that one percent of the draws without the row exceed.
    """

    false_alarms: FloatArray
    found: FloatArray
    false_alarms_low: FloatArray
    false_alarms_high: FloatArray
    found_low: FloatArray
    found_high: FloatArray
    area: float
    found_at_one_percent: float

    def certified_above(self, claim: Claim) -> FloatArray:
        """By how much more is found for certain than the claim allows, at each threshold; 0 where nothing is."""
        excess: FloatArray = np.maximum(self.found_low - own_power(self.false_alarms_high, claim), 0.0)
        return excess


def thresholds(mu: float) -> FloatArray:
    """Thresholds of the logarithm of a likelihood ratio of these false alarms, if its law is Gaussian; and 0.

    Without the row it has mean -mu^2/2 and standard deviation mu. At 0 the table with the row is as likely as the one
    without, so that outputs without any noise are on either side.

    >>> len(thresholds(1.0)) == len(RATES) + 1, bool((np.diff(thresholds(1.0)) < 0).all())
    (True, True)
    """
    gaussian = -mu * ndtri(RATES) - mu * mu / 2
    return np.sort(np.append(gaussian, 0.0))[::-1]


def measured(with_row: FloatArray, without_row: FloatArray, cuts: FloatArray, alpha: float) -> Roc:
    """The errors of a test from its scores; its limits are all right with probability of at least 1 - alpha.

    Parameters
    ----------
    with_row, without_row
        Scores of independent draws for the two tables; the larger, the more likely is the row there.
    cuts
        Thresholds, chosen without looking at these draws.
    alpha
        Probability that any limit is wrong.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = measured(rng.normal(1, 1, 4000), rng.normal(0, 1, 4000), np.linspace(-1, 2, 7), 0.01)
    >>> abs(found.area - 0.76) < 0.02, bool((found.found_low < found.found).all())
    (True, True)
    """
    level = alpha / (_SIDES * len(cuts))
    hits, alarms = ((side[:, None] > cuts).sum(axis=0) for side in (with_row, without_row))
    here, there = len(with_row), len(without_row)
    return Roc(
        false_alarms=alarms / there,
        found=hits / here,
        false_alarms_low=lower_limit(alarms, there, level),
        false_alarms_high=upper_limit(alarms, there, level),
        found_low=lower_limit(hits, here, level),
        found_high=upper_limit(hits, here, level),
        area=_area(with_row, without_row),
        found_at_one_percent=float(np.mean(with_row > np.quantile(without_row, 0.99, method="higher"))),
    )


def certain(*, known: bool) -> Roc:
    """The errors of a test that always knows, or never knows anything.

    >>> certain(known=True).area, certain(known=False).area
    (1.0, 0.5)
    """
    rates = np.array([0.0, 0.0, 1.0]) if known else np.array([0.0, 0.5, 1.0])
    found = np.array([0.0, 1.0, 1.0]) if known else rates
    return Roc(rates, found, rates, rates, found, found, 1.0 if known else 0.5, 1.0 if known else 0.01)


def _area(with_row: FloatArray, without_row: FloatArray) -> float:
    """Mann and Whitney's statistic, as a share of all pairs."""
    ranks = rankdata(np.concatenate([with_row, without_row]))[: len(with_row)]
    pairs = len(with_row) * len(without_row)
    return float((ranks.sum() - len(with_row) * (len(with_row) + 1) / 2) / pairs)

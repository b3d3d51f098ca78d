"""Randomised response and the release of a random share of the rows, as in the notes; NOT PRIVATE, noise has a seed.

With noise from the operating system both promises hold: randomised response is log((1 + q)/(1 - q))-DP for a change of
one answer, and a share published row by row is (0, share)-DP for a row added or removed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray


def said_yes(yes: int, no: int, q: float, rng: np.random.Generator, draws: int = 1) -> FloatArray:
    """Number of persons who say yes, out of `yes` who should and `no` who should not, in `draws` surveys; NOT PRIVATE.

    Each says the truth with probability q and the toss of a fair coin otherwise.

    >>> said_yes(30, 70, 1.0, np.random.default_rng(1)).tolist()
    [30.0]
    """
    agrees = (1 + q) / 2
    return (rng.binomial(yes, agrees, draws) + rng.binomial(no, 1 - agrees, draws)).astype(float)


def unbiased_share(observed: FloatArray, q: float) -> FloatArray:
    """The share of true yes from the observed share of yes.

    >>> unbiased_share(np.array([0.25, 0.4]), 0.5).round(3).tolist()
    [0.0, 0.3]
    """
    return (observed - (1 - q) / 2) / q


def claimed_loss(q: float) -> float:
    """The notes' epsilon, log((1 + q)/(1 - q)).

    >>> round(claimed_loss(0.5), 4)
    1.0986
    """
    return math.log((1 + q) / (1 - q))


def true_loss(q: float) -> float:
    """Largest log ratio of the probabilities of an answer, over both answers and both true states.

    >>> abs(true_loss(0.5) - claimed_loss(0.5)) < 1e-12
    True
    """
    says_yes = np.array([q + (1 - q) / 2, (1 - q) / 2])
    return float(max(abs(np.diff(np.log(says_yes)))[0], abs(np.diff(np.log(1 - says_yes)))[0]))


def posterior(prior: FloatArray, q: float) -> FloatArray:
    """Probability of a true yes after a yes, by Bayes.

    >>> posterior(np.array([0.01, 1.0]), 0.5).round(4).tolist()
    [0.0294, 1.0]
    """
    return (1 + q) * prior / ((1 + q) * prior + (1 - q) * (1 - prior))


def published_share(rows: int, share: float, rng: np.random.Generator, draws: int = 1) -> FloatArray:
    """Number of rows that are published in full where each is published with probability `share`; NOT PRIVATE.

    >>> published_share(50, 1.0, np.random.default_rng(1)).tolist()
    [50.0]
    """
    return rng.binomial(rows, share, draws).astype(float)


def share_delta(share: float) -> float:
    """The delta (with epsilon = 0) of publishing each row with probability `share`: what an added row changes.

    The row is published or not, and the other rows behave alike: the total variation is `share`.

    >>> share_delta(0.01)
    0.01
    """
    return share


def fixed_share_delta(rows: int, share: float) -> float:
    """The same where exactly round(share * rows) rows are published, under add-remove: the size itself may show a row.

    >>> fixed_share_delta(100, 0.01), fixed_share_delta(149, 0.01)
    (0.009900990099009901, 1.0)
    """
    here, there = round(share * rows), round(share * (rows + 1))
    return here / (rows + 1) if here == there else 1.0

"""The likelihood ratio of what is published, between the table with a row and the table without it.

Noise on every entry is a discrete Gaussian variate, P(z) proportional to exp(-z^2 / (2 sigma^2)) on the integers. The
row moves the exact sums by an integer vector v, so both tables reach the same outputs and the normalising constants
cancel: the logarithm of the ratio at an output o is

    sum over entries of (o - s) v / sigma^2 - v^2 / (2 sigma^2),   s the sums without the row,

for the lattice law itself and not for an approximation of it. By Neyman and Pearson no test finds the row more often
at the same rate of false alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from discreet.audit.membership.targets import Target
from discreet.curator.sums.protocol import Totals
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import root_up
from discreet.mechanisms.interface.running import run_passes
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.workflow import Question

if TYPE_CHECKING:
    from discreet.mechanisms.interface.protocol import NoisyMoments


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

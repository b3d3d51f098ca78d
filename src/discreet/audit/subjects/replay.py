"""One run of a mechanism on two tables: the noise of the second is whatever makes its noisy numbers those of the first.

Every noisy number is an exact one plus a variate, so a variate that notes what it is added to, and gives the sum that
is wanted, shows both exact numbers without a word from the mechanism. NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from discreet.audit.subjects.rows import MadeUpRows
from discreet.errors import SpecError
from discreet.mechanisms.interface.protocol import Published
from discreet.mechanisms.interface.running import run_passes
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.spend import UNTRACKED
from discreet.releases import Release
from discreet.second_pass import with_residuals
from discreet.workflow import Question

# what a variate does with the exact number it is added to: it gives the noisy one
Added: TypeAlias = Callable[[int], int]
# what a run makes: a release where residuals are summed after the passes of the mechanism
Made: TypeAlias = Published | Release


class _Noted(int):
    """A variate that hands the exact number it is added to, and gives the noisy one it gets back."""

    added: Added

    def __radd__(self, exact: int) -> int:
        return self.added(exact)


class ReplaySampler:
    """Draws from a sampler and notes exact numbers; or, given a run before, gives that run's noisy numbers again."""

    private = False

    def __init__(self, sampler: Sampler, before: ReplaySampler | None = None) -> None:
        self._sampler = sampler
        self._before = before
        self.reused = False
        self.exact: list[int] = []
        self.noisy: list[int] = []
        self.scales: list[int] = []

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Variates that are noted where they are added."""
        if self._before is not None:
            return [self._noted(0, sigma) for sigma in sigmas]
        return [self._noted(value, sigma) for value, sigma in zip(self._sampler.draw(sigmas), sigmas, strict=True)]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Refused: what is replayed has Gaussian noise."""
        raise SpecError("a replay is of Gaussian noise, but the mechanism asked for another kind")

    def bits(self, how_many: int) -> int:
        """Refused: bits are not added to anything."""
        raise SpecError("a replay is of Gaussian noise, but the mechanism asked for another kind")

    def _noted(self, value: int, sigma: int) -> int:
        variate, used = _Noted(value), False

        def added(exact: int) -> int:
            nonlocal used
            self.reused, used = self.reused or used, True
            index = len(self.exact)
            wanted = exact + value if self._before is None else self._before.noisy[index]
            self.exact.append(exact)
            self.noisy.append(wanted)
            self.scales.append(sigma)
            return wanted

        variate.added = added
        return variate


def replayed(
    asked: Question, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler
) -> tuple[tuple[ReplaySampler, Made], tuple[ReplaySampler, Made]]:
    """A run on the first table, and on the second the run with the same noisy numbers; with what each published."""
    first = ReplaySampler(sampler)
    published = _run(asked, sides[0], first)
    second = ReplaySampler(sampler, first)
    return (first, published), (second, _run(asked, sides[1], second))


def replayed_square(asked: Question, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler) -> Fraction | None:
    """The exact mu^2 of a run: squared changes of all exact numbers, each over the square of its noise's scale.

    None where equal noisy numbers give other results, since an exact number then reaches them, and where a variate is
    added to two numbers, whose difference then has no noise: the loss has no end.
    """
    (first, published), (second, again) = replayed(asked, sides, sampler)
    if published != again or first.scales != second.scales or first.reused:
        return None
    return sum((Fraction(change * change, scale * scale) for change, scale in _changes(first, second)), Fraction(0))


def _changes(first: ReplaySampler, second: ReplaySampler) -> Iterator[tuple[int, int]]:
    for one, other, scale in zip(first.exact, second.exact, first.scales, strict=True):
        # a number without noise must not change: that would be a loss without end
        yield one - other, scale or 1


def _run(asked: Question, rows: MadeUpRows, sampler: ReplaySampler) -> Made:
    read = rows.reader()
    passes = asked.mechanism.passes(asked.context(sampler))
    first = read(next(passes))
    published = run_passes(passes, first, read)
    if not asked.robust:
        return published
    made = with_residuals(
        asked.release(published, first, UNTRACKED, None), asked.domain, asked.residual_bound, read, sampler
    )
    # of the exact sums the release has the number of units alone, which is public where it is there
    return replace(made, units_public=None)

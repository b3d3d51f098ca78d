"""The production sampler, asked for many variates at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.mechanisms.sampling.sampler import ExactSampler

# of a scale that is asked for the first time, which may be needed for a few exact losses alone, and after that
_AT_FIRST: Final = 50
_AT_ONCE: Final = 2000
# of each scale, for a test of their law: a number that nothing drawn decides
FIRST_DRAWN: Final = 4000


class PooledSampler:
    """Hands out variates of `ExactSampler`, which it draws ahead by the thousand; each is handed out once.

    Variates are independent and have a law of their scale alone, so that drawing them ahead changes no law. It saves
    the cost of a call for each release.

    >>> len(PooledSampler().draw([3, 0, 5])), PooledSampler().laplace([0])
    (3, [0])
    """

    private = True

    def __init__(self) -> None:
        self._source = ExactSampler()
        self._waiting: dict[tuple[str, int], list[int]] = {}
        # by family and scale, in the order in which they were drawn
        self._drawn: dict[tuple[str, int], list[int]] = {}

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Discrete Gaussian variates."""
        return [self._next("gaussian", sigma) for sigma in sigmas]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Discrete Laplace variates."""
        return [self._next("laplace", scale) for scale in scales]

    def bits(self, how_many: int) -> int:
        """Uniform bits from the operating system."""
        return self._source.bits(how_many)

    def _next(self, family: str, scale: int) -> int:
        if scale == 0:
            return 0
        waiting = self._waiting.setdefault((family, scale), [])
        if not waiting:
            waiting += self._more(family, scale)
        return waiting.pop()

    def first_drawn(self) -> dict[tuple[str, int], list[int]]:
        """For each family and scale that was asked for the first variates drawn, equally many whatever was used."""
        for family, scale in self._drawn:
            while len(self._drawn[family, scale]) < FIRST_DRAWN:
                self._waiting[family, scale] += self._more(family, scale)
        return {key: drawn[:FIRST_DRAWN] for key, drawn in self._drawn.items()}

    def _more(self, family: str, scale: int) -> list[int]:
        source = self._source.draw if family == "gaussian" else self._source.laplace
        kept = self._drawn.setdefault((family, scale), [])
        drawn = source([scale] * (_AT_ONCE if kept else _AT_FIRST))
        kept += drawn[: FIRST_DRAWN - len(kept)]
        return drawn

"""One pass over a table, then any number of seeded releases of it, NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import Sums, Totals
from discreet.curator.sums.sample_weights import GramWithWeights
from discreet.curator.table import accumulate
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain
from discreet.design.model import Design
from discreet.engines.opening import open_table
from discreet.errors import SpecError
from discreet.mechanisms.choice import AUTO
from discreet.mechanisms.interface.running import run_passes
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import Release
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import SeededSampler, marked_seeded
from discreet.workflow import Question


@lru_cache(maxsize=512)
def _question(
    design: Design,
    grid_bits: int,
    epsilon: float,
    delta: float,
    mechanism: str,
    settings: tuple[tuple[str, object], ...],
) -> Question:
    """What a release asks for; a noise law costs far more than a draw from it, and tables of one design share it."""
    return Question.checked(
        design,
        PrivacyBudget(epsilon, delta),
        mechanism,
        dict(settings),
        moments="plain",
        residual_bound=None,
        clip_counts=False,
        grid_bits=grid_bits,
    )


class SummedTable:
    """Exact sums of products of a table, kept in memory, NOT PRIVATE; made by `summed_table`."""

    def __init__(self, design: Design, grid_bits: int, totals: Totals) -> None:
        self._design = design
        self._grid_bits = grid_bits
        self._totals = totals

    def release(
        self,
        *,
        seed: int,
        epsilon: float,
        delta: float = 0.0,
        mechanism: str = AUTO,
        settings: Mapping[str, object] | None = None,
    ) -> Release:
        """What `seeded_release` gives for the same arguments, without reading the table again, NOT PRIVATE.

        A mechanism that needs other sums than products of rows, or a second pass, is refused.
        """
        asked = _question(
            self._design, self._grid_bits, epsilon, delta, mechanism, tuple(sorted((settings or {}).items()))
        )
        passes = asked.mechanism.passes(asked.context(SeededSampler(seed)))
        first = self._read(next(passes))
        made = asked.release(run_passes(passes, first, self._read), first, "untracked", None)
        return marked_seeded(made)

    def _read(self, wanted: Sums) -> Totals:
        if not isinstance(wanted, ExactGram | GramWithWeights):
            raise SpecError(
                f"the mechanism needs {type(wanted).__name__}, and only sums of products were kept; use seeded_release"
            )
        return self._totals


def summed_table(
    data: object, design: Design, *, grid_bits: int = DEFAULT_GRID_BITS, compute: ComputeOptions | None = None
) -> SummedTable:
    """Read a table once and keep its exact sums, NOT PRIVATE, for many seeded releases.

    >>> from discreet.testing import seeded_release
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> rows = {"x": [1.0, 0.5], "y": [1.0, 1.0]}
    >>> table = summed_table(rows, design)
    >>> many = [table.release(seed=seed, epsilon=1.0, delta=1e-6) for seed in range(3)]
    >>> many[2] == seeded_release(rows, design, seed=2, epsilon=1.0, delta=1e-6)
    True
    """
    design = design.redeclared()
    domain = RowDomain.of(design, grid_bits)
    totals = accumulate(open_table(data), design, domain, compute or ComputeOptions())
    return SummedTable(design, grid_bits, totals)

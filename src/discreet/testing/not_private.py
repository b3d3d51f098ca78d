"""Make releases that are NOT PRIVATE: exact, or with noise from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Literal

import numpy as np

from discreet import __version__
from discreet.accounting.noise_distribution import BLOCKS, CLIPPED, WEIGHT_STEPS, NoiseLaw
from discreet.accounting.scaling import ROWS
from discreet.curator.sums.gram import ExactGram, GramWithWeights, Sums, Totals
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain
from discreet.errors import SpecError, shown
from discreet.ledger import event_log
from discreet.mechanisms.gaussian import clip_columns, on_product_grid
from discreet.mechanisms.protocol import run_passes
from discreet.mechanisms.registry import AUTO
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.checks import check_flag
from discreet.releases.release import Release
from discreet.spark.dataframe import open_table
from discreet.tables.source import ComputeOptions, checked_options
from discreet.workflow import Question, check_design, release_with

# -- not private -------------------------------------------------------------------------------------------------------
# Releases that are NOT PRIVATE: exact, or with noise from a seed.


def exact_release(
    data: object,
    design: Design,
    *,
    clip_counts: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    compute: ComputeOptions | None = None,
) -> Release:
    """The exact moments of the rows rounded to the grid, NOT PRIVATE.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> exact_release({"x": [1.0, 0.5], "y": [1.0, 1.0]}, design).moments[0].tolist()
    [2.0, 1.5, 2.0]
    """
    check_design(design)
    design = design.redeclared()
    domain = RowDomain.of(design, grid_bits)
    check_flag("clip_counts", clip_counts)
    if clip_counts:
        if design.weights is not None:
            raise SpecError("the design has weights, and clip_counts count rows without them; leave clip_counts out")
        clip_columns(design)
    options = checked_options(compute)
    moments = accumulate(open_table(data), design, domain, options, clip_counts=clip_counts)
    weighted = design.weights is not None
    beside = (*((CLIPPED,) if clip_counts else ()), *((ROWS,) if weighted and not design.rows_public else ()))
    parameters = {WEIGHT_STEPS: domain.weight_bits} if weighted else {}
    law = NoiseLaw(grid_bits, dict.fromkeys((*BLOCKS, *beside), 0), "none", parameters=parameters)
    totals = moments.values[:-1] if weighted else moments.values
    counts = on_product_grid(moments.clipped, [0] * len(moments.clipped), law)
    return Release(
        design=design,
        guarantee=None,
        mechanism="exact",
        mechanism_version="0",
        noise=law,
        totals=totals,
        scalars={ROWS: moments.values[-1]} if ROWS in law.sigma else {},
        units_public=moments.count if design.unit.neighbours == "replace" else None,
        anchor="untracked",
        made_by=f"discreet {__version__}",
        clipped=dict(zip(design.clippable, counts, strict=True)) if clip_counts else {},
    )


def seeded_release(
    data: object,
    design: Design,
    *,
    seed: int,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = AUTO,
    settings: Mapping[str, object] | None = None,
    moments: Literal["plain", "robust"] = "plain",
    residual_bound: float | None = None,
    robust_models: Sequence[str] | None = None,
    clip_counts: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    scaling: Literal["declared", "private"] = "declared",
) -> Release:
    """What `discreet.release` does, with noise from a seed, NOT PRIVATE: whoever knows the seed can take it away.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> table = {"x": [1.0, 0.5], "y": [1.0, 1.0]}
    >>> one, two = (seeded_release(table, design, seed=3, epsilon=1.0, delta=1e-6) for _ in range(2))
    >>> one == two, one.private, one.mechanism
    (True, False, 'gaussian-seeded')
    """
    check_design(design)
    made = release_with(
        SeededSampler(seed),
        data,
        design,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        settings=settings,
        moments=moments,
        residual_bound=residual_bound,
        robust_models=robust_models,
        clip_counts=clip_counts,
        grid_bits=grid_bits,
        scaling=scaling,
    )
    return marked_seeded(made)


def marked_seeded(made: Release) -> Release:
    """A release whose noise is from a seed: without a guarantee, under a name that no private release has."""
    name, law = f"{made.mechanism}-seeded", replace(made.noise, calibration="none")
    return replace(made, guarantee=None, mechanism=name, mechanism_version="0", noise=law)


class SeededSampler:
    """Rounded variates from a seed, NOT PRIVATE; the same seed gives the same sequence."""

    private = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise SpecError(f"seed: expected an integer of at least 0, got {shown(seed)}")
        self._random = np.random.default_rng(seed)

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """A rounded normal variate for each parameter."""
        normal = self._random.standard_normal(len(sigmas))
        return [round(sigma * float(value)) for sigma, value in zip(sigmas, normal, strict=True)]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """A rounded Laplace variate for each parameter."""
        variates = self._random.laplace(size=len(scales))
        return [round(scale * float(value)) for scale, value in zip(scales, variates, strict=True)]

    def bits(self, how_many: int) -> int:
        """A uniform integer below 2**how_many."""
        return int.from_bytes(self._random.bytes((how_many + 7) // 8)) >> (-how_many % 8)


# -- summed ------------------------------------------------------------------------------------------------------------
# One pass over a table, then any number of seeded releases of it, NOT PRIVATE.


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


# -- kill points -------------------------------------------------------------------------------------------------------
# Named places of a tracked release at which a test may do something, such as ending the process.


@contextmanager
def calling(observer: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the name of every step of `discreet.ledger.event_log.STEPS` that is reached.

    Examples
    --------
    >>> seen = []
    >>> with calling(seen.append):
    ...     event_log.at("reserved")
    >>> seen
    ['reserved']
    """
    before = event_log._observer
    event_log._observer = observer
    try:
        yield
    finally:
        event_log._observer = before

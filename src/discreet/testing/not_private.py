"""Releases that are NOT PRIVATE: exact, or with noise from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Unpack

import numpy as np

from discreet import __version__
from discreet.accounting.noise_distribution import BLOCKS, CLIPPED, ROWS, WEIGHT_STEPS, NoiseDistribution
from discreet.curator.sums.gram import ExactGram, GramWithWeights, Sums, Totals
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import OptionError, UnsupportedError
from discreet.ledger import event_log
from discreet.mechanisms.gaussian import clip_columns, on_product_grid
from discreet.mechanisms.protocol import run_passes
from discreet.options import (
    AUTO,
    DEFAULT_GRID_BITS,
    ONE_PASS,
    ReleaseKeywords,
    ReleaseOptions,
    options_of,
    takes_options,
)
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.checks import check_flag
from discreet.release_request import ReleaseRequest, check_design
from discreet.releases.release import Release
from discreet.spark.dataframe import open_table
from discreet.tables.source import ComputeOptions, checked_options
from discreet.wording import Call, LeaveOut
from discreet.workflow import release_with

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
    """Release the exact moments of the rows, after rounding to the grid, NOT PRIVATE.

    Parameters
    ----------
    data, design, clip_counts, grid_bits, compute
        As in `discreet.release`.

    Returns
    -------
    Release

    Examples
    --------
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
            raise UnsupportedError(
                "clip counts are not supported if the design has weights",
                code="clip-counts-with-weights",
                option="clip_counts",
                remedy=LeaveOut("clip_counts"),
            )
        clip_columns(design)
    options = checked_options(compute)
    moments = accumulate(open_table(data), design, domain, options, clip_counts=clip_counts)
    weighted = design.weights is not None
    extra_blocks = (*((CLIPPED,) if clip_counts else ()), *((ROWS,) if weighted and not design.rows_public else ()))
    parameters = {WEIGHT_STEPS: domain.weight_bits} if weighted else {}
    distribution = NoiseDistribution(
        grid_bits, dict.fromkeys((*BLOCKS, *extra_blocks), 0), "none", parameters=parameters
    )
    totals = moments.values[:-1] if weighted else moments.values
    counts = on_product_grid(moments.counts.clipped, [0] * len(moments.counts.clipped), distribution)
    return Release(
        design=design,
        guarantee=None,
        mechanism="exact",
        mechanism_version="0",
        noise=distribution,
        totals=totals,
        scalars={ROWS: moments.values[-1]} if ROWS in distribution.sigma else {},
        units_public=moments.counts.units if design.unit.neighbours == "replace" else None,
        anchor="untracked",
        made_by=f"discreet {__version__}",
        clipped=dict(zip(design.clippable, counts, strict=True)) if clip_counts else {},
    )


@takes_options(without=("guard", "allow_weak_privacy"))
def seeded_release(
    data: object,
    design: Design,
    *,
    seed: int,
    epsilon: float,
    delta: float = 0.0,
    **options: Unpack[ReleaseKeywords],
) -> Release:
    """Release as `discreet.release` does, but with noise from a seed, NOT PRIVATE: the seed reveals the noise.

    Parameters
    ----------
    data, design, epsilon, delta
        As in `discreet.release`.
    seed : int
        An integer of at least 0. The same seed gives the same noise.
    **options
        As in `discreet.release`.

    Returns
    -------
    Release

    Examples
    --------
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> table = {"x": [1.0, 0.5], "y": [1.0, 1.0]}
    >>> one, two = (seeded_release(table, design, seed=3, epsilon=1.0, delta=1e-6) for _ in range(2))
    >>> one == two, one.private, one.mechanism
    (True, False, 'staged-seeded')
    """
    checked = options_of(seeded_release, options)
    check_design(design)
    return marked_seeded(release_with(SeededSampler(seed), data, design, PrivacyBudget(epsilon, delta), checked))


def marked_seeded(release: Release) -> Release:
    """Mark a release as seeded: remove the guarantee, and use a mechanism name that no private release has."""
    name, distribution = f"{release.mechanism}-seeded", replace(release.noise, calibration="none")
    return replace(release, guarantee=None, mechanism=name, mechanism_version="0", noise=distribution)


class SeededSampler:
    """Sampler of rounded normal and Laplace variates from a seed, NOT PRIVATE. A seed fixes the sequence."""

    private = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise OptionError(option="seed", given=seed, allowed="an integer of at least 0")
        self._random = np.random.default_rng(seed)

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Draw a rounded normal variate for each scale."""
        normal = self._random.standard_normal(len(sigmas))
        return [round(sigma * float(value)) for sigma, value in zip(sigmas, normal, strict=True)]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Draw a rounded Laplace variate for each scale."""
        variates = self._random.laplace(size=len(scales))
        return [round(scale * float(value)) for scale, value in zip(scales, variates, strict=True)]

    def bits(self, how_many: int) -> int:
        """Draw a uniform integer below 2**how_many."""
        return int.from_bytes(self._random.bytes((how_many + 7) // 8)) >> (-how_many % 8)


# -- summed ------------------------------------------------------------------------------------------------------------
# One pass over a table, then any number of seeded releases from its sums, NOT PRIVATE.


@lru_cache(maxsize=512)
def _request(design: Design, budget: PrivacyBudget, options: ReleaseOptions) -> ReleaseRequest:
    """Return the checked request, cached because calibrating the noise costs far more than drawing it."""
    return ReleaseRequest.checked(design, budget, options)


class SummedTable:
    """Exact sums of products of a table, NOT PRIVATE. Created by `summed_table`."""

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
        """Release as `seeded_release` does, but from the stored sums, NOT PRIVATE.

        Mechanisms that need a second pass, or sums other than products of rows, are rejected. With delta, `auto`
        therefore selects `gaussian`.
        """
        if mechanism == AUTO and delta > 0:
            mechanism = ONE_PASS
        options = ReleaseOptions(mechanism=mechanism, settings=settings, grid_bits=self._grid_bits)
        request = _request(self._design, PrivacyBudget(epsilon, delta), options)
        passes = request.mechanism.passes(request.context(SeededSampler(seed)))
        first = self._read(next(passes))
        return marked_seeded(request.release(run_passes(passes, first, self._read), first, "untracked", None))

    def _read(self, sums: Sums) -> Totals:
        if not isinstance(sums, ExactGram | GramWithWeights):
            raise UnsupportedError(
                f"the mechanism needs sums of type {type(sums).__name__}, but only sums of products are stored",
                code="sums-not-stored",
                option="mechanism",
                remedy=Call("discreet.testing.seeded_release", "read the table again"),
            )
        return self._totals


def summed_table(
    data: object, design: Design, *, grid_bits: int = DEFAULT_GRID_BITS, compute: ComputeOptions | None = None
) -> SummedTable:
    """Read a table once and store its exact sums for many seeded releases, NOT PRIVATE.

    >>> from discreet.testing import seeded_release
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> rows = {"x": [1.0, 0.5], "y": [1.0, 1.0]}
    >>> table = summed_table(rows, design)
    >>> many = [table.release(seed=seed, epsilon=1.0, delta=1e-6) for seed in range(3)]
    >>> many[2] == seeded_release(rows, design, seed=2, epsilon=1.0, delta=1e-6, mechanism="gaussian")
    True
    """
    design = design.redeclared()
    domain = RowDomain.of(design, grid_bits)
    totals = accumulate(open_table(data), design, domain, compute or ComputeOptions())
    return SummedTable(design, grid_bits, totals)


# -- kill points -------------------------------------------------------------------------------------------------------
# Named steps of a tracked release at which a test can intervene, for example by killing the process.


@contextmanager
def calling(observer: Callable[[str], None]) -> Iterator[None]:
    """Call `observer` with the name of each step of `discreet.ledger.event_log.STEPS` when it is reached.

    >>> seen = []
    >>> with calling(seen.append):
    ...     event_log.at("reserved")
    >>> seen
    ['reserved']
    """
    previous = event_log._observer
    event_log._observer = observer
    try:
        yield
    finally:
        event_log._observer = previous

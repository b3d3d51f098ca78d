"""Run mechanisms as a real release does, and collect everything that they publish."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, gamma, laplace, norm

from discreet.accounting.noise_distribution import (
    DIAGONAL_BLOCKS,
    GUARD,
    GUARD_COUNTS,
    entry_blocks,
)
from discreet.accounting.settings import MOMENTS
from discreet.accounting.staged_queries import is_staged
from discreet.audit.judging import Claim
from discreet.audit.noise_tests import Check, bits_check, distribution_check, integer_check
from discreet.curator.rows import row_size
from discreet.curator.summing import totals_of
from discreet.curator.sums.gram import ExactGram, IndividualSums, MadeAnew, RecodedSums, Sums, Totals
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.guard import guard_counts, stops
from discreet.mechanisms.protocol import NoisyMoments, Published, run_passes
from discreet.mechanisms.sampler import ExactSampler, Sampler
from discreet.release_request import ReleaseRequest
from discreet.releases.fields import StagedPart
from discreet.releases.release import Release
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.workflow import with_residuals

# -- subject -----------------------------------------------------------------------------------------------------------
# What an audit tests.


@dataclass(frozen=True, slots=True)
class ExactLoss:
    """Exact privacy loss of one pair of tables, rounded up. A delta is the loss at the claimed epsilon."""

    pair: str
    measure: Literal["epsilon", "mu", "delta"]
    value: float
    claimed: float

    @property
    def covered(self) -> bool:
        """Whether the loss does not exceed the claim.

        >>> ExactLoss("corner row", "epsilon", 0.9, 1.0).covered
        True
        """
        return self.value <= self.claimed


class Subject(Protocol):
    """Mechanism or primitive with a claim, and the pair of tables on which it is tested."""

    @property
    def name(self) -> str:
        """Name of the subject."""
        ...

    @property
    def pair(self) -> str:
        """Name of the pair of tables for which outputs are drawn."""
        ...

    @property
    def claim(self) -> Claim:
        """Claim that the audit tries to refute."""
        ...

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Draw independent outputs for the table (side 0) or its neighbour (side 1), one per array row."""
        ...

    def exact(self) -> tuple[ExactLoss, ...]:
        """Return the exact losses of the pairs for which they can be computed."""
        ...

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """Run additional tests. Their joint false-alarm probability is at most `alpha`."""
        ...


# -- rows --------------------------------------------------------------------------------------------------------------
# Rows of a synthetic table in grid steps, held in memory, and sums over them.


class SyntheticRows:
    """Rows (1, x, y) of a synthetic table in grid steps, encoded as in a release and held in memory."""

    def __init__(self, table: object, design: Design, domain: RowDomain, *, clip_counts: bool = False) -> None:
        stored = _StoredRows()
        # one worker, so that all rows arrive in one object
        options = ComputeOptions(workers=1)
        self._read = accumulate(open_source(table), design, domain, options, stored, clip_counts=clip_counts)
        self.grid: FloatArray = np.concatenate([np.empty((row_size(design), 0)), *stored.chunks], axis=1)
        # indices of the first row of each individual
        self._starts = None if design.unit.id is None else np.array(stored.starts, dtype=np.intp)

    def sums(self, requested: Sums) -> Totals:
        """Return exact sums over the rows."""
        return self.reader()(requested)

    def reader(self) -> Callable[[Sums], Totals]:
        """Return a function that computes the sums of one run, recoding the rows first where a pass requests it."""
        rows = self.grid

        def read(sums: Sums) -> Totals:
            nonlocal rows
            if isinstance(sums, RecodedSums):
                rows = sums.recoded(rows)
            if self._starts is None or not isinstance(sums, IndividualSums):
                sums.add(rows)
            elif len(self._starts):
                sums.add_persons(rows, self._starts)
            return totals_of(sums, self._read.counts)

        return read


class _StoredRows(MadeAnew):
    """Accumulator that stores the rows instead of summing them."""

    unit = 1

    def __init__(self) -> None:
        self.chunks: list[FloatArray] = []
        self.starts: list[int] = []

    def add(self, chunk: FloatArray) -> None:
        self.chunks.append(chunk.copy())

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        offset = sum(stored.shape[1] for stored in self.chunks)
        self.starts += (starts + offset).tolist()
        self.add(chunk)

    def totals(self) -> tuple[int, ...]:
        return ()


# -- runs --------------------------------------------------------------------------------------------------------------
# One run of a mechanism, in the same order as in production, and all numbers that it publishes.

# fields of a release file that contain or depend on noisy numbers; all others must be equal for every table
NOISY: Final = (
    "totals", "scalars", "clip_counts", "coefficients", "residuals", "guard", "discovery", "staged", "digest",
)  # fmt: skip


def one_run(request: ReleaseRequest, sampler: Sampler, read: Callable[[Sums], Totals]) -> list[float]:
    """Run a mechanism on sums returned by `read`, and return the published numbers.

    The run includes the guard and the residual sums if they are requested.
    """
    passes = request.mechanism.passes(request.context(sampler))
    first = read(next(passes))
    counts = (
        guard_counts(first.counts.fitting, request.distribution, sampler)
        if GUARD in request.distribution.sigma
        else None
    )
    if counts is not None and stops(counts, request.distribution):
        return [float(counts.fitting), float(counts.other)]
    published = run_passes(passes, first, read)
    if counts is None and not request.robust:
        return published_numbers(published)
    released = request.release(published, first, "untracked", None, counts)
    return release_numbers(
        with_residuals(released, request.domain, request.residual_bound, read, sampler) if request.robust else released
    )


def published_numbers(published: Published) -> list[float]:
    """Return all numbers that a mechanism publishes."""
    if isinstance(published, NoisyMoments):
        released = [total for total in published.totals if total is not None]
        numbers = [float(value) for value in (*released, *published.scalars.values(), *published.clipped)]
        if published.staged is not None:
            numbers += _staged_numbers(published.staged)
        return numbers
    return [*published.values, *(value for part in (*published.trace, *published.ranges) for value in part)]


def _staged_numbers(part: StagedPart) -> list[float]:
    """Return all numbers that `staged` publishes in addition to its sums."""
    bounds = part.target_centre, part.radius, part.missing, part.score_bound, part.residual_bound
    whitening = (value for row in part.whitening for value in row)
    counts = map(float, (*part.norms, *part.score_norms, *part.score_products))
    return [*part.centres, *part.scales, *bounds, *part.line, *whitening, *counts]


def release_numbers(made: Release) -> list[float]:
    """Return all noisy numbers of a release: preliminary counts, numbers of the mechanism, and residual sums."""
    numbers: list[float] = [] if made.guard is None else [float(made.guard.fitting), float(made.guard.other)]
    if made.discovery is not None:
        cells = (count for counts in made.discovery.cells.values() for count in counts)
        numbers += [float(count) for count in (*cells, made.discovery.rows)]
    if made.coefficients is not None:
        numbers += published_numbers(made.coefficients)
    else:
        numbers += published_numbers(NoisyMoments(made.totals, made.scalars, tuple(made.clipped.values()), made.staged))
    residuals = made.residuals
    if residuals is not None:
        for model in (residuals, *residuals.further):
            numbers += [*model.coefficients, model.bound, *map(float, model.totals)]
        ratio = residuals.ratio
        numbers += [] if ratio is None else [ratio.ratio, ratio.mean, ratio.bound, float(ratio.total)]
    return numbers


def rest_of_release(made: Release) -> str:
    """Return the text of a release without its noisy numbers."""
    body = json.loads(made.to_json())
    return json.dumps({name: value for name, value in body.items() if name not in NOISY}, sort_keys=True)


def padded(outputs: Sequence[Sequence[float]]) -> FloatArray:
    """Stack outputs as array rows, padded with NaN where a stopped run published fewer numbers.

    >>> padded([[1.0], [2.0, 3.0]]).tolist()
    [[1.0, nan], [2.0, 3.0]]
    """
    width = max(map(len, outputs))
    return np.array([[*output, *[math.nan] * (width - len(output))] for output in outputs])


# -- pooled ------------------------------------------------------------------------------------------------------------
# The production sampler, with many variates drawn at a time.

# batch size at the first request of a scale, which may need only a few variates, and at later requests
_FIRST_BATCH: Final = 50
_BATCH: Final = 2000
# how many variates of each scale are tested; fixed, so that it does not depend on the draws
FIRST_DRAWN: Final = 4000


class PooledSampler:
    """Sampler that takes variates from `ExactSampler` in batches and returns each of them once.

    The distribution of a variate depends only on its scale, so drawing in advance changes nothing. It saves one call of
    the sampler per release.

    >>> len(PooledSampler().draw([3, 0, 5])), PooledSampler().laplace([0])
    (3, [0])
    """

    private = True

    def __init__(self) -> None:
        self._source = ExactSampler()
        self._waiting: dict[tuple[str, int], list[int]] = {}
        # by family and scale, in draw order
        self._drawn: dict[tuple[str, int], list[int]] = {}

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Return discrete Gaussian variates."""
        return [self._next("gaussian", sigma) for sigma in sigmas]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Return discrete Laplace variates."""
        return [self._next("laplace", scale) for scale in scales]

    def bits(self, how_many: int) -> int:
        """Return uniform bits from the operating system."""
        return self._source.bits(how_many)

    def _next(self, family: str, scale: int) -> int:
        if scale == 0:
            return 0
        waiting = self._waiting.setdefault((family, scale), [])
        if not waiting:
            waiting += self._more(family, scale)
        return waiting.pop()

    def first_drawn(self) -> dict[tuple[str, int], list[int]]:
        """Return the first `FIRST_DRAWN` variates of each requested family and scale."""
        for family, scale in self._drawn:
            while len(self._drawn[family, scale]) < FIRST_DRAWN:
                self._waiting[family, scale] += self._more(family, scale)
        return {key: drawn[:FIRST_DRAWN] for key, drawn in self._drawn.items()}

    def _more(self, family: str, scale: int) -> list[int]:
        source = self._source.draw if family == "gaussian" else self._source.laplace
        recorded = self._drawn.setdefault((family, scale), [])
        drawn = source([scale] * (_BATCH if recorded else _FIRST_BATCH))
        recorded += drawn[: FIRST_DRAWN - len(recorded)]
        return drawn


# -- noise -------------------------------------------------------------------------------------------------------------
# Tests of the noise in outputs against the mechanism's stated noise distribution.

# at much larger scales, the lowest bits of the noise are uniform to any precision
_BITS: Final = 4
_WIDE: Final = 2**12
# sampler errors change single probabilities most at these small scales; the draws take about a second
_SELF_TEST_SIGMA: Final = 2
_SELF_TEST_SCALE: Final = 3
_SELF_TEST_DRAWS: Final = 50_000


def noise_checks(
    request: ReleaseRequest,
    sides: tuple[SyntheticRows, SyntheticRows],
    drawn: tuple[FloatArray, FloatArray],
    alpha: float,
) -> tuple[Check, ...]:
    """Test the distribution of the noise in outputs, and the lowest bits of the noise.

    Return no tests if the noise cannot be computed from the outputs. `sides` are the two tables, and `drawn` are their
    outputs, one per array row. The joint false-alarm probability is at most `alpha`.
    """
    if request.mechanism.name == "objective":
        terms = np.concatenate(
            [_linear_terms(request, rows, outputs) for rows, outputs in zip(sides, drawn, strict=True)]
        )
        return (
            distribution_check(
                "distribution of the linear term", terms / request.distribution.sd("linear"), norm.cdf, alpha
            ),
        )
    # sums of weighted rows have steps that are too fine for doubles; a replay tests them instead
    if request.mechanism.name not in MOMENTS or request.design.weights is not None or is_staged(request.distribution):
        return ()
    if GUARD in request.distribution.sigma:
        # skip the guard's counts, which come first, and the releases that the guard stopped
        drawn = drawn[0][:, GUARD_COUNTS:], drawn[1][:, GUARD_COUNTS:]
        drawn = drawn[0][np.isfinite(drawn[0][:, 0])], drawn[1][np.isfinite(drawn[1][:, 0])]
    noise = np.concatenate([_moment_noise(request, rows, outputs) for rows, outputs in zip(sides, drawn, strict=True)])
    steps = np.array([request.distribution.sigma[block] for block in _released(request)], dtype=np.float64)
    tests = [distribution_check("noise distribution", *_standard(request, noise, steps), alpha / 2)]
    wide = steps >= _WIDE
    # entries of a noise vector may be dependent, but their lowest bits are independent if the density is smooth
    tests.append(bits_check("low-order bits", noise[:, wide].astype(np.int64), _BITS, alpha / 2))
    # low-order bits of noise that is not an integer would depend on the exact number
    tests.append(Check("on the grid", float(np.mean(noise != np.rint(noise))), 0.0))
    if copies := request.distribution.copies(len(request.design.released)):
        both = np.concatenate(drawn)
        differ = both[:, list(copies)] != both[:, list(copies.values())]
        tests.append(Check("sum and square of an indicator", float(np.mean(differ)), 0.0))
    return tuple(tests)


def sampler_checks(request: ReleaseRequest, sampler: PooledSampler, alpha: float) -> tuple[Check, ...]:
    """Test that the drawn variates have the stated family, scales and distribution. Uniform bits are not tested."""
    drawn = sampler.first_drawn()
    if not drawn:
        return ()
    stated = {
        (request.distribution.family.removeprefix("discrete-"), scale) for scale in request.distribution.sigma.values()
    }
    return (
        Check("draws outside the stated distribution", float(len(set(drawn) - stated)), 0.0),
        integer_check("distribution of the draws", drawn, alpha),
    )


def sampler_self_test(alpha: float) -> tuple[Check, ...]:
    """Test the production sampler at small scales, where a bias in single probabilities is visible.

    The joint false-alarm probability of both tests is at most `alpha`.

    >>> [(check.name, check.passed) for check in sampler_self_test(1e-9)]
    [('discrete Gaussian at scale 2', True), ('discrete Laplace at scale 3', True)]
    """
    sampler, sigma, scale = ExactSampler(), _SELF_TEST_SIGMA, _SELF_TEST_SCALE
    gaussian, laplacian = sampler.draw([sigma] * _SELF_TEST_DRAWS), sampler.laplace([scale] * _SELF_TEST_DRAWS)
    return (
        integer_check(f"discrete Gaussian at scale {sigma}", {("gaussian", sigma): gaussian}, alpha / 2),
        integer_check(f"discrete Laplace at scale {scale}", {("laplace", scale): laplacian}, alpha / 2),
    )


def _standard(
    request: ReleaseRequest, noise: FloatArray, steps: FloatArray
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the standardised noise, and the distribution function that it should have."""
    if request.distribution.family == "discrete-gaussian":
        return noise / steps, norm.cdf
    if request.distribution.family == "discrete-laplace":
        return noise / steps, laplace.cdf
    if request.distribution.family == "k-norm":
        return np.linalg.norm(noise / steps, axis=1), gamma(request.distribution.parameters["dimension"]).cdf
    degrees = request.distribution.parameters["degrees"]
    diagonal = np.array([block in DIAGONAL_BLOCKS for block in _released(request)])
    mean = degrees if request.settings["debiased"] else 0
    return noise[:, diagonal] / steps[diagonal] + mean, chi2(degrees).cdf


def _released(request: ReleaseRequest) -> list[str]:
    """Return the blocks of all entries that have noise.

    A public count has no noise, nor has a product that is 0 in every row.
    """
    size = len(request.design.released)
    return [block for block, step in zip(entry_blocks(size), request.distribution.steps(size), strict=True) if step]


def _moment_noise(request: ReleaseRequest, rows: SyntheticRows, drawn: FloatArray) -> FloatArray:
    """Return the noise that was added to the exact moments."""
    size = len(request.design.released)
    exact = rows.sums(ExactGram(size, request.domain.grid_bits)).on_grid(request.distribution.unit)
    released = [
        float(total)
        for total, block in zip(exact, entry_blocks(size), strict=True)
        if block in request.distribution.sigma
    ]
    steps = zip(entry_blocks(size), request.distribution.steps(size), strict=True)
    private = [step > 0 for block, step in steps if block in request.distribution.sigma]
    noise: FloatArray = (drawn[:, : len(released)] - np.array(released))[:, private]
    return noise


def _linear_terms(request: ReleaseRequest, rows: SyntheticRows, drawn: FloatArray) -> FloatArray:
    """Return the random linear terms with which the published coefficients are minimisers."""
    scaled = rows.grid / request.domain.unit
    z, y = scaled[:-1], scaled[-1]
    threshold = float(request.settings["threshold"])
    strength = request.distribution.parameters["strength"] / request.distribution.unit
    bounded = np.clip(y - drawn @ z, -threshold, threshold)
    terms: FloatArray = bounded @ z.T - strength * drawn
    return terms

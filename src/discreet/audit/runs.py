"""Run a mechanism as production does, and collect everything that it publishes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, gamma, laplace, norm

from discreet.accounting.noise_distribution import DIAGONAL_BLOCKS, GUARD, GUARD_COUNTS, entry_blocks
from discreet.accounting.privacy_maps import MOMENTS, SCALED, WEIGHTED
from discreet.audit.judging import Claim
from discreet.audit.noise_tests import Check, bits_check, integer_law_check, law_check
from discreet.curator.rows import row_size
from discreet.curator.sums.gram import CellSums, ExactGram, MadeAnew, PersonSums, RecodedSums, Sums, Totals
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.guard import guard_counts, stops
from discreet.mechanisms.protocol import NoisyMoments, Published, run_passes
from discreet.mechanisms.sampler import ExactSampler, Sampler
from discreet.releases.release import Release
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.workflow import Question, with_residuals

# -- subject -----------------------------------------------------------------------------------------------------------
# What can be audited.


@dataclass(frozen=True, slots=True)
class ExactLoss:
    """The loss of one pair, in exact arithmetic, under the noise that is drawn.

    Attributes
    ----------
    pair
        Name of the pair.
    currency
        `epsilon`, `mu`, or `delta` at the claimed epsilon.
    value
        The loss, rounded up.
    claimed
        The most that the claim allows.
    """

    pair: str
    currency: Literal["epsilon", "mu", "delta"]
    value: float
    claimed: float

    @property
    def kept(self) -> bool:
        """Whether the claim covers the loss.

        >>> ExactLoss("corner row", "epsilon", 0.9, 1.0).kept
        True
        """
        return self.value <= self.claimed


class Subject(Protocol):
    """A mechanism or primitive with a claim, and a pair of tables to try it on."""

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def pair(self) -> str:
        """Name of the pair that draws are made for."""
        ...

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        ...

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Independent outputs for the table (side 0) or its neighbour (side 1), one in each row."""
        ...

    def exact(self) -> tuple[ExactLoss, ...]:
        """Losses of all pairs; none where no exact loss is known."""
        ...

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """Tests beside the bounds; false alarms of all together have probability of at most alpha."""
        ...


# -- rows --------------------------------------------------------------------------------------------------------------
# Rows of a made-up table on the grid, kept in memory, and sums over them.


class MadeUpRows:
    """The rows (1, x, y) of a made-up table in grid steps, read by the reader of production and kept.

    >>> from discreet.curator.sums.gram import ExactGram
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> rows = MadeUpRows({"x": [1.0, 0.5], "y": [1.0, 1.0]}, design, RowDomain.of(design, 8))
    >>> rows.sums(ExactGram(3, 8)).values[0] / 4**8
    2.0
    """

    def __init__(self, table: object, design: Design, domain: RowDomain, *, clip_counts: bool = False) -> None:
        kept = _Kept()
        # one worker, so that all rows are in one place
        options = ComputeOptions(workers=1)
        self._read = accumulate(open_source(table), design, domain, options, kept, clip_counts=clip_counts)
        self.grid: FloatArray = np.concatenate([np.empty((row_size(design), 0)), *kept.chunks], axis=1)
        # where the rows of each person begin
        self._starts = None if design.unit.id is None else np.array(kept.starts, dtype=np.intp)

    def sums(self, wanted: Sums) -> Totals:
        """The exact sums over the rows as they were read."""
        return self.reader()(wanted)

    def reader(self) -> Callable[[Sums], Totals]:
        """One run's way to the sums that a mechanism asks for: once it has rows written anew, it reads those."""
        rows = self.grid

        def read(wanted: Sums) -> Totals:
            nonlocal rows
            if isinstance(wanted, RecodedSums):
                rows = wanted.recoded(rows)
            if self._starts is None or not isinstance(wanted, PersonSums):
                wanted.add(rows)
            elif len(self._starts):
                wanted.add_persons(rows, self._starts)
            cells = wanted.cells() if isinstance(wanted, CellSums) else None
            read_as = self._read
            return Totals(wanted.totals(), wanted.unit, read_as.count, read_as.clipped, read_as.fitting, cells)

        return read


class _Kept(MadeAnew):
    """Takes the place of sums, and keeps the rows themselves."""

    unit = 1

    def __init__(self) -> None:
        self.chunks: list[FloatArray] = []
        self.starts: list[int] = []

    def add(self, chunk: FloatArray) -> None:
        self.chunks.append(chunk.copy())

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        before = sum(one.shape[1] for one in self.chunks)
        self.starts += (starts + before).tolist()
        self.add(chunk)

    def totals(self) -> tuple[int, ...]:
        return ()


# -- runs --------------------------------------------------------------------------------------------------------------
# One run of a mechanism on sums, in the order of production, and all numbers that it publishes.

# parts of a release file that hold noisy numbers or depend on them; all others must be the same for every table
NOISY: Final = (
    "totals", "scalars", "clip_counts", "coefficients", "residuals", "guard", "discovery", "scaling", "digest",
)  # fmt: skip


def one_run(asked: Question, sampler: Sampler, read: Callable[[Sums], Totals]) -> list[float]:
    """Run a mechanism, with the guard before it and the sums over residuals after it where they are asked for."""
    passes = asked.mechanism.passes(asked.context(sampler))
    first = read(next(passes))
    counts = guard_counts(first.fitting, asked.law, sampler) if GUARD in asked.law.sigma else None
    if counts is not None and stops(counts, asked.law):
        return [float(counts.fitting), float(counts.other)]
    published = run_passes(passes, first, read)
    if counts is None and not asked.robust:
        return published_numbers(published)
    made = asked.release(published, first, "untracked", None, counts)
    return release_numbers(
        with_residuals(made, asked.domain, asked.residual_bound, read, sampler) if asked.robust else made
    )


def published_numbers(published: Published) -> list[float]:
    """Everything that a mechanism publishes, as numbers."""
    if isinstance(published, NoisyMoments):
        released = [total for total in published.totals if total is not None]
        numbers = [float(value) for value in (*released, *published.scalars.values(), *published.clipped)]
        by = published.scaling
        if by is not None:
            numbers += [*by.centres, *by.scales, by.radius, by.target_centre, by.target_bound]
            numbers += map(float, (*by.fourth, *by.target_clipped))
        return numbers
    return [*published.values, *(value for part in (*published.trace, *published.ranges) for value in part)]


def release_numbers(made: Release) -> list[float]:
    """All noisy numbers of a release: those before the mechanism first, then its own, then those of residuals."""
    numbers: list[float] = [] if made.guard is None else [float(made.guard.fitting), float(made.guard.other)]
    if made.discovery is not None:
        cells = (count for counts in made.discovery.cells.values() for count in counts)
        numbers += [float(count) for count in (*cells, made.discovery.rows)]
    if made.coefficients is not None:
        numbers += published_numbers(made.coefficients)
    else:
        numbers += published_numbers(
            NoisyMoments(made.totals, made.scalars, tuple(made.clipped.values()), made.scaling)
        )
    part = made.residuals
    if part is not None:
        for one in (part, *part.further):
            numbers += [*one.coefficients, one.bound, *map(float, one.totals)]
        ratio = part.ratio
        numbers += [] if ratio is None else [ratio.ratio, ratio.mean, ratio.bound, float(ratio.total)]
    return numbers


def rest_of_release(made: Release) -> str:
    """The text of a release without its noisy numbers."""
    body = json.loads(made.to_json())
    return json.dumps({name: value for name, value in body.items() if name not in NOISY}, sort_keys=True)


def padded(outputs: Sequence[Sequence[float]]) -> FloatArray:
    """Outputs, one in each row; what a run that was stopped does not publish is no number.

    >>> padded([[1.0], [2.0, 3.0]]).tolist()
    [[1.0, nan], [2.0, 3.0]]
    """
    width = max(map(len, outputs))
    return np.array([[*output, *[math.nan] * (width - len(output))] for output in outputs])


# -- pooled ------------------------------------------------------------------------------------------------------------
# The production sampler, asked for many variates at a time.

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


# -- noise -------------------------------------------------------------------------------------------------------------
# The noise that outputs of a mechanism must hold, and tests of it against the law that the mechanism states.

# the lowest bits of noise whose scale is many times larger are uniform to any precision
_BITS: Final = 4
_WIDE: Final = 2**12
# at these scales wrong coins of the sampler change single probabilities most; so many draws take about a second
_SELF_TEST_SIGMA: Final = 2
_SELF_TEST_SCALE: Final = 3
_SELF_TEST_DRAWS: Final = 50_000


def noise_checks(
    asked: Question, sides: tuple[MadeUpRows, MadeUpRows], drawn: tuple[FloatArray, FloatArray], alpha: float
) -> tuple[Check, ...]:
    """Tests of the law of the noise and of its lowest bits; none where noise cannot be read off what is published.

    Parameters
    ----------
    asked
        The mechanism with its law.
    sides
        The two tables.
    drawn
        Outputs for each, one in each row.
    alpha
        Probability of a false alarm, over all tests together.
    """
    if asked.mechanism.name == "objective":
        terms = np.concatenate([_linear_terms(asked, rows, one) for rows, one in zip(sides, drawn, strict=True)])
        return (law_check("law of the linear term", terms / asked.law.sd("linear"), norm.cdf, alpha),)
    # a replay shows what was added to sums of weighted rows, whose steps are too fine for doubles
    if asked.mechanism.name not in MOMENTS or asked.mechanism.version in SCALED | WEIGHTED:
        return ()
    if GUARD in asked.law.sigma:
        # the counts of the guard are first; it has stopped some releases, whatever their noise would have been
        drawn = drawn[0][:, GUARD_COUNTS:], drawn[1][:, GUARD_COUNTS:]
        drawn = drawn[0][np.isfinite(drawn[0][:, 0])], drawn[1][np.isfinite(drawn[1][:, 0])]
    noise = np.concatenate([_moment_noise(asked, rows, one) for rows, one in zip(sides, drawn, strict=True)])
    steps = np.array([asked.law.sigma[block] for block in _released(asked)], dtype=np.float64)
    tests = [law_check("law of the noise", *_standard(asked, noise, steps), alpha / 2)]
    wide = steps >= _WIDE
    # entries of one vector may depend on each other, but their lowest bits do not where the density is smooth
    tests.append(bits_check("low-order bits", noise[:, wide].astype(np.int64), _BITS, alpha / 2))
    # noise that is no integer has low-order bits of its own, and they depend on what it is added to
    tests.append(Check("on the grid", float(np.mean(noise != np.rint(noise))), 0.0))
    if copies := asked.law.copies(len(asked.design.released)):
        both = np.concatenate(drawn)
        differ = both[:, list(copies)] != both[:, list(copies.values())]
        tests.append(Check("sum and square of an indicator", float(np.mean(differ)), 0.0))
    return tuple(tests)


def sampler_checks(asked: Question, sampler: PooledSampler, alpha: float) -> tuple[Check, ...]:
    """Whether variates were drawn at scales and of the family that the law states, and have the law of their scale.

    None for noise that is formed of uniform bits.
    """
    drawn = sampler.first_drawn()
    if not drawn:
        return ()
    stated = {(asked.law.family.removeprefix("discrete-"), scale) for scale in asked.law.sigma.values()}
    return (
        Check("draws beside the stated law", float(len(set(drawn) - stated)), 0.0),
        integer_law_check("law of the draws", drawn, alpha),
    )


def sampler_self_test(alpha: float) -> tuple[Check, ...]:
    """Test the production sampler at small scales, where a bias in the probabilities of single integers shows.

    Parameters
    ----------
    alpha
        Probability of a false alarm, over both tests together.

    Examples
    --------
    >>> [(check.name, check.passed) for check in sampler_self_test(1e-9)]
    [('discrete Gaussian at scale 2', True), ('discrete Laplace at scale 3', True)]
    """
    sampler, sigma, scale = ExactSampler(), _SELF_TEST_SIGMA, _SELF_TEST_SCALE
    gaussian, laplacian = sampler.draw([sigma] * _SELF_TEST_DRAWS), sampler.laplace([scale] * _SELF_TEST_DRAWS)
    return (
        integer_law_check(f"discrete Gaussian at scale {sigma}", {("gaussian", sigma): gaussian}, alpha / 2),
        integer_law_check(f"discrete Laplace at scale {scale}", {("laplace", scale): laplacian}, alpha / 2),
    )


def _standard(
    asked: Question, noise: FloatArray, steps: FloatArray
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Independent numbers made of the noise, and the law that they have if it is as stated."""
    if asked.law.family == "discrete-gaussian":
        return noise / steps, norm.cdf
    if asked.law.family == "discrete-laplace":
        return noise / steps, laplace.cdf
    if asked.law.family == "k-norm":
        return np.linalg.norm(noise / steps, axis=1), gamma(asked.law.parameters["dimension"]).cdf
    degrees = asked.law.parameters["degrees"]
    diagonal = np.array([block in DIAGONAL_BLOCKS for block in _released(asked)])
    mean = degrees if asked.settings["debiased"] else 0
    return noise[:, diagonal] / steps[diagonal] + mean, chi2(degrees).cdf


def _released(asked: Question) -> list[str]:
    """Blocks of the entries that have noise; a count that is public has none, nor a product that is always 0."""
    size = len(asked.design.released)
    return [block for block, step in zip(entry_blocks(size), asked.law.steps(size), strict=True) if step]


def _moment_noise(asked: Question, rows: MadeUpRows, drawn: FloatArray) -> FloatArray:
    """What was added to the exact moments."""
    size = len(asked.design.released)
    exact = rows.sums(ExactGram(size, asked.domain.grid_bits)).on_grid(asked.law.unit)
    kept = [float(total) for total, block in zip(exact, entry_blocks(size), strict=True) if block in asked.law.sigma]
    steps = zip(entry_blocks(size), asked.law.steps(size), strict=True)
    private = [step > 0 for block, step in steps if block in asked.law.sigma]
    noise: FloatArray = (drawn[:, : len(kept)] - np.array(kept))[:, private]
    return noise


def _linear_terms(asked: Question, rows: MadeUpRows, drawn: FloatArray) -> FloatArray:
    """The random linear term for which published coefficients are the minimum: where the gradient vanishes."""
    scaled = rows.grid / asked.domain.unit
    z, y = scaled[:-1], scaled[-1]
    threshold = float(asked.settings["threshold"])
    strength = asked.law.parameters["strength"] / asked.law.unit
    bounded = np.clip(y - drawn @ z, -threshold, threshold)
    terms: FloatArray = bounded @ z.T - strength * drawn
    return terms

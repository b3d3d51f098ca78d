"""The noise that outputs of a mechanism must hold, and tests of it against the law that the mechanism states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.stats import chi2, gamma, laplace, norm

from discreet.audit.statistics.laws import Check, bits_check, integer_law_check, law_check
from discreet.audit.subjects.pooled import PooledSampler
from discreet.audit.subjects.rows import MadeUpRows
from discreet.curator.sums.gram import ExactGram
from discreet.exact.arrays import FloatArray
from discreet.losses.law import DIAGONAL_BLOCKS, GUARD, GUARD_COUNTS, entry_blocks
from discreet.losses.maps.registry import MOMENTS, SCALED, WEIGHTED
from discreet.mechanisms.sampling.sampler import ExactSampler
from discreet.workflow import Question

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

"""One run of a mechanism on sums, in the order of production, and all numbers that it publishes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from discreet.curator.sums.protocol import Sums, Totals
from discreet.exact.arrays import FloatArray
from discreet.losses.law import GUARD
from discreet.mechanisms.guard import guard_counts, stops
from discreet.mechanisms.interface.protocol import NoisyMoments, Published
from discreet.mechanisms.interface.running import run_passes
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.releases import Release
from discreet.second_pass import with_residuals
from discreet.workflow import Question

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

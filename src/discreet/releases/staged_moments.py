"""Convert the sums of a release by `staged` to sums of products of (1, z, y), for fits and descriptions.

With y - centre = r + (1, z)'line, every product of (1, z, y) is a linear combination of those of (1, z, r).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from discreet.exact.arrays import BigIntArray, FloatArray
from discreet.releases.fields import StagedPart, released_count
from discreet.releases.staged_rules import ALLOWANCE, ScoreBound, box_of, chosen_bound, norm_histogram, whitening_matrix

if TYPE_CHECKING:
    from discreet.releases.release import Release


def bound_choice(release: Release, part: StagedPart) -> ScoreBound:
    """Return the bound of the scores and the tail model behind it."""
    count = released_count(release)
    return chosen_bound(part, release.design, release.noise, 0.0 if count is None else count.value)


def unwhitening(part: StagedPart) -> FloatArray:
    """Return the inverse of the whitening matrix, shape (p, p)."""
    return np.asarray(np.linalg.inv(whitening_matrix(part)), dtype=np.float64)


def column_sums(release: Release, part: StagedPart, missing: float) -> tuple[BigIntArray, int]:
    """Return the sums of products of (1, z, y - centre) as integers, and their divisor.

    Products of (1, z) are raised by the part `missing`.
    """
    size, unit = len(part.line), release.noise.unit
    totals = _square([Fraction(int(total or 0), unit) for total in release.totals], size + 1)
    base = np.empty((size + 1, size + 1), dtype=object)
    base[:-1, :-1] = totals[:-1, :-1] * Fraction(part.radius**2 * (1 + missing))
    scores = _exact(unwhitening(part)) @ (totals[:-1, -1] * Fraction(part.score_bound))
    base[:-1, -1] = base[-1, :-1] = scores
    base[-1, -1] = totals[-1, -1] * Fraction(part.residual_bound**2)
    inner, inner_unit = _integers(base)
    line, line_unit = _integers(_exact(np.array(part.line)))
    # only the target mixes columns: y - centre = r + (1, z)'line
    sums = inner * line_unit**2
    along = inner[:-1, :-1] @ line
    sums[:-1, -1] = sums[-1, :-1] = (along + inner[:-1, -1] * line_unit) * line_unit
    sums[-1, -1] += line @ (along + 2 * line_unit * inner[:-1, -1])
    return sums, inner_unit * line_unit**2


def residual_mapping(part: StagedPart) -> FloatArray:
    """Return T with (1, z, y - centre) = T (1, z, r), shape (p + 1, p + 1)."""
    mapping = np.eye(len(part.line) + 1)
    mapping[-1, :-1] = part.line
    return mapping


def score_variance(release: Release, part: StagedPart) -> float:
    """Return the variance of an entry of the whitened score: its noise, and what is allowed for clipped rows."""
    return (part.score_bound * release.noise.sd("cross")) ** 2 + ALLOWANCE * bound_choice(release, part).lost ** 2


def _exact(values: FloatArray) -> BigIntArray:
    """Return doubles as fractions, which they are exactly: every double is an integer over a power of two."""
    out: BigIntArray = np.vectorize(Fraction, otypes=[object])(values)
    return out


def _integers(matrix: BigIntArray) -> tuple[BigIntArray, int]:
    """Return fractions over powers of two as integers, and their common divisor."""
    divisor = max(cast("Fraction", value).denominator for value in matrix.flat)
    return np.vectorize(int, otypes=[object])(matrix * divisor), divisor


def _square(upper: Sequence[Fraction], size: int) -> BigIntArray:
    """Return the symmetric matrix of an upper triangle, row by row."""
    out = np.empty((size, size), dtype=object)
    rows, columns = np.triu_indices(size)
    out[rows, columns] = out[columns, rows] = upper
    return out


# -- words -------------------------------------------------------------------------------------------------------------


def estimated_line(release: Release, part: StagedPart) -> tuple[str, int]:
    """Return a description of what a release estimates, and the largest number of rows that were shortened."""
    line = "Ordinary least squares on the table clipped to its bounds"
    rows = math.ceil(bound_choice(release, part).clipped)
    if rows == 0:
        return f"{line}; the score of no row was shortened", 0
    return f"{line}; at most about {rows:,} row{'s' if rows > 1 else ''} with the largest scores were shortened", rows


# -- description -------------------------------------------------------------------------------------------------------


_NO_WEIGHTS: Final = "No row is longer than the radius of this release, so these are the statistics of all rows alike."
_WEIGHTS: Final = (
    "Statistics of weighted rows: lengths of rows are measured in released scales from released centres, and a row "
    "longer than {radius:.3g} has the weight ({radius:.3g} / length)^2. By a noisy count {rows:,.0f} of {all:,.0f} "
    "rows are longer (standard deviation {sd:,.0f}). The mean of a column with a long tail is therefore closer to its "
    "middle than that of all rows, and its sd smaller. Intervals are for the weighted statistics. Release with the "
    "mechanism 'gaussian' to describe all rows alike."
)


def description_note(release: Release, part: StagedPart) -> str:
    """Describe the weights of rows in means, standard deviations and correlations."""
    longest = box_of(release.design, part.centres, part.scales, part.target_centre).longest
    histogram, count = norm_histogram(part.norms, release.noise, longest), released_count(release)
    # the bin that contains the radius is counted as well
    beyond = histogram.counts[histogram.edges[1:] > part.radius * (1 + 1e-9)]
    rows, sd = float(beyond.sum()), histogram.sd * math.sqrt(len(beyond))
    if rows + 3 * sd < 1:
        return _NO_WEIGHTS
    return _WEIGHTS.format(radius=part.radius, rows=max(rows, 0.0), all=0.0 if count is None else count.value, sd=sd)

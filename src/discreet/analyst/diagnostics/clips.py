"""Rows that were clipped at a declared bound: which columns, and how many rows where the release has counted them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, cast

from discreet.analyst.equations.selection import SubModel
from discreet.analyst.equations.sums import counted_rows
from discreet.analyst.values.not_estimable import known
from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.releases import Release
from discreet.releases.discovery import unsettled_ends
from discreet.releases.parts import NoisyCount
from discreet.releases.reference_law import DEFAULT_LEVEL, critical_value, family_of

# lower ends of the share of clipped rows from which a reader is warned
SOME: Final = 0.05
MANY: Final = 0.25
# mechanisms that can count clipped rows: outside the wall no card can be read, so a test compares them with the cards
COUNTING: Final = ("gaussian", "laplace")
_SURE: Final = 2.58  # standard deviations of its noise that a count of clipped targets is lowered by
_FEW: Final = 2e-4  # share of the rows whose clipping is not worth a word
_NAMED: Final = 8  # how many columns are spelled out
_LARGE: Final = 1e9  # degrees of freedom: the noise alone, whose size is known
_COUNTED: Final = 3.0  # standard deviations of its noise that the number of rows must be above to divide by it


RANGES: Final = (
    "Numbers were clipped to ranges that were searched privately; predictions clip new rows there, and are themselves "
    "cut to the bounds of {target}"
)


def range_note(release: Release) -> str | None:
    """Say where numbers were clipped closer than their bounds, as far as a sentence can; nothing where none was."""
    fitted, design = release.coefficients, release.design
    if fitted is None or not fitted.ranges:
        return None
    ends = dict(zip(design.released[1:-1], fitted.ranges, strict=True))
    closer = [name for name in design.clippable if name in ends and ends[name] != (-1.0, 1.0)]
    words = [_range(name, cast("Numeric", design.columns[name]), ends[name]) for name in closer]
    listed = "; ".join([*words[:_NAMED], *(["and more"] if len(words) > _NAMED else [])])
    return f"{RANGES.format(target=design.target)}{f' ({listed})' if listed else ''}."


def _range(name: str, column: Numeric, ends: tuple[float, float]) -> str:
    low, high = (column.mid + column.half * end for end in ends)
    return f"{name}: {column.value_text(low, '.4')} to {column.value_text(high, '.4')}"


@dataclass(frozen=True, slots=True)
class ClippedShare:
    """What share of the rows was clipped in one column.

    Attributes
    ----------
    name, bounds
        The column and its declared bounds.
    count, sd
        Noisy number of clipped rows, and the standard deviation of its noise.
    share, low, high
        Of the rows of this table, between 0 and 1, with the ends of its 95% interval: what the noise of the counts
        leaves open.
    """

    name: str
    bounds: tuple[float, float]
    count: float
    sd: float
    share: float
    low: float
    high: float


def clipped_shares(release: Release) -> tuple[ClippedShare, ...]:
    """The share of clipped rows by column, the largest first; nothing where it was not released."""
    counts, (counted, rows_sd) = release.clip_counts, counted_rows(release)
    rows = known(counted)
    if counts is None or rows is None or rows <= _COUNTED * rows_sd or rows <= 0:
        return ()
    z = critical_value(DEFAULT_LEVEL, family_of(release.noise.family), _LARGE)
    found = []
    for name, one in counts.items():
        share = one.value / rows
        half = z * math.hypot(one.sd, share * rows_sd) / rows
        ends = (min(max(value, 0.0), 1.0) for value in (share, share - half, share + half))
        column = cast("Numeric", release.design.columns[name])
        found.append(ClippedShare(name, column.bounds, one.value, one.sd, *ends))
    return tuple(sorted(found, key=lambda one: -one.share))


def clipped_columns(design: Design, model: SubModel) -> tuple[str, ...]:
    """The columns behind a model, formulas followed back, in which values may have been clipped."""
    used: set[str] = set()
    waiting = [model.target, *model.features]
    while waiting:
        name = waiting.pop()
        formula = design.parts[name].formula
        used.add(name)
        waiting += () if formula is None else [one for one in formula.names if one not in used]
    return tuple(name for name in design.clippable if name in used)


def clipping_note(release: Release, model: SubModel) -> str | None:
    """Say which columns of a model were clipped, and in how many rows, or that nobody has counted; none without one."""
    names = clipped_columns(release.design, model)
    if not names:
        return None
    if release.clip_counts is None:
        return (
            f"Values of {_listed(names)} outside their {_word(release)} were clipped, so the coefficients describe the "
            f"clipped rows. The release does not count rows outside the {_word(release)}"
            + ("; one made with clip_counts (--clip-counts) does." if _could_count(release) else ".")
        )
    shares = [one for one in clipped_shares(release) if one.name in names]
    if not shares:
        return (
            f"Values of {_listed(names)} outside their {_word(release)} were clipped, so the coefficients describe the "
            "clipped rows. The number of rows is too noisy to say in what share of them."
        )
    return (
        f"Rows clipped at the {_word(release)}, by noisy counts with 95% intervals: {'; '.join(_spelled(shares))}. The "
        "coefficients describe the clipped rows."
    )


def found_note(release: Release, model: SubModel) -> str | None:
    """Say which bounds of a model's columns were found privately; none where all were declared."""
    found = release.found_bounds or {}
    names = [name for name in clipped_columns(release.design, model) if name in found]
    if not names:
        return None
    ends = [f"{name} [{found[name][0]:g}, {found[name][1]:g}]" for name in names]
    return (
        f"Bounds found privately, from noisy counts in this release: {_listed(ends)}. Values outside were clipped, "
        "which biases coefficients, and intervals describe the rows clipped at these bounds. Another release of the "
        "same table may find other ones."
    )


def unsettled_bounds(release: Release, model: SubModel) -> str | None:
    """Say that other releases of the same table may find other bounds, or that rows lie beyond; none otherwise."""
    names = clipped_columns(release.design, model)
    part, unit = release.discovery, release.noise.unit
    ends = () if part is None else unsettled_ends(part, release.design, release.noise.family)
    found = []
    for end in ends:
        if end.name in names:
            low, high = (f"{edge:g}" for edge in end.bounds)
            what = "were kept inside the bounds" if end.kept else "were clipped"
            found.append(
                f"About {end.count / unit:,.0f} rows have a value of {end.name} from {end.cell[0]:g} to "
                f"{end.cell[1]:g} and {what}, by a noisy count (standard deviation {end.sd / unit:.3g}, threshold "
                f"{end.threshold / unit:.3g}). Another release of the same table would find the bounds [{low}, {high}] "
                f"with a probability of about {end.probability:.0%}."
            )
    if not found:
        return None
    return (
        f"{' '.join(found)} Coefficients and intervals are those of the rows clipped at the bounds of this release, "
        "a different line from the one that other bounds would give: do not read intervals as those of unclipped rows, "
        "and do not compare coefficients with those of a release that found other bounds. Declare bounds, or the "
        "logarithm of the column."
    )


def target_clipping_note(release: Release, model: SubModel) -> str | None:
    """Say where private scaling clipped the target and in how many rows; none for a model without that column."""
    clipping = release.target_clipping
    if clipping is None or not _has_target(release, model):
        return None
    column = cast("Numeric", release.design.columns[release.design.target])
    low, high = (column.value_text(end, ".4") for end in clipping.inside(column.bounds))
    sides = [f"{one.value:,.0f} from {side}" for side, one in _clippable_sides(release)]
    if not sides:
        return f"The released bounds of {release.design.target} are outside the declared ones, so they clip no row."
    return (
        f"{release.design.target} was clipped at released bounds: in rows of full weight values were limited to {low} "
        f"to {high}; rows of lower weight have wider limits. Rows clipped there, by noisy counts: "
        f"{' and '.join(sides)} (standard deviation of the noise {clipping.above.sd:.3g}). Clipping biases "
        "coefficients, and intervals do not include that bias."
    )


def _clippable_sides(release: Release) -> list[tuple[str, NoisyCount]]:
    """Sides on which private scaling can have clipped the target: those whose released bound is inside the declared."""
    clipping = release.target_clipping
    if clipping is None:
        return []
    declared = cast("Numeric", release.design.columns[release.design.target]).bounds
    return [
        *([("below", clipping.below)] if clipping.bounds[0] > declared[0] else []),
        *([("above", clipping.above)] if clipping.bounds[1] < declared[1] else []),
    ]


def clipped_target(release: Release, model: SubModel) -> str | None:
    """Say that private scaling clipped the target in more rows than normal errors explain; none otherwise.

    On either side the count less 2.58 standard deviations of its noise is compared with the rows that a normal target
    of the released mean and variance would have there, plus two rows in ten thousand. So at most 1% of releases in
    which nothing is clipped show this.
    """
    clipping, rows = release.target_clipping, known(counted_rows(release)[0])
    expected = _normal_tail(release)
    if clipping is None or rows is None or rows <= 0 or expected is None or not _has_target(release, model):
        return None
    found = []
    for side, one in _clippable_sides(release):
        half = _SURE * one.sd
        if one.value - half > rows * (expected + _FEW):
            low, high = (min(max(end / rows, 0.0), 1.0) for end in (one.value - half, one.value + half))
            found.append(f"About {one.value / rows:.2%} of the rows (99% interval {low:.2%} to {high:.2%}) are {side}")
    if not found:
        return None
    return (
        f"{'. '.join(found)} the released bounds of {release.design.target} and were clipped; of normal errors with "
        f"the released variance it would be {expected:.2%}. So the errors have a long tail, and coefficients are "
        "biased: slopes most often towards 0. Intervals do not include this bias: 95% intervals covered a slope in "
        "27% to 88% of simulated releases with lognormal errors. Model the logarithm of the target, or release with "
        'scaling "declared" and bounds that hold its values.'
    )


def _has_target(release: Release, model: SubModel) -> bool:
    return release.design.target in (model.target, *model.features)


def _normal_tail(release: Release) -> float | None:
    """Share of a normal target that is beyond the nearer released bound; none where noise hides its variance."""
    if release.scaling is None:
        return None
    sums, radius = release.moments, release.scaling.radius
    # sum of squared weights, by which the weighted mean and mean square of (y - centre) / bound are divided
    weight = float(sums[0, 0]) * radius**2
    if weight <= 0:
        return None
    mean = float(sums[0, -1]) * radius / weight
    variance = float(sums[-1, -1]) / weight - mean**2
    return None if variance <= 0 else NormalDist().cdf((abs(mean) - 1) / math.sqrt(variance))


def _word(release: Release) -> str:
    return "bounds" if release.found_bounds else "declared bounds"


def _could_count(release: Release) -> bool:
    """Whether a release like this one could have counted clipped rows."""
    return release.mechanism in COUNTING and not release.weighted


def many_clipped(release: Release, model: SubModel) -> Iterator[tuple[ClippedShare, str]]:
    """Columns of a model in which many rows were clipped, beyond what noise can bring about, and what that means."""
    names = clipped_columns(release.design, model)
    for one in clipped_shares(release):
        if one.name in names and one.low > SOME:
            column = cast("Numeric", release.design.columns[one.name])
            bounds = ", ".join(map(column.value_text, one.bounds))
            what = "the target" if one.name == model.target else "a column of the model"
            share = f"About {one.share:.1%} of the rows (95% interval {one.low:.1%} to {one.high:.1%})"
            text = (
                f"{share} have a value of {one.name}, {what}, outside its {_word(release)} [{bounds}] and "
                "were clipped to them. Coefficients, intervals and R^2 describe the clipped rows: slopes are most "
                "often too near 0 and residuals too small. The next release should declare wider bounds for "
                f"{one.name}."
            )
            yield one, text


def _spelled(shares: Sequence[ClippedShare]) -> Iterator[str]:
    for one in shares[:_NAMED]:
        yield f"{one.name} {one.share:.1%} ({one.low:.1%} to {one.high:.1%})"
    rest = shares[_NAMED:]
    if rest:
        yield f"each of {len(rest)} other columns at most {max(one.high for one in rest):.1%}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_NAMED])} and {more} more columns"

"""Estimate what each declared bound costs, and how many rows it clips."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal, TypeAlias, cast

import numpy as np

from discreet.analyst.equations.noise import EntryNoise, product_covariance
from discreet.analyst.equations.normal import counted_rows
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.design.model_columns import SubModel
from discreet.exact.arrays import FloatArray
from discreet.releases.fields import NoisyCount, centred, unsettled_ends
from discreet.releases.reference_distribution import DEFAULT_LEVEL, critical_value, family_of, known
from discreet.releases.release import Release
from discreet.wording import Message, Option

# -- piles -------------------------------------------------------------------------------------------------------------
# Declared bounds at which rows bunch, from the release alone.
#
# Let g be the mean distance of the scaled values of a column from one of its bounds. By Markov's inequality at most g /
# t of the rows are farther away than t. With g at most 0.1, a twentieth of the width, at least half of the rows lie
# within a tenth of the width from that bound. Sums cannot tell whether they were clipped to it, so the text names both
# causes.

Side: TypeAlias = Literal["lower", "upper"]
OTHER: Final[dict[Side, Side]] = {"lower": "upper", "upper": "lower"}
WRONG: Final[dict[Side, str]] = {"lower": "high", "upper": "low"}
_BEYOND: Final[dict[Side, str]] = {"lower": "below", "upper": "above"}
_BETTER: Final[dict[Side, str]] = {"lower": "lower", "upper": "higher"}
_NEAR: Final = 0.1  # scaled units, so a twentieth of the width
_NOISE: Final = 3.0  # standard deviations of noise in the mean that are allowed for


@dataclass(frozen=True, slots=True)
class Bunching:
    """A column whose rows bunch at one of its bounds."""

    name: str
    column: Numeric
    side: Side

    @property
    def bounds(self) -> str:
        """Both bounds as text."""
        return f"[{', '.join(map(self.column.value_text, self.column.bounds))}]"

    @property
    def advice(self) -> str:
        """What it may mean, and what to declare next."""
        bound = self.column.value_text(self.column.bounds[self.side == "upper"])
        return (
            f"If values {_BEYOND[self.side]} {bound} were clipped to it, it is too {WRONG[self.side]}, and the "
            f"coefficients describe the clipped rows: the next release should declare a {_BETTER[self.side]} one. If "
            f"none can lie {_BEYOND[self.side]} it, the {OTHER[self.side]} bound is farther away than it need be."
        )


def bunched_columns(release: Release, model: SubModel) -> tuple[Bunching, ...]:
    """Return the numeric columns of a model whose mean is nearer to a bound than noise explains.

    Columns with a formula are left out, because their clipping follows from others. Sums of weighted rows do not tell.
    """
    if not release.plain:
        return ()
    sums, sds = centred(release).moments[0], release.noise_sd[0]
    bunched = []
    for position in (*model.positions, model.target_position):
        column = _clipped(release, release.columns[position])
        if column is None or not sums[0] > 0:
            continue
        mean = float(sums[position] / sums[0])
        noise = math.hypot(sds[position], mean * sds[0]) / float(sums[0])
        # a sum that was not released is not a number, which is never near
        if 1 - abs(mean) + _NOISE * noise <= _NEAR:
            bunched.append(Bunching(release.columns[position], column, "upper" if mean > 0 else "lower"))
    return tuple(bunched)


def bunching_text(release: Release, model: SubModel) -> str | None:
    """Describe the bounds at which rows bunch, from sums."""
    text = " ".join(
        f"The mean of {bunching.name} is within {_NEAR / 2:.0%} of the width of its bounds {bunching.bounds} "
        f"from the {bunching.side} one: rows bunch there. {bunching.advice}"
        for bunching in bunched_columns(release, model)
    )
    return text or None


def predicts_a_bound(release: Release) -> str | None:
    """Describe published coefficients that predict only one bound of the target."""
    target = release.design.target
    column = _clipped(release, target)
    if release.coefficients is None or column is None:
        return None
    constant, *slopes = release.coefficients.values
    if abs(constant) - math.fsum(map(abs, slopes)) < 1 - _NEAR:
        return None
    bunching = Bunching(target, column, "upper" if constant > 0 else "lower")
    return (
        f"For every row inside the declared bounds the model predicts a target within {_NEAR / 2:.0%} of the width "
        f"of the bounds {bunching.bounds} of {target} from the {bunching.side} one, or beyond it: rows "
        f"seem to bunch there. {bunching.advice}"
    )


def _clipped(release: Release, name: str) -> Numeric | None:
    column = release.design.columns.get(name)
    return column if isinstance(column, Numeric) and column.formula is None else None


# -- bound costs -------------------------------------------------------------------------------------------------------
# Cost of each declared bound: the privacy noise that a narrower one would save, from the release alone.
#
# The noise of a release does not depend on where the bounds lie, only on how many columns there are. A bound costs
# noise because a wide one leaves the column a small signal: halve the width of a column whose rows stay inside, and its
# scaled values double while the noise stays. With M' = T M T' the sums that such a release would hold, the privacy part
# of the mean squared error of a prediction,
#
#     half_y^2 tr(A H V(theta) H) / n,   H = A^{-1},   V(theta) the covariance of what the noise adds to the score,
#
# is computed before and after. T moves and stretches one column, so H and theta after follow from those before.

_ROUNDING: Final = 1e-12  # an eigenvalue below this share of the largest may be rounding
_DIGITS: Final = 12
_INNER: Final = 0.5  # half the declared width, in scaled units to either side


@dataclass(frozen=True, slots=True)
class BoundCost:
    """Cost of the bounds of one numeric column.

    Attributes
    ----------
    saved
            Share of the privacy part of the prediction error, as a standard deviation, that half the width would save.
    spread
        Where most rows lie according to the release: noisy mean plus and minus two noisy standard deviations, in
        original units and clipped to the bounds; None if the noise hides it.
    fits
            Whether that range is at most half of the declared one.
    reached
            The bound at which this range was clipped; None if it reaches neither or both.
    """

    name: str
    column: Numeric
    saved: float
    spread: tuple[float, float] | None
    fits: bool
    reached: Side | None


def bound_costs(release: Release, model: SubModel) -> tuple[BoundCost, ...]:
    """Return the costs of the numeric columns of a model with intercept, costliest first, from a release of sums.

    The result is empty if the sums are indefinite, if one was not released, or if rows have weights.
    """
    if not release.plain:
        return ()
    positions = [0, *model.positions, model.target_position]
    M = centred(release).moments[np.ix_(positions, positions)]
    if np.isnan(M[:-1]).any():
        return ()
    # the square of the target only gives its spread
    square_known = not np.isnan(M[-1, -1])
    sd = np.nan_to_num(release.noise_sd[np.ix_(positions, positions)])
    copies = np.flatnonzero(np.isin(positions, release.noise.indicator_columns))
    M = np.nan_to_num(M)
    noise = EntryNoise(sd, tuple(copies.tolist()))
    if not noise or not _definite(M[:-1, :-1]):
        return ()
    rows = float(M[0, 0])
    H = cast("FloatArray", np.linalg.inv(M[:-1, :-1]))
    theta = H @ M[:-1, -1]
    before = _privacy_error(H, theta, noise)
    costs = []
    for index, position in enumerate(positions[1:], start=1):
        name = release.columns[position]
        column = release.design.columns.get(name)
        if not isinstance(column, Numeric):
            continue
        mean = float(M[0, index] / rows)
        spread = _spread(M, index) if square_known or index < len(M) - 1 else None
        after = _privacy_error(*_narrower(H, theta, index, float(np.clip(mean, -_INNER, _INNER))), noise)
        # one scaled unit of a narrower target is worth less
        worth = _INNER if index == len(M) - 1 else 1.0
        ends = None if spread is None else _ends(column, mean, spread)
        costs.append(
            BoundCost(
                name=name,
                column=column,
                saved=1 - worth * (after / before) ** 0.5,
                spread=ends,
                fits=ends is not None and ends[1] - ends[0] <= column.half,
                reached=None if spread is None else _reached(mean, spread),
            )
        )
    # ties within rounding keep the declared order
    return tuple(sorted(costs, key=lambda cost: -round(cost.saved, _DIGITS)))


def costliest_bound_text(costs: tuple[BoundCost, ...], bunched: Mapping[str, Side]) -> str | None:
    """Describe the costliest bounds and what to do about them, or return None if nothing would be saved.

    `bunched` maps columns whose rows bunch at a bound to the side.
    """
    if not costs or costs[0].saved <= 0:
        return None
    costliest = costs[0]
    others = ", ".join(f"{cost.name} {max(cost.saved, 0.0):.0%}" for cost in costs[1:4])
    written = costliest.column.value_text
    text = (
        f"If the bounds [{', '.join(map(written, costliest.column.bounds))}] of {costliest.name} were half as "
        f"wide and still held all rows, the part of the prediction error due to privacy noise would be "
        f"{costliest.saved:.0%} smaller{f' (other columns: {others})' if others else ''}."
    )
    side = bunched.get(costliest.name)
    if side is not None:
        return f"{text} But rows bunch at the {side} bound, which may be too {WRONG[side]} (D016)."
    if costliest.spread is None:
        return text
    low, high = costliest.spread
    return (
        f"{text} By the release, most rows lie between {written(low, '.4')} and {written(high, '.4')}, so "
        f"{_advice(costliest)}."
    )


def _advice(cost: BoundCost) -> str:
    if not cost.fits:
        return "bounds half as wide would clip many rows"
    if cost.reached is None:
        return "the next release could declare narrower bounds"
    return (
        f"the next release could move the {OTHER[cost.reached]} bound closer, but not the {cost.reached} one, which "
        "rows come close to"
    )


def _definite(A: FloatArray) -> bool:
    values = np.linalg.eigvalsh(A)
    return bool(values[0] > _ROUNDING * values[-1])


def _narrower(H: FloatArray, theta: FloatArray, index: int, middle: float) -> tuple[FloatArray, FloatArray]:
    """Return inverse Gram and coefficients after the bounds of a column moved to a middle and half the width.

    A scaled value x of the column is _INNER x' + middle of the new one: its coefficient becomes smaller, and the
    intercept absorbs the middle. For the target, everything grows by 1 / _INNER.
    """
    moved = theta.copy()
    if index == len(theta):
        moved[0] -= middle
        return H, moved / _INNER
    inverse = H.copy()
    for part in (inverse, inverse.T, moved):
        part[0] += middle * part[index]
        part[index] *= _INNER
    return inverse, moved


def _privacy_error(H: FloatArray, theta: FloatArray, entry_noise: EntryNoise) -> float:
    """Compute tr(A H V H) = tr(H V) from the inverse of the Gram and the coefficients."""
    noise = product_covariance(entry_noise, np.append(-theta, 1.0))[:-1, :-1]
    return float((H * noise).sum())


def _spread(M: FloatArray, index: int) -> float | None:
    n = M[0, 0]
    around = M[index, index] / n - (M[0, index] / n) ** 2
    return float(np.sqrt(around)) if around > 0 else None


def _reached(mean: float, spread: float) -> Side | None:
    lower, upper = mean - 2 * spread <= -1, mean + 2 * spread >= 1
    return None if lower == upper else "lower" if lower else "upper"


def _ends(column: Numeric, mean: float, spread: float) -> tuple[float, float]:
    low, high = (min(max(mean + side * 2 * spread, -1.0), 1.0) for side in (-1, 1))
    return column.mid + column.half * low, column.mid + column.half * high


# -- clips -------------------------------------------------------------------------------------------------------------
# Rows clipped at a declared bound: which columns, and how many rows if the release counts them.

# lower ends of the share of clipped rows from which a reader is warned
SOME: Final = 0.05
MANY: Final = 0.25
# mechanisms that can count clipped rows; a test compares this list with the mechanisms
COUNTING: Final = ("gaussian", "laplace")
_SURE: Final = 2.58  # standard deviations of its noise that a count of clipped targets is lowered by
_FEW: Final = 2e-4  # share of clipped rows that is not reported
_NAMED: Final = 8  # how many columns are spelled out
_LARGE: Final = 1e9  # degrees of freedom: the noise alone, whose size is known
_COUNTED: Final = 3.0  # standard deviations of its noise that the number of rows must be above to divide by it


RANGES: Final = (
    "Numbers were clipped to privately estimated ranges. Predictions clip new rows to these ranges, and are "
    "clipped to the bounds of {target}"
)


def range_note(release: Release) -> str | None:
    """Describe which columns were clipped to a range narrower than their declared bounds, or return None."""
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
    """Share of the rows that were clipped in one column.

    Attributes
    ----------
    name, bounds
            The column and its declared bounds.
    count, sd
            Noisy number of clipped rows, and the standard deviation of its noise.
    share, low, high
        Share of the rows of this table, between 0 and 1, with its 95% interval, which allows for the noise of the
        counts.
    """

    name: str
    bounds: tuple[float, float]
    count: float
    sd: float
    share: float
    low: float
    high: float


def clipped_shares(release: Release) -> tuple[ClippedShare, ...]:
    """Return the share of clipped rows by column, the largest first, or nothing if it was not released."""
    counts, (counted, rows_sd) = release.clip_counts, counted_rows(release)
    rows = known(counted)
    if counts is None or rows is None or rows <= _COUNTED * rows_sd or rows <= 0:
        return ()
    z = critical_value(DEFAULT_LEVEL, family_of(release.noise.family), _LARGE)
    shares = []
    for name, noisy in counts.items():
        share = noisy.value / rows
        half = z * math.hypot(noisy.sd, share * rows_sd) / rows
        ends = (min(max(value, 0.0), 1.0) for value in (share, share - half, share + half))
        column = cast("Numeric", release.design.columns[name])
        shares.append(ClippedShare(name, column.bounds, noisy.value, noisy.sd, *ends))
    return tuple(sorted(shares, key=lambda item: -item.share))


def clipped_columns(design: Design, model: SubModel) -> tuple[str, ...]:
    """Return the columns behind a model, through its formulas, whose values may have been clipped."""
    used: set[str] = set()
    waiting = [model.target, *model.features]
    while waiting:
        name = waiting.pop()
        formula = design.parts[name].formula
        used.add(name)
        waiting += () if formula is None else [one for one in formula.names if one not in used]
    return tuple(name for name in design.clippable if name in used)


def clipping_note(release: Release, model: SubModel) -> str | None:
    """Describe which columns of a model were clipped, and in how many rows if counted, or return None."""
    names = clipped_columns(release.design, model)
    if not names:
        return None
    if release.clip_counts is None:
        advice = ("; one made with ", Option("clip_counts", True), " does.") if _could_count(release) else (".",)
        return Message(
            f"Values of {_listed(names)} outside their {_word(release)} were clipped, so the coefficients describe the "
            f"clipped rows. The release does not count rows outside the {_word(release)}",
            *advice,
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


def private_bounds_note(release: Release, model: SubModel) -> str | None:
    """Describe the private bounds of a model's columns, or return None if all were declared."""
    bounds = release.found_bounds or {}
    names = [name for name in clipped_columns(release.design, model) if name in bounds]
    if not names:
        return None
    ends = [f"{name} [{bounds[name][0]:g}, {bounds[name][1]:g}]" for name in names]
    return (
        f"Private bounds, from noisy counts in this release: {_listed(ends)}. Values outside were clipped, which "
        "biases coefficients, and intervals describe the rows clipped at these bounds. Another release of the same "
        "table may have other bounds."
    )


def unsettled_bounds(release: Release, model: SubModel) -> str | None:
    """Describe bounds that other releases of the same table may not find, or return None."""
    names = clipped_columns(release.design, model)
    part, unit = release.discovery, release.noise.unit
    ends = () if part is None else unsettled_ends(part, release.design, release.noise.family)
    sentences = []
    for end in ends:
        if end.name in names:
            low, high = (f"{edge:g}" for edge in end.bounds)
            what = "were kept inside the bounds" if end.kept else "were clipped"
            sentences.append(
                f"About {end.count / unit:,.0f} rows have a value of {end.name} from {end.cell[0]:g} to "
                f"{end.cell[1]:g} and {what}, by a noisy count (standard deviation {end.sd / unit:.3g}, threshold "
                f"{end.threshold / unit:.3g}). Another release of the same table would find the bounds [{low}, {high}] "
                f"with a probability of about {end.probability:.0%}."
            )
    if not sentences:
        return None
    return (
        f"{' '.join(sentences)} Coefficients and intervals are those of the rows clipped at the bounds of this "
        "release, a different line from the one that other bounds would give: do not read intervals as those of "
        "unclipped rows, and do not compare coefficients with those of a release that found other bounds. "
        "Declare bounds, or the logarithm of the column."
    )


def target_clipping_note(release: Release, model: SubModel) -> str | None:
    """Describe where private scaling clipped the target, and in how many rows, or return None."""
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
    """Return the sides on which private scaling can have clipped the target, inside the declared bounds."""
    clipping = release.target_clipping
    if clipping is None:
        return []
    declared = cast("Numeric", release.design.columns[release.design.target]).bounds
    return [
        *([("below", clipping.below)] if clipping.bounds[0] > declared[0] else []),
        *([("above", clipping.above)] if clipping.bounds[1] < declared[1] else []),
    ]


def clipped_target(release: Release, model: SubModel) -> str | None:
    """Describe a target that private scaling clipped in more rows than normal errors explain, or return None.

    On either side the count less 2.58 standard deviations of its noise is compared with the rows that a normal target
    of the released mean and variance would have there, plus two rows in ten thousand. So at most 1% of releases in
    which nothing is clipped are reported.
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
    """Return the share of a normal target beyond the nearer released bound, or None if noise hides its variance."""
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
    """Return whether a release like this one could have counted clipped rows."""
    return release.mechanism in COUNTING and release.plain


def many_clipped(release: Release, model: SubModel) -> Iterator[tuple[ClippedShare, str]]:
    """Yield the columns of a model in which more rows were clipped than noise explains, with a description."""
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

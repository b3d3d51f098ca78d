"""Cost of each declared bound and number of rows clipped at it, computed from the release alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

import numpy as np

from discreet.analyst.equations.noise import EntryNoise, product_covariance
from discreet.analyst.equations.normal import counted_rows
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.design.model_columns import SubModel
from discreet.exact.arrays import FloatArray
from discreet.releases.fields import centred, unsettled_ends
from discreet.releases.reference_distribution import DEFAULT_LEVEL, critical_value, family_of, known
from discreet.releases.release import Release
from discreet.wording import Message, Option

# -- piles -------------------------------------------------------------------------------------------------------------
# Declared bounds at which rows bunch, from the release alone.
#
# Let g be the mean distance of the scaled values of a column from one of its bounds. By Markov's inequality at most a
# fraction g / t of the rows are farther away than t. With g at most 0.1, a twentieth of the width, at least half of the
# rows lie within a tenth of the width from that bound. Sums cannot tell whether these rows were clipped to the bound,
# so the text names both causes.

Side: TypeAlias = Literal["lower", "upper"]
OTHER: Final[dict[Side, Side]] = {"lower": "upper", "upper": "lower"}
WRONG: Final[dict[Side, str]] = {"lower": "high", "upper": "low"}
_BEYOND: Final[dict[Side, str]] = {"lower": "below", "upper": "above"}
_BETTER: Final[dict[Side, str]] = {"lower": "lower", "upper": "higher"}
_NEAR: Final = 0.1  # in scaled units, so a twentieth of the width
_NOISE: Final = 3.0  # tolerance for the noise of the mean, in standard deviations


@dataclass(frozen=True, slots=True)
class Bunching:
    """A column whose values bunch at one of its bounds."""

    name: str
    column: Numeric
    side: Side

    @property
    def bounds(self) -> str:
        """Both bounds as text."""
        return f"[{', '.join(map(self.column.value_text, self.column.bounds))}]"

    @property
    def advice(self) -> str:
        """Possible causes, and advice on what to declare in the next release."""
        bound = self.column.value_text(self.column.bounds[self.side == "upper"])
        return (
            f"If values {_BEYOND[self.side]} {bound} were clipped, the {self.side} bound is too {WRONG[self.side]} and "
            f"the coefficients describe the clipped rows: declare a {_BETTER[self.side]} bound in the next release. If "
            f"no value can lie {_BEYOND[self.side]} {bound}, the {OTHER[self.side]} bound is farther away than needed."
        )


def bunched_columns(release: Release, model: SubModel) -> tuple[Bunching, ...]:
    """Return the numeric columns of a model whose mean is close to a bound, even allowing for noise.

    Columns with a formula are skipped, because their clipping follows from that of other columns. Weighted sums cannot
    show bunching.
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
        # a sum that was not released is NaN, so the comparison is false
        if 1 - abs(mean) + _NOISE * noise <= _NEAR:
            bunched.append(Bunching(release.columns[position], column, "upper" if mean > 0 else "lower"))
    return tuple(bunched)


def bunching_text(release: Release, model: SubModel) -> str | None:
    """Describe the bounds at which values bunch according to the released sums, or return None."""
    text = " ".join(
        f"The mean of {bunching.name} is within {_NEAR / 2:.0%} of the width of the bounds {bunching.bounds} "
        f"from the {bunching.side} bound: rows bunch there. {bunching.advice}"
        for bunching in bunched_columns(release, model)
    )
    return text or None


def predicts_a_bound(release: Release) -> str | None:
    """Describe a published model whose predictions all lie near or beyond one bound of the target, or return None."""
    target = release.design.target
    column = _clipped(release, target)
    if release.coefficients is None or column is None:
        return None
    constant, *slopes = release.coefficients.values
    if abs(constant) - math.fsum(map(abs, slopes)) < 1 - _NEAR:
        return None
    bunching = Bunching(target, column, "upper" if constant > 0 else "lower")
    return (
        f"For every row inside the declared bounds the model predicts a value of {target} beyond the {bunching.side} "
        f"bound of {bunching.bounds}, or within {_NEAR / 2:.0%} of the width from it: rows seem to bunch there. "
        f"{bunching.advice}"
    )


def _clipped(release: Release, name: str) -> Numeric | None:
    column = release.design.columns.get(name)
    return column if isinstance(column, Numeric) and column.formula is None else None


# -- bound costs -------------------------------------------------------------------------------------------------------
# Cost of each declared bound: the privacy noise that a narrower bound would save, from the release alone.
#
# The noise of a release does not depend on where the bounds lie, only on how many columns there are. But wide bounds
# leave a column a small signal: with half the width, and all rows still inside, scaled values double while the noise
# stays the same. Let M' = T M T' be the sums that such a release would hold. The privacy part of the mean squared
# prediction error,
#
#     half_y^2 tr(A H V(theta) H) / n,   H = A^{-1},   V(theta) the covariance of the noise in the score,
#
# is computed before and after. T shifts and stretches one column, so the new H and theta are computed from the old.

_ROUNDING: Final = 1e-12  # eigenvalues below this fraction of the largest may be rounding error
_DIGITS: Final = 12
_INNER: Final = 0.5  # half of the narrower range, in scaled units


@dataclass(frozen=True, slots=True)
class BoundCost:
    """Cost of the bounds of one numeric column."""

    name: str
    column: Numeric
    saved: float  # fraction of the privacy part of the prediction error (as an sd) that half the width would save
    # noisy mean plus and minus two noisy sds, in original units and clipped to the bounds; None if noise hides it
    spread: tuple[float, float] | None
    fits: bool  # whether `spread` is at most half as wide as the bounds
    reached: Side | None  # bound at which `spread` was clipped; None if it reaches neither or both


def bound_costs(release: Release, model: SubModel) -> tuple[BoundCost, ...]:
    """Return the cost of the bounds of each column of a model with intercept, largest first.

    The result is empty if the sums are indefinite or incomplete, or if rows have weights.
    """
    if not release.plain:
        return ()
    positions = [0, *model.positions, model.target_position]
    M = centred(release).moments[np.ix_(positions, positions)]
    if np.isnan(M[:-1]).any():
        return ()
    # the square of the target is needed only for its spread
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
        # one scaled unit of a narrower target is smaller in original units
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
    # costs that are equal up to rounding keep the declared order
    return tuple(sorted(costs, key=lambda cost: -round(cost.saved, _DIGITS)))


def costliest_bound_text(costs: tuple[BoundCost, ...], bunched: Mapping[str, Side]) -> str | None:
    """Describe the costliest bounds and what to do about them, or return None if narrower bounds would save nothing.

    `bunched` maps each column whose values bunch at a bound to the side of that bound.
    """
    if not costs or costs[0].saved <= 0:
        return None
    costliest = costs[0]
    others = ", ".join(f"{cost.name} {max(cost.saved, 0.0):.0%}" for cost in costs[1:4])
    written = costliest.column.value_text
    text = (
        f"If the bounds [{', '.join(map(written, costliest.column.bounds))}] of {costliest.name} were half as "
        f"wide and still contained all rows, the privacy part of the prediction error would be "
        f"{costliest.saved:.0%} smaller{f' (other columns: {others})' if others else ''}."
    )
    side = bunched.get(costliest.name)
    if side is not None:
        return f"{text} But rows bunch at the {side} bound, which may be too {WRONG[side]} (D016)."
    if costliest.spread is None:
        return text
    low, high = costliest.spread
    return (
        f"{text} According to the release, most rows lie between {written(low, '.4')} and {written(high, '.4')}, so "
        f"{_advice(costliest)}."
    )


def _advice(cost: BoundCost) -> str:
    if not cost.fits:
        return "bounds half as wide would clip many rows"
    if cost.reached is None:
        return "the next release could declare narrower bounds"
    return (
        f"the next release could move the {OTHER[cost.reached]} bound closer, but not the {cost.reached} bound, "
        "because rows come close to it"
    )


def _definite(A: FloatArray) -> bool:
    values = np.linalg.eigvalsh(A)
    return bool(values[0] > _ROUNDING * values[-1])


def _narrower(H: FloatArray, theta: FloatArray, index: int, middle: float) -> tuple[FloatArray, FloatArray]:
    """Return the inverse Gram matrix and the coefficients after halving the width of a column's bounds around `middle`.

    With x the old scaled value and x' the new one, x = _INNER x' + middle. The coefficient of the column shrinks, and
    the intercept absorbs the middle. For the target, every coefficient grows by 1 / _INNER.
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
    """Compute tr(A H V H) = tr(H V) from the inverse Gram matrix and the coefficients."""
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

# fractions of clipped rows above which a finding is a caution, or serious
SOME: Final = 0.05
MANY: Final = 0.25
# mechanisms that can count clipped rows; a test compares this list with the mechanisms
COUNTING: Final = ("gaussian", "laplace")
_NAMED: Final = 8  # maximum number of columns listed by name
_LARGE: Final = 1e9  # degrees of freedom for a normal quantile, because the noise variance is known
_COUNTED: Final = 3.0  # the row count must exceed this many standard deviations of its noise to be a divisor


RANGES: Final = (
    "Numbers were clipped to privately estimated ranges. Predictions clip the values of new rows to these ranges, and "
    "are clipped to the bounds of {target}"
)


def range_note(release: Release) -> str | None:
    """List the columns that were clipped to a range narrower than their declared bounds, or return None."""
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
    """Fraction of the rows that were clipped in one column."""

    name: str
    bounds: tuple[float, float]
    count: float  # noisy number of clipped rows
    sd: float  # noise standard deviation of `count`
    # fraction of this table's rows, between 0 and 1, and its 95% interval, which allows for the noise of both counts
    share: float
    low: float
    high: float


def clipped_shares(release: Release) -> tuple[ClippedShare, ...]:
    """Return the fraction of rows clipped in each column, largest first, or an empty tuple if it is unknown."""
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
    """Return the columns that a model uses, directly or through formulas, whose values may have been clipped."""
    used: set[str] = set()
    waiting = [model.target, *model.features]
    while waiting:
        name = waiting.pop()
        formula = design.parts[name].formula
        used.add(name)
        waiting += () if formula is None else [source for source in formula.names if source not in used]
    return tuple(name for name in design.clippable if name in used)


def clipping_note(release: Release, model: SubModel) -> str | None:
    """Describe which columns of a model were clipped, and in how many rows if known, or return None."""
    names = clipped_columns(release.design, model)
    if not names:
        return None
    if release.clip_counts is None:
        advice = ("; a release with ", Option("clip_counts", True), " does.") if _could_count(release) else (".",)
        return Message(
            f"Any values of {_listed(names)} outside their {_word(release)} were clipped before fitting. The release "
            "does not say in how many rows",
            *advice,
        )
    shares = [clipped for clipped in clipped_shares(release) if clipped.name in names]
    if not shares:
        return (
            f"Any values of {_listed(names)} outside their {_word(release)} were clipped before fitting. The number of "
            "rows is too noisy to say which fraction of them was clipped."
        )
    return (
        f"Fractions of rows clipped at the {_word(release)}, from noisy counts, with 95% intervals: "
        f"{'; '.join(_spelled(shares))}. The coefficients describe the clipped rows."
    )


def private_bounds_note(release: Release, model: SubModel) -> str | None:
    """Describe the privately estimated bounds of a model's columns, or return None if all were declared."""
    bounds = release.found_bounds or {}
    names = [name for name in clipped_columns(release.design, model) if name in bounds]
    if not names:
        return None
    ends = [f"{name} [{bounds[name][0]:g}, {bounds[name][1]:g}]" for name in names]
    return (
        f"Privately estimated bounds, from noisy counts in this release: {_listed(ends)}. Values outside were clipped. "
        "Clipping biases coefficients, and intervals describe the clipped rows. Another release of the same table may "
        "have other bounds."
    )


def unsettled_bounds(release: Release, model: SubModel) -> str | None:
    """Describe bounds that another release of the same table may not reproduce, or return None."""
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
        f"{' '.join(sentences)} Coefficients and intervals describe the rows clipped at the bounds of this release. "
        "Other bounds would give a different line. Do not apply the intervals to unclipped rows, and do not compare "
        "the coefficients with the coefficients of a release that found other bounds. Declare the bounds, or use the "
        "logarithm of the column."
    )


def _word(release: Release) -> str:
    return "bounds" if release.found_bounds else "declared bounds"


def _could_count(release: Release) -> bool:
    """Return whether the mechanism of this release can count clipped rows."""
    return release.mechanism in COUNTING and release.plain


def many_clipped(release: Release, model: SubModel) -> Iterator[tuple[ClippedShare, str]]:
    """Yield each column of a model in which many rows were clipped, even allowing for noise, with a description."""
    names = clipped_columns(release.design, model)
    for clipped in clipped_shares(release):
        if clipped.name in names and clipped.low > SOME:
            column = cast("Numeric", release.design.columns[clipped.name])
            bounds = ", ".join(map(column.value_text, clipped.bounds))
            what = "the target" if clipped.name == model.target else "a column of the model"
            share = f"About {clipped.share:.1%} of the rows (95% interval {clipped.low:.1%} to {clipped.high:.1%})"
            text = (
                f"{share} have a value of {clipped.name}, {what}, outside its {_word(release)} [{bounds}] and "
                "were clipped. Coefficients, intervals and R^2 describe the clipped rows: slopes are most "
                "often too close to 0 and residuals too small. Declare wider bounds for "
                f"{clipped.name} in the next release."
            )
            yield clipped, text


def _spelled(shares: Sequence[ClippedShare]) -> Iterator[str]:
    for clipped in shares[:_NAMED]:
        yield f"{clipped.name} {clipped.share:.1%} ({clipped.low:.1%} to {clipped.high:.1%})"
    rest = shares[_NAMED:]
    if rest:
        yield f"each of {len(rest)} other columns at most {max(clipped.high for clipped in rest):.1%}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_NAMED])} and {more} more columns"

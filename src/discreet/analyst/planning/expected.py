"""Expected accuracy of a release, computed before any data is opened."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.accounting.noise_distribution import ROWS, WEIGHT_STEPS, NoiseDistribution, NoiseFamily, entry_blocks
from discreet.analyst.equations.normal import NO_SQUARE, NormalEquations, declared_widths
from discreet.analyst.inference.contrasts import TOO_WIDE, noise_known_beforehand, unit_map
from discreet.analyst.model import fit, read_model
from discreet.analyst.planning.assumptions import Assumptions
from discreet.analyst.planning.simulation import (
    Draws,
    errors_now,
    regressor_moments,
    score_at,
    supposed_slopes,
    target_moments,
)
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.errors import OptionError
from discreet.exact.arrays import FloatArray
from discreet.number_text import percent
from discreet.privacy.checks import listed
from discreet.releases.fields import Coefficients
from discreet.releases.reference_distribution import NotEstimable, checked_level, family_of, known
from discreet.releases.release import Release
from discreet.text import aligned, html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# -- values ------------------------------------------------------------------------------------------------------------
# The plan and its parts.

_LINES: Final = 15  # coefficients printed
ENOUGH: Final = 0.9  # fraction of tables with a bounded interval that makes a coefficient estimable
_CLEARLY: Final = 0.95  # ratio of two medians over simulated releases that is not chance


@dataclass(frozen=True, slots=True)
class PlannedCoefficient:
    """Expected accuracy of one coefficient, in original units. Numbers are None if it will not be estimable.

    Attributes
    ----------
    std_error, width, privacy_share
        Medians over the noise of the standard error, the interval width, and the fraction of the squared standard
        error that is privacy noise.
    reason
            Why the coefficient is not estimable, or None if at least 90% of tables give a bounded interval.
    privacy_sd
            Privacy part of the standard error. It may be known even if `reason` is not None.
    interval_share
            Fraction of tables in which the interval is bounded, or None if not computed.
    supposed
            The coefficient implied by the assumptions, or None without assumptions.
    one_pass_width
            In a plan for `staged`: the interval width that a release by `gaussian` would give with the same budget, or
            None if fewer than 90% of tables would give a bounded interval.
    """

    name: str
    std_error: float | None
    width: float | None
    privacy_share: float | None
    reason: str | None
    privacy_sd: float | None = None
    interval_share: float | None = None
    supposed: float | None = None
    one_pass_width: float | None = None

    @property
    def one_pass_narrower(self) -> bool:
        """Whether a release by `gaussian` would give a clearly narrower interval, or the only bounded one."""
        if self.one_pass_width is None:
            return False
        return self.width is None or self.one_pass_width < _CLEARLY * self.width


@dataclass(frozen=True, slots=True)
class PlannedNoise:
    """Noise standard deviation of one statistic, or of each entry of a block of sums, in scaled units."""

    statistic: str
    sd: float


@dataclass(frozen=True, slots=True)
class Declared:
    """The parts of a design that a plot of a plan needs."""

    target: str
    width: float  # of the target's declared range
    ranges: tuple[float | None, ...]  # width of each slope's column; None for an indicator or a basis function

    @classmethod
    def of(cls, design: Design) -> Declared:
        """Read the names and ranges of a design."""
        target = design.columns[design.target]
        width = target.bounds[1] - target.bounds[0] if isinstance(target, Numeric) else 1.0
        return cls(design.target, width, tuple(declared_widths(design, design.regressors)))


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """Expected accuracy of the full model at one budget.

    Attributes
    ----------
    noise
            Noise of every statistic that the mechanism publishes or uses.
    noise_sd
        Noise standard deviation of every sum of products, shape (p, p), with None for sums that are not released.
        Empty for a mechanism that publishes coefficients.
    declared
            Names and ranges of the design, for plots.
    assumptions
            Assumptions about the table, or None if the plan uses the sums of an existing release instead.
    """

    epsilon: float
    delta: float
    rows: float
    level: float
    mechanism: str
    coefficients: tuple[PlannedCoefficient, ...]
    noise: tuple[PlannedNoise, ...]
    noise_sd: tuple[tuple[float | None, ...], ...]
    declared: Declared = field(repr=False)
    assumptions: Assumptions | None = None

    @property
    def estimable(self) -> bool:
        """Whether every coefficient has a bounded interval in at least 90% of tables."""
        return all(coefficient.reason is None for coefficient in self.coefficients)

    @property
    def one_pass_note(self) -> str:
        """The coefficients for which a release by `gaussian` would give narrower intervals; empty if there are none."""
        better = [one for one in self.coefficients if one.one_pass_narrower]
        if not better:
            return ""
        widths = ", ".join(f"{one.name} {_shown(one.one_pass_width)}" for one in better)
        return f"The mechanism 'gaussian' would give narrower intervals. Their widths: {widths}"

    def plot(self, path: str | Path | None = None, *, over: Iterable[Plan] = (), force: bool = False) -> Figure:
        """Plot the expected intervals over the declared range of each column, or their widths against epsilon.

        Parameters
        ----------
        path
                File to save the figure to, or None. The name must end in .svg, .png or .pdf.
        over
            Plans for the same design at other budgets. The figure then shows widths against epsilon, including this
            plan.
        force
                Whether to replace an existing file.

        Examples
        --------
        >>> import discreet
        >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
        >>> plans = [discreet.plan(design, rows=10_000, epsilon=e, delta=1e-6) for e in (0.5, 1.0, 2.0)]
        >>> figure = plans[1].plot()
        >>> widths = plans[1].plot(over=plans)
        """
        from discreet.analyst.plots.line_plots import plan_figure, width_figure
        from discreet.analyst.plots.style import checked_destination, saved

        checked_destination(path, force=force)
        plans = {plan.epsilon: plan for plan in (*_checked(over, self), self)}
        figure = plan_figure(self) if len(plans) == 1 else width_figure([plans[epsilon] for epsilon in sorted(plans)])
        return saved(figure, path, force=force)

    def _rows(self) -> list[list[str]]:
        return [
            [
                planned.name,
                *(_shown(value) for value in (planned.supposed, planned.std_error, planned.width)),
                "-" if planned.privacy_share is None else f"{planned.privacy_share:.0%}",
                *([_shown(planned.privacy_sd)] if self._only_noise else []),
            ]
            for planned in self.coefficients
        ]

    @property
    def _only_noise(self) -> bool:
        return all(planned.width is None for planned in self.coefficients)

    @property
    def _heads(self) -> list[str]:
        heads = ["coefficient", "assumed", "std err", f"{percent(self.level)} width", "privacy"]
        return [*heads, "privacy sd"] if self._only_noise else heads

    def _notes(self) -> list[str]:
        why: dict[str, list[str]] = {}
        for planned in self.coefficients:
            if planned.reason is not None:
                why.setdefault(planned.reason, []).append(planned.name)
        notes = [f"Not estimable ({', '.join(names)}): {reason}" for reason, names in why.items()]
        return [*notes, self.one_pass_note] if self.one_pass_note else notes

    @property
    def _title(self) -> str:
        return f"Plan: {self.mechanism}, epsilon = {self.epsilon:g}, delta = {self.delta:g}, {self.rows:,.0f} rows"

    def __repr__(self) -> str:
        rows = self._rows()
        shown = rows if len(rows) <= _LINES else rows[: _LINES - 1]
        more = [] if len(shown) == len(rows) else [f"... and {len(rows) - len(shown)} more coefficients"]
        return "\n".join([self._title, *aligned([self._heads, *shown]), *more, *self._notes()])

    def _repr_html_(self) -> str:
        return html_table(self._title, self._heads, self._rows(), self._notes())

    def to_dict(self) -> dict[str, object]:
        """Return the plan as plain values for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": self.rows,
            "level": self.level,
            "mechanism": self.mechanism,
            "estimable": self.estimable,
            "assumptions": None if self.assumptions is None else self.assumptions.to_dict(),
            "coefficients": [asdict(coefficient) for coefficient in self.coefficients],
            "noise": {planned.statistic: planned.sd for planned in self.noise},
        }


def _checked(over: object, plan: Plan) -> list[Plan]:
    plans = listed(over)
    names = [coefficient.name for coefficient in plan.coefficients]
    if plans is None or not all(isinstance(item, Plan) for item in plans):
        raise OptionError(option="over", given=over, allowed="a list of plans")
    if any([coefficient.name for coefficient in other.coefficients] != names for other in plans):
        raise OptionError(
            "expected plans with the same coefficients",
            code="different-plans",
            option="over",
            allowed="plans with the same coefficients as this plan",
            remedy="make all plans from the same design",
        )
    return plans


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


# -- expected ----------------------------------------------------------------------------------------------------------
# Expected accuracy of a release before any data is opened.
#
# A plan computes the sums that a table with the assumed properties would have, adds simulated noise of the mechanism,
# and applies the library's inference. Nothing is computed from data.

_ROUGH: Final = 60  # draws that give the factor to two digits
_FACTOR_STEP: Final = 1.4
_LARGEST_FACTOR: Final = 1000.0
_FEW_COLUMNS: Final = 40  # up to this many coefficients, a rough factor is refined with confidence sets
_BRACKET: Final = 1.01  # ratio of the ends at which the search for a setting stops
_BESIDE: Final = 1.004
_ROUNDING: Final = 1e-10
_UNBOUNDED: Final = "the release gives no bounded interval at this level"


def expected_release(design: Design, distribution: NoiseDistribution, assumptions: Assumptions) -> Release:
    """Build a release with the expected sums of the assumed table and the mechanism's noise distribution.

    It contains no data about anyone and is marked NOT PRIVATE.
    """
    mean, covariance = regressor_moments(design, assumptions.supposed)
    target_mean, target_sd = target_moments(design, assumptions.supposed)
    slopes = supposed_slopes(design, assumptions, covariance, target_sd)
    row = np.concatenate([[1.0], mean, [target_mean]])
    second = np.outer(row, row)
    second[1:-1, 1:-1] += covariance
    second[1:-1, -1] += covariance @ slopes
    second[-1, 1:-1] = second[1:-1, -1]
    second[-1, -1] += target_sd**2
    planned_rows = release_of(design, distribution, second * assumptions.rows * _mean_weight(design, assumptions))
    if design.weights is None:
        return planned_rows
    rows = round(assumptions.rows)
    if design.rows_public:
        return replace(planned_rows, units_public=rows)
    return replace(planned_rows, scalars={ROWS: rows * distribution.unit})


def _mean_weight(design: Design, assumptions: Assumptions) -> float:
    """Return the assumed mean weight divided by the largest. Weights are assumed independent of other columns."""
    if design.weights is None:
        return 1.0
    mean = assumptions.supposed[design.weights].mean
    # the mean of weights computed by a formula cannot be stated: assume half of the largest weight
    return 0.5 if mean is None else mean / design.largest_weight


def release_of(design: Design, distribution: NoiseDistribution, moments: FloatArray) -> Release:
    """Build a release with these sums, keeping only blocks that have noise."""
    size = len(design.released)
    products = (moments[np.triu_indices(size)] * distribution.unit).tolist()
    totals = tuple(
        round(product) if block in distribution.sigma else None
        for block, product in zip(entry_blocks(size), products, strict=True)
    )
    return _planned_release(design, distribution, totals)


def _planned_release(
    design: Design,
    distribution: NoiseDistribution,
    totals: tuple[int | None, ...],
    coefficients: Coefficients | None = None,
) -> Release:
    return Release(
        design=design,
        guarantee=None,
        mechanism="planned",
        mechanism_version="0",
        noise=replace(distribution, calibration="none"),
        totals=totals,
        units_public=None,
        anchor="untracked",
        made_by="a plan",
        coefficients=coefficients,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """Request for a plan: budget, expected rows, interval level and mechanism."""

    epsilon: float
    delta: float
    rows: float
    level: float
    mechanism: str
    assumptions: Assumptions | None = None

    def answered(
        self,
        design: Design,
        coefficients: Sequence[PlannedCoefficient],
        distribution: NoiseDistribution,
        sds: FloatArray | None = None,
    ) -> Plan:
        """Build the plan from its coefficients and noise."""
        noise = tuple(PlannedNoise(name, distribution.sd(name)) for name in distribution.sigma)
        entries = [] if sds is None else sds.tolist()
        entry_sds = tuple(tuple(None if math.isnan(sd) else sd for sd in row) for row in entries)
        return Plan(
            epsilon=self.epsilon,
            delta=self.delta,
            rows=self.rows,
            level=self.level,
            mechanism=self.mechanism,
            coefficients=tuple(coefficients),
            noise=noise,
            noise_sd=entry_sds,
            declared=Declared.of(design),
            assumptions=self.assumptions,
        )


def planned(release: Release, asked: Asked, check: Callable[[], None] = lambda: None) -> Plan:
    """Plan a release whose sums before noise equal the sums of `release`.

    `check` is called repeatedly and may stop the computation by raising.
    """
    if (refused := refused_plan(release, asked)) is not None:
        return refused
    level = checked_level(asked.level)
    model, equations = read_model(release, None, None, None)
    one_table = asked.assumptions is None
    draws = Draws(equations, level, one_table=one_table, check=check)
    errors = draws.errors()
    shares = errors.interval_share
    factors = [1.0] * len(shares) if (shares >= ENOUGH).all() else _factors(draws)
    supposed = [None] * len(shares) if one_table else _coefficients(equations)
    error, width, privacy = (each.tolist() for each in errors.middle())
    sd = [math.sqrt(part) * whole for part, whole in zip(privacy, error, strict=True)]
    coefficients = [
        PlannedCoefficient(name, error[i], width[i], privacy[i], None, sd[i], share, supposed[i])
        if share >= ENOUGH
        else PlannedCoefficient(name, None, None, None, _too_few(factors[i]), None, share, supposed[i])
        for i, (name, share) in enumerate(zip(model.names, shares.tolist(), strict=True))
    ]
    return asked.answered(release.design, coefficients, release.noise, release.noise_sd)


def planned_width(
    release: Release, asked: Asked, coefficient: str, check: Callable[[], None] = lambda: None
) -> float | None:
    """Return the width of one coefficient in `planned`, without computing the others."""
    names = read_model(release, None, None, None)[0].names
    if not (isinstance(coefficient, str) and coefficient in names):
        raise OptionError.unknown_name("coefficient", coefficient, names, option="coefficient")
    return planned_widths(release, asked, [names.index(coefficient)], check)[0]


def planned_widths(
    release: Release, asked: Asked, which: Sequence[int] | None = None, check: Callable[[], None] = lambda: None
) -> list[float | None]:
    """Return only the widths that `planned` computes, for all coefficients or those with indices `which`."""
    level = checked_level(asked.level)
    model, equations = read_model(release, None, None, None)
    if _unknown(equations) is not None:
        return [None] * len(model.names if which is None else which)
    errors = Draws(equations, level, one_table=asked.assumptions is None, check=check).errors(which)
    widths, shares = errors.middle()[1].tolist(), errors.interval_share.tolist()
    return [width if share >= ENOUGH else None for width, share in zip(widths, shares, strict=True)]


def refused_plan(release: Release, asked: Asked) -> Plan | None:
    """Return a plan that says why no standard error can be computed from such sums, or None if they can."""
    reason = _unknown(read_model(release, None, None, None)[1])
    if reason is None:
        return None
    return asked.answered(release.design, _refused(release.design, reason.reason), release.noise, release.noise_sd)


def _unknown(equations: NormalEquations) -> NotEstimable | None:
    """Return the reason why no standard error can be computed, or None."""
    if not equations.has_square:
        return NO_SQUARE
    with np.errstate(over="ignore", invalid="ignore"):
        return None if np.isfinite(unit_map(equations)).all() else TOO_WIDE


def supposed_coefficients(release: Release) -> list[float | None]:
    """Return the coefficients implied by the assumed sums, in original units."""
    return _coefficients(read_model(release, None, None, None)[1])


def _coefficients(equations: NormalEquations) -> list[float | None]:
    """Return coefficients in original units at the assumed sums, or None if the sums are not positive definite."""
    score = score_at(equations)
    if score is None:
        return [None] * len(equations.b)
    theta = score.inverse @ equations.b
    coefficients = equations.original_units([Fraction(value) for value in theta.tolist()])
    # set to 0 what is rounding error compared with the contribution of the largest scaled coefficient
    worth = np.abs(unit_map(equations)).sum(axis=1) * np.abs(theta).max()
    return list(np.where(np.abs(coefficients) <= _ROUNDING * worth, 0.0, coefficients).tolist())


def read_off(release: Release, asked: Asked) -> Plan:
    """Plan from an existing release, without simulation."""
    if (refused := refused_plan(release, asked)) is not None:
        return refused
    level = checked_level(asked.level)
    model, equations = read_model(release, None, None, None)
    errors = errors_now(equations, level)
    medians = zip(*(each.tolist() for each in errors.middle()), strict=True)
    coefficients = [
        PlannedCoefficient(name, error, width, privacy, None, math.sqrt(privacy) * error)
        if math.isfinite(width)
        else PlannedCoefficient(name, None, None, None, _UNBOUNDED)
        for name, (error, width, privacy) in zip(model.names, medians, strict=True)
    ]
    return asked.answered(release.design, coefficients, release.noise, release.noise_sd)


def without_noise(release: Release) -> Release:
    """Correct the sums of a release for the expected effect of its noise on the residual sum.

    The fitted line follows some of the noise, so the residual sum is too small by a known amount on average.
    """
    _, equations = read_model(release, None, None, None)
    score = score_at(equations)
    *others, square = release.totals
    if score is None or square is None:
        return release
    followed = float((score.inverse * score.noise).sum())
    return replace(release, totals=(*others, square + round(followed * release.noise.unit)))


def _factors(draws: Draws) -> list[float]:
    """Estimate by which factor the number of rows must grow to give each coefficient an interval in enough tables.

    The search increases the factor until a sufficient condition bounds the interval. For few columns it then decreases
    the factor again while the confidence sets themselves stay bounded, which is slow for many columns.
    """
    count = min(_ROUGH, draws.usual)
    last = math.ceil(math.log(_LARGEST_FACTOR, _FACTOR_STEP))
    step = np.full(draws.size, last + 1)
    for number in range(1, last + 1):
        waiting = step > last
        if not waiting.any():
            break
        is_bounded = draws.enough(_FACTOR_STEP**number, ENOUGH, count, waiting, sets=False)
        step[is_bounded] = number
    if draws.size <= _FEW_COLUMNS:
        for number in range(last, 0, -1):
            above = step == number + 1
            if above.any():
                is_bounded = draws.enough(_FACTOR_STEP**number, ENOUGH, count, above, sets=True)
                step[is_bounded] = number
    return [_FACTOR_STEP**number if number <= last else math.inf for number in step.tolist()]


def _too_few(factor: float) -> str:
    text = f"fewer than {ENOUGH:.0%} of tables give a bounded interval"
    if not math.isfinite(factor):
        return f"{text}; even {_LARGEST_FACTOR:g} times as many rows would not be enough"
    return f"{text}; about {factor:.2g} times as many rows, or {factor:.2g} times less noise, would be enough"


def planned_inside(design: Design, distribution: NoiseDistribution, asked: Asked) -> Plan:
    """Plan for a mechanism that publishes coefficients, whose interval widths cannot be known."""
    checked_level(asked.level)
    if not noise_known_beforehand(distribution):
        reason = (
            f"the mechanism {asked.mechanism!r} publishes coefficients, and the effect of its noise depends on the "
            "table, so interval widths are not known before or after the release"
        )
        return asked.answered(design, _refused(design, reason), distribution)
    reason = (
        f"the mechanism {asked.mechanism!r} publishes coefficients but no sums, so standard errors and interval widths "
        "for a population are not known before or after the release; only the privacy sd, the effect of the noise, is "
        "known"
    )
    zeros = Coefficients((0.0,) * (len(design.released) - 1))
    sds = fit(_planned_release(design, distribution, (), zeros)).privacy_sd
    coefficients = [replace(planned, privacy_sd=known(sds[planned.name])) for planned in _refused(design, reason)]
    return asked.answered(design, coefficients, distribution)


def _refused(design: Design, reason: str) -> list[PlannedCoefficient]:
    slopes = design.released[1:-1]
    names = ("Intercept", *slopes) if design.intercept else slopes
    return [PlannedCoefficient(name, None, None, None, reason) for name in names]


def smallest(width_at: Callable[[float], float | None], width: float, span: tuple[float, float]) -> float | None:
    """Find the smallest setting in a span, to 1%, at which the interval width is at most `width`, or None.

    The width must decrease with the setting. Locally it is close to a power of the setting, so two steps of three
    interpolate between the ends of the bracket, and go a little beyond the result to close the bracket.

    >>> tried = []
    >>> round(smallest(lambda rows: tried.append(rows) or rows**-0.5, 0.01, (10.0, 1e12)), -2), len(tried)
    (10000.0, 6)
    """
    low, high = span
    low_width, high_width = None, width_at(high)
    if high_width is None or high_width > width:
        return None
    reached, steps = True, 0
    while high / low > _BRACKET:
        steps += 1
        middle = math.sqrt(low * high)
        if low_width is not None and high_width > 0 and steps % 3:
            share = math.log(low_width / width) / math.log(low_width / high_width)
            beyond = math.sqrt(_BESIDE) if reached else 1 / math.sqrt(_BESIDE)
            middle = min(max(low * (high / low) ** share / beyond, low * _BESIDE), high / _BESIDE)
        found = width_at(middle)
        reached = found is not None and found <= width
        if found is not None and reached:
            high, high_width = middle, found
        else:
            low, low_width = middle, found
    return high


# -- two releases ------------------------------------------------------------------------------------------------------
# Two releases of one table combined: each sum becomes the inverse-variance weighted mean of both.


def both_distributions(first: NoiseDistribution, second: NoiseDistribution) -> NoiseDistribution:
    """Return the noise distribution of the inverse-variance weighted means of two releases of the same sums.

    The variance of such a mean is 1 / (1/v1 + 1/v2). If either release has Laplace noise, Laplace noise is assumed,
    because it has the heavier tails.
    """
    families = {family_of(first.family), family_of(second.family)}
    unit = first.unit
    laplace = "laplace" in families
    sigma = {}
    for block in {**first.sigma, **second.sigma}:
        sds = [distribution.sd(block) for distribution in (first, second) if block in distribution.sigma]
        together = 0.0 if 0.0 in sds else sum(sd**-2 for sd in sds) ** -0.5
        sigma[block] = round(together * unit / (math.sqrt(2) if laplace else 1.0))
    family: NoiseFamily = "discrete-laplace" if laplace else "discrete-gaussian"
    # a sum that one release publishes without noise has no noise in the mean
    weights = {name: bits for name, bits in first.parameters.items() if name == WEIGHT_STEPS}
    factors = first.factors or second.factors
    # if only one release draws separate noise for sum and square, the means are no longer one number
    indicators = first.indicators if first.indicators == second.indicators else ()
    return NoiseDistribution(first.grid_bits, sigma, "none", family, weights, factors, indicators)


def with_distribution(release: Release, distribution: NoiseDistribution) -> Release:
    """Return a release as another noise distribution would publish it, keeping only sums that both have."""
    size = len(release.columns)
    blocks = entry_blocks(size)
    sigma = {block: scale for block, scale in distribution.sigma.items() if block in release.noise.sigma}
    totals = tuple(total if block in sigma else None for block, total in zip(blocks, release.totals, strict=True))
    return replace(release, noise=replace(distribution, sigma=sigma, calibration="none"), totals=totals, residuals=None)

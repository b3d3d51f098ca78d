"""What a plan says: plain values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.analyst.equations.units import declared_widths
from discreet.analyst.planning.assumptions import Assumptions
from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.privacy.checks import listed
from discreet.text import aligned, html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES: Final = 15  # coefficients in print
ENOUGH: Final = 0.9  # share of tables that must give an interval for a coefficient to count as estimable


@dataclass(frozen=True, slots=True)
class PlannedCoefficient:
    """What to expect of one coefficient, in original units; none where it will not be estimable.

    Attributes
    ----------
    std_error, width, privacy_share
        Medians over the noise: of the standard error, of the width of the interval, and of the share of the squared
        error that the noise of the release adds.
    reason
        Why the coefficient does not count as estimable; none where at least 90% of such tables give an interval.
    privacy_sd
        Part of the standard error that the noise of the release adds; it may be known where `reason` says why no more
        is.
    interval_share
        Share of such tables in which its interval is bounded; none where that was not asked.
    supposed
        The coefficient that the assumptions amount to; none where nothing was supposed.
    """

    name: str
    std_error: float | None
    width: float | None
    privacy_share: float | None
    reason: str | None
    privacy_sd: float | None = None
    interval_share: float | None = None
    supposed: float | None = None


@dataclass(frozen=True, slots=True)
class PlannedNoise:
    """Standard deviation of the noise of one statistic, or of each entry of a block of sums, in scaled units."""

    statistic: str
    sd: float


@dataclass(frozen=True, slots=True)
class Declared:
    """What a picture of a plan takes from the design.

    Attributes
    ----------
    target, width
        Its name, and the width of its declared range.
    ranges
        Width of the declared range of the column of each slope; none for an indicator or a basis function.
    """

    target: str
    width: float
    ranges: tuple[float | None, ...]

    @classmethod
    def of(cls, design: Design) -> Declared:
        """Read it from a design."""
        target = design.columns[design.target]
        width = target.bounds[1] - target.bounds[0] if isinstance(target, Numeric) else 1.0
        return cls(design.target, width, tuple(declared_widths(design, design.regressors)))


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """Expected accuracy of the full model at one budget.

    Attributes
    ----------
    noise
        Of every statistic that the mechanism publishes or uses.
    noise_sd
        Of every sum of products, shape (p, p), none where it is not released; empty for a mechanism that publishes
        coefficients.
    declared
        Names and ranges for a picture.
    assumptions
        What was supposed of the table; none where the sums of a release replace those of the table.
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
        """Whether every coefficient has a bounded interval in at least 90% of such tables."""
        return all(coefficient.reason is None for coefficient in self.coefficients)

    def plot(self, path: str | Path | None = None, *, over: Iterable[Plan] = (), force: bool = False) -> Figure:
        """Draw the intervals to expect over the declared range of each column, or their widths against epsilon.

        Parameters
        ----------
        path
            Where to save it as well, if anywhere; the name ends in .svg, .png or .pdf.
        over
            Plans for the same design at other budgets: the picture then shows widths against epsilon, of these and of
            this plan.
        force
            Whether to replace an existing file.

        Examples
        --------
        >>> import discreet
        >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
        >>> plans = [discreet.plan(design, rows=10_000, epsilon=e, delta=1e-6) for e in (0.5, 1.0, 2.0)]
        >>> picture = plans[1].plot()
        >>> widths = plans[1].plot(over=plans)
        """
        from discreet.analyst.pictures.plans import plan_figure, width_figure
        from discreet.analyst.pictures.saving import checked_destination, saved

        checked_destination(path, force=force)
        plans = {plan.epsilon: plan for plan in (*_checked(over, self), self)}
        figure = plan_figure(self) if len(plans) == 1 else width_figure([plans[one] for one in sorted(plans)])
        return saved(figure, path, force=force)

    def _rows(self) -> list[list[str]]:
        return [
            [
                one.name,
                *(_shown(value) for value in (one.supposed, one.std_error, one.width)),
                "-" if one.privacy_share is None else f"{one.privacy_share:.0%}",
                *([_shown(one.privacy_sd)] if self._only_noise else []),
            ]
            for one in self.coefficients
        ]

    @property
    def _only_noise(self) -> bool:
        return all(one.width is None for one in self.coefficients)

    @property
    def _heads(self) -> list[str]:
        heads = ["coefficient", "assumed", "std err", f"{100 * self.level:g}% width", "privacy"]
        return [*heads, "privacy sd"] if self._only_noise else heads

    def _notes(self) -> list[str]:
        why: dict[str, list[str]] = {}
        for one in self.coefficients:
            if one.reason is not None:
                why.setdefault(one.reason, []).append(one.name)
        return [f"Not estimable ({', '.join(names)}): {reason}" for reason, names in why.items()]

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
        """The plan as plain values for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": self.rows,
            "level": self.level,
            "mechanism": self.mechanism,
            "estimable": self.estimable,
            "assumptions": None if self.assumptions is None else self.assumptions.to_dict(),
            "coefficients": [asdict(coefficient) for coefficient in self.coefficients],
            "noise": {one.statistic: one.sd for one in self.noise},
        }


def _checked(over: object, plan: Plan) -> list[Plan]:
    given = listed(over)
    names = [one.name for one in plan.coefficients]
    if given is None or not all(isinstance(one, Plan) for one in given):
        raise SpecError(f"over: expected a list of plans, as discreet.plan makes them, got {shown(over)}")
    if any([one.name for one in other.coefficients] != names for other in given):
        raise SpecError("over: expected plans with the same coefficients as this one; make them from the same design")
    return given


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"

"""`path`: one model at many strengths, and which of them the release itself would choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from discreet.analyst.equations.model_columns import SubModel
from discreet.analyst.equations.normal import NO_SQUARE
from discreet.analyst.fitted import Fit
from discreet.analyst.model import at_strength, read_model
from discreet.analyst.solvers.adaptive import SlopeEquations, slope_equations
from discreet.analyst.solvers.criterion import best_of, chosen_path, criterion_values
from discreet.analyst.solvers.penalised import (
    WITH_STRENGTH,
    Penalty,
    PenaltySpec,
    Slopes,
    checked_name,
    checked_ratio,
    checked_strength,
    default_strengths,
    penalised_slopes,
    with_intercept,
)
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import listed
from discreet.releases.reference_law import NotEstimable, known
from discreet.releases.release import Release

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADERS: Final = ("", "strength", "nonzero slopes", "criterion")
_AROUND: Final = 10  # strengths in print


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """One linear model of a release at m strengths.

    Attributes
    ----------
    release, model
        The release it was read from, and which target, features and intercept.
    penalty, l1_ratio
        What was asked for.
    strengths
        From strong to weak, shape (m,).
    criterion
        Expected squared prediction error of a row, for the target scaled to [-1, 1], at each strength: the noisy
        residual sum corrected for all that it flatters by, computed from the release alone, shape (m,). With large
        noise it may be negative; only its differences choose. See `discreet.analyst.solvers.criterion`.
        Not estimable where the release holds no sum of squares of the target; then no strength is the best.
    """

    release: Release
    model: SubModel
    penalty: Penalty
    l1_ratio: float | None
    strengths: FloatArray
    criterion: FloatArray | NotEstimable
    _problem: SlopeEquations = field(repr=False)
    _slopes: Sequence[Slopes] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Coefficient names: `Intercept` first if there is one."""
        return self.model.names

    @property
    def best(self) -> int:
        """Which strength the criterion chooses; of those equal but for rounding the strongest."""
        if isinstance(self.criterion, NotEstimable):
            raise SpecError(f"no strength is the best: {self.criterion.reason}. Choose one by its index in strengths")
        return best_of(self.criterion)

    @property
    def chosen(self) -> int | None:
        """Which strength the criterion chooses, as `best`; none where the release cannot give the criterion."""
        return None if known(self.criterion) is None else self.best

    @property
    def edge(self) -> Literal["strongest", "weakest"] | None:
        """Which end of `strengths` the criterion chose, where a strength beyond it might be better still; or none.

        At the weakest of the default strengths the penalty is as good as none: what is left is least squares or, where
        the noise calls for it, the repair. At the strongest nothing that the model explains stands out from the noise.
        """
        chosen, size = self.chosen, len(self.strengths)
        if chosen is None or size == 1 or 0 < chosen < size - 1:
            return None
        return "weakest" if chosen else "strongest"

    @cached_property
    def coefficients(self) -> FloatArray:
        """Coefficients in original units: one row for each of `names`, one column for each strength, shape (k, m)."""
        exact = (with_intercept(self._problem, slopes).exact for slopes in self._slopes)
        out = np.column_stack([self._problem.equations.original_units(theta) for theta in exact])
        out.flags.writeable = False
        return out

    def fit(self, index: int | None = None) -> Fit:
        """Give the model at one strength by its place in `strengths`; without one at the strength of `best`.

        Parameters
        ----------
        index
            From 0, the strongest penalty; negative places count from the weakest.
        """
        size = len(self.strengths)
        position = self.best if index is None else index
        if isinstance(position, bool) or not isinstance(position, int | np.integer) or not -size <= position < size:
            raise SpecError(f"index: expected one from 0 to {size - 1}, for {size} strengths, got {shown(index)}")
        slopes = self._slopes[position]
        spec = PenaltySpec(self.penalty, "criterion" if index is None else slopes.strength, self.l1_ratio)
        return at_strength(self.release, self.model, self._problem, slopes, spec)

    def plot(self, path: str | FilePath | None = None, *, force: bool = False) -> Figure:
        """Draw the slopes of the scaled columns against the strength, with the chosen one marked.

        Parameters
        ----------
        path
            Where to save it as well, if anywhere; the name ends in .svg, .png or .pdf.
        force
            Whether to replace an existing file.
        """
        from discreet.analyst.plots.line_plots import path_figure
        from discreet.analyst.plots.style import checked_destination, saved

        checked_destination(path, force=force)
        slopes = np.column_stack([one.values for one in self._slopes])
        return saved(path_figure(self, slopes, self.model.slopes), path, force=force)

    @property
    def shown(self) -> range:
        """Places of ten strengths around the chosen one; the first ten where none is chosen."""
        size, chosen = len(self.strengths), self.chosen or 0
        first = max(min(chosen - _AROUND // 2, size - _AROUND), 0)
        return range(first, min(first + _AROUND, size))

    @property
    def nonzero(self) -> list[int]:
        """How many slopes are not 0 at each strength; the intercept is none."""
        slopes = self.coefficients[1:] if self.model.intercept else self.coefficients
        return [int(count) for count in (slopes != 0).sum(axis=0)]

    def cells(self, places: Iterable[int]) -> list[tuple[str, str, str, str]]:
        """Give mark, strength, number of nonzero slopes and criterion at these places, as text.

        Parameters
        ----------
        places
            From 0, the strongest penalty.
        """
        values, nonzero = known(self.criterion), self.nonzero
        return [
            (
                ">" if place == self.chosen else "",
                f"{self.strengths[place]:.6g}",
                str(nonzero[place]),
                "-" if values is None else f"{values[place]:.6g}",
            )
            for place in places
        ]

    @property
    def title(self) -> str:
        """Target and penalty in one line."""
        ratio = "" if self.l1_ratio is None else f", l1_ratio {self.l1_ratio:g}"
        return f"{'' if self.release.private else 'NOT PRIVATE: '}{self.model.target}: {self.penalty}{ratio}"

    def _repr_html_(self) -> str:
        from discreet.text import html_table

        places = self.shown
        left = len(self.strengths) - len(places)
        notes = [f"{left} more strengths are left out."] if left else []
        return html_table(self.title, HEADERS, self.cells(places), notes)

    def __repr__(self) -> str:
        private = "" if self.release.private else ", NOT PRIVATE"
        edge = "" if self.edge is None else f", the {self.edge} of them"
        best = "none of them chosen" if self.chosen is None else f"best {self.strengths[self.chosen]:g}{edge}"
        return (
            f"<Path of {self.model.target} on {', '.join(self.names)}: penalty {self.penalty}, "
            f"{len(self.strengths)} strengths, {best}{private}>"
        )


def path(
    release: Release,
    *,
    target: str | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
    penalty: Penalty = "lasso",
    l1_ratio: float | None = None,
    strengths: Iterable[float] | None = None,
) -> Path:
    """Fit one model of a release at many strengths; like `fit` it costs nothing more.

    Parameters
    ----------
    release, target, features, intercept
        As for `fit`.
    penalty
        `lasso`, `elastic-net` or `ridge`.
    l1_ratio
        From 0 to 1, of `elastic-net`.
    strengths
        Positive numbers; unless given 100 of them, evenly spaced in logarithm from the largest useful strength down to
        a thousandth of it, and up to 70 more below while the weakest is the best: ten for each decade, in the end down
        to 1e-10 of the largest, which is as good as no penalty. The largest useful one is where the last slope becomes
        0, or, for a ridge, ten times the largest eigenvalue of the Gram.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> release = discreet.testing.exact_release({"x": [0, 1, 2], "y": [2, 4, 6]}, design)  # NOT PRIVATE
    >>> discreet.path(release, strengths=[0.5, 0.25, 0.125]).coefficients.round(6)
    array([[4.  , 3.5 , 2.75],
           [0.  , 0.5 , 1.25]])
    """
    name = checked_name(penalty, WITH_STRENGTH)
    ratio = checked_ratio(name, l1_ratio)
    given = None if strengths is None else _checked_strengths(name, strengths)
    model, equations = read_model(release, target, features, intercept)
    problem = slope_equations(equations, release.digest)
    share = PenaltySpec(name, None, ratio).l1_share
    slopes, values = _solved(problem, share, given)
    used = np.array([one.strength for one in slopes])
    used.flags.writeable = False
    return Path(release, model, name, ratio, used, values, problem, slopes)


def _solved(
    problem: SlopeEquations, share: float, given: FloatArray | None
) -> tuple[list[Slopes], FloatArray | NotEstimable]:
    """Slopes at the given strengths or the default ones, and the criterion of each if the release gives it."""
    if not problem.equations.has_square:
        strengths = default_strengths(problem, share) if given is None else given
        return penalised_slopes(problem, strengths.tolist(), share), NO_SQUARE
    if given is None:
        slopes, values = chosen_path(problem, share)
    else:
        slopes = penalised_slopes(problem, given.tolist(), share)
        values = criterion_values(problem, slopes)
    values.flags.writeable = False
    return slopes, values


def _checked_strengths(penalty: Penalty, strengths: object) -> FloatArray:
    given = listed(strengths)
    if given is None:
        raise SpecError(
            f"strengths: expected a list of positive numbers, such as [1.0, 0.1, 0.01], got {shown(strengths)}"
        )
    values = sorted((checked_strength(penalty, strength) for strength in given), reverse=True)
    if not values:
        raise SpecError("strengths is empty; give positive numbers, or leave it out for 100 of them")
    return np.array(values)

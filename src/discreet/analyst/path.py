"""Penalised models at many strengths, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

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
    default_strengths,
    path_strength,
    penalised_slopes,
    with_intercept,
)
from discreet.design.model_columns import SubModel
from discreet.errors import ModelError, OptionError
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import listed
from discreet.releases.reference_distribution import NotEstimable, known
from discreet.releases.release import Release
from discreet.wording import LeaveOut

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADERS: Final = ("", "strength", "nonzero slopes", "criterion")
_AROUND: Final = 10  # strengths printed


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """One penalised model of a release at m strengths.

    Attributes
    ----------
    release, model
        The release, and the target, features and intercept.
    penalty, l1_ratio
        The requested penalty.
    strengths
        Penalty strengths from strong to weak, shape (m,).
    criterion
        Expected squared prediction error of a row at each strength, for the target scaled to [-1, 1], shape (m,). It is
        the noisy residual sum corrected for optimism (see `discreet.analyst.solvers.criterion`). Only differences are
        meaningful, and with large noise it may be negative. It is `NotEstimable`, and no strength is chosen, if the
        release has no sum of squares of the target.
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
        """Coefficient names, starting with `Intercept` if there is one."""
        return self.model.names

    @property
    def best(self) -> int:
        """Index of the strength that minimises the criterion. Ties within rounding go to the strongest penalty."""
        if isinstance(self.criterion, NotEstimable):
            raise ModelError(
                f"the criterion that chooses a strength is not estimable: {self.criterion.reason}",
                code="no-criterion",
                remedy="pass the index of a strength",
            )
        return best_of(self.criterion)

    @property
    def chosen(self) -> int | None:
        """Same as `best`, or None if the criterion is not estimable."""
        return None if known(self.criterion) is None else self.best

    @property
    def edge(self) -> Literal["strongest", "weakest"] | None:
        """Which end of `strengths` the criterion chose, or None for a strength in between.

        At the weakest default strength the penalty has practically no effect. If the strongest is chosen, the noise
        hides everything that the model explains.
        """
        chosen, size = self.chosen, len(self.strengths)
        if chosen is None or size == 1 or 0 < chosen < size - 1:
            return None
        return "weakest" if chosen else "strongest"

    @cached_property
    def coefficients(self) -> FloatArray:
        """Coefficients in original units, one row for each name and one column for each strength, shape (k, m)."""
        exact = (with_intercept(self._problem, slopes).exact for slopes in self._slopes)
        out = np.column_stack([self._problem.equations.original_units(theta) for theta in exact])
        out.flags.writeable = False
        return out

    def fit(self, index: int | None = None) -> Fit:
        """Return the model at one strength, by default the best one.

        Parameters
        ----------
        index
            Index in `strengths`, from 0 for the strongest penalty. Negative indices start from the weakest.
        """
        size = len(self.strengths)
        position = self.best if index is None else index
        if isinstance(position, bool) or not isinstance(position, int | np.integer) or not -size <= position < size:
            raise OptionError(option="index", given=index, allowed=f"an integer from 0 to {size - 1}")
        slopes = self._slopes[position]
        spec = PenaltySpec(self.penalty, "criterion" if index is None else slopes.strength, self.l1_ratio)
        return at_strength(self.release, self.model, self._problem, slopes, spec)

    def plot(self, path: str | FilePath | None = None, *, force: bool = False) -> Figure:
        """Plot the slopes of the scaled columns against the strength, with the chosen strength marked.

        Parameters
        ----------
        path
            File to save the plot to, or None. The name must end in .svg, .png or .pdf.
        force
            Whether to replace an existing file.
        """
        from discreet.analyst.plots.line_plots import path_figure
        from discreet.analyst.plots.style import checked_destination, saved

        checked_destination(path, force=force)
        slopes = np.column_stack([solution.values for solution in self._slopes])
        return saved(path_figure(self, slopes, self.model.slopes), path, force=force)

    @property
    def shown(self) -> range:
        """Indices of ten strengths around the chosen strength, or of the first ten if none is chosen."""
        size, chosen = len(self.strengths), self.chosen or 0
        first = max(min(chosen - _AROUND // 2, size - _AROUND), 0)
        return range(first, min(first + _AROUND, size))

    @property
    def nonzero(self) -> list[int]:
        """Number of nonzero slopes at each strength, without the intercept."""
        slopes = self.coefficients[1:] if self.model.intercept else self.coefficients
        return [int(count) for count in (slopes != 0).sum(axis=0)]

    def cells(self, indices: Iterable[int]) -> list[tuple[str, str, str, str]]:
        """Return the mark, strength, number of nonzero slopes and criterion at these indices, as text.

        Parameters
        ----------
        indices
            Indices in `strengths`, from 0 for the strongest penalty.
        """
        values, nonzero = known(self.criterion), self.nonzero
        return [
            (
                ">" if index == self.chosen else "",
                f"{self.strengths[index]:.6g}",
                str(nonzero[index]),
                "-" if values is None else f"{values[index]:.6g}",
            )
            for index in indices
        ]

    @property
    def title(self) -> str:
        """Title with target and penalty."""
        ratio = "" if self.l1_ratio is None else f", l1_ratio {self.l1_ratio:g}"
        return f"{'' if self.release.private else 'NOT PRIVATE: '}{self.model.target}: {self.penalty}{ratio}"

    def _repr_html_(self) -> str:
        from discreet.text import html_table

        omitted = len(self.strengths) - len(self.shown)
        notes = [f"{omitted} other strengths not shown."] if omitted else []
        return html_table(self.title, HEADERS, self.cells(self.shown), notes)

    def __repr__(self) -> str:
        private = "" if self.release.private else ", NOT PRIVATE"
        edge = "" if self.edge is None else f", the {self.edge} of them"
        best = "none chosen" if self.chosen is None else f"best {self.strengths[self.chosen]:g}{edge}"
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
    """Fit one model of a release at many strengths, at no additional privacy cost.

    Parameters
    ----------
    release, target, features, intercept
        As for `fit`.
    penalty
        `lasso`, `elastic-net` or `ridge`.
    l1_ratio
        Weight of the L1 norm in the penalty of `elastic-net`, from 0 to 1.
    strengths
        Positive numbers. The default is 100 strengths, logarithmically spaced from the largest useful strength down to
        a thousandth of it. As long as the weakest is the best, up to 70 weaker strengths are added, ten per decade,
        down to 1e-10 of the largest. The largest useful strength is the smallest at which all slopes are 0 or, for
        `ridge`, ten times the largest eigenvalue of the Gram matrix.

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
    requested = None if strengths is None else _checked_strengths(strengths)
    model, equations = read_model(release, target, features, intercept)
    problem = slope_equations(equations, release.digest)
    share = PenaltySpec(name, None, ratio).l1_share
    slopes, values = _solved(problem, share, requested)
    used = np.array([solution.strength for solution in slopes])
    used.flags.writeable = False
    return Path(release, model, name, ratio, used, values, problem, slopes)


def _solved(
    problem: SlopeEquations, share: float, requested: FloatArray | None
) -> tuple[list[Slopes], FloatArray | NotEstimable]:
    """Compute slopes at the requested or default strengths, and the criterion if it is estimable."""
    if not problem.equations.has_square:
        strengths = default_strengths(problem, share) if requested is None else requested
        return penalised_slopes(problem, strengths.tolist(), share), NO_SQUARE
    if requested is None:
        slopes, values = chosen_path(problem, share)
    else:
        slopes = penalised_slopes(problem, requested.tolist(), share)
        values = criterion_values(problem, slopes)
    values.flags.writeable = False
    return slopes, values


def _checked_strengths(strengths: object) -> FloatArray:
    items = listed(strengths)
    if items is None:
        raise OptionError(
            option="strengths", given=strengths, allowed="a list of positive numbers, such as [1.0, 0.1, 0.01],"
        )
    values = sorted((path_strength(strength) for strength in items), reverse=True)
    if not values:
        raise OptionError(
            option="strengths", given=strengths, allowed="at least one positive number", remedy=LeaveOut("strengths")
        )
    return np.array(values)

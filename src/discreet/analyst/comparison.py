"""Several models of one release side by side: reading them all costs no more than reading one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from discreet.analyst.equations.sums import NO_SQUARE, check_moments
from discreet.analyst.inference.reference_law import DEFAULT_LEVEL, checked_level
from discreet.analyst.model import check_release, fit, read_model
from discreet.analyst.solvers.criterion import criterion_values
from discreet.analyst.solvers.penalised import penalised_slopes
from discreet.analyst.solvers.repair import slope_equations
from discreet.analyst.summary.summary import shown_rsquared
from discreet.analyst.values.estimates import Interval, Number
from discreet.analyst.values.not_estimable import (
    NotEstimable,
    NotEstimableError,
    known,
    mapped,
    reason_of,
    shown_number,
)
from discreet.errors import SpecError, shown
from discreet.privacy.checks import listed
from discreet.releases import Release

if TYPE_CHECKING:
    from pyarrow import Table

POST_PROCESSING: Final = (
    "All models are read from the same release: post-processing, which costs no further budget. An interval of the "
    "model that looks best does not allow for the choice."
)


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """One model of a comparison.

    Attributes
    ----------
    features
        Declared names.
    coefficients
        How many, the intercept included.
    rsquared_adj, rsquared_interval
        Adjusted R^2, and an interval for the R^2 of the population.
    error
        Expected squared prediction error of a row in squared units of the target, corrected for what a noisy residual
        sum flatters by; `discreet.analyst.solvers.criterion` derives it. It may be negative, which is
        printed as not estimable; only differences count.
    repaired
        Whether the noise left the sums too close to indefinite for least squares, so that `error` is that of a line
        with the smallest ridge that repairs them.
    """

    features: tuple[str, ...]
    coefficients: int
    rsquared_adj: Number
    rsquared_interval: Interval
    error: Number
    repaired: bool


@dataclass(frozen=True, slots=True, repr=False)
class ModelComparison:
    """Models of one release, in the order in which they were asked for.

    Attributes
    ----------
    target
        Declared name of the explained column.
    models
        What is known of each.
    """

    target: str
    models: tuple[ComparedModel, ...]

    @property
    def best(self) -> int:
        """Place of the model with the smallest expected prediction error; of equals the first."""
        errors = [(known(one.error), index) for index, one in enumerate(self.models)]
        found = [(error, index) for error, index in errors if error is not None]
        if not found:
            raise NotEstimableError("not estimable: no model of the comparison has an expected prediction error")
        return min(found)[1]

    def to_frame(self) -> Table:
        """Give the comparison as an Arrow table; null, and a reason, where the release cannot say."""
        import pyarrow as pa

        ends = [one.rsquared_interval for one in self.models]
        floats = {
            "rsquared_adj": [one.rsquared_adj for one in self.models],
            "rsquared_low": [mapped(one, attrgetter("lower")) for one in ends],
            "rsquared_high": [mapped(one, attrgetter("upper")) for one in ends],
            "error": [one.error for one in self.models],
        }
        whys = [next(filter(None, map(reason_of, row)), None) for row in _rows(floats)]
        columns = {
            "features": pa.array([" + ".join(one.features) or "1" for one in self.models], type=pa.string()),
            "coefficients": pa.array([one.coefficients for one in self.models], type=pa.int64()),
        }
        for name, values in floats.items():
            columns[name] = pa.array([known(value) for value in values], type=pa.float64())
        columns["repaired"] = pa.array([one.repaired for one in self.models], type=pa.bool_())
        return pa.table(columns | {"reason": pa.array(whys, type=pa.string())})

    def __repr__(self) -> str:
        lines = [
            f"Models of {self.target}: adjusted R^2 [interval, assumes Gaussian rows], expected squared error of a row"
        ]
        for one in self.models:
            ends, value = known(one.rsquared_interval), known(one.error)
            # below 0 the noise has outweighed it: only differences between models count then
            error = "not estimable" if value is not None and value < 0 else shown_number(one.error, ".4g")
            adjusted = shown_rsquared(one.rsquared_adj, one.rsquared_interval)
            interval = "-" if ends is None else f"{ends.lower:.3g} to {ends.upper:.3g}"
            repaired = ", repaired" if one.repaired else ""
            lines.append(f"  {' + '.join(one.features) or '1'}: {adjusted} [{interval}], {error}{repaired}")
        return "\n".join([*lines, POST_PROCESSING])


def compare_models(
    release: Release,
    models: Iterable[Iterable[str]],
    *,
    target: str | None = None,
    intercept: bool | None = None,
    level: float = DEFAULT_LEVEL,
) -> ModelComparison:
    """Compare several models of a release; like `fit` it costs nothing more.

    Parameters
    ----------
    release
        What a curator published.
    models
        Lists of declared features, one for each model.
    target, intercept
        As for `fit`, the same for all.
    level
        Of the intervals for R^2.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> table = {"x": [0, 1, 2, 1.5, 0.5], "y": [2, 5, 6, 4, 4]}
    >>> release = discreet.testing.exact_release(table, design)  # NOT PRIVATE
    >>> compared = discreet.compare_models(release, [[], ["x"]])
    >>> [round(one.rsquared_adj, 4) for one in compared.models], compared.best
    ([0.0, 0.6364], 1)
    """
    checked = checked_level(level)
    wanted = listed(models)
    if wanted is None:
        raise SpecError(
            f"models: expected a list of lists of features, such as [['age'], ['age', 'region']], got {shown(models)}"
        )
    if not wanted:
        raise SpecError("got no models to compare; give lists of features, such as [['age'], ['age', 'region']]")
    check_release(release, "compare_models")
    check_moments(release, "a comparison of models")
    compared = [_compared(release, features, target, intercept, checked) for features in wanted]
    return ModelComparison(release.design.target if target is None else target, tuple(compared))


def _compared(
    release: Release, features: Iterable[str], target: str | None, intercept: bool | None, level: float
) -> ComparedModel:
    model, equations = read_model(release, target, features, intercept)
    error: Number
    one = fit(release, target=target, features=model.features, intercept=model.intercept)
    adjusted, ends = one.rsquared_adj, one.rsquared_conf_int(level)
    repaired = False
    try:
        problem = slope_equations(equations, release.digest)
        slopes = penalised_slopes(problem, [0.0], 0.0)
        repaired = slopes[0].repair > 0
        error = NO_SQUARE
        if equations.has_square:
            (value,) = criterion_values(problem, slopes).tolist()
            half = float(equations.half[-1])
            error = value * half * half
    except NotEstimableError:
        error = NotEstimable("the noise outweighs the number of rows")
    return ComparedModel(model.features, len(model.names), adjusted, ends, error, repaired)


def _rows(columns: dict[str, list[Number]]) -> list[tuple[Number, ...]]:
    return list(zip(*columns.values(), strict=True))

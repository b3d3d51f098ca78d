"""`fit`: any linear model from one release, at no further cost, and the `Fit` that it gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np

from discreet.analyst.adaptive import adaptive_ridge
from discreet.analyst.normal_equations import NormalEquations, normal_equations
from discreet.analyst.parameters import Parameters
from discreet.analyst.selection import SubModel, choose
from discreet.analyst.solve import Solution, solve_ols, solve_ridge
from discreet.analyst.summary import notes, summary_text
from discreet.design.columns import Column
from discreet.errors import SpecError
from discreet.releases import FloatArray, Release

Penalty = Literal["none", "ridge", "adaptive"]
PENALTIES: Final[tuple[Penalty, ...]] = get_args(Penalty)
_LARGEST_STRENGTH: Final = 1e100


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A linear model read from a release.

    The coefficients describe the rows as they were released: clipped to their bounds and, in a design with a `radius`,
    shrunk to that ball.

    Attributes
    ----------
    release
        Where it came from.
    model
        Which target, features and intercept.
    penalty, strength
        What was asked for; strength only for `ridge`.
    ridge
        What was added to the diagonal of the sums of products of the scaled columns; 0 without a penalty.
    scaled_coefficients
        In the order of `names`: for columns scaled to [-1, 1] with the intercept of the scaled target, or, in a model
        without intercept, for columns divided by half the width of their bounds.
    coefficients
        In the order of `names`, in original units.
    nobs, nobs_sd
        Number of rows, noisy or public, and the standard deviation of its noise.
    """

    release: Release
    model: SubModel
    penalty: Penalty
    strength: float | None
    ridge: float
    scaled_coefficients: FloatArray
    coefficients: FloatArray
    nobs: float
    nobs_sd: float
    _constant: float = field(repr=False)
    _gains: FloatArray = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Coefficient names: `Intercept` first if there is one."""
        return self.model.names

    @property
    def target(self) -> str:
        """Declared name of the explained column."""
        return self.model.target

    @property
    def features(self) -> tuple[str, ...]:
        """Declared names of the regressors."""
        return self.model.features

    @property
    def params(self) -> Parameters:
        """Coefficients in original units by name."""
        return Parameters(self.names, self.coefficients.tolist())

    @property
    def _columns(self) -> dict[str, Column]:
        return {name: self.release.design.columns[name] for name in self.features}

    def predict(self, frame: object) -> FloatArray:
        """Predict the target, row for row, in original units.

        Numbers outside their bounds are clipped, as they were for the release. The ball of a design with a `radius`
        is not applied: it is a device of the release.

        Parameters
        ----------
        frame
            A table in memory with the features by name (pandas, polars, pyarrow, DuckDB relation, dict of columns), or
            a two-dimensional array whose columns stand in the order of `features`.

        Returns
        -------
        numpy.ndarray
            One float for each row. A missing cell, or a level that is not declared, follows the rule of its column:
            `error` refuses the table, a fill value stands in, and `drop` leaves NaN in the place of that row.
        """
        from discreet.analyst.prediction import predict_frame  # Arrow is slow to import and only needed here

        return predict_frame(frame, self._columns, self._constant, self._gains)

    def predict_arrays(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """Predict from one float64 array for each of `features`: numbers, 0/1 or level positions; see `predict`."""
        from discreet.analyst.prediction import predict_columns

        return predict_columns(arrays, self._columns, self._constant, self._gains)

    def summary(self) -> str:
        """Coefficients, number of rows, penalty and guarantee as plain text."""
        return summary_text(self)

    def to_dict(self) -> dict[str, object]:
        """Give the fit as plain values for JSON."""
        guarantee = self.release.guarantee
        return {
            "target": self.target,
            "features": list(self.features),
            "intercept": self.model.intercept,
            "penalty": self.penalty,
            "strength": self.strength,
            "ridge": self.ridge,
            "params": dict(self.params),
            "nobs": self.nobs,
            "nobs_public": self.nobs_sd == 0,
            "private": self.release.private,
            "epsilon": None if guarantee is None else guarantee.epsilon,
            "delta": None if guarantee is None else guarantee.delta,
            "neighbours": None if guarantee is None else guarantee.neighbours,
            "notes": notes(self),
        }

    def __repr__(self) -> str:
        private = "" if self.release.private else ", NOT PRIVATE"
        return f"<Fit of {self.target} on {', '.join(self.names)}: penalty {self.penalty}{private}>"


def fit(
    release: Release,
    *,
    target: str | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
    penalty: Penalty = "none",
    strength: float | None = None,
    l1_ratio: float | None = None,
) -> Fit:
    """Fit a linear model to a release; any number of models of one release cost nothing more.

    Parameters
    ----------
    release
        What a curator published.
    target
        Declared numeric or boolean column to explain; the design's target unless named.
    features
        Declared names, in the order wanted; every other declared column unless named. A categorical name stands for
        all its indicators.
    intercept
        Whether the model has a free constant; as the design says unless given.
    penalty
        `none`: ordinary least squares, refused where noise outweighs signal. `ridge`: with a strength of your own.
        `adaptive`: a ridge as large as the noise calls for, for prediction.
    strength
        Of `ridge`, per row as in scikit-learn's elastic net: minimises (1/2n) ||y - X theta||^2 +
        (strength/2) ||theta||^2 over the slopes of the scaled columns, that is, adds strength times the (noisy) number
        of rows, at least 1, to the diagonal. The intercept is not penalised.
    l1_ratio
        Belongs to penalties that are not available yet.

    Returns
    -------
    Fit

    Examples
    --------
    >>> from discreet.design.model import Design
    >>> from discreet.releases import BLOCKS, NoiseLaw
    >>> exact = NoiseLaw(8, dict.fromkeys(BLOCKS, 0), "none")
    >>> rows = [(1, -1, -0.5), (1, 0, 0), (1, 1, 0.5)]  # scaled: constant, x, y
    >>> totals = [round(sum(row[i] * row[j] for row in rows) * 4**8) for i in range(3) for j in range(i, 3)]
    >>> design = Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> release = Release(design, None, "none", "1", exact, tuple(totals), None, "untracked", "an example")
    >>> fit(release).params
    Intercept  2
    x          2
    """
    if not isinstance(release, Release):
        raise SpecError(f"fit needs a Release; {type(release).__name__} came. Load one with Release.load(path)")
    checked_strength = _checked_penalty(penalty, strength, l1_ratio)
    model = choose(release, target, features, intercept)
    equations = normal_equations(release, model)
    solution = _solved(equations, release, penalty, checked_strength)
    theta = solution.coefficients
    constant, gains = _prediction_terms(equations, theta)
    return Fit(
        release=release,
        model=model,
        penalty=penalty,
        strength=checked_strength,
        ridge=solution.ridge,
        scaled_coefficients=_frozen(theta),
        coefficients=_frozen(equations.original_units(solution.exact)),
        nobs=equations.nobs,
        nobs_sd=equations.nobs_sd,
        _constant=constant,
        _gains=_frozen(gains),
    )


def _checked_penalty(penalty: object, strength: object, l1_ratio: object) -> float | None:
    if penalty not in PENALTIES:
        raise SpecError.unknown_name("penalty", str(penalty), PENALTIES)
    if l1_ratio is not None:
        raise SpecError(
            f"l1_ratio {l1_ratio!r} came; none of the penalties {', '.join(PENALTIES)} takes it; leave it out"
        )
    if penalty != "ridge":
        if strength is not None:
            raise SpecError(
                f"strength {strength!r} came with penalty {penalty!r}; only 'ridge' takes one; leave it out"
            )
        return None
    if isinstance(strength, bool) or not isinstance(strength, int | float | np.integer | np.floating):
        raise SpecError(f"strength is {strength!r}; penalty 'ridge' needs a positive number, such as strength=0.1")
    try:
        value = float(strength)
    except OverflowError:
        value = math.inf
    # beyond the limit every slope is 0 anyway, and strength times rows would leave double precision
    if not 0 < value <= _LARGEST_STRENGTH:
        raise SpecError(
            f"strength is {strength!r}; it must be positive and at most {_LARGEST_STRENGTH:g}; "
            "for no penalty use penalty='none'"
        )
    return value


def _solved(equations: NormalEquations, release: Release, penalty: Penalty, strength: float | None) -> Solution:
    A, b = equations.whole_gram, equations.whole_b
    if penalty == "none":
        return solve_ols(A, b)
    if strength is not None:
        penalised = np.ones(len(b), dtype=np.bool_)
        penalised[0] = not equations.intercept
        # a noisy count can be below one row; a ridge stays a ridge
        return solve_ridge(A, b, strength * max(equations.nobs, 1.0), penalised, unit=equations.unit)
    rule = adaptive_ridge(equations, release.digest)
    return solve_ridge(A, b, rule.ridge, rule.penalised, unit=equations.unit)


def _prediction_terms(equations: NormalEquations, theta: FloatArray) -> tuple[float, FloatArray]:
    """Constant and gains of the prediction from scaled features, in the units of the target."""
    half, mid = float(equations.half[-1]), float(equations.mid[-1])
    if equations.intercept:
        return mid + half * float(theta[0]), half * theta[1:]
    return half * float(theta @ equations.shift[:-1]), half * theta


def _frozen(values: FloatArray) -> FloatArray:
    values.flags.writeable = False
    return values

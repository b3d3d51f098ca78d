"""Slopes of the table that is planned for: stated ones, and for the rest what R^2 leaves them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.planning.assumptions import Assumptions
from discreet.analyst.planning.table import regressor_moments, target_moments
from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.design.scales import scales_of
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray

_SMALL: Final = 1e-9


def settled(design: Design, assumptions: Assumptions) -> Assumptions:
    """The same assumptions with the R^2 that follows where every slope is stated."""
    asked = _stated(design, assumptions)
    if np.isnan(asked).any():
        return assumptions
    stated = _in_scaled_units(design, asked, np.zeros_like(asked))
    _, covariance = regressor_moments(design, assumptions.supposed)
    _, target_sd = target_moments(design, assumptions.supposed)
    share = float(stated @ covariance @ stated) / target_sd**2
    if "rsquared" in assumptions.stated:
        raise SpecError(
            f"every slope is stated, from which rsquared follows: {share:.4g}; leave rsquared out, or one of the slopes"
        )
    if not share < 1:
        raise SpecError(
            f"the stated slopes explain {share:.4g} times the variance of the target {design.target!r}; state smaller "
            "slopes or a larger sd of the target"
        )
    return replace(assumptions, rsquared=share, stated=(*assumptions.stated, "slopes"))


def supposed_slopes(design: Design, assumptions: Assumptions, covariance: FloatArray, target_sd: float) -> FloatArray:
    """Slopes of the scaled regressors for the scaled target, shape (d,).

    Those that are not stated follow `pattern`, as large as R^2 leaves room for.
    """
    stated = _stated(design, assumptions)
    columns = [design.columns[name] for name in design.regressors for _ in design.columns[name].released(name)]
    numeric = np.array([isinstance(column, Numeric) for column in columns])
    nothing = np.zeros_like(stated)
    known = _in_scaled_units(design, stated, nothing)
    free = _in_scaled_units(design, np.where(np.isnan(stated), np.nan, 0.0), pattern(covariance, numeric))
    # the free ones take the factor at which all together explain R^2
    lead, cross = float(free @ covariance @ free), float(free @ covariance @ known)
    already, wanted = float(known @ covariance @ known), assumptions.rsquared * target_sd**2
    if lead <= 0:
        return known
    room = wanted - already
    if room < -_SMALL * target_sd**2:
        raise SpecError(
            f"the stated slopes explain {already / target_sd**2:.4g} times the variance of the target {design.target!r}"
            f", more than rsquared, {assumptions.rsquared:g}; state a larger rsquared or smaller slopes"
        )
    factor = (-cross + math.sqrt(cross**2 + lead * max(room, 0.0))) / lead
    return known + factor * free


def pattern(covariance: FloatArray, numeric: npt.NDArray[np.bool_]) -> FloatArray:
    """Slopes of the scaled regressors that nobody states, up to a factor, shape (d,).

    A number counts in its standard deviations, and an indicator as if its share were one half, so that the effect of a
    treatment does not depend on how rare it is; all slopes then have one size where columns are not correlated. Where
    they are, slopes of like signs explain more together than one by one, and slopes of opposite signs less. Nobody
    knows the signs before, so every second number has a smaller slope, such that all together explain half as much
    more as those of like signs would.

    >>> pattern(np.array([[0.25, 0.0], [0.0, 0.09]]), np.array([True, False]))
    array([2., 2.])
    >>> pattern(np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([True, True])).round(2)
    array([1.37, 0.37])
    """
    sds = np.where(numeric, np.sqrt(np.diag(covariance)), 0.5)
    slopes = np.divide(1.0, sds, out=np.zeros_like(sds), where=sds > 0)
    among = covariance[np.ix_(numeric, numeric)] * np.outer(slopes[numeric], slopes[numeric])
    np.fill_diagonal(among, 0.0)
    sides = (-1.0) ** np.arange(len(among))
    turns = np.linspace(0, math.pi / 2, 91)[:, None]
    weights = np.cos(turns) + np.sin(turns) * sides
    more = ((weights @ among) * weights).sum(axis=1) / max(len(among), 1)
    slopes[numeric] *= weights[np.argmin(np.abs(more - more.max() / 2).round(2))]
    return slopes


def _stated(design: Design, assumptions: Assumptions) -> FloatArray:
    """Stated slopes in original units, NaN where none is stated, shape (d,)."""
    out: list[float] = []
    for name in design.regressors:
        slopes = dict(assumptions.supposed[name].slopes)
        out += [slopes.get(one, math.nan) for one in design.columns[name].released(name)]
    return np.array(out)


def _in_scaled_units(design: Design, stated: FloatArray, others: FloatArray) -> FloatArray:
    """Slopes of the scaled regressors for the scaled target, shape (d,).

    A slope b in original units, times half / half_y, is its scaled one, less what interactions take of the indicators
    of their category (`design/scales.py`): L s. So where S are the stated slopes and U the others,
    L_SS s_S = (b half / half_y)_S - L_SU s_U. L_SS is triangular with ones on its diagonal.

    Parameters
    ----------
    stated
        In original units; NaN where a slope is not stated.
    others
        In scaled units: the slopes that are not stated.
    """
    scales = scales_of(design, (*design.regressors, design.target))
    half = np.array(scales.half)
    L = np.eye(len(stated))
    for column, other, times in scales.taken:
        L[other, column] -= times * half[other] / half[column]
    known = ~np.isnan(stated)
    out = np.where(known, 0.0, others)
    out[known] = np.linalg.solve(L[np.ix_(known, known)], stated[known] * half[:-1][known] / half[-1] - L[known] @ out)
    return out

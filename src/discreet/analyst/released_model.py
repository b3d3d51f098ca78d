"""The one model that a release of coefficients holds: fitted inside the wall, read as it is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.analyst.estimates import NotEstimable
from discreet.analyst.penalties import PenaltyWish
from discreet.analyst.selection import SubModel
from discreet.analyst.units import Units, scaled_columns
from discreet.errors import SpecError
from discreet.releases import Release

_ELSE: Final = (
    "it was fitted inside and holds no other; leave {name} out, or release with a mechanism of kind 'moments', which "
    "answers any model"
)


def check_declared(release: Release, model: SubModel, wish: PenaltyWish) -> None:
    """Refuse every model but the declared one, with what differs."""
    design = release.design
    wrong = {
        "target": model.target != design.target,
        "features": model.target == design.target and set(model.features) != set(design.regressors),
        "intercept": model.intercept != design.intercept,
        "penalty": wish.penalty != "none",
    }
    asked = {"target": model.target, "features": list(model.features), "intercept": model.intercept} | {
        "penalty": wish.penalty
    }
    for name, differs in wrong.items():
        if differs:
            raise SpecError(
                f"{name}={asked[name]!r} came, but the mechanism {release.mechanism!r} published the coefficients of "
                f"the declared model alone: {_ELSE.format(name=name)}"
            )


def no_errors(release: Release) -> NotEstimable:
    """Why nothing is known of the errors of released coefficients."""
    return NotEstimable(
        f"the mechanism {release.mechanism!r} publishes coefficients and no sums, from which their errors cannot be "
        "told; for intervals release with a mechanism of kind 'moments'"
    )


def released_units(release: Release, model: SubModel) -> Units:
    """Units of released coefficients: those of the scaled columns.

    A model without intercept goes through the middles of the bounds, where all scaled columns are 0.
    """
    columns, half, mid = scaled_columns(release.design, model)
    return Units(np.zeros(len(columns)), half, mid, float(mid[-1]), model.intercept)


def off_centre(release: Release) -> bool:
    """Whether a released model without intercept misses the origin of the original units."""
    design = release.design
    return not design.intercept and any(
        getattr(design.columns[name], "mid", 0.0) != 0 for name in (*design.regressors, design.target)
    )


def released_values(values: Sequence[float], model: SubModel) -> tuple[Fraction, ...]:
    """Scaled coefficients of (1, x) in the order of the model's names."""
    places = [0, *model.positions] if model.intercept else model.positions
    return tuple(Fraction(values[place]) for place in places)

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

_FEWEST_STEPS: Final = 3  # of a quarter of the iterates


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
    """Units of released coefficients: those of the scaled columns."""
    columns, half, mid = scaled_columns(release.design, model)
    return Units(np.zeros(len(columns)), half, mid, float(mid[-1]), model.intercept)


def still_moving(release: Release) -> str | None:
    """Say if the iterates of a release went one way to the end, farther than the scatter of a pass explains."""
    trace = () if release.coefficients is None else release.coefficients.trace
    quarter = len(trace) // 4
    if quarter < _FEWEST_STEPS:
        return None
    before, last = np.array(trace[-2 * quarter : -quarter]), np.array(trace[-quarter:])
    moved = np.abs(last.mean(axis=0) - before.mean(axis=0))
    scatter = np.maximum(last.std(axis=0), before.std(axis=0))
    # steps that go one way move farther than they scatter; noise around a point of rest moves the mean by far less
    if not (moved > 1.5 * scatter).any():
        return None
    return (
        "In the last half of the passes the coefficients were still going one way, farther than the noise of a pass "
        "explains: more iterations would move them on. The iterates are in the release."
    )


def drowned(release: Release) -> str | None:
    """Say if noise of a known size in every coefficient is nearly as large as the coefficients."""
    if release.coefficients is None or "coefficients" not in release.noise.sigma:
        return None
    sd, largest = release.noise.sd("coefficients"), max(map(abs, release.coefficients.values))
    if sd <= largest / 4:
        return None
    return (
        f"Every scaled coefficient has noise of standard deviation {sd:.2g}, and the largest of them has size "
        f"{largest:.2g}: they say little more than noise would. A larger epsilon or strength, or a mechanism of kind "
        "'moments', would help."
    )


def released_values(values: Sequence[float], model: SubModel) -> tuple[Fraction, ...]:
    """Scaled coefficients of (1, x) in the order of the model's names."""
    places = [0, *model.positions] if model.intercept else model.positions
    return tuple(Fraction(values[place]) for place in places)

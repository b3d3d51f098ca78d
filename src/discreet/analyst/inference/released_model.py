"""Models of releases that publish coefficients instead of sums."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.analyst.equations.normal import Units, model_scales
from discreet.analyst.inference.contrasts import noise_known_beforehand
from discreet.analyst.solvers.penalised import PenaltySpec
from discreet.design.model_columns import SubModel
from discreet.errors import ModelError, shown
from discreet.releases.reference_distribution import NotEstimable
from discreet.releases.release import Release
from discreet.wording import LeaveOut

_OTHER_MECHANISM: Final = "make a release with 'gaussian' or another mechanism that publishes moments"


def check_declared(release: Release, model: SubModel, spec: PenaltySpec) -> None:
    """Raise unless the model is the declared model."""
    design = release.design
    differs = {
        "target": model.target != design.target,
        "features": model.target == design.target and set(model.features) != set(design.regressors),
        "intercept": model.intercept != design.intercept,
        "penalty": spec.penalty != "none",
    }
    requested = {
        "target": model.target,
        "features": list(model.features),
        "intercept": model.intercept,
        "penalty": spec.penalty,
    }
    for name, value in requested.items():
        if differs[name]:
            raise ModelError(
                f"got {name} {shown(value)}, but the mechanism {release.mechanism!r} published only the coefficients "
                "of the declared model, and no other model can be fitted to this release",
                code="declared-model-only",
                option=name,
                given=value,
                remedy=(LeaveOut(name), _OTHER_MECHANISM),
            )


def no_errors(release: Release) -> NotEstimable:
    """Return the reason why sampling errors of released coefficients cannot be estimated."""
    if noise_known_beforehand(release.noise):
        return NotEstimable(
            f"the mechanism {release.mechanism!r} publishes coefficients but no sums, so sampling errors cannot "
            "be estimated; the effect of its noise is known (privacy_sd, table_conf_int); for standard errors, tests "
            f"and intervals for a population, {_OTHER_MECHANISM}"
        )
    return NotEstimable(
        f"the mechanism {release.mechanism!r} publishes coefficients but no sums, so the errors of the coefficients "
        f"cannot be estimated; for standard errors, tests and intervals, {_OTHER_MECHANISM}"
    )


def released_units(release: Release, model: SubModel) -> Units:
    """Return the units of released coefficients."""
    half, mid, taken = model_scales(release.design, model)
    same = np.zeros(len(half))
    return Units(same, half, mid, float(mid[-1]), model.intercept, same[:-1], np.ones(len(half) - 1), taken)


def released_values(values: Sequence[float], model: SubModel) -> tuple[Fraction, ...]:
    """Return the scaled coefficients of (1, x) in the order of the model's names."""
    indices = [0, *model.positions] if model.intercept else model.positions
    return tuple(Fraction(values[index]) for index in indices)

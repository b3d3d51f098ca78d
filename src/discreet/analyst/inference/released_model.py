"""The one model that a release of coefficients holds: fitted inside the wall, read as it is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.analyst.equations.model_columns import SubModel
from discreet.analyst.equations.normal import Units, model_scales
from discreet.analyst.inference.contrasts import known_before
from discreet.analyst.solvers.penalised import PenaltySpec
from discreet.errors import SpecError, shown
from discreet.releases.reference_law import NotEstimable
from discreet.releases.release import Release

_ELSE: Final = (
    'no other model can be fitted to this release; leave {name} out, or release with the mechanism "gaussian" '
    "(--mechanism gaussian) or another of kind 'moments', to which any model can be fitted"
)


def check_declared(release: Release, model: SubModel, spec: PenaltySpec) -> None:
    """Refuse every model but the declared one, with what differs."""
    design = release.design
    wrong = {
        "target": model.target != design.target,
        "features": model.target == design.target and set(model.features) != set(design.regressors),
        "intercept": model.intercept != design.intercept,
        "penalty": spec.penalty != "none",
    }
    asked = {"target": model.target, "features": list(model.features), "intercept": model.intercept} | {
        "penalty": spec.penalty
    }
    for name, differs in wrong.items():
        if differs:
            raise SpecError(
                f"got {name}={shown(asked[name])}, but the mechanism {release.mechanism!r} published only the "
                f"coefficients of the declared model: {_ELSE.format(name=name)}"
            )


def no_errors(release: Release) -> NotEstimable:
    """Why the errors of released coefficients are not known, or no more of them than their noise."""
    if known_before(release.noise):
        return NotEstimable(
            f"the mechanism {release.mechanism!r} publishes coefficients and no sums, so sampling errors cannot "
            "be estimated; what its noise adds is known (privacy_sd, table_conf_int); for standard errors, tests and "
            'intervals for a population release with the mechanism "gaussian" (--mechanism gaussian) or another of '
            "kind 'moments'"
        )
    return NotEstimable(
        f"the mechanism {release.mechanism!r} publishes coefficients and no sums, so their errors cannot be "
        'estimated; for standard errors, tests and intervals release with the mechanism "gaussian" (--mechanism '
        "gaussian) or another of kind 'moments'"
    )


def released_units(release: Release, model: SubModel) -> Units:
    """Units of released coefficients: those of the scaled columns."""
    half, mid, taken = model_scales(release.design, model)
    same = np.zeros(len(half))
    return Units(same, half, mid, float(mid[-1]), model.intercept, same[:-1], np.ones(len(half) - 1), taken)


def released_values(values: Sequence[float], model: SubModel) -> tuple[Fraction, ...]:
    """Scaled coefficients of (1, x) in the order of the model's names."""
    indices = [0, *model.positions] if model.intercept else model.positions
    return tuple(Fraction(values[index]) for index in indices)

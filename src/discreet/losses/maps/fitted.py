"""One model from one pass over the table: `dpme`, `output`, `objective`. Proof: maps.proof.md."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.design.columns import SplineBasis
from discreet.design.interactions import Interaction
from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.losses.maps.gaussian import JOINT, gaussian_loss
from discreet.losses.maps.stated import Stated
from discreet.losses.promise import concentrated_delta
from discreet.losses.sensitivity.ball import coefficient_count
from discreet.losses.sensitivity.cells import cell_count, cells_l1_sensitivity, cells_l2_sensitivity
from discreet.losses.sensitivity.objective import (
    EPSILON_USED,
    HUBER,
    OUTPUT_EPSILON,
    SQUARED,
    Shift,
    in_units,
    sensitivity_and_shifts,
    solution_gap,
    volume_loss,
)
from discreet.losses.sensitivity.output import coefficient_sensitivity
from discreet.privacy.gaussian import MU_HIGHEST, MU_LOWEST, delta_from
from discreet.privacy.lattice import ROUNDING, lattice_gap
from discreet.privacy.loss import Loss

_NOTHING_KEPT: Final = 1 - 2**-20


def histogram(stated: Stated) -> Loss:
    """Map of `dpme`: counts of cells."""
    design, law = stated.design, stated.law
    pure = stated.word("noise", ("laplace", "gaussian")) == "laplace"
    if pure:
        stated.check("discrete-laplace", ("pure",), ["cells"], ["bins", "cells"])
    else:
        stated.check("discrete-gaussian", JOINT, ["cells"], ["bins", "cells"])
    if stated.domain.norm2_bound < stated.domain.box_norm2:
        raise SpecError("got a radius, which this mechanism refuses")
    released = [design.columns[name] for name in design.regressors]
    if any(
        isinstance(column, SplineBasis) or (isinstance(column, Interaction) and column.signed) for column in released
    ):
        raise SpecError("got a spline or an interaction with a number, which has no cells of its own")
    asked = stated.integer("bins", 0, 100_000)
    bins, cells = law.parameters["bins"], law.parameters["cells"]
    if bins > 100_000 or (asked and bins != asked) or cells != cell_count(design, bins):
        raise SpecError("the bins and cells of the noise are not those of the design and the settings")
    if pure:
        return Loss.pure(up(stated.over(Fraction(cells_l1_sensitivity(design.unit)), "cells")))
    square = (stated.over(cells_l2_sensitivity(design.unit), "cells") * Fraction(ROUNDING)) ** 2
    return gaussian_loss(stated, square, [(cells, law.sigma["cells"])])  # [P:forward-cells]


def perturbed_output(stated: Stated) -> Loss:
    """Map of `output`: ridge coefficients inside a ball."""
    stated.check("discrete-gaussian", JOINT, ["coefficients"])
    stated.number("strength", 1e-3, 1e12)
    stated.number("bound", 1e-3, 1e3)
    sensitivity = coefficient_sensitivity(stated.design, stated.domain, stated.settings)
    size = coefficient_count(stated.design)
    square = stated.over(sensitivity, "coefficients") ** 2
    return gaussian_loss(stated, square, [(size, stated.law.sigma["coefficients"])])  # [P:forward-output]


def perturbed_objective(stated: Stated) -> Loss:
    """Map of `objective`: a random linear term, and a little noise on the minimum."""
    stated.check("discrete-gaussian", ("bound",), ["linear", "coefficients"], ["strength"])
    stated.word("loss", (HUBER, SQUARED))
    stated.number("bound", 1e-3, 1e3)
    stated.number("threshold", 1e-4, 2.0)
    asked = stated.number("strength", 0.0, 1e12)
    steps = stated.law.parameters["strength"]
    if asked and steps != math.ceil(Fraction(asked) * stated.domain.unit**2):
        raise SpecError("the penalty of the noise is not that of the settings")
    strength, size = in_units(steps, stated.domain), coefficient_count(stated.design)
    epsilon = min(stated.epsilon, EPSILON_USED)
    row, shifts = sensitivity_and_shifts(stated.design, stated.domain, stated.settings)
    volume = volume_loss(stated.design.unit.max_rows, row.norm, size, strength)
    left = (epsilon * (1 - OUTPUT_EPSILON) - volume) / ROUNDING
    linear = min(_linear_delta(stated, shift, left) for shift in shifts)
    gap = lattice_gap(epsilon, [(size, stated.law.sigma["linear"])])
    apart = 2 * solution_gap(size, strength) / stated.law.sigma["coefficients"]
    output = concentrated_delta(epsilon * OUTPUT_EPSILON, apart * apart / 2)
    total = (linear + gap + output) * ROUNDING  # [P:forward-objective]
    return Loss.approximate(stated.epsilon, min(total, _NOTHING_KEPT))


def _linear_delta(stated: Stated, shift: Shift, epsilon: float) -> float:
    """Delta of the linear term at what is left of epsilon; 1 where the bound does not hold."""
    mu = max(up(stated.over(shift.length * ROUNDING, "linear")), MU_LOWEST)
    if not (epsilon > 0 and mu <= MU_HIGHEST and mu * mu / 2 * ROUNDING <= epsilon * ROUNDING**3):
        return 1.0
    return math.ldexp(delta_from(epsilon, mu), shift.halvings) * ROUNDING

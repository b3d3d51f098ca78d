"""Account for output and objective perturbation and for noisy histograms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from discreet.accounting.moments import JOINT, gaussian_loss
from discreet.accounting.noise_distribution import Settings
from discreet.accounting.privacy_loss import Stated, concentrated_delta
from discreet.design.columns import Interaction, Numeric, SplineBasis
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.gaussian_dp import MU_HIGHEST, MU_LOWEST, delta_from
from discreet.privacy.lattice import ROUNDING, lattice_gap
from discreet.privacy.spend import Loss

# -- ball --------------------------------------------------------------------------------------------------------------
# What one row can do to ridge coefficients in a ball, and how exact their solver is. Proof: ball_ridge.proof.md.

# how far from the exact minimum the solution may be before it is rounded, in steps of the product grid
SOLVER_STEPS: Final = Fraction(1, 16)
# covers the rounding of some tens of double operations, each relative 2**-53
_UP: Final = 1 + 2**-44


@dataclass(frozen=True, slots=True)
class RowSensitivity:
    """What one row can do, in scaled units, rounded up.

    Attributes
    ----------
    norm
        Largest length of z.
    residual
        Largest |y - z'theta| inside the ball.
    rows
        How many rows of two neighbouring tables differ, counted in both.
    """

    norm: float
    residual: float
    rows: int

    @classmethod
    def of(cls, design: Design, domain: RowDomain, bound: float) -> RowSensitivity:
        """Read off public quantities.

        >>> design = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"}, intercept=False)
        >>> sensitivity = RowSensitivity.of(design, RowDomain.of(design), 2.0)
        >>> round(sensitivity.norm, 9), round(sensitivity.residual, 9), sensitivity.rows
        (1.0, 3.0, 2)
        """
        norm = math.sqrt(norm2(domain) + (1.0 if design.intercept else 0.0)) * _UP
        k = design.unit.max_rows
        rows = k if design.unit.neighbours == "add-remove" else 2 * k  # [P:rows-that-differ]
        return cls(norm, (1.0 + norm * bound) * _UP, rows)


def rounding_sensitivity(size: int) -> float:
    """Largest distance from the exact minimum to the lattice point that represents it, in steps of the product grid."""
    return (math.sqrt(size) / 2 + float(SOLVER_STEPS)) * _UP  # [P:rounded-point]


def coefficient_count(design: Design) -> int:
    """Number of coefficients of (1, x), or of x in a design without intercept."""
    return len(design.released) - (1 if design.intercept else 2)


# -- cells -------------------------------------------------------------------------------------------------------------
# How far one unit moves the counts of cells, and how many cells there are. Proof: dpme.proof.md.


def cells_l1_sensitivity(unit: PrivacyUnit) -> int:
    """Largest sum of sizes of the changes of all counts between neighbouring tables, in rows.

    >>> cells_l1_sensitivity(PrivacyUnit(neighbours="replace")), cells_l1_sensitivity(PrivacyUnit())
    (2, 1)
    """
    return (2 if unit.neighbours == "replace" else 1) * unit.max_rows  # [P:l1-cells]


def cells_l2_sensitivity(unit: PrivacyUnit) -> float:
    """Largest Euclidean length of the change of all counts between neighbouring tables, in rows."""
    return unit.max_rows * (math.sqrt(2) if unit.neighbours == "replace" else 1.0)  # [P:l2-cells]


def cell_count(design: Design, bins: int) -> int:
    """How many cells there are with so many intervals for each number.

    >>> cell_count(Design("y", {"x": (0, 1), "g": ["a", "b", "c"], "y": (0, 1)}), 8)
    192
    """
    columns = [(name, design.columns[name]) for name in (*design.regressors, design.target)]
    return math.prod(
        bins if isinstance(column, Numeric) else len(column.released(name)) + 1 for name, column in columns
    )


# -- objective ---------------------------------------------------------------------------------------------------------
# How far one unit moves the random linear term of a penalised loss, and the volume. Proof: objective.proof.md.

SQUARED: Final = "squared"
HUBER: Final = "huber"
# more epsilon than this does not lower the noise: the step to the lattice costs e^epsilon
EPSILON_USED: Final = 16.0
# of epsilon, for what separates the lattice point from the exact minimum
OUTPUT_EPSILON: Final = 1 / 50
# directions that represent a circle where one row is exchanged for another
_DIRECTIONS: Final = 16
# delta is divided by 2 to this power at most; a double holds hardly more
_MOST_HALVINGS: Final = 500


@dataclass(frozen=True, slots=True)
class Shift:
    """How far apart the linear terms of neighbouring tables are that have one minimum.

    Attributes
    ----------
    length
        Largest Euclidean length, in scaled units, and largest length of a vector that represents a direction of it.
    halvings
        The number of these vectors as a power of two.
    """

    length: float
    halvings: int


def in_units(steps: int, domain: RowDomain) -> float:
    """A penalty in scaled units, exactly: as many bits as a double has, or fewer."""
    return steps / domain.unit**2


def threshold_steps(settings: Settings, domain: RowDomain) -> int:
    """Where Huber's loss turns linear, in whole steps of the grid, rounded down."""
    steps = int(float(settings["threshold"]) * domain.unit)
    if steps == 0:
        raise SpecError(
            f"threshold = {settings['threshold']:g} is less than a step of the grid of grid_bits = {domain.grid_bits}; "
            f"choose {1 / domain.unit:g} or more, or raise grid_bits"
        )
    return steps


def sensitivity_and_shifts(
    design: Design, domain: RowDomain, settings: Settings
) -> tuple[RowSensitivity, tuple[Shift, ...]]:
    """What one row can do under the loss that was chosen, and how far apart the linear terms of neighbours are."""
    bound = float(settings["bound"])
    sensitivity = RowSensitivity.of(design, domain, bound)
    if settings["loss"] == SQUARED:
        return sensitivity, shifts(design, sensitivity, bound)
    clipped = replace(sensitivity, residual=threshold_steps(settings, domain) / domain.unit)  # [P:clipped-residual]
    return clipped, shifts(design, clipped)


def shifts(design: Design, sensitivity: RowSensitivity, bound: float | None = None) -> tuple[Shift, ...]:
    """Bounds that hold each by itself, from public quantities; a unit with too many rows is refused.

    With a `bound` of the coefficients the loss is squared, and its gradient is linear in them.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"})
    >>> [round(shift.length, 4) for shift in shifts(design, RowSensitivity(norm=1.0, residual=2.0, rows=2), 1.0)]
    [4.0, 3.0196]
    """
    k, norm = design.unit.max_rows, sensitivity.norm
    found = [Shift(sensitivity.rows * norm * sensitivity.residual * ROUNDING, sensitivity.rows)]
    if bound is not None and design.unit.neighbours == "replace":
        around = norm * bound / math.cos(math.pi / _DIRECTIONS)
        # [P:paired-shift]
        found.append(Shift(k * norm * (2 + around) * ROUNDING, k * (2 + int(math.log2(_DIRECTIONS)))))
    usable = tuple(shift for shift in found if shift.halvings <= _MOST_HALVINGS)
    if not usable:
        raise SpecError(f"max_rows = {k} is too large for this mechanism; lower it or use the mechanism 'output'")
    return usable


def volume_loss(rows: int, norm: float, size: int, strength: float) -> float:
    """Largest change of log volume between linear terms of neighbouring tables: `rows` of length `norm`, one table.

    >>> round(volume_loss(1, 1.0, 3, 1.0), 9)
    0.693147181
    """
    rank = min(rows, size)
    return rank * math.log1p(rows * norm**2 / (strength * rank)) * ROUNDING  # [P:volume]


def solution_gap(size: int, strength: float) -> float:
    """Largest distance of the lattice point from the minimum for the unrounded linear term, in lattice steps."""
    return (rounding_sensitivity(size) + math.sqrt(size) / (2 * strength)) * ROUNDING  # [P:point-distance]


# -- output ------------------------------------------------------------------------------------------------------------
# How far one unit moves ridge coefficients inside a ball. Proof: output.proof.md.


def coefficient_sensitivity(design: Design, domain: RowDomain, settings: Settings) -> float:
    """Largest change of the lattice point between neighbouring tables, in scaled units.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> round(coefficient_sensitivity(design, RowDomain.of(design), {"strength": 100.0, "bound": 1.0}), 6)
    0.033473
    """
    bound, strength = float(settings["bound"]), float(settings["strength"])
    sensitivity = RowSensitivity.of(design, domain, bound)
    exact = minimum_sensitivity(sensitivity, strength, bound)
    if design.unit.neighbours == "replace":
        exact = min(exact, exchange_sensitivity(sensitivity, strength, bound))
    step = math.ldexp(1.0, -2 * domain.grid_bits)
    return (exact + 2 * rounding_sensitivity(coefficient_count(design)) * step) * _UP  # [P:lattice-distance]


def minimum_sensitivity(sensitivity: RowSensitivity, strength: float, bound: float) -> float:
    """Largest change of the exact minimum between neighbouring tables, in scaled units.

    >>> minimum_sensitivity(RowSensitivity(norm=1.0, residual=2.0, rows=1), 1.0, 1.0)
    1.0000000000000568
    """
    both = sensitivity.rows * sensitivity.norm**2
    steepest = (
        math.sqrt(sensitivity.rows / strength) / 2
        if strength <= both
        else sensitivity.rows * sensitivity.norm / (strength + both)
    )
    return min(sensitivity.residual * steepest, 2 * bound) * _UP  # [P:minimum-distance]


def exchange_sensitivity(sensitivity: RowSensitivity, strength: float, bound: float) -> float:
    """Largest change of the exact minimum where rows are exchanged one by one; a bound that serves large strengths.

    The residuals of an old and of a new row cannot both be largest and pull the same way.

    >>> sensitivity = RowSensitivity(norm=1.0, residual=2.0, rows=2)
    >>> round(exchange_sensitivity(sensitivity, 100.0, 1.0), 6), round(minimum_sensitivity(sensitivity, 100.0, 1.0), 6)
    (0.025981, 0.039216)
    """
    part = sensitivity.norm * bound
    sine = 2 * part / (1 + math.sqrt(1 + 8 * part**2))
    pair = 2 * sensitivity.norm * math.sqrt(1 - sine**2) * (1 + part * sine)
    return sensitivity.rows / 2 * pair / strength * _UP  # [P:pair-distance]


# -- fitted ------------------------------------------------------------------------------------------------------------
# One model from one pass over the table: `dpme`, `output`, `objective`. Proof: maps.proof.md.

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

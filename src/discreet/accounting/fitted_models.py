"""List the queries of `dpme`, `output` and `objective`, and compute their privacy loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from discreet.accounting.noise_distribution import JOINT, Settings
from discreet.accounting.privacy_loss import Stated, concentrated_delta
from discreet.accounting.queries import NOTHING_KEPT, Account, SeparateQuery, VectorQuery
from discreet.design.columns import Interaction, Numeric, SplineBasis
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.errors import OptionError, SpecError, UnsupportedError
from discreet.exact.rounding import MARGIN, up
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.gaussian_dp import MU_HIGHEST, MU_LOWEST, delta_from
from discreet.privacy.lattice import ROUNDING, lattice_gap
from discreet.privacy.spend import Loss

# -- ball --------------------------------------------------------------------------------------------------------------
# Effect of one row on ridge coefficients in a ball, and the accuracy of the solver. Proof: ball_ridge.proof.md.

# largest distance of the solver's unrounded result from the exact minimum, in product-grid steps
SOLVER_STEPS: Final = Fraction(1, 16)


@dataclass(frozen=True, slots=True)
class RowSensitivity:
    """Upper bounds on the effect of one row, in scaled units.

    Attributes
    ----------
    norm
        Largest norm of z.
    residual
        Largest |y - z'theta| inside the ball.
    rows
        Number of rows in which neighbouring tables differ. A replaced row counts twice, once in each table.
    """

    norm: float
    residual: float
    rows: int

    @classmethod
    def of(cls, design: Design, domain: RowDomain, bound: float) -> RowSensitivity:
        """Compute the bounds from public quantities."""
        norm = math.sqrt(norm2(domain) + (1.0 if design.intercept else 0.0)) * MARGIN
        k = design.unit.max_rows
        rows = k if design.unit.neighbours == "add-remove" else 2 * k  # [P:rows-that-differ]
        return cls(norm, (1.0 + norm * bound) * MARGIN, rows)


def rounding_sensitivity(size: int) -> float:
    """Return the largest distance from the exact minimiser to its lattice point, in product-grid steps."""
    return (math.sqrt(size) / 2 + float(SOLVER_STEPS)) * MARGIN  # [P:rounded-point]


def coefficient_count(design: Design) -> int:
    """Return the number of fitted coefficients, including the intercept if the design has one."""
    return len(design.released) - (1 if design.intercept else 2)


# -- cells -------------------------------------------------------------------------------------------------------------
# Number of histogram cells, and the sensitivity of their counts. Proof: dpme.proof.md.


def cells_l1_sensitivity(unit: PrivacyUnit) -> int:
    """Return the joint L1 sensitivity of all cell counts, where one row counts as 1."""
    return (2 if unit.neighbours == "replace" else 1) * unit.max_rows  # [P:l1-cells]


def cells_l2_sensitivity(unit: PrivacyUnit) -> float:
    """Return the joint L2 sensitivity of all cell counts, where one row counts as 1."""
    return unit.max_rows * (math.sqrt(2) if unit.neighbours == "replace" else 1.0)  # [P:l2-cells]


def cell_count(design: Design, bins: int) -> int:
    """Return the number of histogram cells if every numeric column is divided into `bins` intervals.

    >>> cell_count(Design("y", {"x": (0, 1), "g": ["a", "b", "c"], "y": (0, 1)}), 8)
    192
    """
    columns = [(name, design.columns[name]) for name in (*design.regressors, design.target)]
    return math.prod(
        bins if isinstance(column, Numeric) else len(column.released(name)) + 1 for name, column in columns
    )


# -- objective ---------------------------------------------------------------------------------------------------------
# Effect of one privacy unit on the linear term of a penalised loss, and on its volume element. Proof:
# objective.proof.md.

SQUARED: Final = "squared"
HUBER: Final = "huber"
# a larger epsilon would not lower the noise, because the cost of the lattice grows as e^epsilon
EPSILON_USED: Final = 16.0
# share of epsilon for rounding the minimum to the lattice
OUTPUT_EPSILON: Final = 1 / 50
# number of directions that cover a circle if one row is replaced
_DIRECTIONS: Final = 16
# delta is divided by at most 2 to this power, which keeps it representable as a double
_MOST_HALVINGS: Final = 500


@dataclass(frozen=True, slots=True)
class Shift:
    """Bound on the distance between the linear terms with which two neighbouring tables have the same minimiser.

    Attributes
    ----------
    length
        Bound on the Euclidean length of the shift in scaled units. It also bounds the length of the vectors that cover
        its directions.
    halvings
        Binary logarithm of the number of these vectors.
    """

    length: float
    halvings: int


def in_units(steps: int, domain: RowDomain) -> float:
    """Convert a penalty to scaled units. The result is exact, because a penalty has at most 53 significant bits."""
    return steps / domain.unit**2


def threshold_steps(settings: Settings, domain: RowDomain) -> int:
    """Return the threshold of the Huber loss in grid steps, rounded down."""
    steps = int(float(settings["threshold"]) * domain.unit)
    if steps == 0:
        raise OptionError(
            f"expected a threshold of at least {1 / domain.unit:g}, one grid step at grid_bits = {domain.grid_bits}; "
            f"got {settings['threshold']:g}",
            option="threshold",
            remedy="raise threshold or grid_bits",
        )
    return steps


def sensitivity_and_shifts(
    design: Design, domain: RowDomain, settings: Settings
) -> tuple[RowSensitivity, tuple[Shift, ...]]:
    """Return the effect of one row under the chosen loss, and bounds on the resulting shift of the linear term."""
    bound = float(settings["bound"])
    sensitivity = RowSensitivity.of(design, domain, bound)
    if settings["loss"] == SQUARED:
        return sensitivity, shifts(design, sensitivity, bound)
    clipped = replace(sensitivity, residual=threshold_steps(settings, domain) / domain.unit)  # [P:clipped-residual]
    return clipped, shifts(design, clipped)


def shifts(design: Design, sensitivity: RowSensitivity, bound: float | None = None) -> tuple[Shift, ...]:
    """Return alternative bounds on the shift of the linear term. Reject a privacy unit with too many rows.

    `bound` limits the coefficients. It is given only for the squared loss, whose gradient is linear in the
    coefficients.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"})
    >>> [round(shift.length, 4) for shift in shifts(design, RowSensitivity(norm=1.0, residual=2.0, rows=2), 1.0)]
    [4.0, 3.0196]
    """
    k, norm = design.unit.max_rows, sensitivity.norm
    bounds = [Shift(sensitivity.rows * norm * sensitivity.residual * ROUNDING, sensitivity.rows)]
    if bound is not None and design.unit.neighbours == "replace":
        around = norm * bound / math.cos(math.pi / _DIRECTIONS)
        # [P:paired-shift]
        bounds.append(Shift(k * norm * (2 + around) * ROUNDING, k * (2 + int(math.log2(_DIRECTIONS)))))
    usable = tuple(shift for shift in bounds if shift.halvings <= _MOST_HALVINGS)
    if not usable:
        raise UnsupportedError(
            f"max_rows = {k} is too large for the mechanism 'objective'",
            option="max_rows",
            remedy="lower max_rows or use the mechanism 'output'",
        )
    return usable


def volume_loss(rows: int, norm: float, size: int, strength: float) -> float:
    """Return the largest change in the log volume element when `rows` rows of norm `norm` are added.

    >>> round(volume_loss(1, 1.0, 3, 1.0), 9)
    0.693147181
    """
    rank = min(rows, size)
    return rank * math.log1p(rows * norm**2 / (strength * rank)) * ROUNDING  # [P:volume]


def solution_gap(size: int, strength: float) -> float:
    """Bound the distance, in grid steps, from the rounded minimiser to the exact one for an unrounded linear term."""
    return (rounding_sensitivity(size) + math.sqrt(size) / (2 * strength)) * ROUNDING  # [P:point-distance]


# -- output ------------------------------------------------------------------------------------------------------------
# Sensitivity of ridge coefficients inside a ball. Proof: output.proof.md.


def coefficient_sensitivity(design: Design, domain: RowDomain, settings: Settings) -> float:
    """Return the sensitivity of the rounded ridge coefficients, in scaled units.

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
    return (exact + 2 * rounding_sensitivity(coefficient_count(design)) * step) * MARGIN  # [P:lattice-distance]


def minimum_sensitivity(sensitivity: RowSensitivity, strength: float, bound: float) -> float:
    """Return the sensitivity of the exact minimiser, in scaled units."""
    both = sensitivity.rows * sensitivity.norm**2
    steepest = (
        math.sqrt(sensitivity.rows / strength) / 2
        if strength <= both
        else sensitivity.rows * sensitivity.norm / (strength + both)
    )
    return min(sensitivity.residual * steepest, 2 * bound) * MARGIN  # [P:minimum-distance]


def exchange_sensitivity(sensitivity: RowSensitivity, strength: float, bound: float) -> float:
    """Return a bound on the sensitivity of the exact minimiser under `replace`, tighter for strong penalties.

    The residuals of the old and the new row cannot both be largest and pull in the same direction.

    >>> sensitivity = RowSensitivity(norm=1.0, residual=2.0, rows=2)
    >>> round(exchange_sensitivity(sensitivity, 100.0, 1.0), 6), round(minimum_sensitivity(sensitivity, 100.0, 1.0), 6)
    (0.025981, 0.039216)
    """
    part = sensitivity.norm * bound
    sine = 2 * part / (1 + math.sqrt(1 + 8 * part**2))
    pair = 2 * sensitivity.norm * math.sqrt(1 - sine**2) * (1 + part * sine)
    return sensitivity.rows / 2 * pair / strength * MARGIN  # [P:pair-distance]


# -- fitted ------------------------------------------------------------------------------------------------------------
# Accounts of `dpme`, `output` and `objective`. Proof: maps.proof.md.


def cells_query(design: Design, cells: int) -> VectorQuery:
    """Return the query for the cell counts of `dpme`."""
    unit = design.unit
    return VectorQuery("cells", cells, cells_l2_sensitivity(unit), cells_l1_sensitivity(unit), margin=ROUNDING)


def dpme(stated: Stated) -> Account:
    """Return the privacy account of `dpme`."""
    design, distribution = stated.design, stated.distribution
    if stated.word("noise", ("laplace", "gaussian")) == "laplace":
        stated.check("discrete-laplace", ("pure",), ["cells"], ["bins", "cells"])
    else:
        stated.check("discrete-gaussian", JOINT, ["cells"], ["bins", "cells"])
    if stated.domain.norm2_bound < stated.domain.box_norm2:
        raise SpecError("the mechanism 'dpme' takes no radius, but the design declares one")
    released = [design.columns[name] for name in design.regressors]
    if any(
        isinstance(column, SplineBasis) or (isinstance(column, Interaction) and column.signed) for column in released
    ):
        raise SpecError("the mechanism 'dpme' takes no splines and no interactions with a numeric column, got one")
    requested = stated.integer("bins", 0, 100_000)
    bins, cells = distribution.parameters["bins"], distribution.parameters["cells"]
    if bins > 100_000 or (requested and bins != requested) or cells != cell_count(design, bins):
        raise SpecError("the numbers of bins and cells of the noise must match the design and the settings")
    return Account(stated, [cells_query(design, cells)])  # [P:forward-cells]


def output_query(design: Design, domain: RowDomain, settings: Settings) -> VectorQuery:
    """Return the query for the ridge coefficients of `output`."""
    return VectorQuery("coefficients", coefficient_count(design), coefficient_sensitivity(design, domain, settings))


def output(stated: Stated) -> Account:
    """Return the privacy account of `output`."""
    stated.check("discrete-gaussian", JOINT, ["coefficients"])
    stated.number("strength", 1e-3, 1e12)
    stated.number("bound", 1e-3, 1e3)
    return Account(stated, [output_query(stated.design, stated.domain, stated.settings)])  # [P:forward-output]


def objective(stated: Stated) -> Account:
    """Return the privacy account of `objective`.

    The mechanism releases the minimiser of an objective with a random linear term, and adds a little noise to it.
    """
    size = coefficient_count(stated.design)
    query = SeparateQuery({"linear": size, "coefficients": size})
    stated.check("discrete-gaussian", ("bound",), query.blocks, ["strength"])
    stated.word("loss", (HUBER, SQUARED))
    stated.number("bound", 1e-3, 1e3)
    stated.number("threshold", 1e-4, 2.0)
    requested = stated.number("strength", 0.0, 1e12)
    steps = stated.distribution.parameters["strength"]
    if requested and steps != math.ceil(Fraction(requested) * stated.domain.unit**2):
        raise SpecError("the penalty strength stated with the noise must match the setting 'strength'")
    return _ObjectiveAccount(stated, [query])


class _ObjectiveAccount(Account):
    """Account that divides epsilon and delta among the linear term, the lattice and the noise on the minimiser."""

    def loss(self) -> Loss:
        stated, sigma = self.stated, self.stated.distribution.sigma
        strength = in_units(stated.distribution.parameters["strength"], stated.domain)
        size = coefficient_count(stated.design)
        epsilon = min(stated.epsilon, EPSILON_USED)
        row, shifts = sensitivity_and_shifts(stated.design, stated.domain, stated.settings)
        volume = volume_loss(stated.design.unit.max_rows, row.norm, size, strength)
        left = (epsilon * (1 - OUTPUT_EPSILON) - volume) / ROUNDING
        linear = min(_linear_delta(stated, shift, left) for shift in shifts)
        gap = lattice_gap(epsilon, [(size, sigma["linear"])])
        apart = 2 * solution_gap(size, strength) / sigma["coefficients"]
        output = concentrated_delta(epsilon * OUTPUT_EPSILON, apart * apart / 2)
        total = (linear + gap + output) * ROUNDING  # [P:forward-objective]
        return Loss.approximate(stated.epsilon, min(total, NOTHING_KEPT))


def _linear_delta(stated: Stated, shift: Shift, epsilon: float) -> float:
    """Return the delta of the linear term at the remaining `epsilon`, or 1 if the bound does not apply."""
    mu = max(up(Fraction(shift.length * ROUNDING) / stated.scales["linear"]), MU_LOWEST)
    if not (epsilon > 0 and mu <= MU_HIGHEST and mu * mu / 2 * ROUNDING <= epsilon * ROUNDING**3):
        return 1.0
    return math.ldexp(delta_from(epsilon, mu), shift.halvings) * ROUNDING

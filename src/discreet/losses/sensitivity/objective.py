"""How far one unit moves the random linear term of a penalised loss, and the volume. Proof: objective.proof.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.losses.law import Settings
from discreet.losses.sensitivity.ball import RowSensitivity, rounding_sensitivity
from discreet.privacy.lattice import ROUNDING

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

"""The loss of objective perturbation on tables whose rows differ along one line.

A published point theta belongs to one linear term, b(theta) = sum of psi(y - z'theta) z - strength * theta over the
rows, psi the residual clipped at the threshold. So the density of theta is that of the normal law at b(theta), times
the volume |det b'(theta)|. Where the rows in which two tables differ lie along one line, and all others lie along it
or at right angles to it, what is across the line has one law for both tables. Along it b is a falling chain of straight
pieces: on each the log ratio of the two densities is a parabola, and probabilities are values of the normal law. The
noise on the lattice point covers how far that point is from theta, and nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from discreet.audit.statistics.claims import Claim
from discreet.audit.subjects.rows import MadeUpRows
from discreet.audit.subjects.subject import ExactLoss
from discreet.exact.arrays import FloatArray
from discreet.losses.sensitivity.objective import HUBER, threshold_steps
from discreet.mechanisms.coefficients.iterates import fitted_indices
from discreet.workflow import Question

# standard deviations of the linear term beyond which nothing is counted: less than 1e-300
_FAR: Final = 38.0
# halvings of the interval in which epsilon is sought, from this one on
_HALVINGS: Final = 40
_LARGEST: Final = 64.0


def objective_loss(name: str, asked: Question, claim: Claim, sides: tuple[MadeUpRows, MadeUpRows]) -> ExactLoss | None:
    """Epsilon at the claimed delta; none for the squared loss, or where rows do not lie along one line."""
    along = _along_one_line(asked, sides) if asked.settings["loss"] == HUBER else None
    if along is None:
        return None
    pieces = tuple(_pieces(asked, along))
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(pieces, middle) <= claim.delta else (middle, high)
    return ExactLoss(name, "epsilon", high, claim.epsilon)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Part of the line between two corners, with b = start + slope * place on each table, in standard deviations."""

    low: float
    high: float
    lines: tuple[tuple[float, float], tuple[float, float]]

    def cut(self, epsilon: float, first: int) -> list[float]:
        """The ends, and between them the places at which the log ratio of the densities is epsilon."""
        (a, k), (b, m) = self.lines[first], self.lines[1 - first]
        parabola = [(m * m - k * k) / 2, b * m - a * k, (b * b - a * a) / 2 + math.log(k / m) - epsilon]
        roots = np.roots(parabola)
        inside = sorted(float(root.real) for root in roots if root.imag == 0 and self.low < root.real < self.high)
        return [self.low, *inside, self.high]

    def mass(self, side: int, low: float, high: float) -> float:
        """Probability of a place between two, on one table."""
        start, slope = self.lines[side]
        lower, upper = start + slope * high, start + slope * low
        # differences of small numbers, not of numbers near 1
        return float(ndtr(upper) - ndtr(lower) if lower < 0 else ndtr(-lower) - ndtr(-upper))


def _delta(pieces: tuple[_Piece, ...], epsilon: float) -> float:
    """The smallest delta at this epsilon: for both tables what exceeds e^epsilon times the other, the larger."""
    return max(
        math.fsum(
            max(0.0, piece.mass(first, *ends) - math.exp(epsilon) * piece.mass(1 - first, *ends))
            for piece in pieces
            for ends in itertools.pairwise(piece.cut(epsilon, first))
        )
        for first in (0, 1)
    )


def _pieces(asked: Question, along: tuple[FloatArray, FloatArray]) -> Iterator[_Piece]:
    """All pieces, from as far below as linear terms reach to as far above."""
    threshold = threshold_steps(asked.settings, asked.domain) / asked.domain.unit
    strength, sd = asked.law.parameters["strength"] / asked.law.unit, asked.law.sd("linear")

    def term(rows: FloatArray, place: float) -> float:
        lengths, targets = rows
        return float(np.clip(targets - lengths * place, -threshold, threshold) @ lengths - strength * place) / sd

    corners = {
        (target + side) / length for rows in along for length, target in rows.T for side in (-threshold, threshold)
    }
    reach = max(abs(term(rows, 0.0)) for rows in along) + _FAR
    far = reach * sd / strength + max(map(abs, corners))
    for low, high in itertools.pairwise(sorted({-far, *corners, far})):
        slopes = [(term(rows, high) - term(rows, low)) / (high - low) for rows in along]
        starts = [term(rows, low) - slope * low for rows, slope in zip(along, slopes, strict=True)]
        yield _Piece(low, high, ((starts[0], slopes[0]), (starts[1], slopes[1])))


def _along_one_line(asked: Question, sides: tuple[MadeUpRows, MadeUpRows]) -> tuple[FloatArray, FloatArray] | None:
    """For both tables lengths along the line, and targets, in scaled units; none if rows lie otherwise."""
    tables = [Counter(map(tuple, side.grid.T.astype(np.int64).tolist())) for side in sides]
    differing = [*(tables[0] - tables[1]), *(tables[1] - tables[0])]
    if not differing:
        return None
    fitted = fitted_indices(asked.design)
    line = np.array([differing[0][index] for index in fitted])
    length2 = int(line @ line)
    found: list[FloatArray] = []
    for table in tables:
        kept = []
        for row in table.elements():
            z = np.array([row[index] for index in fitted])
            product = int(z @ line)
            # a row in which the tables differ has a part along the line
            if (product or row in differing) and (z * length2 != line * product).any():
                return None
            if product:
                kept.append((product / math.sqrt(length2), row[-1]))
        found.append(np.array(kept, dtype=np.float64).reshape(-1, 2).T / asked.domain.unit)
    return found[0], found[1]

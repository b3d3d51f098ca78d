"""Laplace noise on K counts, as in the notes, and with the sensitivity that the counts have; NOT PRIVATE, seeded.

Claimed: epsilon with scale K/epsilon. True: epsilon, if a person can be in all K counts. In the notes' example half of
the counts are of cases and half of controls, so a person added or removed moves K/2 of them and half the noise keeps
the same epsilon; exchanging a case for a control moves all K.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

GWAS_COUNTS = 2_000_000
GWAS_EPSILON = math.log(2)


def noisy_counts(counts: FloatArray, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Counts with Laplace noise of scale K/epsilon; NOT PRIVATE.

    >>> noisy_counts(np.zeros(3), 1.0, np.random.default_rng(1)).shape
    (3,)
    """
    return counts + rng.laplace(0.0, len(counts) / epsilon, len(counts))


def noise_sd(how_many: int, epsilon: float) -> float:
    """Standard deviation of the noise on one of K counts, sqrt(2) K/epsilon.

    >>> round(noise_sd(10, math.log(2)), 1), round(noise_sd(2_000_000, math.log(2)) / 1e6, 2)
    (20.4, 4.08)
    """
    return math.sqrt(2) * how_many / epsilon


def case_control_sensitivity(how_many: int, relation: Literal["add-remove", "replace"]) -> int:
    """In how many of K counts, half of cases and half of controls, neighbours can differ; found over the extreme rows.

    >>> case_control_sensitivity(10, "add-remove"), case_control_sensitivity(10, "replace")
    (5, 10)
    """
    half = how_many // 2
    absent = np.zeros(how_many)
    case, control = absent.copy(), absent.copy()
    case[:half], control[half:] = 1, 1
    extremes = (absent, case, control)
    pairs = (
        [(one, absent) for one in extremes]
        if relation == "add-remove"
        else [(one, other) for one in extremes[1:] for other in extremes[1:]]
    )
    return int(max(np.abs(one - other).sum() for one, other in pairs))


def true_loss(how_many: int, claimed: float, relation: Literal["add-remove", "replace"]) -> float:
    """The epsilon that scale K/claimed spends in the notes' example.

    >>> true_loss(10, 1.0, "add-remove")
    0.5
    """
    return case_control_sensitivity(how_many, relation) * claimed / how_many

"""Which count is largest: naive Laplace noise against report noisy max, as in the notes; NOT PRIVATE, seeded.

Claimed for noise of scale 1/epsilon: epsilon. True: epsilon if all counts can only move the same way (a person added or
removed), up to 2 epsilon if a person is exchanged, so that one count falls while another rises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray


def naive_scale(how_many: int, epsilon: float) -> float:
    """Scale of the Laplace mechanism on all K counts.

    >>> naive_scale(10, 0.5)
    20.0
    """
    return how_many / epsilon


def noisy_max_scale(epsilon: float) -> float:
    """Scale in the notes, whatever K is.

    >>> noisy_max_scale(0.5)
    2.0
    """
    return 1 / epsilon


def largest_index(counts: FloatArray, scale: float, rng: np.random.Generator) -> int:
    """Index of the largest count after Laplace noise; NOT PRIVATE.

    >>> largest_index(np.array([1.0, 900.0]), 1.0, np.random.default_rng(1))
    1
    """
    return int(np.argmax(counts + rng.laplace(0.0, scale, len(counts))))


def winning_chance(lead: float, scale: float) -> float:
    """Probability that the first of two counts wins if it leads by `lead`, in closed form.

    The difference of two Laplace variates exceeds t >= 0 with probability (1/2 + t/(4 b)) exp(-t/b).

    >>> winning_chance(0.0, 1.0), round(winning_chance(-3.0, 1.0), 4)
    (0.5, 0.0622)
    """
    tail = float((0.5 + abs(lead) / (4 * scale)) * np.exp(-abs(lead) / scale))
    return 1 - tail if lead >= 0 else tail


def true_loss(lead: float, epsilon: float, relation: Literal["add-remove", "replace"], factor: float = 1.0) -> float:
    """Loss of noisy max of two counts with scale factor/epsilon, where the second leads by `lead` and the first wins.

    Under add-remove the first count rises by 1; under replace it rises by 1 and the second falls by 1.

    >>> round(true_loss(200, 1.0, "add-remove"), 2), round(true_loss(200, 1.0, "replace"), 2)
    (1.0, 1.99)
    """
    moved = 1 if relation == "add-remove" else 2
    scale = factor / epsilon
    return float(np.log(winning_chance(moved - lead, scale) / winning_chance(-lead, scale)))

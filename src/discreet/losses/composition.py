"""How many releases there are, and what each may spend so that all together keep a budget. Proof: pieces.proof.md."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from discreet.losses.law import Settings
from discreet.privacy.lattice import ROUNDING
from discreet.privacy.textbook import advanced_composition

# steps of `irls`: one by scores is short, one by moments solves the weighted equations
USUAL_ITERATIONS: Final[Mapping[str, int]] = MappingProxyType({"score": 100, "moment": 10})
# epsilons add up, so that every further pass of pure noise costs more than the mean of iterates wins back
PURE_ITERATIONS: Final = 20
# the largest epsilon of a piece that the advanced composition is asked about
_MOST: Final = 100.0
_HALVINGS: Final = 100


def iteration_count(settings: Settings, *, pure: bool = False) -> int:
    """How many steps `irls` takes: those that were asked for, or what the form usually needs.

    >>> iteration_count({"iterations": 0, "form": "score"}), iteration_count({"iterations": 7, "form": "moment"})
    (100, 7)
    """
    usual = PURE_ITERATIONS if pure else USUAL_ITERATIONS[str(settings["form"])]
    return int(settings["iterations"]) or usual


def split(rule: str, epsilon: float, delta: float, releases: int) -> tuple[float, float]:
    """Epsilon and delta of each of so many releases that are together (epsilon, delta)-private by that rule.

    >>> [round(part, 7) for part in split("basic", 1.0, 1e-6, 10)]
    [0.1, 1e-07]
    """
    if rule == "basic":
        return epsilon / releases / ROUNDING, delta / releases / ROUNDING  # [P:basic-split]
    low, high = 0.0, min(epsilon, _MOST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if advanced_composition(middle, 0.0, releases, delta / 2)[0] * ROUNDING <= epsilon:  # [P:advanced-split]
            low = middle
        else:
            high = middle
    return low, delta / 2 / releases / ROUNDING

"""For every mechanism the neighbouring tables on which it comes closest to its claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from discreet.audit.pairs.corners import across_pairs, clipped_pairs, corner_pairs, opposed_pairs
from discreet.audit.pairs.pair import NeighbourPair
from discreet.audit.pairs.part_way import l1_pairs, middle_target_pairs
from discreet.audit.pairs.right_angles import right_angle_pairs
from discreet.audit.pairs.steered import steered_pairs
from discreet.design.model import Design
from discreet.losses.settings import BALL_SETTINGS
from discreet.mechanisms.registry import mechanism_named

Pairs: TypeAlias = tuple[NeighbourPair, ...]


def worst_pairs(mechanism: str, design: Design, *, clip_counts: bool = False) -> Pairs:
    """Neighbouring tables for audits and tightness tests of the mechanism of that name.

    >>> [pair.name for pair in worst_pairs("gaussian", Design("y", {"y": (-1, 1), "b": (0, 10)}))]
    ['second corner row']
    """
    pairs = _PAIRS[mechanism](design)
    return clipped_pairs(design, pairs) if clip_counts else pairs


def _eigenvalue_pairs(design: Design) -> Pairs:
    """Those of moments, and a corner row beside rows at right angles to it, which leave the eigenvalue to that row."""
    return (*middle_target_pairs(design), *right_angle_pairs(design))


def _output_pairs(design: Design) -> Pairs:
    """Corner rows; and a corner row beside rows that hold the coefficients where its residual is largest."""
    strength = float(mechanism_named("output").info.settings["strength"].default)
    return (*corner_pairs(design), *steered_pairs(design, strength, _ball("bound")))


def _objective_pairs(design: Design) -> Pairs:
    """Corner rows, beside a row at right angles, beside opposite ones, or beside rows that steer the squared loss."""
    steered = steered_pairs(design, _ball("strength"), _ball("bound"))
    return (*across_pairs(design), *corner_pairs(design), *opposed_pairs(design), *steered)


def _ball(setting: str) -> float:
    return float(BALL_SETTINGS[setting].default)


# corner rows have the longest scores and gradients at coefficients 0, and any row added or moved to another cell
# is the worst for a histogram
_PAIRS: Final[Mapping[str, Callable[[Design], Pairs]]] = MappingProxyType({
    "gaussian": middle_target_pairs,
    "laplace": l1_pairs,
    "k-norm": middle_target_pairs,
    "wishart": corner_pairs,
    "functional": l1_pairs,
    "ssp": middle_target_pairs,
    "adassp": _eigenvalue_pairs,
    "dpme": corner_pairs,
    "frank-wolfe": corner_pairs,
    # corner rows, worst for Gaussian and Wishart noise, and rows part of the way between them, worst for Laplace
    "irls": l1_pairs,
    "gradient": corner_pairs,
    "output": _output_pairs,
    "objective": _objective_pairs,
    "refined": corner_pairs,
})  # fmt: skip

"""Sensitivities that forget something one row can do, put into the production path while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from discreet.accounting import fitted_models as fitted
from discreet.accounting import iterations as iterative
from discreet.accounting import queries
from discreet.mechanisms import calibration as blocks
from discreet.mechanisms import objective

Patch = pytest.MonkeyPatch


def exchanged_scores_as_added(patch: Patch) -> None:
    """A row that is exchanged is charged like one that is added."""
    found = iterative.score_sensitivity

    def added(domain: Any, unit: Any, *, intercept: bool) -> float:
        return found(domain, replace(unit, neighbours="add-remove"), intercept=intercept)

    patch.setattr(iterative, "score_sensitivity", added)


def dropped_rows_forgotten(patch: Patch) -> None:
    """A row that is exchanged for one that a rule drops is charged like one that stays."""
    found = blocks.weighted_loss

    def staying(domain: Any, neighbours: Any, weights: Any, *, count_public: bool, **more: Any) -> float:
        return found(domain, neighbours, weights, count_public=count_public or neighbours == "replace", **more)

    for module in (blocks, queries):
        patch.setattr(module, "weighted_loss", staying)


def volume_forgotten(patch: Patch) -> None:
    """What a row does to the curvature of a loss is not charged."""
    for module in (objective, fitted):
        patch.setattr(module, "volume_loss", lambda rows, norm, size, strength: 0.0)

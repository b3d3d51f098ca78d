"""Which mechanism serves a budget best when the choice is left to us, from public quantities alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.mechanisms.registry import Mechanism, mechanism_named, mechanisms
from discreet.mechanisms.settings import checked_settings
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import NoiseLaw, Settings

AUTO: Final = "auto"
# general-purpose mechanisms that need no delta
_PURE: Final = ("laplace", "k-norm")


def chosen_mechanism(
    name: str, design: Design, domain: RowDomain, budget: PrivacyBudget, given: Mapping[str, object] | None = None
) -> tuple[Mechanism, Settings, NoiseLaw]:
    """The mechanism to use, its settings and its noise; with `auto` the one of least predicted error."""
    if name == AUTO:
        candidates = [mechanism for mechanism in _PURE if mechanism in mechanisms()] if budget.delta == 0 else []
        made = [_prepared(candidate, design, domain, budget, given) for candidate in candidates or ["gaussian"]]
        return min(made, key=lambda one: predicted_error(one[2], len(design.released)))
    return _prepared(name, design, domain, budget, given)


def _prepared(
    name: str, design: Design, domain: RowDomain, budget: PrivacyBudget, given: Mapping[str, object] | None
) -> tuple[Mechanism, Settings, NoiseLaw]:
    mechanism = mechanism_named(name)
    settings = checked_settings(name, mechanism.card.settings, given)
    return mechanism, settings, mechanism.noise_model(design, domain, budget, settings)


def predicted_error(law: NoiseLaw, size: int) -> float:
    """Mean variance that noise adds to the normal equations of the slopes, for scaled slopes of length 1.

    The intercept is taken as 1/2; only the order of mechanisms hangs on these.
    """
    variance = law.entry_sd(size) ** 2
    slopes = slice(1, size - 1)
    gram = variance[slopes, slopes].sum(axis=1) / (size - 2)
    return float(np.mean(variance[slopes, -1] + gram + variance[slopes, 0] / 4))

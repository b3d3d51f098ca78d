"""Privacy: what is promised, and what it costs.

Sees: declared numbers only (unit, budget, noise scales).
Never: rows, noise.
Hands on: unit, budget, guarantee, exact accounting.

>>> from discreet import privacy
>>> round(privacy.mu_from(1.0, 1e-6), 4)
0.2367
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.privacy.budget import PrivacyBudget, check_strength
    from discreet.privacy.composition import GaussianPiece, PurePiece, ZcdpPiece, compose
    from discreet.privacy.conversions import (
        gaussian_rdp,
        pure_to_cdp,
        pure_to_zcdp,
        rdp_to_approximate,
        zcdp_to_approximate,
        zcdp_to_approximate_simple,
        zcdp_to_cdp,
    )
    from discreet.privacy.gaussian import compose_mu, delta_from, epsilon_from, log_delta_from, mu_from
    from discreet.privacy.guarantee import Guarantee
    from discreet.privacy.loss import Loss
    from discreet.privacy.spend import SpendHook, SpendReceipt, SpendRequest, untracked
    from discreet.privacy.textbook import (
        advanced_composition,
        analytic_gaussian_sigma,
        basic_composition,
        classical_gaussian_sigma,
        zhao_gaussian_sigma,
    )
    from discreet.privacy.unit import PrivacyUnit
    from discreet.privacy.zcdp import delta_from_rho, epsilon_from_rho, rho_from

# module of each public name, opened on first use: a command that needs a budget does not load the whole accounting
_HOMES = {
    "GaussianPiece": "composition",
    "Guarantee": "guarantee",
    "Loss": "loss",
    "PrivacyBudget": "budget",
    "PrivacyUnit": "unit",
    "PurePiece": "composition",
    "SpendHook": "spend",
    "SpendReceipt": "spend",
    "SpendRequest": "spend",
    "ZcdpPiece": "composition",
    "advanced_composition": "textbook",
    "analytic_gaussian_sigma": "textbook",
    "basic_composition": "textbook",
    "check_strength": "budget",
    "classical_gaussian_sigma": "textbook",
    "compose": "composition",
    "compose_mu": "gaussian",
    "delta_from": "gaussian",
    "delta_from_rho": "zcdp",
    "epsilon_from": "gaussian",
    "epsilon_from_rho": "zcdp",
    "gaussian_rdp": "conversions",
    "log_delta_from": "gaussian",
    "mu_from": "gaussian",
    "pure_to_cdp": "conversions",
    "pure_to_zcdp": "conversions",
    "rdp_to_approximate": "conversions",
    "rho_from": "zcdp",
    "untracked": "spend",
    "zcdp_to_approximate": "conversions",
    "zcdp_to_approximate_simple": "conversions",
    "zcdp_to_cdp": "conversions",
    "zhao_gaussian_sigma": "textbook",
}

__all__ = [
    "GaussianPiece",
    "Guarantee",
    "Loss",
    "PrivacyBudget",
    "PrivacyUnit",
    "PurePiece",
    "SpendHook",
    "SpendReceipt",
    "SpendRequest",
    "ZcdpPiece",
    "advanced_composition",
    "analytic_gaussian_sigma",
    "basic_composition",
    "check_strength",
    "classical_gaussian_sigma",
    "compose",
    "compose_mu",
    "delta_from",
    "delta_from_rho",
    "epsilon_from",
    "epsilon_from_rho",
    "gaussian_rdp",
    "log_delta_from",
    "mu_from",
    "pure_to_cdp",
    "pure_to_zcdp",
    "rdp_to_approximate",
    "rho_from",
    "untracked",
    "zcdp_to_approximate",
    "zcdp_to_approximate_simple",
    "zcdp_to_cdp",
    "zhao_gaussian_sigma",
]


def __getattr__(name: str) -> object:
    """Resolve a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.privacy' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.privacy.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

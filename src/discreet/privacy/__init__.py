"""Privacy units, budgets, guarantees and accounting.

This package sees declared numbers only: units, budgets and noise scales. It never sees rows or noise.

>>> from discreet import privacy
>>> round(privacy.mu_from(1.0, 1e-6), 4)
0.2367
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.privacy.budget import PrivacyBudget, PrivacyUnit, check_strength
    from discreet.privacy.gaussian_dp import (
        compose_mu,
        delta_from,
        delta_from_rho,
        epsilon_from,
        epsilon_from_rho,
        gaussian_rdp,
        log_delta_from,
        mu_from,
        pure_to_cdp,
        pure_to_zcdp,
        rdp_to_approximate,
        rho_from,
        zcdp_to_approximate,
        zcdp_to_approximate_simple,
        zcdp_to_cdp,
    )
    from discreet.privacy.guarantee import Guarantee
    from discreet.privacy.spend import Loss, SpendHook, SpendReceipt, SpendRequest, untracked
    from discreet.privacy.textbook import (
        GaussianPiece,
        PurePiece,
        ZcdpPiece,
        advanced_composition,
        analytic_gaussian_sigma,
        basic_composition,
        classical_gaussian_sigma,
        compose,
        zhao_gaussian_sigma,
    )

# module of each public name, imported on first use to keep imports fast
_HOMES = {
    "GaussianPiece": "textbook",
    "Guarantee": "guarantee",
    "Loss": "spend",
    "PrivacyBudget": "budget",
    "PrivacyUnit": "budget",
    "PurePiece": "textbook",
    "SpendHook": "spend",
    "SpendReceipt": "spend",
    "SpendRequest": "spend",
    "ZcdpPiece": "textbook",
    "advanced_composition": "textbook",
    "analytic_gaussian_sigma": "textbook",
    "basic_composition": "textbook",
    "check_strength": "budget",
    "classical_gaussian_sigma": "textbook",
    "compose": "textbook",
    "compose_mu": "gaussian_dp",
    "delta_from": "gaussian_dp",
    "delta_from_rho": "gaussian_dp",
    "epsilon_from": "gaussian_dp",
    "epsilon_from_rho": "gaussian_dp",
    "gaussian_rdp": "gaussian_dp",
    "log_delta_from": "gaussian_dp",
    "mu_from": "gaussian_dp",
    "pure_to_cdp": "gaussian_dp",
    "pure_to_zcdp": "gaussian_dp",
    "rdp_to_approximate": "gaussian_dp",
    "rho_from": "gaussian_dp",
    "untracked": "spend",
    "zcdp_to_approximate": "gaussian_dp",
    "zcdp_to_approximate_simple": "gaussian_dp",
    "zcdp_to_cdp": "gaussian_dp",
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

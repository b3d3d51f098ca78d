"""Reproductions of source documents, baselines from the literature, and comparisons of methods. NOT PRIVATE.

This package reads only public and simulated tables. Its noise comes from NumPy with a seed and protects nobody. Each
document has a folder, and so do the baselines and `compare_methods`. `figure_catalogue` lists all figures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from discreet_papers.comparison.method_comparison import compare_methods
    from discreet_papers.neunhoeffer.covariance_ols import CovarianceFit, ols_cov
    from discreet_papers.reproduction import Reproduction, figures, reproduce

_HOMES = {
    "CovarianceFit": "discreet_papers.neunhoeffer.covariance_ols",
    "Reproduction": "discreet_papers.reproduction",
    "compare_methods": "discreet_papers.comparison.method_comparison",
    "figures": "discreet_papers.reproduction",
    "ols_cov": "discreet_papers.neunhoeffer.covariance_ols",
    "reproduce": "discreet_papers.reproduction",
}

__all__ = ["CovarianceFit", "Reproduction", "compare_methods", "figures", "ols_cov", "reproduce"]


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that the help of a command loads no large library."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet_papers' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value

"""The five source documents as they are written, rivals from the literature, and methods side by side.

Sees: public and simulated tables only.
Never: makes a private release; noise here comes from NumPy and a seed, and protects nobody (NOT PRIVATE).
Hands on: numbers, pictures and verdicts. A room for each document, one for the rivals, one for `compare_methods`;
`catalogue` lists the figures.
"""

from __future__ import annotations

from discreet.papers.neunhoeffer.ols import CovarianceFit, ols_cov
from discreet.papers.reproduction import Reproduction, figures, reproduce

__all__ = ["CovarianceFit", "Reproduction", "figures", "ols_cov", "reproduce"]

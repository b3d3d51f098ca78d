"""The five source documents as they are written: algorithms, experiments, figures, and what is wrong in them.

Sees: public and simulated tables only.
Never: makes a private release; noise here comes from NumPy and a seed, and protects nobody (NOT PRIVATE).
Hands on: numbers, pictures and verdicts. A room for each document; `catalogue` lists the figures.
"""

from __future__ import annotations

from discreet.papers.neunhoeffer.ols import CovarianceFit, ols_cov
from discreet.papers.reproduction import Reproduction, figures, reproduce

__all__ = ["CovarianceFit", "Reproduction", "figures", "ols_cov", "reproduce"]

"""The R notebook on noisy cross-products: DP-OLS by two schemes, and objective perturbation, as they are written.

Sees: a simulated table of two columns, and its outlier.
Never: makes a private release; noise comes from NumPy and a seed (NOT PRIVATE).
Hands on: five figures (`figures`), five errata (`errata`), and `ols_cov`, which reads a regression off any matrix of
sums of products.
"""

from __future__ import annotations

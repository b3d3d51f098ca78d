"""The R notebook on noisy cross-products, as written: DP-OLS by two schemes, and objective perturbation.

NOT PRIVATE: the table is simulated, and noise comes from NumPy with a seed. `ols_cov` computes a regression from any
matrix of sums of products.
"""

from __future__ import annotations

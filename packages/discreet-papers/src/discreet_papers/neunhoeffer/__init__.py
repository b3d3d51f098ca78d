"""The R notebook on noisy cross-products: DP-OLS by two schemes, and objective perturbation, as written.

NOT PRIVATE: the table is simulated, and noise comes from NumPy with a seed. The package has five figures, five errata,
and `ols_cov`, which computes a regression from any matrix of sums of products.
"""

from __future__ import annotations

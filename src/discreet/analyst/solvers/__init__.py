"""Solvers of noisy normal equations: least squares, ridge, lasso, and repairs of indefinite sums."""

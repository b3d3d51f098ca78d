"""Solvers of noisy normal equations: least squares, ridge, lasso, and repairs of indefinite sums.

Input: normal equations. Output: coefficients, or why there are none. Standard errors are in `inference`.
"""

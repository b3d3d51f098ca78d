"""Solving noisy normal equations: least squares, ridge, lasso, and what noise makes necessary.

Sees: normal equations.
Never: a standard error.
Hands on: coefficients, and why there are none.
"""

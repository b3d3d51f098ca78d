"""Fits as tables for papers, pages and other programs.

Sees: fits.
Never: computes a statistic of its own; writes a name without escaping it.
Hands on: `RegressionTable`, `Records`, and their text.
"""

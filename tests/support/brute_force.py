"""Covariances of noise by enumeration of single entries."""

from __future__ import annotations

import numpy as np


def spread_out(size):
    """A symmetric matrix as a linear map of its upper triangle: G with F.ravel() = G @ upper."""
    rows, columns = np.triu_indices(size)
    G = np.zeros((size * size, len(rows)))
    for index, (i, j) in enumerate(zip(rows, columns, strict=True)):
        G[i * size + j, index] = G[j * size + i, index] = 1
    return G, (rows, columns)


def brute_covariance(variance, left, s, right, t):
    """Cov(left'F s, right'F t) with every entry on its own."""
    G, upper = spread_out(len(variance))
    one, two = np.outer(left, s).ravel() @ G, np.outer(right, t).ravel() @ G
    return float(one @ (variance[upper] * two))

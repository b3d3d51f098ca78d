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


def brute_covariance(variance, left, s, right, t, copies=()):
    """Cov(left'F s, right'F t) with every entry on its own, but for columns whose square is their sum."""
    G, upper = spread_out(len(variance))
    places = {place: index for index, place in enumerate(zip(*(one.tolist() for one in upper), strict=True))}
    # an entry that is a copy is moved to the one that it is a copy of
    for j in copies:
        G[:, places[0, j]] += G[:, places[j, j]]
        G[:, places[j, j]] = 0
    one, two = np.outer(left, s).ravel() @ G, np.outer(right, t).ravel() @ G
    return float(one @ (variance[upper] * two))

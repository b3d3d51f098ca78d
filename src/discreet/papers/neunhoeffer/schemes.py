"""The notebook's two ways to add Laplace noise to sums of products; NOT PRIVATE.

| Scheme | Claimed | True, one row added |
|---|---|---|
| `jiang_noise`: scale 2d/epsilon on every sum | epsilon | epsilon times (sum of absolute products of the row)/(2d) |
| `per_entry_noise`: range_i range_j/epsilon on every sum | epsilon | the sum: 6 epsilon for columns in [0, 1] |

The first is sound for rows in the unit ball, and the notebook's rows are not scaled. The ranges of the second are the
smallest and the largest value of the data, which is a leak of its own.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

EPSILONS: Final = (0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 5.0, 100_000.0)
PER_ENTRY_EPSILONS: Final = (*EPSILONS[:-1], 100.0)
NORMAL_95: Final = 1.959963984540054


def jiang_noise(sums: FloatArray, epsilon: float, rng: np.random.Generator, draws: int) -> FloatArray:
    """Noisy sums as in the notebook after Jiang, Xie & Zhang (2015): (sums/n + Lap(2d/(n epsilon))) n; NOT PRIVATE.

    >>> jiang_noise(np.eye(3), 1.0, np.random.default_rng(1), 5).shape
    (5, 3, 3)
    """
    d, n = len(sums), float(sums[1, 1])
    noise = _mirrored(rng.laplace(0.0, 2 * d / (n * epsilon), (draws, d * (d + 1) // 2)), d)
    return (sums / n + noise) * n


def column_ranges(x: FloatArray, y: FloatArray) -> FloatArray:
    """Largest less smallest value of y, the ones (taken as 1) and x: from the data, NOT PRIVATE.

    >>> column_ranges(np.array([0.0, 2.0]), np.array([1.0, 5.0])).tolist()
    [4.0, 1.0, 2.0]
    """
    return np.array([np.ptp(y), 1.0, np.ptp(x)])


def per_entry_sensitivity(n: float, ranges: FloatArray) -> FloatArray:
    """The notebook's sensitivity of each sum, (n - 1)/n range_i range_j, as a matrix.

    >>> per_entry_sensitivity(100, np.array([2.0, 1.0]))[0].tolist()
    [3.96, 1.98]
    """
    return np.asarray((n - 1) / n * np.outer(ranges, ranges))


def per_entry_noise(
    sums: FloatArray, ranges: FloatArray, epsilon: float, rng: np.random.Generator, draws: int
) -> FloatArray:
    """Noisy sums where every entry has a Laplace mechanism of its own at the whole epsilon; NOT PRIVATE.

    >>> per_entry_noise(np.eye(3), np.ones(3), 1.0, np.random.default_rng(1), 5).shape
    (5, 3, 3)
    """
    d = len(sums)
    scale = per_entry_sensitivity(float(sums[1, 1]), ranges)[np.triu_indices(d)] / epsilon
    return sums + _mirrored(rng.laplace(0.0, scale, (draws, len(scale))), d)


def _mirrored(triangle: FloatArray, d: int) -> FloatArray:
    """Symmetric matrices from their upper triangles, row by row."""
    full = np.zeros((len(triangle), d, d))
    rows, columns = np.triu_indices(d)
    full[:, rows, columns] = triangle
    full[:, columns, rows] = triangle
    return full


def many_lines(noisy: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coefficients and the notebook's standard errors for many noisy matrices; not a number where its root fails.

    >>> table = np.array([[1.0, 1, 0], [3.0, 1, 1], [4.0, 1, 2], [6.0, 1, 3]])
    >>> many_lines((table.T @ table)[None])[0].round(3).tolist()
    [[1.1, 1.6]]
    """
    inverse = np.linalg.inv(noisy[:, 1:, 1:])
    products = noisy[:, 1:, 0]
    beta = np.einsum("kij,kj->ki", inverse, products)
    rest = noisy[:, 0, 0] - np.einsum("ki,ki->k", products, beta)
    variance = rest / (noisy[:, 1, 1] - 2)
    with np.errstate(invalid="ignore"):
        return beta, np.sqrt(variance[:, None] * np.diagonal(inverse, axis1=1, axis2=2))


def jiang_loss(row: FloatArray, epsilon: float) -> FloatArray:
    """Exact loss of the first scheme for added rows (y, 1, x): sum over entries of |product|/scale.

    >>> jiang_loss(np.array([10.0, 1.0, -4.0]), 1.0).item()
    28.5
    """
    d = row.shape[-1]
    rows, columns = np.triu_indices(d)
    return np.asarray(epsilon * np.abs(row[..., rows] * row[..., columns]).sum(axis=-1) / (2 * d))


def per_entry_loss(low: FloatArray, high: FloatArray, epsilon: float, n: float, *, exchanged: bool = False) -> float:
    """Largest loss of the second scheme over rows at the corners of a box: a row added, or one exchanged for another.

    A column whose ends are equal is the column of ones. A convex function on a box is largest at a corner.

    >>> round(per_entry_loss(np.array([0.0, 1, 0]), np.array([1.0, 1, 1]), 1.0, 1e9), 6)
    6.0
    """
    ranges = np.where(high == low, 1.0, high - low)
    rows, columns = np.triu_indices(len(low))
    scale = per_entry_sensitivity(n, ranges)[rows, columns] / epsilon
    corners = np.array(list(product(*zip(low, high, strict=True))))
    products = corners[:, rows] * corners[:, columns]
    moved = products[:, None] - products[None] if exchanged else products[:, None]
    return float((np.abs(moved) / scale).sum(axis=-1).max())

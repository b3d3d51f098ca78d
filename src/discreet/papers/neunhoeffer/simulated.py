"""The notebook's table: 10,000 rows, y = 2 + 3 x + noise, x with standard deviation 2, and one outlier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

ROWS: Final = 10_000
INTERCEPT: Final = 2.0
SLOPE: Final = 3.0
OUTLIER: Final = (10.0, -4.0)  # y, x
SEED: Final = 20190430
# declared for our releases: what everybody knows about the columns
X_BOUNDS: Final = (-10.0, 10.0)
Y_BOUNDS: Final = (-40.0, 40.0)


def notebook_table(seed: int = SEED, *, outlier: bool = False, rows: int = ROWS) -> tuple[FloatArray, FloatArray]:
    """The columns x and y, with the outlier as last row if asked for.

    >>> x, y = notebook_table(outlier=True)
    >>> len(x), x[-1].item(), y[-1].item()
    (10001, -4.0, 10.0)
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 2.0, rows)
    y = INTERCEPT + SLOPE * x + rng.normal(0.0, 1.0, rows)
    if outlier:
        y, x = np.append(y, OUTLIER[0]), np.append(x, OUTLIER[1])
    return x, y


def sums_of_products(x: FloatArray, y: FloatArray) -> FloatArray:
    """D'D of the table D = (y, 1, x), in the notebook's order.

    >>> sums_of_products(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [[25.0, 7.0, 11.0], [7.0, 2.0, 3.0], [11.0, 3.0, 5.0]]
    """
    table = np.column_stack([y, np.ones_like(x), x])
    return table.T @ table

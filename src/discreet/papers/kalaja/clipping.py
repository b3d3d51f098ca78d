"""How Honkela et al. (2018) choose where to clip: on simulated rows, which costs no privacy."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.papers.kalaja.algorithms import solved

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

WIDTHS: Final = tuple(round(0.1 * step, 1) for step in range(1, 21))
_SETS: Final = 5  # simulated tables, and draws of noise for each; they use 20 of both
_MOST_ROWS: Final = 4_000
_SHARES: Final = (0.35, 0.6)  # of epsilon for X'X and X'y


@lru_cache(maxsize=512)
def clipping_widths(rows: int, columns: int, epsilon: float) -> tuple[float, float]:
    """Widths for x and y in standard deviations: the pair that predicts best on simulated tables of this size.

    x is normal with rows of norm 1, y = x b + N(0, 1) with b ~ N(0, I). The noise is Laplace on the clipped sums, the
    prior precision 1. We measure Pearson's correlation of prediction and target where they take Spearman's, and
    simulate 4,000 rows at most and scale their sums.

    >>> clipping_widths(500, 10, 0.1) in [(x, y) for x in WIDTHS for y in WIDTHS]
    True
    """
    rng = np.random.default_rng(42)
    score = np.zeros((len(WIDTHS), len(WIDTHS)))
    for _ in range(_SETS):
        x, y = _simulated(min(rows, _MOST_ROWS), columns, rng)
        score += _correlations(x, y, rows / len(y), epsilon, rng)
    best = np.unravel_index(score.argmax(), score.shape)
    return WIDTHS[int(best[0])], WIDTHS[int(best[1])]


def _simulated(rows: int, columns: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    x = rng.standard_normal((rows, columns))
    x -= x.mean(axis=0)
    x /= np.linalg.norm(x, axis=1)[:, None]
    y = x @ rng.standard_normal(columns) + rng.standard_normal(rows)
    return x, y - y.mean()


def _correlations(x: FloatArray, y: FloatArray, scale: float, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Mean correlation for every pair of widths, over draws of noise."""
    columns = x.shape[1]
    at_x, at_y = np.array(WIDTHS) * x.std(ddof=1), np.array(WIDTHS) * y.std(ddof=1)
    targets = np.clip(y[:, None], -at_y, at_y)
    cut = [np.clip(x, -at, at) for at in at_x]
    grams = scale * np.array([one.T @ one for one in cut])
    crosses = scale * np.array([(one.T @ targets).T for one in cut])
    full_gram, full_cross, size = x.T @ x, x.T @ y, float(y @ y)
    found = np.zeros((len(at_x), len(at_y)))
    for _ in range(_SETS):
        gram_noise, cross_noise = _laplace(columns, epsilon, rng)
        noisy = grams + (at_x**2)[:, None, None] * gram_noise + np.eye(columns)
        sides = crosses + (at_x[:, None] * at_y)[:, :, None] * cross_noise
        theta = solved(noisy[:, None], sides)
        length = np.einsum("abi,ij,abj->ab", theta, full_gram, theta, optimize=True)
        found += theta @ full_cross / np.sqrt(np.maximum(length, 1e-300) * size)
    return found


def _laplace(columns: int, epsilon: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Noise for clipping points 1: an upper triangle that is mirrored, and a vector."""
    upper = np.triu(rng.laplace(scale=(columns**2 + columns) / (_SHARES[0] * epsilon), size=(columns, columns)))
    return upper + np.triu(upper, 1).T, rng.laplace(scale=2 * columns / (_SHARES[1] * epsilon), size=columns)

"""SSP and AdaSSP as the thesis, the paper that it follows and that paper's code write them; NumPy noise, NOT PRIVATE.

All need rows in the unit ball and targets in [-1, 1]. Under that condition, and with real noise, `true_epsilon` says
what each spends. The thesis scales rows by statistics of the data, which it does not charge: see `preprocessing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.privacy import epsilon_from

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

DELTA: Final = 1e-6
MISS: Final = 0.05  # rho of AdaSSP


@dataclass(frozen=True, eq=False)
class Sums:
    """What a linear model needs to know of its training rows.

    Attributes
    ----------
    gram, cross
        X'X and X'y, shapes (d, d) and (d,).
    rows
        How many rows there are.
    """

    gram: FloatArray
    cross: FloatArray
    rows: int

    @classmethod
    def of(cls, x: FloatArray, y: FloatArray) -> Sums:
        """Sums over rows."""
        return cls(x.T @ x, x.T @ y, len(y))


Algorithm = Callable[[Sums, "FloatArray", float, np.random.Generator], "FloatArray"]


def mirrored(rng: np.random.Generator, many: int, size: int) -> FloatArray:
    """Symmetric noise by Algorithm 1: an upper triangle of independent normal variates, copied below the diagonal."""
    upper = np.triu(rng.standard_normal((many, size, size)))
    return upper + np.triu(upper, 1).transpose(0, 2, 1)


def averaged(rng: np.random.Generator, many: int, size: int) -> FloatArray:
    """Symmetric noise as the code of AdaSSP makes it, (Z + Z')/2: sd 0.707 beside the diagonal."""
    square = rng.standard_normal((many, size, size))
    return (square + square.transpose(0, 2, 1)) / 2


def solved(gram: FloatArray, cross: FloatArray) -> FloatArray:
    """Coefficients for stacks of noisy sums: shapes (k, d, d) and (k, d)."""
    return np.asarray(np.linalg.solve(gram, cross[..., None])[..., 0], dtype=np.float64)


def trivial(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Coefficients 0, which need no data: the error to compare with."""
    return np.zeros((len(epsilons), len(sums.cross)))


def ridge(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """The non-private solution of the thesis: ridge regression with lambda = 1, the same at every epsilon."""
    theta = np.linalg.solve(sums.gram + np.eye(len(sums.cross)), sums.cross)
    return np.tile(theta, (len(epsilons), 1))


def paper_sigma(epsilon: float, delta: float) -> float:
    """Noise of SSP by the variance that the thesis quotes from Wang (2018): 4 log(4/delta) / epsilon^2."""
    return 2 * math.sqrt(math.log(4 / delta)) / epsilon


def coded_sigma(epsilon: float, delta: float) -> float:
    """Noise of SSP in Wang's code: a quarter of the paper's variance."""
    return math.sqrt(math.log(4 / delta)) / epsilon


def symmetric_sigma(epsilon: float, delta: float) -> float:
    """Noise of SSP as the thesis corrects it: Algorithm 1 at half of epsilon and delta for each of two statistics."""
    return math.sqrt(2 * math.log(1.25 / (delta / 2))) / (epsilon / 2)


def printed_sigma(epsilon: float, delta: float) -> float:
    """Noise of AdaSSP, Algorithm 2."""
    return math.sqrt(math.log(6 / delta)) / (epsilon / 3)


def fixed_sigma(epsilon: float, delta: float) -> float:
    """Noise of AdaSSP with the thesis's noise levels, Algorithm 3."""
    return math.sqrt(2 * math.log(3.75 / delta)) / (epsilon / 3)


def _each(sigma: Callable[[float, float], float], epsilons: FloatArray, delta: float) -> FloatArray:
    return np.array([sigma(float(epsilon), delta) for epsilon in epsilons])


def ssp_paper(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """SSP by the paper's variance, symmetric noise; (epsilon, delta)-DP up to epsilon 10.9, and spends less."""
    return _ssp(sums, _each(paper_sigma, epsilons, delta), rng)


def ssp_symmetric(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """SSP with the thesis's correction: symmetric noise and Algorithm 1's variance."""
    return _ssp(sums, _each(symmetric_sigma, epsilons, delta), rng)


def _ssp(sums: Sums, sigma: FloatArray, rng: np.random.Generator) -> FloatArray:
    size = len(sums.cross)
    gram = sums.gram + sigma[:, None, None] * mirrored(rng, len(sigma), size)
    return solved(gram, sums.cross + sigma[:, None] * rng.standard_normal((len(sigma), size)))


def ssp_coded(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """SSP as Wang's code has it: X'X + I, noise that is not symmetric, half of the paper's standard deviation.

    NOT PRIVATE at the claimed epsilon: it spends 1.587 at a claimed 1.
    """
    size = len(sums.cross)
    sigma = _each(coded_sigma, epsilons, delta)
    cross = sums.cross + sigma[:, None] * rng.standard_normal((len(sigma), size))
    noise = sigma[:, None, None] * rng.standard_normal((len(sigma), size, size))
    return solved(sums.gram + np.eye(size) + noise, cross)


def adassp_printed(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """AdaSSP, Algorithm 2 as printed: noisy lambda_min, a ridge from it, mirrored noise; spends 0.60 at a claimed 1."""
    return _adassp(sums, _each(printed_sigma, epsilons, delta), math.log(6 / delta), mirrored, rng)


def adassp_fixed(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """AdaSSP, Algorithm 3 of the thesis: as Algorithm 2 with more noise; spends 0.42 at a claimed 1."""
    return _adassp(sums, _each(fixed_sigma, epsilons, delta), 2 * math.log(3.75 / delta), mirrored, rng)


def adassp_coded(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """AdaSSP as Wang's code has it: X'X + I first, and the noise averaged with its transpose."""
    with_identity = Sums(sums.gram + np.eye(len(sums.cross)), sums.cross, sums.rows)
    return _adassp(with_identity, _each(printed_sigma, epsilons, delta), math.log(6 / delta), averaged, rng)


def _adassp(
    sums: Sums,
    sigma: FloatArray,
    log_term: float,
    noise: Callable[[np.random.Generator, int, int], FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    size = len(sums.cross)
    smallest = np.linalg.eigvalsh(sums.gram)[0]
    # step 2: sqrt(L)/(epsilon/3) is sigma, so L/(epsilon/3) is sigma sqrt(L)
    at_least = np.maximum(smallest + sigma * rng.standard_normal(len(sigma)) - sigma * math.sqrt(log_term), 0.0)
    lam = np.maximum(0.0, sigma * math.sqrt(size * math.log(2 * size**2 / MISS)) - at_least)
    gram = sums.gram + sigma[:, None, None] * noise(rng, len(sigma), size)
    cross = sums.cross + sigma[:, None] * rng.standard_normal((len(sigma), size))
    return solved(gram + lam[:, None, None] * np.eye(size), cross)


# how many statistics of sensitivity 1 each algorithm publishes, and its noise
_SPENT: Final = {
    "ssp_paper": (2, paper_sigma),
    "ssp_coded": (2, coded_sigma),
    "ssp_symmetric": (2, symmetric_sigma),
    "adassp_printed": (3, printed_sigma),
    "adassp_coded": (3, printed_sigma),
    "adassp_fixed": (3, fixed_sigma),
}


def true_mu(name: str, epsilon: float, delta: float = DELTA) -> float:
    """What an algorithm spends as Gaussian differential privacy, all its statistics together.

    Exact for SSP: one row (a unit vector, with target 1) moves both statistics by 1. An upper bound for AdaSSP, whose
    lambda_min the same row need not move.
    """
    statistics, sigma = _SPENT[name]
    return math.sqrt(statistics) / sigma(epsilon, delta)


@lru_cache(maxsize=256)
def true_epsilon(name: str, epsilon: float, delta: float = DELTA) -> float:
    """The epsilon that an algorithm spends at a claimed one, add-remove, given rows in the unit ball.

    >>> names = ("ssp_coded", "ssp_paper", "ssp_symmetric", "adassp_printed", "adassp_fixed")
    >>> [round(true_epsilon(name, 1.0), 3) for name in names]
    [1.587, 0.751, 0.527, 0.596, 0.418]
    """
    return epsilon_from(true_mu(name, epsilon, delta), delta)

"""Many robust releases at once: both passes over drawn tables, noise of the mechanism's distribution, the library's
formulas.

NOT PRIVATE: the noise comes from seeded NumPy draws. `test_study_robust_sets` holds the results against `discreet.fit`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import discreet
from discreet.analyst.residual_plan import _DEVIATIONS, _NOISE, _SMALLEST_BOUND, WIDEST_BOUND
from discreet.options import DEFAULT_GRID_BITS
from discreet.releases import NoiseDistribution, ResidualPart
from support.many_releases import Case, Many, Setup, Tested, as_release, distribution_of, forms, with_noise


def robust_distribution(case: Case, epsilon: float) -> NoiseDistribution:
    return distribution_of(case, epsilon, robust=True)


def middle_sd(distribution: NoiseDistribution, size: int) -> np.ndarray:
    """Standard deviations of the noise in the middle of the sandwich where residuals are clipped at 1."""
    out = np.full((size, size), distribution.sd("residual_off_diagonal"))
    np.fill_diagonal(out, distribution.sd("residual_diagonal"))
    return out


@dataclass(frozen=True, eq=False)
class Drawn:
    """Releases of one budget; rows without positive definite sums have no middle and a bound of 0.

    Attributes
    ----------
    distribution
        Of the noise.
    moments
        Noisy sums of (1, x, y), shape (count, p, p).
    bound
        Where residuals were clipped, shape (count,).
    middle
        Noisy sums over clipped residuals, shape (count, p - 1, p - 1).
    """

    distribution: NoiseDistribution
    moments: np.ndarray
    bound: np.ndarray
    middle: np.ndarray

    def release(self, setup: Setup, index: int) -> discreet.Release:
        """One of them as the value that `discreet.fit` reads."""
        bound = float(self.bound[index])
        made = as_release(setup, self.distribution, self.moments[index])
        size = self.middle.shape[-1]
        inner = self.middle[index][np.triu_indices(size)] / bound**2 * 4**DEFAULT_GRID_BITS
        return replace(made, residuals=ResidualPart((0.0,) * size, bound, tuple(round(value) for value in inner)))


def drawn_releases(
    case: Case, setup: Setup, n: int, distributions: list[NoiseDistribution], count: int, random: np.random.Generator
) -> tuple[list[Drawn], np.ndarray]:
    """Release `count` tables of n rows at each budget; also give their sums without noise, shape (count, p, p).

    Every table is summed, gets noise, and is summed again with residuals from the noisy coefficients.
    """
    size = len(setup.names) + 1
    sds = [distribution.entry_sd(size) for distribution in distributions]
    i, j = np.triu_indices(size - 1)
    exact = np.empty((count, size, size))
    noisy = np.empty((len(distributions), count, size, size))
    bounds, middles = np.zeros((len(distributions), count)), np.zeros((len(distributions), count, size - 1, size - 1))
    batch = max(1, 100_000 // n)
    for start in range(0, count, batch):
        Z = case.rows(n * min(batch, count - start), random).reshape(-1, n, size)
        own = slice(start, start + len(Z))
        exact[own] = Z.transpose(0, 2, 1) @ Z
        products = Z[:, :, i] * Z[:, :, j]
        for index, sd in enumerate(sds):
            noisy[index, own] = with_noise(exact[own], sd, random)
            many = Many.of(noisy[index, own], sd, setup)
            found = np.flatnonzero(many.definite)
            bound = default_bounds(many)
            residual = Z[found, :, -1] - (Z[found, :, :-1] @ many.theta[:, :, None])[:, :, 0]
            np.clip(residual, -bound[:, None], bound[:, None], out=residual)
            sums = (np.square(residual)[:, None, :] @ products[found])[:, 0]
            filled = np.zeros((len(found), size - 1, size - 1))
            filled[:, i, j] = filled[:, j, i] = sums
            sd_middle = middle_sd(distributions[index], size - 1)
            middles[index, start + found] = with_noise(filled / bound[:, None, None] ** 2, sd_middle, random)
            middles[index, start + found] *= bound[:, None, None] ** 2
            bounds[index, start + found] = bound
    return [Drawn(*one) for one in zip(distributions, noisy, bounds, middles, strict=True)], exact


def default_bounds(many: Many) -> np.ndarray:
    """As in `discreet.analyst.residual_plan`, for many."""
    noise = many.C @ forms(many.T, many.contrast) @ many.C.T
    followed = many.H @ noise
    squares = many.contrast**2
    own = 2 * ((squares @ many.T) * squares).sum(axis=1) - (squares**2 @ many.T.diagonal())
    trace = np.trace(followed, axis1=1, axis2=2)
    lost = own + 2 * (followed * followed.transpose(0, 2, 1)).sum(axis=(1, 2)) + 4 * many.capped_s2 * trace
    variance = np.maximum(many.s2, 0.0) + _NOISE * np.sqrt(lost) / many.df
    return np.maximum(_SMALLEST_BOUND, np.minimum(WIDEST_BOUND, _DEVIATIONS * np.sqrt(variance)))


@dataclass(frozen=True, eq=False)
class ManyRobust:
    """Robust inference of all releases whose sums of regressors are positive definite."""

    plain: Many
    middle: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, drawn: Drawn, setup: Setup) -> ManyRobust:
        many = Many.of(drawn.moments, drawn.distribution.entry_sd(setup.size + 1), setup)
        bound = drawn.bound[many.definite][:, None, None]
        return cls(many, drawn.middle[many.definite], middle_sd(drawn.distribution, setup.size) ** 2 * bound**4)

    def single(self, row: np.ndarray, value: float) -> Tested:
        """Test row'theta = value in every release; the sets belong to it."""
        base = self._with(self._definite)
        a = self.plain.H @ row
        x = (quadratic(self.middle, a) + quadratic(self._definite, a)) / 2
        believed = moved(x, self._noise(a), quadratic(self._equal, a), 1.0)
        own = np.where(self.plain.capped_s2 > 0, believed, quadratic(self._definite, a))
        toward = base.covariance @ row
        v = toward / (toward @ row)[:, None]
        more = self._factor * own - (base.sampling @ row) @ row
        step = more[:, None, None] * v[:, :, None] * v[:, None, :]
        changed = replace(base, sampling=base.sampling + step, covariance=base.covariance + step)
        return changed.test(row[None, :], np.array([value]))

    def joint(self, L: np.ndarray, values: np.ndarray) -> Tested:
        """Test L theta = values in every release."""
        known = self.plain.capped_s2 > 0
        root = np.linalg.cholesky(np.where(known[:, None, None], self._equal, np.eye(L.shape[1])))
        inverse = np.linalg.inv(root)
        found, vectors = np.linalg.eigh(inverse @ self.middle @ inverse.transpose(0, 2, 1))
        rows = vectors.transpose(0, 2, 1) @ inverse
        noise = np.stack([self._noise(rows[:, index]) for index in range(L.shape[1])], axis=1)
        sides = root @ vectors
        middle = (sides * moved(found, noise, np.ones_like(found), 1.5)[:, None, :]) @ sides.transpose(0, 2, 1)
        return self._with(np.where(known[:, None, None], middle, self._definite)).test(L, values)

    def _with(self, middle: np.ndarray) -> Many:
        many = self.plain
        sampling = self._factor[:, None, None] * many.H @ middle @ many.H
        return replace(many, sampling=sampling, covariance=many.covariance - many.sampling + sampling)

    @property
    def _factor(self) -> np.ndarray:
        return 1 + self.middle.shape[-1] / self.plain.df

    @cached_property
    def _definite(self) -> np.ndarray:
        values, vectors = np.linalg.eigh(self.middle)
        return (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)

    @cached_property
    def _equal(self) -> np.ndarray:
        return self.plain.capped_s2[:, None, None] * np.linalg.inv(self.plain.H)

    def _noise(self, a: np.ndarray) -> np.ndarray:
        squares = a**2
        own = np.diagonal(self.variance, axis1=1, axis2=2)
        return np.sqrt(2 * quadratic(self.variance, squares) - (own * squares**2).sum(axis=1))


def moved(values: np.ndarray, noise: np.ndarray, plain: np.ndarray, up: float) -> np.ndarray:
    """As in `discreet.analyst.inference.score`."""
    raised = np.minimum(np.maximum(values + up * noise, 0.0), plain)
    lowered = np.maximum(values - 2 * noise, 10 * plain)
    return np.where(values < plain, raised, np.where(values > 10 * plain, lowered, values))


def quadratic(matrices: np.ndarray, a: np.ndarray) -> np.ndarray:
    return ((matrices @ a[:, :, None])[:, :, 0] * a).sum(axis=1)

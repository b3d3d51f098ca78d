"""Many releases at once: moments of drawn tables, noise of the mechanism's distribution, and the library's formulas as
arrays.

NOT PRIVATE: the noise comes from seeded NumPy draws. `test_study_sets` holds the results against `discreet.fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
from scipy.special import chdtri, fdtrc, stdtrit

import discreet
from discreet.analyst.inference.nuisance import level_given
from discreet.design.model_columns import model_of
from discreet.design.scales import scales_of
from discreet.mechanisms.registry import chosen_mechanism
from discreet.options import DEFAULT_GRID_BITS, ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.testing.not_private import exact_release

ALPHA, DELTA, BLOCK = 0.05, 1e-6, 1_000
FREE = 1e12  # kappa where nothing is hidden
NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)


@dataclass(frozen=True, eq=False)
class Case:
    """A population, what a curator declares about it, and the model that an analyst reads."""

    name: str
    columns: dict
    draw: Callable[[int, np.random.Generator], dict[str, np.ndarray]]
    options: dict = field(default_factory=dict)
    model: dict = field(default_factory=dict)

    @property
    def design(self) -> discreet.Design:
        return discreet.Design("y", self.columns, **self.options)

    def rows(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Scaled and clipped rows of (1, features, target)."""
        data, out = self.draw(n, random), [np.ones(n)]
        for name in [*(name for name in self.columns if name != "y"), "y"]:
            declared, values = self.columns[name], data[name]
            if declared is bool:
                out.append(values)
            elif isinstance(declared, list):
                out += [values == index for index in range(1, len(declared))]
            else:
                low, high = declared
                out.append(np.clip((values - (low + high) / 2) / ((high - low) / 2), -1, 1))
        return np.column_stack(out).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Setup:
    """Where the sums of a model stand in a release, how noise enters them, and original units."""

    names: tuple[str, ...]
    positions: np.ndarray
    C: np.ndarray
    units: np.ndarray
    empty: discreet.Release

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def slopes(self) -> list[int]:
        return [index for index, name in enumerate(self.names) if name != "Intercept"]

    def own(self, columns: Sequence[int]) -> tuple[int, ...]:
        """Where released columns stand among those of the model."""
        return tuple(np.flatnonzero(np.isin(self.positions, columns)).tolist())

    @classmethod
    def of(cls, case: Case) -> Setup:
        random = np.random.default_rng(0)
        few = {name: values.tolist() for name, values in case.draw(5, random).items()}
        for name, declared in case.columns.items():
            if isinstance(declared, list):
                few[name] = [declared[index] for index in few[name]]
        empty = exact_release(few, case.design)
        model = model_of(empty.design, **case.model)
        scales = scales_of(case.design, (*model.features, model.target))
        half, mid = np.array(scales.half), np.array(scales.mid)
        size = len(model.names)
        moved = [] if model.intercept else [mid / half]
        slopes = half[-1] / half[:-1]
        units = np.diag(np.append(half[-1], slopes)) if model.intercept else np.diag(slopes)
        if model.intercept:
            units[0, 1:] = -slopes * mid[:-1]
        positions = np.array([0, *model.positions, model.target_position])
        C = np.column_stack([*moved, np.eye(size + 1)])
        return cls(model.names, positions, C, units, empty)

    def truth(self, population: np.ndarray) -> np.ndarray:
        """Scaled coefficients of the clipped population."""
        B = self.C @ population[np.ix_(self.positions, self.positions)] @ self.C.T
        return np.linalg.solve(B[:-1, :-1], B[:-1, -1])

    def original(self, case: Case, theta: np.ndarray) -> np.ndarray:
        """Coefficients in the units of the columns."""
        model = model_of(self.empty.design, **case.model)
        mid = np.array(scales_of(case.design, (*model.features, model.target)).mid)
        return self.units @ theta + (mid[-1] * (np.arange(self.size) == 0) if "Intercept" in self.names else 0.0)


def drawn_moments(case: Case, count: int, random: np.random.Generator) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """Sums of products of `count` tables of 1e3, 1e4 and 1e5 rows, and the mean of the population behind them.

    A table is a sum of blocks of 1,000 rows from a pool that is the population: ten times as many blocks as tables, so
    that tables of 1e3 rows share no block and the others few.
    """
    pool = []
    for _ in range(10 * count // 20):
        Z = case.rows(20 * BLOCK, random).reshape(20, BLOCK, -1)
        pool.append(Z.transpose(0, 2, 1) @ Z)
    blocks = np.concatenate(pool)
    tables = {BLOCK: blocks[:count], 10 * BLOCK: blocks.reshape(count, 10, *blocks.shape[1:]).sum(axis=1)}
    tens = [tables[10 * BLOCK][random.integers(0, count, 10)].sum(axis=0) for _ in range(count)]
    tables[100 * BLOCK] = np.array(tens)
    return tables, blocks.mean(axis=0) / BLOCK


def distribution_of(case: Case, epsilon: float, *, robust: bool = False):
    budget = PrivacyBudget(epsilon, DELTA)
    return chosen_mechanism(case.design, budget, ReleaseOptions(mechanism="gaussian", robust=robust))[2]


def with_noise(
    moments: np.ndarray, sd: np.ndarray, random: np.random.Generator, copied: Sequence[int] = ()
) -> np.ndarray:
    """Noise on every entry; the squares of the columns `copied`, indicators, are copies of their noisy sums."""
    i, j = np.triu_indices(len(sd))
    out = moments.copy()
    noise = random.standard_normal((len(out), len(i))) * sd[i, j]
    out[:, i, j] += noise
    out[:, j, i] = out[:, i, j]
    out[:, copied, copied] = out[:, 0, copied]
    return out


def as_release(setup: Setup, distribution, moments: np.ndarray) -> discreet.Release:
    """One of the noisy matrices as the value that `discreet.fit` reads."""
    unit = 4**DEFAULT_GRID_BITS
    totals = tuple(round(value * unit) for value in moments[np.triu_indices(len(moments))].tolist())
    return replace(setup.empty, noise=replace(distribution, calibration="none"), totals=totals)


@dataclass(frozen=True, eq=False)
class Many:
    """Score inference of all releases whose sums of regressors are positive definite."""

    definite: np.ndarray
    H: np.ndarray
    theta: np.ndarray
    contrast: np.ndarray
    sampling: np.ndarray
    covariance: np.ndarray
    df: np.ndarray
    C: np.ndarray
    T: np.ndarray
    copied: tuple[int, ...]
    s2: np.ndarray
    capped_s2: np.ndarray

    @classmethod
    def of(cls, noisy: np.ndarray, sd: np.ndarray, setup: Setup, copied: Sequence[int] = ()) -> Many:
        copied = setup.own(copied)
        indices, k, C = np.ix_(setup.positions, setup.positions), setup.size, setup.C
        T = sd[indices] ** 2
        block = noisy[:, setup.positions][:, :, setup.positions]
        B = C @ block @ C.T
        definite = (np.linalg.eigvalsh(B[:, :k, :k])[:, 0] > 0) & (block[:, 0, 0] > k)
        B, n = B[definite], block[definite, 0, 0]
        A, b, c = B[:, :k, :k], B[:, :k, k], B[:, k, k]
        H = np.linalg.inv(A)
        theta = (H @ b[:, :, None])[:, :, 0]
        contrast = np.concatenate([-theta, np.ones((len(theta), 1))], axis=1) @ C
        noise = C[:k] @ forms(T, contrast, copied) @ C[:k].T
        total = c - b[:, 0] ** 2 / n if "Intercept" in setup.names else c
        residual = c - (b * theta).sum(axis=1) + (H * noise).sum(axis=(1, 2))
        s2, capped = residual / (n - k), np.maximum(np.minimum(residual, total) / (n - k), 0.0)
        sampling = capped[:, None, None] * H
        covariance = sampling + H @ noise @ H
        return cls(definite, H, theta, contrast, sampling, covariance, n - k, C[:k], T, copied, s2, capped)

    def test(self, L: np.ndarray, values: np.ndarray) -> Tested:
        """Test L theta = values in every release."""
        m, k = L.shape
        d = self.theta @ L.T - values
        toward = self.covariance @ L.T
        G = L @ toward
        step = -(toward @ np.linalg.solve(G, d[:, :, None]))[:, :, 0]
        under = self.H @ (self.C @ forms(self.T, self.contrast - step @ self.C, self.copied) @ self.C.T) @ self.H
        weights = np.linalg.solve(L @ (self.sampling + under) @ L.T, d[:, :, None])[:, :, 0]
        plain = (d * weights).sum(axis=1)
        combination = weights @ L
        sigma2 = ((self.covariance @ combination[:, :, None])[:, :, 0] * combination).sum(axis=1)
        form = forms(self.T, (self.H @ combination[:, :, None])[:, :, 0] @ self.C, self.copied)
        moved = -(step / plain[:, None]) @ self.C
        q1 = -((form @ moved[:, :, None])[:, :, 0] * self.contrast).sum(axis=1)
        q2 = ((form @ moved[:, :, None])[:, :, 0] * moved).sum(axis=1)
        if m == k:
            none = np.zeros((len(plain), 0))
            return Tested(self.df, m, plain, np.full(len(plain), FREE), sigma2, q1, q2, none, none, none)
        basis = np.linalg.svd(L)[2][m:].T
        given = self.covariance - toward @ np.linalg.solve(G, toward.transpose(0, 2, 1))
        root = np.linalg.cholesky(basis.T @ given @ basis)
        steps = -(root.transpose(0, 2, 1) @ basis.T @ self.C)
        growth = steps @ form @ steps.transpose(0, 2, 1) / sigma2[:, None, None]
        values_, axes = np.linalg.eigh(growth)
        steps = axes.transpose(0, 2, 1) @ steps
        loads = steps @ form
        here = (loads @ self.contrast[:, :, None])[:, :, 0] / sigma2[:, None]
        along = (loads @ (self.C.T @ step[:, :, None]))[:, :, 0] / (sigma2 * plain)[:, None]
        u = -plain
        arrow = np.zeros((len(u), k - m + 1, k - m + 1))
        index = np.arange(k - m)
        arrow[:, 0, 0] = plain
        arrow[:, 1 + index, 1 + index] = (u**2)[:, None] * values_
        arrow[:, 0, 1:] = arrow[:, 1:, 0] = (np.sqrt(sigma2) * plain)[:, None] * (here + u[:, None] * along)
        statistic = u**2 / np.linalg.eigvalsh(arrow)[:, -1]
        next_root = np.linalg.eigvalsh(np.eye(k - m) * values_[:, None, :] - here[:, :, None] * here[:, None, :])[:, -1]
        kappa = 1 / np.maximum(next_root, 1 / FREE)
        return Tested(self.df, m, statistic, kappa, sigma2, q1, q2, np.maximum(values_, 0.0), here, along)


@dataclass(frozen=True, eq=False)
class Tested:
    """A test in every release; the sets belong to the combination of one hypothesis, in units of its weights."""

    df: np.ndarray
    count: int
    statistic: np.ndarray
    kappa: np.ndarray
    sigma2: np.ndarray
    q1: np.ndarray
    q2: np.ndarray
    growth: np.ndarray
    here: np.ndarray
    along: np.ndarray

    @cached_property
    def p(self) -> np.ndarray:
        plain = fdtrc(self.count, self.df, self.statistic / self.count)
        x = chdtri(self.count, np.maximum(plain, 1e-300))
        return np.where(x < self.kappa, np.exp(-x / 2) * integral(x, self) / integral(np.zeros_like(x), self), 0.0)

    def kinds(self) -> np.ndarray:
        """Kind of the 95% set of one combination in each release."""
        c = stdtrit(self.df, np.interp(np.log(self.kappa), *levels_by_kappa()) / 2) ** 2
        left = 1 - c[:, None] * self.growth
        closed = (left > 0).all(axis=1)
        weights = (c * self.sigma2)[:, None] / np.where(left > 0, left, 1.0)
        q0 = self.sigma2 + (weights * self.here**2).sum(axis=1)
        q1 = self.q1 + (weights * self.here * self.along).sum(axis=1)
        lead = 1 - c * (self.q2 + (weights * self.along**2).sum(axis=1))
        two = (c * q1) ** 2 + lead * c * q0 > 0
        return np.where(closed & (lead > 0), "interval", np.where(closed & two, "outside", "everything"))


@cache
def levels_by_kappa() -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of kappa, and the level that a test of one hypothesis has there."""
    grid = np.geomspace(1e-4, FREE, 2_000)
    return np.log(grid), np.array([level_given(ALPHA, kappa, 1) for kappa in grid.tolist()])


def integral(x: np.ndarray, tested: Tested) -> np.ndarray:
    """As in `discreet.analyst.inference.nuisance`, for many."""
    far = np.minimum(1.0, (x + 100 + 4 * tested.count) / tested.kappa)
    low, high = np.arcsin(np.sqrt(np.minimum(x / tested.kappa, 1.0))), np.arcsin(np.sqrt(far))
    phi = low[:, None] + (high - low)[:, None] * (NODES + 1) / 2
    y = tested.kappa[:, None] * np.sin(phi) ** 2
    body = np.sqrt(y) ** (tested.count - 1) * np.exp((x[:, None] - y) / 2) * np.cos(phi) ** 2
    return (high - low) / 2 * (WEIGHTS * body).sum(axis=1)


def forms(T: np.ndarray, W: np.ndarray, copied: Sequence[int] = ()) -> np.ndarray:
    """Matrices K with Var(w'F t) = t'K t, which are also the covariances of F w.

    Entries of F are independent but for the squares of the columns `copied`, which have the noise of the sums.
    """
    own = T.copy()
    for j in copied:
        own[0, j] = own[j, 0] = own[j, j] = 0.0
    out = own * W[:, :, None] * W[:, None, :]
    index = np.arange(len(T))
    out[:, index, index] = W**2 @ own
    for j in copied:
        moved = np.zeros_like(W)
        moved[:, 0], moved[:, j] = W[:, j], W[:, 0] + W[:, j]
        out += T[0, j] * moved[:, :, None] * moved[:, None, :]
    return out

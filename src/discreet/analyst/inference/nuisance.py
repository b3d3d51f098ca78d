"""Tests of some coefficients that allow for the uncertainty about the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np

from discreet.analyst.equations.noise import EntryNoise, Noise, product_covariance, seeded_stream, standard_normals
from discreet.analyst.inference.score import ScoreInference
from discreet.exact.arrays import FloatArray

# -- growth ------------------------------------------------------------------------------------------------------------
# Growth of the score variances of many combinations along steps of the coefficients, without a k x k matrix for each.
#
# For a combination with weights w on the noise F, the growth is a quadratic form of the step. In coordinates in which
# the coefficient errors have unit variance, orthogonal to the direction that is held fixed, its matrix is
#
#     S = P R K(w) R' P / sigma^2,    K(w) the covariance of F w,
#
# with R the effect of a step on the noise. Only the largest eigenvalues of S and its forms with two known vectors are
# needed. Both are computed from S restricted to the span of a few vectors and their repeated products with S: block
# Lanczos [Golub & Underwood 1977]. K(w) = diag(w) T diag(w) except on its diagonal, so one matrix product multiplies
# the S of every combination by its vectors.

_CLOSE: Final = 1e-11  # convergence tolerance of the two largest eigenvalues, relative for eigenvalues above 1
_SMALL: Final = 1e-9  # norm below which the remainder of a unit vector is rounding error
_FEW: Final = 4
DENSE: Final = 100  # up to this many coefficients, one matrix per combination is faster
_MOST: Final = 120  # vectors in a basis; beyond this, decomposing the whole matrix is as fast
_AT_ONCE: Final = 2**23  # maximum number of entries in the bases of one batch of combinations


@dataclass(frozen=True, eq=False)
class Growth:
    """Matrices S by which the score variances of m combinations grow along steps of the k coefficients."""

    noise: EntryNoise  # F, shape (p, p)
    steps: FloatArray  # R, shape (k, p)
    weights: FloatArray  # w of each combination, shape (m, p)
    variance: FloatArray  # sigma^2 of each combination, above 0, shape (m,)
    fixed: FloatArray  # unit vector that P projects out for each combination, or 0 for none, shape (m, k)

    def __len__(self) -> int:
        return len(self.weights)

    def some(self, which: slice) -> Growth:
        """Select a slice of the combinations."""
        return Growth(self.noise, self.steps, self.weights[which], self.variance[which], self.fixed[which])

    @cached_property
    def _off(self) -> FloatArray:
        off: FloatArray = self.noise.variance - np.diag(self.noise.variance.diagonal())
        return off

    @cached_property
    def _diagonal(self) -> FloatArray:
        """Diagonal of the matrix K(w) of each combination, shape (m, p)."""
        w = self.weights
        diagonal: FloatArray = w**2 @ self.noise.variance + 2 * self.noise.shared * w[:, :1] * w
        return diagonal

    def pulled(self, t: FloatArray) -> FloatArray:
        """Compute R K(w) t / sigma^2 for b vectors t of each combination, with shape (m, b, k) from shape (m, b, p)."""
        w = self.weights[:, None, :]
        form = w * ((w * t) @ self._off) + self._diagonal[:, None, :] * t
        if self.noise.copies:
            both = self.noise.shared * w**2
            form[..., :1] += (both * t).sum(axis=2, keepdims=True)
            form += both * t[..., :1]
        out = form @ self.steps.T
        out /= self.variance[:, None, None]
        return out

    def times(self, x: FloatArray) -> FloatArray:
        """Compute R K(w) R' x / sigma^2 for x orthogonal to the fixed vector, shape (m, b, k). P is not applied."""
        return self.pulled(x @ self.steps)


class Reduced(NamedTuple):
    """The matrices S of m combinations, restricted to the span of a few vectors and diagonalised."""

    values: FloatArray  # eigenvalues, ascending, shape (m, q)
    starts: FloatArray  # start vectors in the eigenvector coordinates, shape (m, b, q)


def runs(size: int, combinations: int) -> list[slice]:
    """Split combinations into batches that fit in memory."""
    most = max(1, _AT_ONCE // (_MOST * size))
    return [slice(at, min(at + most, combinations)) for at in range(0, combinations, most)]


def reduced(growth: Growth, starts: FloatArray) -> Reduced | None:
    """Restrict the matrix S of each combination to the Krylov space of its start vectors, shape (m, b, k).

    Components along the fixed vector are ignored. A random start vector is added so that no direction is missed.
    Return None if convergence would need too many vectors.
    """
    count, start_count, size = starts.shape
    random = standard_normals(seeded_stream("direction", str(size)), 1, size)
    starts = np.concatenate([starts, np.broadcast_to(random, (count, 1, size))], axis=1)
    width, most = start_count + 1, min(_MOST, size)
    # index 0 holds the fixed vector: the basis is orthogonal to it, and nothing grows along it
    basis = np.zeros((count, 1 + most, size))
    basis[:, 0] = growth.fixed
    inside = np.zeros((count, 1 + most, 1 + most))
    starts -= (starts @ growth.fixed[:, :, None]) * growth.fixed[:, None, :]
    block, shares = _orthonormal(starts, basis[:, :1])
    for end in range(1 + width, 1 + most, width):
        basis[:, end - width : end] = block
        spanned = basis[:, :end]
        image = growth.times(block)
        along = image @ spanned.transpose(0, 2, 1)
        image -= along @ spanned
        inside[:, end - width : end, 1:end] = along[:, :, 1:]
        inside[:, 1:end, end - width : end] = along[:, :, 1:].transpose(0, 2, 1)
        # check a few combinations before all of them
        if _settled(inside[:_FEW, :end, :end], width) and _settled(inside[:, :end, :end], width):
            values, axes = np.linalg.eigh(inside[:, :end, :end])
            return Reduced(values, (shares @ axes[:, 1 : 1 + width])[:, :start_count])
        block, _ = _orthonormal(image, spanned)
    return None


def largest_growth(noise: Noise, steps: FloatArray, weights: FloatArray, variance: FloatArray) -> FloatArray:
    """Compute the largest eigenvalue of the matrix S of each combination, with no direction held fixed, shape (m,).

    Arguments are as in `Growth`.
    """
    size = len(steps)
    out = np.empty(len(weights))
    for run in runs(size, len(weights)):
        few = None
        if isinstance(noise, EntryNoise) and size > DENSE:
            own = Growth(noise, steps, weights[run], variance[run], np.zeros((run.stop - run.start, size)))
            few = reduced(own, np.empty((len(own), 0, size)))
        if few is not None:
            out[run] = few.values[:, -1]
        else:
            whole = steps @ product_covariance(noise, weights[run]) @ steps.T
            out[run] = np.linalg.eigvalsh(whole)[:, -1] / variance[run]
    return out


def growth_bound(noise: Noise, weights: FloatArray, largest: FloatArray) -> FloatArray:
    """Compute an upper bound of sigma^2 times the largest eigenvalue of S, shape (...,).

    The largest eigenvalue of R K R' is at most the product of the largest eigenvalues of K and R'R. That of K is at
    most its largest diagonal entry plus the norm of the rest. `largest` is the largest eigenvalue of R'R.
    """
    if not isinstance(noise, EntryNoise):
        exact: FloatArray = largest * np.linalg.eigvalsh(product_covariance(noise, weights))[..., -1]
        return exact
    squares = weights**2
    variance, shared = noise.variance, noise.shared
    off = variance - np.diag(variance.diagonal())
    diagonal = squares @ variance + 2 * shared * weights[..., :1] * weights
    rest = np.sqrt(((squares @ off**2) * squares).sum(axis=-1)) + np.linalg.norm(shared * squares, axis=-1)
    bound: FloatArray = largest * (diagonal.max(axis=-1) + rest)
    return bound


def _settled(inside: FloatArray, width: int) -> bool:
    """Return whether the two largest eigenvalues of the restricted matrices, shape (m, q, q), have converged.

    They can only grow with the span. If the last `width` vectors changed nothing, more vectors will not either.
    """
    now, before = (np.linalg.eigvalsh(part)[:, -2:] for part in (inside, inside[:, :-width, :-width]))
    return bool((now - before <= _CLOSE * np.maximum(now, 1.0)).all())


def _orthonormal(vectors: FloatArray, known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis of the span of a few vectors, shape (m, b, k), and their coordinates in it.

    The vectors must be orthogonal to `known` up to rounding. The basis is orthogonal to `known` even if they are short.
    A linearly dependent vector becomes 0.
    """
    out, coordinates = _one_by_one(vectors)
    out -= (out @ known.transpose(0, 2, 1)) @ known
    return _one_by_one(out)[0], coordinates


def _one_by_one(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormalise vectors one after another. Return them with the coordinates of the input."""
    out, coordinates = np.zeros_like(vectors), np.zeros((*vectors.shape[:2], vectors.shape[1]))
    for index in range(vectors.shape[1]):
        rest = vectors[:, index : index + 1]
        whole = np.linalg.norm(rest, axis=2, keepdims=True)
        before = out[:, :index]
        for _ in range(2):
            along = rest @ before.transpose(0, 2, 1)
            rest = rest - along @ before
            coordinates[:, index : index + 1, :index] += along
        length = np.linalg.norm(rest, axis=2, keepdims=True)
        length[length <= _SMALL * whole] = 0.0
        np.divide(rest, length, out=out[:, index : index + 1], where=length > 0)
        coordinates[:, index, index] = length[:, 0, 0]
    return out, coordinates


# -- nuisance ----------------------------------------------------------------------------------------------------------
# How the coefficients that a hypothesis leaves free widen its test.
#
# The variance of the score depends on all coefficients. If noise hides some of the others, a test of a combination psi
# that fixes one value for them may reject far too often. So a value t of psi is kept if it is compatible with *some*
# value of the others. Let theta(t) = theta~ + u v as in `score`, with u = t - psi~, and approximate Omega(theta) by
# Omega(theta~) times the factor by which the score variance of psi grows. Then t is kept if for some step d of the
# others
#
#     u^2 + sigma^2 d'Cov^+ d <= c a'Omega(theta(t) + d) a,     sigma^2 = a'Omega(theta~) a,
#
# with Cov the covariance of theta~ given psi. Both sides are quadratic, so the best step has a closed form. In
# coordinates in which d'Cov^+ d = |h|^2 and the growth along h is sum s_i h_i^2,
#
#     u^2 <= c q(u) + c^2 sigma^2 sum r_i(u)^2 / (1 - c s_i),
#
# with r_i(u) linear in u. The set again solves a quadratic, and contains every value if c s_i >= 1 for some i. The
# smallest such c is the statistic of t. If the others are well determined, all s_i are small and the statistic is the
# plain score statistic.
#
# The search for the best step makes the statistic smaller if the others are hidden. Its distribution is then not
# chi-square with m degrees of freedom. Given the next root kappa of the same problem, its density is close to
#
#     x^(m/2 - 1) exp(-x/2) (kappa - x)^(1/2),    0 < x < kappa,
#
# up to a constant [Guggenberger, Kleibergen & Mavroeidis 2019, for noise of the same shape in all columns]. As kappa
# grows this becomes chi-square.

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(80)
_SHARES: Final = (_NODES + 1) / 2
_FAR: Final = 100.0  # beyond this the exponential is below double precision
_HALVINGS: Final = 45
_SECANTS: Final = 30
_NARROW: Final = 1e-12
_LAST_DIGITS: Final = 2.0**-51


@dataclass(frozen=True, eq=False)
class Nuisance:
    """The coefficients that a test of one combination leaves free, in coordinates with unit error variance."""

    sigma: float  # standard error of the combination
    growth: FloatArray  # s_i, growth of the combination's variance along each coordinate, ascending, shape (k - m,)
    # r_i(u) = here_i + u along_i, both of shape (k - m,)
    here: FloatArray
    along: FloatArray

    @property
    def kappa(self) -> float:
        """Measure of how well the free coefficients are determined, infinite if noise hides none of them."""
        if not self.growth.any():
            return math.inf
        largest = _largest_lowered(self.growth, self.here)
        return 1 / largest if largest > 0 else math.inf

    def statistic(self, u: float, variance: float) -> float:
        """Return the smallest squared critical value that does not reject a value at distance `u` from the estimate.

        `variance` is q(u), the score variance at that value.
        """
        if not self.growth.any():
            return u * u / variance
        edge = self.sigma * abs(u) * (self.here + u * self.along)
        return u * u / _largest_of_arrow(variance, u * u * self.growth, edge)

    def widened(self, c: float) -> tuple[float, float, float]:
        """Return the amounts that the free coefficients add to q0, q1 and q2 at the squared critical value `c`.

        q2 is infinite if every value is kept.
        """
        if not self.growth.any():
            return 0.0, 0.0, 0.0
        left = 1 - c * self.growth
        # with hardly any degrees of freedom c overflows
        if not (math.isfinite(c) and (left > 0).all()):
            return 0.0, 0.0, math.inf
        weights = c * self.sigma**2 / left
        pairs = ((self.here, self.here), (self.here, self.along), (self.along, self.along))
        q0, q1, q2 = (float((weights * left_factor * right_factor).sum()) for left_factor, right_factor in pairs)
        return q0, q1, q2


def _largest_lowered(diagonal: FloatArray, by: FloatArray) -> float:
    """Compute the largest eigenvalue of diag(d) - b b', with d ascending.

    >>> round(_largest_lowered(np.array([1.0, 3.0]), np.array([0.0, 1.0])), 12)
    2.0
    """
    if len(diagonal) == 1:
        return float(diagonal[0] - by[0] ** 2)
    squares = by**2
    # it lies between the two largest entries of d: there the secular function is negative exactly above it
    return _root(lambda x: 1 + float((squares / (x - diagonal)).sum()) <= 0, float(diagonal[-2]), float(diagonal[-1]))


def _largest_of_arrow(corner: float, diagonal: FloatArray, edge: FloatArray) -> float:
    """Compute the largest eigenvalue of an arrowhead matrix, which is 0 off its first row, first column and diagonal.

    >>> round(_largest_of_arrow(1.0, np.array([0.0, 1.0]), np.array([0.0, 2.0])), 12)
    3.0
    """
    squares = edge**2
    low = max(corner, float(diagonal.max()))
    high = low + float(np.sqrt(squares.sum()))
    return _root(lambda x: x - corner - float((squares / (x - diagonal)).sum()) >= 0, low, high)


def _root(is_above: Callable[[float], bool], low: float, high: float) -> float:
    """Find by bisection the point in (low, high] above which `is_above` is true, to double precision."""
    with np.errstate(divide="ignore", invalid="ignore"):
        while (middle := (low + high) / 2) > low and high - low > _LAST_DIGITS * high:
            low, high = (low, middle) if is_above(middle) else (middle, high)
    return high


def nuisances(inference: ScoreInference, L: FloatArray) -> tuple[Nuisance, ...]:
    """Return one `Nuisance` for each row of `L`, shape (m, k), where each row is tested separately."""
    root = covariance_root(inference)
    toward = L @ inference.covariance
    total = (toward * L).sum(axis=1)[:, None]
    v = np.divide(toward, total, out=np.zeros_like(toward), where=total > 0)
    # the conditional covariance of the others does not depend on the variance of the tested combination
    own = total[:, 0]
    if inference.middle is not None:
        own = own + inference.sampling_along(L) - ((L @ inference.sampling) * L).sum(axis=1)
    out: list[Nuisance] = []
    for run in runs(L.shape[1], len(L)):
        few = _in_few_directions(inference, L[run], v[run], own[run], root) if L.shape[1] > DENSE else None
        rows = zip(L[run], v[run], own[run].tolist(), strict=True)
        out += few or [nuisance(inference, row[None, :], row, step, root, sigma2) for row, step, sigma2 in rows]
    return tuple(out)


def _in_few_directions(
    inference: ScoreInference, L: FloatArray, v: FloatArray, own: FloatArray, root: CovarianceRoot
) -> list[Nuisance] | None:
    """Compute `nuisances` from a few relevant directions, or return None if too many are needed."""
    noise = inference.entry_noise
    if not (isinstance(noise, EntryNoise) and noise and (own > 0).all()):
        return None
    along = L @ root.root
    growth = Growth(
        noise=noise,
        steps=root.noise,
        weights=L @ inference.inverse @ inference.noise_map,
        variance=own,
        fixed=along / np.linalg.norm(along, axis=1, keepdims=True),
    )
    here = np.broadcast_to(inference.contrast, growth.weights.shape)
    pulled = growth.pulled(np.stack([here, -(v @ inference.noise_map)], axis=1))
    small = reduced(growth, pulled)
    if small is None:
        return None
    sigma = np.sqrt(own).tolist()
    fields = zip(sigma, np.maximum(small.values, 0.0), small.starts[:, 0], small.starts[:, 1], strict=True)
    return [Nuisance(*values) for values in fields]


def nuisance(
    inference: ScoreInference,
    L: FloatArray,
    combination: FloatArray,
    step: FloatArray,
    root: CovarianceRoot,
    sigma2: float | None = None,
) -> Nuisance:
    """Return the `Nuisance` of a combination l'theta, for the coefficients that the hypotheses L theta = c leave free.

    L must have full rank, shape (m, k), and l must be in the span of its rows. `step` is v, the change of the
    coefficients per unit of the combination. `sigma2` is the variance of the combination, by default from the
    covariance.
    """
    if sigma2 is None:
        sigma2 = float(combination @ inference.covariance @ combination)
    free = len(combination) - len(L)
    if not (inference.entry_noise and free and sigma2 > 0):
        return Nuisance(math.sqrt(max(sigma2, 0.0)), *np.zeros((3, free)))
    w = combination @ inference.inverse @ inference.noise_map
    form = product_covariance(inference.entry_noise, w)
    steps = root.open_steps(L)
    growth, axes = np.linalg.eigh(steps @ form @ steps.T / sigma2)
    return Nuisance(
        sigma=math.sqrt(sigma2),
        growth=np.maximum(growth, 0.0),
        here=axes.T @ (steps @ (form @ inference.contrast)) / sigma2,
        along=-(axes.T @ (steps @ (form @ (inference.noise_map.T @ step)))) / sigma2,
    )


@dataclass(frozen=True, eq=False)
class CovarianceRoot:
    """A square root of the covariance of the coefficients."""

    root: FloatArray  # R with R R' = Cov, shape (k, k)
    noise: FloatArray  # -R' times the noise map: the effect of a step R h on the noise, shape (k, p)

    def open_steps(self, L: FloatArray) -> FloatArray:
        """Return the effect on the noise of unit-variance steps that satisfy the hypotheses L theta = c.

        These steps are orthogonal to L R. Householder reflections map L R to the first coordinates [Householder 1958],
        and the rows for the remaining coordinates are returned.
        """
        reflections, factors = np.linalg.qr((L @ self.root).T, mode="raw")
        moved = self.noise.copy()
        for index, (reflection, factor) in enumerate(zip(reflections, factors, strict=True)):
            v = np.concatenate(([1.0], reflection[index + 1 :]))
            moved[index:] -= np.outer(factor * v, v @ moved[index:])
        return moved[len(L) :]


def covariance_root(inference: ScoreInference) -> CovarianceRoot:
    """Compute a square root of the covariance of the coefficients."""
    values, axes = np.linalg.eigh(inference.covariance)
    root = axes * np.sqrt(np.maximum(values, 0.0))
    return CovarianceRoot(root, -(root.T @ inference.noise_map))


def tail_given(x: float, kappa: float, count: int) -> float:
    """Compute the probability that the statistic of `count` hypotheses exceeds x, given kappa.

    >>> round(tail_given(3.841, 1e9, 1), 4), round(tail_given(2.0, 4.0, 1), 4)
    (0.05, 0.0703)
    """
    if x >= kappa:
        return 0.0
    return math.exp(-x / 2) * _integral(max(x, 0.0), kappa, count) / _integral(0.0, kappa, count)


def _integral(x: float, kappa: float, count: int) -> float:
    """Compute exp(x/2) times the integral of the density above x, by substituting y = kappa sin(phi)^2."""
    far = min(1.0, (x + _FAR + 4 * count) / kappa)
    low, high = math.asin(math.sqrt(x / kappa)), math.asin(math.sqrt(far))
    phi = low + (high - low) * _SHARES
    y = kappa * np.sin(phi) ** 2
    # divide by the largest power, so that many hypotheses do not overflow
    weights = _WEIGHTS if count == 1 else _WEIGHTS * np.sqrt(y / (_FAR + 4 * count)) ** (count - 1)
    return float((high - low) / 2 * (weights * np.exp((x - y) / 2) * np.cos(phi) ** 2).sum())


@lru_cache(maxsize=1024)
def level_given(alpha: float, kappa: float, count: int) -> float:
    """Return the chi-square tail probability at the upper `alpha` quantile of the statistic, given kappa.

    >>> round(level_given(0.05, 1e9, 1), 4), round(level_given(0.05, 4.0, 1), 3)
    (0.05, 0.132)
    """
    from scipy.special import chdtrc, chdtri

    if kappa == math.inf:
        return alpha
    beyond = alpha * _integral(0.0, kappa, count)

    def excess(root: float) -> float:
        return math.exp(-(root**2) / 2) * _integral(root**2, kappa, count) - beyond

    low, high = 0.0, math.sqrt(min(kappa, float(chdtri(count, alpha))))
    # secant steps bracket the root first, which saves most evaluations of the bisection
    above, below = _narrowed(excess, low, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle <= above or (middle < below and excess(middle) > 0):
            low = middle
        else:
            high = middle
    return max(alpha, float(chdtrc(count, high**2)))


def _narrowed(falling: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Bracket the root of a decreasing function by the Illinois method [Dowell & Jarratt 1971]."""
    at_low, at_high = falling(low), falling(high)
    previous = 0.0
    for _ in range(_SECANTS):
        if not at_low > 0 > at_high or high - low < _NARROW * high:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = falling(middle)
        # halve an end that is kept twice, so that it cannot be kept forever
        share = 0.5 if value * previous > 0 else 1.0
        if value > 0:
            low, at_low, at_high = middle, value, at_high * share
        else:
            high, at_high, at_low = middle, value, at_low * share
        previous = value
    return low, high


def reference_tail(p: float, kappa: float, count: int) -> float:
    """Convert a p-value that ignores the other coefficients into the p-value given kappa.

    >>> round(reference_tail(0.05, 1e9, 1), 4), round(reference_tail(0.05, 4.0, 1), 4), reference_tail(0.0, 4.0, 1)
    (0.05, 0.0007, 0.0)
    """
    from scipy.special import chdtri

    if kappa == math.inf or p <= 0:
        return p
    return tail_given(float(chdtri(count, p)), kappa, count)

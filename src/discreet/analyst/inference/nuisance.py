"""Bound the effect of the other coefficients on a test of some of them."""

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
# Growth of the variances of many combinations along steps of the coefficients, without a matrix for each.
#
# For a combination with the weights w on the noise F, the growth is a quadratic form of the step. In coordinates in
# which the errors of the coefficients have unit variance, orthogonal to what is held fixed, its matrix is
#
#     S = P R K(w) R' P / sigma^2,    K(w) the covariance of F w,
#
# with R the effect of a step on the noise. Only the largest eigenvalues of S and forms with two known vectors are
# needed. Both are computed from S restricted to the span of a few vectors and their repeated products with S: block
# Lanczos [Golub & Underwood 1977]. K(w) = diag(w) T diag(w) except on its diagonal, so one matrix product multiplies
# the S of every combination with its vectors.

_CLOSE: Final = 1e-11  # change of the two largest eigenvalues at convergence, relative for those above 1
_SMALL: Final = 1e-9  # remainder of a unit vector that lies in a span, up to rounding
_FEW: Final = 4
DENSE: Final = 100  # coefficients up to which one matrix for each combination is faster
_MOST: Final = 120  # vectors in a basis; beyond this a decomposition of the whole matrix is as fast
_AT_ONCE: Final = 2**23  # numbers in the bases of combinations that are treated together


@dataclass(frozen=True, eq=False)
class Growth:
    """The matrices S of m combinations of k coefficients.

    Attributes
    ----------
    noise
            F, shape (p, p).
    steps
            R, shape (k, p).
    weights
            w of each combination, shape (m, p).
    variance
            sigma^2 of each, above 0, shape (m,).
    fixed
            Unit vector that P projects out for each combination, shape (m, k), or 0 for none.
    """

    noise: EntryNoise
    steps: FloatArray
    weights: FloatArray
    variance: FloatArray
    fixed: FloatArray

    def __len__(self) -> int:
        return len(self.weights)

    def some(self, which: slice) -> Growth:
        """Select some of the combinations."""
        return Growth(self.noise, self.steps, self.weights[which], self.variance[which], self.fixed[which])

    @cached_property
    def _off(self) -> FloatArray:
        off: FloatArray = self.noise.variance - np.diag(self.noise.variance.diagonal())
        return off

    @cached_property
    def _diagonal(self) -> FloatArray:
        """Diagonal of each K(w), shape (m, p)."""
        w = self.weights
        diagonal: FloatArray = w**2 @ self.noise.variance + 2 * self.noise.shared * w[:, :1] * w
        return diagonal

    def pulled(self, t: FloatArray) -> FloatArray:
        """Compute R K(w) t / sigma^2 for vectors t of every combination, from shape (m, b, p) to shape (m, b, k)."""
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
        """Compute S x for x orthogonal to the fixed vector, without projecting the result by P, shape (m, b, k)."""
        return self.pulled(x @ self.steps)


class Reduced(NamedTuple):
    """The matrices S in the span of few vectors, in coordinates in which they are diagonal.

    Attributes
    ----------
    values
            Their eigenvalues, ascending, shape (m, q).
    starts
            The start vectors in these coordinates, shape (m, b, q).
    """

    values: FloatArray
    starts: FloatArray


def runs(size: int, combinations: int) -> list[slice]:
    """Split combinations into batches that fit in memory.

    >>> runs(10, 3)
    [slice(0, 3, None)]
    """
    most = max(1, _AT_ONCE // (_MOST * size))
    return [slice(at, min(at + most, combinations)) for at in range(0, combinations, most)]


def reduced(growth: Growth, starts: FloatArray) -> Reduced | None:
    """Restrict the matrices S to spans of the start vectors, shape (m, b, k), and of everything relevant.

    The part of a start vector along the fixed one is ignored. A random vector is added, so that no direction is
    overlooked. Returns None if the spans would need too many vectors.
    """
    count, start_count, size = starts.shape
    random = standard_normals(seeded_stream("direction", str(size)), 1, size)
    starts = np.concatenate([starts, np.broadcast_to(random, (count, 1, size))], axis=1)
    width, most = start_count + 1, min(_MOST, size)
    # index 0 holds the fixed vector: everything is orthogonal to it, and nothing grows along it
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
    """Compute the largest eigenvalue of every S with nothing held fixed, shape (m,). Arguments as for `Growth`."""
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

    No eigenvalue of R K R' exceeds the product of the largest ones of K and R'R, and that of K is at most its largest
    diagonal entry plus the norm of the rest. `largest` is that of R'R.

    >>> growth_bound(EntryNoise(np.ones((2, 2))), np.array([[1.0, 0.0]]), np.array([4.0]))
    array([4.])
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
    """Return whether the two largest eigenvalues of restricted matrices have converged, shape (m, q, q).

    They can only grow with the span, and each step reduces the remaining error. When the last `width` vectors changed
    nothing, more vectors will not either.
    """
    now, before = (np.linalg.eigvalsh(part)[:, -2:] for part in (inside, inside[:, :-width, :-width]))
    return bool((now - before <= _CLOSE * np.maximum(now, 1.0)).all())


def _orthonormal(vectors: FloatArray, known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis of the span of few vectors, shape (m, b, k), and their coordinates in it.

    The vectors are orthogonal to `known` up to rounding, and so is the basis, however short they are. A vector that
    adds nothing becomes 0.
    """
    out, coordinates = _one_by_one(vectors)
    out -= (out @ known.transpose(0, 2, 1)) @ known
    return _one_by_one(out)[0], coordinates


def _one_by_one(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormalise vectors in turn, and return them with the coordinates of the input."""
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
# What a hypothesis leaves open about the other coefficients, and how that widens its test.
#
# The variance of the score depends on all coefficients. Where the noise hides some of the others, a test of a
# combination psi that fixes one value for them may be far too small. So a value t of psi is kept if it is compatible
# with *some* value of the others. With theta(t) = theta~ + u v as in `inference`, u = t - psi~, and Omega(theta) taken
# as Omega(theta~) times the factor by which the variance of the score of psi grows, it is kept if for some step d of
# the others
#
#     u^2 + sigma^2 d'Cov^+ d <= c a'Omega(theta(t) + d) a,     sigma^2 = a'Omega(theta~) a,
#
# with Cov the covariance of theta~ given psi. Both sides are quadratic, so that the best step has a closed form. In
# coordinates in which d'Cov^+ d = |h|^2 and the growth along h is sum s_i h_i^2,
#
#     u^2 <= c q(u) + c^2 sigma^2 sum r_i(u)^2 / (1 - c s_i),
#
# with r_i(u) linear in u: the set again solves a quadratic, and holds any value if c s_i >= 1 for some i. The smallest
# such c is the statistic of t. Where the others are well determined all s_i are small, and it is the plain score
# statistic.
#
# The search for the best step makes the statistic smaller where the others are hidden. Its distribution is then not
# chi-square with m degrees of freedom. Given the next root kappa of the same problem, it is close to the density
#
#     x^(m/2 - 1) exp(-x/2) (kappa - x)^(1/2),    0 < x < kappa,
#
# [Guggenberger, Kleibergen & Mavroeidis 2019, for noise of the same shape in all columns]. For large kappa it is chi-
# square.

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(80)
_SHARES: Final = (_NODES + 1) / 2
_FAR: Final = 100.0  # beyond this the exponential is below double precision
_HALVINGS: Final = 45
_SECANTS: Final = 30
_NARROW: Final = 1e-12
_LAST_DIGITS: Final = 2.0**-51


@dataclass(frozen=True, eq=False)
class Nuisance:
    """The coefficients that a test of one combination leaves open, in coordinates with unit error variance.

    Attributes
    ----------
    sigma
            Standard error of the combination.
    growth
            s_i, the growth of the variance of the combination along each coordinate, ascending, shape (k - m,).
    here, along
            r_i(u) = here_i + u along_i, shape (k - m,).
    """

    sigma: float
    growth: FloatArray
    here: FloatArray
    along: FloatArray

    @property
    def kappa(self) -> float:
        """How well the others are determined: the next root at the estimate, infinite if nothing is hidden."""
        if not self.growth.any():
            return math.inf
        largest = _largest_lowered(self.growth, self.here)
        return 1 / largest if largest > 0 else math.inf

    def statistic(self, u: float, variance: float) -> float:
        """Return the smallest c at which a value at distance u from the estimate, with variance q(u), is kept."""
        if not self.growth.any():
            return u * u / variance
        edge = self.sigma * abs(u) * (self.here + u * self.along)
        return u * u / _largest_of_arrow(variance, u * u * self.growth, edge)

    def widened(self, c: float) -> tuple[float, float, float]:
        """Return what the open step adds to q0, q1 and q2 at the squared critical value c.

        q2 is infinite if any value is kept.
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
    """Compute the largest eigenvalue of diag(d) - b b', d ascending.

    It lies between the two largest entries of d, where a sum changes sign.

    >>> round(_largest_lowered(np.array([1.0, 3.0]), np.array([0.0, 1.0])), 12)
    2.0
    """
    if len(diagonal) == 1:
        return float(diagonal[0] - by[0] ** 2)
    squares = by**2
    # above the largest eigenvalue the sum is negative: one factor of the determinant is, and the determinant is not
    return _root(lambda x: 1 + float((squares / (x - diagonal)).sum()) <= 0, float(diagonal[-2]), float(diagonal[-1]))


def _largest_of_arrow(corner: float, diagonal: FloatArray, edge: FloatArray) -> float:
    """Compute the largest eigenvalue of an arrowhead matrix: first row, first column and diagonal.

    >>> round(_largest_of_arrow(1.0, np.array([0.0, 1.0]), np.array([0.0, 2.0])), 12)
    3.0
    """
    squares = edge**2
    low = max(corner, float(diagonal.max()))
    high = low + float(np.sqrt(squares.sum()))
    return _root(lambda x: x - corner - float((squares / (x - diagonal)).sum()) >= 0, low, high)


def _root(is_above: Callable[[float], bool], low: float, high: float) -> float:
    """Find where a condition that holds from some point up to `high` begins to hold, to the last digits of a double."""
    with np.errstate(divide="ignore", invalid="ignore"):
        while (middle := (low + high) / 2) > low and high - low > _LAST_DIGITS * high:
            low, high = (low, middle) if is_above(middle) else (middle, high)
    return high


def nuisances(inference: ScoreInference, L: FloatArray) -> tuple[Nuisance, ...]:
    """Set up what a separate test of each row of L, shape (m, k), leaves open."""
    root = covariance_root(inference)
    toward = L @ inference.covariance
    total = (toward * L).sum(axis=1)[:, None]
    v = np.divide(toward, total, out=np.zeros_like(toward), where=total > 0)
    # the covariance of the others where one combination is known does not depend on the variance of that one
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
    """Set up the same from a few relevant directions of many coefficients, or return None if they are not few."""
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
    """Set up what the hypotheses L theta = c leave open for one combination l'theta.

    L has full rank, shape (m, k), and l is in the span of its rows. `step` is v, the change of the coefficients per
    unit of the combination. `sigma2` is the variance of the combination, by default that of the covariance.
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
    """A square root of the covariance of the coefficients.

    Attributes
    ----------
    root
            R with R R' = Cov, shape (k, k).
    noise
            Effect of a step R h on the noise, -R' times the noise map, shape (k, p).
    """

    root: FloatArray
    noise: FloatArray

    def open_steps(self, L: FloatArray) -> FloatArray:
        """Return the effect on the noise of the steps that hypotheses of full rank leave open, with unit variance.

        These are the directions of the root's space orthogonal to L R. Their image has the covariance given the
        hypotheses. Reflections map L R to the first coordinates [Householder 1958], and the remaining ones are
        returned.
        """
        reflections, factors = np.linalg.qr((L @ self.root).T, mode="raw")
        moved = self.noise.copy()
        for index, (reflection, factor) in enumerate(zip(reflections, factors, strict=True)):
            v = np.concatenate(([1.0], reflection[index + 1 :]))
            moved[index:] -= np.outer(factor * v, v @ moved[index:])
        return moved[len(L) :]


def covariance_root(inference: ScoreInference) -> CovarianceRoot:
    """Return a square root of the covariance of the coefficients."""
    values, axes = np.linalg.eigh(inference.covariance)
    root = axes * np.sqrt(np.maximum(values, 0.0))
    return CovarianceRoot(root, -(root.T @ inference.noise_map))


def tail_given(x: float, kappa: float, count: int) -> float:
    """Compute the probability beyond x of the statistic of `count` hypotheses, given kappa.

    >>> round(tail_given(3.841, 1e9, 1), 4), round(tail_given(2.0, 4.0, 1), 4)
    (0.05, 0.0703)
    """
    if x >= kappa:
        return 0.0
    return math.exp(-x / 2) * _integral(max(x, 0.0), kappa, count) / _integral(0.0, kappa, count)


def _integral(x: float, kappa: float, count: int) -> float:
    """Integrate the density from x on, divided by exp(-x/2), with y = kappa sin(phi)^2 for a smooth integrand."""
    far = min(1.0, (x + _FAR + 4 * count) / kappa)
    low, high = math.asin(math.sqrt(x / kappa)), math.asin(math.sqrt(far))
    phi = low + (high - low) * _SHARES
    y = kappa * np.sin(phi) ** 2
    # divided by the largest power that occurs, so that many hypotheses do not overflow
    weights = _WEIGHTS if count == 1 else _WEIGHTS * np.sqrt(y / (_FAR + 4 * count)) ** (count - 1)
    return float((high - low) / 2 * (weights * np.exp((x - y) / 2) * np.cos(phi) ** 2).sum())


@lru_cache(maxsize=1024)
def level_given(alpha: float, kappa: float, count: int) -> float:
    """Return the chi-square tail beyond the value that the statistic given kappa exceeds with probability alpha.

    It is at least alpha.

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
    # a few secants decide most halvings in advance
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
        # halve an end that stays twice, or it would stay for ever
        share = 0.5 if value * previous > 0 else 1.0
        if value > 0:
            low, at_low, at_high = middle, value, at_high * share
        else:
            high, at_high, at_low = middle, value, at_low * share
        previous = value
    return low, high


def reference_tail(p: float, kappa: float, count: int) -> float:
    """Return the p-value given kappa, from the p-value that holds if the other coefficients are known.

    >>> round(reference_tail(0.05, 1e9, 1), 4), round(reference_tail(0.05, 4.0, 1), 4), reference_tail(0.0, 4.0, 1)
    (0.05, 0.0007, 0.0)
    """
    from scipy.special import chdtri

    if kappa == math.inf or p <= 0:
        return p
    return tail_given(float(chdtri(count, p)), kappa, count)

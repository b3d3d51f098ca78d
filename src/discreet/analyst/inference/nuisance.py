"""Bound the effect of the other coefficients on a test of some of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np

from discreet.analyst.equations.noise import EntryNoise, product_covariance, seeded_stream, standard_normals
from discreet.analyst.inference.score import ScoreInference
from discreet.exact.arrays import FloatArray

# -- growth ------------------------------------------------------------------------------------------------------------
# By how much the variances of many combinations grow along steps of the coefficients, without a matrix for each.
#
# For a combination with the weights w on the noise F that growth is a quadratic form of the step. In coordinates in
# which the errors of the coefficients have unit variance, and at right angles to what is held fixed, its matrix is
#
#     S = P R K(w) R' P / sigma^2,    K(w) the covariance of F w,
#
# R what a step does to the noise. Only the largest eigenvalues of S and forms with two known vectors are needed. Both
# are read from S restricted to the span of a few vectors and of their products with S, again and again: block Lanczos
# [Golub & Underwood 1977]. K(w) = diag(w) T diag(w) but for its diagonal, so one product of matrices multiplies the S
# of every combination with its own vectors.

_CLOSE: Final = 1e-11  # by how much a step may still change the two largest eigenvalues, or of those above 1 which part
_SMALL: Final = 1e-9  # what is left of a unit vector that lies in a span, up to rounding
_FEW: Final = 4
DENSE: Final = 100  # coefficients up to which one matrix for each combination is faster
_MOST: Final = 120  # vectors in a basis; beyond this a decomposition of the whole matrix is as fast
_AT_ONCE: Final = 2**23  # numbers in the bases of combinations that are treated together


@dataclass(frozen=True, eq=False)
class Growth:
    """The matrices S of m combinations of k coefficients; see the head of the module.

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
        What P takes out, one unit vector for each combination, shape (m, k); nothing if it is 0.
    """

    noise: EntryNoise
    steps: FloatArray
    weights: FloatArray
    variance: FloatArray
    fixed: FloatArray

    def __len__(self) -> int:
        return len(self.weights)

    def some(self, which: slice) -> Growth:
        """Those of some of the combinations."""
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
        """R K(w) t / sigma^2 for vectors t of every combination, shape (m, b, p); the result has shape (m, b, k)."""
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
        """S x for vectors x at right angles to what is fixed, but for what P takes out, shape (m, b, k)."""
        return self.pulled(x @ self.steps)


class Reduced(NamedTuple):
    """The matrices S in the span of few vectors, in coordinates in which they are diagonal.

    Attributes
    ----------
    values
        Their eigenvalues there, ascending, shape (m, q).
    starts
        The vectors that were given in these coordinates, shape (m, b, q).
    """

    values: FloatArray
    starts: FloatArray


def runs(size: int, combinations: int) -> list[slice]:
    """Combinations of so many coefficients that are treated together: as many as memory holds well.

    >>> runs(10, 3)
    [slice(0, 3, None)]
    """
    most = max(1, _AT_ONCE // (_MOST * size))
    return [slice(at, min(at + most, combinations)) for at in range(0, combinations, most)]


def reduced(growth: Growth, starts: FloatArray) -> Reduced | None:
    """Restrict the matrices S to spans that hold the given vectors and all that matters beside them.

    A random vector is among those that span them, so that no direction is overlooked.

    Parameters
    ----------
    growth
        The matrices.
    starts
        Vectors for each combination, shape (m, b, k); what is along the fixed one is left out.

    Returns
    -------
    Reduced
        None where such spans would hold too many vectors.
    """
    count, given, size = starts.shape
    random = standard_normals(seeded_stream("direction", str(size)), 1, size)
    starts = np.concatenate([starts, np.broadcast_to(random, (count, 1, size))], axis=1)
    width, most = given + 1, min(_MOST, size)
    # the first place is for what is fixed: everything is at right angles to it, and nothing grows along it
    basis = np.zeros((count, 1 + most, size))
    basis[:, 0] = growth.fixed
    inside = np.zeros((count, 1 + most, 1 + most))
    starts -= (starts @ growth.fixed[:, :, None]) * growth.fixed[:, None, :]
    block, shares = _orthonormal(starts, basis[:, :1])
    for end in range(1 + width, 1 + most, width):
        basis[:, end - width : end] = block
        known = basis[:, :end]
        image = growth.times(block)
        along = image @ known.transpose(0, 2, 1)
        image -= along @ known
        inside[:, end - width : end, 1:end] = along[:, :, 1:]
        inside[:, 1:end, end - width : end] = along[:, :, 1:].transpose(0, 2, 1)
        # a few combinations show when it is worth to look at all
        if _settled(inside[:_FEW, :end, :end], width) and _settled(inside[:, :end, :end], width):
            values, axes = np.linalg.eigh(inside[:, :end, :end])
            return Reduced(values, (shares @ axes[:, 1 : 1 + width])[:, :given])
        block, _ = _orthonormal(image, known)
    return None


def largest_growth(noise: EntryNoise, steps: FloatArray, weights: FloatArray, variance: FloatArray) -> FloatArray:
    """Largest eigenvalue of every S where nothing is held fixed, shape (m,); the arguments are those of `Growth`."""
    size = len(steps)
    out = np.empty(len(weights))
    for run in runs(size, len(weights)):
        own = Growth(noise, steps, weights[run], variance[run], np.zeros((run.stop - run.start, size)))
        few = reduced(own, np.empty((len(own), 0, size))) if size > DENSE else None
        if few is not None:
            out[run] = few.values[:, -1]
        else:
            whole = steps @ product_covariance(noise, own.weights) @ steps.T
            out[run] = np.linalg.eigvalsh(whole)[:, -1] / own.variance
    return out


def growth_bound(noise: EntryNoise, weights: FloatArray, largest: FloatArray) -> FloatArray:
    """What sigma^2 times the largest eigenvalue of S is not above, shape (...,).

    R K R' has no eigenvalue above that of K times that of R'R, and that of K is at most the largest entry on the
    diagonal plus the length of the rest.

    Parameters
    ----------
    noise
        F, shape (p, p).
    weights
        w of each combination, shape (..., p).
    largest
        Eigenvalue of R'R, shape (...,).

    Examples
    --------
    >>> growth_bound(EntryNoise(np.ones((2, 2))), np.array([[1.0, 0.0]]), np.array([4.0]))
    array([4.])
    """
    squares = weights**2
    variance, shared = noise.variance, noise.shared
    off = variance - np.diag(variance.diagonal())
    diagonal = squares @ variance + 2 * shared * weights[..., :1] * weights
    rest = np.sqrt(((squares @ off**2) * squares).sum(axis=-1)) + np.linalg.norm(shared * squares, axis=-1)
    bound: FloatArray = largest * (diagonal.max(axis=-1) + rest)
    return bound


def _settled(inside: FloatArray, width: int) -> bool:
    """Whether the two largest eigenvalues of restricted matrices, shape (m, q, q), are those of the whole ones.

    They can only grow with the span, and each step leaves a share of what is missing: when the last `width` vectors
    added nothing that counts, neither will others.
    """
    now, before = (np.linalg.eigvalsh(part)[:, -2:] for part in (inside, inside[:, :-width, :-width]))
    return bool((now - before <= _CLOSE * np.maximum(now, 1.0)).all())


def _orthonormal(vectors: FloatArray, known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An orthonormal basis of the span of few vectors, shape (m, b, k), and their coordinates in it.

    The vectors are at right angles to `known` up to rounding, and so is the basis, however short they are. One that
    adds nothing has 0 in its place.
    """
    out, coordinates = _one_by_one(vectors)
    out -= (out @ known.transpose(0, 2, 1)) @ known
    return _one_by_one(out)[0], coordinates


def _one_by_one(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Vectors without what they have along those before them, of length 1, and coordinates of the given ones."""
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
# What a hypothesis leaves open about the other coefficients, and how far a test must then reach.
#
# The variance of the score depends on all coefficients. Where the noise hides some of those beside a combination psi, a
# test of psi that takes one value for them may be far too sure. So a value t of psi is kept if it fits with *some*
# value of the others. With theta(t) = theta~ + u v as in `inference`, u = t - psi~, and Omega(theta) taken as
# Omega(theta~) times the factor by which the variance of psi's own score grows, it is kept if for some step d of the
# others
#
#     u^2 + sigma^2 d'Cov^+ d <= c a'Omega(theta(t) + d) a,     sigma^2 = a'Omega(theta~) a,
#
# Cov the covariance of theta~ where psi is known. Both sides are quadratic, so that the best step is known in closed
# form. In coordinates in which d'Cov^+ d = |h|^2 and the growth along h is sum s_i h_i^2,
#
#     u^2 <= c q(u) + c^2 sigma^2 sum r_i(u)^2 / (1 - c s_i),
#
# r_i(u) linear in u: the set is again the solution of a quadratic, and any value where c s_i >= 1 for some i. The
# smallest such c is the statistic of t. Where the others are well known all s_i are small, and it is the plain score
# statistic.
#
# To search for the step that fits best makes the statistic smaller where the others are hidden. Its law is then not
# chi-square with m degrees of freedom but, given the next root kappa of the same problem, close to the density
#
#     x^(m/2 - 1) exp(-x/2) (kappa - x)^(1/2),    0 < x < kappa,
#
# [Guggenberger, Kleibergen & Mavroeidis 2019, for noise of one shape in all columns]. For large kappa it is chi-square.

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(80)
_SHARES: Final = (_NODES + 1) / 2
_FAR: Final = 100.0  # beyond this the exponential leaves nothing that double precision would see
_HALVINGS: Final = 45
_SECANTS: Final = 30
_NARROW: Final = 1e-12
_LAST_DIGITS: Final = 2.0**-51


@dataclass(frozen=True, eq=False)
class Nuisance:
    """The coefficients beside one combination, in coordinates in which their errors have unit variance.

    Attributes
    ----------
    sigma
        Standard error of the combination.
    growth
        s_i: by how much the variance of the combination grows along each coordinate, ascending, shape (k - m,).
    here, along
        r_i(u) = here_i + u along_i, shape (k - m,).
    """

    sigma: float
    growth: FloatArray
    here: FloatArray
    along: FloatArray

    @property
    def kappa(self) -> float:
        """How well the others are known: the next root at the estimate; infinite where nothing is hidden."""
        if not self.growth.any():
            return math.inf
        largest = _largest_lowered(self.growth, self.here)
        return 1 / largest if largest > 0 else math.inf

    def statistic(self, u: float, variance: float) -> float:
        """Smallest c at which a value u above the estimate is kept.

        Parameters
        ----------
        u
            In units of the combination, not 0.
        variance
            q(u), above 0.
        """
        if not self.growth.any():
            return u * u / variance
        edge = self.sigma * abs(u) * (self.here + u * self.along)
        return u * u / _largest_of_arrow(variance, u * u * self.growth, edge)

    def widened(self, c: float) -> tuple[float, float, float]:
        """What the open step adds to q0, q1 and q2 at c: infinitely much to q2 where any value is kept.

        Parameters
        ----------
        c
            Squared critical value.
        """
        if not self.growth.any():
            return 0.0, 0.0, 0.0
        left = 1 - c * self.growth
        # with hardly a degree of freedom c leaves double precision
        if not (math.isfinite(c) and (left > 0).all()):
            return 0.0, 0.0, math.inf
        weights = c * self.sigma**2 / left
        pairs = ((self.here, self.here), (self.here, self.along), (self.along, self.along))
        q0, q1, q2 = (float((weights * one * other).sum()) for one, other in pairs)
        return q0, q1, q2


def _largest_lowered(diagonal: FloatArray, by: FloatArray) -> float:
    """Largest eigenvalue of diag(d) - b b', d ascending: between the two largest of d, where one sum changes its sign.

    >>> round(_largest_lowered(np.array([1.0, 3.0]), np.array([0.0, 1.0])), 12)
    2.0
    """
    if len(diagonal) == 1:
        return float(diagonal[0] - by[0] ** 2)
    squares = by**2
    # above the largest eigenvalue the sum is negative: one factor of the determinant is, and the determinant is not
    return _root(lambda x: 1 + float((squares / (x - diagonal)).sum()) <= 0, float(diagonal[-2]), float(diagonal[-1]))


def _largest_of_arrow(corner: float, diagonal: FloatArray, edge: FloatArray) -> float:
    """Largest eigenvalue of a matrix that has entries in its first row and column and on its diagonal alone.

    >>> round(_largest_of_arrow(1.0, np.array([0.0, 1.0]), np.array([0.0, 2.0])), 12)
    3.0
    """
    squares = edge**2
    low = max(corner, float(diagonal.max()))
    high = low + float(np.sqrt(squares.sum()))
    return _root(lambda x: x - corner - float((squares / (x - diagonal)).sum()) >= 0, low, high)


def _root(is_above: Callable[[float], bool], low: float, high: float) -> float:
    """Where something begins to hold that holds at `high` and from there on, to the last digits of a double."""
    with np.errstate(divide="ignore", invalid="ignore"):
        while (middle := (low + high) / 2) > low and high - low > _LAST_DIGITS * high:
            low, high = (low, middle) if is_above(middle) else (middle, high)
    return high


def nuisances(inference: ScoreInference, L: FloatArray) -> tuple[Nuisance, ...]:
    """Set up what is open beside each row of L, shape (m, k), tested by itself."""
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
        found = zip(L[run], v[run], own[run].tolist(), strict=True)
        out += few or [nuisance(inference, row[None, :], row, step, root, one) for row, step, one in found]
    return tuple(out)


def _in_few_directions(
    inference: ScoreInference, L: FloatArray, v: FloatArray, own: FloatArray, root: CovarianceRoot
) -> list[Nuisance] | None:
    """The same from few directions of the others, which are all that matters where there are many.

    None where they would not be few.
    """
    if not (inference.entry_noise and (own > 0).all()):
        return None
    along = L @ root.root
    growth = Growth(
        noise=inference.entry_noise,
        steps=root.noise,
        weights=L @ inference.inverse @ inference.noise_map,
        variance=own,
        fixed=along / np.linalg.norm(along, axis=1, keepdims=True),
    )
    here = np.broadcast_to(inference.contrast, growth.weights.shape)
    pulled = growth.pulled(np.stack([here, -(v @ inference.noise_map)], axis=1))
    found = reduced(growth, pulled)
    if found is None:
        return None
    sigma = np.sqrt(own).tolist()
    ours = zip(sigma, np.maximum(found.values, 0.0), found.starts[:, 0], found.starts[:, 1], strict=True)
    return [Nuisance(*one) for one in ours]


def nuisance(
    inference: ScoreInference,
    L: FloatArray,
    combination: FloatArray,
    step: FloatArray,
    root: CovarianceRoot,
    sigma2: float | None = None,
) -> Nuisance:
    """Set up what the hypotheses L theta = c leave open, as it bears on one combination l'theta.

    Parameters
    ----------
    inference
        Of the coefficients.
    L
        Combinations that the hypotheses fix, of full rank, shape (m, k).
    combination
        l, in the span of the rows of L, shape (k,).
    step
        v: how the coefficients move for one unit of the combination, shape (k,).
    root
        Of the covariance, from `covariance_root`.
    sigma2
        Variance of the combination, if it is not that of the covariance.
    """
    if sigma2 is None:
        sigma2 = float(combination @ inference.covariance @ combination)
    free = len(combination) - len(L)
    if not (inference.entry_noise and free and sigma2 > 0):
        return Nuisance(math.sqrt(max(sigma2, 0.0)), *np.zeros((3, free)))
    w = combination @ inference.inverse @ inference.noise_map
    form = product_covariance(inference.entry_noise, w)
    steps = root.beside(L)
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
        What a step R h does to the noise, -R' times the noise map, shape (k, p).
    """

    root: FloatArray
    noise: FloatArray

    def beside(self, L: FloatArray) -> FloatArray:
        """What steps do to the noise that hypotheses of full rank leave open, in coordinates of unit variance.

        The rows of the root's space that L R does not touch: their image has the covariance given the hypotheses.
        Reflections take L R to the first coordinates [Householder 1958], and what is left are the others.
        """
        reflections, factors = np.linalg.qr((L @ self.root).T, mode="raw")
        moved = self.noise.copy()
        for index, (reflection, factor) in enumerate(zip(reflections, factors, strict=True)):
            v = np.concatenate(([1.0], reflection[index + 1 :]))
            moved[index:] -= np.outer(factor * v, v @ moved[index:])
        return moved[len(L) :]


def covariance_root(inference: ScoreInference) -> CovarianceRoot:
    """Give a square root of the covariance of the coefficients."""
    values, axes = np.linalg.eigh(inference.covariance)
    root = axes * np.sqrt(np.maximum(values, 0.0))
    return CovarianceRoot(root, -(root.T @ inference.noise_map))


def tail_given(x: float, kappa: float, count: int) -> float:
    """Probability beyond x of the law of the statistic of `count` hypotheses, given kappa.

    >>> round(tail_given(3.841, 1e9, 1), 4), round(tail_given(2.0, 4.0, 1), 4)
    (0.05, 0.0703)
    """
    if x >= kappa:
        return 0.0
    return math.exp(-x / 2) * _integral(max(x, 0.0), kappa, count) / _integral(0.0, kappa, count)


def _integral(x: float, kappa: float, count: int) -> float:
    """Integral of the density from x on, over exp(-x/2): with y = kappa sin(phi)^2 its integrand is smooth."""
    far = min(1.0, (x + _FAR + 4 * count) / kappa)
    low, high = math.asin(math.sqrt(x / kappa)), math.asin(math.sqrt(far))
    phi = low + (high - low) * _SHARES
    y = kappa * np.sin(phi) ** 2
    # divided by the largest power that occurs, so that many hypotheses do not overflow
    weights = _WEIGHTS if count == 1 else _WEIGHTS * np.sqrt(y / (_FAR + 4 * count)) ** (count - 1)
    return float((high - low) / 2 * (weights * np.exp((x - y) / 2) * np.cos(phi) ** 2).sum())


@lru_cache(maxsize=1024)
def level_given(alpha: float, kappa: float, count: int) -> float:
    """Tail of chi-square beyond the value that the law given kappa exceeds with probability alpha; at least alpha.

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
    # most halvings are known from a few secants, and cost nothing
    above, below = _narrowed(excess, low, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle <= above or (middle < below and excess(middle) > 0):
            low = middle
        else:
            high = middle
    return max(alpha, float(chdtrc(count, high**2)))


def _narrowed(falling: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Where a falling function is still above 0 and where no longer, by the Illinois method [Dowell & Jarratt 1971]."""
    at_low, at_high = falling(low), falling(high)
    before = 0.0
    for _ in range(_SECANTS):
        if not at_low > 0 > at_high or high - low < _NARROW * high:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = falling(middle)
        # an end that stays twice counts half, or it would stay for ever
        share = 0.5 if value * before > 0 else 1.0
        if value > 0:
            low, at_low, at_high = middle, value, at_high * share
        else:
            high, at_high, at_low = middle, value, at_low * share
        before = value
    return low, high


def reference_tail(p: float, kappa: float, count: int) -> float:
    """P-value given kappa, from the one that holds where the other coefficients are known.

    >>> round(reference_tail(0.05, 1e9, 1), 4), round(reference_tail(0.05, 4.0, 1), 4), reference_tail(0.0, 4.0, 1)
    (0.05, 0.0007, 0.0)
    """
    from scipy.special import chdtri

    if kappa == math.inf or p <= 0:
        return p
    return tail_given(float(chdtri(count, p)), kappa, count)

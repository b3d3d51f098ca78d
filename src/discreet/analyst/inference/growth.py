"""By how much the variances of many combinations grow along steps of the coefficients, without a matrix for each.

For a combination with the weights w on the noise F that growth is a quadratic form of the step. In coordinates in which
the errors of the coefficients have unit variance, and at right angles to what is held fixed, its matrix is

    S = P R K(w) R' P / sigma^2,    K(w) the covariance of F w,

R what a step does to the noise. Only the largest eigenvalues of S and forms with two known vectors are needed. Both
are read from S restricted to the span of a few vectors and of their products with S, again and again: block Lanczos
[Golub & Underwood 1977]. K(w) = diag(w) T diag(w) but for its diagonal, so one product of matrices multiplies the S of
every combination with its own vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from discreet.analyst.equations.noise_covariance import EntryNoise, product_covariance
from discreet.analyst.equations.seeded import seeded_stream, standard_normals
from discreet.exact.arrays import FloatArray

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

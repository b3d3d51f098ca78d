"""Covariance of the score at the true coefficients, and sandwich variances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, NamedTuple, cast

import numpy as np

from discreet.analyst.confidence_sets import SetArray, quadratic_sets
from discreet.analyst.equations.noise import Noise, form_covariance, product_covariance, square_covariance
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.solvers.least_squares import inverse_gram, residual_sum, total_sum
from discreet.exact.arrays import FloatArray

# -- sandwich ----------------------------------------------------------------------------------------------------------
# The middle of the robust sandwich, M~ = sum r^2 z z' + E with E of known distribution, and its shrinkage.
#
# The sampling variance of a combination is m = a'M a, and there are two estimates of it. The first, a'M~a, is unbiased.
# Its noise has the known variance tau^2 = Var(a'E a), and it may be negative. The second is the form of the nearest
# positive semidefinite matrix. It is less variable, but too large on average if noise dominates: in simulations its
# median was up to 10 times m. The mean x of the two is compared with p = s^2 a'A a, the variance under homoscedastic
# errors, whose noise is far smaller:
#
#     x < p:      x + tau, at most p;
#     x > 10 p:   x - 2 tau, at least 10 p.
#
# So if noise hides m the estimate is between 1 and 10 times p. As noise vanishes it is a'M a for any p. The two rules
# differ because too small a variance loses more coverage than too large a variance gains. The numbers 1/2, 1, 10, 1 and
# 2 are constants, chosen once on simulated tables with equal and unequal variances. They do not depend on data.
#
# Nothing is subtracted between p and 10 p. With equal variances, sets then cover up to 97.7% (n = 1,000, epsilon 5).
# Subtracting tau / 4, or replacing 10 by 3 or 5, would reduce this to 97.2 to 97.5%. But an income with errors that
# grow with it (401ksubs, n = 10,000, epsilon 5) would then be covered in 89 to 91% instead of 93%.
#
# A joint test searches for the direction with the strongest evidence against the hypotheses, so it would too often
# select one in which noise made the variance small. It applies the same rule to the eigenvalues of M~ relative to the
# plain middle, but raises them by 3/2 instead of 1 standard deviation of their noise.

_PLAUSIBLE: Final = 10.0  # multiple of the homoscedastic variance above which estimates are lowered by their noise
_DOWN: Final = 2.0  # standard deviations of the noise
_UP: Final = 1.0
_JOINT_UP: Final = 1.5
# smallest residual variance, as a part of the one that another released number suggests
_LEAST_OF_PRIOR: Final = 0.09


@dataclass(frozen=True, eq=False)
class Middle:
    """The released middle matrix of the sandwich for k coefficients."""

    released: FloatArray  # M~, shape (k, k)
    variance: FloatArray  # variances of the independent entries of E, shape (m, m); the noise of M~ is U E U'
    plain: FloatArray  # s^2 A, or 0 if noise left no residual variance, shape (k, k)
    mapping: FloatArray | None = None  # U, shape (k, m), or None for the identity

    @cached_property
    def definite(self) -> FloatArray:
        """The positive semidefinite matrix nearest to `released`, shape (k, k)."""
        values, vectors = np.linalg.eigh(self.released)
        return cast("FloatArray", (vectors * np.maximum(values, 0.0)) @ vectors.T)

    @cached_property
    def _root(self) -> FloatArray | None:
        """Cholesky factor of `plain`, or None if `plain` is not positive definite."""
        try:
            return cast("FloatArray", np.linalg.cholesky(self.plain))
        except np.linalg.LinAlgError:
            return None

    def along(self, rows: FloatArray) -> FloatArray:
        """Estimate the sampling variance of the score in the direction of each row of `rows`, shape (m,)."""
        definite = _forms(rows, self.definite)
        if self._root is None:
            return definite
        mean = (_forms(rows, self.released) + definite) / 2
        return _believed(mean, self.noise(rows), _forms(rows, self.plain), _UP)

    def joint(self) -> FloatArray:
        """Return the middle matrix for joint tests, shape (k, k)."""
        root = self._root
        if root is None:
            return self.definite
        inverse = np.linalg.inv(root)
        values, vectors = np.linalg.eigh(inverse @ self.released @ inverse.T)
        moved = _believed(values, self.noise(vectors.T @ inverse), np.ones_like(values), _JOINT_UP)
        sides = root @ vectors
        return cast("FloatArray", (sides * moved) @ sides.T)

    def noise(self, rows: FloatArray) -> FloatArray:
        """Compute the standard deviation of a'U E U'a for each row a. E is symmetric."""
        squares = (rows if self.mapping is None else rows @ self.mapping) ** 2
        variance = ((2 * squares @ self.variance - squares * self.variance.diagonal()) * squares).sum(axis=1)
        return cast("FloatArray", np.sqrt(np.maximum(variance, 0.0)))


def _believed(values: FloatArray, noise: FloatArray, plain: FloatArray, up: float) -> FloatArray:
    """Move noisy values towards the plausible range, from `plain` to ten times `plain`, by multiples of their noise.

    >>> ones = np.ones(5)
    >>> _believed(np.array([-5.0, -1.0, 4.0, 11.0, 14.0]), 1.5 * ones, ones, 1.0).tolist()
    [0.0, 0.5, 4.0, 10.0, 11.0]
    """
    raised = np.clip(values + up * noise, 0.0, plain)
    lowered = np.maximum(values - _DOWN * noise, _PLAUSIBLE * plain)
    return np.where(values < plain, raised, np.where(values > _PLAUSIBLE * plain, lowered, values))


def _forms(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    return cast("FloatArray", ((rows @ matrix) * rows).sum(axis=1))


# -- score -------------------------------------------------------------------------------------------------------------
# Inference from noisy sums: the score at the true coefficients has a known covariance, for noise of any size.
#
# With A~ = A + E and b~ = b + e, the score g(theta) = b~ - A~ theta = X'eta + e - E theta has mean 0 at the truth and
# the covariance
#
#     Omega(theta) = s^2 A + V(theta),   V(theta) the covariance of e - E theta,
#
# where V is a quadratic function of theta and known entry by entry. For a combination psi = l'theta of coefficients and
# a = A~^{-1} l the error psi~ - psi is a'g(theta) exactly, so that
#
#     { t : (t - psi~)^2 <= z^2 a'Omega(theta(t)) a },   theta(t) = theta~ + (t - psi~) v,   v = Sigma l / l'Sigma l,
#
# is a confidence set for psi [Fieller 1954], and the same statistic at a hypothesised value of psi tests it. Along
# theta(t) the variance is q0 + 2 q1 u + q2 u^2 with u = t - psi~, so the ends are the roots of a quadratic. If
# z^2 q2 < 1 the set is an interval. Otherwise it is the complement of an interval, or the whole line. All of these are
# returned if A~ is positive definite. Returning intervals alone would select draws that cover too little.
#
# Several combinations L theta = c are tested jointly with the covariance under the hypothesis,
#
#     d'[L Sigma(theta0) L']^{-1} d,   theta0 = theta~ - Sigma L'(L Sigma L')^{-1} d,   d = L theta~ - c,
#
# which for one combination is the square of its score statistic. Both tests fix one value for the coefficients that a
# hypothesis leaves free. `nuisance` allows for the uncertainty about them.
#
# Sigma = A~^{-1} Omega(theta~) A~^{-1} is the sandwich covariance. With a ridge penalty, A~ + diag(penalty) replaces A~
# in a and Sigma, and psi is the combination of the *penalised* coefficients (A + diag(penalty))^{-1} A theta.


@dataclass(frozen=True, eq=False)
class ScoreInference:
    """Errors of the k scaled coefficients, estimated from the release."""

    entry_noise: Noise  # F, noise in the sums of (1, features, target), shape (p, p)
    noise_map: FloatArray  # C without its last row; F enters the sums of (z, target) as C F C', shape (k, p)
    contrast: FloatArray  # C'(-theta~, 1), the combination of the columns of F that enters the score, shape (p,)
    inverse: FloatArray  # inverse of the Gram plus the penalty diagonal, shape (k, k)
    noise: FloatArray  # V(theta~), shape (k, k)
    residual: float  # residual sum, corrected for the noise that the estimate follows; may be negative
    residual_noise: float  # variance of `residual` due to privacy noise
    residual_rows: float  # rows minus effective coefficients; `residual` over this is the residual variance
    df: float  # rows minus coefficients; noisy, and not an integer, unless the number of rows is public
    # sampling and privacy parts of the sandwich covariance of theta~, shape (k, k)
    sampling: FloatArray
    privacy: FloatArray
    joint_sampling: FloatArray | None = None  # replaces `sampling` in joint tests
    # for robust errors: gives the sampling variance of each combination instead of `sampling`
    middle: Middle | None = field(default=None, repr=False)
    # factor of a robust sampling variance: `robust.sample_factor`, or 1 for HC0
    correction: float = field(default=1.0, repr=False)

    @property
    def s2(self) -> float:
        """Residual variance of the scaled target. Noise may make it negative."""
        return self.residual / self.residual_rows

    @property
    def expected_s2(self) -> float:
        """Expected residual variance given its noisy estimate and that it cannot be negative, for prediction intervals.

        The width of an interval is proportional to the root of the variance, so the plain estimate would be too small
        on average.
        """
        from scipy.special import log_ndtr

        sd = math.sqrt(self.residual_noise) / self.residual_rows
        if sd == 0:
            return self.s2
        far = self.s2 / sd
        return max(self.s2 + sd * math.exp(-(far**2) / 2 - float(log_ndtr(far))) / math.sqrt(2 * math.pi), 0.0)

    @property
    def covariance(self) -> FloatArray:
        """Sandwich covariance of the scaled coefficients, shape (k, k)."""
        return self.sampling + self.privacy

    def sampling_along(self, L: FloatArray) -> FloatArray:
        """Return the sampling variance of l'theta~ for each row l of `L`, shape (m,)."""
        if self.middle is None:
            return _score_forms(L, self.sampling)
        return self.correction * self.middle.along(L @ self.inverse)

    def for_one(self, combination: FloatArray) -> ScoreInference:
        """Replace the sampling variance along one combination by that of its own confidence set.

        The covariance of the other coefficients given the combination does not change.
        """
        toward = self.covariance @ combination
        total = float(combination @ toward)
        if self.middle is None or not total > 0:
            return self
        v = toward / total
        own = float(self.sampling_along(combination[None, :])[0])
        more = own - float(combination @ self.sampling @ combination)
        return replace(self, sampling=self.sampling + more * np.outer(v, v), middle=None)

    def covariance_at(self, step: FloatArray) -> FloatArray:
        """Return the covariance of theta~ if the coefficients were theta~ + step, shape (k, k)."""
        noise = product_covariance(self.entry_noise, self.contrast - self.noise_map.T @ step)
        H = self.inverse @ self.noise_map
        return self.sampling + H @ noise @ H.T


@dataclass(frozen=True, eq=False)
class ContrastTerms:
    """Variance of the score statistic along each of m combinations: q0 + 2 q1 u + q2 u^2."""

    # sampling and privacy parts of q0, shape (m,)
    sampling: FloatArray
    privacy: FloatArray
    q1: FloatArray  # shape (m,)
    q2: FloatArray  # shape (m,)

    @property
    def q0(self) -> FloatArray:
        """Variance at the estimate, shape (m,)."""
        return self.sampling + self.privacy

    def at(self, u: FloatArray) -> FloatArray:
        """Return the variance at distance u from the estimate, at least 0, shape (m,)."""
        return np.maximum(self.q0 + 2 * self.q1 * u + self.q2 * u**2, 0.0)


class _Ridge(NamedTuple):
    """Effect of a ridge penalty on the estimate and its errors."""

    weights: FloatArray  # 2H - H A~ H
    used: float  # effective number of coefficients
    spread: FloatArray  # sampling covariance of the estimate divided by s^2
    pull: FloatArray  # H diag(penalty) theta~


class _Line(NamedTuple):
    """A fitted line, with the sums that its standard errors need.

    `prior` is an estimate of the residual variance from another released number, or None.
    """

    estimate: FloatArray
    H: FloatArray  # inverse Gram
    residual: float  # residual sum at the estimate
    total: float  # sum of squares of the target
    nobs: float
    prior: float | None = None

    def inference(self, C: FloatArray, entry_noise: Noise, ridge: _Ridge) -> ScoreInference:
        """Set up the covariance of the score; see `score_inference`."""
        contrast = C.T @ np.append(-self.estimate, 1.0)
        regressors = C[:-1]
        noise = product_covariance(entry_noise, contrast)
        noise = noise[:-1, :-1] if is_identity(C) else regressors @ noise @ regressors.T
        residual = self.residual + float((ridge.weights * noise).sum())
        rows = self.nobs - ridge.used
        followed = ridge.weights @ noise
        s2 = max(min(residual, self.total) / rows, 0.0) if rows > 0 else 0.0
        residual_noise = (
            square_covariance(entry_noise, contrast, contrast)
            + 2 * float((followed * followed.T).sum())
            + 4 * s2 * float(np.trace(followed))
            + 4 * float(ridge.pull @ noise @ ridge.pull)
        )
        if self.prior is not None:
            s2 = _towards(self.prior, residual, residual_noise, rows)
        return ScoreInference(
            entry_noise=entry_noise,
            noise_map=regressors,
            contrast=contrast,
            inverse=self.H,
            noise=noise,
            residual=residual,
            residual_noise=residual_noise,
            residual_rows=rows,
            df=self.nobs - len(self.estimate),
            sampling=s2 * ridge.spread,
            privacy=(followed if ridge.weights is self.H else self.H @ noise) @ self.H,
        )


def _towards(prior: float, residual: float, noise: float, rows: float) -> float:
    """Shrink a noisy residual variance towards the estimate `prior`, more strongly the noisier it is.

    Half a standard deviation of the remaining noise is added, because a variance that is too small loses coverage.

    >>> _towards(1.0, 90.0, 0.0, 100.0), _towards(1.0, -1e9, 1e30, 100.0) >= 0.09
    (0.9, True)
    """
    if rows <= 0:
        return prior
    square = noise / rows**2
    kept = prior**2 / (prior**2 + square) if prior > 0 else 1.0
    estimate = kept * residual / rows + (1 - kept) * prior + math.sqrt(kept * square) / 2
    return max(estimate, _LEAST_OF_PRIOR * prior)


def score_inference(
    equations: NormalEquations, theta: Sequence[Fraction], penalty_diagonal: FloatArray
) -> ScoreInference:
    """Compute the covariance of the score at the estimate, and the residual variance.

    With H the inverse of A~ + diag(penalty), the residual sum at the estimate is smaller than at the true coefficients
    by tr((2H - H A~ H) Omega) on average, so that

        s^2 = (RSS~ + tr((2H - H A~ H) V)) / (n~ - tr((2H - H A~ H) A~)),

    which without a penalty is (RSS~ + tr(A~^{-1} V)) / (n~ - k). A negative value is replaced by 0: the privacy part
    alone still gives a valid width. In the sampling part s^2 is capped at the variance of the target, because the trace
    is far too large if A~ is close to singular. The release noise F enters the residual sum to first order as t'F t
    with t = (-theta, 1), as the quadratic form whose mean was added, and with a ridge also through the nonzero gradient
    at the estimate.
    """
    estimate = np.array([float(value) for value in theta])
    H = inverse_gram(equations, penalty_diagonal)
    A = equations.A
    if penalty_diagonal.any():
        weights = 2 * H - H @ A @ H
        used = float((weights * A).sum())
        spread = H @ _definite(A, penalty_diagonal) @ H
    else:
        weights, used, spread = H, float(len(H)), H
    sums = residual_sum(equations, theta), total_sum(equations)
    return _Line(estimate, H, *sums, equations.nobs, equations.prior_variance).inference(
        noise_map(equations),
        equations.noise,
        _Ridge(weights, used, spread, H @ (penalty_diagonal * estimate)),
    )


def score_from_sums(sums: FloatArray, nobs: float, C: FloatArray, noise: Noise) -> ScoreInference | None:
    """Compute `score_inference` without a penalty, from sums of products of (z, target) as doubles, shape (k+1, k+1).

    C maps the noise of the released sums of (1, features, target), as in `noise_map`. Return None if the sums determine
    no line.
    """
    A, b, c = sums[:-1, :-1], sums[:-1, -1], sums[-1, -1]
    size = len(b)
    diagonal = A.diagonal()
    if nobs <= size or not (diagonal > 0).all():
        return None
    scale = 1 / np.sqrt(diagonal)
    try:
        factor = np.linalg.cholesky(A * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    half = np.linalg.inv(factor) * scale
    H = half.T @ half
    theta = H @ b
    total = float(c - (b[0] ** 2 / A[0, 0] if is_identity(C) else 0.0))
    line = _Line(theta, H, float(c - b @ theta), total, nobs)
    return line.inference(C, noise, _Ridge(H, float(size), H, np.zeros(size)))


def stacked(scores: Sequence[ScoreInference]) -> ScoreInference:
    """Stack inferences about the same coefficients from several tables along a first axis, for `contrast_terms`."""
    return replace(
        scores[0],
        contrast=np.array([score.contrast for score in scores]),
        inverse=np.array([score.inverse for score in scores]),
        sampling=np.array([score.sampling for score in scores]),
        privacy=np.array([score.privacy for score in scores]),
    )


def noise_map(equations: NormalEquations) -> FloatArray:
    """Return the matrix C such that noise F in the sums of (1, features, target) adds C F C' to those of (z, target).

    C has shape (k+1, p). In a model without intercept it moves the sums to the origin of the original units.
    """
    moved = [] if equations.intercept else [equations.shift]
    return np.column_stack([*moved, np.eye(len(equations.whole))])


def is_identity(C: FloatArray) -> bool:
    """Return whether C is the identity, as in a model with an intercept."""
    return bool(C.shape[0] == C.shape[1])


def _definite(A: FloatArray, penalty_diagonal: FloatArray) -> FloatArray:
    """Return the Gram matrix A for the error covariance, with the ridge added if noise made A indefinite."""
    return A if np.linalg.eigvalsh(A)[0] > 0 else A + np.diag(penalty_diagonal)


def contrast_terms(inference: ScoreInference, L: FloatArray) -> ContrastTerms:
    """Compute q0, q1 and q2 of the combinations l'theta of the scaled coefficients, for the rows l of L, shape (m, k).

    If `inference` comes from `stacked`, the terms have an additional first axis.
    """
    privacy = np.maximum(_score_forms(L, inference.privacy), 0.0)
    total = (_score_forms(L, inference.sampling) + privacy)[..., None]
    toward = L @ inference.covariance
    # a combination with variance 0 has no direction to move along
    v = np.divide(toward, total, out=np.zeros_like(toward), where=total > 0)
    W = L @ inference.inverse @ inference.noise_map
    R = v @ inference.noise_map
    here = inference.contrast[..., None, :]
    return ContrastTerms(
        sampling=inference.sampling_along(L),
        privacy=privacy,
        q1=-form_covariance(inference.entry_noise, W, here, R),
        q2=form_covariance(inference.entry_noise, W, R, R),
    )


def _score_forms(L: FloatArray, M: FloatArray) -> FloatArray:
    return cast("FloatArray", ((L @ M) * L).sum(axis=-1))


def fieller_sets(terms: ContrastTerms, z: FloatArray | float, *, more: float = 0.0) -> SetArray:
    """Solve u^2 <= z^2 (q0 + more + 2 q1 u + q2 u^2) for u, the distance of a combination from its estimate.

    z is one critical value, or one per combination. `more` is an additional variance, such as a new observation's.
    """
    # with very few degrees of freedom z overflows, and no value is excluded
    with np.errstate(over="ignore", invalid="ignore"):
        return quadratic_sets(1 - z**2 * terms.q2, z**2 * terms.q1, z**2 * (terms.q0 + more))


@dataclass(frozen=True, eq=False)
class JointScore:
    """Score statistic of several hypotheses."""

    statistic: float  # d'[L Sigma(theta0) L']^{-1} d
    # the combination with the strongest evidence against the hypotheses, shape (k,): its estimate exceeds its
    # hypothesised value by the statistic, which is also its variance under the hypotheses
    combination: FloatArray
    step: FloatArray  # theta0 - theta~, shape (k,)


def joint_score(inference: ScoreInference, L: FloatArray, distance: FloatArray) -> JointScore:
    """Test several hypotheses jointly.

    L must have full rank, shape (m, k). `distance` is L theta~ minus the hypothesised values.
    """
    toward = inference.covariance @ L.T
    step = -toward @ np.linalg.solve(L @ toward, distance)
    under = L @ inference.covariance_at(step) @ L.T
    weights = np.linalg.solve(under, distance)
    return JointScore(float(distance @ weights), weights @ L, step)

"""Compute the covariance of the score at the true coefficients, and sandwich variances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, NamedTuple, cast

import numpy as np

from discreet.analyst.confidence_sets import SetArray, quadratic_sets
from discreet.analyst.equations.noise import EntryNoise, form_covariance, product_covariance, square_covariance
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.solvers.least_squares import inverse_gram, residual_sum, total_sum
from discreet.exact.arrays import FloatArray

# -- weights -----------------------------------------------------------------------------------------------------------
# The middle of the sandwich of weighted least squares, for errors of one variance.
#
# With rows that have weights w from their regressors alone, the score is the sum of w^2 z eta, and its covariance is
# s^2 times M = sum of w^4 z z', not of A = sum of w^2 z z'. Weights are at most 1, so that M is between 0 and A in
# every direction, while noise may put the released M~ outside. It is brought back there: in units of A~ its eigenvalues
# are cut to [0, 1].


def weighted_middle(equations: NormalEquations, gram: FloatArray) -> FloatArray:
    """Give M of the regressors z, shape (k, k).

    Parameters
    ----------
    equations
        With sums in which each weight stands four times.
    gram
        Positive definite, shape (k, k).
    """
    fourth = equations.fourth
    if fourth is None:
        return gram
    if not equations.intercept:
        moved = np.column_stack([equations.shift[:-1], np.eye(len(gram))])
        fourth = moved @ fourth @ moved.T
    root = np.linalg.cholesky(gram)
    inverse = np.linalg.inv(root)
    values, axes = np.linalg.eigh(inverse @ fourth @ inverse.T)
    sides = root @ axes
    out: FloatArray = (sides * np.clip(values, 0.0, 1.0)) @ sides.T
    return out


# -- sandwich ----------------------------------------------------------------------------------------------------------
# The middle of the robust sandwich, M~ = sum r^2 z z' + E with E of known law, and how much of it is believed.
#
# The sampling variance of a combination is m = a'M a, and there are two estimates of it. a'M~a is unbiased, its noise
# has the known variance tau^2 = Var(a'E a), and it may be negative. The form of the nearest positive semidefinite
# matrix is steadier, and too large on average where noise prevails: in simulations its median was up to 10 times m.
# Their mean x is taken, and held against p = s^2 a'A a, the variance that errors of one variance give, whose noise is
# far smaller:
#
#     x < p:      x + tau, but not beyond p;
#     x > 10 p:   x - 2 tau, but not below 10 p.
#
# So where noise hides m it counts as something between 1 and 10 times p; as noise vanishes it is a'M a, whatever p is.
# Up and down differ because too small a variance costs more coverage than one that is too large wins. The numbers 1/2,
# 1, 10, 1 and 2 are constants, chosen once on simulated tables with equal and unequal variances; no data enters them.
#
# Nothing is taken off between p and 10 p. Where variances are equal, sets then cover up to 97.7% (n = 1,000, epsilon
# 5). To take off tau / 4 there, or to put 3 or 5 in the place of 10, would bring that to 97.2 to 97.5%, but an income
# whose errors vary with it (401ksubs, n = 10,000, epsilon 5) would be covered in 89 to 91% instead of 93%.
#
# A joint test looks for the direction that speaks most against the hypotheses, so one that noise makes look certain
# would be found too often. It takes M~ with its eigenvalues in units of the plain middle moved by the same rule, but up
# by 3/2 standard deviations of their noise.

_PLAUSIBLE: Final = 10.0  # times the variance of equal variances: what lies above is believed less its noise
_DOWN: Final = 2.0  # standard deviations of the noise
_UP: Final = 1.0
_JOINT_UP: Final = 1.5


@dataclass(frozen=True, eq=False)
class Middle:
    """The released middle of the sandwich, k coefficients.

    Attributes
    ----------
    released
        M~, shape (k, k).
    variance
        Variances of the independent entries of its noise, shape (k, k).
    plain
        The middle for errors of one variance, s^2 A; 0 where the noise left no residual variance, shape (k, k).
    """

    released: FloatArray
    variance: FloatArray
    plain: FloatArray

    @cached_property
    def definite(self) -> FloatArray:
        """The nearest matrix that is not below 0 in any direction, shape (k, k)."""
        values, vectors = np.linalg.eigh(self.released)
        return cast("FloatArray", (vectors * np.maximum(values, 0.0)) @ vectors.T)

    @cached_property
    def _root(self) -> FloatArray | None:
        """Of the plain middle; none where there is nothing to measure by."""
        try:
            return cast("FloatArray", np.linalg.cholesky(self.plain))
        except np.linalg.LinAlgError:
            return None

    def along(self, rows: FloatArray) -> FloatArray:
        """Sampling variance of the score along each row, shape (m,), from rows of shape (m, k)."""
        definite = _forms(rows, self.definite)
        if self._root is None:
            return definite
        mean = (_forms(rows, self.released) + definite) / 2
        return _believed(mean, self.noise(rows), _forms(rows, self.plain), _UP)

    def joint(self) -> FloatArray:
        """The middle for tests of several hypotheses, shape (k, k)."""
        root = self._root
        if root is None:
            return self.definite
        inverse = np.linalg.inv(root)
        values, vectors = np.linalg.eigh(inverse @ self.released @ inverse.T)
        moved = _believed(values, self.noise(vectors.T @ inverse), np.ones_like(values), _JOINT_UP)
        sides = root @ vectors
        return cast("FloatArray", (sides * moved) @ sides.T)

    def noise(self, rows: FloatArray) -> FloatArray:
        """Standard deviation of a'E a for each row a, shape (m,): entries off the diagonal are there twice."""
        squares = rows**2
        variance = ((2 * squares @ self.variance - squares * self.variance.diagonal()) * squares).sum(axis=1)
        return cast("FloatArray", np.sqrt(np.maximum(variance, 0.0)))


def _believed(values: FloatArray, noise: FloatArray, plain: FloatArray, up: float) -> FloatArray:
    """What is taken for values with this noise; see the head of the module.

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
# Inference from noisy sums: the score at the truth has a known covariance, whatever the size of the noise.
#
# With A~ = A + E, b~ = b + e the score g(theta) = b~ - A~ theta = X'eta + e - E theta has mean 0 at the truth and the
# covariance
#
#     Omega(theta) = s^2 A + V(theta),   V(theta) the covariance of e - E theta,
#
# where V is a quadratic function of theta and known entry by entry. For a combination psi = l'theta of coefficients and
# a = A~^{-1} l the error psi~ - psi is a'g(theta) exactly, so that
#
#     { t : (t - psi~)^2 <= z^2 a'Omega(theta(t)) a },   theta(t) = theta~ + (t - psi~) v,   v = Sigma l / l'Sigma l,
#
# is a confidence set for psi [Fieller 1954], and the same statistic at a given value of psi is a test of it. Along
# theta(t) the variance is q0 + 2 q1 u + q2 u^2 with u = t - psi~, so the ends are the roots of a quadratic. Where z^2
# q2 < 1 the set is an interval; beyond that it is the outside of one, or any value. All of them are given as they are,
# wherever A~ is positive definite: to give the intervals alone would select draws that cover too little.
#
# Several combinations L theta = c are tested together with the covariance under the hypothesis,
#
#     d'[L Sigma(theta0) L']^{-1} d,   theta0 = theta~ - Sigma L'(L Sigma L')^{-1} d,   d = L theta~ - c,
#
# which for one combination is the square of its score statistic. Both take one value for the coefficients that a
# hypothesis leaves open; `nuisance` counts what is not known about those, for coefficients and hypotheses.
#
# Sigma = A~^{-1} Omega(theta~) A~^{-1} is the sandwich covariance. With a ridge on the diagonal, A~ + diag(penalty)
# takes the place of A~ in a and Sigma, and psi is the combination of the *penalised* coefficients (A +
# diag(penalty))^{-1} A theta.


@dataclass(frozen=True, eq=False)
class ScoreInference:
    """What the release says about the error of the scaled coefficients, k of them.

    Attributes
    ----------
    entry_noise
        The noise F in the sums of (1, features, target), shape (p, p).
    noise_map
        How F enters the sums of (z, target): as C F C' with this C, shape (k+1, p).
    contrast
        C'(-theta~, 1): the combination of the columns of F that enters the score, shape (p,).
    inverse
        Inverse of the Gram, with the penalty on its diagonal, shape (k, k).
    noise
        V(theta~), shape (k, k).
    residual
        Residual sum, corrected for what the estimate follows of the noise; it may be negative.
    residual_noise
        Variance that the noise of the release gives to `residual`.
    residual_rows
        What it is divided by for the residual variance: rows less effective coefficients.
    df
        Rows less coefficients, not necessarily whole; noisy unless the number of rows is public.
    sampling, privacy
        The two parts of the sandwich covariance of theta~, shape (k, k).
    joint_sampling
        What takes the place of `sampling` in tests of several hypotheses at once, if it differs.
    middle
        Of robust errors: tells the sampling variance of each combination; without it that is a form of `sampling`.
    correction
        What a robust sampling variance is multiplied by: `robust.sample_factor`, 1 for HC0.
    """

    entry_noise: EntryNoise
    noise_map: FloatArray
    contrast: FloatArray
    inverse: FloatArray
    noise: FloatArray
    residual: float
    residual_noise: float
    residual_rows: float
    df: float
    sampling: FloatArray
    privacy: FloatArray
    joint_sampling: FloatArray | None = None
    middle: Middle | None = field(default=None, repr=False)
    correction: float = field(default=1.0, repr=False)

    @property
    def s2(self) -> float:
        """Residual variance of the scaled target; not above 0 where the release cannot distinguish it from none."""
        return self.residual / self.residual_rows

    @property
    def expected_s2(self) -> float:
        """Residual variance as expected given its noisy estimate and that it is not below 0: the spread of a new row.

        A mean of estimates that err on both sides would be too small a spread on average, because intervals widen with
        its root.
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
        """Sampling variance of each row l'theta~ of L, shape (m,)."""
        if self.middle is None:
            return _score_forms(L, self.sampling)
        return self.correction * self.middle.along(L @ self.inverse)

    def for_one(self, combination: FloatArray) -> ScoreInference:
        """The same with the sampling variance of one combination as its own set has it.

        Only the variance along it changes, and not what the others have where it is known.
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
        """Covariance of theta~ if the coefficients were theta~ + step, shape (k, k)."""
        noise = product_covariance(self.entry_noise, self.contrast - self.noise_map.T @ step)
        H = self.inverse @ self.noise_map
        return self.sampling + H @ noise @ H.T


@dataclass(frozen=True, eq=False)
class ContrastTerms:
    """Variance of the score statistic along each of m combinations of coefficients: q0 + 2 q1 u + q2 u^2.

    Attributes
    ----------
    sampling, privacy
        The two parts of q0, shape (m,).
    q1, q2
        Shape (m,).
    """

    sampling: FloatArray
    privacy: FloatArray
    q1: FloatArray
    q2: FloatArray

    @property
    def q0(self) -> FloatArray:
        """Variance at the estimate, shape (m,)."""
        return self.sampling + self.privacy

    def at(self, u: FloatArray) -> FloatArray:
        """Variance where the combination lies u above its estimate, shape (m,); a variance, so not below 0."""
        return np.maximum(self.q0 + 2 * self.q1 * u + self.q2 * u**2, 0.0)


class _Ridge(NamedTuple):
    """What a penalty does: 2H - H A~ H, the effective coefficients, the spread of the estimate and its pull."""

    weights: FloatArray
    used: float
    spread: FloatArray
    pull: FloatArray


class _Line(NamedTuple):
    """Estimate, inverse of the Gram, residual sum at the estimate, sum of squares of the target, and rows."""

    estimate: FloatArray
    H: FloatArray
    residual: float
    total: float
    nobs: float

    def inference(self, C: FloatArray, entry_noise: EntryNoise, ridge: _Ridge) -> ScoreInference:
        """Set up the score's covariance; see `score_inference`."""
        contrast = C.T @ np.append(-self.estimate, 1.0)
        regressors = C[:-1]
        noise = product_covariance(entry_noise, contrast)
        noise = noise[:-1, :-1] if is_identity(C) else regressors @ noise @ regressors.T
        residual = self.residual + float((ridge.weights * noise).sum())
        rows = self.nobs - ridge.used
        followed = ridge.weights @ noise
        s2 = max(min(residual, self.total) / rows, 0.0) if rows > 0 else 0.0
        return ScoreInference(
            entry_noise=entry_noise,
            noise_map=regressors,
            contrast=contrast,
            inverse=self.H,
            noise=noise,
            residual=residual,
            residual_noise=square_covariance(entry_noise, contrast, contrast)
            + 2 * float((followed * followed.T).sum())
            + 4 * s2 * float(np.trace(followed))
            + 4 * float(ridge.pull @ noise @ ridge.pull),
            residual_rows=rows,
            df=self.nobs - len(self.estimate),
            sampling=s2 * ridge.spread,
            privacy=(followed if ridge.weights is self.H else self.H @ noise) @ self.H,
        )


def score_inference(
    equations: NormalEquations, theta: Sequence[Fraction], penalty_diagonal: FloatArray
) -> ScoreInference:
    """Set up the score's covariance at the estimate.

    With H the inverse of A~ + diag(penalty) the residual sum at the estimate falls short of the one at its target by
    tr((2H - H A~ H) Omega) on average, so that

        s^2 = (RSS~ + tr((2H - H A~ H) V)) / (n~ - tr((2H - H A~ H) A~)),

    which without a penalty is (RSS~ + tr(A~^{-1} V)) / (n~ - k). Where it is not above 0 it counts as 0: the privacy
    part alone still gives a valid width. In the sampling part it is not above the target's own variance either: where
    A~ is close to singular the trace is far too large, and the sum of squares of the target has no such error. The
    noise F of the release enters the residual sum, to first order, as t'F t with t = (-theta, 1), as the quadratic form
    whose mean was added, and, with a ridge, through the slope it leaves.

    Parameters
    ----------
    equations
        Of the model.
    theta
        Its coefficients of z, shape (k,).
    penalty_diagonal
        What a penalty added to the diagonal, shape (k,).
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
    if equations.fourth is not None:
        spread = H @ weighted_middle(equations, _definite(A, penalty_diagonal)) @ H
    return _Line(estimate, H, residual_sum(equations, theta), total_sum(equations), equations.nobs).inference(
        noise_map(equations),
        equations.noise,
        _Ridge(weights, used, spread, H @ (penalty_diagonal * estimate)),
    )


def score_from_sums(sums: FloatArray, nobs: float, C: FloatArray, noise: EntryNoise) -> ScoreInference | None:
    """Set up the same without a penalty from sums of (z, target) in double precision; none where they give no line.

    Parameters
    ----------
    sums
        Shape (k+1, k+1).
    nobs
        Number of rows.
    C
        How the noise of the released sums of (1, features, target) enters, shape (k+1, p); see `noise_map`.
    noise
        That noise, shape (p, p).
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
    """What several tables say of the same coefficients, for `contrast_terms`: what that reads has one more axis."""
    return replace(
        scores[0],
        contrast=np.array([score.contrast for score in scores]),
        inverse=np.array([score.inverse for score in scores]),
        sampling=np.array([score.sampling for score in scores]),
        privacy=np.array([score.privacy for score in scores]),
    )


def noise_map(equations: NormalEquations) -> FloatArray:
    """C, with which noise F in the sums of (1, features, target) enters those of (z, target), shape (k+1, p).

    Without intercept the sums of (1, features, target) were moved to the origin of the original units.
    """
    moved = [] if equations.intercept else [equations.shift]
    return np.column_stack([*moved, np.eye(len(equations.whole))])


def is_identity(C: FloatArray) -> bool:
    """Whether the noise of the released sums enters as it is: the model has an intercept."""
    return bool(C.shape[0] == C.shape[1])


def _definite(A: FloatArray, penalty_diagonal: FloatArray) -> FloatArray:
    """The Gram whose multiple is the covariance of the errors; where noise left it indefinite, with the ridge on it."""
    return A if np.linalg.eigvalsh(A)[0] > 0 else A + np.diag(penalty_diagonal)


def contrast_terms(inference: ScoreInference, L: FloatArray) -> ContrastTerms:
    """Give q0, q1 and q2 of the combinations l'theta of the scaled coefficients, one for each row l of L.

    Parameters
    ----------
    inference
        Of the coefficients, or several stacked by `stacked`; terms then have one more axis, the first.
    L
        Shape (m, k).
    """
    privacy = np.maximum(_score_forms(L, inference.privacy), 0.0)
    total = (_score_forms(L, inference.sampling) + privacy)[..., None]
    toward = L @ inference.covariance
    # where nothing varies there is no direction to move along, and none is needed
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
    """Solve u^2 <= z^2 (q0 + more + 2 q1 u + q2 u^2) for u, how far a combination lies from its estimate.

    Parameters
    ----------
    terms
        Of m combinations.
    z
        Critical value, one for all or one for each.
    more
        Variance that is added whatever u is, such as that of a new observation.
    """
    # with hardly a degree of freedom z leaves double precision, and nothing is excluded
    with np.errstate(over="ignore", invalid="ignore"):
        return quadratic_sets(1 - z**2 * terms.q2, z**2 * terms.q1, z**2 * (terms.q0 + more))


@dataclass(frozen=True, eq=False)
class JointScore:
    """The score statistic of several hypotheses; see the head of the module.

    Attributes
    ----------
    statistic
        Its value, d'[L Sigma(theta0) L']^{-1} d.
    combination
        The combination of coefficients that speaks most against the hypotheses, shape (k,): its estimate exceeds what
        they say of it by the statistic, which is also its variance under them.
    step
        theta0 - theta~, shape (k,).
    """

    statistic: float
    combination: FloatArray
    step: FloatArray


def joint_score(inference: ScoreInference, L: FloatArray, distance: FloatArray) -> JointScore:
    """Test several hypotheses at once.

    Parameters
    ----------
    inference
        Of the coefficients.
    L
        Combinations of full rank, shape (m, k).
    distance
        Estimates of the combinations less the values that they are held against, shape (m,).
    """
    toward = inference.covariance @ L.T
    step = -toward @ np.linalg.solve(L @ toward, distance)
    under = L @ inference.covariance_at(step) @ L.T
    weights = np.linalg.solve(under, distance)
    return JointScore(float(distance @ weights), weights @ L, step)

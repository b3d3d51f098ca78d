"""Numbered diagnostics of a fit, from the release alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from discreet.analyst.bound_costs import (
    MANY,
    bound_costs,
    bunched_columns,
    bunching_text,
    costliest_bound_text,
    many_clipped,
    predicts_a_bound,
    unsettled_bounds,
)
from discreet.analyst.confidence_sets import MORE
from discreet.analyst.equations.normal import NormalEquations, counted_rows, normal_equations
from discreet.analyst.inference.clipped_scores import distant_rows, long_tail
from discreet.analyst.inference.released_model import no_errors
from discreet.analyst.inference.robust import has_clusters, held_residuals, residual_bound
from discreet.analyst.solvers.adaptive import PenalisedGram, penalised_gram
from discreet.design.design import INTERCEPT
from discreet.design.model_columns import SubModel, model_of
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_distribution import known
from discreet.releases.release import Release
from discreet.wording import Message

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

# -- evidence ----------------------------------------------------------------------------------------------------------
# Inputs of the diagnostics: the sums of a model, the size of their noise and their spectrum.


@dataclass(frozen=True, eq=False)
class Evidence:
    """Inputs of the diagnostics: a release, a model, and its fit if there is one."""

    release: Release
    model: SubModel
    fit: Fit | None

    @cached_property
    def equations(self) -> NormalEquations:
        """Normal equations of the model."""
        return normal_equations(self.release, self.model)

    @cached_property
    def about(self) -> PenalisedGram:
        """Gram of the slopes, with its noise quantile and its smallest eigenvalue."""
        return penalised_gram(self.equations, self.release.digest)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients in the Gram."""
        return tuple(
            name for name, inside in zip(self.model.names, self.about.penalised.tolist(), strict=True) if inside
        )

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of the Gram in ascending order, and its eigenvectors as columns."""
        values, vectors = np.linalg.eigh(self.about.gram)
        return values, vectors


# -- convergence -------------------------------------------------------------------------------------------------------
# In a release of coefficients: iterates that have not converged, and noise as large as the coefficients.

_FEWEST_STEPS: Final = 3  # in a quarter of the iterates
_FALSE_ALARM: Final = 0.01  # rate over all coefficients if every step is noise
_MATTERS: Final = 5e-3  # smallest reported movement, relative to the largest coefficient


def not_converged(release: Release) -> str | None:
    """Describe iterates that moved steadily until the end, farther than noise explains, or return None.

    The movement is the mean of the last quarter of the iterates minus the mean of the quarter before. If it continues,
    the published mean of both quarters is at least half of the movement away from the limit. Noise alone gives at most
    a random walk, because iterates near a fixed point move less. The scale of its steps is estimated from the change
    between successive steps, in which a steady movement cancels. These changes have correlation -1/2, so a third of
    their degrees of freedom is lost.

    With steps of pure noise the false alarm rate is about 1% over all coefficients. For converged iterates it is lower:
    none in 2,400 simulated releases of `irls` and 480 of `gradient` at their defaults (3,000 and 20,000 rows, 1 to 40
    columns, epsilon 1 and 4). `irls` with 15 passes instead of the 100 needed was detected in 200 of 200 releases. A
    movement below 0.5% of the largest coefficient is not reported.
    """
    trace = np.array(() if release.coefficients is None else release.coefficients.trace)
    quarter = (len(trace) + 1) // 4
    if quarter < _FEWEST_STEPS:
        return None
    # remove the momentum, which follows a public rule, so that successive noise is independent
    carried = release.noise.parameters.get("momentum_per_mille", 0) / 1000
    free = ((trace[1:] - carried * trace[:-1]) / (1 - carried))[-2 * quarter :]
    moved = np.abs(free[quarter:].mean(axis=0) - free[:quarter].mean(axis=0))
    turns = np.diff(free, n=2, axis=0)
    walk = np.sqrt(np.square(turns).mean(axis=0) / 2 * (2 * quarter**2 + 1) / (3 * quarter))
    limit = _student(len(turns) / 1.5, _FALSE_ALARM / (2 * free.shape[1])) * walk
    if not (moved > np.maximum(limit, _MATTERS * np.abs(trace[-1]).max())).any():
        return None
    return (
        "In the second half of the iterations the coefficients were still moving in one direction, farther than noise "
        "explains: with more iterations they would change further. The release contains the iterates."
    )


def _student(degrees: float, tail: float) -> float:
    """Return the value that a Student t variate exceeds with probability `tail`."""
    from scipy.special import stdtrit

    return -float(stdtrit(degrees, tail))


def noise_dominates(release: Release) -> str | None:
    """Describe noise of known size that is nearly as large as the coefficients, or return None."""
    if release.coefficients is None or "coefficients" not in release.noise.sigma:
        return None
    sd, largest = release.noise.sd("coefficients"), max(map(abs, release.coefficients.values))
    if sd <= largest / 4:
        return None
    return (
        f"Every scaled coefficient has noise of standard deviation {sd:.2g}, and the largest coefficient has size "
        f"{largest:.2g}: the coefficients are hardly more than noise. A larger epsilon or strength, or a mechanism of "
        "kind 'moments', would help."
    )


# -- residuals ---------------------------------------------------------------------------------------------------------
# Warnings about residuals: clipped residuals, and dependent rows of an individual that are treated as independent.

_LOST: Final = 0.05  # fraction of the residual sum lost to clipping that is not reported
_RESIDUAL_FALSE_ALARM: Final = 3.09  # standard deviations of the noise: one release in a thousand


def clipped_residuals(fit: Fit) -> str | None:
    """Describe residuals of a robust release that were clipped substantially, or return None.

    Without clipping the released sum of squared residuals equals the residual sum computed from the moments, except for
    the noise of both, whose variances are known. A reported difference then has probability at most 0.1%. If an
    individual may have several rows, residuals are summed before they are squared, so the two cannot be compared.
    """
    release, score = fit.release, known(fit._score)
    held = held_residuals(release, fit.model, fit.penalty)
    # the residual sum of weighted rows cannot be computed from the released sums; `staged` shortens scores instead
    if score is None or held is None or has_clusters(release) or not release.plain:
        return None
    bound = residual_bound(fit)
    clipped, expected = float(held.meat[0, 0]), score.residual
    kept = 1 - _LOST
    sd = math.sqrt(float(held.variance[0, 0]) + kept**2 * score.residual_noise)
    if not clipped + _RESIDUAL_FALSE_ALARM * sd < kept * expected:
        return None
    return Message(
        f"Residuals were clipped at {bound:.4g}, and their squares add up to {max(clipped, 0.0) / expected:.0%} of "
        "the residual sum without clipping. Robust standard errors are therefore too small. Make a release with a "
        "larger residual bound. If nothing is clipped, at most 0.1% of releases show this."
    )


def independent_rows(fit: Fit) -> str | None:
    """Describe standard errors that treat an individual's rows as independent, or return None."""
    release = fit.release
    if not has_clusters(release) or fit.is_robust or known(fit._score) is None:
        return None
    additional = "".join(f", {model}" for model in release.robust_models)
    remedy = (
        f"The full model{additional} without a penalty {'have' if additional else 'has'} clustered standard errors."
        if release.residuals is not None
        else "A release with robust standard errors gives clustered standard errors."
    )
    return Message(
        f"An individual has up to {release.design.unit.max_rows} rows, and these standard errors treat them as "
        "independent: in simulations with correlated errors of an individual, 95% intervals covered 83% to 91%. ",
        remedy,
    )


# -- diagnostics -------------------------------------------------------------------------------------------------------
# Numbered diagnostics of a fit, computed from the release alone.
#
# A number is never reused. Each diagnostic has one function here, one test and one anchor in the report.

Severity = Literal["serious", "caution", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("serious", "caution", "note")

_COLLINEAR: Final = 0.95  # smallest correlation that is reported
_CONDITION: Final = 900.0  # of a correlation matrix: the square of the customary 30 for the columns themselves
_ROUNDING: Final = 1e-12
_EPSILON_HIGH: Final = 8.0
_DELTA_HIGH: Final = 1e-3
_DIRECTIONS: Final = 3  # maximum number of directions described
_LOADING: Final = 0.25  # smallest weight described, relative to the largest
_WEIGHTS: Final = 4


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding under a permanent number, such as `D001`.

    Attributes
    ----------
    severity
            `serious`: do not rely on the coefficients. `caution`: interpret them with care. `note`: for information.
    """

    number: str
    title: str
    text: str
    severity: Severity

    @property
    def anchor(self) -> str:
        """Anchor of the finding in a page, such as `d001`."""
        return self.number.lower()

    def to_dict(self) -> dict[str, str]:
        """Return the finding as plain values for JSON."""
        return {"number": self.number, "title": self.title, "text": self.text, "severity": self.severity}


def findings(release: Release, fit: Fit | None = None, model: SubModel | None = None) -> tuple[Diagnostic, ...]:
    """Return every finding about a model of a release, most serious first.

    The model defaults to that of `fit`, or else to the model of the design.
    """
    if model is None:
        model = model_of(release.design) if fit is None else fit.model
    evidence = Evidence(release, model, fit)
    diagnostics = [finding for check in CHECKS[release.kind] for finding in check(evidence)]
    return tuple(sorted(diagnostics, key=lambda finding: (SEVERITIES.index(finding.severity), finding.number)))


def _not_private(evidence: Evidence) -> Iterator[Diagnostic]:
    if not evidence.release.private:
        text = "This release carries no privacy guarantee. Do not publish it, or anything computed from it."
        yield Diagnostic("D001", "Not private", text, "serious")


def _no_count(evidence: Evidence) -> Iterator[Diagnostic]:
    rows, sd = counted_rows(evidence.release)
    n = known(rows)
    if n is not None and (n <= 3 * sd or n <= 0):
        text = (
            f"The noisy number of rows is {n:,.0f}, and its noise has a standard deviation of {sd:,.0f}. At this "
            "budget such a table cannot be distinguished from an empty one."
        )
        yield Diagnostic("D002", "Too few rows to count", text, "serious")


def _indefinite(evidence: Evidence) -> Iterator[Diagnostic]:
    smallest, q = evidence.about.smallest, evidence.about.noise_norm
    # without noise an eigenvalue of 0 is collinearity, which has its own diagnostic
    if q > 0 and smallest <= 0:
        text = (
            f"The smallest eigenvalue of the released sums of products is {smallest:.3g}, but exact sums have no "
            f"negative eigenvalue. The 95% quantile of the norm of the noise is {q:.3g}. In some direction the noise "
            f"outweighs the rows, so least squares has no minimum. {_sentence(MORE)}."
        )
        yield Diagnostic("D003", "Noise made the sums of products indefinite", text, "serious")


def _nearly_indefinite(evidence: Evidence) -> Iterator[Diagnostic]:
    smallest, q = evidence.about.smallest, evidence.about.noise_norm
    if 0 < smallest < q:
        text = (
            f"The smallest eigenvalue of the released sums of products is {smallest:.3g}, below {q:.3g}, the 95% "
            "quantile of the norm of the noise. Coefficients divide by this eigenvalue, so a few of them may be far "
            "off, and their confidence sets are wide or unbounded."
        )
        yield Diagnostic("D004", "Nearly indefinite sums of products", text, "caution")


def _noisy_directions(evidence: Evidence) -> Iterator[Diagnostic]:
    q = evidence.about.noise_norm
    values, vectors = evidence.spectrum
    below = np.flatnonzero(values < q)
    if len(below) == 0:
        return
    spelled = [_combination(vectors[:, index], evidence.names) for index in below[:_DIRECTIONS]]
    more = "" if len(below) <= _DIRECTIONS else f"; and {len(below) - _DIRECTIONS} more"
    text = (
        f"In {len(below)} of {len(values)} directions of the scaled columns the released sums may be smaller than "
        f"the noise: {'; '.join(spelled)}{more}. The release cannot separate the coefficients of these columns. "
        "Combinations that do not depend on these directions are still estimated well."
    )
    yield Diagnostic("D005", "Directions that noise dominates", text, "caution")


def _combination(vector: FloatArray, names: tuple[str, ...]) -> str:
    """Format the largest weights of a direction, with the largest one positive."""
    largest = np.abs(vector).argmax()
    weights = vector * np.sign(vector[largest])
    order = sorted(range(len(names)), key=lambda index: -abs(weights[index]))
    kept = [index for index in order if abs(weights[index]) >= _LOADING * weights[largest]][:_WEIGHTS]
    first, *rest = kept
    return f"{weights[first]:.2f} {names[first]}" + "".join(
        f" {'+' if weights[index] > 0 else '-'} {abs(weights[index]):.2f} {names[index]}" for index in rest
    )


def _shrinkage(evidence: Evidence) -> Iterator[Diagnostic]:
    fit = evidence.fit
    if fit is None or fit.ridge <= 0:
        return
    values = evidence.spectrum[0]
    # a ridge multiplies the coefficients along an eigenvector by this factor
    kept = np.maximum(values, 0.0) / (np.maximum(values, 0.0) + fit.ridge)
    text = (
        f"The penalty '{fit.penalty}' adds {fit.ridge:.4g} to the diagonal of the scaled sums. It keeps between "
        f"{kept.min():.0%} and {kept.max():.0%} of the least squares estimate, depending on the direction, and "
        "shrinks the rest towards 0."
    )
    yield Diagnostic("D006", "Shrinkage is active", text, "caution")


def _repair(evidence: Evidence) -> Iterator[Diagnostic]:
    fit = evidence.fit
    if fit is not None and fit.repair > 0:
        text = (
            f"The noise left the sums of products too close to indefinite for the requested strength, so "
            f"{fit.repair:.4g} more was added to their diagonal. The model is shrunk more than its strength implies."
        )
        yield Diagnostic("D007", "The sums of products were repaired", text, "caution")


def _collinear(evidence: Evidence) -> Iterator[Diagnostic]:
    gram, q = evidence.about.gram, evidence.about.noise_norm
    # a column whose sum of squares may be only noise has no usable correlation
    clear = [index for index, value in enumerate(gram.diagonal()) if value > q and evidence.names[index] != INTERCEPT]
    if len(clear) < 2:
        return
    part = gram[np.ix_(clear, clear)]
    scale = 1 / np.sqrt(part.diagonal())
    correlation = np.clip(part * np.outer(scale, scale), -1.0, 1.0)
    names = [evidence.names[index] for index in clear]
    pairs = [
        f"{names[i]} and {names[j]} ({correlation[i, j]:+.2f})"
        for i in range(len(names))
        for j in range(i + 1, len(names))
        if abs(correlation[i, j]) >= _COLLINEAR
    ]
    values = np.linalg.eigvalsh(correlation)
    # use the largest value that the smallest eigenvalue could have without noise, to avoid false findings
    smallest = max(float(values[0]), 0.0) + q * float(scale.max()) ** 2
    condition = float(values[-1]) / smallest if smallest > _ROUNDING else math.inf
    if not pairs and condition <= _CONDITION:
        return
    named = f"Correlations of {_COLLINEAR:g} or more: {', '.join(pairs)}. " if pairs else ""
    size = "unbounded" if condition == math.inf else f"at least {condition:,.0f}"
    measured = f"The condition number of the correlation matrix is {size}. " if condition > _CONDITION else ""
    text = f"{named}{measured}The coefficients of such columns are separated only by small differences between them."
    yield Diagnostic("D008", "Nearly collinear columns", text, "caution")


def _costliest_bound(evidence: Evidence) -> Iterator[Diagnostic]:
    bunched = {item.name: item.side for item in bunched_columns(evidence.release, evidence.model)}
    text = costliest_bound_text(bound_costs(evidence.release, evidence.model), bunched)
    if text is not None:
        yield Diagnostic("D009", "The most costly bound", text, "note")


def _large_epsilon(evidence: Evidence) -> Iterator[Diagnostic]:
    guarantee = evidence.release.guarantee
    if guarantee is not None and guarantee.epsilon > _EPSILON_HIGH:
        text = (
            f"Epsilon is {guarantee.epsilon:g}. Above {_EPSILON_HIGH:g} the guarantee still holds, but it is weak. "
            "An epsilon of 1 or less protects well."
        )
        yield Diagnostic("D010", "Weak privacy: a large epsilon", text, "caution")


def _large_delta(evidence: Evidence) -> Iterator[Diagnostic]:
    guarantee = evidence.release.guarantee
    if guarantee is None:
        return
    counted = known(counted_rows(evidence.release)[0])
    rows = 1.0 if counted is None else max(counted, 1.0)
    if guarantee.delta > min(_DELTA_HIGH, 1 / rows):
        size = "" if counted is None else f", and the table has about {rows:,.0f} rows"
        text = (
            f"Delta is {guarantee.delta:g}{size}. A delta above 1 / (number of rows) would even allow a release that "
            "reveals one randomly chosen row. Choose a delta far below that."
        )
        yield Diagnostic("D011", "Weak privacy: a large delta", text, "caution")


def _idealised(evidence: Evidence) -> Iterator[Diagnostic]:
    release = evidence.release
    if release.numerics == "idealised":
        text = (
            f"The proof of the mechanism {release.mechanism!r} assumes real numbers, but the release was computed in "
            "floating-point arithmetic. The guarantee does not cover the last digits of such a result."
        )
        yield Diagnostic("D012", "The guarantee assumes idealised arithmetic", text, "caution")


def _no_errors(evidence: Evidence) -> Iterator[Diagnostic]:
    text = f"{_sentence(no_errors(evidence.release).reason)}."
    yield Diagnostic("D013", "No standard errors", text, "caution")


def _not_converged(evidence: Evidence) -> Iterator[Diagnostic]:
    text = not_converged(evidence.release)
    if text is not None:
        yield Diagnostic("D014", "The iterations stopped before converging", text, "caution")


def _noise_dominates(evidence: Evidence) -> Iterator[Diagnostic]:
    text = noise_dominates(evidence.release)
    if text is not None:
        yield Diagnostic("D015", "Noise as large as the coefficients", text, "caution")


def _bunching(evidence: Evidence) -> Iterator[Diagnostic]:
    return _at_a_bound(bunching_text(evidence.release, evidence.model))


def _predicts_a_bound(evidence: Evidence) -> Iterator[Diagnostic]:
    return _at_a_bound(predicts_a_bound(evidence.release))


def _at_a_bound(text: str | None) -> Iterator[Diagnostic]:
    if text is not None:
        yield Diagnostic("D016", "Rows bunch at a bound", text, "caution")


def _many_clipped(evidence: Evidence) -> Iterator[Diagnostic]:
    columns = list(many_clipped(evidence.release, evidence.model))
    if columns:
        severity: Severity = "serious" if any(clipped.low > MANY for clipped, _ in columns) else "caution"
        yield Diagnostic("D019", "Many rows were clipped", " ".join(text for _, text in columns), severity)


def _clipped_residuals(evidence: Evidence) -> Iterator[Diagnostic]:
    text = None if evidence.fit is None else clipped_residuals(evidence.fit)
    if text is not None:
        yield Diagnostic("D020", "Residuals were clipped", text, "caution")


def _independent_rows(evidence: Evidence) -> Iterator[Diagnostic]:
    text = None if evidence.fit is None else independent_rows(evidence.fit)
    if text is not None:
        yield Diagnostic("D021", "Rows of one individual are treated as independent", text, "caution")


def _unsettled_bounds(evidence: Evidence) -> Iterator[Diagnostic]:
    text = unsettled_bounds(evidence.release, evidence.model)
    if text is not None:
        yield Diagnostic("D023", "Bounds that another release may not find", text, "caution")


def _long_tail(evidence: Evidence) -> Iterator[Diagnostic]:
    text = long_tail(evidence.release)
    if text is not None:
        yield Diagnostic("D024", "A long tail of the scores", text, "caution")


def _distant_rows(evidence: Evidence) -> Iterator[Diagnostic]:
    text = distant_rows(evidence.release)
    if text is not None:
        yield Diagnostic("D025", "Rows far from the middle", text, "caution")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


Check: TypeAlias = Callable[[Evidence], Iterator[Diagnostic]]
GUARANTEE_CHECKS: Final[tuple[Check, ...]] = (_not_private, _large_epsilon, _large_delta, _idealised)
CHECKS: Final[dict[str, tuple[Check, ...]]] = {
    "moments": (
        *GUARANTEE_CHECKS, _no_count, _indefinite, _nearly_indefinite, _noisy_directions, _shrinkage, _repair,
        _collinear, _costliest_bound, _bunching, _many_clipped, _clipped_residuals, _independent_rows,
        _unsettled_bounds, _long_tail, _distant_rows,
    ),
    "coefficients": (
        *GUARANTEE_CHECKS, _no_errors, _not_converged, _noise_dominates, _predicts_a_bound, _unsettled_bounds,
    ),
}  # fmt: skip

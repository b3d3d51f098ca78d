"""Tests of linear hypotheses: one by one with the score, jointly with the sandwich covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.analyst.estimates import ByName, Interval, NotEstimable, Number
from discreet.analyst.hypotheses import Hypotheses
from discreet.analyst.quantities import Quantities
from discreet.analyst.reference_law import DEFAULT_LEVEL, checked_level, tail_probability
from discreet.errors import SpecError
from discreet.releases import FloatArray


@dataclass(frozen=True, eq=False)
class ContrastTest:
    """Tests of hypotheses one by one; every value is by hypothesis.

    Attributes
    ----------
    effect
        Estimates of the combinations that the hypotheses are about.
    sd
        Their standard errors.
    tvalue
        Score statistics: the variance is the one under the hypothesis, so where noise is large the statistic is not
        effect less value over `sd`.
    pvalue
        Two-sided.
    """

    effect: ByName[float]
    sd: ByName[Number]
    tvalue: ByName[Number]
    pvalue: ByName[Number]
    _quantities: Quantities | NotEstimable

    def conf_int(self, level: float = DEFAULT_LEVEL) -> ByName[Interval]:
        """Give an interval for each combination.

        Parameters
        ----------
        level
            Between 0 and 1.
        """
        checked = checked_level(level)
        about = self._quantities
        if isinstance(about, NotEstimable):
            return ByName(tuple(self.effect), [about] * len(self.effect))
        return about.intervals(about.critical(checked))

    def __repr__(self) -> str:
        rows = zip(self.effect.items(), self.tvalue.values(), self.pvalue.values(), strict=True)
        return "\n".join(
            f"{label}: {p if isinstance(p, NotEstimable) else f'effect {effect:.6g}, t = {t:.4g}, p = {p:.4g}'}"
            for (label, effect), t, p in rows
        )


@dataclass(frozen=True, slots=True)
class JointTest:
    """A test of several hypotheses at once.

    Attributes
    ----------
    statistic
        F, or chi-square where `df_denom` is none.
    pvalue
        Probability of at least as much under the hypotheses.
    df_num, df_denom
        Number of hypotheses, and degrees of freedom of the residuals.
    """

    statistic: Number
    pvalue: Number
    df_num: int
    df_denom: float | None


def contrast_test(about: Quantities | NotEstimable, claims: Hypotheses, effects: FloatArray) -> ContrastTest:
    """Test hypotheses one by one.

    Parameters
    ----------
    about
        The combinations, or why nothing can be said of them.
    claims
        What is claimed.
    effects
        Estimates of the combinations, shape (m,).
    """
    effect = ByName(claims.labels, effects.tolist())
    if isinstance(about, NotEstimable):
        refused = ByName[Number](claims.labels, [about] * len(claims.labels))
        return ContrastTest(effect, refused, refused, refused, about)
    return ContrastTest(
        effect=effect,
        sd=about.standard_errors(),
        tvalue=about.statistics(claims.values),
        pvalue=about.tail_probabilities(claims.values),
        _quantities=about,
    )


def joint_test(about: Quantities | NotEstimable, claims: Hypotheses, *, use_f: bool) -> JointTest:
    """Test all hypotheses together; refused where one of them alone cannot be tested.

    With pure-epsilon noise the p-value is at least that of Bonferroni's rule for the principal errors one by one.
    """
    from scipy.special import chdtrc, fdtrc

    count = len(claims.values)
    if np.linalg.matrix_rank(claims.weights) < count:
        raise SpecError("the hypotheses repeat or contradict each other; leave out those that follow from the others")
    if isinstance(about, NotEstimable):
        return JointTest(about, about, count, None)
    df = about.inference.df
    for label, sd in about.standard_errors().items():
        if isinstance(sd, NotEstimable):
            refused = NotEstimable(f"{label}: {sd.reason}")
            return JointTest(refused, refused, count, df if use_f else None)
    distance = (about.estimates - claims.values) / about.scale
    covariance = about.L @ about.inference.covariance @ about.L.T
    wald = float(distance @ np.linalg.solve(covariance, distance))
    pvalue = float(fdtrc(count, df, wald / count)) if use_f else float(chdtrc(count, wald))
    if about.family == "laplace":
        # the statistic is a sum of squares of as many standardised errors; one of them has at least the mean share
        far = tail_probability(math.sqrt(wald / count), about.family, df)
        pvalue = max(pvalue, min(1.0, count * far))
    return JointTest(wald / count, pvalue, count, df) if use_f else JointTest(wald, pvalue, count, None)

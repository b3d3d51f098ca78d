"""Tests of hypotheses, terms and whole models, with the names of statsmodels."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.confidence_sets import MORE, NotEstimableError, mapped
from discreet.analyst.equations.fit_inputs import ErrorBasis
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.inference.contrasts import in_double
from discreet.analyst.inference.score import ScoreInference
from discreet.analyst.inferred import InferenceMixin
from discreet.analyst.solvers.least_squares import solve_ols
from discreet.analyst.values import NamedValues, Number, numbers_by_name
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import check_flag
from discreet.releases.reference_distribution import NotEstimable
from discreet.wording import Message, SetOption

if TYPE_CHECKING:
    from discreet.analyst.inference.contrasts import Simultaneous
    from discreet.analyst.inference.terms import Anova, Likelihood, PairwiseTest, TermTest
    from discreet.analyst.inference.tests import Alternative, ContrastTest, Hypotheses, HypothesisSpec, JointTest

NO_SLOPES: Final = NotEstimable("the model has only an intercept and no slope to test")
PENALISED: Final = NotEstimable(
    Message("sums of squares and likelihoods need a fit without a penalty; ", SetOption("penalty", "none"))
)
WEIGHTS: Final = NotEstimable(
    "sums of squares and likelihoods are defined only for rows without weights; compare nested models by their tests"
)
INDEFINITE: Final = NotEstimable(f"the released sums of products are not positive definite; {MORE}")
NO_SUMS: Final = NotEstimable("the release contains the coefficients of one model and no sums of products")


class TestsMixin(InferenceMixin):
    """Tests of hypotheses, terms and the whole model, and likelihoods."""

    __test__ = False  # pytest would collect it

    def t_test(self, spec: HypothesisSpec, *, alternative: Alternative = "two-sided") -> ContrastTest:
        """Test linear hypotheses separately.

        Parameters
        ----------
        spec
            A text such as "age = 0" or "age = height", or several separated by commas. Alternatively, a mapping from
            names to hypothesised values, or rows of weights whose combinations are tested against 0.
        alternative
            `two-sided`, `larger` or `smaller`. With `larger`, a small p-value is evidence that the combination exceeds
            the hypothesised value. For "age = height" the combination is age - height.
        """
        from discreet.analyst.inference.tests import checked_alternative, hypotheses

        return self._one_by_one(hypotheses(spec, self.names), checked_alternative(alternative))

    def _one_by_one(self, claims: Hypotheses, side: Alternative) -> ContrastTest:
        from discreet.analyst.inference.tests import contrast_test

        effects = mapped(self._line, lambda line: claims.weights @ line.original)
        return contrast_test(self._combined(claims.labels, claims.weights), claims, effects, side)

    def wald_test(self, spec: HypothesisSpec, *, use_f: bool = True) -> JointTest:
        """Test linear hypotheses jointly, with the covariance under the hypotheses.

        Parameters
        ----------
        spec
            As for `t_test`.
        use_f
            Whether to use the F distribution instead of chi-square.
        """
        from discreet.analyst.inference.tests import hypotheses, joint_test

        check_flag("use_f", use_f)
        claims = hypotheses(spec, self.names)
        return joint_test(self._combined(claims.labels, claims.weights), claims, use_f=use_f)

    def f_test(self, spec: HypothesisSpec) -> JointTest:
        """Test linear hypotheses jointly with an F statistic. This is `wald_test` with `use_f=True`."""
        return self.wald_test(spec, use_f=True)

    @cached_property
    def _whole_model(self) -> JointTest | NotEstimable:
        slopes = self._inputs.model.slopes
        return self.f_test(dict.fromkeys(slopes, 0.0)) if slopes else NO_SLOPES

    @property
    def fvalue(self) -> Number:
        """F statistic of the test that all slopes are 0, accounting for privacy noise."""
        whole = self._whole_model
        return whole if isinstance(whole, NotEstimable) else whole.statistic

    @property
    def f_pvalue(self) -> Number:
        """P-value of the F statistic `fvalue`, or 1 if the release is too noisy to exclude any value of the slopes."""
        whole = self._whole_model
        return whole if isinstance(whole, NotEstimable) else whole.pvalue

    def anova(self) -> Anova:
        """Test each term given all others. All levels of a factor are tested together.

        This corresponds to `drop1` in R, and to `anova_lm(typ=3)` in statsmodels with treatment coding. F and p account
        for privacy noise. The sums of squares are not corrected for it.

        Examples
        --------
        >>> import discreet
        >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
        >>> table = {"x": [0, 1, 2, 1.5, 0.5], "y": [2, 5, 6, 4, 4]}
        >>> fit = discreet.fit(discreet.testing.exact_release(table, design))  # NOT PRIVATE
        >>> round(fit.anova()["x"].statistic, 4), round(fit.fvalue, 4)
        (8.0, 8.0)
        """
        from discreet.analyst.inference.terms import Anova

        design, model = self.release.design, self._inputs.model
        terms = {name: design.columns[name].released(name) for name in model.features}
        return Anova(
            {name: self._term(columns) for name, columns in terms.items()},
            self.df_resid,
            mapped(self._residuals, lambda known: self._squared_units(known.residual)),
        )

    def _term(self, columns: tuple[str, ...]) -> TermTest:
        from discreet.analyst.inference.terms import TermTest, term_sum

        test = self.f_test(dict.fromkeys(columns, 0.0))
        indices = [self.names.index(name) for name in columns]

        def sum_of_squares(known: tuple[ErrorBasis, ScoreInference]) -> Number:
            basis, score = known
            reason = _refusal(basis)
            if reason is not None:
                return reason
            theta = np.array([float(value) for value in basis.exact])
            # convert to coefficients in original units, up to scale
            own = np.eye(len(theta))
            first = int(self._inputs.units.intercept)
            own[first:, first:] = np.linalg.inv(self._inputs.units.mixture()).T
            return self._squared_units(term_sum(theta, score.inverse, own[indices]))

        return TermTest(len(columns), mapped(self._known, sum_of_squares), test.statistic, test.pvalue)

    def _squared_units(self, value: float) -> Number:
        half = float(self._inputs.units.half[-1])
        return in_double(value * half * half)

    def t_test_pairwise(self, term: str, *, simultaneous: Simultaneous = "max-t") -> PairwiseTest:
        """Compare all pairs of levels of a factor, with simultaneous intervals and p-values.

        If the factor has an interaction in the model, such as `age:region`, the differences apply at age 0, or at the
        reference level of the other factor, and `note` says so. For another value, combine the coefficients with
        `t_test`: `"region[south] + 40 * ar[south] = 0"`.

        Parameters
        ----------
        term
            Declared name of a column with levels.
        simultaneous
            `max-t`, which uses the joint distribution of all differences, or `bonferroni`.
        """
        from discreet.analyst.inference.contrasts import WAYS, checked_way
        from discreet.analyst.inference.terms import level_pairs, pairwise_test, where_they_hold
        from discreet.errors import OptionError

        way = checked_way(simultaneous)
        if way is None:
            raise OptionError.unknown_name("method", way, WAYS, " of simultaneous intervals", option="simultaneous")
        model = self._inputs.model
        claims = level_pairs(self.release.design, term, self.names, model.features)
        note = where_they_hold(self.release.design, term, model.features)
        return pairwise_test(term, self._one_by_one(claims, "two-sided"), way, self.release.digest, note)

    @property
    def vif(self) -> NamedValues[Number]:
        """Variance inflation factors 1 / (1 - R^2) from the noisy sums, with R^2 of a column given all the others."""
        return numbers_by_name(self._inputs.model.slopes, self._inflation())

    def _inflation(self) -> FloatArray | NotEstimable:
        from discreet.analyst.inference.terms import inflation_factors

        if self.fitted_inside:
            return NO_SUMS
        equations = normal_equations(self.release, self._inputs.model)
        try:
            # exact arithmetic detects sums that are not positive definite
            solve_ols(equations.integer_gram, equations.integer_b)
        except NotEstimableError:
            return INDEFINITE
        return inflation_factors(equations)

    @cached_property
    def _residuals(self) -> Likelihood | NotEstimable:
        return mapped(self._known, lambda known: self._likelihood(*known))

    def _likelihood(self, basis: ErrorBasis, score: ScoreInference) -> Likelihood | NotEstimable:
        from discreet.analyst.inference.terms import Likelihood
        from discreet.analyst.solvers.least_squares import residual_sum

        reason = _refusal(basis)
        if reason is not None:
            return reason
        return Likelihood(
            residual=residual_sum(basis.equations, basis.exact),
            followed=float((score.inverse * score.noise).sum()),
            rows=basis.equations.nobs,
            coefficients=len(self.names),
            half=float(self._inputs.units.half[-1]),
        )

    @property
    def llf(self) -> Number:
        """Maximised log-likelihood of the rows, corrected for privacy noise.

        With privacy noise, `aic` and `bic` are not the usual functions of `llf`: they have an additional penalty for
        the noise that the coefficients fit.
        """
        return mapped(self._residuals, lambda known: known.llf)

    @property
    def aic(self) -> Number:
        """AIC with an additional penalty for privacy noise. Without noise it equals the AIC of statsmodels.

        AIC is -2 llf + 2 k + r, where r is the number of coefficients to which the fitted privacy noise is equivalent.
        Without noise r is 0. See `analyst/inference/terms.py` for the derivation.
        """
        return mapped(self._residuals, lambda known: known.criterion(2.0))

    @property
    def bic(self) -> Number:
        """BIC with an additional penalty for privacy noise. Without noise it equals the BIC of statsmodels.

        BIC is -2 llf + k log n + r (log n - 1), with r as for `aic`.
        """
        return mapped(self._residuals, lambda known: known.criterion(math.log(known.rows)))


def _refusal(basis: ErrorBasis) -> NotEstimable | None:
    """Return the reason why the fit has no sums of squares of ordinary least squares, or None if it has them."""
    if basis.penalty_diagonal.any():
        return PENALISED
    return WEIGHTS if basis.equations.weights else None

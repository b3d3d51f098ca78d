"""What a fit says about hypotheses, terms and the model as a whole, in statsmodels' vocabulary."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.confidence_sets import NotEstimableError, mapped
from discreet.analyst.equations.fit_inputs import ErrorBasis
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.inference.contrasts import in_double
from discreet.analyst.inference.score import ScoreInference
from discreet.analyst.inferred import InferenceMixin
from discreet.analyst.solvers.least_squares import solve_ols
from discreet.analyst.values import ByName, Number, numbers_by_name
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import check_flag
from discreet.releases.reference_law import NotEstimable

if TYPE_CHECKING:
    from discreet.analyst.inference.contrasts import Simultaneous
    from discreet.analyst.inference.terms import Anova, Likelihood, PairwiseTest, TermTest
    from discreet.analyst.inference.tests import Alternative, ContrastTest, Hypotheses, HypothesisSpec, JointTest

NO_SLOPES: Final = NotEstimable("the model has only an intercept, so there is no slope to test")
PENALISED: Final = NotEstimable(
    'a residual sum that a penalty enlarged is not that of least squares; use the penalty "none" (--penalty none)'
)
WEIGHTED: Final = NotEstimable(
    'the sums are of weighted rows, whose residual sum is not that of the rows; release with scaling "declared"'
)
WEIGHTS: Final = NotEstimable(
    "the rows have weights, and sums of squares and likelihoods are those of rows without; compare nested models by "
    "their tests"
)
INDEFINITE: Final = NotEstimable(
    "the released sums of products are not positive definite; use fewer features, more rows or a larger epsilon"
)
NO_SUMS: Final = NotEstimable("the release holds the coefficients of one model and no sums of products")


class TestsMixin(InferenceMixin):
    """Tests of hypotheses, terms and the whole model, and likelihoods; `NotEstimable` where there is no number."""

    __test__ = False  # its name begins as those of tests do

    def t_test(self, spec: HypothesisSpec, *, alternative: Alternative = "two-sided") -> ContrastTest:
        """Test linear hypotheses one by one.

        Parameters
        ----------
        spec
            Such as "age = 0", "age = height" or several parted by commas; a mapping of names to the values that they
            are held against; or rows of weights whose combinations are held against 0.
        alternative
            `two-sided`; or `larger` or `smaller`: what a small p-value speaks for, that the combination is larger
            (smaller) than the value it is held against. For "age = height" the combination is age - height.
        """
        from discreet.analyst.inference.tests import checked_alternative, hypotheses

        return self._one_by_one(hypotheses(spec, self.names), checked_alternative(alternative))

    def _one_by_one(self, claims: Hypotheses, side: Alternative) -> ContrastTest:
        from discreet.analyst.inference.tests import contrast_test

        effects = mapped(self._line, lambda line: claims.weights @ line.original)
        return contrast_test(self._combined(claims.labels, claims.weights), claims, effects, side)

    def wald_test(self, spec: HypothesisSpec, *, use_f: bool = True) -> JointTest:
        """Test linear hypotheses together, with the covariance that holds under them.

        Parameters
        ----------
        spec
            As for `t_test`.
        use_f
            Whether the statistic is held against an F law; against chi-square otherwise.
        """
        from discreet.analyst.inference.tests import hypotheses, joint_test

        check_flag("use_f", use_f)
        claims = hypotheses(spec, self.names)
        return joint_test(self._combined(claims.labels, claims.weights), claims, use_f=use_f)

    def f_test(self, spec: HypothesisSpec) -> JointTest:
        """Test linear hypotheses together with an F statistic; see `wald_test`."""
        return self.wald_test(spec, use_f=True)

    @cached_property
    def _whole_model(self) -> JointTest | NotEstimable:
        slopes = self._inputs.model.slopes
        return self.f_test(dict.fromkeys(slopes, 0.0)) if slopes else NO_SLOPES

    @property
    def fvalue(self) -> Number:
        """F statistic of the test that all slopes are 0 (without an intercept: all coefficients), noise counted."""
        whole = self._whole_model
        return whole if isinstance(whole, NotEstimable) else whole.statistic

    @property
    def f_pvalue(self) -> Number:
        """P-value of `fvalue`; 1 where the release excludes no value."""
        whole = self._whole_model
        return whole if isinstance(whole, NotEstimable) else whole.pvalue

    def anova(self) -> Anova:
        """Test each declared column as a whole, given all the others: a factor with all its levels at once.

        As R's `drop1`, and statsmodels' `anova_lm(typ=3)` with an indicator for each level but the reference. F and
        p-values include the noise of the release; the sums of squares are those of the noisy sums.

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
        places = [self.names.index(name) for name in columns]

        def grown(known: tuple[ErrorBasis, ScoreInference]) -> Number:
            basis, score = known
            refused = _refusal(basis)
            if refused is not None:
                return refused
            theta = np.array([float(value) for value in basis.exact])
            # of the coefficients in original units, up to their units
            own = np.eye(len(theta))
            first = int(self._inputs.units.intercept)
            own[first:, first:] = np.linalg.inv(self._inputs.units.mixture()).T
            return self._squared_units(term_sum(theta, score.inverse, own[places]))

        return TermTest(len(columns), mapped(self._known, grown), test.statistic, test.pvalue)

    def _squared_units(self, value: float) -> Number:
        half = float(self._inputs.units.half[-1])
        return in_double(value * half * half)

    def t_test_pairwise(self, term: str, *, simultaneous: Simultaneous = "max-t") -> PairwiseTest:
        """Compare all levels of a factor with each other, with intervals and p-values that hold together.

        In a model with an interaction of the factor, such as `age:region`, a coefficient of a level is its difference
        from the reference level at age 0, and so are the pairs: at 0 of the number, or at the reference level of the
        other factor. `note` says so. For another value combine the coefficients in `t_test`:
        `"region[south] + 40 * ar[south] = 0"`.

        Parameters
        ----------
        term
            Declared name of a column with levels.
        simultaneous
            `max-t`, from the joint law of all differences, or `bonferroni`.
        """
        from discreet.analyst.inference.contrasts import WAYS, checked_way
        from discreet.analyst.inference.terms import level_pairs, pairwise_test, where_they_hold
        from discreet.errors import SpecError

        way = checked_way(simultaneous)
        if way is None:
            raise SpecError.unknown_name("method", way, WAYS, " of simultaneous intervals")
        model = self._inputs.model
        claims = level_pairs(self.release.design, term, self.names, model.features)
        note = where_they_hold(self.release.design, term, model.features)
        return pairwise_test(term, self._one_by_one(claims, "two-sided"), way, self.release.digest, note)

    @property
    def vif(self) -> ByName[Number]:
        """Variance inflation factors of the slopes, from the noisy sums: 1 / (1 - R^2) of each on the other columns."""
        return numbers_by_name(self._inputs.model.slopes, self._inflation())

    def _inflation(self) -> FloatArray | NotEstimable:
        from discreet.analyst.inference.terms import inflation_factors

        if self.fitted_inside:
            return NO_SUMS
        equations = normal_equations(self.release, self._inputs.model)
        try:
            # in exact arithmetic it is refused where the sums are not positive definite
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

        refused = _refusal(basis)
        if refused is not None:
            return refused
        return Likelihood(
            residual=residual_sum(basis.equations, basis.exact),
            followed=float((score.inverse * score.noise).sum()),
            rows=basis.equations.nobs,
            coefficients=len(self.names),
            half=float(self._inputs.units.half[-1]),
        )

    @property
    def llf(self) -> Number:
        """Log-likelihood at its maximum, as estimated for the rows without the noise of the release.

        Without noise it is statsmodels'. With noise `aic` is not -2 llf + 2 k, nor `bic` -2 llf + k log n: both also
        charge for the noise that the coefficients follow.
        """
        return mapped(self._residuals, lambda known: known.llf)

    @property
    def aic(self) -> Number:
        """AIC that charges each coefficient for the noise it follows, of rows and release; statsmodels' without noise.

        It is -2 llf + 2 k + r, where r is the number of coefficients' worth of noise of the release that the line
        follows; r is 0 without noise. `analyst/inference/terms.py` derives it.
        """
        return mapped(self._residuals, lambda known: known.criterion(2.0))

    @property
    def bic(self) -> Number:
        """BIC that charges each coefficient for the noise it follows, of rows and release; statsmodels' without noise.

        It is -2 llf + k log n + r (log n - 1), with r as for `aic`.
        """
        return mapped(self._residuals, lambda known: known.criterion(math.log(known.rows)))


def _refusal(basis: ErrorBasis) -> NotEstimable | None:
    """Why sums of squares of this fit are not those of least squares; nothing where they are."""
    if basis.penalty_diagonal.any():
        return PENALISED
    if basis.equations.weights:
        return WEIGHTS
    return WEIGHTED if basis.equations.weighted else None

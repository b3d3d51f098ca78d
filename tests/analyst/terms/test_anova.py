"""Tests of whole terms; that they are statsmodels' without noise is in `inference/test_exact_inference`."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.inference.terms import RESIDUAL, term_sum
from discreet.analyst.model import fit
from discreet.releases.reference_distribution import NotEstimable
from support.compared import release, with_interactions


@pytest.fixture(scope="module")
def noisy():
    return fit(release())


def test_a_sum_of_squares_is_what_the_noisy_residual_sum_grows_by(noisy):
    table = noisy.anova()
    assert list(table) == ["a", "b", "c"]
    for name in table:
        without = fit(noisy.release, features=[other for other in table if other != name])
        assert table[name].sum_sq == pytest.approx(without.anova().ssr - table.ssr, rel=1e-6)


def test_a_term_of_several_coefficients_is_their_joint_sum():
    H = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]])
    A, theta = np.linalg.inv(H), np.array([0.3, -1.0, 0.7])
    # least squares without the last two columns, from the normal equations A theta = b
    b = A @ theta
    grown = theta @ A @ theta - b[0] ** 2 / A[0, 0]
    assert term_sum(theta, H, np.eye(3)[1:]) == pytest.approx(grown)


def test_f_and_p_are_those_of_the_joint_score_test_and_not_of_the_sums(noisy):
    one, test = noisy.anova()["c"], noisy.f_test("c = 0")
    assert (one.statistic, one.pvalue, one.df) == (test.statistic, test.pvalue, 1)
    assert one.statistic < one.sum_sq / noisy.s2


def test_the_table_prints_and_goes_to_arrow_and_json(noisy):
    table = noisy.anova()
    frame = table.to_frame().to_pydict()
    assert frame["term"] == ["a", "b", "c", RESIDUAL]
    assert frame["PR(>F)"] == [*(one.pvalue for one in table.values()), None]
    assert frame["reason"] == [None] * 4
    plain = table.to_dict()
    assert plain["terms"]["a"]["sum_sq"] == table["a"].sum_sq
    assert plain["ssr"] == table.ssr
    lines = repr(table).splitlines()
    assert lines[0].split() == ["term", "df", "sum_sq", "F", "PR(>F)"]
    assert lines[-1].startswith("Each term is tested given all others")
    with pytest.raises(KeyError, match="unknown feature 'd'"):
        table["d"]


def test_what_the_release_cannot_say_has_a_reason():
    weak = fit(release(count=30, sigma=200.0, seed=3)).anova()
    assert isinstance(weak["a"].sum_sq, NotEstimable)
    assert weak["a"].pvalue == 1.0
    assert weak.to_frame().to_pydict()["reason"][0]
    ridge = fit(release(), penalty="ridge", strength=0.1).anova()
    assert "penalty" in ridge["a"].sum_sq.reason
    assert isinstance(ridge["a"].pvalue, float)
    assert "not estimable" in repr(ridge)


def test_the_sum_of_a_category_beside_its_interaction_is_that_of_the_original_columns():
    fitted, frame = with_interactions()
    table = fitted.anova()
    y = frame.pop("income").to_numpy()
    for name in table:
        X = np.column_stack([np.ones(len(y)), *(frame[one] for one in frame if not one.startswith(name))])
        residual = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
        assert table[name].sum_sq == pytest.approx(residual @ residual - table.ssr, rel=1e-3)
        assert table[name].statistic == pytest.approx(table[name].sum_sq / table[name].df / fitted.s2, rel=1e-3)

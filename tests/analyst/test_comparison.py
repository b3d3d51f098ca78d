"""Several models of one release, and intervals that hold together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.analyst.comparison import compare_models
from discreet.analyst.inference.simultaneous import simultaneous_value
from discreet.analyst.model import fit
from discreet.analyst.values.not_estimable import NotEstimable, NotEstimableError
from discreet.design.model import Design
from discreet.errors import SpecError
from support.made_releases import made

DESIGN = Design("y", {"y": (-4, 4), "a": (-1, 1), "b": (-1, 1), "c": (-1, 1)})


def release(count=500, sigma=0.5, seed=0, together=0.0):
    random = np.random.default_rng(seed)
    A = random.uniform(-1, 1, (count, 3))
    A[:, 1] = together * A[:, 0] + (1 - together) * A[:, 1]
    y = np.clip(A[:, 0] + 0.5 * A[:, 1] + random.normal(0, 0.3, count), -4, 4)
    rows = {"y": y.tolist(), **{name: A[:, j].tolist() for j, name in enumerate("abc")}}
    return made(DESIGN, rows, sigma=sigma, seed=seed).release


def test_the_table_holds_what_each_fit_says():
    one = release()
    compared = compare_models(one, [["a"], ["a", "b"], [], ["a", "b", "c"]])
    assert compared.target == "y"
    for line in compared.models:
        result = fit(one, features=line.features)
        assert line.rsquared_adj == result.rsquared_adj
        assert line.rsquared_interval == result.rsquared_conf_int()
        assert line.coefficients == len(result.names)
        assert not line.repaired
    assert compared.models[compared.best].features[:2] == ("a", "b")
    errors = [line.error for line in compared.models]
    assert errors[2] == max(errors)
    assert errors[1] == pytest.approx(0.09, abs=0.03)
    frame = compared.to_frame().to_pydict()
    assert frame["features"] == ["a", "a + b", "1", "a + b + c"]
    assert frame["error"] == errors
    assert frame["reason"] == [None] * 4
    assert "post-processing" in repr(compared)
    assert "a + b: " in repr(compared)


def test_models_beyond_the_budget_say_so():
    weak = release(count=30, sigma=20.0, seed=3)
    compared = compare_models(weak, [["a", "b", "c"], ["a"]], intercept=False)
    assert any(isinstance(line.rsquared_adj, NotEstimable) for line in compared.models)
    assert any(line.repaired for line in compared.models)
    frame = compared.to_frame().to_pydict()
    assert None in frame["rsquared_adj"]
    assert any(frame["reason"])
    assert "not estimable [0 to 1]" in repr(compared)
    assert ", repaired" in repr(compared)


def test_no_rows_to_speak_of_leave_nothing_to_compare():
    from dataclasses import replace

    one = release(count=4, sigma=0.0)
    empty = replace(one, totals=(-(4**16) * 5, *one.totals[1:]))
    compared = compare_models(empty, [["a"]])
    assert isinstance(compared.models[0].error, NotEstimable)
    assert "not estimable" in repr(compared)
    with pytest.raises(NotEstimableError, match="no model"):
        _ = compared.best


@pytest.mark.parametrize(
    ("models", "message"),
    [([], "got no models"), ("ab", "a list of lists"), (3, "a list of lists"), ([["z"]], "unknown feature")],
)
def test_what_is_no_list_of_models_is_refused(models, message):
    with pytest.raises(SpecError, match=message):
        compare_models(release(), models)


# -- intervals that hold together ------------------------------------------------------------------------------------


def test_simultaneous_intervals_are_wider_and_reproducible():
    result = fit(release(together=0.7))
    plain = np.asarray(result.conf_int())
    for way in ("bonferroni", "max-t"):
        wide = np.asarray(result.conf_int(simultaneous=way))
        assert (wide[:, 0] < plain[:, 0]).all()
        assert (wide[:, 1] > plain[:, 1]).all()
    tight, loose = (np.asarray(result.conf_int(simultaneous=way)) for way in ("max-t", "bonferroni"))
    assert (np.diff(tight) <= np.diff(loose)).all()
    np.testing.assert_array_equal(tight, np.asarray(fit(release(together=0.7)).conf_int(simultaneous="max-t")))


def test_max_t_meets_the_known_quantile_of_independent_errors():
    """Orthogonal columns: the quantile of the largest of four independent t values, within 0.05 of it.

    The error of the 95 % quantile of 9,999 draws is about 0.014 here, and the seed is that of one release.
    """
    result = fit(release(count=4000))
    got = simultaneous_value(result._contrasts, 0.95, "max-t", result.release.digest)
    assert got == pytest.approx(stats.norm.ppf((1 + 0.95**0.25) / 2), abs=0.05)


def test_bonferroni_shares_the_misses_out():
    result = fit(release())
    about = result._contrasts
    assert simultaneous_value(about, 0.95, "bonferroni", "d") == pytest.approx(
        stats.t.ppf(1 - 0.05 / 8, result.df_resid), rel=1e-9
    )
    # one alone, and a level beyond what is simulated
    alone = fit(release(), features=[])._contrasts
    assert simultaneous_value(alone, 0.95, "max-t", "d") == alone.critical(0.95)
    assert simultaneous_value(about, 0.99999, "max-t", "d") == simultaneous_value(about, 0.99999, "bonferroni", "d")


def test_an_unknown_way_is_refused():
    with pytest.raises(SpecError, match="Did you mean 'bonferroni'"):
        fit(release()).conf_int(simultaneous="bonferoni")


@pytest.mark.parametrize("wrong", ["R.json", None])
def test_what_is_no_release_is_refused_by_name(wrong):
    with pytest.raises(SpecError, match="compare_models needs a Release, got") as caught:
        discreet.compare_models(wrong, [["a"]])
    assert caught.value.exit_code == 2

"""Intervals of a description: textbook ones without noise, wider with it, never beyond what is possible.

Their coverage is in `tests/studies/test_study_description.py`.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.errors import SpecError
from discreet.releases.description import Description, _accepted
from discreet.releases.reference_distribution import NotEstimable
from discreet.testing import exact_release, seeded_release

N = 400
DESIGN = discreet.Design("y", {"x": (-6, 6), "member": bool, "y": (-12, 12)})
WAYS = ("mean", "sd", "covariance", "correlation")


def rows(n=N, seed=2):
    rng = np.random.default_rng(seed)
    x, rest = rng.standard_normal((2, n))
    return {"x": x, "member": rng.random(n) < 0.3, "y": 1.0 + 1.2 * x + 1.6 * rest}


@pytest.fixture(scope="module")
def exact():
    return exact_release(rows(), DESIGN).describe()


@pytest.fixture(scope="module")
def noisy():
    return seeded_release(rows(), DESIGN, seed=5, epsilon=2.0, delta=1e-6, mechanism="gaussian").describe()


def pairs_in(values):
    for one in values.values():
        if isinstance(one, dict):
            yield from pairs_in(one)
        else:
            yield one


def test_without_noise_the_mean_has_the_interval_of_student(exact):
    data = rows()
    for name in ("x", "member", "y"):
        values = np.asarray(data[name], dtype=float)
        known = stats.t.interval(0.9, N - 1, values.mean(), stats.sem(values))
        assert exact.mean_conf_int(0.9)[name] == pytest.approx(known, abs=2e-4)


def test_without_noise_spreads_have_the_normal_intervals(exact):
    """Accepted are the values at most z standard errors away, with the error that the value itself would have."""
    data, t = rows(), stats.t.ppf(0.975, N - 1)
    both = np.cov(data["x"], data["y"])
    spread = t * np.sqrt(2 / (N - 1))
    known = np.sqrt(both[0, 0] / np.array([1 + spread, 1 - spread]))
    assert exact.gaussian_conf_int("sd")["x"] == pytest.approx(known, rel=1e-4)
    low, high = exact.gaussian_conf_int("covariance")["x"]["y"]
    for end in (low, high):
        error = np.sqrt((both[0, 0] * both[1, 1] + end**2) / (N - 1))
        assert abs(both[0, 1] - end) == pytest.approx(t * error, rel=1e-3)
    r = np.corrcoef(data["x"], data["y"])[0, 1]
    for end in exact.gaussian_conf_int("correlation")["x"]["y"]:
        assert abs(r - end) == pytest.approx(t * (1 - end**2) / np.sqrt(N - 1), rel=1e-3)
    # Fisher's z has nearly the same ends
    fisher = np.tanh(np.arctanh(r) + np.array([-1, 1]) * stats.norm.ppf(0.975) / np.sqrt(N - 3))
    assert exact.gaussian_conf_int("correlation")["x"]["y"] == pytest.approx(fisher, abs=0.01)


def test_without_noise_the_values_of_the_table_are_known(exact):
    for of in WAYS:
        known = getattr(exact, of)
        found = exact.table_conf_int(of)
        flat = [known[name] for name in known] if of in ("mean", "sd") else list(pairs_in(known))
        assert [low for low, _ in pairs_in(found)] == pytest.approx(flat, rel=1e-6, abs=1e-9)
        assert [high for _, high in pairs_in(found)] == pytest.approx(flat, rel=1e-6, abs=1e-9)


def test_noise_widens_them_and_a_population_is_wider_than_a_table(exact, noisy):
    for of in ("sd", "covariance"):
        whole = [high - low for low, high in pairs_in(noisy.gaussian_conf_int(of))]
        plain = [high - low for low, high in pairs_in(exact.gaussian_conf_int(of))]
        own = [high - low for low, high in pairs_in(noisy.table_conf_int(of))]
        assert all(np.array(whole) >= np.array(own) - 1e-9)
        assert np.mean(whole) > np.mean(plain)
    low, high = noisy.mean_conf_int()["x"]
    assert high - low > np.diff(exact.mean_conf_int()["x"])[0]


def test_the_noise_of_a_table_value_is_that_of_many_draws():
    """The spread of 60 draws has a standard error of 9%: it misses by 60% in under 1 of 1e9 sets of seeds."""
    data = rows()
    made = [
        seeded_release(data, DESIGN, seed=seed, epsilon=5.0, delta=1e-6, mechanism="gaussian").describe()
        for seed in range(60)
    ]
    for of in ("mean", "sd"):
        values = [one.mean["x"] if of == "mean" else one.sd["x"] for one in made]
        low, high = np.mean([one.table_conf_int(of)["x"] for one in made], axis=0)
        assert np.std(values) == pytest.approx((high - low) / 3.92, rel=0.6)


@pytest.mark.parametrize("n", [2, 5, 60])
@pytest.mark.parametrize("seed", range(3))
def test_an_interval_is_within_what_is_possible_or_has_a_reason(n, seed):
    found = seeded_release(rows(n), DESIGN, seed=seed, epsilon=0.2, delta=1e-6, mechanism="gaussian").describe()
    ranges = {"x": (-6, 6), "member": (0, 1), "y": (-12, 12)}
    for name, ends in found.mean_conf_int().items():
        assert isinstance(ends, NotEstimable) or ranges[name][0] <= ends[0] <= ends[1] <= ranges[name][1]
    for of in ("sd", "correlation"):
        for ends in pairs_in(found.gaussian_conf_int(of)):
            assert isinstance(ends, NotEstimable) or (ends[0] >= (0 if of == "sd" else -1) and ends[0] <= ends[1])
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_lost_number_of_rows_leaves_all_that_is_possible():
    release = seeded_release(rows(60), DESIGN, seed=1, epsilon=0.2, delta=1e-6, mechanism="gaussian")
    few = int(3 * release.noise_sd[0, 0] * release.noise.unit)
    found = replace(release, totals=(few, *release.totals[1:])).describe()
    assert found.table_conf_int("correlation")["x"]["y"] == (-1.0, 1.0)
    assert found.table_conf_int("sd")["x"][0] == 0.0
    assert found.gaussian_conf_int("covariance")["x"]["y"] == (-72.0, 72.0)
    fewer = int(1.5 * release.noise_sd[0, 0] * release.noise.unit)
    lost = replace(release, totals=(fewer, *release.totals[1:])).describe()
    assert lost.mean_conf_int()["x"] == (-6.0, 6.0)


def test_a_variance_that_is_not_clear_leaves_every_correlation():
    found = seeded_release(rows(60), DESIGN, seed=1, epsilon=1.0, delta=1e-6, mechanism="gaussian").describe()
    assert found.gaussian_conf_int("correlation")["x"]["y"] == (-1.0, 1.0)
    assert found.gaussian_conf_int("correlation")["x"]["x"] == (1.0, 1.0)


def test_no_accepted_value_leaves_all():
    assert _accepted(np.array([0.0, 0.0, 1.0, 0.0, 1.0])) == (-1.0, 1.0)


def test_persons_with_several_rows_have_intervals_of_the_table_alone():
    unit = {"id": "who", "max_rows": 2}
    design = discreet.Design("y", {"x": (-6, 6), "member": bool, "y": (-12, 12)}, unit=unit)
    data = rows(60) | {"who": [k // 2 for k in range(60)]}
    found = seeded_release(data, design, seed=1, epsilon=5.0, delta=1e-6, mechanism="gaussian").describe()
    assert "does not show how strongly they are correlated" in found.mean_conf_int()["x"].reason
    assert all(isinstance(one, NotEstimable) for one in pairs_in(found.gaussian_conf_int("covariance")))
    assert found.gaussian_conf_int("sd")["x"] == found.mean_conf_int()["x"]
    assert found.table_conf_int("mean")["x"][0] < found.mean["x"]
    assert "not estimable" in repr(found)


def test_what_there_is_no_interval_of_is_refused(exact):
    with pytest.raises(SpecError, match="unknown of 'mean'; allowed: sd, covariance, correlation"):
        exact.gaussian_conf_int("mean")
    with pytest.raises(SpecError, match="unknown of 'median'"):
        exact.table_conf_int("median")
    with pytest.raises(SpecError, match="for level, got 2"):
        exact.mean_conf_int(2)
    bare = Description(("x",), 3.0, {"x": 1.0}, {"x": 1.0}, {"x": {"x": 1.0}}, {"x": {"x": 1.0}})
    with pytest.raises(SpecError, match=r"release\.describe\(\)"):
        bare.mean_conf_int()


def test_a_notebook_shows_means_with_their_intervals(exact):
    html = exact._repr_html_()
    assert "95% interval" in html
    assert "rows: 400<" in html

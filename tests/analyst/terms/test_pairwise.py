"""Pairs of levels; that they are statsmodels' without noise is in `inference/test_exact_inference`."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from discreet.analyst.inference.terms import level_pairs, where_they_hold
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.releases.reference_distribution import NotEstimable
from discreet.testing.not_private import exact_release
from support.made_releases import made

COLUMNS = {"y": (-4, 4), "x": (-1, 1), "g": {"levels": ["p", "q", "r"], "reference": "q"}, "flag": bool}


def release(sigma):
    random = np.random.default_rng(7)
    x, g, flag = random.uniform(-1, 1, 600), random.choice(["p", "q", "r"], 600), random.random(600) < 0.5
    y = np.clip(x + 0.8 * (g == "r") + random.normal(0, 0.3, 600), -4, 4)
    rows = {"y": y.tolist(), "x": x.tolist(), "g": g.tolist(), "flag": flag.tolist()}
    return made(Design("y", COLUMNS), rows, sigma=sigma).release


@pytest.fixture(scope="module")
def noisy():
    return fit(release(1.0))


def test_every_pair_is_there_and_the_reference_level_counts_as_0(noisy):
    pairs = noisy.t_test_pairwise("g")
    assert list(pairs.effect) == ["g[q] - g[p]", "g[r] - g[p]", "g[r] - g[q]"]
    params = noisy.params
    np.testing.assert_allclose(
        np.asarray(pairs.effect), [-params["g[p]"], params["g[r]"] - params["g[p]"], params["g[r]"]], rtol=1e-12
    )
    single = noisy.t_test("g[r] - g[p] = 0")
    assert pairs.pvalue["g[r] - g[p]"] == single.pvalue["g[r] - g[p] = 0"]
    assert pairs.sd["g[r] - g[p]"] == single.sd["g[r] - g[p] = 0"]


def test_joint_sets_are_wider_than_single_ones_and_agree_with_the_joint_p_values(noisy):
    tight, loose = (noisy.t_test_pairwise("g", simultaneous=way) for way in ("max-t", "bonferroni"))
    alone = np.asarray(tight.contrasts.intervals(tight.contrasts.critical(0.95)))
    inner, outer = np.asarray(tight.conf_int()), np.asarray(loose.conf_int())
    assert (np.diff(alone) < np.diff(inner)).all()
    assert (np.diff(inner) <= np.diff(outer)).all()
    for test in (tight, loose):
        for pair, p in test.pvalue_adjusted.items():
            assert test.pvalue[pair] <= p <= 1
            assert test.conf_int()[pair].contains(0.0) == (p > 0.05)


def test_a_pair_whose_set_is_unbounded_is_in_brackets_and_has_no_standard_error():
    pairs = fit(release(12.0)).t_test_pairwise("g")
    kinds = {pair: ends.kind for pair, ends in pairs.conf_int().items()}
    assert set(kinds.values()) - {"interval"}, "the test needs an unbounded set"
    lines = repr(pairs).splitlines()[1:]
    for row, line in zip(pairs.to_frame().to_pylist(), lines, strict=True):
        weak = kinds[row["pair"]] != "interval"
        assert (row["sd"] is None) == weak
        assert (": [" in line) == weak


def test_pairs_print_and_go_to_arrow(noisy):
    pairs = noisy.t_test_pairwise("g")
    frame = pairs.to_frame(0.9).to_pydict()
    assert frame["pair"] == list(pairs.effect)
    assert frame["lower"] == [ends.lower for ends in pairs.conf_int(0.9).values()]
    assert frame["kind"] == ["interval"] * 3
    assert frame["reason"] == [None] * 3
    assert "g[r] - g[p]: " in repr(pairs)


def test_what_the_release_cannot_say_is_any_value_or_a_reason():
    weak = fit(release(500.0)).t_test_pairwise("g")
    assert all(p == 1.0 for p in weak.pvalue_adjusted.values())
    assert weak.to_frame().to_pydict()["kind"] == ["everything"] * 3
    lasso = fit(release(0.0), penalty="lasso", strength=0.01).t_test_pairwise("g")
    assert isinstance(lasso.pvalue_adjusted["g[r] - g[p]"], NotEstimable)
    assert lasso.to_frame().to_pydict()["kind"] == [None] * 3
    assert "not estimable" in repr(lasso)


@pytest.mark.parametrize(
    ("term", "message"), [("x", "has no levels"), ("flag", "levels: g"), ("gg", "unknown factor 'gg'"), (3, "unknown")]
)
def test_what_has_no_levels_is_refused(noisy, term, message):
    with pytest.raises(SpecError, match=message):
        noisy.t_test_pairwise(term)
    with pytest.raises(SpecError, match="this model has none"):
        fit(noisy.release, features=["x"]).t_test_pairwise("x")


@pytest.mark.parametrize("way", [None, "tukey"])
def test_other_ways_to_hold_together_are_refused(noisy, way):
    with pytest.raises(SpecError, match="of simultaneous intervals"):
        noisy.t_test_pairwise("g", simultaneous=way)


def test_levels_whose_pairs_read_the_same_are_refused():
    levels = ["a] - g[b", "x", "b", "x] - g[a"]
    names = ("Intercept", *(f"g[{level}]" for level in levels[1:]))
    with pytest.raises(SpecError, match="have the same label"):
        level_pairs(Design("y", {"y": (0, 1), "g": levels}), "g", names, ("g",))


def test_beside_an_interaction_the_print_says_at_which_value_the_pairs_hold(noisy):
    assert noisy.t_test_pairwise("g").note == ""
    days = (date(2019, 1, 1), date(2024, 12, 31))
    columns = COLUMNS | {
        "h": ["u", "v"], "d": {"bounds": days}, "xg": {"formula": "x:g"}, "gh": {"formula": "g:h"},
        "fg": {"formula": "flag:g"}, "dg": {"formula": "d:g"},
    }  # fmt: skip
    design = Design("y", columns)
    assert where_they_hold(design, "g", ["x", "g", "flag"]) == ""
    assert where_they_hold(design, "g", ["x", "g", "xg", "gh"]) == (
        "The model has the interactions xg (x:g), gh (g:h), so the differences hold at x = 0 and h = u; for "
        "another value, use t_test."
    )
    assert "gh (g:h), so the differences hold at g = q;" in where_they_hold(design, "h", ["g", "h", "gh", "xg"])
    assert "at flag = false;" in where_they_hold(design, "g", ["fg"])
    assert "at d = 1970-01-01;" in where_they_hold(design, "g", ["dg"])
    random = np.random.default_rng(7)
    rows = {"y": random.uniform(-1, 1, 300), "x": random.uniform(-1, 1, 300), "g": random.choice(["p", "q", "r"], 300)}
    crossed = Design("y", {name: columns[name] for name in ("y", "x", "g", "xg")})
    fitted = fit(exact_release(rows, crossed))
    assert repr(fitted.t_test_pairwise("g")).endswith("at x = 0; for another value, use t_test.")

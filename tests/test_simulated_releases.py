"""Plans from simulated releases: those of the default and with private bounds against real seeded releases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet import Design, simulated_releases
from discreet.errors import GridTooFineError, SpecError
from discreet.options import RobustErrors
from discreet.planning import bound_savings, smallest_rows
from discreet.testing import seeded_release

WIDE = Design("y", {"y": (0, 1_000_000), "x": (0, 1000), "z": (0, 1000)})
ASSUME = {"x": {"mean": 40, "sd": 12}, "z": {"mean": 60, "sd": 10}, "y": {"mean": 50_000, "sd": 10_000}}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ROWS = 10_000


def table(seed, names=("x", "z")):
    """Normal columns with the assumed means and sds, an R^2 of one half and equal slopes in standard deviations."""
    random = np.random.default_rng(seed)
    scores = random.standard_normal((len(names), ROWS))
    mean = np.sqrt(0.5 / len(names)) * scores.sum(axis=0)
    y = 50_000 + 10_000 * (mean + np.sqrt(0.5) * random.standard_normal(ROWS))
    columns = {
        name: ASSUME[name]["mean"] + ASSUME[name]["sd"] * score for name, score in zip(names, scores, strict=True)
    }
    return columns | {"y": y}


def real_errors(design, names=("x", "z"), **options):
    fits = [
        discreet.fit(seeded_release(table(seed, names), design, seed=seed, **BUDGET, **options)) for seed in range(7)
    ]
    return np.median([[fit.bse[name] for name in fit.params] for fit in fits], axis=0)


def test_a_plan_of_staged_is_within_a_quarter_of_real_releases():
    made = discreet.plan(WIDE, rows=ROWS, **BUDGET, mechanism="staged", assume=ASSUME)
    planned = np.array([one.std_error for one in made.coefficients])
    real = real_errors(WIDE, mechanism="staged")
    assert np.all(np.abs(np.log(planned / real)) < np.log(1.25))
    assert made.estimable
    # negative control: with moments of the declared scale such bounds leave nothing to estimate
    assert not discreet.plan(WIDE, rows=ROWS, **BUDGET, mechanism="gaussian", assume=ASSUME).estimable


def test_a_plan_of_the_default_is_within_a_quarter_of_real_releases():
    made = discreet.plan(WIDE, rows=ROWS, **BUDGET, assume=ASSUME)
    assert made.mechanism == "staged"
    planned = np.array([one.std_error for one in made.coefficients])
    assert np.all(np.abs(np.log(planned / real_errors(WIDE))) < np.log(1.25))
    # with such bounds the one-pass release leaves nothing to estimate
    assert all(one.one_pass_width is None and not one.one_pass_narrower for one in made.coefficients)
    assert made.one_pass_note == ""


def test_a_plan_of_the_default_names_the_one_pass_release_where_it_is_narrower():
    """With booleans alone and few rows; the widths are those of a plan for `gaussian`."""
    design = Design("y", {"y": (0, 1), **{f"b{k}": bool for k in range(6)}})
    made, one_pass = (discreet.plan(design, rows=2_000, **BUDGET, mechanism=name) for name in ("auto", "gaussian"))
    assert [one.one_pass_width for one in made.coefficients] == [one.width for one in one_pass.coefficients]
    assert all(one.one_pass_narrower for one in made.coefficients)
    assert one_pass.one_pass_note == ""
    assert "The mechanism 'gaussian' would give narrower intervals. Their widths: Intercept 0." in made.one_pass_note
    assert made.one_pass_note in repr(made)
    assert not replace(made.coefficients[0], width=made.coefficients[0].one_pass_width).one_pass_narrower


def test_a_plan_of_the_default_has_no_comparison_where_the_one_pass_noise_does_not_fit_the_grid(monkeypatch):
    def refused(*_):
        raise GridTooFineError("the noise is too large", "choose fewer bits")

    monkeypatch.setattr("discreet.mechanisms.gaussian.GaussianMoments.noise_model", refused)
    made = discreet.plan(Design("y", {"y": (0, 1), "b": bool}), rows=ROWS, **BUDGET)
    assert made.estimable
    assert {one.one_pass_width for one in made.coefficients} == {None}


def test_a_plan_of_the_default_says_how_many_rows_are_needed():
    """Ten releases at each factor of rows; the plan at that factor has 25."""
    design = Design("y", {"y": (0, 1), **{f"b{k}": bool for k in range(6)}})
    made = discreet.plan(design, rows=2_000, **BUDGET, assume={"b0": {"share": 0.1}})
    assert not made.estimable
    needed = {}
    for one in made.coefficients:
        assert one.reason.startswith("fewer than 90% of simulated releases give a bounded interval; ")
        needed[one.name] = float(one.reason.split("; ")[1].split(" times as many rows would be enough")[0])
    most = max(needed.values())
    assert needed["b0"] == most
    assert set(needed.values()) <= {2.0, 4.0, 8.0, 16.0}
    more = discreet.plan(design, rows=2_000 * most, **BUDGET, assume={"b0": {"share": 0.1}})
    assert min(one.interval_share for one in more.coefficients) >= 0.8
    fewer = discreet.plan(design, rows=1_000 * most, **BUDGET, assume={"b0": {"share": 0.1}})
    assert min(one.interval_share for one in fewer.coefficients) < 1


def test_combinations_of_columns_are_never_estimable_by_the_default():
    design = Design("y", {"x": (0, 1), "z": {"formula": "2 * x"}, "y": (0, 1)})
    made = discreet.plan(design, rows=1e5, **BUDGET)
    assert all(one.reason.endswith("; even 64 times as many rows would not be enough") for one in made.coefficients)


def test_wide_designs_are_planned_from_fewer_releases(monkeypatch):
    seeds = []
    real = simulated_releases.simulated_release
    monkeypatch.setattr(simulated_releases, "simulated_release", lambda *given: seeds.append(given[-1]) or real(*given))
    for columns, draws in ((30, 25), (31, 10)):
        seeds.clear()
        discreet.plan(Design("y", {"y": (0, 1)} | {f"b{k}": bool for k in range(columns)}), rows=1e5, **BUDGET)
        assert seeds == list(range(draws))


def test_a_plan_of_private_bounds_is_within_a_quarter_of_real_releases():
    design = Design("y", {"y": "private", "x": "private"})
    assume = {name: ASSUME[name] for name in ("x", "y")}
    made = discreet.plan(design, rows=ROWS, **BUDGET, assume=assume)
    planned = np.array([one.std_error for one in made.coefficients])
    real = real_errors(design, ("x",))
    assert np.all(np.abs(np.log(planned / real)) < np.log(1.25))


@pytest.mark.parametrize("assume", [None, {"x": {"mean": 40}}, {"x": {"sd": 12}}, {"x": {"mean": 40, "sd": 0}}])
def test_private_bounds_need_a_stated_mean_and_sd(assume):
    with pytest.raises(SpecError, match="column 'x' has private bounds"):
        discreet.plan(Design("y", {"y": (0, 1), "x": "private"}), rows=ROWS, **BUDGET, assume=assume)


def test_bounds_that_a_search_would_not_find_are_refused():
    design = Design("y", {"y": (0, 1_000_000), "x": "private"})
    with pytest.raises(SpecError, match="a private search would not find the bounds of 'x' with 20 rows"):
        discreet.plan(design, rows=20, **BUDGET, assume={"x": ASSUME["x"]})


EVERY = [
    {"clip_counts": True}, {"guard": True}, {"grid_bits": 12}, {"robust": True}, {"settings": {}},
    {"robust": RobustErrors(models=["y ~ x"], residual_bound=5_000), "clip_counts": True, "guard": True},
    {"allow_weak_privacy": True},
]  # fmt: skip


@pytest.mark.parametrize("mechanism", ["auto", "gaussian"])
@pytest.mark.parametrize("options", EVERY, ids=str)
def test_a_plan_and_a_cost_take_every_option_of_a_release(options, mechanism):
    made = discreet.plan(WIDE, rows=ROWS, **BUDGET, mechanism=mechanism, assume=ASSUME, **options)
    released = seeded_release(
        table(1), WIDE, seed=1, **BUDGET, mechanism=mechanism,
        **{name: value for name, value in options.items() if name not in ("guard", "allow_weak_privacy")},
    )  # fmt: skip
    statistics = {one.statistic for one in made.noise}
    assert set(released.noise.sigma) == statistics
    assert discreet.cost(WIDE, **BUDGET, mechanism=mechanism, **options).mechanism == made.mechanism
    assert released.mechanism == f"{made.mechanism}-seeded"


def test_a_guard_leaves_a_little_more_noise():
    plain, guarded = (discreet.planning.noise_distribution_for(WIDE, 1.0, 1e-6, guard=guard) for guard in (False, True))
    assert 1.004 < guarded.sd("cross") / plain.sd("cross") < 1.006


def test_searches_for_rows_and_savings_take_staged_too():
    options = {"mechanism": "staged", "assume": ASSUME}
    assert bound_savings(WIDE, rows=ROWS, **BUDGET, **options) == {}
    with pytest.raises(SpecError, match="unknown coefficient 'q'"):
        smallest_rows(WIDE, "q", 50.0, **BUDGET, **options)

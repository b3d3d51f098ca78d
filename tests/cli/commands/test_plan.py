"""`discreet plan`: expectations from declarations alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.analyst.planning.assumptions import read_assumptions
from discreet.analyst.planning.expected import Asked, expected_release, planned, without_noise
from discreet.design.design import Design
from discreet.planning import noise_distribution_for, plan
from discreet.testing.not_private import exact_release, seeded_release
from support.cli_folder import Call

COLUMNS = {
    "x": (-1, 1), "b": bool, "g": ["u", "v", "w"], "hidden": {"bounds": [-1, 1], "release": False},
    "s": {"formula": "spline(hidden, 0, degree=2)"}, "y": (-2, 2),
}  # fmt: skip
DESIGN = Design("y", COLUMNS)
SMALL = Design("y", {"x": (-1, 1), "b": bool, "y": (-2, 2)})


@pytest.fixture
def planned_folder(folder: Path) -> Path:
    (folder / "plan.toml").write_text(DESIGN.to_toml())
    (folder / "small.toml").write_text(SMALL.to_toml())
    return folder


ASKED = ("--design", "plan.toml", "--rows", "9000", "--epsilon", "1", "--delta", "1e-6")


def test_expected_sums_are_those_of_a_table_with_the_guessed_properties():
    design = Design("y", {"x": (-1, 1), "b": bool, "y": (-2, 2)})
    distribution = noise_distribution_for(design, 1.0, 1e-6)
    guess = read_assumptions(design, 200_000, rsquared=0.6, target_spread=0.3)
    expected = expected_release(design, distribution, guess)
    assert not expected.private
    rng = np.random.default_rng(1)
    x, b = rng.uniform(-1, 1, 200_000), rng.random(200_000) < 0.5
    fit = discreet.fit(expected)
    y = fit.scaled_coefficients @ np.vstack([np.ones(200_000), x, b])
    y += rng.normal(0, np.sqrt(0.09 * 0.4), 200_000)
    real = exact_release({"x": x, "b": b, "y": 2 * y}, design)
    # six standard errors of a mean of 200,000 bounded terms
    assert np.abs(real.moments - expected.moments).max() < 6 * np.sqrt(200_000)
    assert fit.rsquared == pytest.approx(0.6, abs=0.02)


@pytest.mark.no_cover
@pytest.mark.parametrize(("d", "rows", "epsilon"), [(1, 2_000, 1.0), (3, 20_000, 0.5), (3, 50_000, 5.0)])
def test_planned_widths_agree_with_simulation(d, rows, epsilon):
    """The median of 60 widths within 10 %: medians vary by about 1 % here."""
    design = Design("y", {**{f"x{j}": (-1, 1) for j in range(d)}, "y": (-2, 2)})
    made = plan(design, rows=rows, epsilon=epsilon, delta=1e-6, rsquared=0.5, target_spread=0.3)
    rng = np.random.default_rng(d)
    slope = np.sqrt(0.5) * 0.6 / np.sqrt(d / 3)
    widths = []
    for _ in range(60):
        X = rng.uniform(-1, 1, (rows, d))
        y = slope * X.sum(axis=1) + rng.normal(0, np.sqrt(0.5) * 0.6, rows)
        table = {**{f"x{j}": X[:, j] for j in range(d)}, "y": y}
        low, high = discreet.fit(discreet.release(table, design, epsilon=epsilon, delta=1e-6)).conf_int()["x0"]
        widths.append(high - low)
    assert made.coefficients[1].width == pytest.approx(np.median(widths), rel=0.10)


def test_a_hopeless_plan_says_which_coefficients_will_not_be_estimable():
    made = plan(DESIGN, rows=30, epsilon=0.1, delta=1e-6)
    assert not made.estimable
    assert all(c.reason for c in made.coefficients if c.width is None)
    distribution = noise_distribution_for(DESIGN, 0.1, 1e-6)
    without = Design("y", COLUMNS, intercept=False)
    hopeless = expected_release(without, distribution, read_assumptions(without, 1))
    broken = tuple(-total for total in hopeless.totals)
    asked = Asked(0.1, 1e-6, 1, 0.9, "gaussian")
    names = [c.name for c in planned(replace(hopeless, totals=broken), asked).coefficients]
    assert names[0] == "x"


def test_the_sums_of_a_first_release_stand_for_the_table_with_the_residuals_it_reports():
    rng = np.random.default_rng(8)
    design = Design("y", {"x": (-1, 1), "w": (-1, 1), "y": (-2, 2)})
    x, w = rng.uniform(-1, 1, (2, 2_000))
    table = {"x": x, "w": w, "y": x - w + rng.normal(0, 0.3, 2_000)}
    release = seeded_release(table, design, seed=2, epsilon=1.0, delta=1e-6, mechanism="gaussian")
    silent = replace(release.noise, sigma=dict.fromkeys(release.noise.sigma, 0))
    told = discreet.fit(release).s2
    assert discreet.fit(replace(without_noise(release), noise=silent)).s2 == pytest.approx(told, rel=1e-6)
    assert discreet.fit(replace(release, noise=silent)).s2 < 0.99 * told, "the line follows some of the noise"


@pytest.mark.no_cover
def test_the_command_prints_tables_and_answers(planned_folder: Path, call: Call) -> None:
    result = call(
        "plan", "--design", "small.toml", "--rows", "20000", "--epsilon", "1", "--delta", "1e-6", "--coefficient", "x",
        "--width", "0.2", "--spread", "0.5", "--target-spread", "0.4", "--plot", "widths.svg",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "smallest epsilon for a 95% interval of x of width 0.2" in result.stdout
    assert "No data was read" in result.stdout
    assert (planned_folder / "widths.svg").read_text().startswith("<?xml")


STATED = (
    "--share", "b=0.05", "--share", "g=u:.6,v:.3,w:.1", "--mean", "x=0.2", "--sd", "x=0.4", "--slope", "g=v:0.1,w:-.1",
    "--correlation", "x,hidden=0.5", "--rsquared", "0.4",
)  # fmt: skip


@pytest.mark.no_cover
def test_assumptions_of_the_command_are_those_of_the_library(planned_folder: Path, call: Call) -> None:
    words = ("plan", "--design", "plan.toml", "--rows", "50000", "--epsilon", "2", "--delta", "1e-6")
    document = json.loads(call(*words, *STATED, "--json").stdout)
    made = plan(
        DESIGN,
        rows=50_000,
        epsilon=2.0,
        delta=1e-6,
        rsquared=0.4,
        assume={
            "b": {"share": 0.05},
            "g": {"share": {"u": 0.6, "v": 0.3, "w": 0.1}, "slope": {"v": 0.1, "w": -0.1}},
            "x": {"mean": 0.2, "sd": 0.4},
        },
        correlation={("x", "hidden"): 0.5},
    )
    assert {key: value for key, value in document.items() if key != "over_epsilon"} == json.loads(
        json.dumps(made.to_dict())
    )
    text = call(*words, *STATED).stdout
    for what, supposed in made.assumptions.lines():
        assert any(what in line and supposed in line for line in text.splitlines()), what
    assert "share true 0.05\n" in text
    assert "mean 0 (default), sd 1.1547 (default)" in text
    assert "100%" in text
    every = json.loads(call(*words, "--correlation", "0.3", "--json").stdout)
    assert every["assumptions"]["correlation"] == {"value": 0.3, "default": False, "pairs": []}


@pytest.mark.no_cover
def test_reasons_name_their_coefficients(planned_folder: Path, call: Call) -> None:
    asked = ("--rows", "12000", "--epsilon", "2", "--delta", "1e-6", "--mechanism", "gaussian")
    words = ("plan", "--design", "small.toml", *asked, "--share", "b=0.002")
    text = call(*words).stdout
    document = json.loads(call(*words, "--json").stdout)
    reasons = {one["name"]: one["reason"] for one in document["coefficients"]}
    assert reasons["b"] is not None
    assert reasons["x"] is None
    assert document["estimable"] is False
    (line,) = [line for line in text.splitlines() if line.startswith("Not estimable (") and "b):" in line]
    assert line.endswith(reasons["b"])
    assert "fewer than 90% of tables give a bounded interval" in line


def test_json_of_a_plan_and_of_a_second_release(planned_folder: Path, call: Call) -> None:
    options = ("--epsilon", "1", "--delta", "1e-6", "--json")
    result = call("plan", "--design", "small.toml", "--rows", "30", *options)
    document = json.loads(result.stdout)
    assert document["estimable"] is False
    assert len(document["over_epsilon"]) == 6
    second = call("plan", "--from", "sums.release.json", *options)
    assert second.exit_code == 0, second.stderr
    assert set(json.loads(second.stdout)) == {"now", "second", "both"}
    shown = call("plan", "--from", "sums.release.json", *options[:-1]).stdout
    assert "2 a second release, epsilon 1; 3 both together" in shown
    assert "width 3" in shown


def test_a_mechanism_of_coefficients_is_planned_with_its_noise_and_the_reason(planned_folder: Path, call: Call) -> None:
    words = ("plan", "--design", "plan.toml", "--rows", "2000", "--epsilon", "1", "--delta", "1e-6")
    result = call(*words, "--mechanism", "frank-wolfe", "--setting", "iterations=3")
    assert result.exit_code == 0, result.stderr
    assert "mechanism frank-wolfe" in result.stdout
    assert result.stdout.count("the mechanism 'frank-wolfe' publishes coefficients") == 1
    assert "Not estimable (Intercept, x, b, g[v], g[w], s[1]" in result.stdout
    assert "Assumptions (the noise of this mechanism does not depend on them)" in result.stdout
    assert "Noise of each statistic" in result.stdout
    assert "selection" in result.stdout
    assert "by epsilon" not in result.stdout
    document = json.loads(call(*words, "--mechanism", "frank-wolfe", "--json").stdout)
    assert document["coefficients"][0]["width"] is None
    assert document["noise"]["selection"] > 0
    for more, message in (
        (("--coefficient", "x", "--width", "1"), "has no interval widths, whatever the budget"),
        (("--plot", "w.svg"), "no interval width"),
    ):
        refused = call(*words, "--mechanism", "frank-wolfe", *more)
        assert refused.exit_code == 2
        assert message in refused.stderr
    assert not (planned_folder / "w.svg").exists()


def test_noise_in_the_coefficients_themselves_is_told_before_any_data(planned_folder: Path, call: Call) -> None:
    words = ("plan", "--design", "plan.toml", "--rows", "2000", "--epsilon", "1", "--delta", "1e-6")
    result = call(*words, "--mechanism", "output")
    assert result.exit_code == 0, result.stderr
    document = json.loads(call(*words, "--mechanism", "output", "--json").stdout)
    for one in document["coefficients"]:
        assert one["privacy_sd"] > 0
        assert one["width"] is None
        assert [one["name"], f"{one['privacy_sd']:.4g}"] in [line.split() for line in result.stdout.splitlines()]
    assert result.stdout.count("only the privacy sd, the effect of the noise, is known") == 1
    assert "depends on the table" not in result.stdout
    refused = call(*words, "--mechanism", "output", "--coefficient", "x", "--width", "1")
    assert refused.exit_code == 2
    assert "widths for a population are not known" in refused.stderr


def test_a_robust_release_is_planned_with_what_it_costs(planned_folder: Path, call: Call) -> None:
    words = ("plan", "--design", "small.toml", "--rows", "50000", "--epsilon", "1", "--delta", "1e-6", "--json")
    named = ("--mechanism", "gaussian")
    plain, robust = (json.loads(call(*words, *named, *more).stdout) for more in ((), ("--robust",)))
    assert robust["noise"]["cross"] > plain["noise"]["cross"]
    further = json.loads(call(*words, "--robust", "--robust-model", "y ~ 1").stdout)
    assert further["noise"]["cross"] > robust["noise"]["cross"]
    assert "residual_diagonal_1" in further["noise"]
    text = " ".join(call(*words[:-1], "--robust", "--robust-model", "y ~ 1").stdout.split())
    assert (
        "also have robust standard errors of the full model, 'y ~ 1'; the widths above are for plain standard errors"
        in text
    )
    staged = " ".join(call(*words[:-1], "--robust").stdout.split())
    assert "mechanism staged" in staged
    assert "also have robust standard errors of every model of the target; the widths above are for plain" in staged
    assert "robust" not in call(*words[:-1]).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--epsilon", "1"), "--design and --rows are missing"),
        (("--design", "plan.toml", "--rows", "9", "--epsilon", "1", "--width", "2"), "must be given together"),
        (("--epsilon", "1", "--design", "plan.toml"), "error: --rows is missing"),
        (("--epsilon", "1", "--rows", "9"), "error: --design is missing"),
        (("--design", "plan.toml", "--rows", "50k", "--epsilon", "1"), "'50k' is not a number; write it like 50000"),
        (("--design", "none.toml", "--rows", "9", "--epsilon", "1", "--delta", "1e-6"), "cannot read the design"),
        (("--design", "plan.toml", "--rows", "9", "--epsilon", "1", "--mechanism", "gaussian"), "delta"),
        ((*ASKED, "--share", "b=2"), "expected a number between 0 and 1 for the share of true, got 2.0"),
        ((*ASKED, "--share", "nobody=0.2"), "--share: unknown column 'nobody'"),
        ((*ASKED, "--share", "b"), "--share 'b' has no '='; write it like treated=0.02"),
        ((*ASKED, "--share", "g=u:.5,v:.2,w:.2"), "expected shares that add up to 1, got a sum of 0.9"),
        ((*ASKED, "--share", "g=u:.5,v"), "'v' has no ':'"),
        ((*ASKED, "--share", "g=u:.5,u:.5"), "the level 'u' is listed twice"),
        ((*ASKED, "--share", "g=u:x"), "--share u 'x' is not a number"),
        ((*ASKED, "--share", "b=0.2", "--share", "b=0.3"), "--share of 'b' was given twice"),
        ((*ASKED, "--mean", "x=1.5"), "expected a number inside the bounds [-1, 1]"),
        ((*ASKED, "--sd", "x=1.5"), "at most 1 for the sd, the largest sd"),
        ((*ASKED, "--mean", "x=abc"), "--mean x 'abc' is not a number"),
        ((*ASKED, "--mean", "b=0.5"), "unknown assumption 'mean'; allowed: share, slope"),
        ((*ASKED, "--mean", "s=0.5"), "column 's': a formula computes this column"),
        ((*ASKED, "--slope", "x=9"), "more than the R^2 of 0.5"),
        ((*ASKED, "--correlation", "1"), "expected a number between -1 and 1"),
        ((*ASKED, "--correlation", "abc"), "--correlation 'abc' is not a number"),
        ((*ASKED, "--correlation", "x=0.5"), "does not name two columns"),
        ((*ASKED, "--correlation", "x,y=0.5"), "got a correlation with the target 'y'"),
        ((*ASKED, "--correlation", "x,b=0.9", "--share", "b=.02"), "expected a number from -0.247 to 0.247"),
        (
            (*ASKED, "--correlation", "x,b=0.9"),
            "could not simulate a table with these means, sds, shares and correlations",
        ),
        ((*ASKED, "--correlation", "x,b=.1", "--correlation", "b,x=.1"), "was given twice; pass it once"),
        ((*ASKED, "--correlation", "0.1", "--correlation", "x,b=0.1"), "pass one number for all pairs, or only pairs"),
        (("--from", "income.release.json", "--epsilon", "1", "--share", "b=0.2"), "--share cannot be used with --from"),
        (
            ("--from", "income.release.json", "--epsilon", "1", "--target-spread", ".2"),
            "--target-spread cannot be used",
        ),
    ],
)
def test_a_wrong_plan_is_one_line_and_exit_code_2(planned_folder: Path, call: Call, words, message) -> None:
    result = call("plan", *words)
    assert result.exit_code == 2
    assert result.stderr.startswith("error:")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


# every option that a second release does not take, with a value that is right elsewhere
ELSEWHERE = {
    "--design": "design.toml", "--rows": "5", "--coefficient": "age", "--width": "2", "--plot": "p.svg",
    "--share": "b=0.2", "--mean": "age=40", "--sd": "age=9", "--slope": "age=1", "--correlation": "0.1",
    "--rsquared": "0.5", "--spread": "0.5", "--target-spread": "0.5", "--grid-bits": "12",
}  # fmt: skip


@pytest.mark.parametrize("option", ELSEWHERE)
def test_an_option_that_a_second_release_does_not_take_is_named(option: str, folder: Path, call: Call) -> None:
    value = ELSEWHERE[option]
    words = [option] if value is None else [option, value]
    before = sorted(path.name for path in folder.iterdir())
    result = call("plan", "--from", "income.release.json", "--epsilon", "1", "--delta", "1e-6", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {option} cannot be used with --from, because a second release ")
    assert result.stderr.endswith(f"; leave out {option}\n")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_with_persons_a_plan_says_which_rows_are_meant(planned_folder: Path, call: Call) -> None:
    words = ("plan", "--rows", "20000", "--epsilon", "1", "--delta", "1e-6", "--design")
    assert "about 20,000 rows, mechanism" in call(*words, "small.toml").stdout
    persons = Design("y", SMALL.columns, unit={"id": "person", "max_rows": 3})
    (planned_folder / "persons.toml").write_text(persons.to_toml())
    assert "about 20,000 rows (at most 3 per person), mechanism" in call(*words, "persons.toml").stdout
    assert "with an id, count at most max_rows rows per person" in " ".join(call("plan", "--help").stdout.split())


def test_budgets_that_nobody_asked_for_may_be_refused_without_a_word(planned_folder: Path, call: Call) -> None:
    """The table over epsilon starts at 0.1, where this strength is too small; the plan that was asked for is not."""
    words = ["plan", "--design", "plan.toml", "--rows", "20000", "--delta", "1e-6", "--mechanism", "objective"]
    result = call(*words, "--epsilon", "8", "--setting", "strength=3")
    assert result.exit_code == 0, result.stderr
    refused = call(*words, "--epsilon", "0.1", "--setting", "strength=3")
    assert refused.exit_code == 2
    assert "strength = 3 is too small for epsilon = 0.1" in refused.stderr


def test_a_weak_promise_is_planned_if_it_is_allowed(planned_folder: Path, call: Call) -> None:
    words = ["plan", "--design", "small.toml", "--rows", "20000", "--delta", "1e-6", "--epsilon", "25"]
    assert call(*words).exit_code == 2
    assert call(*words, "--allow-weak-privacy").exit_code == 0


def test_a_second_release_is_planned_with_its_settings(planned_folder: Path, call: Call) -> None:
    design = discreet.Design("y", {"x": (-1, 1), "y": (-2, 2)})
    rows = {"x": np.linspace(-1, 1, 500), "y": np.linspace(-1, 1, 500)}
    discreet.release(rows, design, epsilon=4.0, delta=1e-6, mechanism="gaussian").save("first.json")
    words = ["plan", "--from", "first.json", "--epsilon", "4", "--delta", "1e-6", "--mechanism", "wishart", "--json"]
    many, few = (
        json.loads(call(*words, "--setting", f"degrees={degrees}").stdout)["second"]["coefficients"][1]["width"]
        for degrees in (10_000, 30)
    )
    assert few > many
    assert "no settings" in call(*words[:-3], "--setting", "bins=3").stderr
    refused = call(*words, "--robust")
    assert refused.exit_code == 2
    assert "robust standard errors need the mechanism 'gaussian'" in refused.stderr

"""Clipped rows in the words of a fit: which columns, in how many rows, and when to warn."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import discreet
from discreet.analyst.bound_costs import (
    COUNTING,
    _range,
    clipped_columns,
    clipped_shares,
    clipping_note,
    range_note,
    unsettled_bounds,
)
from discreet.analyst.diagnostics import findings
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from discreet.mechanisms.registry import mechanisms
from discreet.pages.page import render
from discreet.pages.view import report_view
from discreet.releases.fields import unsettled_ends
from discreet.testing.not_private import exact_release, seeded_release

ROWS = 20_000
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def table(rows: int = ROWS) -> dict[str, np.ndarray]:
    """A target of which 73% lies above 1, x of which 8% lies outside, w and a flag inside."""
    x = np.linspace(-1, 1, rows)
    return {
        "y": np.where(np.arange(rows) % 100 < 73, 1.5, 0.5) + 0 * x,
        "x": np.where(np.arange(rows) % 100 < 92, x, 3.0),
        "w": np.roll(x, rows // 3),
        "flag": np.arange(rows) % 2 == 0,
    }


COLUMNS = {"y": (-1, 1), "x": (-1, 1), "w": (-1, 1), "flag": bool}
DESIGN = Design("y", COLUMNS)


def words(fit) -> str:
    return " ".join(fit.summary().split())


def test_without_counts_the_note_names_the_columns_and_says_that_the_share_is_unknown():
    made = discreet.release(table(), DESIGN, **BUDGET, mechanism="gaussian")
    fit = discreet.fit(made)
    for text in (words(fit), fit.to_dict()["notes"][0]):
        assert "Any values of y, x, w outside their declared bounds were clipped" in text
        assert "does not say in how many rows; a release with clip_counts=True does." in text
    assert "Any values of y, w outside" in words(discreet.fit(made, features=["w", "flag"]))
    assert clipped_shares(made) == ()
    assert not any(finding.number == "D019" for finding in findings(made, fit))
    assert "The release does not count these rows" in render(report_view(made, fit))


def test_with_73_percent_of_the_target_clipped_summary_diagnostics_and_report_say_so():
    made = discreet.release(table(), DESIGN, clip_counts=True, **BUDGET)
    fit = discreet.fit(made)
    shares = {one.name: one for one in clipped_shares(made)}
    assert list(shares)[:2] == ["y", "x"]
    # eight standard deviations of the noise: false alarm below 1e-14
    for name, share in {"y": 0.73, "x": 0.08, "w": 0.0}.items():
        assert shares[name].count == pytest.approx(share * ROWS, abs=8 * shares[name].sd)
        assert 0 <= shares[name].low <= shares[name].share <= shares[name].high <= 1
    y = shares["y"]
    assert f"y {y.share:.1%} ({y.low:.1%} to {y.high:.1%}); x " in words(fit)
    assert "not known" not in words(fit)
    (finding,) = (one for one in findings(made, fit) if one.number == "D019")
    assert finding.severity == "serious"
    assert f"About {y.share:.1%} of the rows" in finding.text
    assert "of y, the target, outside its declared bounds [-1, 1]" in finding.text
    assert "x, a column of the model" in finding.text
    page = render(report_view(made, fit))
    assert "Rows clipped at a bound" in page
    assert "Many rows were clipped" in page
    assert "in how many rows is not known" not in page


def test_a_share_that_only_some_rows_have_is_a_caution_and_a_small_one_is_silent():
    made = seeded_release(table(), DESIGN, seed=1, clip_counts=True, **BUDGET)
    target = model_of(made.design, target="w", features=["x"])
    (finding,) = (one for one in findings(made, model=target) if one.number == "D019")
    assert finding.severity == "caution"
    assert not any(
        one.number == "D019" for one in findings(made, model=model_of(made.design, target="w", features=["flag"]))
    )


@pytest.mark.no_cover
def test_noise_alone_does_not_warn():
    """A table of few rows with nothing clipped: the lower end of an interval is above 5% in few releases."""
    few = {"y": np.linspace(-1, 1, 300), "x": np.linspace(1, -1, 300), "w": np.linspace(-1, 1, 300) ** 2}
    few["flag"] = np.arange(300) % 2 == 0
    alarms = 0
    for seed in range(200):
        made = seeded_release(few, DESIGN, seed=seed, clip_counts=True, **BUDGET)
        alarms += any(one.number == "D019" for one in findings(made))
    # seeded, so the same on every run; three columns with a chance of 2.5% at most each would give 15
    assert alarms <= 10


@pytest.mark.parametrize("budget", [{"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 1.0}])
def test_intervals_of_the_share_cover(budget):
    """NOT PRIVATE, seeded: 3 columns x 150 releases, at least 92% (99% sure for a true 95%)."""
    data = table(4000)
    true = {"y": 0.73, "x": 0.08, "w": 0.0}
    found = []
    for seed in range(150):
        made = seeded_release(data, DESIGN, seed=seed, clip_counts=True, **budget)
        found += [one.low <= true[one.name] <= one.high for one in clipped_shares(made)]
    assert len(found) == 450
    assert np.mean(found) >= 0.92


def test_shares_are_not_given_where_the_rows_cannot_be_counted():
    few = {name: values[:5] for name, values in table().items()}
    made = seeded_release(few, DESIGN, seed=3, clip_counts=True, **BUDGET)
    assert clipped_shares(made) == ()
    assert "too noisy to say which fraction of them was clipped" in clipping_note(made, model_of(made.design))


def test_formulas_are_followed_back_to_the_columns_that_were_clipped():
    design = Design("y", {
        "y": (0, 1),
        "base": {"bounds": [1, 9], "release": False},
        "other": {"bounds": [0, 1], "release": False},
        "log": {"formula": "log(base)"},
        "mix": {"formula": "base * other", "bounds": [0, 4]},
    })  # fmt: skip
    made = exact_release(
        {"y": [0.5, 2.0], "base": [10.0, 5.0], "other": [0.5, 1.0]}, design, clip_counts=True
    )  # fmt: skip
    assert clipped_columns(design, model_of(made.design, features=["log"])) == ("y", "base")
    assert clipped_columns(design, model_of(made.design)) == ("y", "base", "other", "mix")
    assert {name: count.value for name, count in made.clip_counts.items()} == {
        "y": 1, "base": 1, "other": 0, "mix": 2,
    }  # fmt: skip


def test_a_model_without_numbers_says_nothing_of_clipping():
    design = Design("y", {"y": bool, "g": ["a", "b"]})
    made = exact_release({"y": [True, False] * 9, "g": ["a", "b", "b"] * 6}, design)
    assert clipping_note(made, model_of(made.design)) is None
    assert not any("clipped" in note for note in discreet.fit(made).to_dict()["notes"])


def test_many_columns_are_not_all_spelled_out():
    names = [f"x{k}" for k in range(12)]
    rng = np.random.default_rng(1)
    data = {name: rng.uniform(-1, 1 + 0.01 * k, 200) for k, name in enumerate([*names, "y"])}
    design = Design("y", dict.fromkeys([*names, "y"], (-1, 1)))
    plain, counted = exact_release(data, design), exact_release(data, design, clip_counts=True)
    assert "x7 and 5 more columns outside" in clipping_note(plain, model_of(plain.design))
    assert "each of 5 other columns at most" in clipping_note(counted, model_of(counted.design))


def test_the_estimator_and_the_command_line_count_too(tmp_path):
    import json

    import pandas as pd
    from click.testing import CliRunner

    from discreet.cli.main import program

    data = table(4000)
    X = pd.DataFrame({name: data[name] for name in ("x", "w")})
    model = discreet.PrivateLinearRegression(
        **BUDGET, bounds=(-1, 1), target_bounds=(-1, 1), clip_counts=True
    )  # fmt: skip
    counts = model.fit(X, data["y"]).release_.clip_counts
    assert counts["y"].value == pytest.approx(2920, abs=8 * counts["y"].sd)
    pd.DataFrame(data).to_csv(tmp_path / "d.csv", index=False)
    DESIGN.save(tmp_path / "design.toml")
    arguments = ["release", str(tmp_path / "d.csv"), "--design", str(tmp_path / "design.toml"), "--epsilon", "1"]
    run = CliRunner().invoke(
        program, [*arguments, "--delta", "1e-6", "--clip-counts", "-o", str(tmp_path / "r.json"), "--json"]
    )
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)["counts"]["rows with a clipped value of y"]
    assert found["count"] == pytest.approx(2920, abs=8 * found["sd"])
    assert discreet.Release.load(tmp_path / "r.json").clip_counts["y"].sd == found["sd"]
    run = CliRunner().invoke(program, [*arguments, "--clip-counts", "-o", str(tmp_path / "pure.json")])
    assert run.exit_code == 0, run.output
    shown = " ".join(run.stdout.split())
    for label, count in discreet.Release.load(tmp_path / "pure.json").counts.items():
        assert f"{label}: {count.words}" in shown
    assert "rows with a clipped value of y: about" in shown
    run = CliRunner().invoke(
        program, [*arguments, "--clip-counts", "--mechanism", "k-norm", "-o", str(tmp_path / "no.json")]
    )
    assert run.exit_code == 2
    assert "needs one of the mechanisms 'gaussian' and 'laplace'" in run.stderr


def test_the_mechanisms_that_are_said_to_count_are_those_whose_card_says_so():
    assert set(COUNTING) == {name for name, one in mechanisms().items() if one.info.clip_counts}
    assert set(COUNTING) < set(mechanisms()), "not every mechanism counts, so the comparison can fail"


def test_ranges_that_were_searched_are_named_in_the_units_of_their_columns():
    design = Design("y", {"y": (0, 10), "x": (0, 4), "w": (-1, 1), "flag": bool})
    data = {"y": [1.0, 2.0], "x": [1.0, 2.0], "w": [0.0, 0.5], "flag": [True, False]}
    made = seeded_release(data, design, seed=1, mechanism="refined", **BUDGET)

    def note(*ranges):
        return range_note(replace(made, coefficients=replace(made.coefficients, ranges=ranges)))

    whole = (-1.0, 1.0)
    assert note((-0.5, 0.25), whole, whole).endswith("clipped to the bounds of y (x: 1 to 2.5).")
    assert note(whole, whole, whole).endswith("clipped to the bounds of y.")
    assert note() is None
    assert range_note(exact_release(data, design)) is None
    many = Design("y", {"y": (0, 1), **{f"x{j}": (0, 1) for j in range(9)}})
    rows = {name: [0.5] for name in many.columns}
    wide = seeded_release(rows, many, seed=1, mechanism="refined", **BUDGET)
    text = range_note(replace(wide, coefficients=replace(wide.coefficients, ranges=((-0.5, 0.5),) * 9)))
    assert "x7: 0.25 to 0.75; and more)" in text
    assert "privately estimated ranges" in words(discreet.fit(made))


def test_bounds_of_dates_are_printed_as_dates() -> None:
    column = Design("y", {"y": (0, 1), "d": {"bounds": (date(2019, 1, 1), date(2024, 12, 31))}}).columns["d"]
    assert _range("d", column, (-1.0, 1.0)) == "d: 2019-01-01 to 2024-12-31"


FOUND = Design("y", {"y": (-10, 30), "x": {"bounds": "private", "within": (0, 1024)}, "w": (0, 1)})


def found_release(spread: float, seed: int = 1, **given):
    rng = np.random.default_rng(seed)
    x, w = np.exp(spread * rng.normal(size=ROWS)), rng.uniform(size=ROWS)
    data = {"x": x, "w": w, "y": 1 + 0.05 * x + rng.normal(size=ROWS)}
    return seeded_release(data, FOUND, seed=seed, epsilon=1.0, delta=1e-6, **given)


@pytest.mark.parametrize("given", [{}, {"mechanism": "irls"}])
def test_bounds_that_another_release_may_not_find_are_a_finding_in_summary_and_report(given):
    """The table is fixed, so the cell whose count decides is known: rows from 32 to 64."""
    made = found_release(1.5, seed=2, **given)
    fit = discreet.fit(made)
    (finding,) = (one for one in findings(made, fit) if one.number == "D023")
    (end,) = unsettled_ends(made.discovery, made.design, made.noise.family)
    assert finding.severity == "caution"
    assert f"from {end.cell[0]:g} to {end.cell[1]:g} and were " in finding.text
    assert f"[{end.bounds[0]:g}, {end.bounds[1]:g}] with a probability of about {end.probability:.0%}" in finding.text
    assert finding.text in fit.to_dict()["notes"]
    assert 'id="d023"' in render(report_view(made, fit))
    assert "Another release of the same table may have other bounds" in words(fit)


def test_what_is_kept_and_what_was_clipped_are_told_apart():
    texts = [
        unsettled_bounds(made, model_of(made.design)) for made in (found_release(1.5, seed=seed) for seed in range(12))
    ]
    said = " ".join(text for text in texts if text is not None)
    assert "and were clipped, by a noisy count" in said
    assert "and were kept inside the bounds, by a noisy count" in said


def test_settled_bounds_and_models_without_the_column_show_nothing():
    made = found_release(1.5, seed=2)
    assert unsettled_bounds(made, discreet.fit(made, features=["w"]).model) is None
    settled = found_release(0.05)
    assert unsettled_bounds(settled, model_of(settled.design)) is None
    declared = seeded_release(table(), DESIGN, seed=1, **BUDGET)
    assert unsettled_bounds(declared, model_of(declared.design)) is None

"""Numbered diagnostics: each fires where it should, stays silent where it should not, and reads the release alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

from discreet.analyst.diagnostics import SEVERITIES, findings
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Guarantee
from discreet.testing.not_private import seeded_release
from support.diagnosed import ROWS, found, piled, release, table


def test_a_clear_release_has_no_more_than_the_dearest_bound() -> None:
    clear = release()
    assert [finding.number for finding in findings(clear, fit(clear))] == ["D009"]


def test_findings_come_with_the_most_serious_first_and_as_plain_values() -> None:
    weak = release(sigma=60.0)
    found = findings(weak, fit(weak, penalty="adaptive"))
    ranks = [SEVERITIES.index(finding.severity) for finding in found]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) > 1
    first = found[0]
    assert first.anchor == first.number.lower()
    assert first.to_dict() == {
        "number": first.number, "title": first.title, "text": first.text, "severity": first.severity,
    }  # fmt: skip
    assert len({finding.number for finding in found}) == len(found)


def test_d001_a_release_without_a_promise_is_said_to_be_not_private() -> None:
    assert found("D001", release(guarantee=None)).severity == "serious"
    assert found("D001", release()) is None


def test_d002_a_table_too_small_to_be_counted() -> None:
    finding = found("D002", release(table(rows=20), sigma=30.0))
    assert finding.severity == "serious"
    assert "standard deviation of 30" in finding.text
    assert found("D002", release()) is None


def test_d003_sums_that_noise_made_indefinite() -> None:
    weak = release(sigma=150.0, seed=4)
    finding = found("D003", weak)
    assert finding.severity == "serious"
    assert found("D004", weak) is None
    assert found("D003", release()) is None


def test_d003_is_about_noise_and_silent_about_exact_sums_of_twins() -> None:
    columns = table()
    columns["z"] = columns["x"]
    assert found("D003", release(columns, sigma=0.0, guarantee=None)) is None


def test_d004_sums_that_are_nearly_indefinite() -> None:
    weak = release(table(twin=0.1), sigma=3.0, seed=2)
    finding = found("D004", weak)
    assert finding.severity == "caution"
    assert found("D003", weak) is None
    assert found("D004", release()) is None


def test_d005_names_the_combination_of_columns_that_noise_dominates() -> None:
    # x and z are nearly the same, so their difference is what noise hides
    finding = found("D005", release(table(twin=0.02), sigma=3.0, seed=2))
    assert "In 1 of 2 directions" in finding.text
    assert re.search(r"0\.7\d (x - 0\.\d\d z|z - 0\.\d\d x)", finding.text)
    assert found("D005", release()) is None


def test_d005_spells_three_directions_and_counts_the_rest() -> None:
    design = Design("y", {"y": (-1, 1), **{f"x{j}": (-1, 1) for j in range(6)}})
    random = np.random.default_rng(3)
    columns = {name: random.uniform(-0.05, 0.05, ROWS).tolist() for name in design.columns}
    finding = found("D005", release(columns, design=design, sigma=20.0))
    assert "In 6 of 6 directions" in finding.text
    assert "; and 3 more" in finding.text


def test_d006_shrinkage_says_how_much_is_kept() -> None:
    clear = release()
    model = fit(clear, penalty="ridge", strength=0.1)
    finding = found("D006", clear, model)
    values = np.linalg.eigvalsh(np.cov(np.array([table()["x"], table()["z"]])) * ROWS)
    kept = values / (values + model.ridge)
    # the released sums differ from the exact ones by half a row or so
    assert f"between {kept.min():.0%} and {kept.max():.0%}" in finding.text
    assert found("D006", clear, fit(clear)) is None
    assert found("D006", clear) is None


def test_d007_a_repair_is_told() -> None:
    weak = release(sigma=150.0, seed=4)
    model = fit(weak, penalty="ridge", strength=1e-6)
    assert model.repair > 0
    assert f"{model.repair:.4g} more" in found("D007", weak, model).text
    assert found("D007", release(), fit(release(), penalty="ridge", strength=0.1)) is None


def test_d008_names_pairs_that_are_nearly_the_same() -> None:
    finding = found("D008", release(table(twin=0.05), sigma=0.01))
    assert "x and z (+1.00)" in finding.text
    assert "condition number" in finding.text
    assert found("D008", release()) is None


def test_d008_a_condition_without_limit_is_put_in_words() -> None:
    columns = table()
    columns["z"] = columns["x"]
    finding = found("D008", release(columns, sigma=0.0, guarantee=None))
    assert "is unbounded" in finding.text


def test_d008_finds_a_combination_of_three_without_a_pair() -> None:
    design = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1), "w": (-1, 1)})
    columns = table()
    columns["w"] = [(x + z) / 2 for x, z in zip(columns["x"], columns["z"], strict=True)]
    finding = found("D008", release(columns, design=design, sigma=1e-5))
    assert "Correlations" not in finding.text
    assert "condition number" in finding.text


def test_d008_needs_two_columns_that_noise_does_not_hide() -> None:
    assert found("D008", release(sigma=150.0)) is None


def test_d008_a_condition_that_noise_may_have_made_is_not_told() -> None:
    finding = found("D008", release(table(twin=0.02), sigma=3.0))
    assert "x and z" in finding.text
    assert "condition number" not in finding.text


def test_d009_names_the_bounds_that_are_too_wide_and_what_half_would_save() -> None:
    design = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-20, 20)})
    wide = release(design=design)
    finding = found("D009", wide)
    assert "[-20, 20] of z" in finding.text
    assert "could declare narrower bounds" in finding.text
    assert finding.severity == "note"


def test_d009_says_when_half_the_width_would_clip() -> None:
    columns = table()
    columns["x"] = [0.99 if value > 0 else -0.99 for value in columns["x"]]
    columns["z"] = [0.99 if value > 0 else -0.99 for value in columns["z"]]
    columns["y"] = [0.99 if value > 0 else -0.99 for value in columns["y"]]
    assert "would clip many" in found("D009", release(columns)).text


@pytest.mark.parametrize(("side", "bound", "wrong"), [(1, "upper", "low"), (-1, "lower", "high")])
def test_d009_never_advises_narrower_bounds_where_rows_pile_up(side: int, bound: str, wrong: str) -> None:
    finding = found("D009", release(piled(side), sigma=0.05))
    assert "[-1, 1] of y" in finding.text
    assert f"But rows bunch at the {bound} bound, which may be too {wrong} (D016)" in finding.text
    assert "narrower" not in finding.text
    assert "closer" not in finding.text


@pytest.mark.parametrize(("side", "stays", "moves"), [(-1, "lower", "upper"), (1, "upper", "lower")])
def test_d009_leaves_the_bound_that_rows_reach(side: int, stays: str, moves: str) -> None:
    random = np.random.default_rng(5)
    distance = np.minimum(random.exponential(2.0, ROWS), 19.9)
    columns = table() | {"z": (side * (10 - distance)).tolist()}
    design = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-10, 10)})
    finding = found("D009", release(columns, design=design, sigma=0.05))
    assert "of z" in finding.text
    assert (
        f"could move the {moves} bound closer, but not the {stays} bound, because rows come close to it" in finding.text
    )
    assert "narrower" not in finding.text


def test_d016_needs_a_mean_that_noise_does_not_make() -> None:
    assert found("D016", release(piled(1), sigma=2.0)) is not None
    assert found("D016", release(piled(1), sigma=30.0)) is None
    empty = release(piled(1, inside=0.0), sigma=300.0)
    assert found("D016", empty) is None


def test_d016_looks_at_regressors_and_not_at_what_cannot_be_clipped() -> None:
    columns = table() | {"z": [0.999] * (ROWS - 1) + [0.5], "b": [True] * ROWS}
    design = Design("b", {"b": {"dtype": "bool"}, "x": (-1, 1), "z": (-1, 1), "high": {"formula": "z ** 4 + 0 * x"}})
    finding = found("D016", seeded_release(columns, design, seed=1, epsilon=20.0, delta=1e-6, mechanism="gaussian"))
    assert "The mean of z" in finding.text
    assert "of b" not in finding.text
    assert "of high" not in finding.text


def test_d009_is_silent_where_there_is_no_noise_or_no_positive_definite_sum() -> None:
    assert found("D009", release(sigma=0.0, guarantee=None)) is None
    assert found("D009", release(sigma=150.0, seed=4)) is None


@pytest.mark.parametrize(("epsilon", "fires"), [(8.0, False), (9.0, True)])
def test_d010_a_large_epsilon(epsilon: float, fires: bool) -> None:
    finding = found("D010", release(guarantee=Guarantee(epsilon, 1e-6, PrivacyUnit(), ())))
    assert (finding is not None) is fires


@pytest.mark.parametrize(("delta", "fires"), [(1e-6, False), (2e-3, True), (1 / 300, True), (0.0, False)])
def test_d011_a_delta_above_one_over_the_rows(delta: float, fires: bool) -> None:
    finding = found("D011", release(guarantee=Guarantee(1.0, delta, PrivacyUnit(), ())))
    assert (finding is not None) is fires
    assert found("D011", release(guarantee=None)) is None


def test_the_model_can_be_named_where_there_is_no_fit() -> None:
    design = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-20, 20)})
    wide = release(design=design)
    finding = found("D009", wide, model=model_of(wide.design, features=["x"]))
    assert "of z" not in finding.text


def test_a_model_of_the_intercept_alone_and_one_without_intercept_are_diagnosed() -> None:
    clear = release()
    for model in (model_of(clear.design, features=[]), model_of(clear.design, intercept=False)):
        assert all(finding.severity == "note" for finding in findings(clear, model=model))

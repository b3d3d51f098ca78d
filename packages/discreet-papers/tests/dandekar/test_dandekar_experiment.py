"""The runs of the report: errors from sums equal errors on rows, and every line is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet_papers.dandekar import dandekar_experiment, dandekar_methods
from discreet_papers.dandekar.dandekar_experiment import (
    CENSUS_EPSILONS,
    CORRECTED,
    NOT_PRIVATE,
    NOT_PRIVATE_PUBLIC,
    OURS,
    VARIANTS,
    WINE_EPSILONS,
    WRITTEN,
    ZERO,
    Runs,
    Scaled,
    baselines,
    compared,
    scaled,
    split_rows,
)
from discreet_papers.methods import READER
from support.dandekar_numbers import extract


@pytest.fixture(scope="module")
def table() -> Scaled:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 3, (600, 3))
    cells = np.column_stack([x, x @ [1.0, -0.5, 0.2] + rng.normal(size=600)])
    return scaled(cells, np.array([(0, 3), (0, 3), (0, 4), (-5, 6)], dtype=float))


@pytest.fixture(scope="module")
def runs(table: Scaled) -> Runs:
    rng = np.random.default_rng(2)
    return Runs(table, [split_rows(table, rng) for _ in range(3)])


def test_there_are_seven_budgets_each() -> None:
    assert pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4]) == WINE_EPSILONS
    assert (len(CENSUS_EPSILONS), CENSUS_EPSILONS[0], CENSUS_EPSILONS[-1]) == (7, 0.001, 1.0)


def test_a_fifth_is_held_out_and_no_row_is_used_twice(runs: Runs) -> None:
    for split in runs.splits:
        assert (len(split.held_out), len(split.train), len(split.folds)) == (120, 480, 5)
        assert sorted([*split.held_out, *split.train]) == list(range(600))
    assert not np.array_equal(runs.splits[0].held_out, runs.splits[1].held_out)


def test_errors_from_sums_are_errors_on_rows(table: Scaled, runs: Runs) -> None:
    theta = np.random.default_rng(3).normal(size=(2, 3, 3))
    found, public = runs.rmse(theta), runs.public_rmse(theta, 0.3)
    for e in range(2):
        for r, split in enumerate(runs.splits):
            X, inside, y = (part[split.held_out] for part in (table.X, table.X_public, table.y))
            assert found[e, r] == pytest.approx(np.sqrt(np.mean((y - X @ theta[e, r]) ** 2)))
            guess = table.offset + table.factor * (0.3 + inside @ theta[e, r])
            assert public[e, r] == pytest.approx(np.sqrt(np.mean((y - guess) ** 2)))


def test_the_losses_are_those_of_the_training_rows(table: Scaled, runs: Runs) -> None:
    train = runs.splits[1].train
    assert runs.loss.q[1] == pytest.approx(table.X[train].T @ table.y[train])
    assert runs.public_loss.Q[1] == pytest.approx(table.X_public[train].T @ table.X_public[train])


def test_with_a_huge_budget_nothing_of_the_noise_is_left(runs: Runs) -> None:
    budget, rng = np.array([1e12]), np.random.default_rng(4)
    exact = dandekar_methods.closed_form(runs.loss)
    assert dandekar_methods.closed_form(dandekar_experiment.as_written(runs, budget, rng))[0] == pytest.approx(exact)
    assert dandekar_experiment.corrected(runs, budget, rng).Q[0] == pytest.approx(runs.public_loss.Q)
    for errors in dandekar_experiment.variant_errors(runs, budget, rng).values():
        assert errors[0] == pytest.approx(runs.rmse(exact))


def test_the_corrected_noise_is_smaller_than_that_as_written(runs: Runs) -> None:
    budget = np.full(2_000, 1.0)
    written = dandekar_experiment.as_written(runs, budget, np.random.default_rng(5))
    fixed = dandekar_experiment.corrected(runs, budget, np.random.default_rng(6))
    # off the diagonal, symmetrised: sd b against sqrt(1/2) b/2 at half the scale b
    ratio = (written.symmetric.Q - runs.loss.Q)[..., 0, 1].std() / (fixed.Q - runs.public_loss.Q)[..., 0, 1].std()
    # 6,000 draws of kurtosis 6 or less: each sd is within 7% but for a chance of 1e-6
    assert ratio == pytest.approx(2 * np.sqrt(2), rel=0.14)


def test_lambda_is_none_fixed_or_cross_validated(runs: Runs) -> None:
    assert runs.strengths("linear", "cv").tolist() == [0.0] * 3
    assert runs.strengths("ridge", "n/100").tolist() == [4.8] * 3
    assert set(runs.strengths("LASSO", "cv")) <= set(dandekar_methods.LAMBDAS)


def test_our_release_at_a_huge_budget_is_least_squares_with_an_intercept(table: Scaled, runs: Runs) -> None:
    (found,) = dandekar_experiment.our_errors(runs, np.array([1e5]), 6, ["linear"])["linear"]
    for r, split in enumerate(runs.splits):
        X = np.column_stack([np.ones(600), table.X_public])
        theta = np.linalg.lstsq(X[split.train], table.y[split.train], rcond=None)[0]
        expected = np.sqrt(np.mean((table.y[split.held_out] - X[split.held_out] @ theta) ** 2))
        assert found[r] == pytest.approx(expected, rel=0.01)


@pytest.mark.no_cover
def test_a_cell_has_every_line_at_every_budget_and_the_same_numbers_again(tmp_path: Path) -> None:
    folder = str(extract(tmp_path, rows=400))
    arguments = {"table": "ipums", "folder": folder, "first": 5, "count": 2, "variants": True}
    rows = compared(seed=7, **arguments, penalties=("cv", "n/100"))
    lines = {(row["regression"], row["line"], row["penalty"]) for row in rows}
    six = (NOT_PRIVATE, NOT_PRIVATE_PUBLIC, WRITTEN, CORRECTED, OURS, ZERO)
    wanted = {(one, line, how) for one in dandekar_methods.REGRESSIONS for line in six for how in ("cv", "n/100")}
    wanted |= {("variants", line, "none") for line in (*VARIANTS, NOT_PRIVATE, ZERO)}
    assert lines == wanted
    assert len(rows) == len(wanted) * 7 * 2
    assert {row["repeat"] for row in rows} == {5, 6}
    assert all(row["refused"] == np.isnan(row["value"]) for row in rows)
    assert {row["line"] for row in rows if row["refused"]} == {WRITTEN}
    again = compared(seed=7, **arguments, penalties=("cv", "n/100"))
    assert [str(row) for row in again] == [str(row) for row in rows]
    assert compared(seed=8, **arguments)[-20:] != rows[-20:]


def test_a_readers_method_is_drawn_on_the_same_axes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(extract(tmp_path, rows=300))
    (tmp_path / "own_zero.py").write_text(
        "import numpy as np\n"
        "class Zero:\n"
        "    def fit(self, X, y):\n"
        "        assert abs(X).max() <= 1\n"
        "    def predict(self, X):\n"
        "        return np.full(len(X), -1.0)\n"
        "def factory(*, epsilon, delta, bounds, target_bounds):\n"
        "    assert delta == 0 and target_bounds == (-1.0, 1.0) and bounds == [(-1.0, 1.0)] * 4\n"
        "    return Zero()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = baselines(seed=1, table="ipums", folder=folder, first=0, count=1, method="own_zero:factory")
    mine = [row["value"] for row in rows if row["line"] == READER]
    assert len(mine) == 7
    assert len(set(mine)) == 1


def test_the_cell_of_baselines_has_the_histogram_and_the_regressions(tmp_path: Path) -> None:
    rows = baselines(seed=1, table="ipums", folder=str(extract(tmp_path, rows=400)), first=0, count=2)
    lines = {(row["regression"], row["line"]) for row in rows}
    both = (*dandekar_methods.REGRESSIONS, "DPME")
    assert lines >= {(one, line) for one in both for line in (WRITTEN, CORRECTED)}
    assert lines >= {("linear", OURS), ("linear", ZERO), ("linear", NOT_PRIVATE), ("linear", NOT_PRIVATE_PUBLIC)}
    assert all(np.isfinite(row["value"]) for row in rows if row["regression"] == "DPME")


def test_a_figure_without_a_table_has_no_numbers() -> None:
    assert dandekar_experiment.nothing(seed=1) == []

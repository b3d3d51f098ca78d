"""The program that measures `staged`: its least squares, its figures, and true coefficients of its cells."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import statsmodels.api as sm

from benchmarks import staged
from benchmarks.staged_cells import REAL, SIMULATED, clipped

# cells that take long have the same code as others
QUICK = [name for name in SIMULATED if name not in ("normal20", "rho95-5", "box5")]


def test_least_squares_is_that_of_statsmodels():
    cell = SIMULATED["het"]()
    columns = clipped(cell.draw(np.random.default_rng(1), 500), cell.design)
    names = ("Intercept", "x0", "x1", "x2")
    theta, plain, robust = staged.least_squares(columns, "y", names)
    fit = sm.OLS(columns["y"], np.column_stack([columns[name] for name in names])).fit()
    for ours, theirs in ((theta, fit.params), (plain, fit.bse), (robust, fit.HC1_se)):
        assert list(ours.values()) == pytest.approx(theirs.tolist(), rel=1e-8)


@pytest.mark.parametrize("name", QUICK)
def test_true_coefficients_are_those_of_a_large_table(name):
    """No estimate on 100,000 rows is five standard errors off: false alarms below 1e-4."""
    cell = SIMULATED[name]()
    columns = clipped(cell.draw(np.random.default_rng(2), 100_000), cell.design)
    for model in cell.models:
        slopes = [key for key in model.truth if np.ptp(columns[key]) and key not in ("g[l0]", "month[m0]", "day[d0]")]
        names = (*(("Intercept",) if cell.design.intercept else ()), *slopes)
        theta, _, robust = staged.least_squares(columns, model.target or "y", names)
        assert max(abs(theta[key] - model.truth[key]) / robust[key] for key in slopes) < 5


def test_figures_of_a_line():
    def each(low, high, *, bounded=True, estimate=0.0):
        fields = {"low": low, "high": high, "bounded": bounded, "estimate": estimate, "error": 0.5, "ols": 0.0}
        fields |= {"plain": 0.25, "robust": 0.5, "covered": low <= 0 <= high, "ols_covered": True}
        return {"names": ["x"]} | {name: [value] for name, value in fields.items()}

    whole = staged.Z
    releases = [each(-whole, whole, estimate=1.0), each(0.1, 0.1 + whole), each(-np.inf, np.inf, bounded=False)]
    found = staged.figures({"each": releases}, robust=False)
    assert found["width"] == pytest.approx(4)
    assert (found["coverage"], found["given_interval"], found["bounded"]) == pytest.approx((2 / 3, 1 / 2, 2 / 3))
    assert (found["bias"], found["ols"], found["allowance"]) == (1.0, 1.0, 0.0)
    assert staged.figures({"each": releases}, robust=True)["width"] == pytest.approx(2)


def test_what_a_file_has_is_not_measured_again(tmp_path, monkeypatch, capsys):
    words = ["normal5", "--rows", "500", "--epsilons", "3", "--releases", "2", "--save", str(tmp_path / "lines")]
    monkeypatch.setattr(sys, "argv", ["staged", *words])
    staged.main()
    first = capsys.readouterr().out
    assert first.count("releases 2") == 3
    lines = (tmp_path / "lines").read_text().splitlines()
    assert {json.loads(line)["model"] for line in lines} == {"full", "2 of 5", "another target"}
    monkeypatch.setattr(staged, "released", None)
    staged.main()
    assert capsys.readouterr().out.splitlines() == [line for line in first.splitlines() if "releases" in line]


def test_a_real_table_that_is_not_there_is_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["staged", "cps-log", "--folder", str(tmp_path)])
    staged.main()
    assert "left out" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["card", "bwght", "wage1"])
def test_real_tables_are_as_declared(name, tmp_path):
    """Bounds contain the rows: nothing is clipped."""
    cell = REAL[name](tmp_path)
    assert cell.table is not None
    kept = clipped(cell.table, cell.design)
    for column, values in cell.table.items():
        assert np.array_equal(kept[column], np.asarray(values, dtype=float))
    assert len(cell.draw(np.random.default_rng(1), 7)[cell.design.target]) == 7

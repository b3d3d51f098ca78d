"""Standard errors that a plan expects."""

from __future__ import annotations

import math
from itertools import repeat

import numpy as np
import pytest

import discreet
from discreet.analyst.equations.noise import product_covariance
from discreet.analyst.inference import nuisance
from discreet.analyst.inference import nuisance as growth
from discreet.analyst.inference.contrasts import unit_map
from discreet.analyst.inference.score import noise_map, score_from_sums
from discreet.analyst.model import read_model
from discreet.analyst.planning import simulation as module
from discreet.analyst.planning.assumptions import read_assumptions
from discreet.analyst.planning.expected import expected_release
from discreet.analyst.planning.simulation import Draws
from discreet.errors import Cancelled
from discreet.planning import noise_distribution_for
from support.planned_cells import LEVELS, Cell, levels


def drawn(design, rows, *, one_table=False, epsilon=1.0, **assumed):
    distribution = noise_distribution_for(design, epsilon, 1e-6, mechanism="gaussian")
    expected = expected_release(design, distribution, read_assumptions(design, rows, **assumed))
    return Draws(read_model(expected, None, None, None)[1], 0.95, one_table=one_table)


@pytest.mark.no_cover
def test_a_rare_level_has_more_rows_in_one_table_than_in_another():
    """The same 300 draws of noise, so that only the tables differ."""
    cell = Cell("five levels", LEVELS, levels, 800, 2.0)
    stated = cell.stated()
    fixed, varying = (
        drawn(cell.design, cell.rows, one_table=one, epsilon=cell.epsilon, **stated).errors().interval_share
        for one in (True, False)
    )
    rare = cell.plan_names().index("g[e]")
    assert varying[rare] < fixed[rare] - 0.02


def numbers(columns):
    return {"y": (0, 100), **{f"x{index}": (0, 10) for index in range(columns)}}


def kinds(columns):
    return {"y": (-5, 50), **{f"c{index}": bool if index % 3 == 1 else (index, 9 + index) for index in range(columns)}}


CASES = {
    "5 columns": (numbers(5), 30_000, {}, {}),
    "5 columns, some hidden": (kinds(5), 500, {}, {}),
    "5 correlated columns": (numbers(5), 2_500, {"correlation": 0.9}, {}),
    "5 columns without intercept": (numbers(5), 150, {}, {"intercept": False}),
    "12 columns": (kinds(12), 30_000, {}, {}),
    "12 correlated columns": (numbers(12), 8_500, {"correlation": 0.9}, {}),
}


def directly(draws):
    """Widths one coefficient and one draw at a time, with a decomposition for each; and what was in doubt."""
    equations = draws.equations
    L = unit_map(equations)
    C, F, z = noise_map(equations), equations.noise, draws._critical(1.0)
    tables = module._tables(equations, 1.0, draws.usual)
    widths, doubts = [], 0
    for sums, noise in zip(tables, module._noises(equations, draws.usual), strict=False):
        score = score_from_sums(sums + C @ noise @ C.T, equations.nobs + noise[0, 0], C, F)
        if score is None:
            widths.append([math.inf] * len(L))
            continue
        values, axes = np.linalg.eigh(score.covariance)
        root = axes * np.sqrt(np.maximum(values, 0.0))
        own, sure = [], []
        for row in L:
            v = score.covariance @ row / (row @ score.covariance @ row)
            w, r, t = (score.noise_map.T @ (score.inverse @ row)), score.noise_map.T @ v, score.contrast
            form = product_covariance(F, w)
            q0, q1, q2 = row @ score.covariance @ row, -t @ form @ r, r @ form @ r
            a, b, c = 1 - z**2 * q2, z**2 * q1, z**2 * q0
            own.append(2 * math.sqrt(b * b + a * c) / a if a > 0 else math.inf)
            growth = root.T @ score.noise_map @ form @ score.noise_map.T @ root
            sure.append(z**2 * np.linalg.eigvalsh(growth)[-1] < q0)
        if any(math.isfinite(width) and not known for width, known in zip(own, sure, strict=True)):
            scale = np.abs(L).max(axis=1)
            own = module._widths(module._about(score, L / scale[:, None], equations), 0.95) * scale
            doubts += 1
        widths.append(own)
    return np.array(widths), doubts


@pytest.mark.parametrize("case", CASES)
def test_widths_are_those_of_the_direct_formula(case):
    columns, rows, assumed, options = CASES[case]
    draws = drawn(discreet.Design("y", columns, **options), rows, **assumed)
    draws.usual = 25
    expected, doubts = directly(draws)
    found = draws.errors().width
    assert np.array_equal(np.isfinite(found), np.isfinite(expected))
    assert np.isfinite(found).any()
    assert np.allclose(found, expected, rtol=1e-9)
    assert (doubts > 0) == (rows < 10_000), "some cases are decided by the sets themselves"
    # one coefficient alone has the same numbers
    assert np.allclose(draws.errors([2]).width[:, 0], found[:, 2], rtol=1e-9)
    share = np.isfinite(expected).mean(axis=0)
    for wanted in (0.5, 0.9):
        among = np.arange(len(share)) > 0
        enough = draws.enough(1.0, wanted, 25, among, sets=True)
        assert np.array_equal(enough, among & (share >= wanted))
        assert (draws.enough(1.0, wanted, 25, among, sets=False) <= enough).all()


def test_many_columns_give_the_direct_formula_too(monkeypatch):
    draws = drawn(discreet.Design("y", numbers(30)), 40_000, correlation=0.9)
    draws.usual = 3
    expected, doubts = directly(draws)
    assert doubts
    assert np.isfinite(expected).any()
    for home in (growth, nuisance):
        monkeypatch.setattr(home, "DENSE", 20)
    assert np.allclose(draws.errors().width, expected, rtol=1e-8)


def test_draws_that_are_many_are_not_kept(monkeypatch):
    draws = drawn(discreet.Design("y", numbers(2)), 5_000)
    kept = draws.errors()
    assert draws._kept
    monkeypatch.setattr(module, "_KEPT", 0)
    monkeypatch.setattr(module, "_TOGETHER", 1)
    again = drawn(discreet.Design("y", numbers(2)), 5_000)
    found = again.errors()
    assert not again._kept
    for name in ("sampling", "privacy", "width"):
        assert getattr(found, name) == pytest.approx(getattr(kept, name), rel=1e-12)


def test_work_ends_where_somebody_asks_and_early_where_all_is_known():
    calls = 0

    def check():
        nonlocal calls
        calls += 1
        if calls > limit:
            raise Cancelled

    draws = drawn(discreet.Design("y", numbers(3)), 20)
    draws.check, limit = check, math.inf
    among = np.ones(draws.size, dtype=bool)
    # nothing is bounded: 7 of 60 draws decide
    assert not draws.enough(1.0, 0.9, 60, among, sets=False).any()
    assert calls == 7
    calls, limit = 0, 3
    with pytest.raises(Cancelled):
        draws.errors()
    assert calls == 4


def test_one_table_is_repeated():
    draws = drawn(discreet.Design("y", kinds(3)), 3_000, one_table=True)
    sums = module._sums(draws.equations)
    scores = list(draws._scores(1.0, 3))
    C = noise_map(draws.equations)
    noises = module._noises(draws.equations, 3)
    for score, table, noise in zip(scores, repeat(sums), noises, strict=False):
        assert np.allclose(score.inverse @ (table + noise)[:-1, :-1], np.eye(len(C) - 1), atol=1e-9)

"""What the width of each bound costs."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from discreet.analyst.bound_costs import BoundCost, bound_costs, costliest_bound_text
from discreet.analyst.equations.noise import EntryNoise, product_covariance
from discreet.analyst.model import fit
from discreet.analyst.planning.assumptions import read_assumptions
from discreet.analyst.planning.expected import expected_release
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from discreet.planning import noise_distribution_for
from support.diagnosed import ROWS, release, table


def test_half_the_width_saves_what_a_release_with_half_the_width_has_less() -> None:
    # an independent check: the same rows under narrower bounds, with the same noise in scaled units
    columns = table()
    columns["x"] = [value / 4 for value in columns["x"]]
    wide = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1)})
    narrow = Design("y", {"y": (-1, 1), "x": (-0.5, 0.5), "z": (-1, 1)})
    parts = []
    for design in (wide, narrow):
        model = fit(release(columns, design=design, sigma=0.2))
        A = np.column_stack([np.ones(ROWS), columns["x"], columns["z"]])
        score = model._score
        to_original = np.diag([1.0, 1 / design.columns["x"].half, 1.0])
        covariance = to_original @ score.privacy @ to_original
        parts.append(np.trace(A.T @ A @ covariance) / ROWS)
    saved = 1 - (parts[1] / parts[0]) ** 0.5
    release_wide = release(columns, design=wide, sigma=0.2)
    (cost,) = [cost for cost in bound_costs(release_wide, model_of(release_wide.design)) if cost.name == "x"]
    # noisy sums on one side and exact ones on the other
    assert cost.saved == pytest.approx(saved, abs=0.03)
    assert cost.fits


@pytest.mark.parametrize("columns", [5, 12])
def test_savings_are_those_of_sums_that_are_stretched_column_by_column(columns: int) -> None:
    declared = {"y": (-1, 9), **{f"x{index}": bool if index % 3 == 2 else (0, 4) for index in range(columns)}}
    design = Design("y", declared)
    assume = {"y": {"mean": 1.0, "sd": 0.5}, "x0": {"mean": 0.5, "sd": 0.2}}
    distribution = noise_distribution_for(design, 1.0, 1e-6)
    expected = expected_release(design, distribution, read_assumptions(design, 20_000, assume=assume, correlation=0.4))
    M, noise = expected.moments, EntryNoise(expected.noise_sd, tuple(distribution.indicator_columns))

    def error(sums: np.ndarray) -> float:
        A, b = sums[:-1, :-1], sums[:-1, -1]
        noisy = product_covariance(noise, np.append(-np.linalg.solve(A, b), 1.0))[:-1, :-1]
        return float(np.trace(np.linalg.solve(A, noisy)))

    found = {cost.name: cost.saved for cost in bound_costs(expected, model_of(expected.design))}
    for index, name in enumerate(design.released[1:], start=1):
        if declared[name] is bool:
            assert name not in found
            continue
        T = np.eye(len(M))
        T[index, index] = 2.0
        T[index, 0] = -2.0 * np.clip(M[0, index] / M[0, 0], -0.5, 0.5)
        worth = 0.5 if name == "y" else 1.0
        assert found[name] == pytest.approx(1 - worth * (error(T @ M @ T.T) / error(M)) ** 0.5, rel=1e-9)
    assert max(found.values()) > 0.1


def test_costs_are_for_numbers_only_and_a_spread_that_noise_hides_is_not_told() -> None:
    design = Design("y", {"y": (-1, 1), "x": (-1, 1), "g": ["a", "b"]})
    columns = {"y": table()["y"], "x": table()["x"], "g": ["a" if i % 2 else "b" for i in range(ROWS)]}
    made_release = release(columns, design=design)
    assert {cost.name for cost in bound_costs(made_release, model_of(made_release.design))} == {"x", "y"}
    constant = {**table(), "y": [0.0] * ROWS}
    still = release(constant, sigma=0.3, seed=5)
    spreads = {cost.name: cost.spread for cost in bound_costs(still, model_of(still.design))}
    assert spreads["x"] is not None
    assert spreads["y"] is None or spreads["y"][1] - spreads["y"][0] < 0.5


def test_bounds_of_dates_are_printed_as_dates() -> None:
    days = (date(2019, 1, 1), date(2024, 12, 31))
    column = Design("y", {"y": (0, 1), "d": {"bounds": days}}).columns["d"]
    cost = BoundCost("d", column, 0.4, (18000.2, 18300.0), fits=True, reached=None)
    text = costliest_bound_text((cost,), {})
    assert "the bounds [2019-01-01, 2024-12-31] of d were half as wide" in text
    assert "most rows lie between 2019-04-14 and 2020-02-08" in text

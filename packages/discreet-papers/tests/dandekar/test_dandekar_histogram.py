"""The perturbed histogram: cells, counts and the two ways to treat negative counts."""

from __future__ import annotations

import numpy as np
import pytest

from discreet_papers.dandekar.dandekar_methods import EXCHANGED, Cells, as_written, corrected


def rows_of(rows: int = 3_000) -> np.ndarray:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, rows)
    level = rng.integers(0, 3, rows) - 1.0
    return np.column_stack([x, level, np.clip(0.5 * x + 0.3 * level + 0.1 * rng.normal(size=rows), -1, 1)])


def test_every_row_is_in_the_cell_of_its_nearest_centre() -> None:
    cells = Cells(8, (0, 3, 0))
    columns = rows_of(200)
    assert len(cells) == 8 * 3 * 8
    for row in columns:
        nearest = np.abs(cells.centres - row).sum(axis=1).argmin()
        assert cells.counts(row[None]).argmax() == nearest
    assert cells.counts(columns).sum() == 200


def test_the_loss_of_the_centres_is_that_of_weighted_rows() -> None:
    cells = Cells(4, (0, 2))
    weights = np.random.default_rng(2).uniform(size=len(cells))
    loss = cells.loss(weights)
    x, y = cells.centres[:, :1], cells.centres[:, 1]
    assert pytest.approx((x * weights[:, None]).T @ x) == loss.Q
    assert loss.q == pytest.approx((x * weights[:, None]).T @ y)


@pytest.mark.parametrize("fit", [as_written, corrected])
def test_without_noise_both_are_least_squares_on_the_rows_up_to_the_width_of_cells(fit) -> None:
    columns = rows_of()
    cells = Cells(40, (0, 3, 0))
    theta = fit(cells.counts(columns), cells, 1e9, np.random.default_rng(3))
    exact = np.linalg.lstsq(columns[:, :2], columns[:, 2], rcond=None)[0]
    assert theta == pytest.approx(exact, abs=0.01)


def test_counts_at_zero_pull_the_slope_to_zero_and_kept_ones_do_not() -> None:
    columns = rows_of()
    cells = Cells(24, (0, 3, 0))
    counts = np.tile(cells.counts(columns), (200, 1))
    rng = np.random.default_rng(4)
    clipped, kept = (fit(counts, cells, 2.0, rng)[:, 0] for fit in (as_written, corrected))
    # the mean of 200 slopes with a standard deviation of at most 0.05 is within 0.02 of its expectation
    assert clipped.mean() < 0.42
    assert kept.mean() == pytest.approx(0.5, abs=0.02)


def test_the_norm_of_the_noise_grows_with_the_root_of_the_cells() -> None:
    few, many = Cells(4, (0, 0)), Cells(16, (0, 0))
    assert many.noise_norm / few.noise_norm == pytest.approx(4, rel=0.3)
    assert EXCHANGED == 2

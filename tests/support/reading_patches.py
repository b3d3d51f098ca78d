"""Mistakes in reading rows that can be put into the production path while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet import estimator
from discreet.curator import individuals as persons
from discreet.curator import rows
from discreet.mechanisms import calibration as blocks
from discreet.tables import frames

Patch = pytest.MonkeyPatch


def not_clipped(patch: Patch) -> None:
    written = rows.write_scaled

    def write(columns: Any, arrays: Any, out: np.ndarray, *, unit: float, integers: bool) -> None:
        written(columns, arrays, out, unit=unit, integers=integers)
        (name, column), values = next(iter(columns.items())), arrays[0]
        assert name
        if hasattr(column, "half"):
            out[0] = np.rint(np.clip((values - column.mid) * unit / column.half, -2 * unit, 2 * unit))

    patch.setattr(rows, "write_scaled", write)


def scaled_by(how: Callable[[np.ndarray], np.ndarray]) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        written = rows.write_scaled

        def write(columns: Any, arrays: Any, out: np.ndarray, *, unit: float, integers: bool) -> None:
            written(columns, arrays, out, unit=unit, integers=integers)
            if out.shape[1] > 1:
                out[0] = np.rint(np.clip(how(out[0] / unit), -1, 1) * unit)

        patch.setattr(rows, "write_scaled", write)

    return apply


def by_largest(values: np.ndarray) -> np.ndarray:
    return values / max(np.abs(values).max(), 2**-16)


def by_mean_and_deviation(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / max(2 * values.std(), 2**-16)


def standardised_before_fit(patch: Patch) -> None:
    fit = estimator.PrivateLinearRegression.fit

    def standardised(self: Any, X: Any, y: Any) -> Any:
        table = np.array(X, dtype=float)
        return fit(self, (table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-9), y)

    patch.setattr(estimator.PrivateLinearRegression, "fit", standardised)


def type_of_the_whole_column(patch: Patch) -> None:
    array = frames.cell_array

    def inferred(column: Any, cells: Any) -> Any:
        known = list(cells)
        return array(column, [None] * len(known) if any(isinstance(one, str) for one in known) else known)

    patch.setattr(frames, "cell_array", inferred)


def one_row_too_many(patch: Patch) -> None:
    made = persons.IndividualCap.__init__

    def init(self: Any, *given: Any, **more: Any) -> None:
        made(self, *given, **more)
        self._max_rows += 1

    patch.setattr(persons.IndividualCap, "__init__", init)


def noise_of_one_row(patch: Patch) -> None:
    loss = blocks.weighted_loss
    patch.setattr(blocks, "weighted_loss", lambda *given, **more: loss(*given, **{**more, "rows_per_unit": 1}))


def place_decides(patch: Patch) -> None:
    """Rows count by where they stand in the table, in an order that one row more changes."""
    patch.setattr(
        persons,
        "row_digests",
        lambda values, key: (np.arange(values.shape[1]) * values.shape[1] % 11).astype(np.uint64),
    )


def ball_forgotten(patch: Patch) -> None:
    patch.setattr(rows, "shrink_to_ball", lambda block, norm2: None)

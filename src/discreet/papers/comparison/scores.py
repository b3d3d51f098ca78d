"""The protocol: splits, errors of prediction, excess over least squares, and ratios to a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.errors import DiscreetError, SpecError
from discreet.papers.comparison.contenders import REFERENCE, kind_of, trained
from discreet.papers.comparison.tables import box, saved_rows
from discreet.papers.figure import Row
from discreet.papers.methods import Factory, Regressor, reader_model, reader_predictions

if TYPE_CHECKING:
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray, IntArray

EPSILONS: Final = (0.1, 0.3, 1.0, 3.0)
SPLITS: Final = 10
QUICK_SPLITS: Final = 3
CAP: Final = 10.0  # of 1 - R2
FLOOR: Final = 0.002  # of the excess
_SPLIT_SEED: Final = 2018


@dataclass(frozen=True)
class Protocol:
    """How methods are compared.

    Attributes
    ----------
    epsilons
        Budgets.
    delta
        One for all, or none for n^-1.1 with the n of the training part.
    splits
        How many random splits; the same for every method.
    test_share
        Share of the rows that are predicted.
    widen
        Share of a column's range that its box adds on each side.
    """

    epsilons: tuple[float, ...] = EPSILONS
    delta: float | None = None
    splits: int = SPLITS
    test_share: float = 0.1
    widen: float = 0.1

    def __post_init__(self) -> None:
        if not self.epsilons or not all(np.isfinite(one) and one > 0 for one in self.epsilons):
            raise SpecError(f"epsilon: expected numbers above 0, got {list(self.epsilons)}")
        if self.delta is not None and not 0 < self.delta < 1:
            raise SpecError(f"delta: expected a number between 0 and 1, got {self.delta!r}")
        if isinstance(self.splits, bool) or not isinstance(self.splits, int) or self.splits < 1:
            raise SpecError(f"splits: expected a positive integer, got {self.splits!r}")
        if not 0 < self.test_share < 1:
            raise SpecError(f"test_share: expected a number between 0 and 1, got {self.test_share!r}")
        if not (np.isfinite(self.widen) and self.widen >= 0):
            raise SpecError(f"widen: expected a number of at least 0, got {self.widen!r}")


def split_rows(rows: int, split: int, test_share: float) -> tuple[IntArray, IntArray]:
    """Places of the training and of the test rows; the same split gives the same places.

    >>> train, test = split_rows(100, 0, 0.1)
    >>> len(train), len(test), len({*train, *test})
    (90, 10, 100)
    """
    held_out = min(max(round(rows * test_share), 2), rows - 2)
    order = np.random.default_rng([_SPLIT_SEED, split]).permutation(rows)
    return order[held_out:], order[:held_out]


def unexplained(y: FloatArray, predicted: FloatArray) -> float:
    """1 - R2: mean squared error over the variance of the target, both on the same rows.

    >>> unexplained(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    1.0
    """
    return float(np.mean((y - predicted) ** 2) / np.var(y))


def scored(
    seed: int,
    path: str,
    table: str,
    method: str,
    epsilon: float,
    delta: float | None,
    splits: int,
    test_share: float,
    widen: float,
    digest: str = "",
) -> list[Row]:
    """Errors of one method on one table at one epsilon: a row for each split; a refusal is a row without a value."""
    del digest
    x, y = saved_rows(path)
    protocol = Protocol((epsilon,), delta, splits, test_share, widen)
    return score_method(table, method, method, x, y, epsilon, protocol, seed)


def score_method(
    table: str,
    name: str,
    method: str | Factory | Regressor,
    x: FloatArray,
    y: FloatArray,
    epsilon: float,
    protocol: Protocol,
    seed: int,
) -> list[Row]:
    """As `scored`, for rows in memory; `method` may be a factory or an object with `fit` and `predict`."""
    bounds, target_bounds = box(x, y, protocol.widen)
    kind = kind_of(method) if isinstance(method, str) else "own"
    rows: list[Row] = []
    for split in range(protocol.splits):
        train, test = split_rows(len(y), split, protocol.test_share)
        delta = len(train) ** -1.1 if protocol.delta is None else protocol.delta
        row: Row = {"table": table, "method": name, "kind": kind, "epsilon": epsilon, "delta": delta, "split": split}
        rows.append(row)
        # Any: keywords of a method have several types
        given: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "bounds": bounds,
            "target_bounds": target_bounds,
        }
        try:
            if isinstance(method, str):
                model = trained(method, x[train], y[train], seed=(seed + split) % 2**63, **given)
            else:
                model = reader_model(method, x[train], y[train], **given)
            row["value"] = unexplained(y[test], reader_predictions(model, x[test]))
            row["note"] = ""
        except DiscreetError as refusal:
            if kind == "own":
                raise
            row["value"] = float("nan")
            row["note"] = str(refusal)
    return rows


def medians(numbers: DataFrame) -> DataFrame:
    """Median of 1 - R2 over splits, capped at 10: a row for each table and method, a column for each epsilon."""
    capped = numbers.assign(value=numbers["value"].clip(upper=CAP))
    grouped = capped.groupby(["table", "method", "epsilon"], sort=False)["value"].median()
    wide = grouped.unstack("epsilon")
    return wide.reindex(grouped.droplevel("epsilon").index.unique())


def excess(numbers: DataFrame) -> DataFrame:
    """Median minus that of least squares, at least 0.002: a row for each table and method."""
    found = medians(numbers)
    reference = found.xs(REFERENCE, level="method").reindex(found.index.get_level_values("table"))
    return (found - reference.to_numpy()).clip(lower=FLOOR)


def ratios(numbers: DataFrame, baseline: str) -> DataFrame:
    """Geometric mean over tables of the excess relative to a baseline's, by epsilon and over all of them."""
    found = excess(numbers)
    relative = found / found.xs(baseline, level="method").reindex(found.index.get_level_values("table")).to_numpy()
    logs = np.log(relative)
    by_method = logs.groupby(level="method", sort=False)
    means = np.exp(by_method.mean())
    means["all"] = np.exp(logs.mean(axis=1).groupby(level="method", sort=False).mean())
    return means

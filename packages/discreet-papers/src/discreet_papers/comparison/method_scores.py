"""Train methods on tables and score their predictions. NOT PRIVATE."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from discreet.accounting.settings import MOMENTS
from discreet.errors import DiscreetError, SpecError
from discreet.mechanisms.registry import HOMES, mechanism_named
from discreet.options import AUTO
from discreet_papers.baselines.baseline_registry import BASELINES
from discreet_papers.comparison.method_tables import box, saved_rows
from discreet_papers.figure import Row
from discreet_papers.methods import Factory, Regressor, reader_method, reader_model, reader_predictions

if TYPE_CHECKING:
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray, IntArray

# -- contenders --------------------------------------------------------------------------------------------------------
# The compared methods: mechanisms of the library, baselines, references without privacy, and a user's methods.

REFERENCE: Final = "ols"
BASELINE: Final = "adassp-published"
# slow with many columns, so they take part only if named
_ON_REQUEST: Final = ("dpme", "ridge")
# default penalty for a mechanism that releases moments
_MOMENTS_PENALTY: Final = "adaptive"
# penalties whose strength is chosen from the release
_WITH_STRENGTH: Final = ("ridge", "lasso", "elastic-net")


def default_methods() -> tuple[str, ...]:
    """Return all methods that use delta. References and baselines come first.

    >>> {"ols", "tukey-em", "gaussian"} <= set(default_methods())
    True
    """
    ours = [name for name in HOMES if mechanism_named(name).info.notion != "pure"]
    return tuple(name for name in (*BASELINES, *ours) if name not in _ON_REQUEST)


def all_methods() -> tuple[dict[str, str], ...]:
    """Return name, kind and description of every method."""
    methods = [{"name": name, "kind": method.kind, "about": method.about} for name, method in BASELINES.items()]
    methods.append({"name": AUTO, "kind": "mechanism", "about": "the default of PrivateLinearRegression"})
    methods += [{"name": name, "kind": "mechanism", "about": mechanism_named(name).info.summary} for name in HOMES]
    return tuple(methods)


def kind_of(method: str) -> str:
    """Return the kind of a method: `mechanism`, `baseline`, `reference`, or `own` for a user's method.

    >>> kind_of("ols"), kind_of("gaussian/ridge"), kind_of("module:factory")
    ('reference', 'mechanism', 'own')
    """
    if ":" in method:
        return "own"
    return BASELINES[method].kind if method in BASELINES else "mechanism"


def check_methods(methods: Sequence[str]) -> None:
    """Reject an unknown name before any work starts."""
    for method in methods:
        if not isinstance(method, str):
            raise SpecError(f"methods: expected names of methods, got one of type {type(method).__name__}")
        if kind_of(method) == "own":
            reader_method(method)
        elif method not in BASELINES and method.partition("/")[0] not in (AUTO, *HOMES):
            raise SpecError.unknown_name("method", method, (*BASELINES, AUTO, *HOMES, "module:factory"))


def trained(
    method: str,
    x: FloatArray,
    y: FloatArray,
    *,
    epsilon: float,
    delta: float,
    bounds: list[tuple[float, float]],
    target_bounds: tuple[float, float],
    seed: int,
) -> Regressor:
    """Train a method under a budget. Mechanisms run through the public estimator, whose noise has no seed."""
    if method in BASELINES:
        kind = BASELINES[method].load()
        baseline = kind(epsilon=epsilon, delta=delta, bounds=bounds, target_bounds=target_bounds, seed=seed)
        return baseline.fit(x, y)
    if kind_of(method) == "own":
        return reader_model(method, x, y, epsilon=epsilon, delta=delta, bounds=bounds, target_bounds=target_bounds)
    from discreet.estimator import PrivateLinearRegression

    name, _, penalty = method.partition("/")
    # Any: estimator keywords have many types
    options: dict[str, Any] = {"penalty": penalty} if penalty else {}
    if not penalty and name in MOMENTS:
        options["penalty"] = _MOMENTS_PENALTY
    if penalty in _WITH_STRENGTH:
        options["strength"] = "criterion"
    lows, highs = np.array(bounds).T
    model = PrivateLinearRegression(
        epsilon=epsilon, delta=delta, bounds=(lows, highs), target_bounds=target_bounds, mechanism=name,
        allow_weak_privacy=True, **options,
    )  # fmt: skip
    with warnings.catch_warnings():
        # warnings about budgets matter only for data that needs protection
        warnings.simplefilter("ignore")
        return cast("Regressor", model.fit(x, y))


# -- scores ------------------------------------------------------------------------------------------------------------
# The protocol: splits, prediction errors, excess error over least squares, and ratios to a baseline.

EPSILONS: Final = (0.1, 0.3, 1.0, 3.0)
SPLITS: Final = 10
QUICK_SPLITS: Final = 3
CAP: Final = 10.0  # upper limit of 1 - R2
FLOOR: Final = 0.002  # lower limit of the excess error
_SPLIT_SEED: Final = 2018


@dataclass(frozen=True)
class Protocol:
    """Settings of a comparison.

    `delta` is the same for all tables, or None for n^-1.1 with n training rows. The random splits are the same for
    every method. `test_share` is the fraction of rows held out. `widen` is the fraction of a column's range by which
    its bounds are widened on each side.
    """

    epsilons: tuple[float, ...] = EPSILONS
    delta: float | None = None
    splits: int = SPLITS
    test_share: float = 0.1
    widen: float = 0.1

    def __post_init__(self) -> None:
        if not self.epsilons or not all(np.isfinite(epsilon) and epsilon > 0 for epsilon in self.epsilons):
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
    """Return indices of the training and test rows. A split always has the same indices.

    >>> train, test = split_rows(100, 0, 0.1)
    >>> len(train), len(test), len({*train, *test})
    (90, 10, 100)
    """
    held_out = min(max(round(rows * test_share), 2), rows - 2)
    order = np.random.default_rng([_SPLIT_SEED, split]).permutation(rows)
    return order[held_out:], order[:held_out]


def unexplained(y: FloatArray, predicted: FloatArray) -> float:
    """Return 1 - R2: the mean squared error divided by the variance of the target on the same rows.

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
    """Score a method on a saved table at one epsilon, one row per split. A failure has no value."""
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
    """Score a method, a factory or an object with `fit` and `predict` on rows in memory, as `scored` does."""
    bounds, target_bounds = box(x, y, protocol.widen)
    kind = kind_of(method) if isinstance(method, str) else "own"
    rows: list[Row] = []
    for split in range(protocol.splits):
        train, test = split_rows(len(y), split, protocol.test_share)
        delta = len(train) ** -1.1 if protocol.delta is None else protocol.delta
        row: Row = {"table": table, "method": name, "kind": kind, "epsilon": epsilon, "delta": delta, "split": split}
        rows.append(row)
        # Any: keywords of a method have several types
        options: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "bounds": bounds,
            "target_bounds": target_bounds,
        }
        try:
            if isinstance(method, str):
                model = trained(method, x[train], y[train], seed=(seed + split) % 2**63, **options)
            else:
                model = reader_model(method, x[train], y[train], **options)
            row["value"] = unexplained(y[test], reader_predictions(model, x[test]))
            row["note"] = ""
        except DiscreetError as refusal:
            if kind == "own":
                raise
            row["value"] = float("nan")
            row["note"] = str(refusal)
    return rows


def medians(numbers: DataFrame) -> DataFrame:
    """Tabulate the median of 1 - R2 over splits, capped at 10: a row per table and method, a column per epsilon."""
    capped = numbers.assign(value=numbers["value"].clip(upper=CAP))
    grouped = capped.groupby(["table", "method", "epsilon"], sort=False)["value"].median()
    wide = grouped.unstack("epsilon")
    return wide.reindex(grouped.droplevel("epsilon").index.unique())


def excess(numbers: DataFrame) -> DataFrame:
    """Return the excess error: the median of 1 - R2 minus the median of least squares, at least 0.002."""
    table = medians(numbers)
    reference = table.xs(REFERENCE, level="method").reindex(table.index.get_level_values("table"))
    return (table - reference.to_numpy()).clip(lower=FLOOR)


def ratios(numbers: DataFrame, baseline: str) -> DataFrame:
    """Return ratios of the excess error to a baseline: geometric means over tables, by epsilon and overall."""
    table = excess(numbers)
    relative = table / table.xs(baseline, level="method").reindex(table.index.get_level_values("table")).to_numpy()
    logs = np.log(relative)
    by_method = logs.groupby(level="method", sort=False)
    means = np.exp(by_method.mean())
    means["all"] = np.exp(logs.mean(axis=1).groupby(level="method", sort=False).mean())
    return means

"""Whatever a public function is given, it answers or refuses in words of its own: no error of Python gets out."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import discreet
from discreet import primitives, privacy
from discreet.errors import DiscreetError, ReleaseFileError, SpecError
from discreet.privacy import (
    budget,
    guarantee,
    textbook,
)
from discreet.privacy import (
    budget as unit,
)
from discreet.privacy import (
    gaussian_dp as conversions,
)
from discreet.privacy import (
    gaussian_dp as gaussian,
)
from discreet.privacy import (
    gaussian_dp as zcdp,
)
from discreet.privacy import (
    textbook as composition,
)
from discreet.testing.not_private import exact_release

LONGEST_MESSAGE = 1000
TOO_LONG = "9" * 20_000


class Nameless:
    """Cannot be written, not as text and not in a message."""

    def __repr__(self) -> str:
        raise RuntimeError("no name")

    __str__ = __repr__


class NamelessNumber(float):
    __repr__ = __str__ = Nameless.__repr__


class Spent:
    """Says that it has entries and gives none."""

    def __iter__(self) -> object:
        raise RuntimeError("nothing left")


HUGE = {"huge": 10**400, "huge below zero": -(10**400), "huge fraction": Fraction(10**400, 3)}
ODD: dict[str, object] = {
    **HUGE, "decimal": Decimal("1e999"), "fraction": Fraction(1, 3), "largest": 1e308, "smallest": 5e-324,
    "nan": float("nan"), "inf": float("inf"), "zero": 0, "below zero": -1, "true": True, "text": "1", "bytes": b"1",
    "object": object(), "list": [1], "dict": {}, "complex": 1j, "array": np.array([1.0, 2.0]), "none": None,
    "no repr": Nameless(), "list without repr": [Nameless()], "dict without repr": {"x": Nameless()},
    "key without repr": {Nameless(): 1}, "number without repr": NamelessNumber(0.5), "no entries": Spent(),
    "array of no dimension": np.array(0.5), "array of objects": np.array([Nameless()], dtype=object),
    "long text": TOO_LONG, "long bytes": TOO_LONG.encode(), "long list": [TOO_LONG], "long key": {TOO_LONG: 1},
    "surrogate": "\ud800", "NUL": "a\0b", "many digits": 10**5000, "two dimensions": np.zeros((2, 2)),
}  # fmt: skip
TABLE = {"x": [0.1, 0.2, 0.3] * 10, "y": [0.1, 0.2, 0.3] * 10}
DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
RELEASE = exact_release(TABLE, DESIGN)
FIT = discreet.fit(RELEASE)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ROWS, TARGET = [[0.1], [0.2]] * 10, [0.1, 0.2] * 10
ESTIMATOR = {**BUDGET, "bounds": (0, 1), "target_bounds": (0, 1), "penalty": "ridge", "strength": 1.0}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that is taken for a path names a file that is gone after the test."""
    monkeypatch.chdir(tmp_path)


def as_key(value: object) -> object:
    """The value where it can be a key of a mapping, or its type."""
    return value if isinstance(value, Hashable) else type(value)


def declared(**changes: object) -> discreet.Design:
    return discreet.Design("y", {"x": {"bounds": (0, 1), **changes}, "y": (0, 1)})


def assumed(**changes: object) -> object:
    return discreet.plan(DESIGN, rows=1e4, **BUDGET, assume={"x": changes})


CALLS: dict[str, tuple[Callable[..., object], dict[str, object]]] = {
    "release": (
        lambda **given: discreet.release(TABLE, DESIGN, **{**BUDGET, **given}),
        dict.fromkeys((
            "epsilon", "delta", "mechanism", "settings", "robust", "clip_counts", "guard", "grid_bits",
            "allow_weak_privacy", "reading", "compute",
        )),
    ),
    "robust": (
        lambda **given: discreet.release(TABLE, DESIGN, **BUDGET, robust=discreet.RobustErrors(**given)),
        {"residual_bound": 1, "models": ["y ~ 1"]},
    ),
    "reading": (
        lambda **given: discreet.release(TABLE, DESIGN, **BUDGET, reading=discreet.ReadOptions(**given)),
        dict.fromkeys(("encoding", "delimiter", "decimal", "thousands", "quoted_line_breaks")),
    ),
    "design": (
        lambda **given: discreet.Design("y", {"x": (0, 1), "y": (0, 1)}, **given),
        {"radius": None, "intercept": True, "unit": None},
    ),
    "low bound": (lambda value: declared(bounds=(value, 1)), {"value": 0}),
    "high bound": (lambda value: declared(bounds=(0, value)), {"value": 1}),
    "fill": (lambda value: declared(missing={"fill": value}), {"value": 0.5}),
    "missing": (lambda value: declared(missing=value), {"value": "drop"}),
    "level": (lambda value: discreet.Design("y", {"x": [1, value], "y": (0, 1)}), {"value": 2}),
    "unit": (discreet.PrivacyUnit, {"neighbours": "replace", "id": "person", "max_rows": 2}),
    "budget": (discreet.PrivacyBudget, BUDGET),
    "compute": (discreet.ComputeOptions, {"batch_rows": 10, "chunk_rows": 10, "workers": 2}),
    "database": (
        lambda **given: discreet.release(discreet.DatabaseTable(**given), DESIGN, **BUDGET),
        {"database": "people.duckdb", "table": "people"},
    ),
    "fit": (
        lambda **given: discreet.fit(RELEASE, **given),
        {"formula": None, "target": "y", "features": ["x"], "intercept": True, "penalty": "ridge", "strength": 1.0},
    ),
    "elastic net": (
        lambda **given: discreet.fit(RELEASE, **given), {"penalty": "elastic-net", "strength": 1.0, "l1_ratio": 0.5}
    ),
    "path": (
        lambda **given: discreet.path(RELEASE, **given),
        {"penalty": "ridge", "strengths": [1.0], "features": ["x"], "target": "y", "intercept": True},
    ),
    "path of an elastic net": (
        lambda **given: discreet.path(RELEASE, penalty="elastic-net", **given), {"l1_ratio": 0.5, "strengths": [1.0]}
    ),
    "strength of a path": (lambda value: discreet.path(RELEASE, strengths=[1.0, value]), {"value": 0.5}),
    "fit of a path": (discreet.path(RELEASE, strengths=[1.0]).fit, {"index": 0}),
    "feature": (lambda value: discreet.fit(RELEASE, features=[value]), {"value": "x"}),
    "compare": (
        lambda **given: discreet.compare_models(RELEASE, **given),
        {"models": [["x"], []], "target": "y", "intercept": True, "level": 0.95},
    ),
    "compared model": (lambda value: discreet.compare_models(RELEASE, [value]), {"value": ["x"]}),
    "diagnose": (discreet.diagnose, {"subject": FIT}),
    "report": (lambda **given: discreet.report(**{"release": RELEASE, **given}), {"fit": FIT, "level": 0.95}),
    "blank design": (
        discreet.blank_design,
        {"path": "people.csv", "target": None, "columns": None, "id": None, "reading": None},
    ),
    "load": (discreet.Release.load, {"path": "release.json"}),
    "load a design": (discreet.Design.load, {"path": "design.toml"}),
    "save": (DESIGN.save, {"path": "no-such-folder/design.toml"}),
    "text of a release": (discreet.Release.from_json, {"text": "{}"}),
    "text of a design": (discreet.Design.from_toml, {"text": ""}),
    "data": (lambda value: discreet.release(value, DESIGN, **BUDGET), {"value": TABLE}),
    "no design": (lambda value: discreet.release(TABLE, value, **BUDGET), {"value": DESIGN}),
    "no design of an exact one": (lambda value: exact_release(TABLE, value), {"value": DESIGN}),
    "no design of a seeded one": (
        lambda value: discreet.testing.seeded_release(TABLE, value, seed=1, **BUDGET), {"value": DESIGN}
    ),
    "no design of a plan": (lambda value: discreet.plan(value, rows=1e4, **BUDGET), {"value": DESIGN}),
    "no release": (discreet.fit, {"release": RELEASE}),
    "no release of a path": (discreet.path, {"release": RELEASE}),
    "no release to compare": (lambda value: discreet.compare_models(value, [["x"]]), {"value": RELEASE}),
    "no release of a report": (discreet.report, {"release": RELEASE}),
    "column of data": (lambda value: discreet.release({**TABLE, "x": value}, DESIGN, **BUDGET), {"value": [0.5] * 30}),
    "seeded": (
        lambda **given: discreet.testing.seeded_release(TABLE, DESIGN, **{**BUDGET, "seed": 1, **given}),
        {"seed": 1, "epsilon": 1.0, "delta": 1e-6, "mechanism": "auto", "settings": None, "robust": False,
         "clip_counts": False, "grid_bits": 16},
    ),
    "exact": (
        lambda **given: exact_release(TABLE, DESIGN, **given), {"clip_counts": False, "grid_bits": 16, "compute": None}
    ),
    "dataset": (discreet.datasets.load, {"name": "clinical", "rows": 10, "seed": 1}),
    "dataset without rows": (discreet.datasets.load, {"name": "clinical"}),
    "smallest epsilon": (
        lambda **given: discreet.planning.smallest_epsilon(DESIGN, **given),
        {"coefficient": "x", "width": 0.5, "rows": 1e4, "delta": 1e-6},
    ),
    "smallest rows": (
        lambda **given: discreet.planning.smallest_rows(DESIGN, **given),
        {"coefficient": "x", "width": 0.5, "epsilon": 1.0, "delta": 1e-6},
    ),
    "gradient settings": (
        lambda value: discreet.release(TABLE, DESIGN, **BUDGET, mechanism="gradient", settings={"iterations": value}),
        {"value": 5},
    ),
    "name of a setting": (
        lambda value: discreet.release(TABLE, DESIGN, **BUDGET, mechanism="gradient", settings={as_key(value): 5}),
        {"value": "iterations"},
    ),
    "objective settings": (
        lambda value: discreet.release(TABLE, DESIGN, **BUDGET, mechanism="objective", settings={"loss": value}),
        {"value": "huber"},
    ),
    "columns": (lambda value: discreet.Design("y", value), {"value": {"x": (0, 1), "y": (0, 1)}}),
    "target": (lambda value: discreet.Design(value, {"x": (0, 1), "y": (0, 1)}), {"value": "y"}),
    "column": (lambda value: discreet.Design("y", {"x": value, "y": (0, 1)}), {"value": (0, 1)}),
    "name of a column": (lambda value: discreet.Design("y", {as_key(value): (0, 1), "y": (0, 1)}), {"value": "x"}),
    "levels": (lambda value: declared(bounds=None, levels=value), {"value": ["a", "b"]}),
    "reference": (
        lambda value: discreet.Design("y", {"x": {"levels": ["a", "b"], "reference": value}, "y": (0, 1)}),
        {"value": "a"},
    ),
    "formula of a column": (
        lambda value: discreet.Design("y", {"x": (0, 1), "y": (0, 1), "z": {"formula": value}}), {"value": "x ** 2"}
    ),
    "dtype": (lambda value: declared(bounds=None, dtype=value), {"value": "bool"}),
    "shares": (lambda value: assumed(shares=value), {"value": 0.5}),
    "assumption": (lambda value: assumed(mean=0.5, sd=value), {"value": 0.1}),
    "correlation": (
        lambda value: discreet.plan(DESIGN, rows=1e4, **BUDGET, correlation={("x", "x"): value}), {"value": 0.5}
    ),
    "pair": (
        lambda value: discreet.plan(DESIGN, rows=1e4, **BUDGET, correlation={as_key(value): 0.5}),
        {"value": ("x", "z")},
    ),
    "wald_test": (FIT.wald_test, {"spec": "x = 0", "use_f": True}),
    "f_test": (FIT.f_test, {"spec": "x = 0"}),
    "rsquared_conf_int": (FIT.rsquared_conf_int, {"level": 0.95}),
    "alpha": (FIT.conf_int, {"alpha": 0.05}),
    "get_prediction": (FIT.get_prediction, {"frame": {"x": [0.5]}}),
    "plan": (
        lambda **given: discreet.plan(DESIGN, **given),
        {"rows": 1e4, **BUDGET, "rsquared": 0.5, "spread": 0.5, "target_spread": 0.5, "assume": None,
         "correlation": None, "level": 0.95, "mechanism": "auto", "settings": None, "robust": False, "guard": False,
         "clip_counts": False, "grid_bits": 16},
    ),
    "mean": (lambda value: assumed(mean=value), {"value": 0.5}),
    "sd": (lambda value: assumed(sd=value), {"value": 0.1}),
    "slope": (lambda value: assumed(slope=value), {"value": 0.1}),
    "conf_int": (FIT.conf_int, {"level": 0.95, "simultaneous": None}),
    "t_test": (FIT.t_test, {"spec": "x = 0"}),
    "predict": (FIT.predict, {"frame": {"x": [0.5]}}),
    "estimator": (
        lambda **given: discreet.PrivateLinearRegression(**{**ESTIMATOR, **given}).fit(ROWS, TARGET),
        dict.fromkeys(inspect.signature(discreet.PrivateLinearRegression).parameters),
    ),
}  # fmt: skip


def escaped(call: Callable[..., object], ordinary: dict[str, object], names: list[str]) -> list[str]:
    """What is raised by other than our own errors, when one argument at a time is odd."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            for kind, odd in ODD.items():
                given = {key: value for key, value in ordinary.items() if value is not None} | {name: odd}
                try:
                    call(**given)
                except DiscreetError as error:
                    if len(str(error)) > LONGEST_MESSAGE:
                        found.append(f"{name} = {kind}: {len(str(error))} characters")
                except Exception as error:
                    found.append(f"{name} = {kind}: {type(error).__name__}: {error}")
    return found


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("what", CALLS)
def test_an_odd_argument_is_refused_in_our_words(what: str) -> None:
    call, ordinary = CALLS[what]
    assert escaped(call, ordinary, list(ordinary)) == []


# ordinary arguments of the functions of the rooms that hold nothing but numbers
NUMBERS = {
    "epsilon": 1.0, "delta": 1e-6, "rho": 0.5, "mu": 1.0, "sensitivity": 1, "sigma": 1.0, "scale": 1.0, "value": 3,
    "values": [0.1, 0.2], "counts": [1, 2], "bounds": (0, 1), "probability": 0.5, "alpha": 2.0, "k": 2, "n": 5,
    "scores": [1, 2], "answers": [0, 1], "answer": True, "categories": ["a", "b"], "rows": 5, "level": 0.95,
    "budget": discreet.PrivacyBudget(1.0, 1e-6),
}  # fmt: skip


def functions(room: ModuleType) -> dict[str, Callable[..., object]]:
    """Public functions of a room; of a module of `privacy` those that the room lists."""
    names = getattr(room, "__all__", [name for name in vars(room) if name in privacy.__all__])
    made = {name: getattr(room, name) for name in names if not name.startswith("_")}
    return {
        name: one
        for name, one in made.items()
        if inspect.isfunction(one) and ("__all__" in vars(room) or one.__module__ == room.__name__)
    }


@pytest.mark.parametrize(
    "room",
    [primitives, budget, composition, conversions, gaussian, guarantee, textbook, unit, zcdp],
    ids=lambda room: room.__name__,
)
def test_an_odd_number_is_refused_in_our_words(room: ModuleType) -> None:
    for name, call in functions(room).items():
        every = inspect.signature(call).parameters
        parameters = {key: one for key, one in every.items() if one.kind is not one.VAR_POSITIONAL}
        needed = [key for key, one in parameters.items() if one.default is inspect.Parameter.empty]
        ordinary = {key: NUMBERS.get(key, 1.0) for key in needed}
        assert escaped(call, ordinary, [key for key in parameters if key in NUMBERS or key in needed]) == [], name


@pytest.mark.parametrize("given", [None, 5, b"r.json", ["r.json"], object()])
def test_what_is_no_path_and_no_text_is_refused(given: object) -> None:
    for call in (discreet.Release.load, discreet.Design.load, DESIGN.save, RELEASE.save):
        with pytest.raises(DiscreetError, match=r"expected a path|NOT PRIVATE"):
            call(given)  # type: ignore[operator]
    with pytest.raises(ReleaseFileError, match="expected the text of a release file"):
        discreet.Release.from_json(given)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="expected the text of a design file"):
        discreet.Design.from_toml(given)  # type: ignore[arg-type]


def test_weights_that_have_no_mean_are_refused() -> None:
    model = discreet.PrivateLinearRegression(**ESTIMATOR).fit(ROWS, TARGET)  # type: ignore[arg-type]
    for weights, message in (
        ([-1.0, 1.0] * 10, "negative weight"),
        ([0.0] * 20, "must have a sum that is above 0"),
        ([1e308] * 20, "fits in double precision"),
    ):
        with pytest.raises(SpecError, match=message):
            model.score(ROWS, TARGET, sample_weight=weights)


def test_a_huge_bound_is_not_finite() -> None:
    for low, high in ((0, 10**400), (-(10**400), 1)):
        with pytest.raises(SpecError, match="are not finite; declare two finite numbers"):
            declared(bounds=(low, high))
    with pytest.raises(SpecError, match="expected a finite radius of at least 1/256, got 1000"):
        discreet.Design("y", {"x": (0, 1), "y": (0, 1)}, radius=10**400)
    with pytest.raises(SpecError, match="expected integers of at most 309 digits, got one of 5001 digits"):
        discreet.Design.from_toml(f"target = 1{'0' * 5000}")

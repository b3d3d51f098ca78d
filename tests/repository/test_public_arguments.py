"""Whatever a public function is given, it answers or refuses in words of its own: no error of Python gets out."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

import discreet
from discreet import primitives, privacy
from discreet.errors import DiscreetError, ReleaseFileError, SpecError
from discreet.privacy import budget, composition, conversions, gaussian, guarantee, textbook, unit, zcdp
from discreet.testing.not_private import exact_release

HUGE = {"huge": 10**400, "huge below zero": -(10**400), "huge fraction": Fraction(10**400, 3)}
ODD: dict[str, object] = {
    **HUGE, "decimal": Decimal("1e999"), "fraction": Fraction(1, 3), "largest": 1e308, "smallest": 5e-324,
    "nan": float("nan"), "inf": float("inf"), "zero": 0, "below zero": -1, "true": True, "text": "1", "bytes": b"1",
    "object": object(), "list": [1], "dict": {}, "complex": 1j, "array": np.array([1.0, 2.0]), "none": None,
}  # fmt: skip
TABLE = {"x": [0.1, 0.2, 0.3] * 10, "y": [0.1, 0.2, 0.3] * 10}
DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
RELEASE = exact_release(TABLE, DESIGN)
FIT = discreet.fit(RELEASE)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ROWS, TARGET = [[0.1], [0.2]] * 10, [0.1, 0.2] * 10
ESTIMATOR = {**BUDGET, "bounds": (0, 1), "target_bounds": (0, 1), "penalty": "ridge", "strength": 1.0}


def declared(**changes: object) -> discreet.Design:
    return discreet.Design("y", {"x": {"bounds": (0, 1), **changes}, "y": (0, 1)})


def assumed(**changes: object) -> object:
    return discreet.plan(DESIGN, rows=1e4, **BUDGET, assume={"x": changes})


CALLS: dict[str, tuple[Callable[..., object], dict[str, object]]] = {
    "release": (
        lambda **given: discreet.release(TABLE, DESIGN, **{**BUDGET, **given}),
        dict.fromkeys((
            "epsilon", "delta", "mechanism", "settings", "moments", "residual_bound", "clip_counts", "grid_bits",
            "allow_weak_privacy", "encoding", "delimiter", "compute",
        )),
    ),
    "robust": (
        lambda **given: discreet.release(TABLE, DESIGN, **BUDGET, moments="robust", **given), {"residual_bound": 1}
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
    "compute": (discreet.ComputeOptions, {"batch_rows": 10, "chunk_rows": 10}),
    "fit": (
        lambda **given: discreet.fit(RELEASE, **given),
        {"formula": None, "target": "y", "features": ["x"], "intercept": True, "penalty": "ridge", "strength": 1.0},
    ),
    "elastic net": (
        lambda **given: discreet.fit(RELEASE, **given), {"penalty": "elastic-net", "strength": 1.0, "l1_ratio": 0.5}
    ),
    "path": (lambda **given: discreet.path(RELEASE, **given), {"penalty": "ridge"}),
    "plan": (
        lambda **given: discreet.plan(DESIGN, **given),
        {"rows": 1e4, **BUDGET, "rsquared": 0.5, "spread": 0.5, "target_spread": 0.5, "assume": None,
         "correlation": None, "level": 0.95, "mechanism": "auto", "moments": "plain", "settings": None},
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
                except DiscreetError:
                    pass
                except Exception as error:
                    found.append(f"{name} = {kind}: {type(error).__name__}: {error}")
    return found


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
        ([0.0] * 20, "adds up to 0"),
        ([1e308] * 20, "more than a double can hold"),
    ):
        with pytest.raises(SpecError, match=message):
            model.score(ROWS, TARGET, sample_weight=weights)


def test_a_huge_bound_is_not_finite() -> None:
    for low, high in ((0, 10**400), (-(10**400), 1)):
        with pytest.raises(SpecError, match="are not finite; declare two finite numbers"):
            declared(bounds=(low, high))
    with pytest.raises(SpecError, match="radius 1000"):
        discreet.Design("y", {"x": (0, 1), "y": (0, 1)}, radius=10**400)
    with pytest.raises(SpecError, match="not valid TOML"):
        discreet.Design.from_toml(f"target = 1{'0' * 5000}")

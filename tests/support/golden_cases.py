"""What the golden files are made of: one table, its designs, and every mechanism with settings that are quick."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import discreet
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.testing.not_private import SeededSampler
from discreet.workflow import release_with

COLUMNS = {"hours": (0, 60), "region": ["north", "south", "west"], "member": bool, "wage": (0, 40)}
CENTRED = {"hours": (-30, 30), "member": bool, "wage": (-20, 20)}
UNITS: dict[str, dict[str, object]] = {
    "add-remove": {},
    "replace": {"neighbours": "replace"},
    "persons": {"id": "person", "max_rows": 2},
    "persons replaced": {"id": "person", "max_rows": 2, "neighbours": "replace"},
}
DESIGNS = {
    **{name: discreet.Design("wage", COLUMNS, unit=unit) for name, unit in UNITS.items()},
    "no intercept": discreet.Design("wage", CENTRED, intercept=False),
    "ball": discreet.Design("wage", COLUMNS, radius=1.25),
    "derived": discreet.Design(
        "wage",
        {
            "hours": {"bounds": [0, 60], "release": False},
            "long": {"formula": "hours >= 40"},
            "curve": {"formula": "spline(hours, 20, 40, degree=1)"},
            "wage": (0, 40),
        },
    ),
}
BUDGET = {"epsilon": 8.0, "delta": 1e-6}
PURE = {"epsilon": 8.0}
# a mechanism by its name and what tells its variants apart, with its budget and settings
VARIANTS: dict[str, tuple[str, dict[str, float], dict[str, object]]] = {
    "gaussian": ("gaussian", BUDGET, {}),
    "laplace": ("laplace", PURE, {}),
    "k-norm": ("k-norm", PURE, {}),
    "wishart": ("wishart", BUDGET, {"degrees": 100}),
    "wishart with its mean": ("wishart", BUDGET, {"degrees": 200, "debiased": False}),
    "functional": ("functional", PURE, {}),
    "functional with squares": ("functional", PURE, {"target_square": True}),
    "ssp": ("ssp", BUDGET, {}),
    "ssp with squares": ("ssp", BUDGET, {"target_square": True}),
    "adassp": ("adassp", BUDGET, {"target_square": True}),
    "dpme": ("dpme", PURE, {"bins": 5}),
    "dpme gaussian huber": ("dpme", BUDGET, {"bins": 4, "noise": "gaussian", "loss": "huber"}),
    "frank-wolfe": ("frank-wolfe", BUDGET, {"iterations": 25}),
    "frank-wolfe pure": ("frank-wolfe", PURE, {"iterations": 3}),
    "irls": ("irls", BUDGET, {"iterations": 6}),
    "irls moments": ("irls", BUDGET, {"iterations": 3, "form": "moment"}),
    "irls zcdp": ("irls", BUDGET, {"iterations": 3, "composition": "zcdp"}),
    "irls advanced": ("irls", BUDGET, {"iterations": 3, "composition": "advanced", "power": 1.5}),
    "irls basic": ("irls", BUDGET, {"iterations": 3, "composition": "basic", "form": "moment"}),
    "irls without delta": ("irls", PURE, {"iterations": 3}),
    "irls wishart": ("irls", BUDGET, {"iterations": 2, "form": "moment", "noise": "wishart"}),
    "gradient": ("gradient", BUDGET, {"iterations": 6}),
    "refined": ("refined", BUDGET, {}),
    "staged": ("staged", BUDGET, {}),
    "output": ("output", BUDGET, {}),
    "objective": ("objective", BUDGET, {}),
    "objective squared": ("objective", BUDGET, {"loss": "squared"}),
}


class RepeatedSampler(SeededSampler):
    """NOT PRIVATE: noise from a seed that passes for private, so that promises stand in the golden files too."""

    private = True


@functools.cache
def table(rows: int = 600) -> dict[str, list[Any]]:
    """Persons with one to four rows each, and wages that hours, region and membership explain."""
    rng = np.random.default_rng(20)
    hours, member = rng.uniform(0, 60, rows), rng.random(rows) < 0.4
    region = rng.integers(0, 3, rows)
    wage = np.clip(6 + 0.3 * hours + 4 * (region == 1) + 3 * member + rng.normal(0, 2, rows), 0, 40)
    return {
        "hours": hours.round(3).tolist(),
        "region": [COLUMNS["region"][index] for index in region],
        "member": member.tolist(),
        "wage": wage.round(3).tolist(),
        "person": np.sort(rng.integers(0, rows // 2, rows)).tolist(),
    }


def released(
    design: str = "add-remove", variant: str = "gaussian", *, rows: int = 600, epsilon: float | None = None, **more: Any
) -> discreet.Release:
    """A release with repeated noise, without the version of the program and with coefficients of ten digits."""
    mechanism, budget, settings = VARIANTS[variant]
    options = {"delta": 0.0, **budget, **more}
    if epsilon is not None:
        options["epsilon"] = epsilon
    spent = PrivacyBudget(options.pop("epsilon"), options.pop("delta"))
    asked = ReleaseOptions(mechanism=mechanism, settings=settings, **options)
    made = release_with(RepeatedSampler(1), table(rows), DESIGNS[design], spent, asked)
    return digits_cut(replace(made, made_by="discreet"))


def digits_cut(made: discreet.Release) -> discreet.Release:
    """The release with ten significant digits of every double: the rest may differ between builds of BLAS."""
    fitted, part = made.coefficients, made.residuals
    if fitted is not None:
        trace = tuple(tuple(map(ten_digits, step)) for step in fitted.trace)
        made = replace(made, coefficients=replace(fitted, values=tuple(map(ten_digits, fitted.values)), trace=trace))
    if part is not None:
        made = replace(made, residuals=_cut(part))
    return made


def _cut(part: Any) -> Any:
    """A part of a release, whatever its fields are, with doubles of ten digits."""
    changed: dict[str, object] = {}
    for name, value in vars(part).items():
        if isinstance(value, float):
            changed[name] = ten_digits(value)
        elif isinstance(value, tuple) and any(isinstance(one, float) for one in value):
            changed[name] = tuple(map(ten_digits, value))
        elif hasattr(value, "__dataclass_fields__"):
            changed[name] = _cut(value)
    return replace(part, **changed)


def ten_digits(value: float) -> float:
    """The nearest number of ten significant digits, or of four where it is so small that it may be a difference."""
    return float(f"{value:.10g}" if abs(value) > 1e-9 else f"{value:.4g}")


def outcome(make: Any) -> tuple[Any, list[str]]:
    """What a call gives, or the words of its refusal, and its notices."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            given = make()
        except discreet.DiscreetError as error:
            given = f"{type(error).__name__} ({error.exit_code}): {error}"
    return given, [f"{type(one.message).__name__}: {one.message}" for one in heard]

"""Declare the public settings of every mechanism, and check them before a release and in its file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, cast

import numpy as np

from discreet.accounting.fitted_models import HUBER, SQUARED
from discreet.accounting.noise_distribution import Settings
from discreet.errors import OptionError, SpecError, shown


@dataclass(frozen=True, slots=True)
class Setting:
    """Public number, word or switch of a mechanism.

    Attributes
    ----------
    default
        Default value, whose type is the type of the setting.
    about
        One-line description.
    low, high
        Smallest and largest number allowed.
    choices
        Allowed words.
    only_with
        Another setting and the value that this one requires to have an effect, None if it always has.
    """

    default: bool | int | float | str
    about: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    only_with: tuple[str, bool | int | float | str] | None = None

    @property
    def condition(self) -> str:
        """The required value of another setting as a phrase, empty if there is none.

        >>> Setting(0.1, "where", only_with=("loss", "huber")).condition
        'loss = huber'
        """
        if self.only_with is None:
            return ""
        name, value = self.only_with
        return f"{name} = {str(value).lower() if isinstance(value, bool) else value}"


# rules that add up the privacy loss of steps
RULES: Final = ("exact", "zcdp", "cdp", "advanced", "basic")
BALL_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType({
    "strength": Setting(100.0, "ridge penalty, in units of the sums of scaled products, constant included", 1e-3, 1e12),
    "bound": Setting(1.0, "largest length of the scaled coefficients", 1e-3, 1e3),
})  # fmt: skip
_STRENGTH: Final = BALL_SETTINGS["strength"]
_TARGET_SQUARE: Final = Setting(
    False, "release the sum of squares of the target too, which standard errors and R^2 need"
)
_AVERAGE: Final = Setting(True, "publish the mean of the last half of the iterates, not the last one")

DECLARED: Final[Mapping[str, Mapping[str, Setting]]] = MappingProxyType(
    {
        "gaussian": {},
        "laplace": {},
        "k-norm": {},
        "refined": {},
        "staged": {},
        "wishart": {
            "debiased": Setting(True, "subtract the mean of the noise; false keeps a positive semidefinite matrix"),
            "degrees": Setting(10_000, "largest number of degrees of freedom of the noise", 10, 100_000),
            "fewest": Setting(False, "scale the noise like one row and use the fewest degrees that keep the budget"),
        },
        "functional": {
            "target_square": Setting(False, "release the degree-0 term too, which standard errors and R^2 need")
        },
        "ssp": {"target_square": _TARGET_SQUARE},
        "adassp": {
            "eigenvalue_share": Setting(
                1 / 3, "share of mu^2 spent on the smallest eigenvalue; the sums get the rest", 0.005, 0.9
            ),
            "target_square": _TARGET_SQUARE,
        },
        "dpme": {
            "bins": Setting(0, "intervals for each numeric column; 0: set from epsilon and expected_rows", 0, 100_000),
            "expected_rows": Setting(
                10_000, "public guess of the number of rows, which sets bins", 1, 10**12, only_with=("bins", 0)
            ),
            "noise": Setting("laplace", "distribution of the noise of each count", choices=("laplace", "gaussian")),
            "loss": Setting(
                "squares", "loss of the fit: squares for least squares, or huber", choices=("squares", "huber")
            ),
            "threshold": Setting(
                0.25,
                "residual up to which the loss is squared, in scaled units",
                0.001,
                10.0,
                only_with=("loss", "huber"),
            ),
        },
        "frank-wolfe": {
            "radius_l1": Setting(1.0, "largest sum of absolute scaled coefficients, intercept included", 1e-3, 1e3),
            "iterations": Setting(20, "number of steps; each chooses a vertex in one pass over the table", 1, 1000),
            "residual_bound": Setting(
                1.0, "residuals are clipped at this value, in scaled units of the target", 1e-3, 1e4
            ),
        },
        "irls": {
            "form": Setting("score", "noise on clipped scores, or on weighted moments", choices=("score", "moment")),
            "power": Setting(1.0, "the loss grows like this power of a large residual; 1 is Huber's loss", 1.0, 2.0),
            "threshold": Setting(0.1, "residual up to which the loss is squared, in scaled units", 1e-4, 2.0),
            "iterations": Setting(
                0,
                "number of steps; each is a pass and spends budget; 0: 100 for score, 20 with laplace, 10 for moment",
                0,
                1000,
            ),
            "noise": Setting(
                "auto",
                "distribution of the noise; laplace keeps epsilon alone; auto: gaussian, or laplace if delta is 0",
                choices=("auto", "gaussian", "laplace", "wishart"),
            ),
            "composition": Setting("exact", "rule that adds up the privacy loss of the steps", choices=RULES),
            "average": _AVERAGE,
        },
        "gradient": {
            "iterations": Setting(200, "number of steps; each is a pass over the table and spends budget", 1, 1000),
            "clip": Setting(0.25, "residuals are clipped at this value, in scaled units of the target", 1e-4, 2.0),
            "step": Setting(1.0, "length of a step: at most 1, or below 2 without momentum", 1e-3, 2.0),
            "momentum": Setting(True, "carry part of a step into the next; the more columns, the larger that part"),
            "average": _AVERAGE,
        },
        "output": {**BALL_SETTINGS, "strength": replace(BALL_SETTINGS["strength"], default=1000.0)},
        "objective": {
            "loss": Setting(
                HUBER, "huber, or squared for least squares inside a ball of coefficients", choices=(HUBER, SQUARED)
            ),
            "strength": replace(_STRENGTH, default=0.0, low=0.0, about=f"{_STRENGTH.about}; 0: set by the budget"),
            "bound": replace(BALL_SETTINGS["bound"], only_with=("loss", SQUARED)),
            "threshold": Setting(
                0.1, "residual up to which the loss is squared, in scaled units", 1e-4, 2.0, only_with=("loss", HUBER)
            ),
        },
    }
)


def checked_settings(mechanism: str, declared: Mapping[str, Setting], given: Mapping[str, object] | None) -> Settings:
    """Return every declared setting with its value: the one passed, or the default.

    >>> dict(checked_settings("m", {"passes": Setting(10, "how often", 1, 100)}, {"passes": "4"}))
    {'passes': 4}
    """
    if given is not None and not isinstance(given, Mapping):
        raise OptionError(
            f"settings: expected a table such as {{'iterations': 10}}, got {shown(given)}",
            option="settings",
            given=given,
        )
    values = dict(given or {})
    if values and not declared:
        raise OptionError(
            f"the mechanism {mechanism!r} has no settings",
            option="settings",
            remedy=f"leave out {', '.join(map(shown, values))}",
        )
    for name in values:
        if name not in declared:
            raise SpecError.unknown_name("setting", name, declared, f" of the mechanism {mechanism!r}")
    checked = {name: _checked(name, setting, values.get(name, setting.default)) for name, setting in declared.items()}
    for name, setting in declared.items():
        if setting.only_with is not None and checked[name] != setting.default:
            other, value = setting.only_with
            if checked[other] != value:
                counts = setting.condition
                raise OptionError(
                    f"the setting {name!r} applies only with {counts}",
                    option=name,
                    remedy=f"leave it out or set {counts}",
                )
    return MappingProxyType(checked)


def check_stored(mechanism: str, stored: Settings) -> None:
    """Reject settings that no release of the mechanism has: another name or type, or a value out of range.

    A release states every setting of its mechanism.

    >>> check_stored("functional", {"target_square": False})
    """
    declared = DECLARED.get(mechanism)
    if declared is None:
        raise SpecError.unknown_name("mechanism", mechanism, DECLARED)
    checked = checked_settings(mechanism, declared, stored)
    for name, value in checked.items():
        if name not in stored:
            raise SpecError(f"the setting {name!r} of the mechanism {mechanism!r} is missing")
        whole = isinstance(value, float) and type(stored[name]) is int
        if type(stored[name]) is not type(value) and not whole:
            raise SpecError(
                f"the setting {name!r}: expected a value of type {type(value).__name__}, got {shown(stored[name])}"
            )


def _checked(name: str, setting: Setting, value: object) -> bool | int | float | str:
    default = setting.default
    if isinstance(default, bool):
        word = str(value).lower()
        if isinstance(value, bool | np.bool_ | str) and word in ("true", "false"):
            return word == "true"
        raise OptionError(f"the setting {name!r}: expected true or false, got {shown(value)}", option=name, given=value)
    if isinstance(default, str):
        if not isinstance(value, str) or value not in setting.choices:
            raise SpecError.unknown_name("value", value, setting.choices, f" of the setting {name!r}")
        return str(value)
    return _number(name, setting, value, whole=isinstance(default, int))


def _number(name: str, setting: Setting, value: object, *, whole: bool) -> int | float:
    kind = f"{'an integer' if whole else 'a number'} from {setting.low:g} to {setting.high:g}"
    plain = isinstance(value, str | int | float | np.integer | np.floating) and not isinstance(value, bool)
    try:
        number = float(cast("float", value)) if plain else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if math.isnan(number) or (whole and number != round(number) if math.isfinite(number) else True):
        raise OptionError(f"the setting {name!r}: expected {kind}, got {shown(value)}", option=name, given=value)
    if not setting.low <= number <= setting.high:
        raise OptionError(
            f"the setting {name!r} is {number:g}; allowed: {setting.low:g} to {setting.high:g}",
            option=name,
            given=value,
            remedy=f"give a number in that range, or leave it out for {setting.default:g}",
        )
    return round(number) if whole else number

"""Declare the accounting and the public settings of every mechanism, and check settings in requests and files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

import numpy as np

from discreet.accounting.fitted_models import HUBER, SQUARED
from discreet.accounting.noise_distribution import Settings
from discreet.errors import OptionError, SpecError, shown


@dataclass(frozen=True, slots=True)
class Setting:
    """Public setting of a mechanism, which is a number, a word or a switch.

    Attributes
    ----------
    default
        Default value, which also determines the type of the setting.
    about
        One-line description.
    low, high
        Smallest and largest allowed number.
    choices
        Allowed words.
    only_with
        Name and value of another setting. This setting has an effect only if the other one has this value. None if
        there is no such condition.
    """

    default: bool | int | float | str
    about: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    only_with: tuple[str, bool | int | float | str] | None = None

    @property
    def condition(self) -> str:
        """The condition of `only_with` as a phrase, or empty text if there is no condition.

        >>> Setting(0.1, "where", only_with=("loss", "huber")).condition
        'loss = huber'
        """
        if self.only_with is None:
            return ""
        name, value = self.only_with
        return f"{name} = {str(value).lower() if isinstance(value, bool) else value}"


# composition rules for the privacy loss of several steps
RULES: Final = ("exact", "zcdp", "cdp", "advanced", "basic")
BALL_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType({
    "strength": Setting(100.0, "ridge penalty, in units of the scaled sums; it includes the intercept", 1e-3, 1e12),
    "bound": Setting(1.0, "largest norm of the scaled coefficients", 1e-3, 1e3),
})  # fmt: skip
_STRENGTH: Final = BALL_SETTINGS["strength"]
_TARGET_SQUARE: Final = Setting(False, "also release the sum of squared targets, which standard errors and R^2 need")
_AVERAGE: Final = Setting(True, "publish the mean of the last half of the iterates instead of the last iterate")

# kind of a mechanism: what it publishes
Kind: TypeAlias = Literal["moments", "coefficients"]


@dataclass(frozen=True, slots=True)
class MechanismAccount:
    """What accounting needs to know of a mechanism.

    Attributes
    ----------
    queries
        Module and function that list its queries.
    kind
        What it publishes.
    settings
        Its public settings.
    """

    queries: tuple[str, str]
    kind: Kind
    settings: Mapping[str, Setting] = field(default_factory=dict)


# all mechanisms by name; the proof gate fingerprints every entry separately
MECHANISMS: Final[Mapping[str, MechanismAccount]] = MappingProxyType(
    {
        "gaussian": MechanismAccount(("moment_queries", "gaussian"), "moments"),
        "laplace": MechanismAccount(("moment_queries", "laplace"), "moments"),
        "k-norm": MechanismAccount(("moment_queries", "k_norm"), "moments"),
        "wishart": MechanismAccount(
            ("iterations", "wishart"),
            "moments",
            {
                "debiased": Setting(
                    True, "subtract the mean of the noise; false keeps the matrix positive semidefinite"
                ),
                "degrees": Setting(10_000, "largest degrees of freedom of the noise", 10, 100_000),
                "fewest": Setting(
                    False, "scale the noise like one row, with the fewest degrees that satisfy the budget"
                ),
            },
        ),
        "functional": MechanismAccount(
            ("moment_queries", "functional"),
            "moments",
            {"target_square": Setting(False, "also release the degree-0 term, which standard errors and R^2 need")},
        ),
        "ssp": MechanismAccount(("moment_queries", "ssp"), "moments", {"target_square": _TARGET_SQUARE}),
        "adassp": MechanismAccount(
            ("moment_queries", "adassp"),
            "moments",
            {
                "eigenvalue_share": Setting(
                    1 / 3, "share of mu^2 for the smallest eigenvalue; the sums get the rest", 0.005, 0.9
                ),
                "target_square": _TARGET_SQUARE,
            },
        ),
        "dpme": MechanismAccount(
            ("fitted_models", "dpme"),
            "coefficients",
            {
                "bins": Setting(
                    0, "intervals per numeric column; 0: computed from epsilon and expected_rows", 0, 100_000
                ),
                "expected_rows": Setting(
                    10_000,
                    "public guess of the number of rows, from which bins is computed",
                    1,
                    10**12,
                    only_with=("bins", 0),
                ),
                "noise": Setting("laplace", "noise distribution of each count", choices=("laplace", "gaussian")),
                "loss": Setting(
                    "squares", "loss of the fit: squares (least squares) or huber", choices=("squares", "huber")
                ),
                "threshold": Setting(
                    0.25,
                    "largest residual with squared loss, in scaled units of the target",
                    0.001,
                    10.0,
                    only_with=("loss", "huber"),
                ),
            },
        ),
        "frank-wolfe": MechanismAccount(
            ("iterations", "frank_wolfe"),
            "coefficients",
            {
                "radius_l1": Setting(1.0, "largest sum of absolute scaled coefficients, intercept included", 1e-3, 1e3),
                "iterations": Setting(20, "number of steps; each selects a vertex in one pass over the table", 1, 1000),
                "residual_bound": Setting(
                    1.0, "size to which residuals are clipped, in scaled units of the target", 1e-3, 1e4
                ),
            },
        ),
        "irls": MechanismAccount(
            ("iterations", "irls"),
            "coefficients",
            {
                "form": Setting(
                    "score", "add noise to clipped scores or to weighted moments", choices=("score", "moment")
                ),
                "power": Setting(1.0, "power of a large residual in the loss; 1 is the Huber loss", 1.0, 2.0),
                "threshold": Setting(
                    0.1, "largest residual with squared loss, in scaled units of the target", 1e-4, 2.0
                ),
                "iterations": Setting(
                    0,
                    "number of passes, which share the budget; 0: 100 for score, 20 with laplace, 10 for moment",
                    0,
                    1000,
                ),
                "noise": Setting(
                    "auto",
                    "noise distribution; laplace satisfies pure DP; auto: gaussian, or laplace if delta is 0",
                    choices=("auto", "gaussian", "laplace", "wishart"),
                ),
                "composition": Setting("exact", "composition rule for the privacy loss of all passes", choices=RULES),
                "average": _AVERAGE,
            },
        ),
        "gradient": MechanismAccount(
            ("iterations", "gradient"),
            "coefficients",
            {
                "iterations": Setting(200, "number of passes over the table, which share the budget", 1, 1000),
                "clip": Setting(0.25, "size to which residuals are clipped, in scaled units of the target", 1e-4, 2.0),
                "step": Setting(1.0, "step length, at most 1 with momentum and below 2 without", 1e-3, 2.0),
                "momentum": Setting(True, "add part of the last step to the next; more columns make that part larger"),
                "average": _AVERAGE,
            },
        ),
        "output": MechanismAccount(
            ("fitted_models", "output"),
            "coefficients",
            {**BALL_SETTINGS, "strength": replace(BALL_SETTINGS["strength"], default=1000.0)},
        ),
        "objective": MechanismAccount(
            ("fitted_models", "objective"),
            "coefficients",
            {
                "loss": Setting(
                    HUBER, "huber, or squared (least squares inside a ball of coefficients)", choices=(HUBER, SQUARED)
                ),
                "strength": replace(
                    _STRENGTH, default=0.0, low=0.0, about=f"{_STRENGTH.about}; 0: computed from the budget"
                ),
                "bound": replace(BALL_SETTINGS["bound"], only_with=("loss", SQUARED)),
                "threshold": Setting(
                    0.1,
                    "largest residual with squared loss, in scaled units of the target",
                    1e-4,
                    2.0,
                    only_with=("loss", HUBER),
                ),
            },
        ),
        "refined": MechanismAccount(("search_queries", "refined"), "coefficients"),
        "staged": MechanismAccount(("staged_queries", "staged"), "moments"),
    }
)

# public settings of each mechanism
DECLARED: Final[Mapping[str, Mapping[str, Setting]]] = MappingProxyType(
    {name: account.settings for name, account in MECHANISMS.items()}
)
# mechanisms that publish moments; the others publish coefficients
MOMENTS: Final = frozenset(name for name, account in MECHANISMS.items() if account.kind == "moments")


def checked_settings(mechanism: str, declared: Mapping[str, Setting], given: Mapping[str, object] | None) -> Settings:
    """Return the value of every declared setting, which is its default unless a value is given.

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
                raise OptionError(
                    f"the setting {name!r} needs {setting.condition}",
                    option=name,
                    remedy=f"leave out {name} or set {setting.condition}",
                )
    return MappingProxyType(checked)


def check_stored(mechanism: str, stored: Settings) -> None:
    """Reject settings in a release file that the mechanism cannot have written.

    Every setting must be present, with the right type and a value in its range.
    """
    declared = DECLARED.get(mechanism)
    if declared is None:
        raise SpecError.unknown_name("mechanism", mechanism, DECLARED)
    checked = checked_settings(mechanism, declared, stored)
    for name, value in checked.items():
        if name not in stored:
            raise SpecError(f"the mechanism {mechanism!r} needs a value for the setting {name!r}, but none is stored")
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
            f"the setting {name!r}: expected {kind}, got {number:g}",
            option=name,
            given=value,
            remedy=f"choose a number in this range, or leave out {name} to use {setting.default:g}",
        )
    return round(number) if whole else number

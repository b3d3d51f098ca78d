"""Public settings of a mechanism: declared with their range, checked before any data is opened."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy as np

from discreet.errors import SpecError, shown
from discreet.releases import Settings


@dataclass(frozen=True, slots=True)
class Setting:
    """One public number, word or switch that a mechanism takes.

    Attributes
    ----------
    default
        Its value unless given; its type is the type that is taken.
    about
        What it does, in one line.
    low, high
        Smallest and largest number allowed.
    choices
        Words allowed.
    only_with
        Another setting and the value of it without which this one has no effect; none if it always counts.
    """

    default: bool | int | float | str
    about: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    only_with: tuple[str, bool | int | float | str] | None = None

    @property
    def condition(self) -> str:
        """What it counts with, in words; empty if it always counts.

        >>> Setting(0.1, "where", only_with=("loss", "huber")).condition
        'loss = huber'
        """
        if self.only_with is None:
            return ""
        name, value = self.only_with
        return f"{name} = {str(value).lower() if isinstance(value, bool) else value}"


def checked_settings(mechanism: str, declared: Mapping[str, Setting], given: Mapping[str, object] | None) -> Settings:
    """Every declared setting with its value: the one given, or the default.

    >>> dict(checked_settings("m", {"passes": Setting(10, "how often", 1, 100)}, {"passes": "4"}))
    {'passes': 4}
    """
    if given is not None and not isinstance(given, Mapping):
        raise SpecError(f"settings: expected a table such as {{'iterations': 10}}, got {shown(given)}")
    values = dict(given or {})
    if values and not declared:
        raise SpecError(f"the mechanism {mechanism!r} has no settings; leave out {', '.join(map(shown, values))}")
    for name in values:
        if name not in declared:
            raise SpecError.unknown_name("setting", name, declared, f" of the mechanism {mechanism!r}")
    checked = {name: _checked(name, setting, values.get(name, setting.default)) for name, setting in declared.items()}
    for name, setting in declared.items():
        if setting.only_with is not None and checked[name] != setting.default:
            other, value = setting.only_with
            if checked[other] != value:
                counts = setting.condition
                raise SpecError(f"the setting {name!r} applies only with {counts}; leave it out or set {counts}")
    return MappingProxyType(checked)


def _checked(name: str, setting: Setting, value: object) -> bool | int | float | str:
    default = setting.default
    if isinstance(default, bool):
        word = str(value).lower()
        if isinstance(value, bool | np.bool_ | str) and word in ("true", "false"):
            return word == "true"
        raise SpecError(f"the setting {name!r}: expected true or false, got {shown(value)}")
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
        raise SpecError(f"the setting {name!r}: expected {kind}, got {shown(value)}")
    if not setting.low <= number <= setting.high:
        raise SpecError(
            f"the setting {name!r} is {number:g}; allowed: {setting.low:g} to {setting.high:g}; give a number in that "
            f"range, or leave it out for {setting.default:g}"
        )
    return round(number) if whole else number

"""Parse the settings of a plan from its form. The plan, preview, release and ledger pages use them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import discreet
from discreet.options import FrontEnd, front_ends
from discreet_studio.advice import here
from discreet_studio.draft import levels_of
from discreet_studio.forms import Form, as_number
from discreet_studio.studio_folder import FieldError
from discreet_studio.workspace import Workspace, notices

#: cautious defaults for blank assumptions: declared bounds are usually far wider than the data, and most models
#: explain little; the page states both
DEFAULTS: Final = {
    "by": "epsilon", "epsilon": "1", "delta": "1e-6", "rows": "", "level": "95", "rsquared": "0.1", "spread": "0.2",
    "correlation": "", "mechanism": "auto", "coefficient": "", "width": "",
}  # fmt: skip


#: options of a release under "More options"; mechanism and robust errors are elsewhere, and weak privacy is not allowed
OPTIONS: Final[dict[str, FrontEnd]] = {
    name: front_end
    for name, front_end in front_ends(discreet.ReleaseOptions).items()
    if name not in ("mechanism", "robust", "allow_weak_privacy")
}
ROBUST: Final[dict[str, FrontEnd]] = front_ends(discreet.RobustErrors)
_USUAL: Final = discreet.ReleaseOptions().keywords()


@dataclass(frozen=True)
class Settings:
    """Settings and assumptions of a plan."""

    epsilon: float
    delta: float
    rows: float
    options: dict[str, Any]

    @property
    def planned(self) -> dict[str, Any]:
        """Arguments of `discreet.plan`."""
        return {"rows": self.rows, "epsilon": self.epsilon, "delta": self.delta} | self.options

    @property
    def simulated(self) -> dict[str, Any]:
        """Arguments of `simulated_rows`."""
        return {key: self.options[key] for key in ("rsquared", "spread", "assume")}

    @property
    def released(self) -> dict[str, Any]:
        """Arguments of `discreet.release` and `discreet.cost`."""
        return {key: value for key, value in self.options.items() if key in _USUAL}


def settings_of(form: Form) -> Settings:
    """Parse the fields. Raise an error for the first field that has a problem."""
    filled = {name: form.get(name) or default for name, default in DEFAULTS.items()}
    if not filled["rows"]:
        raise FieldError("rows", "fill in about how many rows the table has: a publicly known number, such as 30000")
    epsilon, delta, rows, level = (
        as_number(filled[name], name, label)
        for name, label in (("epsilon", "Epsilon"), ("delta", "Delta"), ("rows", "Rows"), ("level", "Level"))
    )
    try:
        notices(epsilon, delta)
    except discreet.DiscreetError as error:
        raise FieldError("delta" if error.option == "delta" else "epsilon", here(error)) from None
    if not 1 <= rows <= 1e12:
        raise FieldError("rows", f"rows: expected a number from 1 to 1e12, got {rows:g}")
    if not 50 <= level < 100:
        raise FieldError("level", f"level: expected a percentage from 50 to below 100, got {level:g}")
    stated = {
        name: as_number(filled[name], name, name) if filled[name] else None
        for name in ("rsquared", "spread", "correlation")
    }
    for name, low, high in (("rsquared", 0.0, 1.0), ("spread", 0.0, 1.0), ("correlation", -1.0, 1.0)):
        value = stated[name]
        if value is not None and not low <= value <= high:
            raise FieldError(name, f"{name}: expected a number from {low:g} to {high:g}, got {value:g}")
    options: dict[str, Any] = {
        **stated, "level": level / 100, "assume": _assumed(form) or None, "mechanism": filled["mechanism"],
        **_release_options(form),
    }  # fmt: skip
    return Settings(epsilon, delta, rows, options)


def _release_options(form: Form) -> dict[str, Any]:
    """Return the other options of a release: robust errors, and those that differ from their defaults."""
    values = {name: _option(form, name, front_end) for name, front_end in OPTIONS.items()}
    robust: bool | discreet.RobustErrors = "robust" in form
    try:
        if robust and any(form.get(name) for name in ROBUST):
            robust = discreet.RobustErrors(**{
                name: value
                for name, front_end in ROBUST.items()
                if (value := _option(form, name, front_end)) is not None
            })  # fmt: skip
        options = discreet.ReleaseOptions(**{name: value for name, value in values.items() if value is not None})
    except discreet.DiscreetError as error:
        field = {"robust_models": "models"}.get(error.option or "", error.option or "")
        raise FieldError(field, here(error)) from None
    changed = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) != _USUAL[name]}
    return {"robust": robust} | changed


def _option(form: Form, name: str, front_end: FrontEnd) -> Any:  # noqa: ANN401  # by the kind of the option
    """Parse the field of an option; None if it is blank."""
    text = form.get(name).strip()
    if front_end.kind == "switch":
        return name in form
    if not text:
        return None
    if front_end.kind == "texts":
        parts = [part.strip() for part in text.split(";") if part.strip()]
        return _named_values(name, parts) if name == "settings" else parts
    value = as_number(text, name, front_end.label)
    if front_end.kind == "integer":
        if value != int(value):
            raise FieldError(name, f"expected an integer, got {value:g}")
        return int(value)
    return value


def _named_values(field: str, parts: list[str]) -> dict[str, object]:
    """Parse settings such as `iterations=10`."""
    table: dict[str, object] = {}
    for part in parts:
        name, sign, value = (each.strip() for each in part.partition("="))
        if not sign or not name or name in table:
            raise FieldError(field, f"expected each setting once, as name=value, got {part}")
        table[name] = value
    return table


def kept_settings(space: Workspace) -> Settings:
    """Return the settings that were saved last."""
    return settings_of(Form(list(space.state.plan.items())))


def width_of(form: Form) -> tuple[str, float]:
    """Return the name of a coefficient and the required width of its interval."""
    width = form.number("width", "Width")
    if width <= 0:
        raise FieldError("width", f"width: expected a number above 0, in units of the coefficient, got {width:g}")
    return form.get("coefficient"), width


def _assumed(form: Form) -> dict[str, dict[str, Any]]:
    """Return assumptions about individual columns, from fields such as `mean:age`."""
    assumptions: dict[str, dict[str, Any]] = {}
    for key, text in form.fields:
        what, _, column = key.partition(":")
        text = text.strip()
        if what not in ("mean", "sd", "share") or not column or not text:
            continue
        assumptions.setdefault(column, {})[what] = _value(text, key, f"{what} of {column}")
    return assumptions


def _value(text: str, key: str, label: str) -> object:
    """Parse a number, a date, or the proportion of each level.

    >>> _value("2021-06-30", "mean:day", "mean of day"), _value("a=0.7, b=0.3", "share:s", "share of s")
    (datetime.date(2021, 6, 30), {'a': 0.7, 'b': 0.3})
    """
    if "=" in text:
        parts = [part.partition("=") for part in text.split(",") if part.strip()]
        return {_level(name.strip()): as_number(share.strip(), key, label) for name, _, share in parts}
    try:
        return date.fromisoformat(text)
    except ValueError:
        return as_number(text, key, label)


def _level(text: str) -> str | int:
    """Parse a level as the design form does: an integer if it looks like one, text if it is in quotes."""
    levels = levels_of(text)[:1]
    return levels[0] if levels else text

"""Word the library's messages for the screens, with fields and pages instead of options and functions."""

from __future__ import annotations

from typing import Final

import discreet
from discreet.options import front_ends
from discreet.wording import PYTHON, worded

_ON_PLAN: Final = {
    name: one for name, one in front_ends(discreet.ReleaseOptions).items() if name != "allow_weak_privacy"
}
#: label and page of the field for each option that has one
BOXES: Final = {
    **{name: (one.label, "plan") for name, one in _ON_PLAN.items() if one.kind != "switch"},
    "robust_models": (front_ends(discreet.RobustErrors)["models"].label, "plan"),
    "residual_bound": (front_ends(discreet.RobustErrors)["residual_bound"].label, "plan"),
    "decimal": ("Decimal character", "table"),
    "delimiter": ("Separator", "table"),
    "encoding": ("Encoding", "table"),
    "level": ("Level of the intervals, %", "analyse"),
    "penalty": ("Penalty", "analyse"),
    "strength": ("Strength", "analyse"),
    "thousands": ("Thousands character", "table"),
}
#: label and page of the box to tick for an option
TICKS: Final = {
    **{name: (one.label, "plan") for name, one in _ON_PLAN.items() if one.kind == "switch"},
    "accept_changed_data": ("The table is a newer state of the same data set", "release"),
    "cov_type": ("Robust standard errors", "analyse"),
    "robust": ("Also pay for robust standard errors", "plan"),
    "quoted_line_breaks": ("Quoted cells may contain line breaks", "table"),
}
#: advice that replaces "leave it out" for an option
WITHOUT: Final = {
    "refuse_shared_table": "tick “This table was released under another data set too” on the release page",
    "sign": "choose “no signature”",
}
_PAGES: Final = {
    "Ledger.account": "release",
    "Ledger.create": "ledger",
    "Ledger.declare": "ledger",
    "Ledger.grant": "ledger",
    "Ledger.history": "ledger",
    "discreet.check": "check",
    "discreet.fit": "analyse",
}


class StudioWording:
    """The wording of the screens.

    >>> print(SCREENS.set_option("encoding", "utf-16"))
    write utf-16 under “Encoding” on the table page
    >>> print(SCREENS.call("Ledger.grant", "raise the budget"))
    raise the budget on the ledger page
    """

    def option(self, name: str, value: object) -> str:
        """Return the label of an option's field."""
        if name in TICKS:
            return f"“{TICKS[name][0]}” on the {TICKS[name][1]} page"
        label = f"“{BOXES[name][0]}” on the {BOXES[name][1]} page" if name in BOXES else name.replace("_", " ")
        return label if value is None or value is True else f"{value} as {label}"

    def set_option(self, name: str, value: object) -> str:
        """Return advice to fill in a field or tick a box."""
        if name == "allow_weak_privacy":
            return "use the command line, because the studio does not allow epsilon above 20 or delta above 0.001"
        if name in TICKS:
            return f"tick {self.option(name, value)}"
        if name in ("level", "alpha") and isinstance(value, float):
            # the field is a percentage
            name, value = "level", f"{100 * max(value, 1 - value):g}"
        if name in BOXES:
            label, page = BOXES[name]
            return (
                f"fill in “{label}” on the {page} page"
                if value is None
                else f"write {value} under “{label}” on the {page} page"
            )
        return f"use the command line, which has an option for “{name.replace('_', ' ')}”"

    def leave_out(self, name: str) -> str:
        """Return advice to clear a field."""
        return WITHOUT.get(name) or f"leave out {name.replace('_', ' ')}"

    def call(self, function: str, purpose: str) -> str:
        """Return advice to use the page that does what a function does."""
        page = f"the {_PAGES[function]} page" if function in _PAGES else "the command line"
        if not purpose:
            return page
        return f"{purpose} on {page}" if function in _PAGES else f"{purpose} with {page}"

    def install(self, extra: str) -> str:
        """Return the pip command that installs an extra."""
        return PYTHON.install(extra)


SCREENS: Final = StudioWording()


def here(message: object) -> str:
    """Return an error or a note in the wording of the screens.

    >>> here("a plain text")
    'a plain text'
    """
    return worded(message, SCREENS)

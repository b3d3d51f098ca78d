"""Wording of the library's messages for the command line, with flags and commands."""

from __future__ import annotations

import shlex
from decimal import Decimal
from typing import Final

from discreet.wording import PYTHON

# options whose flag has a different name, and values that have a flag
_FLAGS: Final = {
    "alpha": "--level",
    "output": "-o",
    "robust_models": "--robust-model",
    "settings": "--setting",
    "spend": "--ledger",
    "curators": "--curator",
}
_COMMANDS: Final = {
    "Curator.load": "discreet part --new-session with --curator",
    "CuratorKey.new": "discreet part --new-key FILE",
    "Ledger.account": "--ledger and --dataset",
    "Ledger.create": "discreet ledger init",
    "Ledger.declare": "discreet ledger init",
    "Ledger.export": "discreet ledger export",
    "Ledger.grant": "discreet ledger grant",
    "Ledger.history": "discreet ledger history",
    "Ledger.verify": "discreet ledger verify LEDGER R.json",
    "Session.new": "discreet part --new-session",
    "discreet.check": "discreet check",
    "discreet.fit": "discreet fit",
    "discreet.merge": "discreet merge",
    "discreet.part": "discreet part",
    "discreet.plan": "discreet plan",
}


class CommandLineWording:
    """The wording of the command line.

    >>> print(FLAGS.set_option("encoding", "utf-16"), "|", FLAGS.option("allow_weak_privacy", True))
    pass --encoding utf-16 | --allow-weak-privacy
    """

    def option(self, name: str, value: object) -> str:
        """Return the flag of an option."""
        if name == "alpha" and value is not None:
            # the command line has only --level
            name, value = "level", float(1 - Decimal(repr(value)))
        flag = flag_of(name)
        if value is None or value is True:
            return flag
        if value is False:
            return f"--no-{flag.removeprefix('--')}"
        return f"{flag} {shlex.quote(str(value))}"

    def set_option(self, name: str, value: object) -> str:
        """Return the advice to pass a flag."""
        return f"pass {self.option(name, value)}"

    def leave_out(self, name: str) -> str:
        """Return the advice not to pass a flag."""
        return f"leave {flag_of(name)} out"

    def call(self, function: str, purpose: str) -> str:
        """Return the advice to run a command."""
        command = _COMMANDS.get(function, function)
        return f"{purpose} with: {command}" if purpose else f"`{command}`"

    def install(self, extra: str) -> str:
        """Return the pip command that installs an extra."""
        return PYTHON.install(extra)


FLAGS: Final = CommandLineWording()


def flag_of(option: str) -> str:
    """Return the flag of a library option.

    >>> flag_of("quoted_line_breaks"), flag_of("robust_models")
    ('--quoted-line-breaks', '--robust-model')
    """
    return _FLAGS.get(option, f"--{option.replace('_', '-')}")

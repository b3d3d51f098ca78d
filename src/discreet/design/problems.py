"""Finding every problem of a design before any is reported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from discreet.errors import DesignError, DesignProblem, SpecError


@dataclass
class Problems:
    """The problems found so far.

    >>> problems = Problems()
    >>> with problems.at(column="age", key="bounds"):
    ...     raise SpecError("bounds are blank")
    >>> problems.add("the design has no 'target'; declare it", key="target")
    >>> [str(problem) for problem in problems.found]
    ["column 'age': bounds are blank", "the design has no 'target'; declare it"]
    """

    found: list[DesignProblem] = field(default_factory=list)

    def add(self, message: object, *, column: str = "", key: str = "") -> None:
        """Keep one."""
        self.found.append(DesignProblem(str(message), column, key))

    @contextmanager
    def at(self, *, column: str = "", key: str = "") -> Iterator[None]:
        """Keep what the block refuses; what it knows of the place stays, and this fills in the rest."""
        try:
            yield
        except DesignError as error:
            self.found += [replace(one, column=one.column or column, key=one.key or key) for one in error.problems]
        except SpecError as error:
            self.add(error, column=column, key=key)

    def check(self) -> None:
        """Report all of them, if there are any."""
        if self.found:
            raise DesignError(self.found)

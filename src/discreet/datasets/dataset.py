"""What every data set of this room is: rows and the design declared for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.design.model import Design
from discreet.errors import SpecError

if TYPE_CHECKING:
    from pyarrow import Table


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, the design declared for them, and where both come from.

    Attributes
    ----------
    name
        Name in the catalogue, or the path as it was given.
    title
        One line for people.
    data
        What `discreet.release` takes: a table in memory, or the absolute path of a user's files.
    design
        Bounds and levels from public knowledge, not from the rows.
    reasons
        For each declared column, the public knowledge behind its declaration; empty for a user's files.
    note
        Source and citation.
    simulated
        Whether the rows come from a random generator.
    coefficients
        What the generator used, by coefficient name; none for real rows.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> Dataset("mine", "y on x", "/data/mine.parquet", design, {}, "my own", simulated=False).data
    '/data/mine.parquet'
    """

    name: str
    title: str
    data: object = field(repr=False)
    design: Design
    reasons: Mapping[str, str] = field(repr=False)
    note: str = field(repr=False)
    simulated: bool
    coefficients: Mapping[str, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", MappingProxyType(dict(self.reasons)))
        if self.coefficients is not None:
            object.__setattr__(self, "coefficients", MappingProxyType(dict(self.coefficients)))

    def __reduce__(self) -> tuple[object, ...]:
        # read-only mappings do not travel by themselves
        known = None if self.coefficients is None else dict(self.coefficients)
        reasons = dict(self.reasons)
        return Dataset, (self.name, self.title, self.data, self.design, reasons, self.note, self.simulated, known)

    @property
    def table(self) -> Table:
        """The rows in memory, as a pyarrow table with the declared columns; refused for a user's files.

        Nothing in the tables of the catalogue needs protection. A user's rows may, so they stay in their files:
        `discreet.release(dataset.data, dataset.design, ...)` reads them piece by piece.
        """
        if isinstance(self.data, str):
            raise SpecError(
                f"the rows of {self.name!r} stay in their files; give dataset.data to discreet.release, or read them "
                "with a library of your own"
            )
        return self.data

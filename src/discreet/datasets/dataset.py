"""What every data set of this room is: a public table and the design declared for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.design.model import Design

if TYPE_CHECKING:
    from pyarrow import Table


@dataclass(frozen=True, eq=False)
class Dataset:
    """A public table, the design declared for it, and where both come from.

    Attributes
    ----------
    name
        Name in the catalogue.
    title
        One line for people.
    table
        The rows; nothing in them needs protection.
    design
        Bounds and levels from public knowledge, not from the rows.
    reasons
        For each declared column, the public knowledge behind its declaration.
    note
        Source and citation.
    simulated
        Whether the rows come from a random generator.
    coefficients
        What the generator used, by coefficient name; none for real rows.
    """

    name: str
    title: str
    table: Table = field(repr=False)
    design: Design
    reasons: Mapping[str, str] = field(repr=False)
    note: str = field(repr=False)
    simulated: bool
    coefficients: Mapping[str, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", MappingProxyType(dict(self.reasons)))
        if self.coefficients is not None:
            object.__setattr__(self, "coefficients", MappingProxyType(dict(self.coefficients)))

"""Two tables one unit apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Table: TypeAlias = Mapping[str, Sequence[object]]


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two tables one unit apart, in declared values, on which a mechanism comes close to its claim."""

    name: str
    table: Table
    neighbour: Table

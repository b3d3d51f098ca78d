"""Whose presence is hidden: the privacy unit and the neighbouring relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from discreet.errors import SpecError, written
from discreet.privacy.checks import is_integer, known_fields
from discreet.text import has_invisible_characters

Neighbours = Literal["add-remove", "replace"]

_SENTENCES: dict[str, str] = {
    "add-remove": (
        "This release hides whether any single row is in the table, and therefore the exact row count; "
        "neighbouring tables differ by one row added or removed."
    ),
    "replace": (
        "This release hides everything in any single row, but not the row count; "
        "neighbouring tables have the same public number of rows and differ in one of them."
    ),
}

_PERSON_SENTENCES: dict[str, str] = {
    "add-remove": (
        "This release hides whether {person}, is in the table, and therefore the exact numbers of rows and persons; "
        "neighbouring tables differ by all rows of one person added or removed."
    ),
    "replace": (
        "This release hides everything about {person}, but not the number of persons; "
        "neighbouring tables have the same public number of persons and differ in all rows of one of them."
    ),
}
_MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """What one neighbour may change: one row, or all rows of one person; added or removed (default) or replaced.

    Parameters
    ----------
    neighbours : {"add-remove", "replace"}
        Whether neighbouring tables differ by a row more or less, or by the contents of one row.
    id : str, optional
        Column that names the person behind several rows; without it every row is a unit of its own.
    max_rows : int
        How many rows of one id count; of more, those with the smallest keyed digest stay.

    Examples
    --------
    >>> PrivacyUnit().neighbours
    'add-remove'
    """

    neighbours: Neighbours = "add-remove"
    id: str | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.neighbours, str) or self.neighbours not in get_args(Neighbours):
            raise SpecError.unknown_name("neighbours", self.neighbours, get_args(Neighbours))
        # read as plain objects: what comes from a file has whatever type it has
        name: object = self.id
        rows: object = self.max_rows
        if isinstance(name, str) and has_invisible_characters(name):
            raise SpecError(f"unit id {written(name)} has invisible characters; rename the column")
        if name is not None and not (isinstance(name, str) and name and name == name.strip()):
            raise SpecError(
                f"unit id is {written(name)}; it must be the name of a column, without blanks at its ends; leave it "
                "out if the unit is one row"
            )
        if isinstance(rows, str) and not rows:
            raise SpecError("max_rows is blank; fill in how many rows of one person count at most")
        if not is_integer(rows) or rows < 1:
            raise SpecError(f"max_rows: expected an integer of at least 1, got {written(rows)}")
        if self.max_rows > 1 and self.id is None:
            raise SpecError(f"max_rows = {written(self.max_rows)} needs an id column to count rows by; name it with id")
        if self.max_rows > _MOST_ROWS:
            raise SpecError(f"max_rows is {written(self.max_rows)}; noise grows with it; choose at most {_MOST_ROWS}")

    @property
    def sentence(self) -> str:
        """What is hidden, in plain words.

        Examples
        --------
        >>> print(PrivacyUnit(neighbours="replace").sentence[:52])
        This release hides everything in any single row, but
        """
        if self.id is None:
            return _SENTENCES[self.neighbours]
        rows = f"of whose rows at most {self.max_rows} count" if self.max_rows > 1 else "of whose rows one counts"
        return _PERSON_SENTENCES[self.neighbours].format(person=f"any single person ({self.id}), {rows}")

    @property
    def words(self) -> str:
        """The unit in a few words, and how neighbours differ.

        Examples
        --------
        >>> PrivacyUnit().words, PrivacyUnit(id="pid", max_rows=3).words
        ('one row (add-remove)', 'one person (pid, at most 3 rows; add-remove)')
        """
        if self.id is None:
            return f"one row ({self.neighbours})"
        rows = "one row" if self.max_rows == 1 else f"at most {self.max_rows} rows"
        return f"one person ({self.id}, {rows}; {self.neighbours})"

    def to_dict(self) -> dict[str, str | int | None]:
        """Give the unit as plain values for JSON.

        Examples
        --------
        >>> PrivacyUnit().to_dict()
        {'neighbours': 'add-remove', 'id': None, 'max_rows': 1}
        """
        return {"neighbours": self.neighbours, "id": self.id, "max_rows": self.max_rows}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object]) -> PrivacyUnit:
        """Read a unit back; fields left out take their defaults, unknown fields are refused.

        Parameters
        ----------
        mapping : mapping
            Some of `neighbours`, `id`, `max_rows`.

        Examples
        --------
        >>> PrivacyUnit.from_dict({"neighbours": "replace"})
        PrivacyUnit(neighbours='replace', id=None, max_rows=1)
        """
        fields = known_fields("unit", mapping, ("neighbours", "id", "max_rows"))
        # the constructor checks every value, so the types need not be known here
        return cls(**fields)  # type: ignore[arg-type]

"""Terms on which several curators, who do not pool their rows, make one release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from discreet.errors import SpecError, shown
from discreet.privacy.checks import exact_fields, is_integer

# who draws the noise: every curator its share, or whoever merges the parts
NoiseMode = Literal["shares", "merger"]
NOISE_MODES: Final[tuple[str, ...]] = get_args(NoiseMode)
# with two parts each curator would read the other's sums off the merged ones
FEWEST_PARTS: Final = 3
MOST_PARTS: Final = 1000
_FIELDS: Final = ("parts", "honest", "parts_per_person", "noise", "session")
_HEX: Final = frozenset("0123456789abcdef")
_FINGERPRINT: Final = 64


@dataclass(frozen=True, slots=True)
class CuratorTerms:
    """How many curators there are, and how many of them a promise counts on.

    Parameters
    ----------
    parts : int
        Number of curators, each with a part of the rows.
    honest : int
        How many of them are honest at least: the noise of so many shares keeps the promise, whatever the others know.
        0 where whoever merges draws the noise.
    parts_per_person : int
        In how many parts one person may be.
    noise : {"shares", "merger"}
        Who draws the noise.
    session : str
        Fingerprint of the session: 64 hexadecimal digits.

    Examples
    --------
    >>> CuratorTerms(3, 2, 1, "shares", "0" * 64).honest
    2
    """

    parts: int
    honest: int
    parts_per_person: int
    noise: NoiseMode
    session: str

    def __post_init__(self) -> None:
        _check_integer("parts", self.parts, FEWEST_PARTS, MOST_PARTS)
        if self.noise not in NOISE_MODES:
            raise SpecError.unknown_name("noise of a session", self.noise, NOISE_MODES)
        if self.noise == "shares":
            # everybody can take its own share away, so one share never counts
            _check_integer("honest", self.honest, 1, self.parts - 1)
        elif not is_integer(self.honest) or self.honest != 0:
            raise SpecError(
                f"honest is {shown(self.honest)}; where the merger draws the noise no share protects: leave it out"
            )
        _check_integer("parts_per_person", self.parts_per_person, 1, self.parts)
        text: object = self.session
        if not (isinstance(text, str) and len(text) == _FINGERPRINT and set(text) <= _HEX):
            raise SpecError(f"the fingerprint of a session is {shown(text)}; it must have 64 hexadecimal digits")

    @property
    def shares(self) -> int:
        """How many independent shares the noise of every number is the sum of."""
        return self.parts if self.noise == "shares" else 1

    @property
    def counted(self) -> int:
        """How many of the shares the promise rests on."""
        return self.honest if self.noise == "shares" else 1

    def to_dict(self) -> dict[str, object]:
        """Give the terms as plain values for JSON.

        Examples
        --------
        >>> sorted(CuratorTerms(3, 2, 1, "shares", "0" * 64).to_dict())
        ['honest', 'noise', 'parts', 'parts_per_person', 'session']
        """
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_dict(cls, mapping: object) -> CuratorTerms:
        """Read terms back; missing or unknown fields and wrong values are refused.

        Examples
        --------
        >>> terms = CuratorTerms(3, 2, 1, "shares", "0" * 64)
        >>> CuratorTerms.from_dict(terms.to_dict()) == terms
        True
        """
        fields = cast("Mapping[str, int]", exact_fields("curators", mapping, _FIELDS))
        return cls(**fields)  # type: ignore[arg-type]


def _check_integer(name: str, value: object, low: int, high: int) -> None:
    if not is_integer(value) or not low <= value <= high:
        raise SpecError(f"{name} of a session: expected an integer from {low} to {high}, got {shown(value)}")

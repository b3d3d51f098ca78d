"""What a release cannot give: as a value and as an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from discreet.errors import DiscreetError

Known = TypeVar("Known")
Result = TypeVar("Result")
REMEDY: Final = "adaptive"  # the penalty that predicts where least squares has no minimum


class NotEstimableError(DiscreetError):
    """The released sums do not determine the coefficients that were asked for."""

    @classmethod
    def at_strength(cls, ridge: float | None) -> NotEstimableError:
        """Build the error for sums of products, with or without a ridge, that are not positive definite."""
        cause = (
            "the noise outweighs the signal in some direction at this budget, or a column is a combination of others"
        )
        others = "use fewer features, more rows or a larger epsilon"
        if ridge is None:
            return cls(
                "not estimable: the released sums of products are not positive definite, so least squares has no "
                f'minimum; {cause}. Use the penalty "{REMEDY}" or "ridge" (--penalty {REMEDY}), or {others}'
            )
        return cls(
            f"not estimable: with the ridge {ridge:g} the released sums of products are still not positive definite; "
            f'{cause}. Use the penalty "ridge" with a larger strength (--penalty ridge), or {others}'
        )


@dataclass(frozen=True, slots=True, repr=False)
class NotEstimable:
    """What is returned instead of a number that the release cannot give; it is false, and says why.

    >>> NotEstimable("the noise is too large")
    not estimable: the noise is too large
    >>> bool(NotEstimable("the noise is too large"))
    False
    """

    reason: str

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"not estimable: {self.reason}"


def known(value: Known | NotEstimable) -> Known | None:
    """Give the value, or nothing where the release cannot give it.

    >>> known(0.5), known(NotEstimable("the noise is too large"))
    (0.5, None)
    """
    return None if isinstance(value, NotEstimable) else value


def reason_of(value: object) -> str | None:
    """Say why there is no value; nothing if there is one.

    >>> reason_of(0.5), reason_of(NotEstimable("the noise is too large"))
    (None, 'the noise is too large')
    """
    return value.reason if isinstance(value, NotEstimable) else None


def mapped(value: Known | NotEstimable, change: Callable[[Known], Result]) -> Result | NotEstimable:
    """Give what follows from a value, or the same reason where there is none.

    >>> mapped(0.5, lambda share: 100 * share), mapped(NotEstimable("too much noise"), lambda share: 100 * share)
    (50.0, not estimable: too much noise)
    """
    return value if isinstance(value, NotEstimable) else change(value)


def known_values(values: Mapping[str, Known | NotEstimable]) -> dict[str, Known]:
    """Give the values that there are, by name.

    >>> known_values({"age": 0.5, "height": NotEstimable("too much noise")})
    {'age': 0.5}
    """
    return {name: value for name, value in values.items() if not isinstance(value, NotEstimable)}


def missing_values(values: Mapping[str, object]) -> dict[str, NotEstimable]:
    """Give the reasons for the values that there are not, by name.

    >>> missing_values({"age": 0.5, "height": NotEstimable("too much noise")})
    {'height': not estimable: too much noise}
    """
    return {name: value for name, value in values.items() if isinstance(value, NotEstimable)}


def shown_number(value: float | NotEstimable, digits: str) -> str:
    """Give a number in this form, or say that it is not estimable.

    >>> shown_number(0.12345, ".2g"), shown_number(NotEstimable("too much noise"), ".2g")
    ('0.12', 'not estimable')
    """
    return "not estimable" if isinstance(value, NotEstimable) else f"{value:{digits}}"

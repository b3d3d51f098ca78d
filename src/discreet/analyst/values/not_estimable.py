"""What a release cannot give: as a value and as an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from discreet.errors import DiscreetError
from discreet.releases.not_estimable import NotEstimable as NotEstimable
from discreet.releases.not_estimable import known as known
from discreet.releases.not_estimable import reason_of as reason_of
from discreet.releases.not_estimable import shown_number as shown_number

Known = TypeVar("Known")
Result = TypeVar("Result")
REMEDY: Final = "bayes"  # the penalty that predicts best, also where least squares has no minimum


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
                f'minimum; {cause}. For predictions use the penalty "{REMEDY}" (--penalty {REMEDY}); for '
                f"coefficients {others}"
            )
        return cls(
            f"not estimable: with the ridge {ridge:g} the released sums of products are still not positive definite; "
            f'{cause}. Use the penalty "ridge" with a larger strength (--penalty ridge), or {others}'
        )


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

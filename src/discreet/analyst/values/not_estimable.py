"""What a release cannot give: as a value and as an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.errors import DiscreetError

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

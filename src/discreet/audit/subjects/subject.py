"""What can be audited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.laws import Check
from discreet.exact.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class ExactLoss:
    """The loss of one pair, in exact arithmetic, under the noise that is drawn.

    Attributes
    ----------
    pair
        Name of the pair.
    currency
        `epsilon`, `mu`, or `delta` at the claimed epsilon.
    value
        The loss, rounded up.
    claimed
        The most that the claim allows.
    """

    pair: str
    currency: Literal["epsilon", "mu", "delta"]
    value: float
    claimed: float

    @property
    def kept(self) -> bool:
        """Whether the claim covers the loss.

        >>> ExactLoss("corner row", "epsilon", 0.9, 1.0).kept
        True
        """
        return self.value <= self.claimed


class Subject(Protocol):
    """A mechanism or primitive with a claim, and a pair of tables to try it on."""

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def pair(self) -> str:
        """Name of the pair that draws are made for."""
        ...

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        ...

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Independent outputs for the table (side 0) or its neighbour (side 1), one in each row."""
        ...

    def exact(self) -> tuple[ExactLoss, ...]:
        """Losses of all pairs; none where no exact loss is known."""
        ...

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """Tests beside the bounds; false alarms of all together have probability of at most alpha."""
        ...

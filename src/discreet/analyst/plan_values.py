"""What a planner guesses about a table, and what a plan says: plain values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Final

from discreet.errors import SpecError

_MOST_ROWS: Final = 1e12


@dataclass(frozen=True, slots=True)
class Guess:
    """What a planner supposes about a table.

    Attributes
    ----------
    rows
        Number of rows.
    rsquared
        Share of the target's variance that the model explains.
    spread
        Standard deviation of a numeric column in units of half the width of its bounds; a uniform column has 0.577.
    target_spread
        The same for the target.
    """

    rows: float
    rsquared: float = 0.5
    spread: float = 1 / math.sqrt(3)
    target_spread: float = 1 / math.sqrt(3)

    def __post_init__(self) -> None:
        if not (_is_number(self.rows) and 1 <= self.rows <= _MOST_ROWS):
            raise SpecError(f"rows is {self.rows!r}; expect a number of rows from 1 to {_MOST_ROWS:g}")
        if not (_is_number(self.rsquared) and 0 <= self.rsquared < 1):
            raise SpecError(f"rsquared is {self.rsquared!r}; guess a share from 0 to below 1")
        for name in ("spread", "target_spread"):
            value = getattr(self, name)
            if not (_is_number(value) and 0 < value <= 1):
                raise SpecError(
                    f"{name} is {value!r}; guess a number above 0 and at most 1, in half widths of the bounds"
                )


@dataclass(frozen=True, slots=True)
class PlannedCoefficient:
    """What to expect of one coefficient, in original units; none where it will not be estimable.

    Attributes
    ----------
    privacy_sd
        Standard deviation that the noise of the release brings; it may be known where `reason` says why no more is.
    """

    name: str
    std_error: float | None
    width: float | None
    privacy_share: float | None
    reason: str | None
    privacy_sd: float | None = None


@dataclass(frozen=True, slots=True)
class PlannedNoise:
    """Standard deviation of the noise of one statistic, or of each entry of a block of sums, in scaled units."""

    statistic: str
    sd: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Expected accuracy of the full model at one budget.

    Attributes
    ----------
    noise
        Of every statistic that the mechanism publishes or uses.
    noise_sd
        Of every sum of products, shape (p, p), none where it is not released; empty for a mechanism that publishes
        coefficients.
    """

    epsilon: float
    delta: float
    rows: float
    level: float
    mechanism: str
    coefficients: tuple[PlannedCoefficient, ...]
    noise: tuple[PlannedNoise, ...]
    noise_sd: tuple[tuple[float | None, ...], ...]

    @property
    def estimable(self) -> bool:
        """Whether every coefficient will be estimable."""
        return all(coefficient.reason is None for coefficient in self.coefficients)

    def to_dict(self) -> dict[str, object]:
        """The plan as plain values for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": self.rows,
            "level": self.level,
            "mechanism": self.mechanism,
            "estimable": self.estimable,
            "coefficients": [asdict(coefficient) for coefficient in self.coefficients],
            "noise": {one.statistic: one.sd for one in self.noise},
        }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

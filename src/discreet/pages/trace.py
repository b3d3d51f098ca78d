"""How released coefficients went from pass to pass: a small line for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.design.parts import INTERCEPT
from discreet.releases import Release

WIDTH: Final = 180
HEIGHT: Final = 28
_MARGIN: Final = 3


@dataclass(frozen=True, slots=True)
class CoefficientTrace:
    """The way of one scaled coefficient: its values after each pass, and what was published in the end."""

    name: str
    values: tuple[float, ...]
    released: float

    @property
    def points(self) -> str:
        """Corners of its line in a drawing of `WIDTH` by `HEIGHT`; its height holds 0 and every value.

        >>> CoefficientTrace("x", (0.0, 1.0), 1.0).points
        '3,25 177,3'
        """
        drawn = (*self.values, 0.0)
        low, high = min(drawn), max(drawn)
        tall = (HEIGHT - 2 * _MARGIN) / ((high - low) or 1.0)
        wide = (WIDTH - 2 * _MARGIN) / max(len(self.values) - 1, 1)
        indices = ((_MARGIN + wide * k, HEIGHT - _MARGIN - tall * (value - low)) for k, value in enumerate(self.values))
        return " ".join(f"{x:.4g},{y:.4g}" for x, y in indices)


def coefficient_traces(release: Release) -> tuple[CoefficientTrace, ...]:
    """The way of every coefficient that the design has, constant first; empty where none was published."""
    fitted = release.coefficients
    if fitted is None or not fitted.trace:
        return ()
    names = (INTERCEPT, *release.columns[1:-1])
    first = 0 if release.design.intercept else 1
    return tuple(
        CoefficientTrace(names[index], tuple(step[index] for step in fitted.trace), fitted.values[index])
        for index in range(first, len(names))
    )

"""Declared bounds at which rows pile up, read off the release alone.

Let g be the mean distance of the scaled values of a column from one of its bounds. By Markov's inequality at most g / t
of the rows are farther away than t. With g at most 0.1, a twentieth of the width, at least half of the rows lie within
a tenth of the width from that bound. Sums cannot show whether they were clipped to it or lie there by themselves, so
both are said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from discreet.analyst.equations.selection import SubModel
from discreet.analyst.equations.sums import centred
from discreet.design.columns import Numeric
from discreet.releases import Release

Side: TypeAlias = Literal["lower", "upper"]
OTHER: Final[dict[Side, Side]] = {"lower": "upper", "upper": "lower"}
WRONG: Final[dict[Side, str]] = {"lower": "high", "upper": "low"}
_BEYOND: Final[dict[Side, str]] = {"lower": "below", "upper": "above"}
_BETTER: Final[dict[Side, str]] = {"lower": "lower", "upper": "higher"}
_NEAR: Final = 0.1  # scaled units, so a twentieth of the width
_NOISE: Final = 3.0  # standard deviations of the mean that the noise may have brought it there by


@dataclass(frozen=True, slots=True)
class Pile:
    """One column whose rows pile up at one of its bounds."""

    name: str
    column: Numeric
    side: Side

    @property
    def bounds(self) -> str:
        """Both bounds as text."""
        return f"[{', '.join(map(self.column.value_text, self.column.bounds))}]"

    @property
    def words(self) -> str:
        """What to make of it."""
        bound = self.column.value_text(self.column.bounds[self.side == "upper"])
        return (
            f"If values {_BEYOND[self.side]} {bound} were clipped to it, it is too {WRONG[self.side]}, and the "
            f"coefficients describe the clipped rows: the next release should declare a {_BETTER[self.side]} one. If "
            f"none can lie {_BEYOND[self.side]} it, the {OTHER[self.side]} bound is farther away than it need be."
        )


def piles(release: Release, model: SubModel) -> tuple[Pile, ...]:
    """Numeric columns of a model whose mean is near a bound by more than noise can bring about.

    Columns by a formula are left out: what they are clipped at follows from others. The release is one of sums;
    sums of weighted rows do not tell.
    """
    if release.weighted:
        return ()
    sums, sds = centred(release).moments[0], release.noise_sd[0]
    found = []
    for position in (*model.positions, model.target_position):
        column = _clipped(release, release.columns[position])
        if column is None or not sums[0] > 0:
            continue
        mean = float(sums[position] / sums[0])
        noise = math.hypot(sds[position], mean * sds[0]) / float(sums[0])
        # a sum that was not released is not a number, which is never near
        if 1 - abs(mean) + _NOISE * noise <= _NEAR:
            found.append(Pile(release.columns[position], column, "upper" if mean > 0 else "lower"))
    return tuple(found)


def piled_up(release: Release, model: SubModel) -> str | None:
    """Say at which bounds rows pile up, from sums."""
    text = " ".join(
        f"The mean of {pile.name} is within {_NEAR / 2:.0%} of the width of its bounds {pile.bounds} "
        f"from the {pile.side} one: rows pile up there. {pile.words}"
        for pile in piles(release, model)
    )
    return text or None


def predicts_a_bound(release: Release) -> str | None:
    """Say that published coefficients predict one bound of the target and no more."""
    target = release.design.target
    column = _clipped(release, target)
    if release.coefficients is None or column is None:
        return None
    constant, *slopes = release.coefficients.values
    if abs(constant) - math.fsum(map(abs, slopes)) < 1 - _NEAR:
        return None
    pile = Pile(target, column, "upper" if constant > 0 else "lower")
    return (
        f"For every row inside the declared bounds the model predicts a target within {_NEAR / 2:.0%} of the width "
        f"of the bounds {pile.bounds} of {target} from the {pile.side} one, or beyond it: rows "
        f"seem to pile up there. {pile.words}"
    )


def _clipped(release: Release, name: str) -> Numeric | None:
    column = release.design.columns.get(name)
    return column if isinstance(column, Numeric) and column.formula is None else None

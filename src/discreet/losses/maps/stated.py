"""What a release states about its noise, and the checks that every map makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.design.submodels import is_model
from discreet.errors import SpecError
from discreet.losses.law import Calibration, NoiseFamily, NoiseLaw, Settings

_MOST_STEPS: Final = 2**100
_SIZES: Final = ("count", "sum_x", "gram_diagonal", "gram_off_diagonal", "sum_y", "cross", "target_square")


@dataclass(frozen=True, slots=True)
class Stated:
    """Public quantities that decide a privacy loss.

    Attributes
    ----------
    epsilon, delta
        What is promised: a map that can say only what delta is at some epsilon says it there.
    """

    design: Design
    domain: RowDomain
    law: NoiseLaw
    settings: Settings
    epsilon: float
    delta: float

    @property
    def size(self) -> int:
        """Number of released columns."""
        return len(self.design.released)

    @property
    def fitted(self) -> int:
        """Number of columns of (1, x), or of x without intercept."""
        return self.size - (1 if self.design.intercept else 2)

    def scale(self, block: str) -> Fraction:
        """The scale of a block in scaled units."""
        return Fraction(self.law.sigma[block], self.law.unit)

    def over(self, sensitivity: float | Fraction, block: str) -> Fraction:
        """A sensitivity in scaled units, divided by the scale of a block."""
        return Fraction(sensitivity) / self.scale(block)

    def check(
        self,
        family: NoiseFamily,
        calibrations: Iterable[Calibration],
        blocks: Iterable[str],
        parameters: Iterable[str] = (),
        factors: tuple[tuple[int, int], ...] = (),
        indicators: tuple[tuple[int, int], ...] = (),
        *,
        models: bool = False,
    ) -> None:
        """Refuse noise of another family or account, a missing or unknown block or parameter, or no noise at all.

        `factors` are those between whose indicators the mechanism adds no noise, `indicators` those whose squares it
        releases as their sums; with `models` it can sum residuals of further models.
        """
        law = self.law
        if law.models and not models:
            raise SpecError("the noise is that of sums over residuals of further models, which this mechanism has not")
        for columns in law.models:
            if not is_model(self.design, columns):
                raise SpecError(f"expected the columns of a model beside the full one, got {list(columns)}")
        if law.factors != factors:
            raise SpecError(
                f"the noise leaves out products of the factors {list(law.factors)}; expected {list(factors)}"
            )
        if law.indicators != indicators:
            raise SpecError(
                f"the noise has one number for sum and square of the indicators {list(law.indicators)}; "
                f"expected {list(indicators)}"
            )
        _same("the family of the noise", law.family, (family,))
        _same("the calibration of the noise", law.calibration, tuple(calibrations))
        _same_names("scale", law.sigma, blocks)
        _same_names("parameter", law.parameters, parameters)
        self.check_scales(law.sigma)

    def check_scales(self, blocks: Iterable[str]) -> None:
        """Refuse a block without noise, or with more than any release has; a count that is public has none."""
        public = self.design.count_public
        for block in blocks:
            sigma = self.law.sigma[block]
            if block == "count" and public and sigma == 0:
                continue
            if not 1 <= sigma <= _MOST_STEPS:
                raise SpecError(f"expected noise on {block!r} of 1 to 2^100 steps, got a scale of {sigma}")

    def moments_blocks(self, *, sums: bool = True, target_square: bool = True) -> list[str]:
        """Blocks of a release of moments; its count has no noise exactly where the number of rows is public."""
        if "count" in self.law.sigma and (self.law.sigma["count"] == 0) != self.design.count_public:
            raise SpecError("the noise of the count contradicts the neighbouring relation")
        left_out = {*(() if sums else ("sum_x", "sum_y")), *(() if target_square else ("target_square",))}
        return [block for block in _SIZES if block not in left_out]

    def flag(self, name: str) -> bool:
        """A setting that is true or false."""
        value = self.settings.get(name)
        if not isinstance(value, bool):
            raise SpecError(f"the setting {name!r}: expected true or false, got {value!r}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """A setting that is a number in a range."""
        value = self.settings.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise SpecError(f"the setting {name!r}: expected a number from {low:g} to {high:g}, got {value!r}")
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int:
        """A setting that is an integer in a range."""
        value = self.number(name, low, high)
        if value != math.floor(value):
            raise SpecError(f"the setting {name!r}: expected an integer, got {value!r}")
        return int(value)

    def word(self, name: str, choices: Iterable[str]) -> str:
        """A setting that is one of some words."""
        value = self.settings.get(name)
        _same(f"the setting {name!r}", value, tuple(choices))
        return str(value)


def _same(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SpecError(f"{what} is {value!r}, which this mechanism never has; expected {' or '.join(allowed)}")


def _same_names(what: str, given: Mapping[str, int], wanted: Iterable[str]) -> None:
    needed = set(wanted)
    if missing := sorted(needed - set(given)):
        raise SpecError(f"expected a {what} {missing[0]!r} of the noise of this mechanism, got none")
    if unknown := sorted(set(given) - needed):
        raise SpecError(f"got a {what} {unknown[0]!r}, which the noise of this mechanism does not have")

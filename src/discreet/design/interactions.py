"""The interaction of two declared columns: one block of released columns, of which a row has at most one that is not 0.

Category and number: for each level the number, scaled to [-1, 1] by its bounds, in the rows of that level, and 0 in the
others. Where the number is released too, the slope of the reference level is its coefficient, and the reference level
is left out; where it is not, all levels stay. Category and boolean: the same with 0 and 1 for the number. Two
categories: an indicator for each pair of levels, none of them a reference.

So whatever the number of levels, the squares of a block sum to at most 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.design.columns import Categorical
    from discreet.design.formulas.formula import Formula
    from discreet.exact.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Interaction:
    """Products of indicators with a scaled number, or with other indicators.

    Attributes
    ----------
    formula
        Such as `age:region`.
    factors
        The columns with levels, one or two, by name.
    number
        Name of the number or boolean, if there is one.
    bounds
        Of the number; none where every entry is 0 or 1.
    whole
        Whether all levels have a column, the reference among them.
    """

    formula: Formula
    factors: tuple[tuple[str, Categorical], ...] = field(repr=False)
    number: str | None = field(default=None, repr=False)
    bounds: tuple[float, float] | None = field(default=None, repr=False)
    whole: bool = field(default=False, repr=False)

    @property
    def codes(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the levels of each released column."""
        kept = [range(len(one.levels)) if self.whole else one.indicator_codes for _, one in self.factors]
        return tuple(product(*kept))

    @property
    def signed(self) -> bool:
        """Whether entries may be negative: a number lies in [-1, 1] once it is scaled."""
        return self.bounds is not None

    @property
    def mid(self) -> float:
        """What is scaled to 0 in the rows of a level."""
        return 0.0 if self.bounds is None else self.bounds[0] + (self.bounds[1] - self.bounds[0]) / 2

    @property
    def half(self) -> float:
        """What one scaled unit is worth."""
        return 1.0 if self.bounds is None else (self.bounds[1] - self.bounds[0]) / 2

    @property
    def labels(self) -> tuple[str, ...]:
        """The level, or the two levels with a comma between them, of each released column."""
        return tuple(
            ",".join(str(one.levels[code]) for (_, one), code in zip(self.factors, codes, strict=True))
            for codes in self.codes
        )

    def released(self, name: str) -> tuple[str, ...]:
        """Names of the released columns, by level."""
        return tuple(f"{name}[{label}]" for label in self.labels)

    def scaled(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Scaled values of the block, shape (released columns, rows).

        Parameters
        ----------
        values
            Positions of levels, and values of the number inside its bounds, by name, shape (rows,).
        """
        # a design alone does not load it
        import numpy as np

        own = np.ones_like(values[self.factors[0][0]]) if self.number is None else values[self.number]
        if self.bounds is not None:
            # rounding may lead an end of the bounds a little outside
            own = np.clip((own - self.mid) / self.half, -1.0, 1.0)
        block = np.zeros((len(self.codes), len(own)))
        for row, codes in zip(block, self.codes, strict=True):
            here = np.logical_and.reduce(
                [values[name] == code for (name, _), code in zip(self.factors, codes, strict=True)]
            )
            row[here] = own[here]  # [P:one-entry]
        return block

    def to_dict(self) -> dict[str, object]:
        """The table `[columns.NAME]` of design.toml."""
        return {"formula": self.formula.text}

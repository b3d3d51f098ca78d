"""The joint Gaussian release of all moments of (1, x, y). Proof: gaussian.proof.md."""

from __future__ import annotations

import itertools
from typing import Final, Literal

from discreet.curator.moments import Moments
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.mechanisms.calibration import noise_law
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.registry import NeighbourPair
from discreet.mechanisms.robust import residuals_with_noise
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.releases import NoiseLaw

_CONDITIONS: Final = (
    "bounds, levels and rules were declared without looking at the data",
    "no other release is made from the same table (the losses of several add up)",
)


class GaussianMoments:
    """Adds independent discrete Gaussian noise to the exact moments, calibrated jointly over all blocks."""

    name: Final = "gaussian"
    version: Final = "1"
    kind: Final[Literal["moments"]] = "moments"
    domain: Final[Literal["box or ball"]] = "box or ball"

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, *, robust: bool = False
    ) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        return noise_law(
            domain,
            design.unit.neighbours,
            len(design.released),
            budget,
            count_public=design.count_public,
            rows_per_unit=design.unit.max_rows,
            robust=robust,
        )

    def guarantee(self, design: Design, budget: PrivacyBudget) -> Guarantee:
        """The promise in the currency of the budget, with the conditions it stands on."""
        one_row = design.unit.id is None
        who = "each person stands in at most one row" if one_row else f"each person has one {design.unit.id}"
        public = f"the number of {'rows' if one_row else 'persons'} in the table is public"
        conditions = (who, *_CONDITIONS, *((public,) if design.unit.neighbours == "replace" else ()))
        return Guarantee(epsilon=budget.epsilon, delta=budget.delta, unit=design.unit, conditions=conditions)

    def randomise(self, moments: Moments, law: NoiseLaw, sampler: Sampler) -> tuple[int, ...]:
        """Exact totals plus one independent variate each, added in unlimited integers."""
        size = int((8 * len(moments.totals) + 1) ** 0.5) // 2
        noise = sampler.draw(law.steps(size))
        return tuple(total + variate for total, variate in zip(moments.totals, noise, strict=True))  # [P12]

    def randomise_residuals(self, moments: Moments, law: NoiseLaw, sampler: Sampler) -> tuple[int, ...]:
        """Exact totals of the Gram of residual rows plus one independent variate each (robust.proof.md)."""
        return residuals_with_noise(moments.totals, law, sampler)

    def worst_pairs(self, design: Design) -> tuple[NeighbourPair, ...]:
        """Corner rows: one added beside its twin, or replaced by rows that flip signs, levels and target."""
        corner = _corner(design, flipped=frozenset())
        if design.unit.neighbours == "add-remove":
            twice = {name: [*values, *values] for name, values in corner.items()}
            return (NeighbourPair("second corner row", twice, corner),)
        names = list(design.table_columns)
        numeric = [name for name in names if isinstance(design.columns[name], Numeric) and name != design.target]
        others = [name for name in names if name not in (*numeric, design.target)]
        pairs = []
        for flips in range(len(numeric) + 1):
            for with_others, with_target in itertools.product((False, True), repeat=2):
                flipped = {
                    *numeric[:flips],
                    *(others if with_others else ()),
                    *((design.target,) if with_target else ()),
                }
                if flipped:
                    other = _corner(design, flipped=frozenset(flipped))
                    label = f"replace {', '.join(name for name in names if name in flipped)}"
                    pairs.append(NeighbourPair(label, corner, other))
        return tuple(pairs)


def _corner(design: Design, *, flipped: frozenset[str]) -> dict[str, list[object]]:
    return {name: [_extreme(column, flipped=name in flipped)] for name, column in design.table_columns.items()}


def _extreme(column: Base, *, flipped: bool) -> object:
    if isinstance(column, Numeric):
        return column.bounds[0] if flipped else column.bounds[1]
    if isinstance(column, Boolean):
        return not flipped
    codes = column.indicator_codes
    if not flipped:
        return column.levels[codes[0]]
    return column.levels[codes[1]] if len(codes) > 1 else column.reference

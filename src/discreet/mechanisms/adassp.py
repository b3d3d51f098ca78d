"""Sufficient statistics with a smallest eigenvalue that is paid for. Proof: adassp.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final, Literal

from discreet.accounting.moments import Blocks, eigenvalue_sensitivity
from discreet.accounting.noise_distribution import NoiseLaw, Settings
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.exact.linear import position, size_of, smallest_eigenvalue
from discreet.mechanisms.calibration import ExtraStatistic, noise_law
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.ssp import released_shares, with_noise
from discreet.privacy.budget import PrivacyBudget

EIGENVALUE: Final = "smallest_eigenvalue"
# elimination in integers takes a second or two for 100 columns and grows with the fifth power
_MOST_COLUMNS: Final = 100


class AdaptiveSufficientStatistics:
    """Adds discrete Gaussian noise to X'X, X'y and the smallest eigenvalue of X'X, calibrated jointly."""

    name: ClassVar[str] = "adassp"
    version: ClassVar[str] = "1"
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="X'X, X'y and the smallest eigenvalue of X'X, which sets the ridge of an adaptive fit.",
        document="thesis of Kalaja, Algorithms 2 and 3",
        notion="approximate",
        needs=(f"at most {_MOST_COLUMNS} columns of (1, x)",),
        numerics="exact",
        references=("Wang 2018", "Balle & Wang 2018", "Dong, Roth & Su 2022"),
        settings=DECLARED["adassp"],
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        size = len(design.released)
        if size - 1 > _MOST_COLUMNS:
            raise SpecError(
                f"the exact smallest eigenvalue needs at most {_MOST_COLUMNS} columns of (1, x), got {size - 1}; "
                "use the mechanism 'ssp' or 'gaussian', whose adaptive fit needs no eigenvalue"
            )
        return noise_law(
            domain,
            design.unit.neighbours,
            size,
            budget,
            count_public=design.count_public,
            rows_per_unit=design.unit.max_rows,
            shares=equal_parts(design, target_square=bool(settings["target_square"])),
            beside=ExtraStatistic(
                EIGENVALUE, eigenvalue_sensitivity(design, domain), float(settings["eigenvalue_share"])
            ),  # [P:eigenvalue-share]
        )

    def passes(self, context: RunContext) -> Passes:
        """One pass: exact moments, the eigenvalue of their Gram, then noise on all of it."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        products = moments.on_grid(context.law.unit)
        exact = smallest_eigenvalue(regressor_gram(products, constant=context.design.needs_sums))
        totals = with_noise(moments, context.law, context.sampler)
        (noise,) = context.sampler.draw([context.law.sigma[EIGENVALUE]])
        return NoisyMoments(totals, {EIGENVALUE: exact + noise})  # [P:eigenvalue-noise]


def equal_parts(design: Design, *, target_square: bool) -> Blocks:
    """Shares of the sums: X'X and X'y in equal parts, the split within each as `ssp` has it."""
    shares = released_shares(design, target_square=target_square)
    if design.count_public:
        shares = replace(shares, count=0.0)
    products, cross = shares.count + shares.sum_x + shares.gram, shares.sum_y + shares.cross
    return Blocks(
        count=shares.count / products,
        sum_x=shares.sum_x / products,
        gram=shares.gram / products,
        sum_y=shares.sum_y / cross,
        cross=shares.cross / cross,
        target_square=2 * shares.target_square / (products + cross),
    )


def regressor_gram(totals: Sequence[int], *, constant: bool) -> list[list[int]]:
    """Gram of (1, x), or of x alone, from the upper triangle of the moments of (1, x, y).

    >>> regressor_gram([2, 3, 4, 5, 6, 7], constant=True), regressor_gram([2, 3, 4, 5, 6, 7], constant=False)
    ([[2, 3], [3, 5]], [[5]])
    """
    size = size_of(len(totals))
    columns = range(0 if constant else 1, size - 1)
    return [[totals[position(min(i, j), max(i, j), size)] for j in columns] for i in columns]

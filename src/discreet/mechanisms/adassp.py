"""Release sufficient statistics and the smallest eigenvalue of X'X with joint noise. Proof: adassp.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final, Literal

from discreet.accounting.moment_queries import EIGENVALUE, eigenvalue_query, one_model_query
from discreet.accounting.moments import Blocks
from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import UnsupportedError
from discreet.exact.linear import position, size_of, smallest_eigenvalue
from discreet.mechanisms.calibration import noise_distribution
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.ssp import released_shares, with_noise
from discreet.privacy.budget import PrivacyBudget

# integer elimination takes one or two seconds for 100 columns, and its time grows with the fifth power of the columns
_MOST_COLUMNS: Final = 100


class AdaptiveSufficientStatistics:
    """Discrete Gaussian noise on X'X, X'y and the smallest eigenvalue of X'X, calibrated jointly."""

    name: ClassVar[str] = "adassp"
    version: ClassVar[str] = VERSION
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

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget, from public quantities only."""
        size = len(design.released)
        if size - 1 > _MOST_COLUMNS:
            raise UnsupportedError(
                f"the mechanism 'adassp' takes at most {_MOST_COLUMNS} columns, including the intercept, because it "
                f"computes the smallest eigenvalue exactly; got {size - 1}",
                option="mechanism",
                remedy="use the mechanism 'ssp' or 'gaussian', which compute no eigenvalue",
            )
        share, target_square = float(settings["eigenvalue_share"]), bool(settings["target_square"])
        return noise_distribution(
            one_model_query(design, domain, target_square=target_square),
            budget,
            equal_parts(design, target_square=target_square),
            [(eigenvalue_query(design, domain), share)],  # [P:eigenvalue-share]
            share=1 - share,
        )

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact moments in one pass and the smallest eigenvalue of X'X, and add noise to both."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        products = moments.on_grid(context.distribution.unit)
        exact = smallest_eigenvalue(regressor_gram(products, constant=context.design.needs_sums))
        totals = with_noise(moments, context.distribution, context.sampler)
        (noise,) = context.sampler.draw([context.distribution.sigma[EIGENVALUE]])
        return NoisyMoments(totals, {EIGENVALUE: exact + noise})  # [P:eigenvalue-noise]


def equal_parts(design: Design, *, target_square: bool) -> Blocks:
    """Return shares of mu^2 of equal size for X'X and for X'y, each of which is divided as in `ssp`."""
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
    """Return the Gram matrix of (1, x), or of x without `constant`, from the upper triangle of all moments.

    >>> regressor_gram([2, 3, 4, 5, 6, 7], constant=True), regressor_gram([2, 3, 4, 5, 6, 7], constant=False)
    ([[2, 3], [3, 5]], [[5]])
    """
    size = size_of(len(totals))
    columns = range(0 if constant else 1, size - 1)
    return [[totals[position(min(i, j), max(i, j), size)] for j in columns] for i in columns]


MECHANISM: Final = AdaptiveSufficientStatistics()

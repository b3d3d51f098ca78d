"""Release all moments under pure DP with a single noise vector of the K-norm mechanism. Proof: k_norm.proof.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from discreet.accounting.moments import Blocks
from discreet.accounting.noise_distribution import BLOCKS, NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import UnsupportedError
from discreet.exact.linear import entry_count
from discreet.mechanisms.calibration import block_shares, block_sigmas, by_block
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.refinement import Uniforms, refined
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.lattice import ROUNDING

# larger than any sum of a real table, in product-grid steps
_MOST_STEPS: Final = 2**100
# binary digits after the point at which `refined` needs a second run with probability below 2**-80
_SPARE_BITS: Final = 96


class KNormMoments:
    """All moments with a single noise vector, whose density is proportional to exp(-norm), under pure DP."""

    name: Final = "k-norm"
    version: Final = VERSION
    kind: Final[Literal["moments"]] = "moments"
    info: Final = MechanismInfo(
        summary="Joint release of all moments under epsilon alone; any model from one release.",
        document="the paper cited",
        notion="pure",
        numerics="exact",
        references=("Hardt & Talwar 2010",),
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget, from public quantities only."""
        epsilon, _ = as_pair(budget, wanted="epsilon")
        size = len(design.released)
        shares = block_shares(domain, design.unit.neighbours, size - 2)
        if design.count_public:
            # neighbouring tables have the same number of rows
            shares = replace(shares, count=0.0)
        scales = block_sigmas(
            domain,
            design.unit.neighbours,
            epsilon,  # [P:unit-norm]
            shares,
            count_public=design.count_public,
            rows_per_unit=design.unit.max_rows,
        )
        dimension = entry_count(size) - design.count_public
        return NoiseDistribution(
            domain.grid_bits,
            _steps(scales, domain, count_public=design.count_public),
            "pure",
            "k-norm",
            {"dimension": dimension},
        )

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact moments in one pass, and add a noise vector to all entries."""
        size = len(context.design.released)
        moments = yield ExactGram(size, context.domain.grid_bits)
        noise = k_norm_noise(context.distribution.steps(size), context.sampler)
        exact = moments.on_grid(context.distribution.unit)
        return NoisyMoments(tuple(total + part for total, part in zip(exact, noise, strict=True)))  # [P:k-norm-sum]


def k_norm_noise(scales: Sequence[int], sampler: Sampler) -> list[int]:
    """Draw a vector with density proportional to exp(-Euclidean norm), and scale and round its entries.

    Each entry is multiplied by its scale and rounded to the nearest integer. An entry with scale 0 is 0.

    >>> from discreet.mechanisms.sampler import ExactSampler
    >>> noise = k_norm_noise([10**6, 0, 10**6], ExactSampler())
    >>> noise[1], len(noise)
    (0, 3)
    """
    dimension = sum(scale > 0 for scale in scales)

    def draw(uniforms: Uniforms) -> list[int]:
        normals = uniforms.normals(dimension)
        length2 = uniforms.exactly(0)
        for normal in normals:
            length2 += normal * normal
        stretch = uniforms.gamma(dimension) / length2.sqrt()
        entries = iter(normals)
        return [(next(entries) * stretch * scale).nearest() if scale else 0 for scale in scales]  # [P:k-norm-noise]

    return refined(sampler, draw, bits=_SPARE_BITS + max(scales).bit_length() + 2 * dimension.bit_length())


def _steps(scales: Blocks, domain: RowDomain, *, count_public: bool) -> dict[str, int]:
    scaled = by_block(scales)
    steps: dict[str, int] = {}
    for block in BLOCKS:
        if block == "count" and count_public:
            steps[block] = 0
            continue
        wanted = scaled[block] * 4**domain.grid_bits * ROUNDING
        if not wanted <= _MOST_STEPS:
            raise UnsupportedError(
                f"noise with a scale of {scaled[block]:.3g} scaled units on '{block}' would be too large to be useful",
                option="epsilon",
                remedy="raise epsilon",
            )
        steps[block] = math.ceil(wanted)  # [P:scales-rounded-up]
    return steps


MECHANISM: Final = KNormMoments()

"""The published release, without anything that only the curator may see.

A release consists of a design, noisy numbers with their noise distribution, and a guarantee. It never contains a row,
an exact sum, a seed, or an exact number of rows that is not public under the neighbouring relation. The class `Release`
has a canonical JSON form (release.schema.json), which is checked completely when it is read.

The package is called `releases` because `discreet.release` is a public function.
"""

from discreet.accounting.noise_distribution import (
    BLOCKS,
    CLIPPED,
    RATIO_BLOCK,
    RESIDUAL_BLOCKS,
    Block,
    Calibration,
    NoiseDistribution,
    NoiseFamily,
    Settings,
    block_of,
)
from discreet.releases.fields import (
    Coefficients,
    GuardPart,
    NoisyCount,
    RatioPart,
    ResidualPart,
    StagedPart,
)
from discreet.releases.release import NOT_PRIVATE_SUFFIX, Release

__all__ = [
    "BLOCKS",
    "CLIPPED",
    "NOT_PRIVATE_SUFFIX",
    "RATIO_BLOCK",
    "RESIDUAL_BLOCKS",
    "Block",
    "Calibration",
    "Coefficients",
    "GuardPart",
    "NoiseDistribution",
    "NoiseFamily",
    "NoisyCount",
    "RatioPart",
    "Release",
    "ResidualPart",
    "Settings",
    "StagedPart",
    "block_of",
]

"""A Wishart matrix whose entries are rounded exactly. Proof: wishart.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.exact.triangle import pairs
from discreet.mechanisms.sampling.refinement import Interval, Uniforms, refined
from discreet.mechanisms.sampling.sampler import Sampler

_SPARE_BITS: Final = 96


def wishart_noise(scales: Sequence[int], degrees: int, sampler: Sampler) -> list[int]:
    """Upper triangle of a rounded Wishart matrix, row by row; entry (i, j) is multiplied by both columns' scales.

    >>> from discreet.mechanisms.sampling.sampler import ExactSampler
    >>> top, _, bottom = wishart_noise([1000, 1000], 50, ExactSampler())
    >>> top > 0, bottom > 0
    (True, True)
    """
    size = len(scales)

    def draw(uniforms: Uniforms) -> list[int]:
        # Bartlett: W = A A' with A lower triangular
        rows = [[*uniforms.normals(i), uniforms.chi_square(degrees - i).sqrt()] for i in range(size)]
        entries = ((_dot(rows[i], rows[j], uniforms) * (scales[i] * scales[j])).nearest() for i, j in pairs(size))
        return list(entries)  # [P:bartlett-draw]

    return refined(sampler, draw, bits=_SPARE_BITS + 2 * max(scales).bit_length() + 2 * degrees.bit_length())


def _dot(one: Sequence[Interval], other: Sequence[Interval], uniforms: Uniforms) -> Interval:
    total = uniforms.exactly(0)
    for a, b in zip(one, other, strict=False):
        total += a * b
    return total

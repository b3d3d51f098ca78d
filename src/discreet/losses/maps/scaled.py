"""Map of `gaussian` on privately scaled rows: searches, moments of weighted rows, a Gram. Proof: maps.proof.md."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.losses.law import BLOCKS, RESIDUAL_BLOCKS
from discreet.losses.maps.gaussian import CLOSE, JOINT, gaussian_loss, gram_weight
from discreet.losses.maps.stated import Stated
from discreet.losses.sensitivity.l2_sensitivity import Blocks, weighted_loss
from discreet.losses.sensitivity.scaled import FOURTH, FOURTH_BLOCKS, RESIDUAL, scaled_statistics, weighted_domain
from discreet.privacy.loss import Loss


def scaled_moments(stated: Stated) -> Loss:
    """Every statistic at its largest change, as often as it is released, and the moments at their joint one."""
    sigma, x = stated.law.sigma, stated.size - 2
    robust = any(block in sigma for block in RESIDUAL_BLOCKS)
    statistics = scaled_statistics(stated.design, robust=robust)
    gram, blocks = (RESIDUAL, RESIDUAL_BLOCKS) if robust else (FOURTH, FOURTH_BLOCKS)
    products = statistics.pop(gram)
    stated.check("discrete-gaussian", JOINT, [*BLOCKS, *statistics, *blocks])
    if sigma["count"] == 0:
        raise SpecError("expected noise on the sum of squared weights, got none")
    square = _moments(stated)
    square += Fraction(products.sensitivity) ** 2 * gram_weight(stated, *blocks, columns=x + 1)
    for name, one in statistics.items():
        square += one.times * stated.over(one.sensitivity, name) ** 2
    entries = {"sum_x": x, "gram_diagonal": x, "gram_off_diagonal": x * (x - 1) // 2, "cross": x}
    entries |= {blocks[0]: x + 1, blocks[1]: x * (x + 1) // 2}
    entries |= {name: one.times * one.entries for name, one in statistics.items()}
    return gaussian_loss(stated, square, [(entries.get(block, 1), scale) for block, scale in sigma.items()])


def _moments(stated: Stated) -> Fraction:
    """The largest squared change of the moments of weighted rows in units of their scales, each block at its least."""
    unit, one = stated.design.unit, {block: 1 / stated.scale(block) ** 2 for block in BLOCKS}
    diagonal, off = max(one["count"], one["gram_diagonal"]), max(one["sum_x"], one["gram_off_diagonal"])
    loss = weighted_loss(
        weighted_domain(stated.design, stated.law.grid_bits),
        unit.neighbours,
        Blocks(
            count=0.0,
            sum_x=0.0,
            gram=up(max(diagonal, off / 2)),
            sum_y=0.0,
            cross=up(max(one["sum_y"], one["cross"])),
            target_square=up(one["target_square"]),
        ),
        count_public=stated.design.count_public,
        rows_per_unit=unit.max_rows,
        close=CLOSE,
    )
    return Fraction(loss)  # [P:forward-scaled]

"""Map of `gaussian` on rows with weights: their moments, their number, a residual Gram. Proof: maps.proof.md."""

from __future__ import annotations

from discreet.design.domain import WEIGHT_BITS
from discreet.errors import SpecError
from discreet.losses.law import RESIDUAL_BLOCKS, WEIGHT_STEPS
from discreet.losses.maps.gaussian import JOINT, gaussian_loss, joint_square, residual_square
from discreet.losses.maps.stated import Stated
from discreet.losses.sensitivity.scaled import ROWS
from discreet.privacy.loss import Loss


def weighted_moments(stated: Stated) -> Loss:
    """Every moment but those that are 0 in every table, the number of rows unless public, any sums over residuals."""
    sigma, x, design = stated.law.sigma, stated.size - 2, stated.design
    robust = any(block in sigma for block in RESIDUAL_BLOCKS) or bool(stated.law.models)
    grams = stated.law.residual_entries(stated.size) if robust else {}
    rows = [] if design.rows_public else [ROWS]
    blocks = [*stated.moments_blocks(), *rows, *grams]
    stated.check("discrete-gaussian", JOINT, blocks, [WEIGHT_STEPS], factors=design.factors, models=True)
    if stated.law.parameters[WEIGHT_STEPS] != WEIGHT_BITS:
        raise SpecError(f"expected weights of {WEIGHT_BITS} bits, got {stated.law.parameters[WEIGHT_STEPS]}")
    # a weighted row may move the sums as far as one that is absent from a table, or less
    square = joint_square(stated)  # [P:forward-weights]
    if rows:
        square += stated.over(design.unit.max_rows, ROWS) ** 2
    if robust:
        square += residual_square(stated)
    entries = {"sum_x": x, "gram_diagonal": x, "gram_off_diagonal": x * (x - 1) // 2 - stated.law.zeros, "cross": x}
    entries |= grams
    return gaussian_loss(stated, square, [(entries.get(block, 1), scale) for block, scale in sigma.items()])

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
    """Map of its first version: every moment but those that are 0 in every table."""
    return _weighted_moments(stated, ())


def weighted_indicators_once(stated: Stated) -> Loss:
    """The same, with one number for the sum and the square of an indicator."""
    return _weighted_moments(stated, stated.design.indicators)


def _weighted_moments(stated: Stated, indicators: tuple[tuple[int, int], ...]) -> Loss:
    """Moments, the number of rows unless it is public, any sums over residuals."""
    sigma, x, design = stated.law.sigma, stated.size - 2, stated.design
    robust = any(block in sigma for block in RESIDUAL_BLOCKS) or bool(stated.law.models)
    grams = stated.law.residual_entries(stated.size) if robust else {}
    rows = [] if design.rows_public else [ROWS]
    blocks, at = [*stated.moments_blocks(), *rows, *grams], {"factors": design.factors, "indicators": indicators}
    stated.check("discrete-gaussian", JOINT, blocks, [WEIGHT_STEPS], **at, models=True)
    if stated.law.parameters[WEIGHT_STEPS] != WEIGHT_BITS:
        raise SpecError(f"expected weights of {WEIGHT_BITS} bits, got {stated.law.parameters[WEIGHT_STEPS]}")
    # a weighted row may move the sums as far as one that is absent from a table, or less
    square = joint_square(stated)  # [P:forward-weights]
    if rows:
        square += stated.over(design.unit.max_rows, ROWS) ** 2
    if robust:
        square += residual_square(stated)
    products, squares = x * (x - 1) // 2 - stated.law.zeros, x - len(stated.law.indicator_columns)
    entries = {"sum_x": x, "gram_diagonal": squares, "gram_off_diagonal": products, "cross": x} | grams
    return gaussian_loss(stated, square, [(entries.get(block, 1), scale) for block, scale in sigma.items()])

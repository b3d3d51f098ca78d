"""Discrete Gaussian noise on moments: `gaussian`, `ssp`, `adassp`. Proof: maps.proof.md."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from discreet.design.submodels import model_domain
from discreet.exact.rounding import root_up, up
from discreet.losses.law import CLIPPED, RATIO_BLOCK, RESIDUAL_BLOCKS, Calibration, model_blocks
from discreet.losses.maps.stated import Stated
from discreet.losses.promise import gaussian_delta
from discreet.losses.sensitivity.clips import clips_l2_sensitivity
from discreet.losses.sensitivity.eigenvalue import eigenvalue_sensitivity
from discreet.losses.sensitivity.l2_sensitivity import Blocks, weighted_loss
from discreet.losses.sensitivity.residuals import ratio_sensitivity, residual_sensitivity
from discreet.privacy.loss import Loss

EIGENVALUE: Final = "smallest_eigenvalue"
JOINT: Final[tuple[Calibration, ...]] = ("gaussian", "discrete-zcdp")
# how closely the worst exchange of two rows is enclosed; calibrations are content with less
CLOSE: Final = 1e-6


def all_moments(stated: Stated) -> Loss:
    """Map of version 1 of `gaussian`: all moments have noise, products of two indicators of one factor too."""
    return _all_moments(stated, ())


def moments_but_zeros(stated: Stated) -> Loss:
    """Map of version 2 of `gaussian`: all moments but those that are 0 in every table."""
    return _all_moments(stated, stated.design.factors)  # [P:forward-zeros]


def indicators_once(stated: Stated) -> Loss:
    """Map of `gaussian`: the same, with one number for the sum and the square of an indicator."""
    return _all_moments(stated, stated.design.factors, stated.design.indicators)  # [P:forward-indicators]


def _all_moments(
    stated: Stated, factors: tuple[tuple[int, int], ...], indicators: tuple[tuple[int, int], ...] = ()
) -> Loss:
    """Moments with or without sums over residuals and counts of clipped rows."""
    sigma = stated.law.sigma
    blocks = stated.moments_blocks()
    robust = any(block in sigma for block in (*RESIDUAL_BLOCKS, RATIO_BLOCK)) or bool(stated.law.models)
    grams = stated.law.residual_entries(stated.size) if robust else {}
    beside = [*grams, *(name for name in (RATIO_BLOCK, CLIPPED) if name in sigma)]
    stated.check("discrete-gaussian", JOINT, [*blocks, *beside], factors=factors, indicators=indicators, models=True)
    square, variates = _moments(stated)
    if robust:
        square += residual_square(stated)
        variates += [(many, sigma[block]) for block, many in grams.items()]
    if RATIO_BLOCK in sigma:
        square += stated.over(ratio_sensitivity(), RATIO_BLOCK) ** 2
        variates.append((1, sigma[RATIO_BLOCK]))
    if CLIPPED in sigma:
        square += stated.over(clips_l2_sensitivity(stated.design), CLIPPED) ** 2
        variates.append((len(stated.design.clippable), sigma[CLIPPED]))
    return gaussian_loss(stated, square, variates)


def one_model(stated: Stated) -> Loss:
    """Map of `ssp`: the moments that one model needs."""
    blocks = _of_one_model(stated)
    stated.check("discrete-gaussian", JOINT, blocks)
    return gaussian_loss(stated, *_moments(stated))


def with_eigenvalue(stated: Stated) -> Loss:
    """Map of `adassp`: the moments that one model needs, and the smallest eigenvalue of X'X."""
    stated.check("discrete-gaussian", JOINT, [*_of_one_model(stated), EIGENVALUE])
    square, variates = _moments(stated)
    square += stated.over(eigenvalue_sensitivity(stated.design, stated.domain), EIGENVALUE) ** 2
    return gaussian_loss(stated, square, [*variates, (1, stated.law.sigma[EIGENVALUE])])


def gaussian_loss(stated: Stated, square: Fraction, variates: Iterable[tuple[int, int]]) -> Loss:
    """The loss of independent discrete Gaussian noise with this mu^2 and so many variates of each scale, in steps."""
    mu = root_up(square)
    tau = up(sum((Fraction(many, 16 * sigma * sigma) for many, sigma in variates if sigma), Fraction(0)))
    delta = min(gaussian_delta(stated.epsilon, mu, tau), 1 - 2**-20)  # [P:forward-gaussian]
    return Loss.gaussian(stated.epsilon, delta, mu=mu, tau=min(tau, 1 - 2**-20))


def gram_weight(stated: Stated, diagonal: str, off: str, *, columns: int) -> Fraction:
    """What a squared Frobenius norm of a Gram weighs: the larger of what its two kinds of entries say."""
    heavy = 1 / stated.scale(diagonal) ** 2
    return max(heavy, 1 / (2 * stated.scale(off) ** 2)) if columns > 1 else heavy  # [P:forward-gram]


def residual_square(stated: Stated) -> Fraction:
    """The largest squared changes of the residual Grams in units of their scales, over the full and further models."""
    design, domain = stated.design, stated.domain
    domains = [domain, *(model_domain(design, domain, columns) for columns in stated.law.models)]
    total = Fraction(0)
    for number, (one, size) in enumerate(zip(domains, stated.law.residual_sizes(stated.size), strict=True)):
        sensitivity = Fraction(residual_sensitivity(one, design.unit.neighbours))
        total += gram_weight(stated, *model_blocks(number), columns=size) * sensitivity**2  # [P:forward-residuals]
    return total


def _of_one_model(stated: Stated) -> list[str]:
    return stated.moments_blocks(sums=stated.design.needs_sums, target_square=stated.flag("target_square"))


def moment_weights(stated: Stated) -> Blocks:
    """One over the square of every scale, rounded up; 0 for a block that is absent or public."""
    sigma, x = stated.law.sigma, stated.size - 2
    one = {block: up(1 / stated.scale(block) ** 2) if sigma.get(block) else 0.0 for block in sigma}
    return Blocks(
        count=one["count"],
        sum_x=one.get("sum_x", 0.0),
        gram=up(gram_weight(stated, "gram_diagonal", "gram_off_diagonal", columns=x)),
        sum_y=one.get("sum_y", 0.0),
        cross=one["cross"],
        target_square=one.get("target_square", 0.0),
    )


def joint_square(stated: Stated) -> Fraction:
    """The largest squared change of all moments in units of their scales."""
    unit = stated.design.unit
    loss = weighted_loss(
        stated.domain,
        unit.neighbours,
        moment_weights(stated),
        count_public=stated.design.count_public,
        rows_per_unit=unit.max_rows,
        close=CLOSE,
        copied=len(stated.law.indicators),
    )
    return Fraction(loss)  # [P:forward-moments]


def _moments(stated: Stated) -> tuple[Fraction, list[tuple[int, int]]]:
    x = stated.size - 2
    products = x * (x - 1) // 2 - stated.law.zeros
    squares = x - len(stated.law.indicator_columns)
    entries = {"sum_x": x, "gram_diagonal": squares, "gram_off_diagonal": products, "cross": x}
    blocks = stated.moments_blocks()
    variates = [(entries.get(block, 1), stated.law.sigma[block]) for block in blocks if block in stated.law.sigma]
    return joint_square(stated), variates

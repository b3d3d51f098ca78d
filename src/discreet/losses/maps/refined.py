"""Map of `refined`: searches, a Gram, clipped scores and their companions. Proof: maps.proof.md."""

from __future__ import annotations

from fractions import Fraction

from discreet.losses.maps.gaussian import JOINT, gaussian_loss, gram_weight
from discreet.losses.maps.stated import Stated
from discreet.losses.sensitivity.refined import refined_statistics
from discreet.privacy.loss import Loss

_GRAM = ("gram_diagonal", "gram_off_diagonal")


def refined(stated: Stated) -> Loss:
    """Every statistic at its largest change, as often as it is released."""
    statistics = refined_statistics(stated.design)
    gram = statistics.pop("gram")
    stated.check("discrete-gaussian", JOINT, [*statistics, *_GRAM])
    sigma, columns = stated.law.sigma, stated.fitted
    square = Fraction(gram.sensitivity) ** 2 * gram_weight(stated, *_GRAM, columns=columns)
    variates = [(columns, sigma[_GRAM[0]]), (columns * (columns - 1) // 2, sigma[_GRAM[1]])]
    for name, one in statistics.items():
        square += one.times * stated.over(one.sensitivity, name) ** 2
        variates.append((one.times * one.entries, sigma[name]))
    return gaussian_loss(stated, square, variates)  # [P:forward-refined]

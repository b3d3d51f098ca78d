"""Mechanisms that go over the table in several passes: `gradient`, `irls`, `frank-wolfe`. Proof: maps.proof.md."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.errors import SpecError
from discreet.exact.rounding import root_up, up
from discreet.losses.composition import iteration_count
from discreet.losses.law import Calibration
from discreet.losses.maps.gaussian import JOINT, gaussian_loss, gram_weight
from discreet.losses.maps.stated import Stated
from discreet.losses.maps.wishart import weighted_moments
from discreet.losses.promise import concentrated_delta
from discreet.losses.sensitivity.scores import (
    OFF_WEIGHT,
    coordinate_sensitivity,
    gram_l1_sensitivity,
    gram_sensitivity,
    joint_part,
    score_l1_sensitivity,
    score_sensitivity,
    weighted_gram_sensitivity,
)
from discreet.privacy.loss import Loss, pure_mu

MOMENTUM: Final = "momentum_per_mille"
_GRAM: Final = ("gram_diagonal", "gram_off_diagonal")
_ADDED_UP: Final[tuple[Calibration, ...]] = (*JOINT, "composed")
_ROUNDING: Final = 1 + Fraction(1, 2**44)


def gradient(stated: Stated) -> Loss:
    """Map of `gradient`: the number of rows unless it is public, and a sum of scores for each step."""
    design, sigma = stated.design, stated.law.sigma
    counted = () if design.count_public else ("count",)
    stated.check("discrete-gaussian", JOINT, [*counted, "score"], [MOMENTUM] if stated.flag("momentum") else [])
    steps = stated.integer("iterations", 1, 1000)
    square = (
        steps * stated.over(score_sensitivity(stated.domain, design.unit, intercept=design.intercept), "score") ** 2
    )
    variates = [(steps * stated.fitted, sigma["score"])]
    if counted:
        square += stated.over(Fraction(design.unit.max_rows), "count") ** 2
        variates.append((1, sigma["count"]))
    return gaussian_loss(stated, square, variates)  # [P:forward-steps]


def irls(stated: Stated) -> Loss:
    """Map of `irls`, whatever the form and the noise."""
    noise = stated.word("noise", ("auto", "gaussian", "laplace", "wishart"))
    stated.integer("iterations", 0, 1000)
    form = stated.word("form", ("score", "moment"))
    if noise == "wishart":
        return weighted_moments(stated)
    if noise == "laplace" or (noise == "auto" and stated.law.family == "discrete-laplace"):
        return _pure_scores(stated)
    return _scores(stated) if form == "score" else _weighted(stated)


def _scores(stated: Stated) -> Loss:
    design, sigma, passes = stated.design, stated.law.sigma, iteration_count(stated.settings)
    stated.check("discrete-gaussian", _ADDED_UP, [*_GRAM, "score"])
    gram = Fraction(gram_sensitivity(design, stated.domain)) ** 2 * gram_weight(stated, *_GRAM, columns=stated.fitted)
    score = score_sensitivity(stated.domain, design.unit, intercept=design.intercept)
    square = gram + passes * stated.over(score, "score") ** 2
    return gaussian_loss(stated, square, [*_gram_variates(stated, 1), (passes * stated.fitted, sigma["score"])])


def _weighted(stated: Stated) -> Loss:
    design, sigma, passes = stated.design, stated.law.sigma, iteration_count(stated.settings)
    stated.check("discrete-gaussian", _ADDED_UP, [*_GRAM, "cross"])
    of_gram, of_cross = weighted_gram_sensitivity(stated.domain, design.unit, intercept=design.intercept)
    gram = Fraction(of_gram) ** 2 * gram_weight(stated, *_GRAM, columns=stated.fitted)
    cross = stated.over(of_cross, "cross") ** 2
    if design.unit.neighbours == "replace":
        each = Fraction(joint_part(up(gram), up(cross))) * _ROUNDING  # [P:forward-weighted]
    else:
        each = gram + cross
    return gaussian_loss(
        stated, passes * each, [*_gram_variates(stated, passes), (passes * stated.fitted, sigma["cross"])]
    )


def _gram_variates(stated: Stated, passes: int) -> list[tuple[int, int]]:
    size, sigma = stated.fitted, stated.law.sigma
    return [
        (passes * size, sigma["gram_diagonal"]),
        (passes * size * (size - 1) // 2, sigma["gram_off_diagonal"]),
    ]


def _pure_scores(stated: Stated) -> Loss:
    stated.check("discrete-laplace", ("pure",), [*_GRAM, "score"])
    stated.word("form", ("score",))
    passes = iteration_count(stated.settings, pure=True)
    weight = max(1 / stated.scale("gram_diagonal"), 1 / (Fraction(OFF_WEIGHT) * stated.scale("gram_off_diagonal")))
    epsilon = Fraction(gram_l1_sensitivity(stated.design, stated.domain)) * weight
    epsilon += passes * stated.over(score_l1_sensitivity(stated.design, stated.domain), "score")
    return Loss.pure(up(epsilon))  # [P:forward-pure-scores]


def frank_wolfe(stated: Stated) -> Loss:
    """Map of `frank-wolfe`: one choice by the exponential mechanism in each pass."""
    stated.check("discrete-laplace", ("pure", "composed"), ["selection"], ["iterations"])
    passes = stated.integer("iterations", 1, 1000)
    if stated.law.parameters["iterations"] != passes:
        raise SpecError(f"expected {passes} choices as in the settings, got {stated.law.parameters['iterations']}")
    each = 2 * stated.over(Fraction(coordinate_sensitivity(stated.design.unit)), "selection")
    rho = up(passes * each**2 / 8)
    mu = root_up(passes * Fraction(pure_mu(up(each))) ** 2)
    if stated.law.calibration == "pure":
        return Loss(up(passes * each), 0.0, mu, rho)
    delta = min(concentrated_delta(stated.epsilon, rho), 1 - 2**-20)
    return Loss(stated.epsilon, delta, mu, rho)  # [P:forward-choices]

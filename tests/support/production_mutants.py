"""Mistakes put into the production path while it runs, and the judge that sees each of them.

A mutant is a patch of what `discreet.release`, the estimator and the primitives run; no judge looks at the patched
line. Right code passes the very same judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from discreet import release_request
from discreet import workflow as second_pass
from discreet.accounting.noise_distribution import CLIPPED
from discreet.mechanisms import frank_wolfe, gaussian, gradient, irls, refined, staged
from discreet.mechanisms import guard as discovery
from support import discovery_patches, reading_patches, refined_patches, sensitivity_patches, staged_patches
from support import production_patches as mistakes
from support.noise_requests import SEARCHED
from support.production_judges import (
    Judge,
    audit,
    choices,
    coarse_lattice,
    lockstep,
    requests,
    standardised_pair,
    verified,
    wishart_reference,
)


@dataclass(frozen=True)
class ProductionMutant:
    """A mistake.

    Attributes
    ----------
    kind
        What is wrong, in words.
    where
        In which mechanism, primitive or step.
    apply
        Puts it in.
    judge
        What sees it.
    quick
        Whether it is tried on every run of the tests.
    """

    kind: str
    where: str
    apply: Callable[[pytest.MonkeyPatch], None]
    judge: Judge
    quick: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.where}"


# -- the table ---------------------------------------------------------------------------------------------------------

_MECHANISMS = (
    "gaussian", "laplace", "k-norm", "wishart", "functional", "ssp", "adassp", "dpme", "frank-wolfe", "irls",
    "gradient", "output", "objective", "refined", "staged",
)  # fmt: skip
_OTHER_NOISE = ("dpme gaussian", "irls gaussian", "irls moment")
_MOMENTS = ("gaussian", "laplace", "k-norm", "wishart", "functional", "ssp", "adassp")
_PRIMITIVES = (
    "laplace", "discrete_laplace", "gaussian", "counting_queries", "counting_queries gaussian", "private_mean",
    "private_mean replace", "private_mean absolute-error", "private_mean squared-error",
)  # fmt: skip


def _table() -> list[ProductionMutant]:
    made = [
        ProductionMutant("noise halved at its source", name, mistakes.halved_at_its_source, audit(name), name == "irls")
        for name in (*_MECHANISMS, *_OTHER_NOISE)
    ]
    made.append(
        ProductionMutant(
            "noise halved at its source", "irls wishart", mistakes.halved_at_its_source, wishart_reference()
        )
    )
    made += [
        ProductionMutant("scale halved before the draw", name, mistakes.asked_at_half_the_scale, audit(name))
        for name in (*_MECHANISMS, *_OTHER_NOISE)
        if name not in ("k-norm", "wishart")
    ]
    made += [
        ProductionMutant(
            "noise halved after the draw",
            name,
            mistakes.formed_halved if name in ("k-norm", "wishart") else mistakes.variates_changed(mistakes.half),
            audit(name),
            name == "gaussian",
        )
        for name in (*_MECHANISMS, *_OTHER_NOISE)
        if name != "frank-wolfe"
    ]
    made.append(
        ProductionMutant(
            "noise halved after the draw",
            "irls with another power",
            mistakes.variates_changed(mistakes.half),
            lockstep("irls score of a power"),
        )
    )
    made += [
        ProductionMutant("noise halved after the draw", where, apply, audit(entry), quick)
        for where, apply, entry, quick in (
            ("guard", mistakes.guard_halved, "gaussian guard", False),
            ("guard of laplace", mistakes.guard_halved, "laplace guard", True),
            ("clip counts", mistakes.clips_halved, "gaussian clip counts", True),
            ("clip counts of laplace", mistakes.clips_halved, "laplace clip counts", False),
            ("residuals", mistakes.residuals_halved, "gaussian robust", False),
            ("count in gradient", mistakes.count_halved_in_gradient, "gradient", False),
            ("minimum of objective", mistakes.point_noise_halved, "objective", False),
        )
    ]
    made += [
        ProductionMutant(
            "one pass without noise", "products of scores of staged", mistakes.score_products_exact,
            audit("staged robust"),
        ),
        ProductionMutant(
            "one pass uncharged", "products of scores of staged", mistakes.score_products_free,
            verified("staged", robust=True),
        ),
    ]  # fmt: skip
    robust = {"robust": True}
    made += [
        ProductionMutant("scale of one block halved", where, mistakes.halved_in(module, name, block), judge, quick)
        for where, module, name, block, judge, quick in (
            ("residuals", second_pass, "residuals_with_noise", "residual_off_diagonal",
             requests("gaussian robust", "gaussian", **robust), True),
            ("ratio of residuals", second_pass, "residuals_with_noise", "residual_ratio",
             requests("gaussian robust", "gaussian", **robust), False),
            ("products of scores of staged", staged, "_score_products_with_noise", "score_off_diagonal",
             requests("staged robust", "staged", **robust), True),
            ("guard", release_request, "guard_counts", "guard",
             requests("gaussian guard", "gaussian", guard=True), False),
            ("private bounds", discovery, "noisy_counts", "discovery",
             requests("gaussian private bounds", "gaussian", columns=SEARCHED), False),
            ("gram of refined", refined, "_noisy_gram", "gram_off_diagonal", requests("refined", "refined"), False),
            ("scores of refined", refined, "noisy", "score", requests("refined", "refined"), False),
            ("cross of irls", irls, "noisy_cross", "cross",
             requests("irls moment", "irls", {"form": "moment", "iterations": 3}), False),
        )
    ]  # fmt: skip
    made += [
        ProductionMutant("one variate for two numbers", name, mistakes.last_reused, requests(name, name))
        for name in ("gaussian", "refined", "output")
    ]
    made += [
        ProductionMutant(
            "noise halved",
            f"primitives.{name}",
            mistakes.primitives_halved,
            audit(f"primitives.{name}", 60_000 if name == "gaussian" else 10_000),
        )
        for name in _PRIMITIVES
    ]
    made += [
        ProductionMutant(
            "the truth twice as likely",
            "primitives.randomised_response",
            mistakes.truth_twice_as_often,
            audit("primitives.randomised_response", 10_000),
        ),
        ProductionMutant(
            "noisy max with half the noise",
            "primitives.report_noisy_max",
            mistakes.primitives_halved,
            audit("primitives.report_noisy_max", 10_000),
        ),
        ProductionMutant(
            "exponent doubled",
            "primitives.exponential_mechanism",
            mistakes.exponent_doubled,
            audit("primitives.exponential_mechanism", 10_000),
        ),
        ProductionMutant(
            "one pass uncharged", "irls", mistakes.one_pass_less(irls, "pure_score_distribution"), audit("irls")
        ),
        ProductionMutant(
            "one pass uncharged",
            "irls gaussian",
            mistakes.one_pass_less(irls, "score_shares"),
            audit("irls gaussian"),
            True,
        ),
        ProductionMutant(
            "one pass uncharged",
            "irls moment",
            mistakes.one_pass_less(irls, "moment_shares"),
            verified("irls", iterations=3, form="moment"),
        ),
        ProductionMutant(
            "one pass uncharged", "gradient", mistakes.one_pass_less(gradient, "gradient_shares"), audit("gradient")
        ),
        ProductionMutant(
            "one pass uncharged",
            "frank-wolfe",
            mistakes.one_pass_less(frank_wolfe, "epsilon_of_a_choice"),
            verified("frank-wolfe", delta=0.0, iterations=3),
        ),
        ProductionMutant("one pass uncharged", "refined", refined_patches.one_time_less("score"), verified("refined")),
        ProductionMutant(
            "one comparison uncharged", "refined", refined_patches.one_time_less("radius"), verified("refined")
        ),
        ProductionMutant("one pass uncharged", "staged", staged_patches.searches_free, verified("staged")),
        ProductionMutant("Gram uncharged", "refined", refined_patches.part_free("gram_diagonal"), audit("refined")),
        ProductionMutant("one pass uncharged", "residuals", mistakes.residual_pass_free, audit("gaussian robust")),
        ProductionMutant("count uncharged", "laplace", mistakes.count_free_in_laplace, audit("laplace")),
        ProductionMutant("count uncharged", "gradient", mistakes.count_free_in_gradient, audit("gradient")),
        ProductionMutant("count uncharged", "refined", refined_patches.part_free("count"), verified("refined")),
        ProductionMutant("count uncharged", "guard", mistakes.guard_free, audit("gaussian guard")),
        ProductionMutant(
            "count uncharged",
            "clip counts",
            mistakes.beside_free(
                gaussian.GaussianMoments, CLIPPED, lambda one, distribution: distribution(gaussian.GaussianMoments())
            ),
            audit("gaussian clip counts"),
        ),
        ProductionMutant(
            "counts uncharged",
            "private bounds",
            discovery_patches.counts_free,
            audit("gaussian private bounds", 30),
            True,
        ),
        ProductionMutant(
            "counts uncharged",
            "private bounds of laplace",
            discovery_patches.counts_free,
            audit("laplace private bounds", 30),
        ),
        ProductionMutant(
            "counts without noise",
            "private bounds",
            discovery_patches.counts_exact,
            audit("gaussian private bounds", 30),
            True,
        ),
        ProductionMutant(
            "noise halved after the draw",
            "private bounds",
            discovery_patches.counts_halved,
            audit("laplace private bounds", 30),
        ),
        ProductionMutant(
            "exact counts as bounds",
            "private bounds",
            discovery_patches.exact_bounds,
            audit("gaussian private bounds", 60),
            True,
        ),
        ProductionMutant("eigenvalue uncharged", "adassp", mistakes.eigenvalue_free, audit("adassp")),
        ProductionMutant("epsilon for each entry", "laplace", mistakes.each_entry_alone, audit("laplace"), True),
        ProductionMutant("lattice gap dropped", "primitives.gaussian", mistakes.lattice_free, coarse_lattice(), True),
        ProductionMutant(
            "first step without noise",
            "gradient",
            mistakes.score_without_noise(gradient, 0),
            audit("gradient"),
            True,
        ),
        ProductionMutant("first step without noise", "refined", refined_patches.step_without_noise, audit("refined")),
        ProductionMutant(
            "one comparison without noise", "refined", refined_patches.comparison_without_noise, audit("refined")
        ),
        ProductionMutant(
            "one variate for all columns", "refined", refined_patches.one_variate_for_all, audit("refined")
        ),
        ProductionMutant("one pass without noise", "irls", mistakes.score_without_noise(irls, 1), audit("irls")),
        ProductionMutant(
            "one pass without noise", "irls gaussian", mistakes.score_without_noise(irls, 2), audit("irls gaussian")
        ),
        ProductionMutant("one pass without noise", "residuals", mistakes.residuals_exact, audit("gaussian robust")),
        ProductionMutant(
            "last choice without noise", "frank-wolfe", mistakes.last_choice_without_noise, choices(), True
        ),
        ProductionMutant(
            "one number without noise",
            "gaussian",
            mistakes.variates_changed(mistakes.last_without_noise),
            audit("gaussian"),
        ),
        ProductionMutant(
            "one number without noise",
            "output",
            mistakes.variates_changed(mistakes.last_without_noise),
            audit("output"),
        ),
        ProductionMutant(
            "one number without noise",
            "eigenvalue",
            mistakes.variates_changed(mistakes.eigenvalue_without_noise),
            audit("adassp"),
        ),
        ProductionMutant("one number without noise", "guard", mistakes.guard_exact, audit("gaussian guard")),
        ProductionMutant(
            "one number without noise", "clip counts", mistakes.clips_exact, audit("gaussian clip counts")
        ),
        ProductionMutant("one number without noise", "empty cells", mistakes.empty_cells_exact, audit("dpme")),
        ProductionMutant(
            "exact sums as preconditioner", "irls", mistakes.exact_preconditioner, audit("irls gaussian"), True
        ),
        ProductionMutant("exact sums as preconditioner", "refined", refined_patches.exact_gram, audit("refined")),
        ProductionMutant("exact sums as scaling", "refined", refined_patches.exact_scaling(refined), audit("refined")),
        ProductionMutant("exact sums as scaling", "staged", refined_patches.exact_scaling(staged), audit("staged")),
        ProductionMutant("exact sums as threshold", "refined", refined_patches.exact_clip, audit("refined")),
        ProductionMutant("exact sums as threshold", "irls", mistakes.threshold_from_sums, audit("irls gaussian")),
        ProductionMutant(
            "noise reused",
            "by the next release",
            mistakes.the_same_for_every_release,
            audit("gaussian", 1000, whole=200),
        ),
        ProductionMutant("noise reused", "for all entries", mistakes.one_for_all_entries, audit("gaussian")),
        ProductionMutant(
            "noise reused", "in the next pass", mistakes.the_same_in_every_pass, audit("irls gaussian"), True
        ),
        ProductionMutant("floating-point noise", "gaussian", mistakes.doubles_in_moments, audit("gaussian")),
        ProductionMutant(
            "floating-point noise",
            "primitives.laplace",
            mistakes.doubles_in_a_primitive,
            audit("primitives.laplace", 4000),
        ),
        ProductionMutant(
            "clip forgotten on one column", "reading", reading_patches.not_clipped, audit("gaussian"), True
        ),
        ProductionMutant("ball forgotten", "reading", reading_patches.ball_forgotten, audit("gaussian"), True),
        ProductionMutant(
            "exchanged rows charged as added",
            "gradient",
            sensitivity_patches.exchanged_scores_as_added,
            audit("gradient"),
        ),
        ProductionMutant(
            "volume not charged", "objective", sensitivity_patches.volume_forgotten, audit("objective"), True
        ),
        ProductionMutant(
            "dropped rows not charged", "gaussian", sensitivity_patches.dropped_rows_forgotten, audit("gaussian")
        ),
        ProductionMutant(
            "scaled by the data", "reading", reading_patches.scaled_by(reading_patches.by_largest), audit("gaussian")
        ),
        ProductionMutant(
            "z-scores", "reading", reading_patches.scaled_by(reading_patches.by_mean_and_deviation), audit("gaussian")
        ),
        ProductionMutant(
            "z-scores",
            "estimator",
            reading_patches.standardised_before_fit,
            standardised_pair(),
        ),
        ProductionMutant(
            "type of the whole column", "reading", reading_patches.type_of_the_whole_column, audit("gaussian")
        ),
        ProductionMutant("wrong k for persons", "rows that count", reading_patches.one_row_too_many, audit("gaussian")),
        ProductionMutant("wrong k for persons", "noise", reading_patches.noise_of_one_row, audit("gaussian")),
        ProductionMutant("order of rows decides", "rows that count", reading_patches.place_decides, audit("gaussian")),
        ProductionMutant("Wishart as published", "wishart", mistakes.wishart_as_published, audit("wishart")),
    ]
    made += [
        ProductionMutant("exact sum beside noisy ones", name, mistakes.exact_sum_among_the_noisy, audit(name))
        for name in _MOMENTS
    ]
    made += [
        ProductionMutant("exact sum in the words of the file", name, mistakes.exact_sum_in_the_words, audit(name))
        for name in _MECHANISMS
    ]
    return made


MUTANTS = {mutant.name: mutant for mutant in _table()}

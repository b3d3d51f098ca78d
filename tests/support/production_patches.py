"""Mistakes that can be put into the production path while it runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import release_request
from discreet import workflow as second_pass
from discreet.accounting.moment_queries import EIGENVALUE
from discreet.accounting.moments import l1_sensitivity
from discreet.audit import runs
from discreet.mechanisms import calibration as blocks
from discreet.mechanisms import frank_wolfe, gaussian, gradient, irls, k_norm, laplace, sampler, staged, wishart
from discreet.mechanisms import irls as iterates
from discreet.mechanisms import irls as wishart_moments
from discreet.mechanisms.dpme import PerturbedHistogram
from discreet.mechanisms.guard import GuardCounts
from discreet.mechanisms.irls import fitted_indices
from discreet.mechanisms.protocol import RunContext
from discreet.primitives import counts, gaussian_noise, laplace_noise, mean, response, selection
from discreet.primitives import grid_noise as grids
from discreet.privacy import lattice
from discreet.release_request import ReleaseRequest
from discreet.releases import NoiseDistribution

Patch = pytest.MonkeyPatch


# -- noise halved ------------------------------------------------------------------------------------------------------


def halved_at_its_source(patch: Patch) -> None:
    """The sampler, and noise formed of uniform bits, at half the scale."""
    normal, laplacian, vector = sampler._gaussian, sampler.laplace_variates, k_norm.k_norm_noise
    patch.setattr(sampler, "_gaussian", lambda sigma, times: normal(max(1, sigma // 2), times))
    patch.setattr(sampler, "laplace_variates", lambda scale, times: laplacian(scale / 2, times))
    patch.setattr(k_norm, "k_norm_noise", lambda scales, source: vector([one // 2 for one in scales], source))
    for module in (wishart, wishart_moments):
        matrix = module.wishart_noise
        patch.setattr(
            module,
            "wishart_noise",
            lambda scales, degrees, source, matrix=matrix: matrix(
                [round(one / math.sqrt(2)) for one in scales], degrees, source
            ),
        )


class Changed:
    """A sampler whose variates are changed on their way."""

    def __init__(self, source: Any, change: Callable[[list[int], Sequence[int]], list[int]]) -> None:
        self._source, self._change = source, change
        self.private = source.private

    def draw(self, scales: Sequence[int]) -> list[int]:
        return self._change(self._source.draw(scales), scales)

    def laplace(self, scales: Sequence[int]) -> list[int]:
        return self._change(self._source.laplace(scales), scales)

    def bits(self, how_many: int) -> int:
        return self._source.bits(how_many)


def variates_changed(change: Callable[[list[int], Sequence[int]], list[int]]) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        context = ReleaseRequest.context
        patch.setattr(ReleaseRequest, "context", lambda self, source: context(self, Changed(source, change)))

    return apply


def formed_halved(patch: Patch) -> None:
    """What is published is half as far from the exact sums as it should be."""
    for kind in (k_norm.KNormMoments, wishart.WishartMoments):
        passes = kind.passes

        def nearer(self, context, passes=passes):
            run = passes(self, context)
            totals = yield next(run)
            try:
                run.send(totals)
            except StopIteration as done:
                exact = totals.on_grid(context.distribution.unit)
                pairs = zip(exact, done.value.totals, strict=True)
                return replace(done.value, totals=tuple(a + (b - a) // 2 for a, b in pairs))

        patch.setattr(kind, "passes", nearer)


def half(values: list[int], scales: Sequence[int]) -> list[int]:
    return [value // 2 for value in values]


def guard_halved(patch: Patch) -> None:
    counts = release_request.guard_counts
    for module in (release_request, runs):
        patch.setattr(
            module,
            "guard_counts",
            lambda fitting, distribution, source: counts(fitting, distribution, Changed(source, half)),
        )


def clips_halved(patch: Patch) -> None:
    for module in (gaussian, laplace):
        grid = module.on_product_grid
        patch.setattr(
            module,
            "on_product_grid",
            lambda found, noise, distribution, grid=grid: grid(found, half(noise, ()), distribution),
        )


def residuals_halved(patch: Patch) -> None:
    noisy = second_pass.residuals_with_noise
    patch.setattr(
        second_pass,
        "residuals_with_noise",
        lambda sums, distribution, size, source: noisy(sums, distribution, size, Changed(source, half)),
    )


def count_halved_in_gradient(patch: Patch) -> None:
    bound = gradient.row_bound
    patch.setattr(
        gradient,
        "row_bound",
        lambda ones, context: bound(ones, replace(context, sampler=Changed(context.sampler, half))),
    )


def point_noise_halved(patch: Patch) -> None:
    context = ReleaseRequest.context

    def smaller(self: Any, source: Any) -> Any:
        point = self.distribution.sigma["coefficients"]
        return context(self, Changed(source, lambda values, scales: half(values, ()) if point in scales else values))

    patch.setattr(ReleaseRequest, "context", smaller)


class AtHalfTheScale(Changed):
    def draw(self, scales: Sequence[int]) -> list[int]:
        return self._source.draw([scale // 2 for scale in scales])

    def laplace(self, scales: Sequence[int]) -> list[int]:
        return self._source.laplace([scale // 2 for scale in scales])


def asked_at_half_the_scale(patch: Patch) -> None:
    context = ReleaseRequest.context
    patch.setattr(ReleaseRequest, "context", lambda self, source: context(self, AtHalfTheScale(source, half)))


def halved_in(module: Any, name: str, block: str) -> Callable[[Patch], None]:
    """A function that draws sees a distribution in which one block has half its scale; the file states the right
    one."""

    def apply(patch: Patch) -> None:
        drawn = getattr(module, name)

        def smaller(distribution: NoiseDistribution) -> NoiseDistribution:
            return (
                replace(distribution, sigma={**distribution.sigma, block: distribution.sigma[block] // 2})
                if block in distribution.sigma
                else distribution
            )

        def seen(one: Any) -> Any:
            if isinstance(one, RunContext):
                return replace(one, distribution=smaller(one.distribution))
            return smaller(one) if isinstance(one, NoiseDistribution) else one

        patch.setattr(module, name, lambda *given: drawn(*map(seen, given)))

    return apply


class LastReused(Changed):
    """Draws one variate too few, and gives the first one twice."""

    def draw(self, scales: Sequence[int]) -> list[int]:
        values = self._source.draw(scales[: max(1, len(scales) - 1)])
        return values if len(values) == len(scales) else [*values, values[0]]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        values = self._source.laplace(scales[: max(1, len(scales) - 1)])
        return values if len(values) == len(scales) else [*values, values[0]]


def last_reused(patch: Patch) -> None:
    context = ReleaseRequest.context
    patch.setattr(ReleaseRequest, "context", lambda self, source: context(self, LastReused(source, half)))


def primitives_halved(patch: Patch) -> None:
    one, many, normal = grids.laplace_noise, grids.laplace_noises, grids.gaussian_noise
    for module in (laplace_noise, counts, mean, selection):
        patch.setattr(module, "laplace_noise", lambda scale, times: one(scale / 2, times))
    patch.setattr(laplace_noise, "laplace_noises", lambda scales: many([scale / 2 for scale in scales]))
    for module in (gaussian_noise, counts):
        patch.setattr(module, "gaussian_noise", lambda sigma, times: normal(max(1, sigma // 2), times))
    absolute, squared = mean.absolute_error_draw, mean.squared_error_draw
    patch.setattr(mean, "absolute_error_draw", lambda total, far, scale: absolute(total, far, scale / 2))
    patch.setattr(mean, "squared_error_draw", lambda place, size, epsilon: squared(place, size, 2 * epsilon))


def truth_twice_as_often(patch: Patch) -> None:
    probability = response.truth_probability
    patch.setattr(response, "truth_probability", lambda epsilon: probability(2 * epsilon))
    patch.setattr("discreet.audit.audited_primitives.response_epsilon", lambda q: response.response_epsilon(q))


def exponent_doubled(patch: Patch) -> None:
    coin = selection.bernoulli_exp
    patch.setattr(selection, "bernoulli_exp", lambda lack: coin(2 * lack))


# -- parts that are not charged ----------------------------------------------------------------------------------------


def one_pass_less(module: Any, name: str) -> Callable[[Patch], None]:
    """The account of a mechanism is that of one pass less."""

    def apply(patch: Patch) -> None:
        counted = getattr(module, name)

        def fewer(*given: Any, **more: Any) -> Any:
            place = max(k for k, one in enumerate(given) if type(one) is int)
            return counted(*given[:place], given[place] - 1, *given[place + 1 :], **more)

        patch.setattr(module, name, fewer)

    return apply


def residual_pass_free(patch: Patch) -> None:
    sigmas = blocks.block_sigmas
    whole = 1 / math.sqrt(1 - blocks.ROBUST_SHARE)
    patch.setattr(blocks, "block_sigmas", lambda domain, pairs, mu, *rest, **more: sigmas(
        domain, pairs, mu * whole, *rest, **more
    ))  # fmt: skip


def score_products_free(patch: Patch) -> None:
    """The score keeps the share of the products, as if these cost nothing."""
    shares = staged.staged_shares

    def uncharged(design: Any, *, robust: bool) -> Any:
        found = shares(design, robust=robust)
        return replace(found, score=found.score + found.products)

    patch.setattr(staged, "staged_shares", uncharged)


def guard_free(patch: Patch) -> None:
    guarded = release_request.guarded_distribution
    patch.setattr(
        release_request,
        "guarded_distribution",
        lambda design, domain, budget, distribution_for: distribution_for(budget).with_before(
            "guard", guarded(design, domain, budget, distribution_for).sigma["guard"]
        ),
    )


def beside_free(kind: Any, block: str, without: Callable[[Any, Any], Any]) -> Callable[[Patch], None]:
    """The distribution of a mechanism as it is without one of its parts, which keeps its noise."""

    def apply(patch: Patch) -> None:
        model = kind.noise_model

        def free(self: Any, design: Any, domain: Any, budget: Any, settings: Any) -> NoiseDistribution:
            made = model(self, design, domain, budget, settings)
            if block not in made.sigma:
                return made
            alone = without(self, lambda other: model(other, design, domain, budget, settings))
            return replace(alone, sigma={**alone.sigma, block: made.sigma[block]})

        patch.setattr(kind, "noise_model", free)

    return apply


def eigenvalue_free(patch: Patch) -> None:
    distribution = blocks.noise_distribution

    def free(moments: Any, budget: Any, shares: Any, others: Any, *, share: float) -> NoiseDistribution:
        made = distribution(moments, budget, shares, others, share=share)
        alone = distribution(moments, budget, shares)
        return replace(alone, sigma={**alone.sigma, EIGENVALUE: made.sigma[EIGENVALUE]})

    patch.setattr("discreet.mechanisms.adassp.noise_distribution", free)


def count_free_in_laplace(patch: Patch) -> None:
    patch.setattr(laplace, "l1_sensitivity", lambda design, domain, weights: l1_sensitivity(
        design, domain, {block: weight for block, weight in weights.items() if block != "count"} or weights
    ))  # fmt: skip


def count_free_in_gradient(patch: Patch) -> None:
    distribution = gradient.queries_distribution

    def free(domain: Any, budget: Any, given: Any) -> NoiseDistribution:
        made = distribution(domain, budget, given)
        alone = distribution(domain, budget, [(query, 1.0) for query, _ in given if query.block == "score"])
        return replace(alone, sigma={**made.sigma, **alone.sigma})

    patch.setattr(gradient, "queries_distribution", free)


def each_entry_alone(patch: Patch) -> None:
    """Every block has the noise that it would need if nothing else were released."""

    def distribution(
        design: Any, domain: Any, budget: Any, weights: Any, *, clip_counts: bool = False
    ) -> NoiseDistribution:
        scales = {
            block: sampler.rounded_up(math.ceil(
                Fraction(l1_sensitivity(design, domain, {block: 1.0})) / Fraction(budget.epsilon) * 4**domain.grid_bits
            ) or 1)
            for block in weights
        }  # fmt: skip
        return NoiseDistribution(domain.grid_bits, scales, "pure", family="discrete-laplace")

    patch.setattr(laplace, "pure_distribution", distribution)


def lattice_free(patch: Patch) -> None:
    patch.setattr(lattice, "lattice_gap", lambda epsilon, variates: 0.0)


# -- noise left out or used twice --------------------------------------------------------------------------------------


def exact_scores(sums: Any, context: Any) -> np.ndarray:
    return np.array([sums.values[index] / sums.unit for index in fitted_indices(context.design)])


def score_without_noise(module: Any, which: int) -> Callable[[Patch], None]:
    """One of the steps, counted from 0, by exact scores."""

    def apply(patch: Patch) -> None:
        noisy, seen = module.noisy_score, {}

        def score(sums: Any, context: Any) -> np.ndarray:
            # kept beside its step, so that no later context gets its id
            step = seen.get(id(context), (context, -1))[1] + 1
            seen[id(context)] = context, step
            found = noisy(sums, context)
            return exact_scores(sums, context) if step == which else found

        patch.setattr(module, "noisy_score", score)

    return apply


def last_choice_without_noise(patch: Patch) -> None:
    chosen, seen = frank_wolfe.select, {}

    def select(scores: Sequence[int], scale: int, source: Any) -> int:
        seen[id(source)] = seen.get(id(source), 0) + 1
        found = chosen(scores, scale, source)
        return found if seen[id(source)] < 5 else max(range(len(scores)), key=scores.__getitem__)

    patch.setattr(frank_wolfe, "select", select)


def exact_gram(moments: Any, context: Any) -> np.ndarray:
    indices = fitted_indices(context.design)
    size = indices[-1] + 2
    at = {(i, j): irls.position(i, j, size) for i in indices for j in indices if i <= j}
    return np.array([[moments.values[at[min(i, j), max(i, j)]] / moments.unit for j in indices] for i in indices])


def exact_preconditioner(patch: Patch) -> None:
    noisy = irls.noisy_gram

    def gram(moments: Any, context: Any) -> np.ndarray:
        noisy(moments, context)
        return exact_gram(moments, context)

    patch.setattr(irls, "noisy_gram", gram)


def threshold_from_sums(patch: Patch) -> None:
    noisy, graduated, seen = irls.noisy_gram, irls.graduated, []

    def gram(moments: Any, context: Any) -> np.ndarray:
        seen.append(1 + 1e-6 * (moments.values[0] / moments.unit))
        return noisy(moments, context)

    patch.setattr(irls, "noisy_gram", gram)
    patch.setattr(irls, "graduated", lambda loss, passes: graduated(
        replace(loss, threshold=loss.threshold * seen[-1]), passes
    ))  # fmt: skip


def residuals_exact(patch: Patch) -> None:
    noisy = second_pass.residuals_with_noise

    def exact(sums: Any, distribution: NoiseDistribution, size: int, source: Any) -> tuple[int, ...]:
        noisy(sums, distribution, size, source)
        return sums.on_grid(distribution.unit)

    patch.setattr(second_pass, "residuals_with_noise", exact)


def score_products_exact(patch: Patch) -> None:
    noisy = staged._score_products_with_noise

    def exact(context: RunContext, size: int, totals: Sequence[int]) -> tuple[int, ...]:
        noisy(context, size, totals)
        return tuple(totals)

    patch.setattr(staged, "_score_products_with_noise", exact)


def guard_exact(patch: Patch) -> None:
    for module in (release_request, runs):
        patch.setattr(
            module,
            "guard_counts",
            lambda fitting, distribution, source: GuardCounts(*(one * distribution.unit for one in fitting)),
        )


def clips_exact(patch: Patch) -> None:
    for module in (gaussian, laplace):
        grid = module.on_product_grid
        patch.setattr(
            module,
            "on_product_grid",
            lambda found, noise, distribution, grid=grid: grid(found, [0] * len(noise), distribution),
        )


def empty_cells_exact(patch: Patch) -> None:
    noisy = PerturbedHistogram.randomise

    def randomise(self: Any, totals: Sequence[int], distribution: NoiseDistribution, source: Any) -> list[int]:
        return [a if a else 0 for a in map(_where, totals, noisy(self, totals, distribution, source))]

    def _where(total: int, found: int) -> int:
        return found if total else 0

    patch.setattr(PerturbedHistogram, "randomise", randomise)


def last_without_noise(values: list[int], scales: Sequence[int]) -> list[int]:
    return [*values[:-1], 0] if values else values


def eigenvalue_without_noise(values: list[int], scales: Sequence[int]) -> list[int]:
    return [0] if len(values) == 1 else values


def the_same_for_every_release(patch: Patch) -> None:
    normal, kept = sampler._gaussian, {}

    def again(sigma: int, times: int) -> list[int]:
        if (sigma, times) not in kept:
            kept[sigma, times] = normal(sigma, times)
        return list(kept[sigma, times])

    patch.setattr(sampler, "_gaussian", again)


def one_for_all_entries(patch: Patch) -> None:
    normal = sampler._gaussian
    patch.setattr(sampler, "_gaussian", lambda sigma, times: normal(sigma, 1) * times)


def the_same_in_every_pass(patch: Patch) -> None:
    drawn, kept = iterates.variates, {}

    def again(context: Any, scales: Sequence[int]) -> list[int]:
        key = id(context), tuple(scales)
        if key not in kept:
            kept[key] = drawn(context, scales)
        return kept[key]

    patch.setattr(iterates, "variates", again)


def doubles_in_moments(patch: Patch) -> None:
    def randomise(self: Any, moments: Any, distribution: NoiseDistribution, source: Any) -> tuple[float, ...]:
        exact = moments.on_grid(distribution.unit)
        size = blocks_size(len(exact))
        drawn = [a + random.gauss(0, scale) for a, scale in zip(exact, distribution.steps(size), strict=True)]
        return tuple(distribution.with_copies(drawn, size))

    patch.setattr(gaussian.GaussianMoments, "randomise", randomise)


def blocks_size(entries: int) -> int:
    return gaussian.size_of(entries)


def doubles_in_a_primitive(patch: Patch) -> None:
    draw = np.random.default_rng().laplace
    noisy = laplace_noise.laplace

    def floating(values: Sequence[float], changes: Any, epsilon: float) -> Any:
        made = noisy(values, changes, epsilon=epsilon)
        return replace(made, values=tuple(np.asarray(values) + draw(0, made.scales[0], len(values))))

    patch.setattr("discreet.audit.audited_primitives.laplace", floating)


# -- exact numbers in the file -----------------------------------------------------------------------------------------


def exact_number(first: Any) -> int:
    return sum(first.values) + (0 if first.cells is None else int(first.cells.sum()))


def exact_sum_among_the_noisy(patch: Patch) -> None:
    released = ReleaseRequest.release

    def leaking(self: Any, published: Any, first: Any, *rest: Any) -> Any:
        made = released(self, published, first, *rest)
        return replace(made, scalars={**made.scalars, "exact": exact_number(first)})

    patch.setattr(ReleaseRequest, "release", leaking)


def exact_sum_in_the_words(patch: Patch) -> None:
    released = ReleaseRequest.release

    def leaking(self: Any, published: Any, first: Any, *rest: Any) -> Any:
        made = released(self, published, first, *rest)
        return replace(made, made_by=f"{made.made_by} ({exact_number(first)})")

    patch.setattr(ReleaseRequest, "release", leaking)


# -- Wishart -----------------------------------------------------------------------------------------------------------


def wishart_as_published(patch: Patch) -> None:
    """The fewest degrees of freedom that a release may state, and a scale of 3/(2 epsilon) for a row of length 1."""
    model = wishart.WishartMoments.noise_model

    def published(self: Any, design: Any, domain: Any, budget: Any, settings: Any) -> NoiseDistribution:
        made = model(self, design, domain, budget, settings)
        column = math.ceil(domain.unit * math.sqrt(1.5 / budget.epsilon * (len(design.released))))
        scales = wishart.Scales(column, column, column)
        return replace(
            made,
            sigma=scales.blocks(count_public=design.count_public),
            parameters={"degrees": len(design.released) + 2},
        )

    patch.setattr(wishart.WishartMoments, "noise_model", published)

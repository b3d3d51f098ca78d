"""The loss of a pair of tables in exact arithmetic, under the noise that a mechanism draws.

Where a mechanism asks one question after another, the loss is that along one run: each question is put to both tables,
and what the answers differ by is divided by the scale of their noise. Adaptive composition makes it the loss of that
run; the claim must cover it for every run.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

from discreet.audit.statistics.claims import Claim
from discreet.audit.subjects.objective_loss import objective_loss
from discreet.audit.subjects.replay import replayed_square
from discreet.audit.subjects.rows import MadeUpRows
from discreet.audit.subjects.runs import one_run
from discreet.audit.subjects.subject import ExactLoss
from discreet.curator.sums.protocol import Sums, Totals
from discreet.exact.eigenvalue import smallest_eigenvalue
from discreet.exact.rounding import root_up, up
from discreet.exact.triangle import pairs as places
from discreet.exact.triangle import position
from discreet.losses.chi_square import best_share, proved_delta, served_epsilon
from discreet.losses.law import CLIPPED, GUARD, entry_blocks
from discreet.losses.maps.registry import SCALED, WEIGHTED
from discreet.mechanisms.coefficients.ball_ridge import normal_equations, ridge_in_ball
from discreet.mechanisms.coefficients.iterates import fitted_indices
from discreet.mechanisms.moments.adassp import EIGENVALUE, regressor_gram
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.workflow import Question

Values: TypeAlias = tuple[int, ...]
# totals of one pass for the table and for its neighbour
Answers: TypeAlias = tuple[Totals, Totals]
# what one pass adds: changes of noisy numbers, each with the scale of its noise
Changes: TypeAlias = Iterator[tuple[int, int]]
Compared: TypeAlias = Callable[[Question, int, Values, Values], Changes]


def exact_loss(
    name: str, asked: Question, claim: Claim, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler
) -> ExactLoss | None:
    """The loss of one run on the first table of a pair; none for a mechanism whose law has no such form."""
    if asked.law.family == "wishart":
        # an exchanged row is proved in two steps, of which the tables show only the sum
        known = asked.mechanism.name == "wishart" and not asked.design.count_public
        return _wishart(name, asked, claim, sides, sampler) if known else None
    if is_replayed(asked):
        square = replayed_square(asked, sides, sampler)
        spent = math.inf if square is None else root_up(square)
        return None if claim.mu is None else ExactLoss(name, "mu", spent, claim.mu)
    if asked.mechanism.name == "objective":
        return objective_loss(name, asked, claim, sides)
    compared = COMPARED[asked.mechanism.name]
    changes = [
        Fraction(abs(change), scale)
        for change, scale in _all_changes(asked, compared, run_of(asked, sides, sampler))
        if change
    ]
    if asked.law.family == "discrete-laplace":
        return ExactLoss(name, "epsilon", up(sum(changes, Fraction(0))), claim.epsilon)
    length = root_up(sum((change * change for change in changes), Fraction(0)))
    if asked.law.family == "k-norm":
        return ExactLoss(name, "epsilon", length, claim.epsilon)
    return None if claim.mu is None else ExactLoss(name, "mu", length, claim.mu)


def is_replayed(asked: Question) -> bool:
    """Whether a replay shows what all passes cost, because numbers are released beside what sums are asked for."""
    return asked.mechanism.name == "refined" or asked.mechanism.version in SCALED | WEIGHTED


def run_of(asked: Question, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler) -> list[Answers]:
    """One run on the first table, with the same questions put to its neighbour."""
    answers: list[Answers] = []

    def read(wanted: Sums) -> Totals:
        again = copy.deepcopy(wanted)
        answers.append((sides[0].sums(wanted), sides[1].sums(again)))
        return answers[-1][0]

    if asked.rereads:
        one_run(unguarded(asked), sampler, read)
    else:
        read(next(asked.mechanism.passes(asked.context(sampler))))
    return answers


def unguarded(asked: Question) -> Question:
    """The question as it goes on where a guard does not stop it."""
    return replace(asked, law=asked.law.without_before())


def _all_changes(asked: Question, compared: Compared, answers: Sequence[Answers]) -> Changes:
    """What is released in every pass of the mechanism, and after the last."""
    last = len(answers) - 1
    for step, (one, other) in enumerate(answers):
        yield from pass_changes(asked, compared, step, one, other, residuals=asked.robust and step == last)


def pass_changes(
    asked: Question, compared: Compared, step: int, one: Totals, other: Totals, *, residuals: bool
) -> Changes:
    """What is released after one pass, in the order in which noise is drawn for it."""
    unit = asked.law.unit
    if residuals:
        yield from _residuals(asked, one.on_grid(unit), other.on_grid(unit))
        return
    if step == 0:
        yield from _counts(asked, GUARD, one.fitting, other.fitting)
    yield from compared(asked, step, one.on_grid(unit), other.on_grid(unit))
    if step == 0:
        yield from _counts(asked, CLIPPED, one.clipped, other.clipped)


def _counts(asked: Question, block: str, one: Values, other: Values) -> Changes:
    """Counts that are released beside the first pass, if they are."""
    if block in asked.law.sigma:
        yield from (((a - b) * asked.law.unit, asked.law.sigma[block]) for a, b in zip(one, other, strict=True))


def _residuals(asked: Question, one: Values, other: Values) -> Changes:
    """Products of residual rows of every model, and the sum that the interval of R^2 needs."""
    scales = asked.law.residual_steps(len(asked.design.released))
    return ((a - b, scale) for a, b, scale in zip(one, other, scales, strict=True))


def _moments(asked: Question, step: int, one: Values, other: Values) -> Changes:
    """Every released entry; a count that is public must not change, nor an indicator's square but as its sum does."""
    size = len(asked.design.released)
    copies = asked.law.copies(size)
    for place, (block, a, b) in enumerate(zip(entry_blocks(size), one, other, strict=True)):
        if place in copies:
            total = copies[place]
            if a - b != one[total] - other[total]:
                yield a - b, 1
        elif block in asked.law.sigma:
            # a change without noise would be a loss without end
            yield a - b, asked.law.sigma[block] or 1


def _with_eigenvalue(asked: Question, step: int, one: Values, other: Values) -> Changes:
    yield from _moments(asked, step, one, other)
    here, there = (smallest_eigenvalue(regressor_gram(side, constant=asked.design.needs_sums)) for side in (one, other))
    yield here - there, asked.law.sigma[EIGENVALUE]


def _cells(asked: Question, step: int, one: Values, other: Values) -> Changes:
    return ((a - b, asked.law.sigma["cells"]) for a, b in zip(one, other, strict=True))


def _choice(asked: Question, step: int, one: Values, other: Values) -> Changes:
    """The exponential mechanism loses at most twice the largest change of a score."""
    yield 2 * max(abs(a - b) for a, b in zip(one, other, strict=True)), asked.law.sigma["selection"]


def _reweighted(asked: Question, step: int, one: Values, other: Values) -> Changes:
    """The Gram of (1, x) first, then scores; or weighted products of (1, x) with itself and with y in every pass."""
    if asked.settings["form"] == "moment":
        return itertools.chain(_gram(asked, one, other), _cross(asked, one, other))
    return _scores(asked, one, other) if step else _gram(asked, one, other)


def _gram(asked: Question, one: Values, other: Values) -> Changes:
    indices, sigma = fitted_indices(asked.design), asked.law.sigma
    inside = [(i, j) for i in indices for j in indices if i <= j]
    at = [position(i, j, indices[-1] + 2) for i, j in inside]
    scales = [sigma["gram_diagonal" if i == j else "gram_off_diagonal"] for i, j in inside]
    return ((one[k] - other[k], scale) for k, scale in zip(at, scales, strict=True))


def _cross(asked: Question, one: Values, other: Values) -> Changes:
    indices = fitted_indices(asked.design)
    target = indices[-1] + 1
    at = [position(index, target, target + 1) for index in indices]
    return ((one[k] - other[k], asked.law.sigma["cross"]) for k in at)


def _descent(asked: Question, step: int, one: Values, other: Values) -> Changes:
    """The number of rows first, then scores."""
    if step:
        return _scores(asked, one, other)
    return iter([(one[0] - other[0], asked.law.sigma.get("count", 1))])


def _scores(asked: Question, one: Values, other: Values) -> Changes:
    first = fitted_indices(asked.design)[0]
    return ((a - b, asked.law.sigma["score"]) for a, b in zip(one[first:], other[first:], strict=True))


def _coefficients(asked: Question, step: int, one: Values, other: Values) -> Changes:
    """Ridge coefficients on the lattice."""
    points: list[Sequence[int]] = []
    for side in (one, other):
        gram, cross = normal_equations(side, len(asked.design.released), intercept=asked.design.intercept)
        points.append(ridge_in_ball(gram, cross, asked.law.grid_bits, asked.settings))
    return ((a - b, asked.law.sigma["coefficients"]) for a, b in zip(*points, strict=True))


def _wishart(
    name: str, asked: Question, claim: Claim, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler
) -> ExactLoss:
    """Delta at the claimed epsilon for the squared length of the row that is added, each column over its scale."""
    size = len(asked.design.released)
    ((one, other),) = ([side.on_grid(asked.law.unit) for side in answer] for answer in run_of(asked, sides, sampler))
    # the diagonal of z z' over that of the scales: the count, the squares of x, and that of y
    entries = zip(places(size), entry_blocks(size), one, other, strict=True)
    shift = sum(
        (Fraction(abs(a - b), asked.law.sigma[block]) for (i, j), block, a, b in entries if i == j), Fraction(0)
    )
    degrees = asked.law.parameters["degrees"] - size + 1
    served = served_epsilon(claim.epsilon, exchanged=False)
    share = best_share(degrees, float(shift), served, exchanged=False)
    delta = max(proved_delta(degrees, shift, served, share, exchanged=False), Decimal(0))
    return ExactLoss(name, "delta", up(delta), claim.delta)


COMPARED: Final[Mapping[str, Compared]] = MappingProxyType({
    "gaussian": _moments,
    "laplace": _moments,
    "k-norm": _moments,
    "functional": _moments,
    "ssp": _moments,
    "adassp": _with_eigenvalue,
    "dpme": _cells,
    "frank-wolfe": _choice,
    "irls": _reweighted,
    "gradient": _descent,
    "output": _coefficients,
})  # fmt: skip

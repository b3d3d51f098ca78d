"""Compute the privacy loss of a pair of tables in exact arithmetic."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from scipy.special import ndtr

from discreet.accounting.chi_square import best_share, proved_delta, served_epsilon
from discreet.accounting.fitted_models import HUBER, threshold_steps
from discreet.accounting.noise_distribution import CLIPPED, GUARD, entry_blocks
from discreet.accounting.privacy_maps import SCALED, WEIGHTED
from discreet.audit.judging import Claim
from discreet.audit.runs import ExactLoss, MadeUpRows, one_run
from discreet.curator.sums.gram import Sums, Totals
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.exact.linear import pairs as places
from discreet.exact.linear import position, smallest_eigenvalue
from discreet.exact.rounding import root_up, up
from discreet.mechanisms.adassp import EIGENVALUE, regressor_gram
from discreet.mechanisms.irls import fitted_indices
from discreet.mechanisms.output import normal_equations, ridge_in_ball
from discreet.mechanisms.protocol import Published, run_passes
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.spend import UNTRACKED
from discreet.releases.release import Release
from discreet.workflow import Question, with_residuals

# -- objective loss ----------------------------------------------------------------------------------------------------
# The loss of objective perturbation on tables whose rows differ along one line.
#
# A published point theta belongs to one linear term, b(theta) = sum of psi(y - z'theta) z - strength * theta over the
# rows, psi the residual clipped at the threshold. So the density of theta is that of the normal law at b(theta), times
# the volume |det b'(theta)|. Where the rows in which two tables differ lie along one line, and all others lie along it
# or at right angles to it, what is across the line has one law for both tables. Along it b is a falling chain of
# straight pieces: on each the log ratio of the two densities is a parabola, and probabilities are values of the normal
# law. The noise on the lattice point covers how far that point is from theta, and nothing else.

# standard deviations of the linear term beyond which nothing is counted: less than 1e-300
_FAR: Final = 38.0
# halvings of the interval in which epsilon is sought, from this one on
_HALVINGS: Final = 40
_LARGEST: Final = 64.0


def objective_loss(name: str, asked: Question, claim: Claim, sides: tuple[MadeUpRows, MadeUpRows]) -> ExactLoss | None:
    """Epsilon at the claimed delta; none for the squared loss, or where rows do not lie along one line."""
    along = _along_one_line(asked, sides) if asked.settings["loss"] == HUBER else None
    if along is None:
        return None
    pieces = tuple(_pieces(asked, along))
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(pieces, middle) <= claim.delta else (middle, high)
    return ExactLoss(name, "epsilon", high, claim.epsilon)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Part of the line between two corners, with b = start + slope * place on each table, in standard deviations."""

    low: float
    high: float
    lines: tuple[tuple[float, float], tuple[float, float]]

    def cut(self, epsilon: float, first: int) -> list[float]:
        """The ends, and between them the places at which the log ratio of the densities is epsilon."""
        (a, k), (b, m) = self.lines[first], self.lines[1 - first]
        parabola = [(m * m - k * k) / 2, b * m - a * k, (b * b - a * a) / 2 + math.log(k / m) - epsilon]
        roots = np.roots(parabola)
        inside = sorted(float(root.real) for root in roots if root.imag == 0 and self.low < root.real < self.high)
        return [self.low, *inside, self.high]

    def mass(self, side: int, low: float, high: float) -> float:
        """Probability of a place between two, on one table."""
        start, slope = self.lines[side]
        lower, upper = start + slope * high, start + slope * low
        # differences of small numbers, not of numbers near 1
        return float(ndtr(upper) - ndtr(lower) if lower < 0 else ndtr(-lower) - ndtr(-upper))


def _delta(pieces: tuple[_Piece, ...], epsilon: float) -> float:
    """The smallest delta at this epsilon: for both tables what exceeds e^epsilon times the other, the larger."""
    return max(
        math.fsum(
            max(0.0, piece.mass(first, *ends) - math.exp(epsilon) * piece.mass(1 - first, *ends))
            for piece in pieces
            for ends in itertools.pairwise(piece.cut(epsilon, first))
        )
        for first in (0, 1)
    )


def _pieces(asked: Question, along: tuple[FloatArray, FloatArray]) -> Iterator[_Piece]:
    """All pieces, from as far below as linear terms reach to as far above."""
    threshold = threshold_steps(asked.settings, asked.domain) / asked.domain.unit
    strength, sd = asked.law.parameters["strength"] / asked.law.unit, asked.law.sd("linear")

    def term(rows: FloatArray, place: float) -> float:
        lengths, targets = rows
        return float(np.clip(targets - lengths * place, -threshold, threshold) @ lengths - strength * place) / sd

    corners = {
        (target + side) / length for rows in along for length, target in rows.T for side in (-threshold, threshold)
    }
    reach = max(abs(term(rows, 0.0)) for rows in along) + _FAR
    far = reach * sd / strength + max(map(abs, corners))
    for low, high in itertools.pairwise(sorted({-far, *corners, far})):
        slopes = [(term(rows, high) - term(rows, low)) / (high - low) for rows in along]
        starts = [term(rows, low) - slope * low for rows, slope in zip(along, slopes, strict=True)]
        yield _Piece(low, high, ((starts[0], slopes[0]), (starts[1], slopes[1])))


def _along_one_line(asked: Question, sides: tuple[MadeUpRows, MadeUpRows]) -> tuple[FloatArray, FloatArray] | None:
    """For both tables lengths along the line, and targets, in scaled units; none if rows lie otherwise."""
    tables = [Counter(map(tuple, side.grid.T.astype(np.int64).tolist())) for side in sides]
    differing = [*(tables[0] - tables[1]), *(tables[1] - tables[0])]
    if not differing:
        return None
    fitted = fitted_indices(asked.design)
    line = np.array([differing[0][index] for index in fitted])
    length2 = int(line @ line)
    found: list[FloatArray] = []
    for table in tables:
        kept = []
        for row in table.elements():
            z = np.array([row[index] for index in fitted])
            product = int(z @ line)
            # a row in which the tables differ has a part along the line
            if (product or row in differing) and (z * length2 != line * product).any():
                return None
            if product:
                kept.append((product / math.sqrt(length2), row[-1]))
        found.append(np.array(kept, dtype=np.float64).reshape(-1, 2).T / asked.domain.unit)
    return found[0], found[1]


# -- replay ------------------------------------------------------------------------------------------------------------
# One run of a mechanism on two tables: the noise of the second is whatever makes its noisy numbers those of the first.
#
# Every noisy number is an exact one plus a variate, so a variate that notes what it is added to, and gives the sum that
# is wanted, shows both exact numbers without a word from the mechanism. NOT PRIVATE.

# what a variate does with the exact number it is added to: it gives the noisy one
Added: TypeAlias = Callable[[int], int]
# what a run makes: a release where residuals are summed after the passes of the mechanism
Made: TypeAlias = Published | Release


class _Noted(int):
    """A variate that hands the exact number it is added to, and gives the noisy one it gets back."""

    added: Added

    def __radd__(self, exact: int) -> int:
        return self.added(exact)


class ReplaySampler:
    """Draws from a sampler and notes exact numbers; or, given a run before, gives that run's noisy numbers again."""

    private = False

    def __init__(self, sampler: Sampler, before: ReplaySampler | None = None) -> None:
        self._sampler = sampler
        self._before = before
        self.reused = False
        self.exact: list[int] = []
        self.noisy: list[int] = []
        self.scales: list[int] = []

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Variates that are noted where they are added."""
        if self._before is not None:
            return [self._noted(0, sigma) for sigma in sigmas]
        return [self._noted(value, sigma) for value, sigma in zip(self._sampler.draw(sigmas), sigmas, strict=True)]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Refused: what is replayed has Gaussian noise."""
        raise SpecError("a replay is of Gaussian noise, but the mechanism asked for another kind")

    def bits(self, how_many: int) -> int:
        """Refused: bits are not added to anything."""
        raise SpecError("a replay is of Gaussian noise, but the mechanism asked for another kind")

    def _noted(self, value: int, sigma: int) -> int:
        variate, used = _Noted(value), False

        def added(exact: int) -> int:
            nonlocal used
            self.reused, used = self.reused or used, True
            index = len(self.exact)
            wanted = exact + value if self._before is None else self._before.noisy[index]
            self.exact.append(exact)
            self.noisy.append(wanted)
            self.scales.append(sigma)
            return wanted

        variate.added = added
        return variate


def replayed(
    asked: Question, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler
) -> tuple[tuple[ReplaySampler, Made], tuple[ReplaySampler, Made]]:
    """A run on the first table, and on the second the run with the same noisy numbers; with what each published."""
    first = ReplaySampler(sampler)
    published = _run(asked, sides[0], first)
    second = ReplaySampler(sampler, first)
    return (first, published), (second, _run(asked, sides[1], second))


def replayed_square(asked: Question, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler) -> Fraction | None:
    """The exact mu^2 of a run: squared changes of all exact numbers, each over the square of its noise's scale.

    None where equal noisy numbers give other results, since an exact number then reaches them, and where a variate is
    added to two numbers, whose difference then has no noise: the loss has no end.
    """
    (first, published), (second, again) = replayed(asked, sides, sampler)
    if published != again or first.scales != second.scales or first.reused:
        return None
    return sum((Fraction(change * change, scale * scale) for change, scale in _changes(first, second)), Fraction(0))


def _changes(first: ReplaySampler, second: ReplaySampler) -> Iterator[tuple[int, int]]:
    for one, other, scale in zip(first.exact, second.exact, first.scales, strict=True):
        # a number without noise must not change: that would be a loss without end
        yield one - other, scale or 1


def _run(asked: Question, rows: MadeUpRows, sampler: ReplaySampler) -> Made:
    read = rows.reader()
    passes = asked.mechanism.passes(asked.context(sampler))
    first = read(next(passes))
    published = run_passes(passes, first, read)
    if not asked.robust:
        return published
    made = with_residuals(
        asked.release(published, first, UNTRACKED, None), asked.domain, asked.residual_bound, read, sampler
    )
    # of the exact sums the release has the number of units alone, which is public where it is there
    return replace(made, units_public=None)


# -- exact losses ------------------------------------------------------------------------------------------------------
# The loss of a pair of tables in exact arithmetic, under the noise that a mechanism draws.
#
# Where a mechanism asks one question after another, the loss is that along one run: each question is put to both
# tables, and what the answers differ by is divided by the scale of their noise. Adaptive composition makes it the loss
# of that run; the claim must cover it for every run.

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

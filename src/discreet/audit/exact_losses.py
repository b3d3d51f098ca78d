"""Compute the privacy loss of pairs of tables in exact arithmetic."""

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
from discreet.accounting.moment_queries import EIGENVALUE
from discreet.accounting.noise_distribution import GUARD, entry_blocks
from discreet.audit.judging import Claim
from discreet.audit.runs import ExactLoss, SyntheticRows, one_run
from discreet.curator.sums.gram import Sums, Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.errors import UnsupportedError
from discreet.exact.arrays import FloatArray
from discreet.exact.linear import pairs as places
from discreet.exact.linear import position, smallest_eigenvalue
from discreet.exact.rounding import root_up, up
from discreet.mechanisms.adassp import regressor_gram
from discreet.mechanisms.irls import fitted_indices
from discreet.mechanisms.output import normal_equations, ridge_in_ball
from discreet.mechanisms.protocol import Published, run_passes
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.spend import UNTRACKED
from discreet.release_request import ReleaseRequest
from discreet.releases.release import Release
from discreet.workflow import with_residuals

# -- objective loss ----------------------------------------------------------------------------------------------------
# The exact loss of objective perturbation on tables whose differing rows lie along one line.
#
# A published point theta determines the random linear term b(theta) = sum of psi(y - z'theta) z - strength * theta over
# the rows, where psi clips the residual at the threshold. So the density of theta is the normal density at b(theta)
# times the volume |det b'(theta)|. Suppose that the differing rows lie along one line, and that every other row lies
# along it or is orthogonal to it. Then the components across the line have the same distribution for both tables. Along
# the line, b is decreasing and piecewise linear. On each piece the log density ratio is a parabola, and probabilities
# are values of the normal distribution function. The noise added to the lattice point covers only its distance from
# theta.

# probabilities further out than this many standard deviations of the linear term (below 1e-300) are ignored
_FAR: Final = 38.0
# bisection steps for epsilon, and the upper end of the initial interval
_HALVINGS: Final = 40
_LARGEST: Final = 64.0


def objective_loss(
    name: str, request: ReleaseRequest, claim: Claim, sides: tuple[SyntheticRows, SyntheticRows]
) -> ExactLoss | None:
    """Return the exact epsilon of `objective` at the claimed delta, or None if it cannot be computed.

    It can be computed for the Huber loss, if the differing rows lie along one line.
    """
    along = _along_one_line(request, sides) if request.settings["loss"] == HUBER else None
    if along is None:
        return None
    pieces = tuple(_pieces(request, along))
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(pieces, middle) <= claim.delta else (middle, high)
    return ExactLoss(name, "epsilon", high, claim.epsilon)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Interval of the line between two kinks, on which the linear term of each table is a linear function of position.

    `lines` holds its (start, slope) for each table, in standard deviations.
    """

    low: float
    high: float
    lines: tuple[tuple[float, float], tuple[float, float]]

    def cut(self, epsilon: float, first: int) -> list[float]:
        """Return the end points and, between them, the positions where the log density ratio equals `epsilon`."""
        (a, k), (b, m) = self.lines[first], self.lines[1 - first]
        parabola = [(m * m - k * k) / 2, b * m - a * k, (b * b - a * a) / 2 + math.log(k / m) - epsilon]
        roots = np.roots(parabola)
        inside = sorted(float(root.real) for root in roots if root.imag == 0 and self.low < root.real < self.high)
        return [self.low, *inside, self.high]

    def mass(self, side: int, low: float, high: float) -> float:
        """Return the probability of an interval of positions under one of the tables."""
        start, slope = self.lines[side]
        lower, upper = start + slope * high, start + slope * low
        # subtract small tail probabilities, not numbers near 1
        return float(ndtr(upper) - ndtr(lower) if lower < 0 else ndtr(-lower) - ndtr(-upper))


def _delta(pieces: tuple[_Piece, ...], epsilon: float) -> float:
    """Return the smallest delta for which (epsilon, delta) holds in both directions."""
    return max(
        math.fsum(
            max(0.0, piece.mass(first, *ends) - math.exp(epsilon) * piece.mass(1 - first, *ends))
            for piece in pieces
            for ends in itertools.pairwise(piece.cut(epsilon, first))
        )
        for first in (0, 1)
    )


def _pieces(request: ReleaseRequest, along: tuple[FloatArray, FloatArray]) -> Iterator[_Piece]:
    """Yield the intervals of the line on which the linear term has noticeable probability."""
    threshold = threshold_steps(request.settings, request.domain) / request.domain.unit
    strength, sd = (
        request.distribution.parameters["strength"] / request.distribution.unit,
        request.distribution.sd("linear"),
    )

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


def _along_one_line(
    request: ReleaseRequest, sides: tuple[SyntheticRows, SyntheticRows]
) -> tuple[FloatArray, FloatArray] | None:
    """Return for each table the lengths of rows along the line and their targets, or None if there is no such line.

    Lengths and targets are in scaled units. Rows that are orthogonal to the line are left out.
    """
    tables = [Counter(map(tuple, side.grid.T.astype(np.int64).tolist())) for side in sides]
    differing = [*(tables[0] - tables[1]), *(tables[1] - tables[0])]
    if not differing:
        return None
    fitted = fitted_indices(request.design)
    line = np.array([differing[0][index] for index in fitted])
    length2 = int(line @ line)
    lines: list[FloatArray] = []
    for table in tables:
        along = []
        for row in table.elements():
            z = np.array([row[index] for index in fitted])
            product = int(z @ line)
            # differing rows, and rows not orthogonal to the line, must lie along it
            if (product or row in differing) and (z * length2 != line * product).any():
                return None
            if product:
                along.append((product / math.sqrt(length2), row[-1]))
        lines.append(np.array(along, dtype=np.float64).reshape(-1, 2).T / request.domain.unit)
    return lines[0], lines[1]


# -- replay ------------------------------------------------------------------------------------------------------------
# One mechanism run on two tables. Noise in the second run is chosen so that all noisy numbers are the same.
#
# Every noisy number is an exact number plus a variate. Here a variate is an object that records the exact number it is
# added to and returns the required sum. Both exact numbers are thus known without help from the mechanism. NOT PRIVATE.

# maps an exact number to the noisy number that replaces it
Added: TypeAlias = Callable[[int], int]
# result of a run; a release if residual sums follow the mechanism's passes
Result: TypeAlias = Published | Release


class _Noted(int):
    """Noise variate that records the exact number it is added to, and returns the required noisy number."""

    added: Added

    def __radd__(self, exact: int) -> int:
        return self.added(exact)


class ReplaySampler:
    """Sampler that records a run, or reproduces the noisy numbers of an earlier run."""

    private = False

    def __init__(self, sampler: Sampler, before: ReplaySampler | None = None) -> None:
        self._sampler = sampler
        self._before = before
        self.reused = False
        self.exact: list[int] = []
        self.noisy: list[int] = []
        self.scales: list[int] = []

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Return variates that record the exact numbers they are added to."""
        if self._before is not None:
            return [self._noted(0, sigma) for sigma in sigmas]
        return [self._noted(value, sigma) for value, sigma in zip(self._sampler.draw(sigmas), sigmas, strict=True)]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Raise an error, because only Gaussian noise can be replayed."""
        raise UnsupportedError("only Gaussian noise can be replayed, but the mechanism drew Laplace noise")

    def bits(self, how_many: int) -> int:
        """Raise an error, because uniform bits are not added to a number."""
        raise UnsupportedError("only Gaussian noise can be replayed, but the mechanism drew uniform bits")

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
    request: ReleaseRequest, sides: tuple[SyntheticRows, SyntheticRows], sampler: Sampler
) -> tuple[tuple[ReplaySampler, Result], tuple[ReplaySampler, Result]]:
    """Run a mechanism on the first table, then on the second with the same noisy numbers.

    Return the sampler and the publication of each run.
    """
    first = ReplaySampler(sampler)
    published = _run(request, sides[0], first)
    second = ReplaySampler(sampler, first)
    return (first, published), (second, _run(request, sides[1], second))


def replayed_square(
    request: ReleaseRequest, sides: tuple[SyntheticRows, SyntheticRows], sampler: Sampler
) -> Fraction | None:
    """Return the exact mu^2 of a run, which is the sum of (change / noise scale)^2 over all noisy numbers.

    Return None if the loss is infinite. This is the case if equal noisy numbers give different publications, because a
    publication then depends on an exact number. It is also the case if one variate is added to two numbers, because
    their difference then has no noise.
    """
    (first, published), (second, again) = replayed(request, sides, sampler)
    if published != again or first.scales != second.scales or first.reused:
        return None
    return sum((Fraction(change * change, scale * scale) for change, scale in _changes(first, second)), Fraction(0))


def _changes(first: ReplaySampler, second: ReplaySampler) -> Iterator[tuple[int, int]]:
    for left, right, scale in zip(first.exact, second.exact, first.scales, strict=True):
        # a change without noise means an infinite loss, which a scale of 1 makes far larger than any claim
        yield left - right, scale or 1


def _run(request: ReleaseRequest, rows: SyntheticRows, sampler: ReplaySampler) -> Result:
    read = rows.reader()
    passes = request.mechanism.passes(request.context(sampler))
    first = read(next(passes))
    published = run_passes(passes, first, read)
    if not request.robust:
        return published
    released = with_residuals(
        request.release(published, first, UNTRACKED, None), request.domain, request.residual_bound, read, sampler
    )
    # the number of units is the only exact sum in a release; it is public
    return replace(released, units_public=None)


# -- exact losses ------------------------------------------------------------------------------------------------------
# The exact privacy loss of a pair of tables under the noise that a mechanism draws.
#
# For an adaptive mechanism the loss is computed along one run: the same sums are computed for both tables, and their
# differences are divided by the noise scales. By adaptive composition this is the loss of that run. The claim must
# cover the loss of every run.

Values: TypeAlias = tuple[int, ...]
# totals of one pass for the table and for its neighbour
Answers: TypeAlias = tuple[Totals, Totals]
# changes of noisy numbers in one pass, each with its noise scale
Changes: TypeAlias = Iterator[tuple[int, int]]
Compared: TypeAlias = Callable[[ReleaseRequest, int, Values, Values], Changes]


def exact_loss(
    name: str, request: ReleaseRequest, claim: Claim, sides: tuple[SyntheticRows, SyntheticRows], sampler: Sampler
) -> ExactLoss | None:
    """Return the loss of a pair in one run on its first table, or None if the mechanism has no closed form."""
    if request.distribution.family == "wishart":
        # the proof for a replaced row has two steps, but the tables show only their sum
        has_closed_form = request.mechanism.name == "wishart" and not request.design.count_public
        return _wishart(name, request, claim, sides, sampler) if has_closed_form else None
    if is_replayed(request):
        square = replayed_square(request, sides, sampler)
        mu = math.inf if square is None else root_up(square)
        return None if claim.mu is None else ExactLoss(name, "mu", mu, claim.mu)
    if request.mechanism.name == "objective":
        return objective_loss(name, request, claim, sides)
    compared = COMPARED[request.mechanism.name]
    changes = [
        Fraction(abs(change), scale)
        for change, scale in _all_changes(request, compared, run_of(request, sides, sampler))
        if change
    ]
    if request.distribution.family == "discrete-laplace":
        return ExactLoss(name, "epsilon", up(sum(changes, Fraction(0))), claim.epsilon)
    length = root_up(sum((change * change for change in changes), Fraction(0)))
    if request.distribution.family == "k-norm":
        return ExactLoss(name, "epsilon", length, claim.epsilon)
    return None if claim.mu is None else ExactLoss(name, "mu", length, claim.mu)


def is_replayed(request: ReleaseRequest) -> bool:
    """Return whether the loss must be computed by a replay, because more than the requested sums is released."""
    separate = (*COMPARED, "objective", "wishart")
    return request.mechanism.name not in separate or request.design.weights is not None


def run_of(request: ReleaseRequest, sides: tuple[SyntheticRows, SyntheticRows], sampler: Sampler) -> list[Answers]:
    """Run a mechanism on the first table, and return the sums of each pass for both tables."""
    answers: list[Answers] = []

    def read(wanted: Sums) -> Totals:
        again = copy.deepcopy(wanted)
        answers.append((sides[0].sums(wanted), sides[1].sums(again)))
        return answers[-1][0]

    if request.rereads:
        one_run(unguarded(request), sampler, read)
    else:
        read(next(request.mechanism.passes(request.context(sampler))))
    return answers


def unguarded(request: ReleaseRequest) -> ReleaseRequest:
    """Return the request without preliminary counts, as it continues once the guard has let it pass."""
    return replace(request, distribution=request.distribution.without_before())


def _all_changes(request: ReleaseRequest, compared: Compared, answers: Sequence[Answers]) -> Changes:
    """Yield the changes of the noisy numbers in all passes."""
    last = len(answers) - 1
    for step, (left, right) in enumerate(answers):
        yield from pass_changes(request, compared, step, left, right, residuals=request.robust and step == last)


def pass_changes(
    request: ReleaseRequest, compared: Compared, step: int, left: Totals, right: Totals, *, residuals: bool
) -> Changes:
    """Yield the changes of the noisy numbers released after one pass, in the order in which noise is drawn."""
    unit = request.distribution.unit
    if residuals:
        yield from _residuals(request, left.on_grid(unit), right.on_grid(unit))
        return
    if step == 0:
        yield from _counts(request, GUARD, left.counts, right.counts)
    yield from compared(request, step, left.on_grid(unit), right.on_grid(unit))
    if step == 0:
        for block in left.counts.by_block:
            if block != GUARD:
                yield from _counts(request, block, left.counts, right.counts)


def _counts(request: ReleaseRequest, block: str, left: RowCounts, right: RowCounts) -> Changes:
    """Yield the changes of the counts in a block, if the release contains this block."""
    if block in request.distribution.sigma:
        yield from (
            ((a - b) * request.distribution.unit, request.distribution.sigma[block])
            for a, b in zip(left.by_block[block], right.by_block[block], strict=True)
        )


def _residuals(request: ReleaseRequest, left: Values, right: Values) -> Changes:
    """Return the changes of the residual products of every model, and of the sum for the interval of R^2."""
    scales = request.distribution.residual_steps(len(request.design.released))
    return ((a - b, scale) for a, b, scale in zip(left, right, scales, strict=True))


def _moments(request: ReleaseRequest, step: int, left: Values, right: Values) -> Changes:
    """Yield the changes of all released entries.

    A public count must not change, and the square of an indicator must change by as much as its sum. If this fails, the
    change has scale 1, which makes the loss far larger than any claim.
    """
    size = len(request.design.released)
    copies = request.distribution.copies(size)
    for place, (block, a, b) in enumerate(zip(entry_blocks(size), left, right, strict=True)):
        if place in copies:
            total = copies[place]
            if a - b != left[total] - right[total]:
                yield a - b, 1
        elif block in request.distribution.sigma:
            # a change without noise means an infinite loss
            yield a - b, request.distribution.sigma[block] or 1


def _with_eigenvalue(request: ReleaseRequest, step: int, left: Values, right: Values) -> Changes:
    yield from _moments(request, step, left, right)
    here, there = (
        smallest_eigenvalue(regressor_gram(side, constant=request.design.needs_sums)) for side in (left, right)
    )
    yield here - there, request.distribution.sigma[EIGENVALUE]


def _cells(request: ReleaseRequest, step: int, left: Values, right: Values) -> Changes:
    return ((a - b, request.distribution.sigma["cells"]) for a, b in zip(left, right, strict=True))


def _choice(request: ReleaseRequest, step: int, left: Values, right: Values) -> Changes:
    """Yield twice the largest change of a score, which bounds the loss of the exponential mechanism."""
    yield 2 * max(abs(a - b) for a, b in zip(left, right, strict=True)), request.distribution.sigma["selection"]


def _reweighted(request: ReleaseRequest, step: int, left: Values, right: Values) -> Changes:
    """Return the changes of one pass of `irls`.

    The score form releases a Gram matrix first and then scores; the moment form releases weighted products in every
    pass.
    """
    if request.settings["form"] == "moment":
        return itertools.chain(_gram(request, left, right), _cross(request, left, right))
    return _scores(request, left, right) if step else _gram(request, left, right)


def _gram(request: ReleaseRequest, left: Values, right: Values) -> Changes:
    indices, sigma = fitted_indices(request.design), request.distribution.sigma
    inside = [(i, j) for i in indices for j in indices if i <= j]
    at = [position(i, j, indices[-1] + 2) for i, j in inside]
    scales = [sigma["gram_diagonal" if i == j else "gram_off_diagonal"] for i, j in inside]
    return ((left[k] - right[k], scale) for k, scale in zip(at, scales, strict=True))


def _cross(request: ReleaseRequest, left: Values, right: Values) -> Changes:
    indices = fitted_indices(request.design)
    target = indices[-1] + 1
    at = [position(index, target, target + 1) for index in indices]
    return ((left[k] - right[k], request.distribution.sigma["cross"]) for k in at)


def _descent(request: ReleaseRequest, step: int, left: Values, right: Values) -> Changes:
    """Return the change of the row count in the first pass, or the changes of the scores in a later one."""
    if step:
        return _scores(request, left, right)
    return iter([(left[0] - right[0], request.distribution.sigma.get("count", 1))])


def _scores(request: ReleaseRequest, left: Values, right: Values) -> Changes:
    first = fitted_indices(request.design)[0]
    return ((a - b, request.distribution.sigma["score"]) for a, b in zip(left[first:], right[first:], strict=True))


def _coefficients(request: ReleaseRequest, step: int, left: Values, right: Values) -> Changes:
    """Return the differences between the ridge coefficients of the two tables on the lattice."""
    points: list[Sequence[int]] = []
    for side in (left, right):
        gram, cross = normal_equations(side, len(request.design.released), intercept=request.design.intercept)
        points.append(ridge_in_ball(gram, cross, request.distribution.grid_bits, request.settings))
    return ((a - b, request.distribution.sigma["coefficients"]) for a, b in zip(*points, strict=True))


def _wishart(
    name: str, request: ReleaseRequest, claim: Claim, sides: tuple[SyntheticRows, SyntheticRows], sampler: Sampler
) -> ExactLoss:
    """Return delta at the claimed epsilon, computed from the squared entries of the added row over the noise scales."""
    size = len(request.design.released)
    ((left, right),) = (
        [side.on_grid(request.distribution.unit) for side in answer] for answer in run_of(request, sides, sampler)
    )
    # the diagonal of z z' divided by the scales: the count, the squares of x, and the square of y
    entries = zip(places(size), entry_blocks(size), left, right, strict=True)
    shift = sum(
        (Fraction(abs(a - b), request.distribution.sigma[block]) for (i, j), block, a, b in entries if i == j),
        Fraction(0),
    )
    degrees = request.distribution.parameters["degrees"] - size + 1
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

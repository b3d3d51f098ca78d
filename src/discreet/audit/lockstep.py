"""Run a mechanism on two unrelated tables in lockstep, to check that equal noisy sums give equal publications.

The first run draws its noise from the production sampler. In the second run, each noise variate is shifted by the
difference between the exact numbers of the two runs, so that the noisy numbers are equal. A mechanism that adds every
variate once, and uses only noisy numbers, then publishes the same bits. The test detects noise that is reduced after it
is drawn, left out or used twice. It also detects any use of an exact sum, even if the sum is not published.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final, NamedTuple

from discreet.accounting.noise_distribution import CLIPPED
from discreet.audit.exact_losses import COMPARED, Compared, is_replayed, pass_changes, replayed
from discreet.audit.noise_tests import Check
from discreet.audit.pairs import Table
from discreet.audit.runs import SyntheticRows, one_run
from discreet.curator.sums.gram import Sums, Totals
from discreet.curator.sums.residuals import ResidualPass
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.design import Design
from discreet.mechanisms.sampler import Sampler
from discreet.release_request import ReleaseRequest

# several runs are needed, because a mechanism may ignore a noisy number that is negative in one run
LOCKSTEP_RUNS: Final = 20
# enough if a single run reveals everything
_FEW_RUNS: Final = 3
# rows of the unrelated table; a prime, so that no two columns are equal
_ROWS: Final = 11
# added to every count that noise protects in the unrelated table
_EXTRA_COUNT: Final = 3
# noise that is not added number by number: a selection draws a random number of variates, k-norm uses uniform bits
_NOT_ADDED: Final = ("frank-wolfe", "k-norm")


def lockstep_checks(request: ReleaseRequest, rows: SyntheticRows, sampler: Sampler) -> tuple[Check, ...]:
    """Check that lockstep runs on two tables publish the same numbers and draw the same noise.

    The distance is the largest number of differences in one run. There is no check if the mechanism does not add its
    noise number by number, or if the row count is public. A mechanism whose sums cannot be compared pass by pass is
    replayed. Objective perturbation cannot be run in lockstep, so only the noise added to its minimiser is tested.
    """
    if request.mechanism.name == "objective":
        return (
            Check("noise on the point", float(max(_off_point(request, rows, sampler) for _ in range(_FEW_RUNS))), 0.0),
        )
    if is_replayed(request) and not request.design.rows_public:
        other = SyntheticRows(unrelated_table(request.design), request.design, request.domain)
        differing = [_replay_differs(request, (rows, other), sampler) for _ in range(_FEW_RUNS)]
        return (Check("tables in lockstep", float(max(differing)), 0.0),)
    compared = COMPARED.get(request.mechanism.name)
    if compared is None or request.mechanism.name in _NOT_ADDED:
        return ()
    if request.distribution.family == "wishart" or request.design.rows_public:
        return ()
    table = unrelated_table(request.design)
    other = SyntheticRows(table, request.design, request.domain, clip_counts=CLIPPED in request.distribution.sigma)
    counts = [_differing(request, compared, (rows, other), sampler) for _ in range(LOCKSTEP_RUNS)]
    return (Check("tables in lockstep", float(max(counts)), 0.0),)


def unrelated_table(design: Design) -> Table:
    """Build a table in which numbers are spread over their bounds and levels alternate.

    >>> unrelated_table(Design("y", {"y": (0, 10), "b": bool}))["y"][:3]
    [0.0, 2.0, 4.0]
    """
    columns = design.table_columns.items()
    return {name: _cells(column, index + 2) for index, (name, column) in enumerate(columns)}


def _cells(column: Base, step: int) -> list[object]:
    if isinstance(column, Numeric):
        low, high = column.bounds
        return [low + (high - low) * (step * row % _ROWS) / (_ROWS - 1) for row in range(_ROWS)]
    if isinstance(column, Boolean):
        return [step * row % _ROWS % 2 == 0 for row in range(_ROWS)]
    return [column.levels[row % len(column.levels)] for row in range(_ROWS)]


def _differing(
    request: ReleaseRequest, compared: Compared, sides: tuple[SyntheticRows, SyntheticRows], sampler: Sampler
) -> int:
    """Count the numbers and draws in which the lockstep run on the second table differs from the run on the first."""
    first = _First(sides[0], sampler)
    published = one_run(request, first, first.read)
    second = _Second(request, compared, sides[1], first)
    again = one_run(request, second, second.read)
    # compare text as in a release file, where -0.0 differs from 0.0
    pairs = itertools.zip_longest(map(repr, published), map(repr, again))
    return sum(bool(first_number != second_number) for first_number, second_number in pairs) + second.strayed()


def _replay_differs(request: ReleaseRequest, sides: tuple[SyntheticRows, SyntheticRows], sampler: Sampler) -> bool:
    """Return whether the publication changes when the second table is given the noisy numbers of the first."""
    (first, published), (second, again) = replayed(request, sides, sampler)
    return bool(published != again or first.scales != second.scales or not first.scales)


def _off_point(request: ReleaseRequest, rows: SyntheticRows, sampler: Sampler) -> int:
    """Count the published coefficients that are not the minimiser plus the drawn noise.

    The minimiser is found by a run without this noise.
    """
    first = _First(rows, sampler)
    published = one_run(request, first, first.read)
    drawn = [variate for part in first.drawn for variate in part]
    on_point = [variate.scale == request.distribution.sigma["coefficients"] for variate in drawn]
    quiet = _Repeated(
        [0 if is_point_noise else variate.value for variate, is_point_noise in zip(drawn, on_point, strict=True)]
    )
    noise = [variate.value for variate, is_point_noise in zip(drawn, on_point, strict=True) if is_point_noise]
    point = one_run(request, quiet, rows.sums)
    # without an intercept the first coefficient is 0
    fitted = slice(0 if request.design.intercept else 1, None)
    steps = [(a - b) * request.distribution.unit for a, b in zip(published[fitted], point[fitted], strict=True)]
    return sum(bool(step != added) for step, added in itertools.zip_longest(steps, noise))


class _Variates:
    """Base class of the lockstep samplers."""

    private = True

    def bits(self, how_many: int) -> int:
        """Reject uniform bits, which are not added to a single number."""
        raise NotImplementedError(f"cannot run the mechanism in lockstep, because it drew {how_many} uniform bits")


class _First(_Variates):
    """Reader and sampler of the first run, which record its sums and its noise pass by pass."""

    def __init__(self, rows: SyntheticRows, source: Sampler) -> None:
        self._rows = rows
        self._source = source
        self.totals: list[Totals] = []
        self.drawn: list[list[_Variate]] = []

    def read(self, sums: Sums) -> Totals:
        """Compute the requested sums and record them."""
        self.totals.append(self._rows.sums(sums))
        self.drawn.append([])
        return self.totals[-1]

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Draw discrete Gaussian variates and record them."""
        return self._recorded("gaussian", sigmas, self._source.draw(sigmas))

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Draw discrete Laplace variates and record them."""
        return self._recorded("laplace", scales, self._source.laplace(scales))

    def _recorded(self, family: str, scales: Sequence[int], values: list[int]) -> list[int]:
        self.drawn[-1] += [_Variate(family, *pair) for pair in zip(scales, values, strict=True) if pair[0]]
        return values


class _Second(_Variates):
    """Reader and sampler of the second run, which shift the noise of the first run.

    Each variate is shifted by the difference between the exact numbers of the two runs.
    """

    def __init__(self, request: ReleaseRequest, compared: Compared, rows: SyntheticRows, first: _First) -> None:
        self._request = request
        self._compared = compared
        self._rows = rows
        self._first = first
        self._pass = -1
        self._index = 0
        self._shifts: list[tuple[int, int]] = []
        self._strayed = 0

    def read(self, sums: Sums) -> Totals:
        """Compute the requested sums, and by how much to shift the noise that is added to them."""
        self._strayed += self._not_drawn()
        self._pass, self._index = self._pass + 1, 0
        totals = self._rows.sums(sums)
        totals = Totals(totals.values, totals.unit, totals.counts.raised(_EXTRA_COUNT), totals.cells)
        first_totals = self._first.totals[self._pass]
        residuals = isinstance(sums, ResidualPass)
        self._shifts = list(
            pass_changes(self._request, self._compared, self._pass, first_totals, totals, residuals=residuals)
        )
        return totals

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Return the Gaussian variates of the first run, shifted."""
        return [self._shifted("gaussian", sigma) for sigma in sigmas]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Return the Laplace variates of the first run, shifted."""
        return [self._shifted("laplace", scale) for scale in scales]

    def strayed(self) -> int:
        """Count the draws that only one run made, and those whose distribution is not the stated one in both runs."""
        return self._strayed + self._not_drawn()

    def _shifted(self, family: str, scale: int) -> int:
        if scale == 0:
            return 0
        drawn, index = self._first.drawn[self._pass], self._index
        self._index += 1
        if index >= min(len(drawn), len(self._shifts)):
            self._strayed += 1
            return 0
        variate, (change, stated) = drawn[index], self._shifts[index]
        self._strayed += (variate.family, variate.scale, stated) != (family, scale, scale)
        return variate.value + change

    def _not_drawn(self) -> int:
        return max(0, len(self._first.drawn[self._pass]) - self._index) if self._pass >= 0 else 0


class _Repeated(_Variates):
    """Sampler that returns the given variates in order."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = iter(values)

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Return the next values, one for each nonzero scale."""
        return [next(self._values, 0) if sigma else 0 for sigma in sigmas]

    # both families return the same values
    laplace = draw


class _Variate(NamedTuple):
    """Noise variate with its distribution."""

    family: str
    scale: int
    value: int

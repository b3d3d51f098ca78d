"""Simulate releases of synthetic rows, to plan releases that make noisy searches. NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.accounting.noise_distribution import DISCOVERY
from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.analyst.fitted import Fit
from discreet.analyst.model import fit
from discreet.analyst.planning.assumptions import Assumptions
from discreet.analyst.planning.expected import ENOUGH, Asked, Plan, PlannedCoefficient
from discreet.analyst.planning.simulation import drawn_rows
from discreet.curator.sums.gram import Sums, Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import cell_edges
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.protocol import run_passes
from discreet.privacy.checks import is_number
from discreet.privacy.spend import UNTRACKED
from discreet.release_request import ReleaseRequest
from discreet.releases.fields import DiscoveryPart, found_bounds
from discreet.releases.reference_distribution import known
from discreet.releases.release import Release

_DRAWS: Final = ((32, 25), (math.inf, 10))  # (up to this many columns, number of releases)
_FEW: Final = 10  # releases that show roughly by how much the rows must grow
_STEPS: Final = 6  # the largest factor of rows that is tried, as a power of 2
_CHUNK: Final = 2**14


class _Seeded:
    """A seeded source of rounded random numbers. It protects nobody."""

    private = False

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng([0x706C616E, seed])

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Draw a rounded normal variate for each scale."""
        normal = self._random.standard_normal(len(sigmas)).tolist()
        return [round(sigma * value) for sigma, value in zip(sigmas, normal, strict=True)]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Draw a rounded Laplace variate for each scale."""
        variates = self._random.laplace(size=len(scales)).tolist()
        return [round(scale * value) for scale, value in zip(scales, variates, strict=True)]

    def bits(self, how_many: int) -> int:
        """Draw a uniform integer below 2**how_many."""
        return int.from_bytes(self._random.bytes((how_many + 7) // 8)) >> (-how_many % 8)


@lru_cache(maxsize=2)
def _grid_rows(design: Design, unit: int, assumptions: Assumptions) -> FloatArray:
    """Draw synthetic rows on the grid. They are the same for every number of rows and every budget."""
    rows: FloatArray = np.rint(drawn_rows(design, assumptions) * unit)
    rows.flags.writeable = False
    return rows


class SimulatedTable:
    """Synthetic rows on the grid.

    If the assumed table has more rows than are drawn, sums are scaled up. If it has fewer, each release uses a subset.
    """

    def __init__(self, request: ReleaseRequest, assumptions: Assumptions) -> None:
        self._grid = _grid_rows(request.design, request.domain.unit, replace(assumptions, rows=1.0))
        self._rows = round(assumptions.rows)

    def reader(self, seed: int) -> Callable[[Sums], Totals]:
        """Return a function that sums the table in one simulated release."""
        drawn = self._grid.shape[1]
        rows = self._grid
        if self._rows < drawn:
            rows = rows[:, np.random.default_rng(seed).choice(drawn, self._rows, replace=False)]
        times = self._rows / rows.shape[1]

        def read(wanted: Sums) -> Totals:
            for start in range(0, rows.shape[1], _CHUNK):
                wanted.add(np.ascontiguousarray(rows[:, start : start + _CHUNK]))
            values = tuple(round(value * times) for value in wanted.totals())
            counted = getattr(wanted, "cells", None)
            cells = None if counted is None else np.rint(counted() * times).astype(np.int64)
            return Totals(values, wanted.unit, RowCounts(self._rows), cells)

        return read


def simulated_release(request: ReleaseRequest, table: SimulatedTable, seed: int) -> Release:
    """Run the mechanism of a request on synthetic rows, with noise from a seed. The release is NOT PRIVATE."""
    sampler, read = _Seeded(seed), table.reader(seed)
    passes = request.mechanism.passes(request.context(sampler))
    first = read(next(passes))
    return replace(request.release(run_passes(passes, first, read), first, UNTRACKED, None), guarantee=None)


def simulated_plan(
    request: ReleaseRequest,
    asked: Asked,
    supposed: Sequence[float | None],
    check: Callable[[], None],
    *,
    remedy: bool = True,
) -> Plan:
    """Plan from simulated releases. The results of each coefficient are medians over the releases.

    With `remedy`, the reason of a coefficient without interval says by which factor the number of rows would have to
    grow.
    """
    if asked.assumptions is None:
        raise SpecError("a simulated plan requires assumptions about the table")
    table = SimulatedTable(request, asked.assumptions)
    drawn: list[FloatArray] = []
    names: tuple[str, ...] = ()
    for seed in range(next(times for columns, times in _DRAWS if len(request.design.released) <= columns)):
        check()
        model = fit(simulated_release(request, table, seed))
        names = tuple(model.params)
        drawn.append(_read(model, asked.level))
    errors, widths, shares = np.moveaxis(np.array(drawn), 0, 1)
    bounded = np.isfinite(widths).mean(axis=0)
    factors = None
    if remedy and (bounded < ENOUGH).any():
        factors = _row_factors(request, asked.assumptions, asked.level, bounded >= ENOUGH, check)
    coefficients = []
    for index, (name, share) in enumerate(zip(names, bounded.tolist(), strict=True)):
        error, width, privacy = (float(np.median(part[:, index])) for part in (errors, widths, shares))
        if share >= ENOUGH:
            sd = privacy**0.5 * error
            row = PlannedCoefficient(name, error, width, privacy, None, sd, share, supposed[index])
        else:
            reason = f"fewer than {ENOUGH:.0%} of simulated releases give a bounded interval"
            reason += "" if factors is None else _rows_remedy(factors[index])
            row = PlannedCoefficient(name, None, None, None, reason, None, share, supposed[index])
        coefficients.append(row)
    distribution = request.distribution.without_before()
    sds = distribution.entry_sd(len(request.design.released))
    return asked.answered(request.design, coefficients, distribution, sds)


def _row_factors(
    request: ReleaseRequest,
    assumptions: Assumptions,
    level: float,
    estimable: npt.NDArray[np.bool_],
    check: Callable[[], None],
) -> list[float]:
    """Return for each coefficient how many times as many rows bound its interval: a power of 2, or infinity.

    The largest factor is tried first, so that a hopeless design costs few releases.
    """

    def enough(step: int) -> npt.NDArray[np.bool_]:
        table = SimulatedTable(request, replace(assumptions, rows=assumptions.rows * 2.0**step))
        widths = []
        for seed in range(_FEW):
            check()
            widths.append(_read(fit(simulated_release(request, table, seed)), level)[1])
        share: npt.NDArray[np.bool_] = np.isfinite(widths).mean(axis=0) >= ENOUGH
        return share

    least = np.where(estimable, 0.0, np.where(enough(_STEPS), _STEPS, math.inf))
    low, high = 0, _STEPS
    while high - low > 1 and np.isfinite(least[~estimable]).any():
        middle = (low + high) // 2
        found = enough(middle) & ~estimable
        least[found] = np.minimum(least[found], middle)
        # the search follows the coefficients that need most rows
        low, high = (low, middle) if found[np.isfinite(least) & ~estimable].all() else (middle, high)
    return list((2.0**least).tolist())


def _rows_remedy(factor: float) -> str:
    if not math.isfinite(factor):
        return f"; even {2**_STEPS} times as many rows would not be enough"
    return f"; {factor:g} times as many rows would be enough"


def _read(model: Fit, level: float) -> FloatArray:
    """Return standard errors, interval widths and privacy shares, shape (3, k); infinite if undefined."""
    if not model.estimable:
        return np.full((3, len(model.params)), np.inf)
    errors, shares, sets = model.bse, model.privacy_share, model.conf_int(level)
    return np.array([
        [_number(errors[name]) for name in model.params],
        [
            ends.upper - ends.lower if isinstance(ends, ConfidenceSet) and ends.bounded else np.inf
            for ends in sets.values()
        ],
        [_number(shares[name]) for name in model.params],
    ])  # fmt: skip


def _number(value: Any) -> float:  # noqa: ANN401  # a number, or why there is none
    number = known(value)
    return np.inf if number is None else number


def expected_bounds(request: ReleaseRequest, rows: float, assume: Mapping[str, Mapping[str, Any]] | None) -> Design:
    """Return the design with the bounds that a search of the expected cell counts would find.

    A column with private bounds is assumed to be normal with the stated mean and sd.
    """
    design, distribution = request.design, request.distribution
    if not design.searched or not is_number(rows):
        return design
    from scipy.special import ndtr

    unit = distribution.unit
    cells: dict[str, tuple[int, ...]] = {}
    for name in design.searched:
        stated = (assume or {}).get(name)
        mean, sd = (None, None) if not isinstance(stated, Mapping) else (stated.get("mean"), stated.get("sd"))
        if not is_number(mean) or not is_number(sd) or not sd > 0:
            raise SpecError(
                f"column {name!r} has private bounds, so a plan needs its expected mean and sd; state both, or declare "
                "its bounds"
            )
        below = ndtr((np.array(cell_edges(*design.ranges[name])) - mean) / sd)
        # the outermost cells include all values beyond them
        below[0], below[-1] = 0.0, 1.0
        cells[name] = tuple(round(rows * unit * share) for share in np.diff(below).tolist())
    part = DiscoveryPart(distribution.sigma[DISCOVERY], round(rows * unit), cells)
    bounds = found_bounds(part, design, distribution.family)
    missing = [name for name, ends in bounds.items() if ends is None]
    if missing:
        raise SpecError(
            f"a private search would not find the bounds of {missing[0]!r} with {rows:,.0f} rows at this budget; "
            "declare the bounds, or plan with more rows or a larger epsilon"
        )
    return design.with_found({name: ends for name, ends in bounds.items() if ends is not None})

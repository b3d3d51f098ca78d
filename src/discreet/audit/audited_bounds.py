"""Audit releases with private bounds by calling the public functions.

In the table, most rows fall into one histogram cell. The count of another cell is close to the threshold, so that the
noise decides which bounds are chosen. The neighbouring table has one more row, far outside both cells.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from scipy.stats import laplace, norm

from discreet.accounting.noise_distribution import DISCOVERY, entry_blocks
from discreet.audit.judging import Claim
from discreet.audit.noise_tests import Check, distribution_check
from discreet.audit.runs import NOISY, ExactLoss, SyntheticRows, padded, release_numbers
from discreet.curator.sums.cell_counts import DyadicCells
from discreet.curator.sums.gram import ExactGram
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.errors import BoundsNotFound, PrivacyNotice
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import root_up, up
from discreet.mechanisms.protocol import with_curve
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.release_request import ReleaseRequest
from discreet.releases.fields import found_bounds, threshold_parts
from discreet.releases.release import Release
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.workflow import release

# rows in the fullest cell, in multiples of a count's noise scale; no bounds are found with probability below 1e-12
_FULL: Final = 120
_FAR: Final = 1e5
_NAMES: Final = ("y", "x")


@dataclass(frozen=True)
class BoundsEntry:
    """Mechanism whose private bounds are audited. Each draw takes milliseconds, so `most_draws` is small."""

    name: str
    mechanism: str
    delta: float
    most_draws: int = 100


def bounds_entries() -> dict[str, BoundsEntry]:
    """Return one entry for each noise family of the counts."""
    entries = (
        BoundsEntry("gaussian private bounds", "gaussian", 1e-6),
        BoundsEntry("laplace private bounds", "laplace", 0.0),
    )
    return {entry.name: entry for entry in entries}


class BoundsSubject:
    """Search for private bounds and the mechanism that uses them, audited at one epsilon."""

    pair = "one row more, far out"

    def __init__(self, entry: BoundsEntry, epsilon: float) -> None:
        self.name = entry.name
        self._design = Design("y", dict.fromkeys(_NAMES, "private"))
        self._request = ReleaseRequest.checked(
            self._design, PrivacyBudget(epsilon, entry.delta), ReleaseOptions(mechanism=entry.mechanism)
        )
        guarantee = Guarantee.promised(self._design.unit, self._request.budget)
        self.claim = Claim.of(with_curve(guarantee, self._request.distribution))
        distribution = self._request.distribution
        scale = distribution.sigma[DISCOVERY] / distribution.unit
        full = math.ceil(_FULL * scale)
        # one of the totals is the row count, not a cell count
        parts = threshold_parts(len(DyadicCells(self._design).totals()) - 1, distribution.family)
        edge = round(parts / 1000 * scale)
        table = {"y": np.full(full + edge, 1.5), "x": np.repeat([1.5, 3.0], [full, edge])}
        self._tables = table, {name: np.append(cells, _FAR) for name, cells in table.items()}
        self._exact = [self._cells(side) for side in self._tables]
        self._noise: list[FloatArray] = []
        self._rests: set[str] = set()
        self._inconsistent = 0

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Draw releases. Each output holds the counts and then the moments, or only NaN if no bounds were found."""
        return padded([self._numbers(side) for _ in range(how_many)])

    def exact(self) -> tuple[ExactLoss, ...]:
        """Return the joint loss of counts and moments for each pair of bounds that the noisy counts could select."""
        return tuple(self._loss({"y": (1.0, 2.0), "x": (1.0, high)}) for high in (2.0, 4.0))

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """Test the noise of counts and moments, and check that the published bounds follow from the noisy counts."""
        distribution = self._request.distribution
        cdf = norm.cdf if distribution.family == "discrete-gaussian" else laplace.cdf
        counts = [
            side[:, : len(exact)] - np.array(exact, dtype=np.float64) * distribution.unit
            for side, exact in zip(drawn, self._exact, strict=True)
        ]
        steps = np.concatenate(counts)
        steps = steps[np.isfinite(steps[:, 0])]
        return (
            distribution_check("distribution of the counts", steps / distribution.sigma[DISCOVERY], cdf, alpha / 2),
            distribution_check("noise distribution", np.array(self._noise), cdf, alpha / 2),
            Check("on the grid", float(np.mean(steps != np.rint(steps))), 0.0),
            Check("bounds inconsistent with the counts", float(self._inconsistent), 0.0),
            Check("rest of the release", float(len(self._rests) - 1), 0.0),
        )

    def _numbers(self, side: int) -> list[float]:
        request = self._request
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyNotice)
                released = release(
                    self._tables[side],
                    self._design,
                    epsilon=request.budget.epsilon,
                    delta=request.budget.delta,
                    mechanism=request.mechanism.name,
                )
        except BoundsNotFound:
            return [math.nan]
        self._inspect(released, side)
        return release_numbers(released)

    def _inspect(self, released: Release, side: int) -> None:
        """Record the noise of the moments, and compare the published bounds with those that the counts determine."""
        private_bounds = released.discovery
        expected = None if private_bounds is None else found_bounds(private_bounds, self._design, released.noise.family)
        self._inconsistent += released.found_bounds != expected
        exact = self._moments(side, released.design)
        blocks = entry_blocks(len(released.columns))
        noise = [
            (total - exact_sum) / released.noise.sigma[block]
            for total, exact_sum, block in zip(released.totals, exact, blocks, strict=True)
            if total is not None
        ]
        self._noise.append(np.array(noise))
        body = json.loads(released.to_json())
        rest = {name: value for name, value in body.items() if name not in (*NOISY, "design")}
        self._rests.add(json.dumps(rest, sort_keys=True))

    def _moments(self, side: int, design: Design) -> tuple[int, ...]:
        rows = SyntheticRows(self._tables[side], design.redeclared(), self._request.domain)
        return rows.sums(ExactGram(len(design.released), self._request.domain.grid_bits)).on_grid(
            self._request.distribution.unit
        )

    def _cells(self, table: dict[str, FloatArray]) -> tuple[int, ...]:
        source, sums = open_source(table), DyadicCells(self._design)
        return accumulate(source, self._design, self._request.domain, ComputeOptions(), sums).values

    def _loss(self, bounds: dict[str, tuple[float, float]]) -> ExactLoss:
        distribution, design = self._request.distribution, self._design.with_found(bounds)
        blocks = entry_blocks(len(design.released))
        changes = [
            Fraction((b - a) * distribution.unit, distribution.sigma[DISCOVERY])
            for a, b in zip(*self._exact, strict=True)
        ]
        sums = (self._moments(side, design) for side in (0, 1))
        changes += [Fraction(b - a, distribution.sigma[block]) for a, b, block in zip(*sums, blocks, strict=True)]
        pair = f"{self.pair}, bounds of x up to {bounds['x'][1]:g}"
        if self.claim.mu is None:
            return ExactLoss(pair, "epsilon", up(sum(map(abs, changes), Fraction(0))), self.claim.epsilon)
        length = root_up(sum((change * change for change in changes), Fraction(0)))
        return ExactLoss(pair, "mu", length, self.claim.mu)

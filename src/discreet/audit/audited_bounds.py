"""Private discovery of bounds as a subject of an audit: every draw is a release through the whole public path.

The table has one cell that holds most rows, and one whose count lies at the threshold, so that noise decides about the
bounds; the neighbour has one row more, outside all of them.
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
from discreet.audit.noise_tests import Check, law_check
from discreet.audit.runs import NOISY, ExactLoss, MadeUpRows, padded, release_numbers
from discreet.curator.sums.cell_counts import DyadicCells
from discreet.curator.sums.gram import ExactGram
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import DEFAULT_GRID_BITS
from discreet.errors import BoundsNotFound, PrivacyNotice
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import root_up, up
from discreet.mechanisms.protocol import with_curve
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.releases.fields import found_bounds, threshold_parts
from discreet.releases.release import Release
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.workflow import Question, release

# rows in the fullest cell, in scales of the noise of a count: bounds are missed with a probability below 1e-12
_FULL: Final = 120
_FAR: Final = 1e5
_NAMES: Final = ("y", "x")


@dataclass(frozen=True)
class DiscoveryEntry:
    """A mechanism that runs on bounds that were found.

    Attributes
    ----------
    name, mechanism
        Name of the entry, and of the mechanism.
    delta
        Of its claim.
    most_draws
        For each table: a draw takes milliseconds.
    """

    name: str
    mechanism: str
    delta: float
    most_draws: int = 100


def discovery_entries() -> dict[str, DiscoveryEntry]:
    """Both kinds of noise that counts can have.

    >>> list(discovery_entries())
    ['gaussian private bounds', 'laplace private bounds']
    """
    entries = (
        DiscoveryEntry("gaussian private bounds", "gaussian", 1e-6),
        DiscoveryEntry("laplace private bounds", "laplace", 0.0),
    )
    return {entry.name: entry for entry in entries}


class DiscoverySubject:
    """Discovery and the mechanism after it at one epsilon.

    >>> subject = DiscoverySubject(discovery_entries()["gaussian private bounds"], 1.0)
    >>> subject.draws(0, 2).shape
    (2, 171)
    """

    pair = "one row more, far out"

    def __init__(self, entry: DiscoveryEntry, epsilon: float) -> None:
        self.name = entry.name
        self._design = Design("y", dict.fromkeys(_NAMES, "private"))
        self._asked = Question.checked(
            self._design,
            PrivacyBudget(epsilon, entry.delta),
            entry.mechanism,
            None,
            moments="plain",
            residual_bound=None,
            clip_counts=False,
            grid_bits=DEFAULT_GRID_BITS,
        )
        guarantee = Guarantee.promised(self._design.unit, self._asked.budget)
        self.claim = Claim.of(with_curve(guarantee, self._asked.law))
        law = self._asked.law
        scale = law.sigma[DISCOVERY] / law.unit
        full = math.ceil(_FULL * scale)
        # one count is that of the rows
        parts = threshold_parts(len(DyadicCells(self._design).totals()) - 1, law.family)
        edge = round(parts / 1000 * scale)
        table = {"y": np.full(full + edge, 1.5), "x": np.repeat([1.5, 3.0], [full, edge])}
        self._tables = table, {name: np.append(cells, _FAR) for name, cells in table.items()}
        self._exact = [self._cells(one) for one in self._tables]
        self._noise: list[FloatArray] = []
        self._rests: set[str] = set()
        self._strayed = 0

    def draws(self, side: int, how_many: int) -> FloatArray:
        """All numbers of new releases: counts first, then the moments; none where bounds were not found."""
        return padded([self._numbers(side) for _ in range(how_many)])

    def exact(self) -> tuple[ExactLoss, ...]:
        """The loss of counts and of moments together, at bounds that noise may give."""
        return tuple(self._loss({"y": (1.0, 2.0), "x": (1.0, high)}) for high in (2.0, 4.0))

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """The law of the noise of counts and of moments, and whether the bounds are those that the counts show."""
        law = self._asked.law
        cdf = norm.cdf if law.family == "discrete-gaussian" else laplace.cdf
        counts = [
            one[:, : len(exact)] - np.array(exact, dtype=np.float64) * law.unit
            for one, exact in zip(drawn, self._exact, strict=True)
        ]
        steps = np.concatenate(counts)
        steps = steps[np.isfinite(steps[:, 0])]
        return (
            law_check("law of the counts", steps / law.sigma[DISCOVERY], cdf, alpha / 2),
            law_check("law of the noise", np.array(self._noise), cdf, alpha / 2),
            Check("on the grid", float(np.mean(steps != np.rint(steps))), 0.0),
            Check("bounds beside the counts", float(self._strayed), 0.0),
            Check("rest of the release", float(len(self._rests) - 1), 0.0),
        )

    def _numbers(self, side: int) -> list[float]:
        asked = self._asked
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyNotice)
                made = release(
                    self._tables[side],
                    self._design,
                    epsilon=asked.budget.epsilon,
                    delta=asked.budget.delta,
                    mechanism=asked.mechanism.name,
                )
        except BoundsNotFound:
            return [math.nan]
        self._look_at(made, side)
        return release_numbers(made)

    def _look_at(self, made: Release, side: int) -> None:
        """Compare the bounds with the counts, and take the noise of the moments off."""
        part = made.discovery
        shown = None if part is None else found_bounds(part, self._design, made.noise.family)
        self._strayed += made.found_bounds != shown
        exact = self._moments(side, made.design)
        blocks = entry_blocks(len(made.columns))
        noise = [
            (total - before) / made.noise.sigma[block]
            for total, before, block in zip(made.totals, exact, blocks, strict=True)
            if total is not None
        ]
        self._noise.append(np.array(noise))
        body = json.loads(made.to_json())
        rest = {name: value for name, value in body.items() if name not in (*NOISY, "design")}
        self._rests.add(json.dumps(rest, sort_keys=True))

    def _moments(self, side: int, design: Design) -> tuple[int, ...]:
        rows = MadeUpRows(self._tables[side], design.redeclared(), self._asked.domain)
        return rows.sums(ExactGram(len(design.released), self._asked.domain.grid_bits)).on_grid(self._asked.law.unit)

    def _cells(self, table: dict[str, FloatArray]) -> tuple[int, ...]:
        source, sums = open_source(table), DyadicCells(self._design)
        return accumulate(source, self._design, self._asked.domain, ComputeOptions(), sums).values

    def _loss(self, bounds: dict[str, tuple[float, float]]) -> ExactLoss:
        law, design = self._asked.law, self._design.with_found(bounds)
        blocks = entry_blocks(len(design.released))
        changes = [Fraction((b - a) * law.unit, law.sigma[DISCOVERY]) for a, b in zip(*self._exact, strict=True)]
        sums = (self._moments(side, design) for side in (0, 1))
        changes += [Fraction(b - a, law.sigma[block]) for a, b, block in zip(*sums, blocks, strict=True)]
        pair = f"{self.pair}, bounds of x up to {bounds['x'][1]:g}"
        if self.claim.mu is None:
            return ExactLoss(pair, "epsilon", up(sum(map(abs, changes), Fraction(0))), self.claim.epsilon)
        length = root_up(sum((change * change for change in changes), Fraction(0)))
        return ExactLoss(pair, "mu", length, self.claim.mu)

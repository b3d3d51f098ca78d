"""Audit releases by several curators against a merging party that colludes with one curator.

The colluding curator reveals its sums, its noise share and its masks to the party that merges the parts, which
subtracts them from the sum of all parts. What remains is the sum of the honest parts, with as many noise shares as the
claim assumes.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
from scipy.stats import chi2, norm

from discreet.accounting.noise_distribution import entry_blocks
from discreet.audit.judging import Claim
from discreet.audit.noise_tests import Check, distribution_check
from discreet.audit.pairs import NeighbourPair, Table, worst_pairs
from discreet.audit.runs import ExactLoss, PooledSampler, SyntheticRows, sampler_checks
from discreet.curator.sums.gram import ExactGram, Totals
from discreet.design.design import Design
from discreet.errors import PrivacyNotice
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import root_up
from discreet.mechanisms.gaussian import GaussianShares
from discreet.mechanisms.protocol import with_curve
from discreet.parts.agreement import Session, asked_by
from discreet.parts.keys import CuratorKey
from discreet.parts.making import part
from discreet.parts.part_file import MODULUS, WIDTH, masked, pair_keys, unmasked
from discreet.privacy.guarantee import Guarantee

_NAMES: Final = ("north", "south", "west")
_HONEST: Final = len(_NAMES) - 1
_DELTA: Final = 1e-6
# sessions per table that go through keys, masks and files; each waits for the disk
WHOLE_DRAWS: Final = 20


@dataclass(frozen=True)
class PartsEntry:
    """Audit of three curators, two of them honest. The attacked individual is in `parts_per_person` parts."""

    name: str
    parts_per_person: int
    most_draws: int = 3000


def parts_entries() -> dict[str, PartsEntry]:
    """Return entries for an individual in one part and for one in two parts, or none without the extra `parts`."""
    if find_spec("cryptography") is None:
        return {}
    entries = PartsEntry("gaussian parts", 1), PartsEntry("gaussian parts of one person", 2)
    return {entry.name: entry for entry in entries}


class PartsSubject:
    """Federated session at one epsilon, audited on the worst pair of tables for Gaussian noise."""

    def __init__(self, entry: PartsEntry, epsilon: float) -> None:
        self.name = entry.name
        self._design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
        self._most = entry.parts_per_person
        self._keys = tuple(CuratorKey.new(name) for name in _NAMES)
        self._epsilon = epsilon
        session = self._session()
        self._request = asked_by(session, self._design)
        guarantee = Guarantee.promised(self._design.unit, self._request.budget, curators=session.terms)
        self.claim = Claim.of(with_curve(guarantee, self._request.distribution))
        self._sampler = PooledSampler()
        self._pairs = worst_pairs("gaussian", self._design)
        self._worst = max(self._pairs, key=lambda pair: self._loss(pair).value)

    @property
    def pair(self) -> str:
        """Name of the pair of tables for which outputs are drawn."""
        return self._worst.name

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Draw sums of the honest parts, including their noise shares."""
        mechanism = self._request.mechanism
        if not isinstance(mechanism, GaussianShares):
            raise TypeError("expected noise in shares: the mechanism of a federated session must be GaussianShares")
        sums = [self._totals(table) for table in self._tables(side)[:_HONEST]]
        distribution = self._request.distribution
        return np.array([
            [
                float(sum(numbers))
                for numbers in zip(
                    *(mechanism.randomise(totals, distribution, self._sampler) for totals in sums), strict=True
                )
            ]
            for _ in range(how_many)
        ])  # fmt: skip

    def exact(self) -> tuple[ExactLoss, ...]:
        """Return the privacy loss for every pair of tables, with the noise shares of the honest curators only."""
        return tuple(self._loss(pair) for pair in self._pairs)

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """Test the noise of the honest curators, the scales of the draws, and the noise in masked parts."""
        noise = np.concatenate([self._noise(side, draws) for side, draws in enumerate(drawn)])
        whole = np.concatenate([self._noise(side, self.seen(side)) for side in (0, 1)])
        return (
            distribution_check("noise distribution", noise, norm.cdf, alpha / 2),
            *sampler_checks(self._request, self._sampler, alpha / 4),
            distribution_check("noise distribution in masked parts", whole, norm.cdf, alpha / 8),
            _variance_check("variance of the noise in masked parts", whole, alpha / 8),
        )

    def seen(self, side: int) -> FloatArray:
        """Compute what the merging party and the last curator together learn from real masked and signed parts."""
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyNotice)
            return np.array([self._seen(side, Path(folder, str(number))) for number in range(WHOLE_DRAWS)])

    def _seen(self, side: int, folder: Path) -> list[float]:
        folder.mkdir()
        session, parts = self._session(), []
        for key, table in zip(self._keys, self._tables(side), strict=True):
            key.save(folder / f"{key.name}.key")
            parts.append(part(table, self._design, session, key=folder / f"{key.name}.key").numbers)
        last = len(_NAMES) - 1
        masks = masked([0] * (len(parts[last]) // WIDTH), pair_keys(session, last, self._keys[last]), last)
        own = [(sent - mask) % MODULUS for sent, mask in zip(_numbers(parts[last]), _numbers(masks), strict=True)]
        own = [number - MODULUS if number >= MODULUS // 2 else number for number in own]
        return [float(total - number) for total, number in zip(unmasked(parts), own, strict=True)]

    def _session(self) -> Session:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyNotice)
            return Session.new(
                self._design,
                [key.public for key in self._keys],
                epsilon=self._epsilon,
                delta=_DELTA,
                parts_per_person=self._most,
            )

    def _tables(self, side: int) -> list[Table]:
        """Return the tables of the curators. The individual is in the first tables on side 0, and in none on side 1."""
        pair = self._worst
        with_person = [(pair.table, pair.neighbour)[side]] * self._most
        return [*with_person, *[pair.table] * (len(_NAMES) - self._most)]

    def _totals(self, table: Table) -> Totals:
        rows = SyntheticRows(table, self._design, self._request.domain)
        return rows.sums(ExactGram(len(self._design.released), self._request.domain.grid_bits))

    def _scales(self) -> list[int]:
        return [self._request.distribution.sigma[block] for block in entry_blocks(len(self._design.released))]

    def _noise(self, side: int, drawn: FloatArray) -> FloatArray:
        sums = [self._totals(table).on_grid(self._request.distribution.unit) for table in self._tables(side)[:_HONEST]]
        exact = np.array([float(sum(numbers)) for numbers in zip(*sums, strict=True)])
        noise: FloatArray = (drawn - exact) / (math.sqrt(_HONEST) * np.array(self._scales(), dtype=np.float64))
        return noise

    def _loss(self, pair: NeighbourPair) -> ExactLoss:
        unit = self._request.distribution.unit
        first, second = (self._totals(table).on_grid(unit) for table in (pair.table, pair.neighbour))
        square = sum(
            (
                Fraction((self._most * (a - b)) ** 2, _HONEST * scale * scale)
                for a, b, scale in zip(first, second, self._scales(), strict=True)
            ),
            Fraction(0),
        )
        return ExactLoss(pair.name, "mu", root_up(square), self.claim.mu or 0.0)


def _variance_check(name: str, noise: FloatArray, alpha: float) -> Check:
    """Test the variance of standardised noise, which reveals missing noise even in a small sample."""
    distribution = chi2(noise.size)
    low, high = float(distribution.ppf(alpha / 2)), float(distribution.isf(alpha / 2))
    total = float((noise**2).sum())
    return Check(name, max(total / high, low / total if total else math.inf), 1.0)


def _numbers(content: bytes) -> list[int]:
    return [int.from_bytes(content[start : start + WIDTH], "little") for start in range(0, len(content), WIDTH)]

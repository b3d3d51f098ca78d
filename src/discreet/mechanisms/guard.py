"""Release the noisy counts of the guard and of private bounds, and decide what follows from them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final

from discreet.accounting.noise_distribution import DISCOVERY, GUARD, Block, NoiseDistribution
from discreet.accounting.preliminary_counts import bounds_query, guard_query
from discreet.curator.sums.gram import Totals
from discreet.design.design import Design
from discreet.design.domain import RowDomain, cell_edges
from discreet.errors import AfterSpendError, BoundsNotFound, GuardStop, LedgerError
from discreet.mechanisms.calibration import preceded_distribution
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.spend import Loss, SpendReceipt
from discreet.releases.fields import DiscoveryPart
from discreet.wording import Call

# -- noisy counts ------------------------------------------------------------------------------------------------------
# Noise on preliminary counts, which are released before a mechanism runs. Proof: before.proof.md.


def noisy_counts(exact: Sequence[int], block: Block, distribution: NoiseDistribution, sampler: Sampler) -> list[int]:
    """Return exact counts in steps of the product grid plus one independent variate each."""
    scales = [distribution.sigma[block]] * len(exact)
    noise = sampler.draw(scales) if distribution.family == "discrete-gaussian" else sampler.laplace(scales)
    # [P:before-noise]
    return [count * distribution.unit + variate for count, variate in zip(exact, noise, strict=True)]


# -- guard -------------------------------------------------------------------------------------------------------------
# The guard of a release: noisy counts of rows that fit and of rows that do not, and the rule that stops the release.
#
# A release of a table in which hardly any row fits its design wastes the budget. A refusal based on exact counts would
# reveal something about the table, so the counts are released with noise, for a share of the budget, and the decision
# is a function of the noisy counts. Proof: guard.proof.md.

# of mu^2, or of epsilon for noise without delta
GUARD_SHARE: Final = Fraction(1, 100)
# How far, in noise scales, the rows that do not fit must exceed those that do: where both are equal the noise alone
# exceeds it with probability below 1/100. Gaussian: 2.33 standard deviations of a difference. Laplace: the difference
# of two variates of scale b exceeds x with probability (1 + x/(2b)) exp(-x/b) / 2.
GAUSSIAN_FACTOR: Final = 2.33 * math.sqrt(2)
LAPLACE_FACTOR: Final = 5.2


@dataclass(frozen=True, slots=True)
class GuardCounts:
    """Noisy numbers of rows that fit the design and of rows that do not, in steps of the product grid."""

    fitting: int
    other: int


def guarded_distribution(
    design: Design,
    domain: RowDomain,
    budget: PrivacyBudget,
    distribution_for: Callable[[PrivacyBudget], NoiseDistribution],
) -> NoiseDistribution:
    """Return the joint noise of the guard and of what follows, which together satisfy the budget."""
    return preceded_distribution(guard_query(design), GUARD_SHARE, domain, budget, distribution_for)


def guard_counts(fitting: tuple[int, int], distribution: NoiseDistribution, sampler: Sampler) -> GuardCounts:
    """Return exact counts in steps of the product grid plus one independent variate each."""
    # [P:guard-noise]
    return GuardCounts(*noisy_counts(fitting, GUARD, distribution, sampler))


def stops(counts: GuardCounts, distribution: NoiseDistribution) -> bool:
    """Return whether the rows that do not fit outnumber those that do by so much that the release must stop.

    >>> distribution = NoiseDistribution(16, {"guard": 100}, "gaussian")
    >>> stops(GuardCounts(0, 329), distribution), stops(GuardCounts(0, 330), distribution)
    (False, True)
    """
    factor = GAUSSIAN_FACTOR if distribution.family == "discrete-gaussian" else LAPLACE_FACTOR
    return counts.other - counts.fitting > factor * distribution.sigma[GUARD]  # [P:guard-rule]


# -- discovery ---------------------------------------------------------------------------------------------------------
# Private bounds: noisy counts of rows by dyadic cell, from which the bounds are computed.
#
# They are used only where the design declares private bounds. The counts are released first, for a stated share of the
# budget. The bounds are a function of them, and the mechanism then runs on rows clipped to these bounds. Where the
# counts do not give bounds, the release stops instead of guessing. Proof: discovery.proof.md.

# of mu^2, or of epsilon for noise without delta
DISCOVERY_SHARE: Final = Fraction(1, 20)


def discovered_distribution(
    design: Design,
    domain: RowDomain,
    budget: PrivacyBudget,
    distribution_for: Callable[[PrivacyBudget], NoiseDistribution],
) -> NoiseDistribution:
    """Return the noise of both the counts for private bounds and the mechanism."""
    return preceded_distribution(bounds_query(design), DISCOVERY_SHARE, domain, budget, distribution_for)


def discovered(totals: Totals, design: Design, distribution: NoiseDistribution, sampler: Sampler) -> DiscoveryPart:
    """Add noise to the counts of `DyadicCells`.

    `totals` are the exact counts of every cell, column after column, and of the rows.
    """
    return part_of(
        noisy_counts(totals.values, DISCOVERY, distribution, sampler), design, distribution
    )  # [P:discovery-noise]


def part_of(counts: Sequence[int], design: Design, distribution: NoiseDistribution) -> DiscoveryPart:
    """Split noisy counts by column. They are those of every cell, column after column, and of the rows."""
    *cells, rows = counts
    left = iter(cells)
    by_name = {name: tuple(islice(left, len(cell_edges(*design.ranges[name])) - 1)) for name in design.searched}
    return DiscoveryPart(distribution.sigma[DISCOVERY], rows, by_name)


# -- verdicts ----------------------------------------------------------------------------------------------------------
# Counts that may stop a release are committed first, and a stop is recorded and repeated unchanged.
#
# A verdict is a function of committed counts, so no kill, retry or second process can choose among several draws.


def committed_counts(
    receipt: SpendReceipt,
    stage: str,
    size: int,
    draw: Callable[[], Sequence[int]],
    stops: Callable[[Sequence[int]], bool],
) -> list[int]:
    """Commit the noisy counts of a stage, or return the counts that were committed before.

    Without a ledger the counts are those of a new draw. `draw` is not called where the request has committed counts.
    `stops` says whether counts stop the release.

    >>> committed_counts(SpendReceipt("untracked"), "guard", 2, lambda: [3, 700], lambda counts: True)
    [3, 700]
    """
    if receipt.stage is None:
        if receipt.commit is not None or receipt.stop is not None:
            raise LedgerError("the spend hook records releases but not the counts that decide whether there is one")
        return [*draw()]

    def record() -> str:
        counts = [*draw()]
        return json.dumps({"counts": counts, "verdict": "stop" if stops(counts) else "go"}, separators=(",", ":"))

    try:
        found = json.loads(receipt.stage(stage, record))["counts"]  # [P:committed-counts]
    except (ValueError, TypeError, KeyError, RecursionError):
        found = None
    if not isinstance(found, list) or [type(count) for count in found] != [int] * size:
        raise LedgerError(f"the ledger holds a stage {stage!r} that is not understood; restore it from a copy")
    return found


def guard_record(counts: GuardCounts, distribution: NoiseDistribution) -> str:
    """Return the verdict of a guard: the two noisy counts in rows, and the standard deviation of their noise."""
    found = {
        "fitting": counts.fitting / distribution.unit,
        "other": counts.other / distribution.unit,
        "sd": distribution.sd(GUARD),
    }
    return json.dumps(found, sort_keys=True)


def bounds_record(names: Sequence[str], spent: Loss) -> str:
    """Return the verdict that bounds of some columns were not found, with its privacy loss."""
    found = {"not_found": list(names), "epsilon": spent.epsilon, "delta": spent.delta}
    return json.dumps(found, sort_keys=True)


def how_to_stop(receipt: SpendReceipt) -> Callable[[str, Loss], str]:
    """Return how the hook records a stopped release. Reject a hook that cannot, before counts are drawn."""
    if receipt.stop is None:
        raise LedgerError("the spend hook cannot record that a guard stopped the release")
    return receipt.stop


def stop_of(record: str, receipt: SpendReceipt) -> AfterSpendError:
    """Return the error of a recorded verdict.

    >>> record = bounds_record(["x"], Loss.pure(0.05))
    >>> print(str(stop_of(record, SpendReceipt("untracked"))).partition(":")[0])
    the bounds of 'x' were not found at this budget
    """
    balance = "" if receipt.balance is None else f". {receipt.balance()}"
    try:
        found = json.loads(record)
        return _not_found(found, receipt, balance) if "not_found" in found else _guard_stop(found, balance)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise LedgerError("the ledger holds a verdict that is not understood; restore it from a copy") from None


def _guard_stop(found: Mapping[str, float], balance: str) -> GuardStop:
    return GuardStop(
        f"the guard stopped this release: about {found['fitting']:,.0f} rows fit the design and about "
        f"{found['other']:,.0f} do not (noisy counts, standard deviation {found['sd']:.3g}){balance}. The same request "
        "gives the same verdict, and a corrected design or table is a new one",
        remedy=Call("discreet.check", "see why"),
    )


def _not_found(found: Mapping[str, object], receipt: SpendReceipt, balance: str) -> BoundsNotFound:
    names = [str(name) for name in found["not_found"]]  # type: ignore[attr-defined]  # a list of JSON
    spent = f"epsilon = {found['epsilon']:.4g}, delta = {found['delta']:.3g}"
    if receipt.request_id:
        cost = f"The search costs {spent} by itself{balance}. The same request gives the same verdict"
    else:
        cost = f"The search has spent {spent} by itself, which nobody counts, and another try spends again"
    return BoundsNotFound(
        f"the bounds of {', '.join(map(repr, names))} were not found at this budget: too few rows for the noise of "
        f"the counts, and nothing was published. {cost}. Declare their bounds, or a narrower range (within = [low, "
        "high]), from public knowledge; or use more rows, a larger epsilon, or fewer columns with private bounds",
        columns=names,
    )

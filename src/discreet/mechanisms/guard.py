"""Release preliminary counts for the guard and for private bounds, and decide whether the release continues."""

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
    """Add an independent noise variate to each exact count, and return the noisy counts in product-grid steps."""
    scales = [distribution.sigma[block]] * len(exact)
    noise = sampler.draw(scales) if distribution.family == "discrete-gaussian" else sampler.laplace(scales)
    # [P:before-noise]
    return [count * distribution.unit + variate for count, variate in zip(exact, noise, strict=True)]


# -- guard -------------------------------------------------------------------------------------------------------------
# The guard stops a release in which most rows do not fit the design, because it would waste the budget.
#
# A refusal based on exact counts would reveal something about the table. So the two counts, of fitting and of other
# rows, are released with noise for a share of the budget, and only the noisy counts decide. Proof: guard.proof.md.

# share of mu^2, or of epsilon under pure DP
GUARD_SHARE: Final = Fraction(1, 100)
# The release stops if the other rows exceed the fitting rows by this many noise scales. If the exact counts are equal,
# this happens with probability below 1/100. Gaussian: 2.33 standard deviations of a difference. Laplace: the difference
# of two variates of scale b exceeds x with probability (1 + x/(2b)) exp(-x/b) / 2.
GAUSSIAN_FACTOR: Final = 2.33 * math.sqrt(2)
LAPLACE_FACTOR: Final = 5.2


@dataclass(frozen=True, slots=True)
class GuardCounts:
    """Noisy numbers of rows that fit the design and of rows that do not, in product-grid steps."""

    fitting: int
    other: int


def guarded_distribution(
    design: Design,
    domain: RowDomain,
    budget: PrivacyBudget,
    distribution_for: Callable[[PrivacyBudget], NoiseDistribution],
) -> NoiseDistribution:
    """Calibrate the counts of the guard and the mechanism that runs after it to a joint budget."""
    return preceded_distribution(guard_query(design), GUARD_SHARE, domain, budget, distribution_for)


def guard_counts(fitting: tuple[int, int], distribution: NoiseDistribution, sampler: Sampler) -> GuardCounts:
    """Add noise to the exact numbers of rows that fit the design and of rows that do not."""
    # [P:guard-noise]
    return GuardCounts(*noisy_counts(fitting, GUARD, distribution, sampler))


def stops(counts: GuardCounts, distribution: NoiseDistribution) -> bool:
    """Return whether so many more rows violate the design than fit it that the release must stop.

    >>> distribution = NoiseDistribution(16, {"guard": 100}, "gaussian")
    >>> stops(GuardCounts(0, 329), distribution), stops(GuardCounts(0, 330), distribution)
    (False, True)
    """
    factor = GAUSSIAN_FACTOR if distribution.family == "discrete-gaussian" else LAPLACE_FACTOR
    return counts.other - counts.fitting > factor * distribution.sigma[GUARD]  # [P:guard-rule]


# -- discovery ---------------------------------------------------------------------------------------------------------
# Private bounds, computed from noisy counts of rows by dyadic cell, for columns whose declared bounds are private.
#
# The counts are released first, for a stated share of the budget. The mechanism then runs on rows clipped to the
# computed bounds. If the counts do not determine bounds, the release stops instead of guessing. Proof:
# discovery.proof.md.

# share of mu^2, or of epsilon under pure DP
DISCOVERY_SHARE: Final = Fraction(1, 20)


def discovered_distribution(
    design: Design,
    domain: RowDomain,
    budget: PrivacyBudget,
    distribution_for: Callable[[PrivacyBudget], NoiseDistribution],
) -> NoiseDistribution:
    """Calibrate the counts for private bounds and the mechanism that runs after them to a joint budget."""
    return preceded_distribution(bounds_query(design), DISCOVERY_SHARE, domain, budget, distribution_for)


def discovered(totals: Totals, design: Design, distribution: NoiseDistribution, sampler: Sampler) -> DiscoveryPart:
    """Add noise to the counts of `DyadicCells`.

    These are the counts of all cells, column by column, and then the number of rows.
    """
    return part_of(
        noisy_counts(totals.values, DISCOVERY, distribution, sampler), design, distribution
    )  # [P:discovery-noise]


def part_of(counts: Sequence[int], design: Design, distribution: NoiseDistribution) -> DiscoveryPart:
    """Split the noisy counts for private bounds by column."""
    *cells, rows = counts
    left = iter(cells)
    by_name = {name: tuple(islice(left, len(cell_edges(*design.ranges[name])) - 1)) for name in design.searched}
    return DiscoveryPart(distribution.sigma[DISCOVERY], rows, by_name)


# -- verdicts ----------------------------------------------------------------------------------------------------------
# A verdict says whether preliminary counts stop a release. The counts are committed to the ledger before they are used,
# so that no kill, retry or second process can choose among several draws. The same request gets the same verdict.


def committed_counts(
    receipt: SpendReceipt,
    stage: str,
    size: int,
    draw: Callable[[], Sequence[int]],
    stops: Callable[[Sequence[int]], bool],
) -> list[int]:
    """Commit the noisy counts of a stage to the ledger, or return counts that this request committed earlier.

    If the request has committed counts, `draw` is not called. Without a ledger, new counts are always drawn. `stops`
    returns whether given counts stop the release.

    >>> committed_counts(SpendReceipt("untracked"), "guard", 2, lambda: [3, 700], lambda counts: True)
    [3, 700]
    """
    if receipt.stage is None:
        if receipt.commit is not None or receipt.stop is not None:
            raise LedgerError(
                "the receipt returned by the spend hook must have a 'stage' function, which records preliminary counts"
            )
        return [*draw()]

    def record() -> str:
        counts = [*draw()]
        return json.dumps({"counts": counts, "verdict": "stop" if stops(counts) else "go"}, separators=(",", ":"))

    try:
        committed = json.loads(receipt.stage(stage, record))["counts"]  # [P:committed-counts]
    except (ValueError, TypeError, KeyError, RecursionError):
        committed = None
    if not isinstance(committed, list) or [type(count) for count in committed] != [int] * size:
        raise LedgerError(f"the ledger entry of the stage {stage!r} cannot be read; restore the ledger from a copy")
    return committed


def guard_record(counts: GuardCounts, distribution: NoiseDistribution) -> str:
    """Return a JSON text with the two noisy counts of the guard and their standard deviation, in rows."""
    verdict = {
        "fitting": counts.fitting / distribution.unit,
        "other": counts.other / distribution.unit,
        "sd": distribution.sd(GUARD),
    }
    return json.dumps(verdict, sort_keys=True)


def bounds_record(names: Sequence[str], spent: Loss) -> str:
    """Return a JSON text that says which private bounds were not found, with the privacy loss of the search."""
    verdict = {"not_found": list(names), "epsilon": spent.epsilon, "delta": spent.delta}
    return json.dumps(verdict, sort_keys=True)


def how_to_stop(receipt: SpendReceipt) -> Callable[[str, Loss], str]:
    """Return the function of a spend receipt that records a stopped release. Reject a receipt without it."""
    if receipt.stop is None:
        raise LedgerError("the spend hook must also record stopped releases: its receipt has no stop function")
    return receipt.stop


def stop_of(record: str, receipt: SpendReceipt) -> AfterSpendError:
    """Return the error that corresponds to a recorded verdict.

    >>> record = bounds_record(["x"], Loss.pure(0.05))
    >>> print(str(stop_of(record, SpendReceipt("untracked"))).partition(":")[0])
    the bounds of 'x' were not found at this budget
    """
    balance = "" if receipt.balance is None else f". {receipt.balance()}"
    try:
        verdict = json.loads(record)
        return _not_found(verdict, receipt, balance) if "not_found" in verdict else _guard_stop(verdict, balance)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise LedgerError("the verdict in the ledger cannot be read; restore the ledger from a copy") from None


def _guard_stop(verdict: Mapping[str, float], balance: str) -> GuardStop:
    return GuardStop(
        f"the guard stopped this release: about {verdict['fitting']:,.0f} rows fit the design and about "
        f"{verdict['other']:,.0f} do not (noisy counts, standard deviation {verdict['sd']:.3g}){balance}. Repeating "
        "the same request gives the same result; correct the design or the table first",
        remedy=Call("discreet.check", "see why"),
    )


def _not_found(verdict: Mapping[str, object], receipt: SpendReceipt, balance: str) -> BoundsNotFound:
    names = [str(name) for name in verdict["not_found"]]  # type: ignore[attr-defined]  # a list of JSON
    spent = f"epsilon = {verdict['epsilon']:.4g}, delta = {verdict['delta']:.3g}"
    if receipt.request_id:
        cost = f"The search spent {spent}{balance}. Repeating the same request gives the same result"
    else:
        cost = f"The search spent {spent}, which no ledger recorded, and repeating it spends the same again"
    return BoundsNotFound(
        f"the bounds of {', '.join(map(repr, names))} were not found at this budget: there are too few rows for the "
        f"noise in their counts, and nothing was published. {cost}. Declare the bounds, or a narrower range (within = "
        "[low, high]), from public knowledge; or use more rows, a larger epsilon, or fewer columns with private bounds",
        columns=names,
    )

"""Where noisy counts may stop a release: they are committed first, and a stop is recorded and said in the same words.

A verdict is a function of committed counts, so that no kill, retry or second process chooses among several draws.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from discreet.errors import AfterSpendError, BoundsNotFound, GuardStop, LedgerError
from discreet.losses.law import GUARD, NoiseLaw
from discreet.mechanisms.guard import GuardCounts
from discreet.privacy.loss import Loss
from discreet.privacy.spend import SpendReceipt


def committed_counts(
    receipt: SpendReceipt,
    stage: str,
    size: int,
    draw: Callable[[], Sequence[int]],
    stops: Callable[[Sequence[int]], bool],
) -> list[int]:
    """Commit the noisy counts of a stage with their verdict before anything is done with them.

    Parameters
    ----------
    receipt
        Of the spend. Where nobody keeps books, the counts are those of a new draw.
    stage, size
        Name of the stage, and how many counts it has.
    draw
        Draws the counts; not called where the request has committed ones.
    stops
        Whether counts stop the release.

    Returns
    -------
    list of int
        The counts that were committed first.

    Examples
    --------
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


def guard_record(counts: GuardCounts, law: NoiseLaw) -> str:
    """The verdict of a guard: the two noisy counts in rows, and the sd of their noise."""
    found = {"fitting": counts.fitting / law.unit, "other": counts.other / law.unit, "sd": law.sd(GUARD)}
    return json.dumps(found, sort_keys=True)


def bounds_record(names: Sequence[str], spent: Loss) -> str:
    """The verdict that bounds of some columns were not found, and what it cost by itself."""
    found = {"not_found": list(names), "epsilon": spent.epsilon, "delta": spent.delta}
    return json.dumps(found, sort_keys=True)


def how_to_stop(receipt: SpendReceipt) -> Callable[[str, Loss], str]:
    """How the hook records that a guard stopped a release; one that cannot is refused before counts are drawn."""
    if receipt.stop is None:
        raise LedgerError("the spend hook cannot record that a guard stopped the release")
    return receipt.stop


def stop_of(record: str, receipt: SpendReceipt) -> AfterSpendError:
    """The error of a recorded verdict.

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
        f"{found['other']:,.0f} do not (noisy counts, standard deviation {found['sd']:.3g}){balance}. See why with "
        "`discreet check`; the same request gives the same verdict, and a corrected design or table is a new one"
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

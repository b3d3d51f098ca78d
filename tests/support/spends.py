"""Requests to a ledger without a table or noise, and ledgers to ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.errors import BudgetError
from discreet.ledger.ledger import Ledger
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit
from discreet.privacy.spend import Loss, SpendRequest

DATASET = "people"


def ledger_of(folder: Path, epsilon: float = 1.0, delta: float = 0.0, **terms: object) -> Ledger:
    """A new ledger with one data set."""
    ledger = Ledger.create(folder / "books.db")
    ledger.declare(DATASET, epsilon=epsilon, delta=delta, **terms)  # type: ignore[arg-type]
    return ledger


def asking(
    epsilon: float = 0.1,
    delta: float = 0.0,
    *,
    loss: Loss | None = None,
    table: str | None = "a table",
    kind: str = "files",
    unit: PrivacyUnit | None = None,
    **specification: object,
) -> SpendRequest:
    """A request of which everything else is the same."""
    fingerprint: Callable[[bytes], str] | None = None
    if table is not None:
        # keyed in earnest where that matters; here it need only differ between tables
        def fingerprint(key: bytes) -> str:
            return f"{kind}:{table}"

    return SpendRequest(
        "laplace",
        PrivacyBudget(epsilon, delta),
        unit or PrivacyUnit(),
        "moments of y",
        loss or Loss.approximate(epsilon, delta),
        specification,
        fingerprint,
    )


def spend_one(path: str, index: int) -> str:
    """Spend 0.1 under a name of its own, in whatever process this is."""
    try:
        receipt = Ledger(path).account(DATASET, f"request-{index}")(asking(0.1, index=index))
    except BudgetError:
        return "refused"
    assert receipt.commit is not None
    return receipt.commit(f"release {index}")

"""What a primitive spends: asked for before noise is drawn, and recorded as answered before the result is handed on.

A ledger keeps no results of primitives. A request that was cut off is answered at no further cost; one that was
answered is refused, because what it was given is not there to be given again. Of twins that draw at the same time the
one whose mark is recorded is answered.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Final

from discreet.errors import AfterSpendError, LedgerError, SpecError
from discreet.exact.rounding import up
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.loss import Loss
from discreet.privacy.spend import SpendHook, SpendReceipt, SpendRequest
from discreet.privacy.unit import Neighbours, PrivacyUnit

_BELOW_ONE: Final = math.nextafter(1.0, 0.0)


@contextmanager
def spent(spend: SpendHook, name: str, loss: Loss, neighbours: Neighbours, **public: object) -> Iterator[None]:
    """Ask for the spend of what is drawn in the block; `public` is what decides its law.

    >>> from discreet.privacy.spend import untracked
    >>> with spent(untracked, "laplace", Loss.pure(1.0), "replace", scale=2.0):
    ...     drawn = "noise"
    """
    if not callable(spend):
        raise SpecError(f"spend: expected a function that returns a SpendReceipt, got {type(spend).__name__}")
    budget, unit = PrivacyBudget(loss.epsilon, loss.delta), PrivacyUnit(neighbours=neighbours)
    specification = {key: str(value) for key, value in public.items()}
    receipt = spend(SpendRequest(f"primitives.{name}", budget, unit, f"primitive {name}", loss, specification))
    if not isinstance(receipt, SpendReceipt) or not receipt.anchor:
        raise LedgerError("the spend hook gave no SpendReceipt with an anchor; no noise was drawn")
    if receipt.stored is not None:
        raise SpecError(
            f"request {receipt.request_id!r} was answered before, and results of primitives are not kept; give another "
            "request id, or new_release=True"
        )
    yield
    # known to this draw alone: a twin that reads back another mark has an answer that was not paid for
    mark = json.dumps({"drawn": secrets.token_hex(16)})
    if receipt.commit is not None and receipt.commit(mark) != mark:  # [P:spent-once]
        raise AfterSpendError(
            f"request {receipt.request_id!r} was answered meanwhile, in another thread or process, and is not answered "
            "again"
        )


def lattice_loss(sensitivity: Fraction, width: int, sigma: int, epsilon: float, delta: float) -> Loss:
    """The loss of discrete Gaussian noise of `sigma` steps on `width` integers that move by `sensitivity` together.

    The total variation to rounded continuous noise is at most 1/(16 sigma^2) an entry, for sigma of at least 1.

    >>> lattice_loss(Fraction(2), 1, 4, 1.0, 1e-6).mu
    0.5
    """
    tau = min(up(Fraction(width, 16 * sigma**2)), _BELOW_ONE)
    return Loss.gaussian(epsilon, delta, mu=up(sensitivity / sigma), tau=tau)

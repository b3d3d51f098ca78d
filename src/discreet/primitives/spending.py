"""Record the spend of a primitive before it draws noise, and compute its privacy loss."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Final

from discreet.errors import AfterSpendError, LedgerError, OptionError, UnsupportedError
from discreet.exact.rounding import up
from discreet.privacy.budget import Neighbours, PrivacyBudget, PrivacyUnit
from discreet.privacy.spend import Loss, SpendHook, SpendReceipt, SpendRequest
from discreet.wording import SetOption

# A primitive requests its spend before noise is drawn, and commits it before the result is returned.
#
# A ledger does not store results of primitives. An interrupted request can be repeated at no additional cost. Repeating
# a completed request is rejected. If several calls make the same request at once, only the call whose mark the ledger
# records returns a result.

_BELOW_ONE: Final = math.nextafter(1.0, 0.0)


@contextmanager
def spent(spend: SpendHook, name: str, loss: Loss, neighbours: Neighbours, **public: object) -> Iterator[None]:
    """Request the spend before the `with` block draws noise, and commit it afterwards.

    `public` holds the parameters that determine the noise.

    >>> from discreet.privacy.spend import untracked
    >>> with spent(untracked, "laplace", Loss.pure(1.0), "replace", scale=2.0):
    ...     drawn = "noise"
    """
    if not callable(spend):
        raise OptionError(option="spend", given=spend, allowed="a function that returns a SpendReceipt")
    budget, unit = PrivacyBudget(loss.epsilon, loss.delta), PrivacyUnit(neighbours=neighbours)
    specification = {key: str(value) for key, value in public.items()}
    receipt = spend(SpendRequest(f"primitives.{name}", budget, unit, f"primitive {name}", loss, specification))
    if not isinstance(receipt, SpendReceipt) or not receipt.anchor:
        raise LedgerError(
            "the spend hook must return a SpendReceipt with a nonempty anchor, but did not; no noise was drawn",
            code="invalid-receipt",
        )
    if receipt.stored is not None:
        raise UnsupportedError(
            f"request {receipt.request_id!r} was completed earlier, and its result was not stored",
            code="already-answered",
            option="request_id",
            remedy=("use another request id", SetOption("new_release", value=True)),
        )
    yield
    # the mark is unique to this draw: a call that reads back another mark has not paid for its result
    mark = json.dumps({"drawn": secrets.token_hex(16)})
    if receipt.commit is not None and receipt.commit(mark) != mark:  # [P:spent-once]
        raise AfterSpendError(
            f"another thread or process completed request {receipt.request_id!r} at the same time, so this call has no "
            "result",
            code="answered-elsewhere",
        )


def lattice_loss(sensitivity: Fraction, width: int, sigma: int, epsilon: float, delta: float) -> Loss:
    """Return the privacy loss of discrete Gaussian noise with scale `sigma` on `width` integers.

    `sensitivity` is the L2 sensitivity in grid steps. If sigma is at least 1, the total variation distance to rounded
    continuous noise is at most 1/(16 sigma^2) for each entry.
    """
    tau = min(up(Fraction(width, 16 * sigma**2)), _BELOW_ONE)
    return Loss.gaussian(epsilon, delta, mu=up(sensitivity / sigma), tau=tau)

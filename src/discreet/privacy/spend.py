"""The spend hook that a release calls before it draws noise, and the privacy loss that the hook records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final, Protocol, runtime_checkable

from discreet.errors import LedgerError, OptionError, UnsupportedError
from discreet.exact.rounding import EIGHTY_DIGITS, SQRT_TWO_PI, mills, root_up, up
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit
from discreet.privacy.checks import positive, probability_below_one
from discreet.text import has_invisible_characters
from discreet.wording import Call, LeaveOut

# -- loss --------------------------------------------------------------------------------------------------------------
# Privacy loss of one request, in every privacy measure that a filter adds up.
#
# A pure mechanism is converted to Gaussian DP by its trade-off curve between the two kinds of error. The curve of
# epsilon-DP is piecewise linear through (0, 1), (a, a) and (1, 0) with a = 1/(1 + e^epsilon). The convex curve of
# mu-Gaussian DP with mu = 2 Phi^-1(1 - a) goes through the same three points, so it is never above the first curve.
# Hence epsilon-DP implies mu-Gaussian DP [Dong, Roth & Su 2022, Definition 2.6 and Proposition 2.5].

_ADVICE: Final = "compute the value from the mechanism's noise"
# far below the spacing of doubles and far above the error of `mills`
_STEP: Final = Decimal("1e-20")
_NEAR: Final = Decimal("1e-9")
_LEAST_TAIL: Final = 1e-300
# above this epsilon, the larger mu = 2 sqrt(2 epsilon) is used
_EPSILON_EXACT: Final = 1000.0
# below this epsilon, the tangent at 0 is used, which lies above the curve and is as good
_EPSILON_TINY: Final = 1e-12
_LARGEST_FLOAT: Final = math.nextafter(math.inf, 0.0)


@dataclass(frozen=True, slots=True)
class Loss:
    """Privacy loss of one request in each privacy measure. All values are upper bounds.

    Alone, the request is (`epsilon`, `delta`)-DP. Outside an event of probability `failure`, it is `rho`-zCDP, and
    `mu`-Gaussian DP up to a total variation distance of `tau`. Create a loss with `gaussian`, `pure`, `approximate` or
    `together`.

    Attributes
    ----------
    epsilon, delta
        Guarantee of the request alone.
    mu
        Gaussian DP of all its parts together.
    rho
        Zero-concentrated DP of all its parts together.
    tau
        Total variation distance between the published value and the output of a mu-Gaussian mechanism, for any table.
        It is due to discrete noise.
    failure
        Part of delta that `mu` and `rho` do not cover.

    Examples
    --------
    >>> Loss.pure(1.0).rho
    0.5
    """

    epsilon: float
    delta: float
    mu: float
    rho: float
    tau: float = 0.0
    failure: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "mu", "rho"):
            object.__setattr__(self, name, positive(name, getattr(self, name), advice=_ADVICE))
        for name in ("delta", "tau", "failure"):
            object.__setattr__(self, name, probability_below_one(name, getattr(self, name), advice=_ADVICE))

    @property
    def is_pure(self) -> bool:
        """Whether the request is epsilon-DP with delta = 0.

        >>> Loss.pure(1.0).is_pure, Loss.approximate(1.0, 1e-6).is_pure
        (True, False)
        """
        return self.delta == 0

    @classmethod
    def gaussian(cls, epsilon: float, delta: float, *, mu: float, tau: float) -> Loss:
        """Return the loss of a request with discrete Gaussian noise.

        Discrete Gaussian noise satisfies mu^2/2-zCDP exactly [Canonne, Kamath & Steinke 2020].

        >>> Loss.gaussian(1.0, 1e-6, mu=0.5, tau=1e-12).rho
        0.125
        """
        return cls(
            epsilon, delta, mu, min(up(Fraction(positive("mu", mu, advice=_ADVICE)) ** 2 / 2), _LARGEST_FLOAT), tau
        )

    @classmethod
    def pure(cls, epsilon: float) -> Loss:
        """Return the loss of an epsilon-DP request, without further assumptions.

        >>> round(Loss.pure(1.0).mu, 6)
        1.232035
        """
        return cls.approximate(epsilon, 0.0)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Loss:
        """Return the loss of an (epsilon, delta)-DP request, without further assumptions.

        Such a request is epsilon-DP outside an event of probability delta [Kairouz, Oh & Viswanath 2015, Theorem 3.3].

        >>> Loss.approximate(1.0, 1e-6).failure
        1e-06
        """
        epsilon = positive("epsilon", epsilon, advice=_ADVICE)
        # no budget reaches the largest float, so a capped loss is still rejected
        rho = min(up(Fraction(epsilon) ** 2 / 2), _LARGEST_FLOAT)
        return cls(epsilon, delta, pure_mu(epsilon), rho, 0.0, delta)

    @classmethod
    def together(cls, epsilon: float, delta: float, parts: Sequence[Loss]) -> Loss:
        """Return the loss of a request with several parts that together are (epsilon, delta)-DP.

        Later parts may depend on the output of earlier ones.

        >>> Loss.together(2.0, 0.0, [Loss.pure(1.0), Loss.pure(1.0)]).rho
        1.0
        """
        if not parts:
            raise OptionError("Loss.together() needs at least one part, got none", option="parts")
        return cls(
            epsilon,
            delta,
            root_up(sum((Fraction(part.mu) ** 2 for part in parts), Fraction(0))),
            up(sum((Fraction(part.rho) for part in parts), Fraction(0))),
            up(sum((Fraction(part.tau) for part in parts), Fraction(0))),
            up(sum((Fraction(part.failure) for part in parts), Fraction(0))),
        )


@lru_cache(maxsize=256)
def pure_mu(epsilon: float) -> float:
    """Return the smallest mu for which every epsilon-DP mechanism is mu-Gaussian DP, rounded up.

    mu = 2 Phi^-1(e^eps / (1 + e^eps)). Above epsilon = 1000, the larger 2 sqrt(2 epsilon) is returned.
    """
    with localcontext(EIGHTY_DIGITS):
        exact = Decimal(positive("epsilon", epsilon, advice="choose an epsilon between 0.1 and 8"))
        if epsilon < _EPSILON_TINY:
            # Phi^-1(e^eps / (1 + e^eps)) is concave for eps > 0 with slope sqrt(2 pi)/4 at 0
            return up(SQRT_TWO_PI / 2 * exact * (1 + _STEP))
        if epsilon > _EPSILON_EXACT:
            # 1 - Phi(x) <= exp(-x^2/2) / 2 is below 1/(1 + e^eps) at x = sqrt(2 eps)
            return up(2 * (2 * exact).sqrt() * (1 + _STEP))
        tail = 1 / (1 + exact.exp())

        def above(x: Decimal) -> bool:
            """Return whether 1 - Phi(x) = M(x) phi(x) is above the tail. It decreases in x."""
            return mills(x) * (-x * x / 2).exp() / SQRT_TWO_PI > tail

        low, high = Decimal(0), (2 * exact).sqrt() + 1
        # floats give a bracket, which is then verified
        guess = Decimal(-NormalDist().inv_cdf(max(float(tail), _LEAST_TAIL)))
        if guess > 0 and above(guess * (1 - _NEAR)) and not above(guess * (1 + _NEAR)):
            low, high = guess * (1 - _NEAR), guess * (1 + _NEAR)
        while high - low > _STEP * high:
            middle = (low + high) / 2
            if above(middle):
                low = middle
            else:
                high = middle
        return up(2 * high * (1 + _STEP))


# -- spend -------------------------------------------------------------------------------------------------------------
# Interface of a ledger. Every release records its spend before it draws noise.

# anchor (place of the record) of a release that is not recorded
UNTRACKED: Final = "untracked"
_NOT_DRAWN: Final = "no noise was drawn and nothing was published"


@dataclass(frozen=True, slots=True)
class SpendRequest:
    """Request to spend budget, made before noise is drawn.

    Parameters
    ----------
    mechanism : str
        Public name of the mechanism.
    budget : PrivacyBudget
        Cost of the release alone.
    unit : PrivacyUnit
        Who is protected.
    description : str
        One line for the record, with declared names only.
    loss : Loss, optional
        Cost in every privacy measure. By default it is derived from the budget.
    specification : mapping
        All public values that determine what is published, as plain values for JSON. Requests with equal specifications
        are the same request.
    fingerprint : function, optional
        Computes a keyed digest of the table from a secret key. The holder of the key must not pass on the digest. None
        if the table has no digest.
    once : str
        Name of a resource that only one request may use, such as the session and key of a federated part. A ledger
        rejects a second request with the same text. Empty if the request uses no such resource.
    answer : mapping
        For a federated part: values that the release file must have, by field path such as `guarantee.epsilon`. A
        ledger compares them with the merged release. Empty for other requests.

    Examples
    --------
    >>> request = SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")
    >>> request.mechanism, request.loss.failure
    ('gaussian', 1e-06)
    """

    mechanism: str
    budget: PrivacyBudget
    unit: PrivacyUnit
    description: str
    loss: Loss = field(default=None)  # type: ignore[assignment]
    specification: Mapping[str, object] = field(default_factory=dict)
    fingerprint: Callable[[bytes], str] | None = None
    once: str = ""
    answer: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # typed as object because the default is None
        loss: object = self.loss
        if loss is None:
            object.__setattr__(self, "loss", Loss.approximate(self.budget.epsilon, self.budget.delta))


@dataclass(frozen=True, slots=True)
class SpendReceipt:
    """Proof that a spend was recorded.

    Attributes
    ----------
    anchor
        Where the spend is recorded, or "untracked". It is written to the release file.
    stored
        Text of the earlier release of the same request. It is returned again, and no noise is drawn.
    stage
        Function that commits the output of a stage, such as the guard's counts, before that output decides how the
        request continues. It takes the name of the stage and a function that draws the output as text, and returns the
        text that was committed first. Only that text may be used. None if nothing is recorded, so that every run draws
        and spends again.
    commit
        Function that records the text of the new release before publication and returns the text to publish. None if
        nothing is recorded.
    stopped
        Text of the record with which the same request was stopped earlier.
    stop
        Function to call instead of `commit` if the request stops early. It takes a record and the loss of the noise
        drawn so far, refunds the rest, and returns the recorded text.
    balance
        Function that returns a sentence about the spent and the remaining budget.
    request_id
        Identifier of the request in the ledger. Empty if nothing is recorded.

    Examples
    --------
    >>> SpendReceipt("untracked").anchor
    'untracked'
    """

    anchor: str
    stored: str | None = None
    stage: Callable[[str, Callable[[], str]], str] | None = None
    commit: Callable[[str], str] | None = None
    stopped: str | None = None
    stop: Callable[[str, Loss], str] | None = None
    balance: Callable[[], str] | None = None
    request_id: str = ""


class SpendHook(Protocol):
    """Callable that records a request before noise is drawn, or raises an error to reject it."""

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request durably and return a receipt, or raise `BudgetError` with nothing spent."""
        ...


@runtime_checkable
class AdvisingHook(Protocol):
    """Spend hook that can also reject a request before the table is read."""

    def advise(self, request: SpendRequest) -> None:
        """Raise the error that a call would raise, as far as that is known without the table."""
        ...

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request, as a `SpendHook` does."""
        ...


def untracked(request: SpendRequest) -> SpendReceipt:
    """Accept every request without recording it.

    Parameters
    ----------
    request : SpendRequest
        Request to accept.

    Returns
    -------
    SpendReceipt
        Receipt with the anchor "untracked".

    Examples
    --------
    >>> untracked(SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")).anchor
    'untracked'
    """
    return SpendReceipt(anchor=UNTRACKED)


class ObservedHook:
    """Spend hook that calls functions before and after another hook.

    Parameters
    ----------
    hook
        Hook that records the request. If it can advise, so can this hook.
    before
        Called first, with the request. If it raises an error, the request is rejected and nothing is spent.
    after
        Called with the request and its receipt, before noise is drawn.

    Examples
    --------
    >>> seen = []
    >>> hook = ObservedHook(untracked, after=lambda request, receipt: seen.append(receipt.anchor))
    >>> hook(SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")).anchor, seen
    ('untracked', ['untracked'])
    """

    def __init__(
        self,
        hook: SpendHook,
        *,
        before: Callable[[SpendRequest], None] = lambda _: None,
        after: Callable[[SpendRequest, SpendReceipt], None] = lambda _, __: None,
    ) -> None:
        self._hook, self._before, self._after = hook, before, after
        if isinstance(hook, AdvisingHook):
            # set only if the hook has it, because a release checks for the attribute
            self.advise = hook.advise

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Call `before`, the hook and `after`, and return the receipt."""
        self._before(request)
        receipt = self._hook(request)
        self._after(request, receipt)
        return receipt


def checked_receipt(receipt: object) -> SpendReceipt:
    """Return the receipt of a spend. Reject a receipt that does not say where the spend is recorded."""
    if not (isinstance(receipt, SpendReceipt) and isinstance(receipt.anchor, str) and receipt.anchor):
        raise LedgerError(
            f"the spend hook must return a SpendReceipt with a nonempty anchor, but did not; {_NOT_DRAWN}",
            code="spend-hook-broken",
            option="spend",
        )
    if has_invisible_characters(receipt.anchor):
        raise LedgerError(
            f"the spend hook returned an anchor with invisible characters, which is not allowed; {_NOT_DRAWN}",
            code="spend-hook-broken",
            option="spend",
        )
    return receipt


def check_books(books: AdvisingHook | None, *, guard: bool) -> None:
    """Reject a guard without a ledger."""
    if guard and books is None:
        raise UnsupportedError(
            "a guard needs a ledger that records its decision: without a ledger, a stopped release could be repeated "
            "until it passes",
            code="guard-needs-ledger",
            option="guard",
            remedy=(Call("Ledger.account", "record the spend"), LeaveOut("guard")),
        )

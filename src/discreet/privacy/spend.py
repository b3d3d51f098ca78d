"""Define the spend hook that a release calls before it draws noise, and the privacy loss it reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final, Protocol, runtime_checkable

from discreet.errors import LedgerError, SpecError
from discreet.exact.rounding import EIGHTY_DIGITS, SQRT_TWO_PI, mills, root_up, up
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit
from discreet.privacy.checks import positive, probability_below_one
from discreet.text import has_invisible_characters

# -- loss --------------------------------------------------------------------------------------------------------------
# What one request costs a person, in every currency that a filter adds up.
#
# A pure mechanism is read as a Gaussian one by the trade-off between the two kinds of error: that of epsilon-DP is
# piecewise linear through (0, 1), (a, a) and (1, 0) with a = 1/(1 + e^epsilon), and the convex curve of mu-Gaussian DP
# with mu = 2 Phi^-1(1 - a) goes through the same three points, hence never above it. So epsilon-DP implies mu-Gaussian
# DP [Dong, Roth & Su 2022, Definition 2.6 and Proposition 2.5].

_ADVICE: Final = "take it from the mechanism's own noise"
# far below the spacing of doubles, far above the error of mills
_STEP: Final = Decimal("1e-20")
_NEAR: Final = Decimal("1e-9")
_LEAST_TAIL: Final = 1e-300
# beyond it mu = 2 sqrt(2 epsilon) is used, which is larger
_EPSILON_EXACT: Final = 1000.0
# below it the tangent at 0, which lies above, is as good as the curve
_EPSILON_TINY: Final = 1e-12
_LARGEST_FLOAT: Final = math.nextafter(math.inf, 0.0)


@dataclass(frozen=True, slots=True)
class Loss:
    """What one request costs, stated in each currency; every figure is an upper bound.

    Outside an event of probability `failure` the request is `mu`-Gaussian DP up to a total variation of `tau`, and
    `rho`-zCDP. By itself it is (`epsilon`, `delta`)-DP. Use the constructors `gaussian`, `pure`, `approximate` and
    `together`.

    Attributes
    ----------
    epsilon, delta
        The request by itself.
    mu
        Gaussian parameter of all its parts together.
    rho
        Their zero-concentrated loss.
    tau
        Total variation, for any table, between what is published and what a mu-Gaussian mechanism would publish: what
        discrete instead of continuous noise amounts to.
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
        """Whether epsilon alone is promised.

        >>> Loss.pure(1.0).is_pure, Loss.approximate(1.0, 1e-6).is_pure
        (True, False)
        """
        return self.delta == 0

    @classmethod
    def gaussian(cls, epsilon: float, delta: float, *, mu: float, tau: float) -> Loss:
        """A discrete Gaussian request: its own promise, the mu of all its noise, and the step to the lattice.

        The discrete law keeps mu^2/2-zCDP without a gap [Canonne, Kamath & Steinke 2020].

        >>> Loss.gaussian(1.0, 1e-6, mu=0.5, tau=1e-12).rho
        0.125
        """
        return cls(
            epsilon, delta, mu, min(up(Fraction(positive("mu", mu, advice=_ADVICE)) ** 2 / 2), _LARGEST_FLOAT), tau
        )

    @classmethod
    def pure(cls, epsilon: float) -> Loss:
        """An epsilon-DP request of which nothing more is known.

        >>> round(Loss.pure(1.0).mu, 6)
        1.232035
        """
        return cls.approximate(epsilon, 0.0)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Loss:
        """An (epsilon, delta)-DP request of which nothing more is known.

        Up to an event of probability delta it is epsilon-DP [Kairouz, Oh & Viswanath 2015, Theorem 3.3].

        >>> Loss.approximate(1.0, 1e-6).failure
        1e-06
        """
        epsilon = positive("epsilon", epsilon, advice=_ADVICE)
        # no budget is as large as the largest float, so what is beyond it stays refused
        rho = min(up(Fraction(epsilon) ** 2 / 2), _LARGEST_FLOAT)
        return cls(epsilon, delta, pure_mu(epsilon), rho, 0.0, delta)

    @classmethod
    def together(cls, epsilon: float, delta: float, parts: Sequence[Loss]) -> Loss:
        """Parts of one request that is (epsilon, delta)-DP by itself; later parts may depend on earlier ones.

        >>> Loss.together(2.0, 0.0, [Loss.pure(1.0), Loss.pure(1.0)]).rho
        1.0
        """
        if not parts:
            raise SpecError("expected at least one part of a loss, got none")
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
    """Smallest mu for which every epsilon-DP mechanism is mu-Gaussian DP, rounded up: 2 Phi^-1(e^eps / (1 + e^eps)).

    Beyond 1000 the larger 2 sqrt(2 epsilon) is given.

    >>> round(pure_mu(0.1), 6)
    0.125309
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
            """Whether 1 - Phi(x) = M(x) phi(x), which falls in x, is above the tail."""
            return mills(x) * (-x * x / 2).exp() / SQRT_TWO_PI > tail

        low, high = Decimal(0), (2 * exact).sqrt() + 1
        # doubles say where to look; what they say is checked
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
# The seam for a ledger: every release asks before it draws noise.

# the anchor of a release that nobody counts
UNTRACKED: Final = "untracked"
_NOT_DRAWN: Final = "no noise was drawn and nothing was published"


@dataclass(frozen=True, slots=True)
class SpendRequest:
    """What a mechanism is about to spend, on whom, and why.

    Parameters
    ----------
    mechanism : str
        Public name of the mechanism.
    budget : PrivacyBudget
        What the release will cost by itself.
    unit : PrivacyUnit
        Whose presence the cost is about.
    description : str
        One line for the record, made of declared names only.
    loss : Loss, optional
        The cost in every currency; unless given, what the budget alone says.
    specification : mapping
        Everything public that decides what is published, as plain values for JSON: two requests with the same one ask
        for the same thing.
    fingerprint : function, optional
        From a secret key to a keyed digest of the table, which must never leave whoever holds the key; none where the
        table has none.
    once : str
        What can be used for one request only, such as a session of several curators and a key; whoever keeps books
        refuses a second request with the same text. Empty where a request uses up nothing but budget.
    answer : mapping
        Of a part of a release: what the file of the release must have, by the path of each field, such as
        `guarantee.epsilon`; whoever keeps books compares it with a release that names the part. Empty for a release,
        which is kept as a whole.

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
        # read as a plain object: whoever knows no more than the budget leaves it out
        given: object = self.loss
        if given is None:
            object.__setattr__(self, "loss", Loss.approximate(self.budget.epsilon, self.budget.delta))


@dataclass(frozen=True, slots=True)
class SpendReceipt:
    """Proof that a spend was recorded.

    Attributes
    ----------
    anchor
        Where the record is, or "untracked"; the release file carries it.
    stored
        Text of the release that this very request was given before: it is given again, and nothing new is drawn.
    stage
        Called with the name of a stage whose output decides how the request goes on, such as the counts of a guard,
        and a function that draws that output as text; returns the text that was committed first under this name and
        request, which alone is acted on. None where nothing is recorded: then every run draws anew, and spends anew.
    commit
        Called with the text of the new release before anybody sees it; returns the text as it was recorded, which is
        what is published. None where nothing is recorded.
    stopped
        Text of the record with which this very request was stopped before: it is given again.
    stop
        Called instead of `commit`, with a record and the loss of what was drawn for it, by a request that stops before
        its end; the rest of its cost is given back. Returns the record as it was recorded.
    balance
        Says in one sentence what was spent and what is left.
    request_id
        Name under which the ledger has the request; empty where nothing is recorded.

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
    """Anything that records a request before noise is drawn, or refuses it by raising."""

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request durably and return where, or raise `BudgetError` with nothing spent."""
        ...


@runtime_checkable
class AdvisingHook(Protocol):
    """A hook that keeps books: it can refuse before a table is read, and is given the table's fingerprint."""

    def advise(self, request: SpendRequest) -> None:
        """Raise what a call with this request would raise, as far as that can be known without the table."""
        ...

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request, as a `SpendHook` does."""
        ...


def untracked(request: SpendRequest) -> SpendReceipt:
    """Let every request pass and say so in the receipt: nobody keeps count.

    Parameters
    ----------
    request : SpendRequest
        What is about to be spent; not recorded.

    Returns
    -------
    SpendReceipt
        With the anchor "untracked".

    Examples
    --------
    >>> untracked(SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")).anchor
    'untracked'
    """
    return SpendReceipt(anchor=UNTRACKED)


class ObservedHook:
    """A spend hook with something to do before and after it; it advises if that hook does.

    Parameters
    ----------
    hook
        What records the request.
    before
        Called with the request first; what it raises refuses the request with nothing spent.
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
            # there only where the hook has it, because a release asks for it
            self.advise = hook.advise

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Pass the request on."""
        self._before(request)
        receipt = self._hook(request)
        self._after(request, receipt)
        return receipt


def checked_receipt(receipt: object) -> SpendReceipt:
    """The receipt of a spend; a hook that does not say where it is recorded gets no noise drawn."""
    if not (isinstance(receipt, SpendReceipt) and isinstance(receipt.anchor, str) and receipt.anchor):
        raise LedgerError(f"the spend hook gave no SpendReceipt with an anchor; {_NOT_DRAWN}")
    if has_invisible_characters(receipt.anchor):
        raise LedgerError(f"the spend hook gave an anchor with invisible characters; {_NOT_DRAWN}")
    return receipt


def check_books(books: AdvisingHook | None, *, guard: bool) -> None:
    """Refuse a guard without a ledger."""
    if guard and books is None:
        raise SpecError(
            "a guard needs a ledger, which keeps its verdict: without one a stopped release could be tried again until "
            "it passes; give --ledger and --dataset, or spend=Ledger(path).account(name), or leave the guard out"
        )

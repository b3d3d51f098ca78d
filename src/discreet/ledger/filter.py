"""Decide which requests the budget of a data set still allows. Proof: filter.proof.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, get_args

from discreet.errors import LedgerError, OptionError, shown
from discreet.exact.rounding import EIGHTY_DIGITS, down
from discreet.privacy.checks import probability_below_one, within
from discreet.privacy.gaussian_dp import mu_from, rho_from
from discreet.privacy.spend import Loss

# -- units -------------------------------------------------------------------------------------------------------------
# Amounts are integers, so that sums of many small amounts are exact.
#
# SQLite's integers end at 9.2e18, so amounts are stored as decimal strings.

# steps per unit of mu^2, rho and epsilon, and steps per unit of delta and tau
AMOUNT: Final = 10**12
CHANCE: Final = 10**30
_LONGEST: Final = 400  # digits: the largest double has 309, plus 30 for the smallest step


def rounded_up(value: Fraction, steps: int) -> int:
    """Return `value` * `steps`, rounded up to an integer."""
    return math.ceil(value * steps)


def rounded_down(value: Fraction, steps: int) -> int:
    """Return `value` * `steps`, rounded down to an integer."""
    return math.floor(value * steps)


def as_written(value: float) -> Fraction:
    """Convert a double to the shortest decimal that parses to it, which is what the user wrote.

    The two differ by less than one part in 2^52.

    >>> as_written(0.1)
    Fraction(1, 10)
    """
    return Fraction(Decimal(repr(value)))


def units_from(text: object) -> int:
    """Read an amount from a decimal string."""
    if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _LONGEST):
        raise LedgerError(
            "the ledger is damaged: an amount is not a number",
            code="ledger-damaged",
            remedy="restore a backup and verify it",
        )
    return int(text)


# -- filter ------------------------------------------------------------------------------------------------------------
# Accept or refuse requests by one fixed rule, so that requests may depend on earlier results.

Rule = Literal["gdp", "zcdp", "basic"]
# why a request is accepted: it fits the sums of the rule, all requests are pure, or it is the only request
Route = Literal["sums", "pure", "first"]

RULES: Final[tuple[Rule, ...]] = get_args(Rule)
CURVE_SHARE: Final = 0.999
EPSILON_LOWEST, EPSILON_HIGHEST = 1e-9, 1e3
DELTA_LOWEST, DELTA_HIGHEST = 1e-20, 0.5
_ADVICE: Final = "choose an epsilon between 0.1 and 8"
# far above the rounding errors of arithmetic with eighty digits
_MARGIN: Final = Decimal("1e-70")


@dataclass(frozen=True, slots=True)
class Charge:
    """Cost of one or more requests, rounded up to steps of 1e-12 (epsilon, mu2, rho) and 1e-30 (delta, tau, failure).

    >>> Charge.of(Loss.pure(0.1)) + Charge.of(Loss.pure(0.2))
    Charge(epsilon=300000000000, delta=0, mu2=78444535241, rho=25000000002, tau=0, failure=0, pure=True)
    """

    epsilon: int = 0
    delta: int = 0
    mu2: int = 0
    rho: int = 0
    tau: int = 0
    failure: int = 0
    pure: bool = True

    @classmethod
    def of(cls, loss: Loss) -> Charge:
        """Compute the charge of one request."""
        return cls(
            rounded_up(as_written(loss.epsilon), AMOUNT),  # [P:filter-rounded]
            rounded_up(as_written(loss.delta), CHANCE),
            rounded_up(Fraction(loss.mu) ** 2, AMOUNT),
            rounded_up(Fraction(loss.rho), AMOUNT),
            rounded_up(Fraction(loss.tau), CHANCE),
            rounded_up(Fraction(loss.failure), CHANCE),
            loss.is_pure,
        )

    def __add__(self, other: Charge) -> Charge:
        return Charge(
            self.epsilon + other.epsilon,
            self.delta + other.delta,
            self.mu2 + other.mu2,
            self.rho + other.rho,
            self.tau + other.tau,
            self.failure + other.failure,
            self.pure and other.pure,
        )

    def covers(self, part: Charge) -> bool:
        """Return whether every amount of `part` is at most the same amount of this charge."""
        amounts = [amount.name for amount in fields(Charge) if amount.name != "pure"]
        return all(getattr(self, name) >= getattr(part, name) for name in amounts) and self.pure <= part.pure

    def to_dict(self) -> dict[str, object]:
        """Return the amounts as decimal strings, for JSON."""
        amounts: dict[str, object] = {
            amount.name: str(getattr(self, amount.name)) for amount in fields(Charge) if amount.name != "pure"
        }
        return {**amounts, "pure": self.pure}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object]) -> Charge:
        """Read a charge from plain values."""
        names = [amount.name for amount in fields(Charge) if amount.name != "pure"]
        amounts = {name: units_from(mapping.get(name)) for name in names}
        return cls(**amounts, pure=mapping.get("pure") is True)


@dataclass(frozen=True)
class Terms:
    """The total budget of a data set and its accounting rule, both public and fixed before the first result.

    `gdp` adds mu^2, `zcdp` adds rho, and `basic` adds epsilon and delta. With `gdp` and `zcdp` the privacy curve gets
    the fraction `curve_share` of delta, and the rest covers the remaining terms.

    >>> Terms("gdp", 1.0, 1e-6).mu2, Terms("zcdp", 1.0, 1e-6).rho
    (56023518509, 24353801839)
    """

    rule: Rule
    epsilon: float
    delta: float
    curve_share: float = CURVE_SHARE

    def __post_init__(self) -> None:
        if not isinstance(self.rule, str) or self.rule not in RULES:
            raise OptionError.unknown_name("rule", self.rule, RULES, option="rule")
        ranges = f"{_ADVICE}; a ledger accepts {EPSILON_LOWEST:g} to {EPSILON_HIGHEST:g}"
        epsilon = within("epsilon", self.epsilon, EPSILON_LOWEST, EPSILON_HIGHEST, advice=ranges)
        advice = f"give 0 for a pure budget, or a delta such as 1e-6, at least {DELTA_LOWEST:g}"
        delta = probability_below_one("delta", self.delta, advice=advice)
        if delta:
            within("delta", delta, DELTA_LOWEST, DELTA_HIGHEST, advice=advice)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        if self.delta == 0 and self.rule != "basic":
            raise OptionError(
                f"the rule {shown(self.rule)} requires delta above 0",
                option="rule",
                given=self.rule,
                remedy="for delta = 0 choose the rule 'basic'",
            )
        share = within("curve share", self.curve_share, 0.5, 1 - 1e-6, advice="the default is 0.999")
        object.__setattr__(self, "curve_share", share)

    @cached_property
    def epsilon_units(self) -> int:
        """Epsilon of the budget, in steps of 1e-12."""
        return rounded_down(as_written(self.epsilon), AMOUNT)

    @cached_property
    def delta_units(self) -> int:
        """Delta of the budget, in steps of 1e-30."""
        return rounded_down(as_written(self.delta), CHANCE)

    @cached_property
    def curve_delta(self) -> float:
        """The part of delta at which the privacy curve is evaluated."""
        return down(as_written(self.delta) * as_written(self.curve_share))  # [P:filter-parts]

    @cached_property
    def rest_units(self) -> int:
        """Part of delta that is not used for the privacy curve, in steps of 1e-30."""
        return rounded_down(as_written(self.delta) - Fraction(self.curve_delta), CHANCE)

    @cached_property
    def mu2(self) -> int:
        """Largest sum of mu^2 that `gdp` accepts, in steps of 1e-12."""
        return rounded_down(Fraction(mu_from(self.epsilon, self.curve_delta)) ** 2, AMOUNT)

    @cached_property
    def rho(self) -> int:
        """Largest sum of rho that `zcdp` accepts, in steps of 1e-12."""
        return rounded_down(Fraction(rho_from(self.epsilon, self.curve_delta)), AMOUNT)

    def lattice_units(self, tau: int) -> int:
        """Return (1 + e^epsilon) `tau`, rounded up, for a sum `tau` of total variation distances in steps of 1e-30.

        >>> Terms("gdp", 1.0, 1e-6).lattice_units(10)
        38
        """
        with localcontext(EIGHTY_DIGITS):
            return math.ceil((1 + Decimal(self.epsilon).exp()) * tau * (1 + _MARGIN))  # [P:filter-whole-epsilon]

    def within_sums(self, total: Charge) -> bool:
        """Return whether the sums that the rule adds up are within the budget."""
        if self.rule == "basic":
            return total.epsilon <= self.epsilon_units and total.delta <= self.delta_units  # [P:filter-basic]
        if self.rule == "zcdp":
            return total.rho <= self.rho and total.failure <= self.rest_units  # [P:filter-zcdp]
        # [P:filter-gdp]
        return total.mu2 <= self.mu2 and total.failure + self.lattice_units(total.tau) <= self.rest_units

    def within_pure(self, total: Charge) -> bool:
        """Return whether all requests are pure and the sum of their epsilons is within the budget."""
        return total.pure and total.epsilon <= self.epsilon_units  # [P:filter-pure]

    def route(self, spent: Charge, requests: int, charge: Charge) -> Route | None:
        """Return the reason to accept a request after `requests` others that cost `spent`, or None if it is refused.

        >>> terms = Terms("gdp", 1.0, 1e-6)
        >>> terms.route(Charge(), 0, Charge.of(Loss.pure(1.0))), terms.route(Charge(), 0, Charge.of(Loss.pure(1.1)))
        ('pure', None)
        """
        total = spent + charge
        if self.within_sums(total):
            return "sums"
        if self.within_pure(total):
            return "pure"
        alone = charge.epsilon <= self.epsilon_units and charge.delta <= self.delta_units
        return "first" if requests == 0 and alone else None  # [P:filter-first]

    def holds(self, spent: Charge, requests: int, whole: Charge) -> bool:
        """Return whether the spent amount is within the budget. `whole` is the reserved charge of the first request."""
        alone = requests == 1 and whole.epsilon <= self.epsilon_units and whole.delta <= self.delta_units
        return self.within_sums(spent) or self.within_pure(spent) or alone

    def left(self, spent: Charge) -> dict[str, int]:
        """Return the remainder of each sum that the rule adds up, by name, in integer steps and at least 0."""
        if self.rule == "basic":
            sums = {"epsilon": self.epsilon_units - spent.epsilon, "delta": self.delta_units - spent.delta}
        elif self.rule == "zcdp":
            sums = {"rho": self.rho - spent.rho, "delta": self.rest_units - spent.failure}
        else:
            rest = self.rest_units - spent.failure - self.lattice_units(spent.tau)
            sums = {"mu2": self.mu2 - spent.mu2, "delta": rest}
        if spent.pure and self.rule != "basic":
            sums["pure_epsilon"] = self.epsilon_units - spent.epsilon
        return {name: max(0, amount) for name, amount in sums.items()}

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "rule": self.rule, "epsilon": self.epsilon, "delta": self.delta, "curve_share": self.curve_share,
        }  # fmt: skip

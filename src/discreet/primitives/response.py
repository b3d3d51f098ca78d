"""Randomised response: each person answers truly with probability q, and tosses a fair coin otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError, SpecError, shown
from discreet.exact.rounding import EIGHTY_DIGITS, down, up
from discreet.mechanisms.sampler import bernoulli
from discreet.primitives.arguments import (
    EPSILON_LOWEST,
    Values,
    checked_epsilon,
    checked_flag,
    checked_level,
    checked_strength,
    exact_number,
    is_integer,
    one_line,
    one_or_many,
    only_value,
    promised,
    public_length,
    spent,
)
from discreet.privacy.checks import probability_below_one, within
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked

_MARGIN: Final = Decimal("1e-70")
_FAIR: Final = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class NotEstimable:
    """What is given instead of an estimate: why there is none.

    >>> NotEstimable("the answers are coins").reason
    'the answers are coins'
    """

    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Proportion:
    """An estimated share of yes: unbiased value, its standard error, and an interval inside [0, 1].

    `unbiased` may fall outside [0, 1]; `value` is the same number moved into it.
    """

    value: float
    unbiased: float
    standard_error: float
    interval: tuple[float, float]
    level: float

    def __repr__(self) -> str:
        low, high = self.interval
        return f"<Proportion {self.value:.4g}, {self.level:g} interval {low:.4g} to {high:.4g}>"


@dataclass(frozen=True, slots=True, repr=False)
class Responses:
    """What the persons said, and what it says about them.

    Attributes
    ----------
    said : tuple of bool
        One response for each person, in order; only these leave the persons.
    value : bool
        The response, where there is one person.
    q : Fraction
        Probability of the true answer by rule; a coin may give it as well.
    guarantee : Guarantee
        For a change of one person's answer (each person is protected from whoever collects).
    """

    said: tuple[bool, ...]
    q: Fraction
    guarantee: Guarantee

    @property
    def value(self) -> bool:
        """The response, where there is one person."""
        return only_value(self.said, "said")

    def __repr__(self) -> str:
        return one_line("Responses", self.said, f"true by rule with probability {float(self.q):.6g}", self.guarantee)

    def estimate(self, level: float = 0.95) -> Proportion | NotEstimable:
        """Estimate the share of true yes in the population from which the persons were drawn.

        The interval is Clopper & Pearson's for the share of *said* yes, carried over to the share of true yes.

        Examples
        --------
        >>> randomised_response([True] * 50, q=0).estimate()
        NotEstimable(reason='q = 0: every response is a coin and says nothing')
        """
        from scipy.stats import beta

        level = checked_level(level)
        if self.q == 0:
            return NotEstimable("q = 0: every response is a coin and says nothing")
        n, yes, q = len(self.said), sum(self.said), float(self.q)
        share = yes / n
        tail = (1 - level) / 2
        low = beta.ppf(tail, yes, n - yes + 1) if yes else 0.0
        high = beta.isf(tail, yes + 1, n - yes) if yes < n else 1.0
        unbiased = (share - (1 - q) / 2) / q
        ends = [min(1.0, max(0.0, (float(end) - (1 - q) / 2) / q)) for end in (low, high)]
        return Proportion(
            min(1.0, max(0.0, unbiased)), unbiased, math.sqrt(share * (1 - share) / n) / q, (ends[0], ends[1]), level
        )

    def posterior(self, prior: float, *, said: bool = True) -> float:
        """Probability of a true yes after this response, for a reader who believed in `prior` before: deniability.

        Examples
        --------
        >>> randomised_response([True], q=0.5).posterior(0.01)
        0.029411764705882353
        """
        belief = Fraction(within("prior", prior, 0.0, 1.0, advice="give the probability of a yes before the response"))
        agrees = (1 + self.q) / 2
        of_yes, of_no = (agrees, 1 - agrees) if checked_flag("said", said) else (1 - agrees, agrees)
        return float(of_yes * belief / (of_yes * belief + of_no * (1 - belief)))


def randomised_response(
    answers: Values,
    *,
    q: float | Fraction | None = None,
    epsilon: float | None = None,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> Responses:
    """Let each person say the truth with probability q and the toss of a fair coin otherwise.

    Warner 1965, in the form with a forced coin. It is log((1 + q) / (1 - q))-differentially private for a change of one
    person's answer; the number of persons is public.

    Parameters
    ----------
    answers : bool or sequence of bool
        The true answers; 0 and 1 will do.
    q : float or Fraction, optional
        At least 0 and below 1, taken exactly; above 0 at least 1e-9.
    epsilon : float, optional
        Instead of q: the largest q that keeps it, tanh(epsilon / 2), rounded down.
    allow_weak_privacy : bool
        Accept epsilon above 20, which is a q above 1 - 4e-9.
    spend : SpendHook
        Asked before noise is drawn, such as `Ledger.account` of a data set with a request id; nobody counts without it.

    Returns
    -------
    Responses
        What was said, with `estimate` and `posterior`.

    Examples
    --------
    >>> asked = randomised_response([True, False, False, True], q=0.5)
    >>> len(asked.said), round(asked.guarantee.epsilon, 4)
    (4, 1.0986)
    """
    if (q is None) == (epsilon is None):
        raise SpecError("give exactly one of q and epsilon; q = 0.5 is epsilon = log(3)")
    if epsilon is not None:
        promise = checked_epsilon(epsilon)
        truth = truth_probability(promise)
    else:
        probability_below_one("q", q, advice="for instance 0.5; at q = 1 nobody is protected")
        truth = exact_number(q)
        if 0 < truth < EPSILON_LOWEST:
            raise SpecError(f"q = {shown(q)}; allowed: 0, or at least {EPSILON_LOWEST:g} and below 1; for instance 0.5")
        promise = response_epsilon(truth)
    # coins alone keep epsilon = 0, which is no budget but needs no leave either
    checked_strength(max(promise, EPSILON_LOWEST), 0.0, allow_weak_privacy)
    true_answers = _booleans(one_or_many(answers))
    with spent(spend, "randomised_response", Loss.pure(max(promise, EPSILON_LOWEST)), "replace", q=truth):
        said = tuple(answer if bernoulli(truth) else bernoulli(_FAIR) for answer in true_answers)  # [P:response]
    return Responses(said, truth, promised(promise, 0.0, "replace", "each person gives one answer"))


# the same in American spelling
randomized_response = randomised_response


def response_epsilon(q: Fraction) -> float:
    """The epsilon of randomised response, log((1 + q) / (1 - q)), rounded up.

    >>> response_epsilon(Fraction(0)), round(response_epsilon(Fraction(1, 2)), 6)
    (0.0, 1.098612)
    """
    if q == 0:
        return 0.0
    ratio = (1 + q) / (1 - q)
    with localcontext(EIGHTY_DIGITS):
        return up((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() + _MARGIN)  # [P:response-epsilon]


def truth_probability(epsilon: float) -> Fraction:
    """The largest q that keeps epsilon, tanh(epsilon / 2), rounded down to a double below 1.

    >>> float(truth_probability(1.0))
    0.46211715726000974
    """
    with localcontext(EIGHTY_DIGITS):
        shrunk = (-Decimal(epsilon)).exp()
        # [P:response-truth]
        return Fraction(min(down((1 - shrunk) / (1 + shrunk) - _MARGIN), math.nextafter(1.0, 0.0)))


def _booleans(answers: Sequence[Any] | npt.NDArray[Any]) -> list[bool]:
    public_length("answers", answers)
    if not all((is_integer(answer) or issubclass(type(answer), np.bool_)) and answer in (0, 1) for answer in answers):
        raise DataError("answers holds a value other than true and false (or 1 and 0)")
    return [bool(answer) for answer in answers]

"""Randomise answers: each person answers truthfully with probability q, and otherwise tosses a fair coin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError, OptionError
from discreet.exact.rounding import EIGHTY_DIGITS, down, up
from discreet.mechanisms.sampler import bernoulli
from discreet.primitives.arguments import (
    EPSILON_LOWEST,
    Values,
    as_sequence,
    checked_epsilon,
    checked_flag,
    checked_level,
    checked_strength,
    exact_number,
    guarantee_for,
    is_integer,
    only_value,
    public_length,
    result_repr,
)
from discreet.primitives.spending import spent
from discreet.privacy.checks import probability_below_one, within
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked

_MARGIN: Final = Decimal("1e-70")
_FAIR: Final = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class NotEstimable:
    """Reason why an estimate cannot be computed.

    >>> NotEstimable("the answers are coins").reason
    'the answers are coins'
    """

    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Proportion:
    """Estimated share of people whose true answer is yes.

    Attributes
    ----------
    value : float
        Estimate, clipped to [0, 1].
    unbiased : float
        Unbiased estimate, which may lie outside [0, 1].
    standard_error : float
        Standard error of the unbiased estimate.
    interval : tuple of float
        Confidence interval inside [0, 1].
    level : float
        Confidence level.
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
    """Randomised responses, from which the share of true yes answers can be estimated.

    Attributes
    ----------
    values : tuple of bool
        Response of each person, in order. The true answers are not stored.
    value : bool
        The response, if there is only one person.
    q : Fraction
        Probability of answering truthfully instead of tossing a coin.
    guarantee : Guarantee
        Guarantee for a change of one person's answer. It protects people even from the party that collects the
        responses.
    """

    values: tuple[bool, ...]
    q: Fraction
    guarantee: Guarantee

    @property
    def value(self) -> bool:
        """Response, if there is only one person."""
        return only_value(self.values)

    def __repr__(self) -> str:
        return result_repr("Responses", self.values, f"truthful with probability {float(self.q):.6g}", self.guarantee)

    def estimate(self, level: float = 0.95) -> Proportion | NotEstimable:
        """Estimate the share of true yes answers in the population from which the people were drawn.

        The confidence interval is that of Clopper & Pearson for the share of yes *responses*, transformed to the share
        of true yes answers.

        Parameters
        ----------
        level : float
            Confidence level of the interval.

        Returns
        -------
        Proportion or NotEstimable
            `NotEstimable` if q = 0.

        Examples
        --------
        >>> randomised_response([True] * 50, q=0).estimate()
        NotEstimable(reason='q = 0: every response is a coin toss and carries no information')
        """
        from scipy.stats import beta

        level = checked_level(level)
        if self.q == 0:
            return NotEstimable("q = 0: every response is a coin toss and carries no information")
        n, yes, q = len(self.values), sum(self.values), float(self.q)
        share = yes / n
        tail = (1 - level) / 2
        low = beta.ppf(tail, yes, n - yes + 1) if yes else 0.0
        high = beta.isf(tail, yes + 1, n - yes) if yes < n else 1.0
        unbiased = (share - (1 - q) / 2) / q
        ends = [min(1.0, max(0.0, (float(end) - (1 - q) / 2) / q)) for end in (low, high)]
        return Proportion(
            min(1.0, max(0.0, unbiased)), unbiased, math.sqrt(share * (1 - share) / n) / q, (ends[0], ends[1]), level
        )

    def posterior(self, prior: float, *, response: bool = True) -> float:
        """Return the probability that the true answer is yes, given a response.

        It measures how plausibly a person can deny an answer.

        Parameters
        ----------
        prior : float
            Probability that the true answer is yes, before the response is known.
        response : bool
            The observed response.

        Returns
        -------
        float

        Examples
        --------
        >>> randomised_response([True], q=0.5).posterior(0.01)
        0.029411764705882353
        """
        belief = Fraction(within("prior", prior, 0.0, 1.0, advice="pass the probability of a yes before the response"))
        agrees = (1 + self.q) / 2
        of_yes, of_no = (agrees, 1 - agrees) if checked_flag("response", response) else (1 - agrees, agrees)
        return float(of_yes * belief / (of_yes * belief + of_no * (1 - belief)))


def randomised_response(
    answers: Values,
    *,
    q: float | Fraction | None = None,
    epsilon: float | None = None,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> Responses:
    """Answer truthfully with probability q, and otherwise with the toss of a fair coin.

    This is Warner's (1965) method in the form with a forced coin. It is log((1 + q) / (1 - q))-differentially private
    for a change of one person's answer. The number of people is public.

    Parameters
    ----------
    answers : bool or sequence of bool
        True answers, as booleans or as 0 and 1.
    q : float or Fraction, optional
        Probability of a truthful answer: 0, or at least 1e-9 and below 1. It is used exactly as given.
    epsilon : float, optional
        Alternative to `q`. Then q is the largest probability that satisfies epsilon, which is tanh(epsilon / 2),
        rounded down.
    allow_weak_privacy : bool
        Accept epsilon above 20, which means q above 1 - 4e-9.
    spend : SpendHook
        Called before noise is drawn, such as `Ledger.account` for a data set. If omitted, the spend is not recorded.

    Returns
    -------
    Responses
        Responses, with methods `estimate` and `posterior`.

    Examples
    --------
    >>> survey = randomised_response([True, False, False, True], q=0.5)
    >>> len(survey.values), round(survey.guarantee.epsilon, 4)
    (4, 1.0986)
    """
    if (q is None) == (epsilon is None):
        raise OptionError(
            f"expected exactly one of q and epsilon, got {'neither' if q is None else 'both'}",
            code="conflicting-options",
            option="q",
            remedy="pass one of them; q = 0.5 corresponds to epsilon = log(3)",
        )
    if epsilon is not None:
        guaranteed = checked_epsilon(epsilon)
        truth = truth_probability(guaranteed)
    else:
        probability_below_one("q", q, advice="choose for example 0.5; at q = 1 nobody is protected")
        truth = exact_number(q)
        if 0 < truth < EPSILON_LOWEST:
            raise OptionError(
                option="q",
                given=q,
                allowed=f"0, or a number of at least {EPSILON_LOWEST:g} and below 1",
                remedy="choose for example 0.5",
            )
        guaranteed = response_epsilon(truth)
    # q = 0 gives epsilon = 0, which is not a valid budget
    checked_strength(max(guaranteed, EPSILON_LOWEST), 0.0, allow_weak_privacy)
    true_answers = _booleans(as_sequence(answers))
    with spent(spend, "randomised_response", Loss.pure(max(guaranteed, EPSILON_LOWEST)), "replace", q=truth):
        responses = tuple(answer if bernoulli(truth) else bernoulli(_FAIR) for answer in true_answers)  # [P:response]
    return Responses(responses, truth, guarantee_for(guaranteed, 0.0, "replace", "each person gives one answer"))


# American spelling
randomized_response = randomised_response


def response_epsilon(q: Fraction) -> float:
    """Return the epsilon of randomised response, which is log((1 + q) / (1 - q)), rounded up.

    >>> response_epsilon(Fraction(0)), round(response_epsilon(Fraction(1, 2)), 6)
    (0.0, 1.098612)
    """
    if q == 0:
        return 0.0
    ratio = (1 + q) / (1 - q)
    with localcontext(EIGHTY_DIGITS):
        return up((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() + _MARGIN)  # [P:response-epsilon]


def truth_probability(epsilon: float) -> Fraction:
    """Return the largest q that satisfies epsilon, which is tanh(epsilon / 2), rounded down to a double below 1.

    >>> float(truth_probability(1.0))
    0.46211715726000974
    """
    with localcontext(EIGHTY_DIGITS):
        inverse = (-Decimal(epsilon)).exp()
        # [P:response-truth]
        return Fraction(min(down((1 - inverse) / (1 + inverse) - _MARGIN), math.nextafter(1.0, 0.0)))


def _booleans(answers: Sequence[Any] | npt.NDArray[Any]) -> list[bool]:
    public_length("answers", answers)
    if not all((is_integer(answer) or issubclass(type(answer), np.bool_)) and answer in (0, 1) for answer in answers):
        raise DataError(
            "answers must contain only true and false (or 1 and 0), but has another value",
            option="answers",
            remedy="pass booleans",
        )
    return [bool(answer) for answer in answers]

"""Select privately from a finite public set, by report noisy max or by the exponential mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from discreet.errors import DataError, OptionError, UnsupportedError
from discreet.mechanisms.sampler import below, bernoulli_exp
from discreet.primitives.arguments import (
    checked_flag,
    checked_privacy,
    data_fractions,
    guarantee_for,
    public_fraction,
    public_length,
    resolve_spelling,
    result_repr,
)
from discreet.primitives.grid_noise import checked_step, laplace_noise, on_grid, scale_in_steps
from discreet.primitives.spending import spent
from discreet.privacy.budget import Neighbours
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked
from discreet.wording import LeaveOut, SetOption

Candidate = TypeVar("Candidate")


@dataclass(frozen=True, slots=True, repr=False)
class NoisyMax:
    """Index of the largest noisy score. No score is released.

    Attributes
    ----------
    index, value : int
        Index of the largest noisy score, counted from 0. Both attributes have the same value.
    scale : float
        Scale of the Laplace noise added to every score.
    guarantee : Guarantee
    """

    index: int
    scale: float
    guarantee: Guarantee

    @property
    def value(self) -> int:
        """Index of the largest noisy score, counted from 0."""
        return self.index

    def __repr__(self) -> str:
        return result_repr("NoisyMax", (self.index,), f"Laplace noise of scale {self.scale:.6g}", self.guarantee)


@dataclass(frozen=True, slots=True, repr=False)
class Choice(Generic[Candidate]):
    """Candidate drawn by the exponential mechanism.

    Attributes
    ----------
    candidate, value : object
        The chosen candidate. Both attributes have the same value.
    index : int
        Index of the chosen candidate, counted from 0.
    guarantee : Guarantee
    """

    candidate: Candidate
    index: int
    guarantee: Guarantee

    @property
    def value(self) -> Candidate:
        """Chosen candidate."""
        return self.candidate

    def __repr__(self) -> str:
        return result_repr("Choice", (self.candidate,), f"at {self.index}", self.guarantee)


def report_noisy_max(
    scores: Sequence[Any] | npt.NDArray[Any],
    sensitivity: float,
    epsilon: float,
    *,
    monotone: bool = False,
    neighbours: str = "add-remove",
    neighbors: str | None = None,
    step: float | None = None,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> NoisyMax:
    """Report the index of the largest score after Laplace noise has been added to every score.

    The privacy loss does not depend on the number of scores. The scale of the noise is 2 sensitivity / epsilon, or
    sensitivity / epsilon if all scores can only change in the same direction. Counts do so under add-remove. Under
    replace, one count can fall while another rises, so the smaller noise would cost up to twice epsilon. The noisy
    score of the winner is not released, because that would need more budget.

    Parameters
    ----------
    scores : sequence of numbers
        Scores. Their number is public.
    sensitivity : float
        Largest change of any single score between neighbouring tables.
    epsilon : float
        From 1e-9 to 1e6.
    monotone : bool
        Whether all scores change in the same direction between neighbouring tables.
    neighbours : {"add-remove", "replace"}
        Relation for which `sensitivity` and `monotone` hold.
    neighbors : {"add-remove", "replace"}, optional
        American spelling of `neighbours`.
    step : float, optional
        Step of the grid of scores and noise. The default is a power of two, about 2^-30 of the sensitivity.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Called before noise is drawn, such as `Ledger.account` for a data set. If omitted, the spend is not recorded.

    Returns
    -------
    NoisyMax

    Examples
    --------
    >>> report_noisy_max([12, 3000, 40], sensitivity=1, epsilon=1.0, monotone=True).index
    1
    """
    relation, epsilon = checked_privacy(resolve_spelling(neighbours, neighbors), epsilon, 0.0, allow_weak_privacy)
    _check_monotone(relation, monotone=monotone)
    change = public_fraction("sensitivity", sensitivity)
    grid = checked_step(step, change)
    moved = Fraction(math.ceil(change / grid))  # [P:score-steps]
    factor = 1 if monotone else 2
    scale = scale_in_steps(factor * moved * grid / Fraction(epsilon), grid)  # [P:selection-noise]
    size = public_length("scores", scores)
    exact = data_fractions("scores", scores)
    with spent(spend, "report_noisy_max", Loss.pure(epsilon), relation, scale=scale, step=grid, scores=size):
        noise = laplace_noise(scale, size)
    noisy = [on_grid(score, grid) + z for score, z in zip(exact, noise, strict=True)]
    index = max(range(len(noisy)), key=noisy.__getitem__)  # [P:noisy-max]
    return NoisyMax(index, float(Fraction(scale) * grid), _selection_guarantee(epsilon, relation, monotone=monotone))


def exponential_mechanism(
    candidates: Sequence[Candidate],
    utilities: Sequence[Any] | npt.NDArray[Any] | Callable[..., Any],
    sensitivity: float,
    epsilon: float,
    *,
    data: object = None,
    monotone: bool = False,
    neighbours: str = "add-remove",
    neighbors: str | None = None,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> Choice[Candidate]:
    """Choose a candidate with probability exactly proportional to exp(epsilon utility / (2 sensitivity)).

    This is the mechanism of McSherry & Talwar (2007). If all utilities can only change in the same direction, the
    factor 2 is dropped.

    Parameters
    ----------
    candidates : sequence
        Public candidates, at least one.
    utilities : sequence of numbers, or function
        One utility for each candidate, used exactly as given. Alternatively, a function that is called as u(data,
        candidate), or as u(candidate) if no data is given.
    sensitivity : float
        Largest change of the utility of any candidate between neighbouring tables.
    epsilon : float
        From 1e-9 to 1e6.
    data : object, optional
        First argument of a utility function. It is not used otherwise.
    monotone : bool
        Whether all utilities change in the same direction between neighbouring tables.
    neighbours : {"add-remove", "replace"}
        Relation for which `sensitivity` and `monotone` hold.
    neighbors : {"add-remove", "replace"}, optional
        American spelling of `neighbours`.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Called before noise is drawn, such as `Ledger.account` for a data set. If omitted, the spend is not recorded.

    Returns
    -------
    Choice

    Notes
    -----
    Candidates are proposed uniformly and accepted with probability exp(-x), where x is an exact fraction. The expected
    number of proposals is at most the number of candidates.

    Examples
    --------
    >>> exponential_mechanism(["red", "blue"], [2, 900], sensitivity=1, epsilon=1.0).value
    'blue'

    The median of a list, with a utility that one person changes by at most 1:

    >>> def balance(ages, age):
    ...     return -abs(sum(x < age for x in ages) - sum(x > age for x in ages))
    >>> 35 < exponential_mechanism(range(100), balance, 1, 1.0, data=[38, 39, 40, 41, 42] * 200).value < 45
    True
    """
    relation, epsilon = checked_privacy(resolve_spelling(neighbours, neighbors), epsilon, 0.0, allow_weak_privacy)
    _check_monotone(relation, monotone=monotone)
    change = public_fraction("sensitivity", sensitivity)
    size = public_length("candidates", candidates)
    if callable(utilities):
        exact = data_fractions("utilities", _evaluate(utilities, candidates, data))
    elif data is not None:
        raise OptionError(
            "data needs a utility function, but utilities is not a function",
            code="conflicting-options",
            option="utilities",
            remedy=("pass a function of data and candidate", LeaveOut("data")),
        )
    elif public_length("utilities", utilities) != size:
        raise OptionError(
            f"expected {size} utilities, one for each candidate, got {len(utilities)}",
            code="wrong-length",
            option="utilities",
        )
    else:
        exact = data_fractions("utilities", utilities)
    rate = Fraction(epsilon) / ((1 if monotone else 2) * change)  # [P:exponential-rate]
    best = max(exact)
    with spent(spend, "exponential_mechanism", Loss.pure(epsilon), relation, rate=rate, candidates=size):
        index = below(size)
        while not bernoulli_exp((best - exact[index]) * rate):  # [P:exponential-choice]
            index = below(size)
    return Choice(candidates[index], index, _selection_guarantee(epsilon, relation, monotone=monotone))


def _evaluate(utility: Callable[..., Any], candidates: Sequence[Candidate], data: object) -> list[Any]:
    """Evaluate a utility function at each candidate. Its errors are not shown, because they may contain data."""
    arguments = () if data is None else (data,)
    try:
        return [utility(*arguments, candidate) for candidate in candidates]
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's function may raise anything, with data in its message
        problem = DataError(
            "the utility function raised an error, which is not shown because it may contain data",
            code="utility-failed",
            option="utilities",
            remedy="call the function with synthetic data and one candidate to see the error",
        )
    raise problem


def _check_monotone(relation: Neighbours, *, monotone: bool) -> None:
    if checked_flag("monotone", monotone) and relation == "replace":
        raise UnsupportedError(
            "monotone = True needs neighbours = 'add-remove': under 'replace' one score can fall while another rises",
            code="not-monotone",
            option="monotone",
            given=monotone,
            remedy=(LeaveOut("monotone"), SetOption("neighbours", "add-remove")),
        )


def _selection_guarantee(epsilon: float, neighbours: Neighbours, *, monotone: bool) -> Guarantee:
    monotone_condition = ("every neighbour moves all scores the same way",) if monotone else ()
    bound = "the stated sensitivity holds for every pair of neighbouring tables"
    return guarantee_for(epsilon, 0.0, neighbours, bound, *monotone_condition)

"""Private selection: report noisy max and the exponential mechanism over a finite public set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from discreet.errors import DataError, SpecError
from discreet.mechanisms.sampler import below, bernoulli_exp
from discreet.primitives.arguments import (
    checked_flag,
    checked_promise,
    data_fractions,
    either_spelling,
    one_line,
    promised,
    public_fraction,
    public_length,
    spent,
)
from discreet.primitives.grid_noise import checked_step, laplace_noise, on_grid, scale_in_steps
from discreet.privacy.budget import Neighbours
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked

Candidate = TypeVar("Candidate")


@dataclass(frozen=True, slots=True, repr=False)
class NoisyMax:
    """The place of the largest noisy score, and nothing else of the scores.

    Attributes
    ----------
    index, value : int
        From 0; both are the same.
    scale : float
        Scale of the Laplace noise that every score got.
    guarantee : Guarantee
    """

    index: int
    scale: float
    guarantee: Guarantee

    @property
    def value(self) -> int:
        """The place of the winner, from 0."""
        return self.index

    def __repr__(self) -> str:
        return one_line("NoisyMax", (self.index,), f"Laplace noise of scale {self.scale:.6g}", self.guarantee)


@dataclass(frozen=True, slots=True, repr=False)
class Choice(Generic[Candidate]):
    """A candidate drawn by the exponential mechanism.

    Attributes
    ----------
    candidate, value : object
        Both are the same.
    index : int
        Its place among the candidates, from 0.
    guarantee : Guarantee
    """

    candidate: Candidate
    index: int
    guarantee: Guarantee

    @property
    def value(self) -> Candidate:
        """The candidate."""
        return self.candidate

    def __repr__(self) -> str:
        return one_line("Choice", (self.candidate,), f"at {self.index}", self.guarantee)


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
    """Report which score is largest after Laplace noise; however many scores, the promise is the same.

    The scale is 2 sensitivity / epsilon, or sensitivity / epsilon where all scores can only move the same way. Counts
    do so under add-remove; under replace one count falls while another rises, and the smaller noise would spend up to
    twice the epsilon. The noisy score of the winner is not released: it needs a budget of its own.

    Parameters
    ----------
    scores : sequence of numbers
        How many there are is public.
    sensitivity : float
        The most that one neighbour changes any one score.
    epsilon : float
        From 1e-9 to 1e6.
    monotone : bool
        Whether a neighbour moves all scores in one direction.
    neighbours : {"add-remove", "replace"}
        The relation for which `sensitivity` and `monotone` hold.
    neighbors : {"add-remove", "replace"}, optional
        The same in American spelling, instead of `neighbours`.
    step : float, optional
        The grid of scores and noise; by default a power of two about 2^-30 of the sensitivity.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Asked before noise is drawn, such as `Ledger.account` of a data set with a request id; nobody counts without it.

    Returns
    -------
    NoisyMax

    Examples
    --------
    >>> report_noisy_max([12, 3000, 40], sensitivity=1, epsilon=1.0, monotone=True).index
    1
    """
    relation, promise = checked_promise(either_spelling(neighbours, neighbors), epsilon, 0.0, allow_weak_privacy)
    _refuse_one_way(relation, monotone=monotone)
    moves = public_fraction("sensitivity", sensitivity)
    grid = checked_step(step, moves)
    moved = Fraction(math.ceil(moves / grid))  # [P:score-steps]
    factor = 1 if monotone else 2
    scale = scale_in_steps(factor * moved * grid / Fraction(promise), grid)  # [P:selection-noise]
    how_many = public_length("scores", scores)
    exact = data_fractions("scores", scores)
    with spent(spend, "report_noisy_max", Loss.pure(promise), relation, scale=scale, step=grid, scores=how_many):
        noise = laplace_noise(scale, how_many)
    noisy = [on_grid(score, grid) + z for score, z in zip(exact, noise, strict=True)]
    index = max(range(len(noisy)), key=noisy.__getitem__)  # [P:noisy-max]
    return NoisyMax(index, float(Fraction(scale) * grid), _selected(promise, relation, monotone=monotone))


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
    """Choose a candidate with probability proportional to exp(epsilon utility / (2 sensitivity)), exactly.

    McSherry & Talwar 2007. Where all utilities can only move the same way the 2 is dropped.

    Parameters
    ----------
    candidates : sequence
        Public, at least one.
    utilities : sequence of numbers, or function
        One for each candidate, taken exactly as given; or a utility function, called with the data and a candidate,
        u(data, candidate), or with a candidate alone where no data is given.
    sensitivity : float
        The most that one neighbour changes the utility of any candidate.
    epsilon : float
        From 1e-9 to 1e6.
    data : object, optional
        What a utility function is called with; it is given to nothing else.
    monotone : bool
        Whether a neighbour moves all utilities in one direction.
    neighbours : {"add-remove", "replace"}
        The relation for which `sensitivity` and `monotone` hold.
    neighbors : {"add-remove", "replace"}, optional
        The same in American spelling, instead of `neighbours`.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Asked before noise is drawn, such as `Ledger.account` of a data set with a request id; nobody counts without it.

    Returns
    -------
    Choice

    Notes
    -----
    Candidates are proposed uniformly and accepted with probability exp(-x), x an exact fraction; the expected number
    of proposals is at most the number of candidates.

    Examples
    --------
    >>> exponential_mechanism(["red", "blue"], [2, 900], sensitivity=1, epsilon=1.0).value
    'blue'

    The middle of a list, by a utility that one person changes by at most 1:

    >>> def balance(ages, age):
    ...     return -abs(sum(one < age for one in ages) - sum(one > age for one in ages))
    >>> 35 < exponential_mechanism(range(100), balance, 1, 1.0, data=[38, 39, 40, 41, 42] * 200).value < 45
    True
    """
    relation, promise = checked_promise(either_spelling(neighbours, neighbors), epsilon, 0.0, allow_weak_privacy)
    _refuse_one_way(relation, monotone=monotone)
    moves = public_fraction("sensitivity", sensitivity)
    how_many = public_length("candidates", candidates)
    if callable(utilities):
        exact = data_fractions("utilities", _worth(utilities, candidates, data))
    elif data is not None:
        raise SpecError("got data with utilities that are no function; give a function u(data, candidate), or no data")
    elif public_length("utilities", utilities) != how_many:
        raise SpecError(f"expected {how_many} utilities, one for each candidate, got {len(utilities)}")
    else:
        exact = data_fractions("utilities", utilities)
    rate = Fraction(promise) / ((1 if monotone else 2) * moves)  # [P:exponential-rate]
    best = max(exact)
    with spent(spend, "exponential_mechanism", Loss.pure(promise), relation, rate=rate, candidates=how_many):
        index = below(how_many)
        while not bernoulli_exp((best - exact[index]) * rate):  # [P:exponential-choice]
            index = below(how_many)
    return Choice(candidates[index], index, _selected(promise, relation, monotone=monotone))


def _worth(utility: Callable[..., Any], candidates: Sequence[Candidate], data: object) -> list[Any]:
    """What a utility function says of each candidate."""
    before = () if data is None else (data,)
    try:
        return [utility(*before, candidate) for candidate in candidates]
    except KeyboardInterrupt:
        raise
    except BaseException:  # a function of somebody's own may raise anything, and say what it saw
        problem = DataError(
            "the utility function raised an error, which may speak of the data and is not repeated; call it by itself "
            "with made-up data and one candidate"
        )
    raise problem


def _refuse_one_way(relation: Neighbours, *, monotone: bool) -> None:
    if checked_flag("monotone", monotone) and relation == "replace":
        raise SpecError(
            "got monotone = True with neighbours = 'replace', where one score can fall while another rises; the "
            "smaller noise would spend up to twice the epsilon; leave monotone out, or use neighbours = 'add-remove'"
        )


def _selected(epsilon: float, neighbours: Neighbours, *, monotone: bool) -> Guarantee:
    one_way = ("every neighbour moves all scores the same way",) if monotone else ()
    bound = "the stated sensitivity holds for every pair of neighbouring tables"
    return promised(epsilon, 0.0, neighbours, bound, *one_way)

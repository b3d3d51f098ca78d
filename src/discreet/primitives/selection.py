"""Private selection: report noisy max and the exponential mechanism over a finite public set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from discreet.errors import SpecError
from discreet.mechanisms.sampling.coins import below, bernoulli_exp
from discreet.primitives.arguments import (
    checked_flag,
    checked_promise,
    data_fractions,
    promised,
    public_fraction,
    public_length,
)
from discreet.primitives.lattice import checked_step, laplace_noise, on_grid, scale_in_steps
from discreet.primitives.spending import spent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.loss import Loss
from discreet.privacy.spend import SpendHook, untracked
from discreet.privacy.unit import Neighbours

Candidate = TypeVar("Candidate")


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """The place of the largest noisy score, and nothing else of the scores.

    Attributes
    ----------
    index : int
        From 0.
    scale : float
        Scale of the Laplace noise that every score got.
    guarantee : Guarantee
    """

    index: int
    scale: float
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class Choice(Generic[Candidate]):
    """A candidate drawn by the exponential mechanism.

    Attributes
    ----------
    candidate : object
    index : int
        Its place among the candidates, from 0.
    guarantee : Guarantee
    """

    candidate: Candidate
    index: int
    guarantee: Guarantee


def report_noisy_max(
    scores: Sequence[Any] | npt.NDArray[Any],
    sensitivity: float,
    epsilon: float,
    *,
    monotone: bool = False,
    neighbours: str = "add-remove",
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
    relation, promise = checked_promise(neighbours, epsilon, 0.0, allow_weak_privacy)
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
    utilities: Sequence[Any] | npt.NDArray[Any],
    sensitivity: float,
    epsilon: float,
    *,
    monotone: bool = False,
    neighbours: str = "add-remove",
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> Choice[Candidate]:
    """Choose a candidate with probability proportional to exp(epsilon utility / (2 sensitivity)), exactly.

    McSherry & Talwar 2007. Where all utilities can only move the same way the 2 is dropped.

    Parameters
    ----------
    candidates : sequence
        Public, at least one.
    utilities : sequence of numbers
        One for each candidate, taken exactly as given.
    sensitivity : float
        The most that one neighbour changes the utility of any candidate.
    epsilon : float
        From 1e-9 to 1e6.
    monotone : bool
        Whether a neighbour moves all utilities in one direction.
    neighbours : {"add-remove", "replace"}
        The relation for which `sensitivity` and `monotone` hold.
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
    >>> exponential_mechanism(["red", "blue"], [2, 900], sensitivity=1, epsilon=1.0).candidate
    'blue'
    """
    relation, promise = checked_promise(neighbours, epsilon, 0.0, allow_weak_privacy)
    _refuse_one_way(relation, monotone=monotone)
    moves = public_fraction("sensitivity", sensitivity)
    how_many = public_length("candidates", candidates)
    if public_length("utilities", utilities) != how_many:
        raise SpecError(f"expected {how_many} utilities, one for each candidate, got {len(utilities)}")
    exact = data_fractions("utilities", utilities)
    rate = Fraction(promise) / ((1 if monotone else 2) * moves)  # [P:exponential-rate]
    best = max(exact)
    with spent(spend, "exponential_mechanism", Loss.pure(promise), relation, rate=rate, candidates=how_many):
        index = below(how_many)
        while not bernoulli_exp((best - exact[index]) * rate):  # [P:exponential-choice]
            index = below(how_many)
    return Choice(candidates[index], index, _selected(promise, relation, monotone=monotone))


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

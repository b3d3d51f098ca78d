"""Many counting queries at once: how much noise, and how large the largest error is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy.typing as npt

from discreet.errors import DataError, SpecError
from discreet.exact.rounding import root_up
from discreet.primitives.arguments import (
    Values,
    checked_level,
    checked_promise,
    data_integers,
    either_spelling,
    lattice_loss,
    one_line,
    one_or_many,
    only_value,
    promised,
    public_count,
    public_length,
    spent,
)
from discreet.primitives.gaussian_noise import lattice_sigma
from discreet.primitives.grid_noise import (
    gaussian_bound,
    gaussian_expected_largest,
    gaussian_noise,
    laplace_bound,
    laplace_expected_largest,
    laplace_mean_size,
    laplace_noise,
    scale_in_steps,
)
from discreet.privacy.checks import probability_below_one
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked

# Gaussian noise lives on a grid of 2^-20 of one count; the noisy counts are rounded to integers at the end
_FINE_BITS: Final = 20


@dataclass(frozen=True, slots=True, repr=False)
class NoisyCounts:
    """Noisy counts and how wrong they are.

    Attributes
    ----------
    values : tuple of int
        May be negative; nothing is moved afterwards.
    value : int
        The noisy count, where there is one.
    noise : {"laplace", "gaussian"}
    scale : float
        b of the Laplace law, sigma of the Gaussian one.
    moved_counts : int
        In how many counts two neighbours differ at most, each by 1.
    mean_error : float
        Expected absolute error of one count.
    largest_error : float
        Expected largest absolute error over all counts.
    simultaneous_bound : int
        All counts are at most this far off, with probability of at least `level`.
    level : float
    guarantee : Guarantee
    """

    values: tuple[int, ...]
    noise: Literal["laplace", "gaussian"]
    scale: float
    moved_counts: int
    mean_error: float
    largest_error: float
    simultaneous_bound: int
    level: float
    guarantee: Guarantee

    @property
    def value(self) -> int:
        """The noisy count, where there is one."""
        return only_value(self.values)

    def __repr__(self) -> str:
        law = f"{self.noise.capitalize()} noise of scale {self.scale:.6g}"
        return one_line("NoisyCounts", self.values, law, self.guarantee)


def counting_queries(
    counts: Values,
    epsilon: float,
    *,
    delta: float = 0.0,
    max_memberships: int | None = None,
    sensitivity: int | None = None,
    neighbours: str = "add-remove",
    neighbors: str | None = None,
    level: float = 0.95,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> NoisyCounts:
    """Release many counts together under one promise.

    A person who is added or removed changes at most `max_memberships` of the K counts by 1 each; an exchanged person
    changes at most twice as many, and never more than K. With delta = 0 the noise is discrete Laplace of scale
    moved / epsilon, with delta above 0 Gaussian with a standard deviation that grows with sqrt(moved).

    Parameters
    ----------
    counts : int or sequence of int
        The exact counts, none below 0; their number K is public.
    epsilon : float
        From 1e-9 to 1e6.
    delta : float
        0 for Laplace noise, above 0 for Gaussian noise.
    max_memberships : int, optional
        How many counts one person can be in, by public structure; all K by default. Where half of the counts are
        of cases and half of controls, K / 2.
    sensitivity : int, optional
        Instead of max_memberships: in how many counts two neighbours differ at most, by 1 in each.
    neighbours : {"add-remove", "replace"}
        What is hidden.
    neighbors : {"add-remove", "replace"}, optional
        The same in American spelling, instead of `neighbours`.
    level : float
        Of the bound that holds for all counts at once.
    allow_weak_privacy : bool
        Accept epsilon above 20 or delta above 1e-3.
    spend : SpendHook
        Asked before noise is drawn, such as `Ledger.account` of a data set with a request id; nobody counts without it.

    Returns
    -------
    NoisyCounts

    Examples
    --------
    >>> noisy = counting_queries([812, 77, 430], epsilon=1.0, max_memberships=1)
    >>> noisy.scale, noisy.simultaneous_bound
    (1.0, 4)
    >>> counting_queries([812, 77, 430], epsilon=1.0, max_memberships=1, neighbours="replace").scale
    2.0
    """
    delta = probability_below_one("delta", delta, advice="choose 0 or a delta such as 1e-6")
    relation, promise = checked_promise(either_spelling(neighbours, neighbors), epsilon, delta, allow_weak_privacy)
    level = checked_level(level)
    given = one_or_many(counts)
    how_many = public_length("counts", given)
    if sensitivity is None:
        allowed = how_many if max_memberships is None else public_count("max_memberships", max_memberships, how_many)
        moved = min(how_many, allowed * (1 if relation == "add-remove" else 2))  # [P:counts-moved]
        condition = f"a person is in at most {allowed} of the {how_many} counts, once in each"
    elif max_memberships is None:
        moved = public_count("sensitivity", sensitivity, how_many)  # [P:counts-stated]
        condition = f"neighbouring tables differ in at most {moved} of the {how_many} counts, by 1 in each"
    else:
        raise SpecError("got both max_memberships and sensitivity, two ways to say how many counts move; give one")
    guarantee = promised(promise, delta, relation, condition)
    if delta == 0:
        scale = scale_in_steps(moved / Fraction(promise))  # [P:count-laplace]
        exact = _checked_counts(given)
        with spent(spend, "counting_queries", Loss.pure(promise), relation, scale=scale, counts=how_many):
            noise = laplace_noise(scale, how_many)
        return NoisyCounts(
            tuple(count + z for count, z in zip(exact, noise, strict=True)),
            "laplace",
            scale,
            moved,
            laplace_mean_size(scale),
            laplace_expected_largest(scale, how_many),
            laplace_bound(scale, how_many, level),
            level,
            guarantee,
        )
    fine = 1 << _FINE_BITS
    # [P:count-gaussian]
    moves = Fraction(root_up(Fraction(moved * fine**2)))
    steps = lattice_sigma(moves, how_many, promise, delta).steps
    exact = _checked_counts(given)
    loss = lattice_loss(moves, how_many, steps, promise, delta)
    with spent(spend, "counting_queries", loss, relation, sigma=steps, counts=how_many):
        noise = gaussian_noise(steps, how_many)
    sigma = steps / fine
    return NoisyCounts(
        tuple(round(Fraction(count * fine + z, fine)) for count, z in zip(exact, noise, strict=True)),
        "gaussian",
        sigma,
        moved,
        sigma * math.sqrt(2 / math.pi),
        gaussian_expected_largest(sigma, how_many),
        math.ceil(gaussian_bound(sigma, how_many, level) + 0.5),
        level,
        guarantee,
    )


def _checked_counts(counts: Sequence[Any] | npt.NDArray[Any]) -> list[int]:
    exact = data_integers("counts", counts)
    if min(exact) < 0:
        raise DataError("counts holds a negative number; for such integers use discrete_laplace")
    return exact

"""Release many counting queries together, and bound their largest error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy.typing as npt

from discreet.errors import DataError, OptionError
from discreet.exact.rounding import root_up
from discreet.primitives.arguments import (
    Values,
    as_sequence,
    checked_level,
    checked_privacy,
    data_integers,
    guarantee_for,
    only_value,
    public_count,
    public_length,
    resolve_spelling,
    result_repr,
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
from discreet.primitives.spending import lattice_loss, spent
from discreet.privacy.checks import probability_below_one
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked
from discreet.wording import Call, LeaveOut

# Gaussian noise is drawn in steps of 2^-20, and noisy counts are rounded to integers at the end
_FINE_BITS: Final = 20


@dataclass(frozen=True, slots=True, repr=False)
class NoisyCounts:
    """Noisy counts, with bounds on their errors.

    Attributes
    ----------
    values : tuple of int
        Noisy counts, which may be negative.
    value : int
        The noisy count, if there is only one.
    noise : {"laplace", "gaussian"}
        Noise distribution.
    scale : float
        Scale b of Laplace noise, or standard deviation of Gaussian noise.
    moved_counts : int
        Largest number of counts that differ between neighbouring tables. Each of them differs by 1.
    mean_error : float
        Expected absolute error of a single count.
    largest_error : float
        Expected largest absolute error over all counts.
    simultaneous_bound : int
        Bound on the absolute errors of all counts. It holds with probability at least `level`.
    level : float
        Probability of `simultaneous_bound`.
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
        """Noisy count, if there is only one."""
        return only_value(self.values)

    def __repr__(self) -> str:
        noise = f"{self.noise.capitalize()} noise of scale {self.scale:.6g}"
        return result_repr("NoisyCounts", self.values, noise, self.guarantee)


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
    """Release many counts together under one guarantee.

    Adding or removing a person changes at most `max_memberships` of the K counts, each by 1. Replacing a person changes
    at most twice as many, but never more than K. Let m be this number of changed counts. With delta = 0, the noise is
    discrete Laplace of scale m / epsilon. With delta above 0, it is Gaussian, and its standard deviation grows with
    sqrt(m).

    Parameters
    ----------
    counts : int or sequence of int
        Exact nonnegative counts. Their number K is public.
    epsilon : float
        From 1e-9 to 1e6.
    delta : float
        0 for Laplace noise, above 0 for Gaussian noise.
    max_memberships : int, optional
        Largest number of counts that include the same person, known from public structure. The default is K. An example
        is K / 2, if half of the counts are of cases and half of controls.
    sensitivity : int, optional
        Alternative to `max_memberships`: the largest number of counts that differ, each by 1, between neighbouring
        tables.
    neighbours : {"add-remove", "replace"}
        Relation between tables that the guarantee protects.
    neighbors : {"add-remove", "replace"}, optional
        American spelling of `neighbours`.
    level : float
        Probability of the simultaneous error bound.
    allow_weak_privacy : bool
        Accept epsilon above 20 or delta above 1e-3.
    spend : SpendHook
        Called before noise is drawn, such as `Ledger.account` for a data set. If omitted, the spend is not recorded.

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
    relation, epsilon = checked_privacy(resolve_spelling(neighbours, neighbors), epsilon, delta, allow_weak_privacy)
    level = checked_level(level)
    entries = as_sequence(counts)
    size = public_length("counts", entries)
    if sensitivity is None:
        memberships = size if max_memberships is None else public_count("max_memberships", max_memberships, size)
        moved = min(size, memberships * (1 if relation == "add-remove" else 2))  # [P:counts-moved]
        condition = f"a person is in at most {memberships} of the {size} counts, once in each"
    elif max_memberships is None:
        moved = public_count("sensitivity", sensitivity, size)  # [P:counts-stated]
        condition = f"neighbouring tables differ in at most {moved} of the {size} counts, by 1 in each"
    else:
        raise OptionError(
            "expected max_memberships or sensitivity, got both",
            code="conflicting-options",
            option="sensitivity",
            given=sensitivity,
            remedy=(LeaveOut("sensitivity"), LeaveOut("max_memberships")),
        )
    guarantee = guarantee_for(epsilon, delta, relation, condition)
    if delta == 0:
        scale = scale_in_steps(moved / Fraction(epsilon))  # [P:count-laplace]
        exact = _checked_counts(entries)
        with spent(spend, "counting_queries", Loss.pure(epsilon), relation, scale=scale, counts=size):
            noise = laplace_noise(scale, size)
        return NoisyCounts(
            tuple(count + z for count, z in zip(exact, noise, strict=True)),
            "laplace",
            scale,
            moved,
            laplace_mean_size(scale),
            laplace_expected_largest(scale, size),
            laplace_bound(scale, size, level),
            level,
            guarantee,
        )
    fine = 1 << _FINE_BITS
    # [P:count-gaussian]
    change = Fraction(root_up(Fraction(moved * fine**2)))
    steps = lattice_sigma(change, size, epsilon, delta).steps
    exact = _checked_counts(entries)
    loss = lattice_loss(change, size, steps, epsilon, delta)
    with spent(spend, "counting_queries", loss, relation, sigma=steps, counts=size):
        noise = gaussian_noise(steps, size)
    sigma = steps / fine
    return NoisyCounts(
        tuple(round(Fraction(count * fine + z, fine)) for count, z in zip(exact, noise, strict=True)),
        "gaussian",
        sigma,
        moved,
        sigma * math.sqrt(2 / math.pi),
        gaussian_expected_largest(sigma, size),
        math.ceil(gaussian_bound(sigma, size, level) + 0.5),
        level,
        guarantee,
    )


def _checked_counts(counts: Sequence[Any] | npt.NDArray[Any]) -> list[int]:
    exact = data_integers("counts", counts)
    if min(exact) < 0:
        raise DataError(
            "counts must not contain negative numbers, but does",
            option="counts",
            remedy=Call("primitives.discrete_laplace", "release negative integers"),
        )
    return exact

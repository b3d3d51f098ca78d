"""Implement the Laplace mechanism for vectors, with one scale a coordinate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy.typing as npt

from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.primitives.arguments import (
    Values,
    checked_epsilon,
    checked_level,
    checked_neighbours,
    checked_promise,
    checked_strength,
    data_fractions,
    data_integers,
    either_spelling,
    is_list,
    one_line,
    one_or_many,
    only_value,
    promised,
    public_count,
    public_fraction,
    public_length,
    short_number,
    spent,
)
from discreet.primitives.grid_noise import (
    checked_step,
    laplace_bound,
    laplace_noise,
    laplace_noises,
    nearest_double,
    on_grid,
    scale_in_steps,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked

# -- laplace loss ------------------------------------------------------------------------------------------------------
# The loss of Laplace noise: one weighted sum over all coordinates, and the scales that keep it to epsilon.

Changes = float | Sequence[float] | Sequence[Sequence[float]] | npt.NDArray[Any]
PerCoordinate = float | Sequence[float] | npt.NDArray[Any]


def laplace_epsilon(changes: Changes, scales: PerCoordinate) -> float:
    """The loss of Laplace noise with these scales: max over changes of the sum of change / b, rounded up.

    Examples
    --------
    >>> laplace_epsilon([10, 1], [20, 2]), laplace_epsilon([[10, 0], [0, 1]], [20, 2])
    (1.0, 0.5)
    """
    vectors = change_vectors(changes)
    return double_up(loss_of(vectors, per_coordinate("scales", scales, len(vectors[0]))))


def laplace_scales(changes: Changes, epsilon: float, weights: PerCoordinate | None = None) -> tuple[float, ...]:
    """Scales proportional to the weights whose loss is epsilon, rounded up.

    Examples
    --------
    >>> laplace_scales([10, 1], 1.0), laplace_scales([10, 1], 1.0, weights=[30, 1])
    ((20.0, 2.0), (40.0, 1.3333333333333335))
    """
    vectors = change_vectors(changes)
    width = len(vectors[0])
    sensitivity = [max(vector[k] for vector in vectors) for k in range(width)]
    proportions = sensitivity if weights is None else per_coordinate("weights", weights, width)
    return tuple(double_up(b) for b in scales_for(vectors, checked_epsilon(epsilon), proportions))


def change_vectors(changes: Changes) -> list[list[Fraction]]:
    """One or several vectors of absolute changes, checked.

    >>> change_vectors(2)
    [[Fraction(2, 1)]]
    """
    given: Any = changes
    if not is_list(given):
        given = [[given]]
    elif not any(is_list(entry) for entry in given):
        given = [given]
    elif not all(is_list(entry) for entry in given):
        raise SpecError("changes mixes numbers and vectors; give a number, a vector, or vectors of equal length")
    vectors = [[public_fraction("change", change, zero=True) for change in vector] for vector in given]
    if not vectors or not vectors[0] or len({len(vector) for vector in vectors}) > 1:
        raise SpecError("changes must be a number, a vector, or vectors of equal length, one entry per coordinate")
    if not all(any(vector[k] for vector in vectors) for k in range(len(vectors[0]))):
        raise SpecError("a coordinate has change 0 in every vector; nobody changes it, so publish it without noise")
    return vectors


def per_coordinate(name: str, given: PerCoordinate, width: int) -> list[Fraction]:
    """One public number above 0 for each coordinate; a single one is for all.

    >>> per_coordinate("scales", 2, 3)
    [Fraction(2, 1), Fraction(2, 1), Fraction(2, 1)]
    """
    if not is_list(given):
        return [public_fraction(name, given)] * width
    numbers = [public_fraction(name, number) for number in cast("Sequence[float]", given)]
    if len(numbers) != width:
        raise SpecError(f"{name} has {len(numbers)} entries for {width} coordinates; give one for each, or one for all")
    return numbers


def loss_of(vectors: list[list[Fraction]], scales: list[Fraction]) -> Fraction:
    """Max over vectors of the sum of change / scale.

    >>> loss_of([[Fraction(1), Fraction(2)]], [Fraction(1), Fraction(4)])
    Fraction(3, 2)
    """
    return max(sum((c / b for c, b in zip(vector, scales, strict=True)), Fraction(0)) for vector in vectors)


def scales_for(vectors: list[list[Fraction]], epsilon: float, weights: list[Fraction]) -> list[Fraction]:
    """Scales proportional to the weights with a loss of exactly epsilon.

    >>> scales_for([[Fraction(1)]], 0.5, [Fraction(7)])
    [Fraction(2, 1)]
    """
    factor = loss_of(vectors, weights) / Fraction(epsilon)
    return [weight * factor for weight in weights]


def double_up(number: Fraction) -> float:
    """The smallest double that is not below a loss or a scale; one beyond the doubles is refused.

    >>> double_up(Fraction(1, 4))
    0.25
    """
    double = up(number)
    if math.isinf(double):
        raise SpecError("the loss or a scale is larger than a double holds; choose other scales or changes")
    return double


# -- laplace noise -----------------------------------------------------------------------------------------------------
# The Laplace mechanism: one weighted sum over all coordinates, noise on a public grid.


@dataclass(frozen=True, slots=True, repr=False)
class NoisyValues:
    """Values with Laplace noise, the noise they have, and the promise.

    Attributes
    ----------
    values : tuple of float
        The noisy values, multiples of `steps`.
    value : float
        The noisy value, where there is one.
    scales : tuple of float
        Scale b of each coordinate: mean absolute error about b, standard deviation about b sqrt(2).
    steps : tuple of float
        The public grid of each coordinate.
    guarantee : Guarantee
    """

    values: tuple[float, ...]
    scales: tuple[float, ...]
    steps: tuple[float, ...]
    guarantee: Guarantee

    @property
    def value(self) -> float:
        """The noisy value, where there is one."""
        return only_value(self.values)

    def __repr__(self) -> str:
        scales = dict.fromkeys(map(short_number, self.scales))
        return one_line("NoisyValues", self.values, f"Laplace noise of scale {', '.join(scales)}", self.guarantee)

    def half_width(self, level: float = 0.95) -> float:
        """How far the noisy value lies from the exact one at most, with probability `level`; where there is one value.

        Examples
        --------
        >>> round(laplace(3.0, sensitivity=1, epsilon=1.0).half_width(), 4)
        2.9957
        """
        return only_value(self.half_widths(level), "half_widths(level)")

    def half_widths(self, level: float = 0.95) -> tuple[float, ...]:
        """How far from each exact value the noisy one lies at most, each with probability `level` of its own.

        Examples
        --------
        >>> round(laplace([3.0], changes=1.0, epsilon=1.0).half_widths(0.95)[0], 4)
        2.9957
        """
        level = checked_level(level)
        return tuple(
            (laplace_bound(b / step, 1, level) + 0.5) * step for b, step in zip(self.scales, self.steps, strict=True)
        )


@dataclass(frozen=True, slots=True, repr=False)
class NoisyIntegers:
    """Integers with discrete Laplace noise of one scale.

    Attributes
    ----------
    values : tuple of int
    value : int
        The noisy integer, where there is one.
    scale : float
        P(noise = z) is proportional to exp(-abs(z) / scale).
    guarantee : Guarantee
    """

    values: tuple[int, ...]
    scale: float
    guarantee: Guarantee

    @property
    def value(self) -> int:
        """The noisy integer, where there is one."""
        return only_value(self.values)

    def __repr__(self) -> str:
        return one_line("NoisyIntegers", self.values, f"Laplace noise of scale {self.scale:.6g}", self.guarantee)

    def half_width(self, level: float = 0.95) -> int:
        """How far from its exact value a noisy one lies at most, each with probability `level` of its own.

        Examples
        --------
        >>> discrete_laplace([7], sensitivity=1, epsilon=1.0).half_width(0.95)
        3
        """
        return laplace_bound(self.scale, 1, checked_level(level))


class _Law(NamedTuple):
    """Scales in steps as they are drawn, the grid of each coordinate, and the loss, rounded up."""

    scales: list[float]
    grid: list[Fraction]
    loss: float


def laplace(
    values: Values,
    changes: Changes | None = None,
    *,
    sensitivity: float | None = None,
    scales: PerCoordinate | None = None,
    epsilon: float | None = None,
    weights: PerCoordinate | None = None,
    step: PerCoordinate | None = None,
    neighbours: str = "add-remove",
    neighbors: str | None = None,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> NoisyValues:
    """Release numbers with Laplace noise; the loss is one weighted sum, not one epsilon for each coordinate.

    epsilon = max over possible changes of the sum over coordinates of change / b. Values are rounded to a public
    grid, changes are rounded up to it, and the noise is the exact discrete Laplace law on that grid.

    Parameters
    ----------
    values : number or sequence of numbers
        The exact values; how many there are is public.
    changes : number, vector or list of vectors, optional
        The most that one neighbour changes each coordinate; several vectors where neighbours change one thing or
        another, but not all at once. They bound the change of the very numbers given.
    sensitivity : float, optional
        Instead of changes, as in textbooks: the most that one neighbour changes all values together, as a sum of
        absolute changes. Every value gets noise of scale sensitivity / epsilon; rounding K values to the grid adds up
        to K - 1 steps to the sensitivity, 1e-9 of it each by default.
    scales : number or vector, optional
        The scales b; the promise follows from them.
    epsilon : float, optional
        Instead of scales: the promise; the scales follow.
    weights : number or vector, optional
        With epsilon: scales are proportional to the weights; by default to the largest change of each coordinate.
    step : number or vector, optional
        The grid; by default a power of two about 2^-30 of the largest change.
    neighbours : {"add-remove", "replace"}
        The relation for which `changes` was derived.
    neighbors : {"add-remove", "replace"}, optional
        The same in American spelling, instead of `neighbours`.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Asked before noise is drawn, such as `Ledger.account` of a data set with a request id; nobody counts without it.

    Returns
    -------
    NoisyValues

    Examples
    --------
    A sum of numbers in [0, 10], and with it a count:

    >>> laplace(4213, sensitivity=10, epsilon=0.5).scales
    (20.0,)
    >>> both = laplace([4213.0, 977.0], changes=[10, 1], epsilon=1.0)
    >>> both.scales
    (20.0, 2.0)
    >>> laplace([4213.0, 977.0], changes=[[10, 0], [0, 1]], epsilon=1.0).scales
    (10.0, 1.0)
    >>> laplace([4213.0], changes=10, scales=40).guarantee.epsilon
    0.25
    """
    relation = checked_neighbours(either_spelling(neighbours, neighbors))
    if (scales is None) == (epsilon is None):
        raise SpecError("give exactly one of scales and epsilon; with epsilon the scales are computed")
    if scales is not None and weights is not None:
        raise SpecError(
            "got both weights and scales; weights set the scales from epsilon, so use them with epsilon only"
        )
    if (changes is None) == (sensitivity is None):
        raise SpecError(
            "give exactly one of changes and sensitivity; changes bound each value, sensitivity bounds all of them "
            "together"
        )
    given = one_or_many(values)
    if changes is None:
        law = _by_sensitivity(sensitivity, scales, epsilon, weights, step, public_length("values", given))
    else:
        law = _by_changes(changes, scales, epsilon, weights, step)
    promise = checked_epsilon(law.loss if epsilon is None else epsilon)
    checked_strength(promise, 0.0, allow_weak_privacy)
    width = len(law.grid)
    if public_length("values", given) != width:
        raise SpecError(f"values has {len(given)} entries, changes has {width} coordinates; give one change for each")
    exact = data_fractions("values", given)
    with spent(spend, "laplace", Loss.pure(promise), relation, scales=law.scales, steps=law.grid):
        noise = laplace_noises(law.scales)
    # [P:laplace-values]
    noisy = tuple(nearest_double((on_grid(x, g) + z) * g) for x, g, z in zip(exact, law.grid, noise, strict=True))
    stated = "sensitivity holds" if changes is None else "changes hold"
    return NoisyValues(
        noisy,
        tuple(float(Fraction(b) * g) for b, g in zip(law.scales, law.grid, strict=True)),
        tuple(float(g) for g in law.grid),
        promised(promise, 0.0, relation, f"the stated {stated} for every pair of neighbouring tables"),
    )


def _by_changes(
    changes: Changes,
    scales: PerCoordinate | None,
    epsilon: float | None,
    weights: PerCoordinate | None,
    step: PerCoordinate | None,
) -> _Law:
    vectors = change_vectors(changes)
    width = len(vectors[0])
    sensitivity = [max(vector[k] for vector in vectors) for k in range(width)]
    given = [None] * width if step is None else per_coordinate("step", step, width)
    grid = [checked_step(one, change) for one, change in zip(given, sensitivity, strict=True)]
    # a rounded value moves by at most the change rounded up to whole steps
    # [P:steps-moved]
    steps = [[Fraction(math.ceil(c / g)) for c, g in zip(vector, grid, strict=True)] for vector in vectors]
    if epsilon is None:
        wanted = per_coordinate("scales", cast("PerCoordinate", scales), width)
    else:
        proportions = sensitivity if weights is None else per_coordinate("weights", weights, width)
        in_grid = [[c * g for c, g in zip(vector, grid, strict=True)] for vector in steps]
        wanted = scales_for(in_grid, checked_epsilon(epsilon), proportions)
    drawn = [scale_in_steps(b, g) for b, g in zip(wanted, grid, strict=True)]
    return _Law(drawn, grid, double_up(loss_of(steps, [Fraction(b) for b in drawn])))  # [P:laplace-loss]


def _by_sensitivity(
    sensitivity: float | None,
    scales: PerCoordinate | None,
    epsilon: float | None,
    weights: PerCoordinate | None,
    step: PerCoordinate | None,
    width: int,
) -> _Law:
    """The law for one bound on the sum of all changes: one scale and one grid for all values."""
    if weights is not None:
        raise SpecError("got weights with sensitivity, which gives all values one scale; use weights with changes")
    total = public_fraction("sensitivity", sensitivity)
    grid = checked_step(step, total)
    # each rounded value moves by less than one step more than its change
    moved = Fraction(math.ceil(total / grid) + width - 1)  # [P:l1-steps-moved]
    in_units = moved * grid
    wanted = public_fraction("scales", scales) if epsilon is None else in_units / Fraction(checked_epsilon(epsilon))
    drawn = scale_in_steps(wanted, grid)
    return _Law([drawn] * width, [grid] * width, double_up(moved / Fraction(drawn)))  # [P:l1-loss]


def discrete_laplace(
    counts: Values,
    sensitivity: int,
    epsilon: float,
    *,
    neighbours: str = "add-remove",
    neighbors: str | None = None,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> NoisyIntegers:
    """Release integers with discrete Laplace noise of scale sensitivity / epsilon.

    Parameters
    ----------
    counts : int or sequence of int
        The exact numbers; how many there are is public.
    sensitivity : int
        The most that one neighbour changes all of them together: the sum of absolute changes.
    epsilon : float
        From 1e-9 to 1e6.
    neighbours : {"add-remove", "replace"}
        The relation for which `sensitivity` was derived.
    neighbors : {"add-remove", "replace"}, optional
        The same in American spelling, instead of `neighbours`.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Asked before noise is drawn, such as `Ledger.account` of a data set with a request id; nobody counts without it.

    Returns
    -------
    NoisyIntegers

    Examples
    --------
    >>> type(discrete_laplace(120, sensitivity=1, epsilon=0.5).value)
    <class 'int'>
    >>> noisy = discrete_laplace([120, 80, 12], sensitivity=1, epsilon=0.5)
    >>> len(noisy.values), noisy.scale
    (3, 2.0)
    """
    relation, promise = checked_promise(either_spelling(neighbours, neighbors), epsilon, 0.0, allow_weak_privacy)
    scale = scale_in_steps(public_count("sensitivity", sensitivity) / Fraction(promise))
    given = one_or_many(counts)
    how_many = public_length("counts", given)
    exact = data_integers("counts", given)
    with spent(spend, "discrete_laplace", Loss.pure(promise), relation, scale=scale, counts=how_many):
        noise = laplace_noise(scale, how_many)
    return NoisyIntegers(
        tuple(count + z for count, z in zip(exact, noise, strict=True)),  # [P:laplace-counts]
        scale,
        promised(promise, 0.0, relation, "the stated sensitivity holds for every pair of neighbouring tables"),
    )

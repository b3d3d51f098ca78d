"""The loss of Laplace noise: one weighted sum over all coordinates, and the scales that keep it to epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

import numpy.typing as npt

from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.primitives.arguments import checked_epsilon, is_list, public_fraction

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

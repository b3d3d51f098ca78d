"""Release vectors with Laplace noise, which may have a different scale for each coordinate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, cast

import numpy.typing as npt

from discreet.errors import OptionError
from discreet.exact.rounding import up
from discreet.primitives.arguments import (
    Values,
    as_sequence,
    checked_epsilon,
    checked_level,
    checked_neighbours,
    checked_privacy,
    checked_strength,
    data_fractions,
    data_integers,
    guarantee_for,
    is_list,
    only_value,
    public_count,
    public_fraction,
    public_length,
    resolve_spelling,
    result_repr,
    short_number,
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
from discreet.primitives.spending import spent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss, SpendHook, untracked
from discreet.wording import LeaveOut

# -- laplace loss ------------------------------------------------------------------------------------------------------
# The privacy loss of Laplace noise is a weighted sum over all coordinates. Scales are computed to make it epsilon.

Changes = float | Sequence[float] | Sequence[Sequence[float]] | npt.NDArray[Any]
PerCoordinate = float | Sequence[float] | npt.NDArray[Any]
_CHANGES: Final = "a number, a vector, or vectors of equal length"


def laplace_epsilon(changes: Changes, scales: PerCoordinate) -> float:
    """Compute the privacy loss of Laplace noise with given scales, rounded up.

    The loss is the sum of change / scale over the coordinates, for the worst vector of changes.

    Parameters
    ----------
    changes : number, vector or list of vectors
        Largest absolute change of each coordinate between neighbouring tables. Several vectors are alternatives, of
        which only one can occur.
    scales : number or vector
        Scale of the noise in each coordinate.

    Returns
    -------
    float
        Epsilon.

    Examples
    --------
    >>> laplace_epsilon([10, 1], [20, 2]), laplace_epsilon([[10, 0], [0, 1]], [20, 2])
    (1.0, 0.5)
    """
    vectors = change_vectors(changes)
    return double_up(loss_of(vectors, per_coordinate("scales", scales, len(vectors[0]))))


def laplace_scales(changes: Changes, epsilon: float, weights: PerCoordinate | None = None) -> tuple[float, ...]:
    """Compute scales that are proportional to the weights and have privacy loss epsilon, rounded up.

    Parameters
    ----------
    changes : number, vector or list of vectors
        Largest absolute change of each coordinate between neighbouring tables. Several vectors are alternatives, of
        which only one can occur.
    epsilon : float
        Privacy loss of the whole vector.
    weights : number or vector, optional
        Weight of each coordinate. The default is its largest change.

    Returns
    -------
    tuple of float

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
    """Check one or more vectors of absolute changes, and convert them to fractions."""
    nested: Any = changes
    if not is_list(nested):
        nested = [[nested]]
    elif not any(is_list(entry) for entry in nested):
        nested = [nested]
    elif not all(is_list(entry) for entry in nested):
        raise OptionError(
            f"changes: expected {_CHANGES}, got a mixture of numbers and vectors", option="changes", allowed=_CHANGES
        )
    vectors = [[public_fraction("change", change, zero=True) for change in vector] for vector in nested]
    if not vectors or not vectors[0] or len({len(vector) for vector in vectors}) > 1:
        raise OptionError(option="changes", allowed=f"{_CHANGES}, with one entry per coordinate")
    if not all(any(vector[k] for vector in vectors) for k in range(len(vectors[0]))):
        raise OptionError(
            "changes must be above 0 for every coordinate in at least one vector, but is 0 for a coordinate in all",
            code="constant-coordinate",
            option="changes",
            remedy="publish that coordinate without noise",
        )
    return vectors


def per_coordinate(name: str, values: PerCoordinate, width: int) -> list[Fraction]:
    """Return a positive public number for each coordinate. A single number applies to all coordinates.

    >>> per_coordinate("scales", 2, 3)
    [Fraction(2, 1), Fraction(2, 1), Fraction(2, 1)]
    """
    if not is_list(values):
        return [public_fraction(name, values)] * width
    numbers = [public_fraction(name, number) for number in cast("Sequence[float]", values)]
    if len(numbers) != width:
        raise OptionError(
            f"{name}: expected one number, or {width} numbers for {width} coordinates, got {len(numbers)}",
            code="wrong-length",
            option=name,
            remedy="pass one number for each coordinate, or one for all",
        )
    return numbers


def loss_of(vectors: list[list[Fraction]], scales: list[Fraction]) -> Fraction:
    """Return the largest sum of change / scale among all vectors of changes.

    >>> loss_of([[Fraction(1), Fraction(2)]], [Fraction(1), Fraction(4)])
    Fraction(3, 2)
    """
    return max(sum((c / b for c, b in zip(vector, scales, strict=True)), Fraction(0)) for vector in vectors)


def scales_for(vectors: list[list[Fraction]], epsilon: float, weights: list[Fraction]) -> list[Fraction]:
    """Return scales that are proportional to the weights and have privacy loss exactly epsilon.

    >>> scales_for([[Fraction(1)]], 0.5, [Fraction(7)])
    [Fraction(2, 1)]
    """
    factor = loss_of(vectors, weights) / Fraction(epsilon)
    return [weight * factor for weight in weights]


def double_up(number: Fraction) -> float:
    """Round a privacy loss or a scale up to a double, or raise an error if it overflows.

    >>> double_up(Fraction(1, 4))
    0.25
    """
    double = up(number)
    if math.isinf(double):
        raise OptionError(
            "the privacy loss and every scale must be in the range of doubles, but one exceeds it",
            code="noise-overflow",
            remedy="choose other scales or changes",
        )
    return double


# -- laplace noise -----------------------------------------------------------------------------------------------------
# The Laplace mechanism on a public grid.


@dataclass(frozen=True, slots=True, repr=False)
class NoisyValues:
    """Values with Laplace noise and their guarantee.

    Attributes
    ----------
    values : tuple of float
        Noisy values. Each is a multiple of its grid step.
    value : float
        The noisy value, if there is only one.
    scales : tuple of float
        Scale b of the noise in each coordinate. The mean absolute error is about b, and the standard deviation about b
        sqrt(2).
    steps : tuple of float
        Step of the public grid for each coordinate.
    guarantee : Guarantee
    """

    values: tuple[float, ...]
    scales: tuple[float, ...]
    steps: tuple[float, ...]
    guarantee: Guarantee

    @property
    def value(self) -> float:
        """Noisy value, if there is only one."""
        return only_value(self.values)

    def __repr__(self) -> str:
        scales = dict.fromkeys(map(short_number, self.scales))
        return result_repr("NoisyValues", self.values, f"Laplace noise of scale {', '.join(scales)}", self.guarantee)

    def half_width(self, level: float = 0.95) -> float:
        """Return the bound that the absolute error of a single value does not exceed with probability `level`.

        Parameters
        ----------
        level : float
            Probability.

        Returns
        -------
        float

        Examples
        --------
        >>> round(laplace(3.0, sensitivity=1, epsilon=1.0).half_width(), 4)
        2.9957
        """
        return only_value(self.half_widths(level), "half_widths(level)")

    def half_widths(self, level: float = 0.95) -> tuple[float, ...]:
        """Return, for each value, the bound that its absolute error does not exceed with probability `level`.

        Parameters
        ----------
        level : float
            Probability for each value separately.

        Returns
        -------
        tuple of float

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
        Noisy integers.
    value : int
        The noisy integer, if there is only one.
    scale : float
        Scale of the noise: P(noise = z) is proportional to exp(-abs(z) / scale).
    guarantee : Guarantee
    """

    values: tuple[int, ...]
    scale: float
    guarantee: Guarantee

    @property
    def value(self) -> int:
        """Noisy integer, if there is only one."""
        return only_value(self.values)

    def __repr__(self) -> str:
        return result_repr("NoisyIntegers", self.values, f"Laplace noise of scale {self.scale:.6g}", self.guarantee)

    def half_width(self, level: float = 0.95) -> int:
        """Return the bound that the absolute error of each value does not exceed with probability `level`.

        Parameters
        ----------
        level : float
            Probability for each value separately.

        Returns
        -------
        int

        Examples
        --------
        >>> discrete_laplace([7], sensitivity=1, epsilon=1.0).half_width(0.95)
        3
        """
        return laplace_bound(self.scale, 1, checked_level(level))


class _Calibrated(NamedTuple):
    """Scale in grid steps and grid step of each coordinate, and the privacy loss, rounded up."""

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
    """Release numbers with Laplace noise.

    The privacy loss epsilon is the sum of change / scale over the coordinates, for the worst possible changes. Values
    are rounded to a public grid, changes are rounded up to the grid, and the noise is exact discrete Laplace noise on
    the grid.

    Parameters
    ----------
    values : number or sequence of numbers
        Exact values. Their number is public.
    changes : number, vector or list of vectors, optional
        Largest absolute change of each coordinate of `values` between neighbouring tables. Give several vectors if
        neighbouring tables can differ in alternative ways, but not in all of them at once.
    sensitivity : float, optional
        Alternative to `changes`, as in textbooks: the L1 sensitivity, which is the largest sum of absolute changes.
        Every value gets noise of scale sensitivity / epsilon. Rounding K values to the grid adds up to K - 1 steps to
        the sensitivity. By default, a step is about 1e-9 of the sensitivity.
    scales : number or vector, optional
        Scale of the noise in each coordinate, from which epsilon is computed.
    epsilon : float, optional
        Alternative to `scales`: the privacy loss, from which the scales are computed.
    weights : number or vector, optional
        Used with `epsilon` and `changes`: the scales are proportional to these weights. The default is the largest
        change of each coordinate.
    step : number or vector, optional
        Step of the grid. The default is a power of two, about 2^-30 of the largest change.
    neighbours : {"add-remove", "replace"}
        Relation for which `changes` or `sensitivity` was derived.
    neighbors : {"add-remove", "replace"}, optional
        American spelling of `neighbours`.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Called before noise is drawn, such as `Ledger.account` for a data set. If omitted, the spend is not recorded.

    Returns
    -------
    NoisyValues

    Examples
    --------
    A sum of numbers in [0, 10], and the same sum together with a count:

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
    relation = checked_neighbours(resolve_spelling(neighbours, neighbors))
    if (scales is None) == (epsilon is None):
        raise OptionError(
            f"expected exactly one of scales and epsilon, got {'neither' if scales is None else 'both'}",
            code="conflicting-options",
            option="scales",
            remedy="pass epsilon to have the scales computed",
        )
    if scales is not None and weights is not None:
        raise OptionError(
            "weights need epsilon, from which the scales are then computed, but scales was given",
            code="conflicting-options",
            option="weights",
            remedy=LeaveOut("weights"),
        )
    if (changes is None) == (sensitivity is None):
        raise OptionError(
            f"expected exactly one of changes and sensitivity, got {'neither' if changes is None else 'both'}",
            code="conflicting-options",
            option="changes",
            remedy="pass changes to bound each value, or sensitivity to bound the sum of all changes",
        )
    entries = as_sequence(values)
    if changes is None:
        calibrated = _by_sensitivity(sensitivity, scales, epsilon, weights, step, public_length("values", entries))
    else:
        calibrated = _by_changes(changes, scales, epsilon, weights, step)
    guaranteed = checked_epsilon(calibrated.loss if epsilon is None else epsilon)
    checked_strength(guaranteed, 0.0, allow_weak_privacy)
    width = len(calibrated.grid)
    if public_length("values", entries) != width:
        raise OptionError(
            f"expected as many values as coordinates of changes, got {len(entries)} values and {width} coordinates",
            code="wrong-length",
            option="changes",
            remedy="pass one change for each value",
        )
    exact = data_fractions("values", entries)
    with spent(spend, "laplace", Loss.pure(guaranteed), relation, scales=calibrated.scales, steps=calibrated.grid):
        noise = laplace_noises(calibrated.scales)
    # [P:laplace-values]
    noisy = tuple(
        nearest_double((on_grid(x, g) + z) * g) for x, g, z in zip(exact, calibrated.grid, noise, strict=True)
    )
    condition = "sensitivity holds" if changes is None else "changes hold"
    return NoisyValues(
        noisy,
        tuple(float(Fraction(b) * g) for b, g in zip(calibrated.scales, calibrated.grid, strict=True)),
        tuple(float(g) for g in calibrated.grid),
        guarantee_for(guaranteed, 0.0, relation, f"the stated {condition} for every pair of neighbouring tables"),
    )


def _by_changes(
    changes: Changes,
    scales: PerCoordinate | None,
    epsilon: float | None,
    weights: PerCoordinate | None,
    step: PerCoordinate | None,
) -> _Calibrated:
    """Calibrate to vectors of changes, with a separate scale and grid for each coordinate."""
    vectors = change_vectors(changes)
    width = len(vectors[0])
    sensitivity = [max(vector[k] for vector in vectors) for k in range(width)]
    grid_steps = [None] * width if step is None else per_coordinate("step", step, width)
    grid = [checked_step(g, change) for g, change in zip(grid_steps, sensitivity, strict=True)]
    # a rounded value moves by at most the change rounded up to whole steps
    # [P:steps-moved]
    steps = [[Fraction(math.ceil(c / g)) for c, g in zip(vector, grid, strict=True)] for vector in vectors]
    if epsilon is None:
        exact_scales = per_coordinate("scales", cast("PerCoordinate", scales), width)
    else:
        proportions = sensitivity if weights is None else per_coordinate("weights", weights, width)
        in_grid = [[c * g for c, g in zip(vector, grid, strict=True)] for vector in steps]
        exact_scales = scales_for(in_grid, checked_epsilon(epsilon), proportions)
    rounded_scales = [scale_in_steps(b, g) for b, g in zip(exact_scales, grid, strict=True)]
    loss = loss_of(steps, [Fraction(b) for b in rounded_scales])  # [P:laplace-loss]
    return _Calibrated(rounded_scales, grid, double_up(loss))


def _by_sensitivity(
    sensitivity: float | None,
    scales: PerCoordinate | None,
    epsilon: float | None,
    weights: PerCoordinate | None,
    step: PerCoordinate | None,
    width: int,
) -> _Calibrated:
    """Calibrate to a bound on the sum of all changes, with the same scale and grid for all values."""
    if weights is not None:
        raise OptionError(
            "'weights' can be used only with 'changes'; with 'sensitivity', all values get noise of the same scale",
            code="conflicting-options",
            option="weights",
            remedy=(LeaveOut("weights"), "use changes instead of sensitivity"),
        )
    total = public_fraction("sensitivity", sensitivity)
    grid = checked_step(step, total)
    # rounding moves each value by less than one step more than its change
    moved = Fraction(math.ceil(total / grid) + width - 1)  # [P:l1-steps-moved]
    if epsilon is None:
        exact_scale = public_fraction("scales", scales)
    else:
        exact_scale = moved * grid / Fraction(checked_epsilon(epsilon))
    scale = scale_in_steps(exact_scale, grid)
    return _Calibrated([scale] * width, [grid] * width, double_up(moved / Fraction(scale)))  # [P:l1-loss]


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
        Exact integers. Their number is public.
    sensitivity : int
        L1 sensitivity, which is the largest sum of absolute changes between neighbouring tables.
    epsilon : float
        From 1e-9 to 1e6.
    neighbours : {"add-remove", "replace"}
        Relation for which `sensitivity` was derived.
    neighbors : {"add-remove", "replace"}, optional
        American spelling of `neighbours`.
    allow_weak_privacy : bool
        Accept epsilon above 20.
    spend : SpendHook
        Called before noise is drawn, such as `Ledger.account` for a data set. If omitted, the spend is not recorded.

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
    relation, epsilon = checked_privacy(resolve_spelling(neighbours, neighbors), epsilon, 0.0, allow_weak_privacy)
    scale = scale_in_steps(public_count("sensitivity", sensitivity) / Fraction(epsilon))
    entries = as_sequence(counts)
    size = public_length("counts", entries)
    exact = data_integers("counts", entries)
    with spent(spend, "discrete_laplace", Loss.pure(epsilon), relation, scale=scale, counts=size):
        noise = laplace_noise(scale, size)
    return NoisyIntegers(
        tuple(count + z for count, z in zip(exact, noise, strict=True)),  # [P:laplace-counts]
        scale,
        guarantee_for(epsilon, 0.0, relation, "the stated sensitivity holds for every pair of neighbouring tables"),
    )

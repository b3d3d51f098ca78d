"""The Gaussian mechanism on a grid: exact (analytic) or textbook (classical) calibration, the lattice paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import SpecError
from discreet.exact.rounding import root_up, up
from discreet.mechanisms.sampler import MAX_SIGMA, rounded_up
from discreet.primitives.arguments import (
    Values,
    checked_level,
    checked_name,
    checked_promise,
    data_fractions,
    either_spelling,
    lattice_loss,
    one_line,
    one_or_many,
    only_value,
    promised,
    public_fraction,
    public_length,
    spent,
)
from discreet.primitives.grid_noise import (
    checked_step,
    gaussian_bound,
    gaussian_noise,
    nearest_double,
    on_grid,
    refuse_beyond_doubles,
)
from discreet.privacy.gaussian_dp import mu_from
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import concentrated_mu, delta_left
from discreet.privacy.spend import SpendHook, untracked
from discreet.privacy.textbook import classical_gaussian_sigma

Calibration = Literal["analytic", "classical", "discrete-zcdp"]


@dataclass(frozen=True, slots=True, repr=False)
class GaussianValues:
    """Values with Gaussian noise on a grid.

    Attributes
    ----------
    values : tuple of float
        The noisy values, multiples of `step`.
    value : float
        The noisy value, where there is one.
    sigma : float
        Standard deviation of the noise of each value.
    step : float
        The public grid.
    calibration : {"analytic", "classical", "discrete-zcdp"}
        The rule that gave sigma; the last one where a grid is too coarse for the first.
    guarantee : Guarantee
    """

    values: tuple[float, ...]
    sigma: float
    step: float
    calibration: Calibration
    guarantee: Guarantee

    @property
    def value(self) -> float:
        """The noisy value, where there is one."""
        return only_value(self.values)

    def __repr__(self) -> str:
        return one_line("GaussianValues", self.values, f"Gaussian noise of sigma {self.sigma:.6g}", self.guarantee)

    def half_width(self, level: float = 0.95) -> float:
        """How far from its exact value a noisy one lies at most, each with probability `level` of its own.

        Examples
        --------
        >>> noisy = gaussian([3.0], sensitivity=1.0, epsilon=1.0, delta=1e-6)
        >>> round(noisy.half_width() / noisy.sigma, 3)
        1.96
        """
        return gaussian_bound(self.sigma, 1, checked_level(level)) + self.step


@dataclass(frozen=True, slots=True)
class LatticeSigma:
    """A standard deviation in whole steps of a grid, and the rule that gave it."""

    steps: int
    calibration: Calibration


def gaussian(
    values: Values,
    sensitivity: float,
    epsilon: float,
    delta: float,
    *,
    calibration: str = "analytic",
    step: float | None = None,
    neighbours: str = "add-remove",
    neighbors: str | None = None,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> GaussianValues:
    """Release numbers with Gaussian noise on a public grid.

    Parameters
    ----------
    values : number or sequence of numbers
        The exact values; how many there are is public.
    sensitivity : float
        The most that one neighbour moves the vector of values in Euclidean length.
    epsilon, delta : float
        The promise; delta above 0.
    calibration : {"analytic", "classical"}
        "analytic" is the least Gaussian noise for the promise (Balle & Wang 2018), for any epsilon. "classical" is
        sensitivity sqrt(2 ln(1.25/delta)) / epsilon (Dwork & Roth 2014), refused from epsilon = 1 on, where
        its proof ends.
    step : float, optional
        The grid; by default a power of two about 2^-30 of the sensitivity.
    neighbours : {"add-remove", "replace"}
        The relation for which `sensitivity` was derived.
    neighbors : {"add-remove", "replace"}, optional
        The same in American spelling, instead of `neighbours`.
    allow_weak_privacy : bool
        Accept epsilon above 20 or delta above 1e-3.
    spend : SpendHook
        Asked before noise is drawn, such as `Ledger.account` of a data set with a request id; nobody counts without it.

    Returns
    -------
    GaussianValues

    Examples
    --------
    >>> round(gaussian(1.5, sensitivity=1.0, epsilon=1.0, delta=1e-6).sigma, 3)
    4.225
    >>> round(gaussian([1.5, 2.5], 1.0, 0.5, 1e-6, calibration="classical").sigma, 3)
    10.598
    """
    relation, promise = checked_promise(either_spelling(neighbours, neighbors), epsilon, delta, allow_weak_privacy)
    if checked_name("calibration", calibration, ("analytic", "classical")) == "classical" and promise >= 1:
        raise SpecError(
            f"epsilon = {promise:g}; the classical calibration is proved below 1 only; use calibration='analytic', "
            "which is exact for every epsilon"
        )
    moves = public_fraction("sensitivity", sensitivity)
    grid = checked_step(step, moves)
    given = one_or_many(values)
    width = public_length("values", given)
    # rounding moves each end of a change by at most half a step a coordinate
    moved = moves / grid + Fraction(root_up(Fraction(width)))  # [P:gaussian-moved]
    noise_law = lattice_sigma(moved, width, promise, delta, classical=calibration == "classical")
    refuse_beyond_doubles(noise_law.steps * grid)
    exact = data_fractions("values", given)
    loss = lattice_loss(moved, width, noise_law.steps, promise, delta)
    with spent(spend, "gaussian", loss, relation, sigma=noise_law.steps, step=grid, values=width):
        noise = gaussian_noise(noise_law.steps, width)
    return GaussianValues(
        # [P:gaussian-values]
        tuple(nearest_double((on_grid(x, grid) + z) * grid) for x, z in zip(exact, noise, strict=True)),
        float(noise_law.steps * grid),
        float(grid),
        noise_law.calibration,
        promised(promise, delta, relation, "the stated sensitivity holds for every pair of neighbouring tables"),
    )


def lattice_sigma(
    sensitivity: Fraction, width: int, epsilon: float, delta: float, *, classical: bool = False
) -> LatticeSigma:
    """The sigma in whole steps that keeps the promise with the lattice gap paid; `sensitivity` is in steps.

    Examples
    --------
    >>> lattice_sigma(Fraction(2**30), 1, 1.0, 1e-6).calibration, lattice_sigma(Fraction(1), 1, 1.0, 1e-6).calibration
    ('analytic', 'discrete-zcdp')
    """
    first = _continuous(sensitivity, epsilon, delta, classical=classical)
    left = delta_left(epsilon, delta, [(width, first)])
    if left is not None:
        sigma = _continuous(sensitivity, epsilon, left, classical=classical)  # [P:values-gap-paid]
        return LatticeSigma(sigma, "classical" if classical else "analytic")
    if classical:
        raise SpecError("the step is too coarse for the classical calibration on a grid; choose a finer step")
    # [P:values-own-zcdp]
    return LatticeSigma(_integer(sensitivity / Fraction(concentrated_mu(epsilon, delta))), "discrete-zcdp")


def _continuous(sensitivity: Fraction, epsilon: float, delta: float, *, classical: bool) -> int:
    textbook = Fraction(classical_gaussian_sigma(up(sensitivity), epsilon, delta)) if classical else Fraction(0)
    # the promise never rests on the textbook formula: it is larger wherever it is allowed
    return _integer(max(textbook, sensitivity / Fraction(mu_from(epsilon, delta))))  # [P:classical-sigma]


def _integer(sigma: Fraction) -> int:
    if sigma > MAX_SIGMA:
        raise SpecError("the grid is too fine for the 64-bit sampler at this noise; choose a coarser step")
    return rounded_up(math.ceil(sigma))
